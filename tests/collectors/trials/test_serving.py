"""The four checks of an evaluation's infrastructure, requests, and refused tokens by ten-minute slots."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.trials.results import TrialConfig
from sweeprules.collectors.trials.serving import (
    Posts,
    Seen,
    infra_facts,
    is_internal,
    post_facts,
    read_posts,
    read_refused,
    traffic,
    tunnel_state,
)
from sweeprules.engine.facts import ABSENT, NOT_READ, Reason, Unknown
from tests.collectors.trials.harbor import reason

ZONE = ZoneInfo("UTC")
NOW = 1_799_140_200.0
OPEN = "You are authenticated as ops@example.org"
LOCKED = "Login is not allowed: A tunnel with the same token (xy) is already active."


def post(status: int, path: str = "/v1/chat/completions") -> str:
    return f'\x1b[32mINFO\x1b[0m:     10.0.0.9:50122 - "POST {path} HTTP/1.1" {status} Said'


def chunk(*lines: str, start: int = 0) -> Chunk:
    return Chunk("".join(f"{line}\n" for line in lines).encode(), start)


# ---------------------------------------------------------------- requests


@pytest.mark.parametrize("seed", range(30))
def test_requests_are_counted_from_where_the_last_sweep_stopped(seed):
    rng = random.Random(seed)
    statuses = [rng.choice([200, 200, 400, 404, 500]) for _ in range(rng.randrange(40))]
    noise = ['INFO: 10.1.1.1:1 - "GET /health HTTP/1.1" 200 OK', 'said "POST /v1/', post(200, "/v1/embeddings")]
    lines = [post(status, rng.choice(["/v1/chat/completions", "/v1/completions"])) for status in statuses]
    mixed = [part for line in lines for part in (*rng.sample(noise, rng.randrange(3)), line)]
    text = chunk(*mixed)
    assert read_posts(text, 0) == Posts(statuses.count(200), statuses.count(400), len(statuses))
    old = sum(len(f"{line}\n".encode()) for line in mixed[: len(mixed) // 2])
    late = sum("completions" in line for line in mixed[len(mixed) // 2 :])
    assert read_posts(text, old).total == late


def test_the_rate_of_requests():
    assert post_facts(Posts(50, 2, 60), 600.0) == {"posts_200": 50, "posts_400": 2, "posts_rate": 6.0}
    assert reason(post_facts(Posts(1, 0, 1), None)["posts_rate"]) == Reason.FIRST_SIGHT
    assert set(post_facts(None, 9.0).values()) == {ABSENT}
    assert set(post_facts(NOT_READ, 9.0).values()) == {NOT_READ}


# ---------------------------------------------------------------- the checks

GOOD = Seen(
    agent="openhands",
    tunnel=chunk("Allocated port", OPEN, "RB: 9120 SB: 88 TC: 3"),
    config=TrialConfig(None, ("openhands",), ("m",), ("https://rn-x.a.pinggy.link/v1",)),
    posts=Posts(300, 20, 330),
    started=40,
    done=30,
    new=12,
    quick=1,
    running=7200.0,
    planned=267,
)


def checks(**changes: Any) -> dict[str, object]:
    found = infra_facts(replace(GOOD, **changes))
    return {name.removeprefix("infra."): fact for name, fact in found.items()}


def test_all_is_well():
    assert set(checks().values()) == {"ok"}


@pytest.mark.parametrize("agent", ["terminus-2", "oracle"])
def test_an_agent_without_a_tunnel_is_not_held_to_one(agent):
    found = checks(agent=agent, tunnel=chunk(LOCKED), config=TrialConfig(None, (), (), ("http://10.1.2.3:8000/v1",)))
    assert found == {"pinggy": "n/a", "api_base": "n/a", "vllm": "ok", "trials": "ok"}


def test_an_agent_that_is_not_known_may_need_one():
    found = checks(agent=NOT_READ)
    assert isinstance(found["pinggy"], Unknown) and isinstance(found["api_base"], Unknown)


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ((OPEN,), "ok"),
        ((LOCKED,), "bad"),
        ((LOCKED, "retry", OPEN), "ok"),
        ((OPEN, "lost", LOCKED), "bad"),
        ((OPEN, "A tunnel with the same token"), "ok"),
    ],
)
def test_the_last_word_of_the_tunnel(lines, state):
    assert tunnel_state(chunk(*lines)) == state


def test_a_tunnel_that_says_nothing_is_unknown():
    assert isinstance(tunnel_state(chunk("hello")), Unknown)
    assert traffic(chunk("RB: 1 SB: 2 TC: 3", "RB: 10 SB: 20 TC: 4")) == {"RB": 10, "SB": 20, "TC": 4}


@pytest.mark.parametrize(
    ("address", "inside"),
    [
        ("http://10.1.2.3:8000/v1", True),
        ("http://192.168.0.4/v1", True),
        ("http://172.20.1.1:1/v1", True),
        ("127.0.0.1:8000", True),
        ("http://localhost:8000/v1", True),
        ("http://node0123:8000/v1", True),
        ("http://svc.ns.cluster/v1", True),
        ("http://[::1]:8000/v1", True),
        ("https://ab-12.a.pinggy.link/v1", False),
        ("https://api.example.com/v1", False),
        ("http://100.20.3.4/v1", False),
        ("https://10.example.org/v1", False),
        ("", False),
        ("http://[bad", False),
    ],
)
def test_addresses(address, inside):
    assert is_internal(address) is inside


def test_addresses_of_a_config():
    assert (
        checks(config=TrialConfig(None, (), (), ("https://a.a.pinggy.link/v1", "http://10.0.0.1/v1")))["api_base"]
        == "bad"
    )
    assert isinstance(checks(config=TrialConfig(None, (), (), ()))["api_base"], Unknown)
    assert checks(config=NOT_READ)["api_base"] == NOT_READ


@pytest.mark.parametrize(
    ("posts", "new", "done", "state"),
    [
        (Posts(160, 40, 200), 1, 9, "bad"),
        (Posts(170, 30, 200), 1, 9, "ok"),
        (Posts(50, 90, 140), 1, 9, "ok"),
        (Posts(0, 0, 0), 1, 9, "bad"),
        (Posts(0, 0, 0), 0, 267, "ok"),
        (Posts(0, 9, 9), 0, 9, "bad"),
        (None, 1, 9, ABSENT),
        (NOT_READ, 1, 9, NOT_READ),
    ],
)
def test_the_engine(posts, new, done, state):
    assert checks(posts=posts, new=new, done=done)["vllm"] == state


def test_an_engine_at_first_sight_may_only_just_have_begun():
    found = checks(posts=Posts(0, 0, 0), new=None)["vllm"]
    assert isinstance(found, Unknown) and found.reason == Reason.FIRST_SIGHT


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"done": 42, "quick": 40}, "bad"),
        ({"done": 9, "quick": 9}, "ok"),
        ({"done": 20, "quick": 10}, "ok"),
        ({"done": 267, "new": 0}, "ok"),
        ({"started": 0, "done": 0, "new": 0, "quick": 0, "running": 1900.0}, "bad"),
    ],
)
def test_the_trials(changes, state):
    assert checks(**changes)["trials"] == state


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"new": 0}, Reason.WARMING_UP),
        ({"started": 0, "done": 0, "new": 0, "quick": 0, "running": 900.0}, Reason.WARMING_UP),
        ({"new": 0, "running": None}, Reason.NOT_READ),
        ({"done": Unknown(Reason.MALFORMED)}, Reason.MALFORMED),
    ],
)
def test_trials_that_do_not_tell_yet(changes, reason):
    found = checks(**changes)["trials"]
    assert isinstance(found, Unknown) and found.reason == reason


# ---------------------------------------------------------------- refused tokens


def refused(minutes_ago: float, text: str = "Bearer token invalid") -> str:
    at = datetime.fromtimestamp(NOW - 60 * minutes_ago, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S},120 ERROR DaytonaAuthenticationError: could not create a sandbox: {text}"


LONG_AGO = refused(90, "started")


@pytest.mark.parametrize("seed", range(50))
def test_slots_of_the_last_hour(seed):
    rng = random.Random(seed)
    ages = sorted((rng.uniform(0, 89) for _ in range(rng.randrange(12))), reverse=True)
    printed = [math.floor(NOW - 60 * age) + 0.12 for age in ages]
    newest = sorted({int(at // 600): at for at in printed if at >= NOW - 3_600}.values())
    longest: list[int] = []
    for at in newest:
        longest.append(1 + max((longest[k] for k in range(len(longest)) if at - newest[k] >= 600), default=0))
    lines = [LONG_AGO, *(part for age in ages for part in (refused(age, "fine"), refused(age)))]
    assert read_refused(chunk(*lines), ZONE, NOW).fact == max(longest, default=0)


def test_a_burst_across_the_border_of_two_slots_counts_once():
    into = NOW % 600 / 60
    edges = [into + 0.5, into - 0.5] if into > 1 else [into + 10.5, into + 9.5]
    assert read_refused(chunk(LONG_AGO, *map(refused, edges)), ZONE, NOW).fact == 1
    spread = [edges[0] + 10, edges[0]]
    assert read_refused(chunk(LONG_AGO, *map(refused, spread)), ZONE, NOW).fact == 2


def test_one_burst_is_one_and_none_is_none():
    assert read_refused(chunk(LONG_AGO, *(refused(4.0) for _ in range(40))), ZONE, NOW).fact == 1
    assert read_refused(chunk(LONG_AGO), ZONE, NOW).fact == 0


def test_slots_are_kept_between_sweeps_and_forgotten_after_an_hour():
    first = read_refused(chunk(LONG_AGO, refused(50), refused(20)), ZONE, NOW)
    assert first.fact == 2 and "Bearer" in first.quote
    then = read_refused(chunk("nothing", start=900), ZONE, NOW + 900, first.memo)
    assert then.fact == 1
    assert read_refused(chunk("x", start=990), ZONE, NOW + 9_000, then.memo).fact == 0


def test_what_was_not_read_is_not_told():
    late = chunk(refused(12, "fine"), refused(10), start=5_000)
    assert reason(read_refused(late, ZONE, NOW).fact) == Reason.CUT
    assert read_refused(late, ZONE, NOW, {"times": [], "reached": NOW - 9_000}).fact == 1
    gap = read_refused(late, ZONE, NOW, {"times": [], "reached": NOW - 9_000}, gap=True)
    assert reason(gap.fact) == Reason.CUT
    bare = read_refused(chunk("Bearer token invalid"), ZONE, NOW)
    assert reason(bare.fact) == Reason.NOT_READ

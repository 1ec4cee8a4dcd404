"""An evaluation's serving side from files on disk to facts: a good one, a locked tunnel, an address from inside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.trials.counts import Terms
from sweeprules.collectors.trials.evaluation import Times, serving_facts
from sweeprules.collectors.trials.rounds import Reading, trials
from sweeprules.collectors.trials.sidelogs import Found, SideLog, sidelogs
from sweeprules.collectors.trials.steps import run
from sweeprules.engine.facts import Reason, Unknown
from tests.collectors.trials.harbor import FakeTrial, dump, write_trial
from tests.collectors.trials.shell import NONCE, Login

POST = 'INFO:  10.0.0.9:1 - "POST /v1/chat/completions HTTP/1.1" {} said\n'
TERMS = Terms(planned=267)
LOCKED = "You are authenticated as x\nLogin is not allowed: A tunnel with the same token (k) is already active.\n"


class Job:
    """A run directory with trials of one agent, an engine's log and a tunnel's."""

    def __init__(self, root: Path, agent: str = "openhands", address: str = "https://ab.a.pinggy.link/v1") -> None:
        self.root, self.agent, self.address = root, agent, address
        (root / "logs").mkdir()
        (root / "vllm.log").write_text(POST.format("200 OK") * 30)
        (root / "logs" / "r_pinggy.log").write_text("You are authenticated as x\n")
        for at in range(3):
            self.add(f"t{at}")

    def add(self, word: str, **more: Any) -> None:
        folder = write_trial(self.root / "traces", FakeTrial(id=word, agent=self.agent, **more))
        agent = {"name": self.agent, "kwargs": {"api_base": self.address}}
        (folder / "config.json").write_bytes(dump({"trials_dir": "x", "agent": agent}))

    def read(self, kept: dict) -> tuple[Reading, Found]:
        place = str(self.root / "traces")
        found, _ = run(Login().ask, {"t": trials([place], {}, NONCE)})
        dirs = {"7": (str(self.root), str(self.root / "logs"))}
        logs, _ = run(Login().ask, {"l": sidelogs(dirs, kept, "<r>", "<f>")})
        kept.update({one.path: one.memo for one in logs["l"]["7"].values() if isinstance(one, SideLog)})
        return found["t"][place], logs["l"]["7"]

    def facts(
        self, started: float = 0.0, last: float = 6_600, kept: dict | None = None, **more: Any
    ) -> dict[str, object]:
        times = Times(now=started + 7_200, started=started, last=started + last)
        return dict(serving_facts(*self.read({} if kept is None else kept), TERMS, times, **more))


def test_a_good_one(tmp_path):
    found = Job(tmp_path).facts(last=-600)
    assert {name: fact for name, fact in found.items() if name.startswith("infra.")} == dict.fromkeys(
        ("infra.pinggy", "infra.api_base", "infra.vllm", "infra.trials"), "ok"
    )
    assert (found["posts_200"], found["posts_400"], found["posts_rate"]) == (30, 0, 0.25)


def test_the_rate_is_over_what_was_counted(tmp_path):
    job, kept = Job(tmp_path), {}
    first = job.facts(kept=kept)["posts_rate"]
    assert isinstance(first, Unknown) and first.reason == Reason.FIRST_SIGHT
    with (tmp_path / "vllm.log").open("a") as log:
        log.write(POST.format("200 OK") * 20)
    found = job.facts(kept=kept)
    assert (found["posts_200"], found["posts_rate"]) == (20, 2.0)


@pytest.mark.parametrize(("agent", "state"), [("openhands", "bad"), ("terminus-2", "n/a")])
def test_a_locked_tunnel_and_an_address_from_inside(tmp_path, agent, state):
    job = Job(tmp_path, agent, "http://10.1.2.3:8000/v1")
    (tmp_path / "logs" / "r_pinggy.log").write_text(LOCKED)
    found = job.facts()
    assert (found["infra.pinggy"], found["infra.api_base"]) == (state, state)


def test_a_tunnel_of_an_earlier_attempt_says_nothing(tmp_path):
    job = Job(tmp_path)
    (tmp_path / "logs" / "r_pinggy.log").write_text(LOCKED)
    found = job.facts(started=4e9)["infra.pinggy"]
    assert isinstance(found, Unknown) and found.reason == Reason.STALE_SOURCE


def test_too_many_refused_requests(tmp_path):
    job = Job(tmp_path)
    (tmp_path / "vllm.log").write_text(POST.format("200 OK") * 160 + POST.format("400 Bad Request") * 41)
    found = job.facts()
    assert (found["infra.vllm"], found["posts_400"]) == ("bad", 41)


def test_most_trials_failed_at_once(tmp_path):
    job = Job(tmp_path)
    for at in range(9):
        job.add(f"q{at}", tokens=None, reward=0.0, seconds=4.0)
    assert job.facts()["infra.trials"] == "bad"


def test_requests_in_the_jobs_own_log_count_where_the_engine_has_none(tmp_path):
    job = Job(tmp_path)
    (tmp_path / "vllm.log").unlink()
    assert isinstance(job.facts()["posts_200"], Unknown)
    own = (Chunk(POST.format("200 OK").encode() * 5, 0), 0)
    assert job.facts(own=own)["posts_200"] == 5
    assert isinstance(job.facts(own=(Chunk(b"x", 0), 0))["posts_200"], Unknown)

"""Mutated real files and lines through every reader: no exception, no unbounded time, no made-up value."""

from __future__ import annotations

import dataclasses
import json
import random
import time
from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.trials import memo
from sweeprules.collectors.trials.partial import read_trial_ends
from sweeprules.collectors.trials.results import Trial, read_config, read_job, read_trial
from sweeprules.collectors.trials.serving import read_posts, read_refused, traffic, tunnel_state
from sweeprules.collectors.trials.standard import read_results
from sweeprules.collectors.trials.trajectory import read_turns, refused_keys
from sweeprules.collectors.trials.upload import read_console, read_upload
from sweeprules.engine.facts import Unknown
from tests.collectors.trials.harbor import aggregate, dump, random_trials, trajectory
from tests.collectors.trials.mutate import mutated

UTC = ZoneInfo("UTC")
LINES = (
    b" 57/120 Mean: 0.318 \xe2\x94\x81\xe2\x94\x81 1:02:11 1:10:00\r 58/120 Mean: 0.321 \xe2\x94\x81 1:02:40 1:09:01\n"
    b'INFO:     10.0.0.7:51324 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    b'INFO:     10.0.0.7:51326 - "POST /v1/chat/completions HTTP/1.1" 400 Bad Request\n'
    b"2027-01-05 09:12:44 DaytonaAuthenticationError: could not create: Bearer token invalid\n"
    b"[trace-export] Literal yield: 412/977 trials (42.2%), 8111 steps enriched, 0 stripped; 4 chains.\n"
    b"Generating train split: 977 examples [00:03, 301.2 examples/s]\n"
    b"[trace-export] Upload complete (977 rows): https://hub.example/datasets/acme/x\n"
    b"You are authenticated as ops@example.org\nRB: 99120 SB: 1200 TC: 14\n"
    b"Login is not allowed: A tunnel with the same token (tk) is already active.\n"
)
RESULTS = {"results": {"AIME24": {"accuracy_avg": 0.1, "num_total": 30}, "gsm8k": {"exact_match,strict-match": 0.5}}}


def through_every_reader(data: bytes) -> None:
    for reader in (read_trial, read_job, read_config, read_results):
        reader(data)
    read_trial_ends(data[:2000], data[-2000:])
    read_turns(data, data[-900:], whole=False)
    read_turns(data, b"", whole=True)
    refused_keys(data)
    chunk = Chunk(data, 0)
    read_upload(chunk, whole=True)
    read_console(chunk)
    read_posts(chunk, 0)
    tunnel_state(chunk)
    traffic(chunk)
    read_refused(chunk, UTC, 1_799_140_000.0)


def originals() -> list[bytes]:
    trials = random_trials(21, 12)
    found = [dump(one.result()) for one in trials] + [dump(trials[0].result(), compact=True)]
    return [*found, dump(aggregate(trials, 20)), dump(trajectory(9)), dump(RESULTS), LINES]


def run(seeds: range) -> None:
    held = originals()
    for seed in seeds:
        rng = random.Random(seed)
        data = mutated(rng, rng.choice(held), rng.choice(held))
        through_every_reader(data)
        if isinstance(read_trial(data), Trial) and b"*" not in data:
            # Nothing was pieced together: what was read is a whole document.
            json.loads(data.decode("utf-8", "replace").removeprefix("\ufeff"))


def test_no_damage_raises():
    run(range(5_000))


@pytest.mark.deep
def test_no_damage_raises_in_a_long_run():
    run(range(5_000, 100_000))


def test_a_cut_or_a_foreign_part_never_changes_a_value():
    """Damage that moves whole bytes, none of which is turned into another: JSON that still parses says the same."""
    held = [dump(one.result()) for one in random_trials(22, 10)]
    for data in held:
        whole = read_trial(data)
        assert isinstance(whole, Trial)
        for seed in range(300):
            rng = random.Random(seed)
            at = rng.randrange(len(data))
            for damaged in (data[:at], data[at:], data + data[:at], data[:at] + LINES + data[at:]):
                found = read_trial(damaged)
                if isinstance(found, Unknown):
                    continue
                for field in dataclasses.fields(Trial):
                    if field.name not in ("name", "exception", "agent"):
                        assert getattr(found, field.name) in (getattr(whole, field.name), None), field.name


def test_ends_of_damaged_files_say_what_the_whole_says_or_nothing():
    for one in random_trials(23, 10):
        data = dump(one.result())
        whole = read_trial(data)
        for seed in range(200):
            rng = random.Random(seed)
            at, upto = sorted((rng.randrange(len(data)), rng.randrange(len(data))))
            found = read_trial_ends(data[:at], data[upto:])
            if isinstance(found, Trial) and isinstance(whole, Trial):
                assert (found.reward, found.exception, found.finished) == (
                    whole.reward,
                    whole.exception,
                    whole.finished,
                )


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"version": 1}', b'{"version": 1, "final": "!!", "sums": {}}'])
def test_a_memo_of_another_shape_is_an_empty_one(damage):
    assert memo.decode(json.loads(damage) if damage else None) == memo.TrialsMemo()


def test_a_memo_with_any_field_damaged_is_whole_or_empty():
    kept = memo.TrialsMemo(frozenset({3, 9}), memo.Tally(done=2, valid=1, total=0.5), memo.Sampled(9, 2), 4)
    plain = json.loads(json.dumps(memo.encode(kept)))
    assert memo.decode(plain) == kept
    for name in ("final", "sums"):
        for value in (None, 7, "x", [], {}, "AAAA"):
            assert memo.decode({**plain, name: value}) == memo.TrialsMemo()


@pytest.mark.parametrize(
    "data",
    [
        b"Mean: " * 1_000_000,
        b"1/2 Mean: " * 500_000,
        b"9" * 5_000_000 + b"/9 Mean: 0.5",
        b'"POST /v1/' * 500_000,
        b"Bearer token invalid" * 200_000,
        b"Bearer token invalid\n" * 200_000,
        b"Generating train split: 1" * 200_000,
        b"upload " * 700_000,
        b"judge API error" * 300_000,
        b"{" * 5_000_000,
        b'{"a":' * 1_000_000,
        b"\0" * 5_000_000,
        b"*" * 5_000_000,
        b": *" * 1_500_000,
    ],
)
def test_long_lines_take_no_unbounded_time(data):
    begin = time.process_time()
    through_every_reader(data)
    assert time.process_time() - begin < 20

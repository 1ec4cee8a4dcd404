"""The inference engine's lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.engine import Engine, engine_facts, read_engine
from sweeprules.collectors.metrics.rl import read_rl
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown

ROME = ZoneInfo("Europe/Rome")
NEAR = datetime(2026, 8, 1, 5, tzinfo=UTC).timestamp()


def line(running: int, at: str = "08-01 04:10:00", waiting: int = 0, engine: int = 0, tps: float = 12.5) -> str:
    return (
        f"(Engine pid=4) INFO {at} [loggers.py:248] Engine {engine:03}: Avg prompt throughput: 1.0 tokens/s, "
        f"Avg generation throughput: {tps} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, "
        "GPU KV cache usage: 2.0%\n"
    )


def read(*lines: str, before: Engine | None = None, near: float | None = NEAR) -> Engine | None:
    return read_engine(Chunk("".join(lines).encode(), 0), ROME, before, near)


def idle(engine: Engine | None) -> FactValue:
    return engine_facts(engine, whole=True)["engine_idle"]


def test_the_newest_line_tells_what_runs_and_what_waits() -> None:
    facts = engine_facts(read(line(3), line(28, waiting=7, tps=310.4)), whole=True)
    assert facts == {"engine_running": 28, "engine_waiting": 7, "engine_tps": 310.4, "engine_idle": 0.0}


def test_a_log_without_an_engine() -> None:
    assert engine_facts(read("hello\n"), whole=True)["engine_running"] is ABSENT
    facts = engine_facts(None, whole=False)
    assert {value.reason for value in facts.values() if isinstance(value, Unknown)} == {Reason.CUT}


def test_how_long_no_request_ran() -> None:
    texts = [line(2, "08-01 04:10:00"), line(0, "08-01 04:10:10"), line(0, "08-01 04:30:00"), line(0, "08-01 04:41:10")]
    assert idle(read(*texts)) == 1860.0
    assert idle(read(*texts, line(1, "08-01 04:42:00"))) == 0.0


def test_several_engines_idle_only_together() -> None:
    texts = [line(0, "08-01 04:10:00"), line(1, "08-01 04:20:00", engine=1), line(0, "08-01 04:25:00")]
    assert idle(read(*texts)) == 0.0


def test_the_idle_time_goes_on_from_sweep_to_sweep() -> None:
    first = read(line(1, "08-01 04:00:00"), line(0, "08-01 04:01:00"), line(0, "08-01 04:05:00"))
    assert first is not None
    kept = Engine.decode(json.loads(json.dumps(first.encode())))
    assert kept == first
    assert idle(read(line(0, "08-01 07:01:00"), before=kept)) == 3 * 3600.0
    assert idle(read("no line\n", before=kept)) == 240.0
    assert idle(read(line(5, "08-01 06:00:00"), line(0, "08-01 07:01:00"), before=kept)) == 0.0
    assert Engine.decode(None) is None


@pytest.mark.parametrize("near", [None, datetime(2027, 1, 1, 1, tzinfo=UTC).timestamp()])
def test_the_idle_time_goes_over_the_new_year(near: float | None) -> None:
    assert idle(read(line(0, "12-31 23:50:00"), line(0, "01-01 00:10:00"), near=near)) == 1200.0


def test_the_year_is_that_of_the_log() -> None:
    engine = read(line(0, "12-31 23:50:00"), near=datetime(2027, 1, 1, 1, tzinfo=UTC).timestamp())
    assert engine is not None
    assert engine.time == datetime(2026, 12, 31, 22, 50, tzinfo=UTC).timestamp()


def test_the_clock_may_change_in_between() -> None:
    near = datetime(2026, 10, 25, 6, tzinfo=UTC).timestamp()
    assert idle(read(line(0, "10-25 01:30:00"), line(0, "10-25 03:30:00"), near=near)) == 3 * 3600.0


@pytest.mark.parametrize("at", ["", "13-45 04:10:00", "02-29 04:10:00"])
def test_lines_without_a_time_tell_no_idle_time(at: str) -> None:
    value = idle(read(line(0, at), line(0, at)))
    assert isinstance(value, Unknown)


def test_older_engines_and_broken_lines() -> None:
    old = line(4).replace("Waiting: 0 reqs", "Swapped: 0 reqs, Pending: 9 reqs")
    assert engine_facts(read(old, line(7)[:150]), whole=True)["engine_waiting"] == 9


def test_a_log_with_an_engine_and_no_trainer_tells_of_the_engine_alone() -> None:
    numbers = read_rl(Chunk(line(4).encode(), 0), {}, ROME, whole=True)
    assert set(numbers.facts) == {"engine_running", "engine_waiting", "engine_tps", "engine_idle"}
    again = read_rl(Chunk(b"nothing new\n", 5000), {}, ROME, numbers.memo, whole=True)
    assert again.facts == numbers.facts


@pytest.mark.parametrize("near", [None, NEAR])
def test_a_clock_that_goes_back_makes_no_year_of_idling(near: float | None) -> None:
    value = idle(read(line(0, "08-01 04:10:00"), line(0, "08-01 04:09:57", engine=1), near=near))
    assert isinstance(value, Unknown)
    assert value.reason == Reason.MALFORMED


def test_the_hour_that_comes_twice_in_autumn_makes_no_year_of_idling() -> None:
    near = datetime(2026, 10, 25, 1, tzinfo=UTC).timestamp()
    assert isinstance(idle(read(line(0, "10-25 02:50:00"), line(0, "10-25 02:05:00"), near=near)), Unknown)

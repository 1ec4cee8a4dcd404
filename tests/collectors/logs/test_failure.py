"""The facts of the first error, and when they are unknown or absent."""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.candidates import read_causes, read_on
from sweeprules.collectors.logs.causes import Cause, Causes, encode
from sweeprules.collectors.logs.facts import FIRST_SIGHT
from sweeprules.collectors.logs.failure import first_error_facts
from sweeprules.collectors.logs.find import FileStat
from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.logs.scan import prepare
from sweeprules.collectors.prior import Prior
from sweeprules.collectors.suspects import WorkerLog, causes_near
from sweeprules.engine.facts import ABSENT
from sweeprules.engine.observation import Observation
from tests.collectors.slurm.fake import NOW, FakeFile, FakeSession, job
from tests.collectors.slurm.sweeps import PATTERNS, reason, sweep

UTC = ZoneInfo("UTC")
MATCHERS = prepare(PATTERNS)
CAUSE = Cause("watchdog", "Watchdog caught it", "/w/a.out", 41, 3, 1_782_900_000.0, ranks=(3, 5))


def test_all_of_it_is_told():
    facts = first_error_facts((Causes(path="/w/a.out", found=(CAUSE,)),), whole=True)
    assert facts == {
        "first_error.rank": 3,
        "first_error.type": "watchdog",
        "first_error.message": "Watchdog caught it (on 2 ranks)",
        "first_error.path": "/w/a.out",
        "first_error.position": 41,
        "first_error.time": 1_782_900_000.0,
        "elastic_summary": False,
    }


def test_what_the_line_does_not_say():
    bare = Cause("watchdog", "Watchdog caught it", "/w/a.out", 41)
    facts = first_error_facts((Causes(found=(bare,)),), whole=True)
    assert (facts["first_error.rank"], reason(facts["first_error.time"])) == (ABSENT, "not-read")
    assert facts["first_error.message"] == "Watchdog caught it"


def test_no_real_error_is_an_answer_where_all_was_read():
    facts = first_error_facts((Causes(summary=True),), whole=True)
    assert {value for name, value in facts.items() if name.startswith("first_error")} == {ABSENT}
    assert facts["elastic_summary"] is True


def test_without_the_beginning_nothing_is_the_first():
    facts = first_error_facts((Causes(found=(CAUSE,)),), whole=False)
    assert {reason(value) for value in facts.values()} == {"cut"}
    assert first_error_facts((Causes(summary=True),), whole=False)["elastic_summary"] is True


def test_a_later_sweep_goes_on_from_what_was_kept():
    begun, later = b"Watchdog caught it\nx\n", b"[Errno 122] x\n"
    first = read_on(None, Chunk(begun, 0), (), MATCHERS, "/w/a.out", UTC)
    second = read_on(encode(first), Chunk(later, len(begun)), (), MATCHERS, "/w/a.out", UTC)
    assert [(one.type, one.position) for one in second.found] == [("watchdog", 0), ("errno-122", 21)]
    assert second == read_causes(Chunk(begun + later, 0), (), MATCHERS, "/w/a.out", UTC)


def test_of_a_workers_log_only_what_stands_near_the_last_output():
    data = b"2026-07-01 09:00:00 Watchdog caught early\n2026-07-01 11:55:00 go\nWatchdog caught late\n"
    told = Observation("test", "", "", (), (), 0.0, 0.0, 0, data, b"")
    log = WorkerLog("/w/worker.out", FileStat(0, 0, len(data), 1_782_907_200.0), 0, told)
    found = causes_near(log, 1_782_907_200.0, MATCHERS, UTC).found
    assert [(one.message, one.path) for one in found] == [("Watchdog caught late", "/w/worker.out")]


def _swept(data: bytes, prior: Prior | None = None):
    return sweep(FakeSession([job("1")], {"/w/rl__x-1.out": FakeFile(data, NOW - 60)}), prior)


def test_what_came_first_is_known_when_it_was_read_in_an_earlier_sweep():
    fault = b"Watchdog caught it\n"
    later = fault + b"[Errno 122] quota\n" * (FIRST_SIGHT // 9)
    done = _swept(later, _swept(fault).prior)
    assert (done.job("1").get("first_error.type"), done.job("1").get("first_error.position")) == ("watchdog", 0)
    again = _swept(later + b"x\n", done.prior)
    assert again.job("1").get("first_error.position") == 0
    assert reason(_swept(later).job("1").get("first_error.type")) == "cut"


def test_a_memory_that_holds_no_causes_does_not_count_as_read():
    fault = b"Watchdog caught it\n"
    prior = _swept(fault).prior
    key, memo = next(iter(prior.jobs.items()))
    assert memo.log is not None
    old = replace(prior, jobs={key: replace(memo, log=replace(memo.log, causes={}))})
    done = _swept(fault + b"x\n" * FIRST_SIGHT, old)
    assert reason(done.job("1").get("first_error.type")) == "cut"

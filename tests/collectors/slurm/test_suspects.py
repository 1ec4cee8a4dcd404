"""The second stage: workers' lines near the last output, and no others."""

from __future__ import annotations

import shlex
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.logs.find import FileStat
from sweeprules.collectors.normalise import normalise
from sweeprules.collectors.second import look_closer
from sweeprules.collectors.suspects import MAX_FILES, WorkerLog, lines_near
from sweeprules.engine.facts import ABSENT, Interval, Ref, Subject, Unknown
from sweeprules.engine.observation import Failure
from tests.collectors.slurm.fake import NOW, FakeFile, FakeSession, Login, job, observation
from tests.collectors.slurm.sweeps import PATTERNS, sweep

SILENT = NOW - 6.5 * 3600
NEAR = b"2027-01-15T01:31:00 Watchdog caught collective operation timeout\n"
FAR = b"2027-01-14T20:00:00 Watchdog caught collective operation timeout\n"
BAR = b"2027-01-15T01:30:00 Step Progress: 3/9\n"


def looked(
    files: dict[str, FakeFile],
    suspects: tuple[str, ...] = ("914214",),
    **broken: tuple[int, str, str],
):
    """Both stages; `broken` is how the second one's commands end, by their name."""
    jobs = [job("914214", name="rl__x", started=NOW - 9 * 3600), job("914215", name="rl__y")]
    main = {"/w/rl__x-914214.out": FakeFile(BAR, SILENT, 1), "/w/rl__y-914215.out": FakeFile(BAR, NOW, 2)}
    session = FakeSession(jobs, {**main, **files})
    first = sweep(session)
    if broken:
        session.logins["login01"] = Login(broken=broken)
    before = len(session.calls)
    gathered = look_closer(first.gathered, session, [Ref("job", f"leonardo:{job_id}") for job_id in suspects])
    subjects = {one.ref.key: one for one in normalise(gathered, PATTERNS).subjects}
    return subjects, len(session.calls) - before


def test_s09_a_workers_fault_near_the_last_output_is_the_jobs():
    subjects, calls = looked({"/w/rl__x_914214_rayw3.out": FakeFile(NEAR, SILENT, 3)})
    one = subjects["leonardo:914214"]
    assert one.get("fault_lines") == {"watchdog": 1}
    assert one.get("lines.watchdog.count") == Interval(1, None)
    assert calls == 2


def test_a_fault_long_before_is_not():
    subjects, _ = looked({"/w/rl__x_914214_rayw3.out": FakeFile(FAR + BAR, SILENT, 3)})
    assert subjects["leonardo:914214"].get("fault_lines") == {}


def test_lines_without_a_time_have_that_of_the_line_before():
    text = FAR + b"Watchdog caught x\n" + BAR + b"Watchdog caught y\n"
    subjects, _ = looked({"/w/rl__x_914214_rayw3.out": FakeFile(text, SILENT, 3)})
    assert subjects["leonardo:914214"].get("lines.watchdog.count") == Interval(1, None)


def test_other_jobs_workers_are_not_read():
    files = {
        "/w/rl__y_914215_rayw1.out": FakeFile(NEAR, SILENT, 3),
        "/w/rl__x_91421_rayw1.out": FakeFile(NEAR, SILENT, 4),
        "/w/ray_head_n77.log": FakeFile(NEAR, SILENT, 5),
        "/w/notes_914214.txt": FakeFile(NEAR, SILENT, 6),
    }
    subjects, calls = looked(files)
    assert subjects["leonardo:914214"].get("fault_lines") == {}
    assert calls == 1


def test_the_heads_log_is_known_by_its_node():
    subjects, _ = looked({"/w/ray_head_n02.log": FakeFile(NEAR, SILENT, 3)})
    assert subjects["leonardo:914214"].get("fault_lines") == {"watchdog": 1}


def test_nothing_is_asked_without_suspects():
    subjects, calls = looked({"/w/rl__x_914214_rayw3.out": FakeFile(NEAR, SILENT, 3)}, ())
    assert calls == 0
    assert subjects["leonardo:914214"].get("fault_lines") == {}
    assert looked({}, ("999",))[1] == 0


def test_looking_closer_loses_nothing():
    session = FakeSession([job("1")], {"/w/rl__x-1.out": FakeFile(BAR, SILENT)})
    first = sweep(session)
    after = look_closer(first.gathered, session, [Ref("job", "leonardo:1")])
    assert replace(
        after, workers={}, observations=first.gathered.observations, attempts=first.gathered.attempts
    ) == replace(first.gathered, workers={})


def test_a_workers_log_may_hold_the_first_error():
    subjects, _ = looked({"/w/rl__x_914214_rayw3.out": FakeFile(NEAR, SILENT, 3)})
    told = subjects["leonardo:914214"]
    assert (told.get("first_error.type"), told.get("first_error.path")) == ("watchdog", "/w/rl__x_914214_rayw3.out")


def read_from(subject: Subject, *names: str) -> set[str]:
    """The files that the sources of some facts name."""
    return {shlex.split(subject.sources[name].command)[-1] for name in names}


FIRST_ERROR = tuple(f"first_error.{part}" for part in ("rank", "type", "message", "path", "position", "time"))
FAULT = ("fault_lines", "lines.watchdog.count", "lines.watchdog.time")
TABLE = b"Root Cause (first observed failure):\n"
MAIN, WORKER, OTHER = "/w/rl__x-914214.out", "/w/rl__x_914214_rayw3.out", "/w/rl__x_914214_rayw4.out"


def test_what_a_workers_log_tells_names_that_log():
    subjects, _ = looked({WORKER: FakeFile(NEAR + TABLE, SILENT, 3), OTHER: FakeFile(BAR, SILENT, 4)})
    told = subjects["leonardo:914214"]
    assert told.get("elastic_summary") is True
    assert read_from(told, *FIRST_ERROR, *FAULT, "elastic_summary") == {WORKER}
    assert {told.sources[name].line for name in FAULT} == {NEAR.decode().strip()}
    assert read_from(told, "lines.bar.n", "heartbeats_only") == {MAIN}


def test_of_two_workers_the_earlier_error_names_its_log():
    later = NEAR.replace(b"01:31", b"01:32")
    subjects, _ = looked({WORKER: FakeFile(later, SILENT, 3), OTHER: FakeFile(NEAR, SILENT, 4)})
    told = subjects["leonardo:914214"]
    assert told.get("lines.watchdog.count") == Interval(2, None)
    assert (told.get("first_error.path"), read_from(told, *FIRST_ERROR)) == (OTHER, {OTHER})


def test_what_the_jobs_own_log_told_first_names_it():
    fault = FakeFile(NEAR.replace(b"01:31", b"01:20") + TABLE + BAR, SILENT, 1)
    subjects, _ = looked({MAIN: fault, WORKER: FakeFile(NEAR + TABLE, SILENT, 3)})
    told = subjects["leonardo:914214"]
    assert told.get("first_error.path") == MAIN
    assert read_from(told, *FIRST_ERROR, "elastic_summary") == {MAIN}


def test_without_any_error_the_jobs_own_log_says_so():
    subjects, _ = looked({WORKER: FakeFile(BAR, SILENT, 3)})
    told = subjects["leonardo:914214"]
    assert {told.get(name) for name in FIRST_ERROR} == {ABSENT}
    assert read_from(told, *FIRST_ERROR, *FAULT, "elastic_summary") == {MAIN}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((1, "", f"tail: cannot open '{WORKER}' for reading: Permission denied\n"), "Permission denied"),
        ((124, "", ""), "exit 124"),
    ],
)
def test_a_workers_log_that_can_not_be_read_is_not_one_without_an_error(answer: tuple[int, str, str], said: str):
    subjects, _ = looked({WORKER: FakeFile(NEAR, SILENT, 3)}, tail=answer)
    told = subjects["leonardo:914214"]
    for name in (*FIRST_ERROR, "elastic_summary"):
        value = told.get(name)
        assert isinstance(value, Unknown)
        assert (value.reason, said in value.detail) == ("read-failed", True), name


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((2, "", "ls: reading directory '/w': Input/output error\n"), "read-failed"),
        ((124, "", ""), "read-failed"),
    ],
)
def test_a_directory_that_can_not_be_listed_is_not_one_without_workers(answer: tuple[int, str, str], reason: str):
    subjects, _ = looked({WORKER: FakeFile(NEAR, SILENT, 3)}, ls=answer)
    told = subjects["leonardo:914214"].get("first_error.type")
    assert isinstance(told, Unknown)
    assert told.reason == reason and "/w" in told.detail


def test_more_logs_than_are_read_leave_open_whether_one_holds_an_error():
    files = {f"/w/rl__x_914214_rayw{n}.out": FakeFile(BAR, SILENT, 10 + n) for n in range(MAX_FILES + 1)}
    told = looked(files)[0]["leonardo:914214"].get("first_error.type")
    assert isinstance(told, Unknown)
    assert (told.reason, told.detail) == ("not-read", "of 17 logs of workers 16 were looked at")
    del files["/w/rl__x_914214_rayw0.out"]
    assert looked(files)[0]["leonardo:914214"].get("first_error.type") is ABSENT


def test_what_the_jobs_own_log_tells_stands_without_a_workers_log():
    fault = FakeFile(NEAR + TABLE + BAR, SILENT, 1)
    subjects, _ = looked({MAIN: fault, WORKER: FakeFile(BAR, SILENT, 3)}, tail=(1, "", "tail: error reading\n"))
    told = subjects["leonardo:914214"]
    assert (told.get("first_error.type"), told.get("first_error.path")) == ("watchdog", MAIN)
    assert told.get("elastic_summary") is True


def test_a_login_that_goes_before_the_workers_log_was_read_leaves_it_open():
    log = WorkerLog(
        WORKER, FileStat(0, 0, 9, SILENT), 0, replace(observation(["tail"]), exit=None, failure=Failure.TIMEOUT)
    )
    assert log.why is not None
    assert log.why.reason == "read-failed"
    assert lines_near(log, SILENT, ZoneInfo("UTC")) == []

"""A log over several sweeps: its age on the cluster's clock, and counts that neither miss nor repeat a line."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.collectors.logs.facts import AT_MOST, FIRST_SIGHT, window
from sweeprules.collectors.logs.find import FileStat
from sweeprules.collectors.prior import LogMemo, Prior
from sweeprules.engine.facts import ABSENT, Interval
from tests.collectors.slurm.fake import NOW, FakeFile, FakeSession, job
from tests.collectors.slurm.sweeps import reason, sweep

PATH = "/w/rl__x-1.out"


def one_sweep(data: bytes, prior: Prior | None = None, *, inode: int = 1, mtime: float = NOW - 60, **more: object):
    session = FakeSession([job("1", **more)], {PATH: FakeFile(data, mtime, inode)})
    return sweep(session, prior)


def test_the_facts_of_a_log():
    done = one_sweep(b"2027-01-15T07:59:00 Step Progress: 3/9\nNo available shared memory broadcast block\n")
    one = done.job("1")
    assert one.get("log.path") == PATH
    assert one.get("log.source") == "scheduler"
    assert one.get("log.exists") is True
    assert one.get("log.size") == 82
    assert one.get("log.mtime") == NOW - 60
    assert one.get("log_age") == 60.0
    assert one.get("log.cut") is False
    assert one.get("log.last_time") == 1799999940.0
    assert one.get("fault_lines") == {}
    assert one.get("benign_lines") == {"shm": 1}
    assert one.get("heartbeats_only") is True
    assert one.get("lines.bar.n") == 3
    assert one.get("lines.watchdog.count") == 0
    assert one.get("lines.watchdog.time") is ABSENT
    assert one.get("lines.nccl.ms") is ABSENT
    assert one.get("phase") == "steady"
    assert one.sources["log_age"].line == PATH
    assert one.sources["lines.bar.n"].command.startswith("tail -c +1")


def test_the_age_is_on_the_clusters_own_clock():
    session = FakeSession([job("1")], {PATH: FakeFile(b"x\n", NOW + 3540)}, clock=NOW + 3600)
    done = sweep(session)
    assert done.job("1").get("log_age") == 60.0
    assert round(done.cluster.get("clock_offset")) == 3600


def test_without_a_clock_the_age_is_unknown():
    session = FakeSession([job("1")], {PATH: FakeFile(b"x\n")}, clock=None)  # type: ignore[arg-type]
    assert reason(sweep(session).job("1").get("log_age")) == "read-failed"


def test_a_job_that_has_not_started_has_no_log():
    one = sweep(FakeSession([job("1", "PENDING")])).job("1")
    assert (one.get("log.exists"), one.get("log_age"), one.get("phase")) == (ABSENT, ABSENT, "queued")


def test_s11_the_fallback_is_judged():
    files = {"/w/data_1.out": FakeFile(b"POST 200\n")}
    one = sweep(FakeSession([job("1")], files)).job("1")
    assert (one.get("log.path"), one.get("log.source"), one.get("log_age")) == ("/w/data_1.out", "workdir", 60.0)


def test_s12_s82_no_log_anywhere():
    one = sweep(FakeSession([job("1", reason="Prolog")], {"/w/other.txt": FakeFile(b"")})).job("1")
    assert (one.get("log.exists"), one.get("state_reason"), one.get("phase")) == (ABSENT, "Prolog", "bring-up")
    assert one.get("fault_lines") is ABSENT


def test_a_log_that_may_not_be_read_is_unknown():
    session = FakeSession([job("1")], {PATH: FakeFile(b"x\n")})
    session._tail = lambda words, command: (1, "", "tail: cannot open: Permission denied\n")  # type: ignore[method-assign]
    one = sweep(session).job("1")
    assert one.get("log_age") == 60.0
    assert reason(one.get("fault_lines")) == "read-failed"
    assert reason(one.get("lines.watchdog.count")) == "read-failed"
    assert reason(one.get("phase")) == "not-read"


# ---------------------------------------------------------------- over sweeps


def test_the_same_log_twice_counts_its_lines_once():
    data = b"Watchdog caught it\nline\n"
    first = one_sweep(data)
    second = one_sweep(data, first.prior)
    assert first.job("1").get("fault_lines") == second.job("1").get("fault_lines") == {"watchdog": 1}


def test_new_lines_add_to_the_count():
    first = one_sweep(b"Watchdog caught it\n")
    second = one_sweep(b"Watchdog caught it\nmore\nWatchdog caught again\n", first.prior)
    assert second.job("1").get("lines.watchdog.count") == 2


def test_a_fault_stays_counted_when_it_scrolled_out_of_the_window():
    fault = b"Watchdog caught it\n"
    first = one_sweep(fault)
    noise = b"".join(b"No available shared memory broadcast block %d\n" % at for at in range(9000))
    second = one_sweep(fault + noise, first.prior)
    third = one_sweep(fault + noise, second.prior)
    for done in (second, third):
        assert done.job("1").get("lines.watchdog.count") == 1
        assert done.job("1").get("benign_lines") == {"shm": 9000}
        assert done.job("1").get("log.cut") is False


def test_a_long_log_at_first_sight_is_cut():
    done = one_sweep(b"Watchdog caught it\n" + b"x\n" * FIRST_SIGHT)
    assert done.job("1").get("log.cut") is True
    assert done.job("1").get("lines.watchdog.count") == Interval(0, None)
    assert reason(done.job("1").get("first_error.type")) == "cut"
    assert done.job("1").get("phase") is ABSENT


def test_another_file_or_attempt_starts_anew():
    first = one_sweep(b"Watchdog caught it\n")
    assert one_sweep(b"fine\nfine again\n", first.prior, inode=2).job("1").get("lines.watchdog.count") == 0
    assert one_sweep(b"short\n", first.prior).job("1").get("lines.watchdog.count") == 0
    later = one_sweep(b"Watchdog caught it\nfine\n", first.prior, started=NOW - 60, submitted=NOW - 100)
    assert later.job("1").get("lines.watchdog.count") == 1


def test_a_line_that_is_still_being_written_counts_once():
    first = one_sweep(b"a\nWatchdog cau")
    assert first.job("1").get("lines.watchdog.count") == 0
    second = one_sweep(b"a\nWatchdog caught", first.prior)
    assert second.job("1").get("lines.watchdog.count") == 1
    third = one_sweep(b"a\nWatchdog caught it\n", second.prior)
    assert third.job("1").get("lines.watchdog.count") == 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([b"Watchdog caught it\n", b"fine\n", b"Step Progress: 1/9\r"]), min_size=1, max_size=30),
    st.lists(st.integers(0, 500), max_size=4),
)
def test_however_a_log_grows_its_lines_are_counted_once(lines, cuts):
    whole = b"".join(lines)
    prior = None
    for cut in sorted(min(cut, len(whole)) for cut in cuts):
        prior = one_sweep(whole[:cut], prior).prior
    done = one_sweep(whole, prior)
    assert done.job("1").get("lines.watchdog.count") == sum(line.startswith(b"Watchdog") for line in lines)


def memo(**more: object) -> LogMemo:
    return replace(LogMemo(PATH, "scheduler", 1, 1, 1000, 5.0), **more)  # type: ignore[arg-type]


def test_what_is_read_of_a_log():
    small, big = FileStat(1, 1, 3000, 0.0), FileStat(1, 1, 50_000_000, 0.0)
    assert window(small, None, 5.0) == (0, 3000)
    assert window(big, None, 5.0) == (50_000_000 - FIRST_SIGHT, FIRST_SIGHT)
    assert window(big, memo(), 5.0) == (50_000_000 - AT_MOST, AT_MOST)
    assert window(big, memo(offset=49_000_000), 5.0) == (49_000_000, 1_000_000)
    assert window(big, memo(offset=49_999_999), 5.0) == (50_000_000 - FIRST_SIGHT, FIRST_SIGHT)
    assert window(big, memo(inode=2), 5.0) == (50_000_000 - FIRST_SIGHT, FIRST_SIGHT)
    assert window(big, memo(started=9.0), 5.0) == (50_000_000 - FIRST_SIGHT, FIRST_SIGHT)


# ---------------------------------------------------------------- jobs that ended between two sweeps


def ended(files: dict[str, FakeFile], *, version: str = "22.05.8", prior: Prior | None = None, **more: object):
    one = job("7", "FAILED", exit="1:0", name="sft__x", **more)
    return sweep(FakeSession([one], files, version=version), prior).job("7")


def test_a_slurm_that_keeps_the_path_says_where_it_was():
    one = ended({"/l/sft__x-7.out": FakeFile(b"x\n")}, version="24.11.5", stdout="/l/%x-%j.out")
    assert (one.get("log.path"), one.get("log.source")) == ("/l/sft__x-7.out", "accounting")


def test_an_older_one_has_the_submit_line():
    one = ended({"/l/7.log": FakeFile(b"x\n")}, command="-o /l/%j.log run.sh")
    assert (one.get("log.path"), one.get("log.source")) == ("/l/7.log", "accounting")


def test_else_the_workdir_is_listed():
    one = ended({"/w/any-7.txt": FakeFile(b"x\n")})
    assert (one.get("log.path"), one.get("log.source")) == ("/w/any-7.txt", "listing")
    assert ended({"/w/any-17.txt": FakeFile(b"x\n")}).get("log.exists") is ABSENT


def test_what_the_last_sweep_read_is_read_on():
    files = {"/far/sft__x-7.out": FakeFile(b"Watchdog caught\n")}
    running = job("7", name="sft__x", stdout="/far/%x-%j.out")
    first = sweep(FakeSession([running], files))
    one = ended(files, prior=first.prior, started=running.started, submitted=running.submitted)
    assert (one.get("log.path"), one.get("log.source")) == ("/far/sft__x-7.out", "scheduler")
    assert one.get("lines.watchdog.count") == 1


def test_more_ended_jobs_than_one_sweep_reads_are_said_to_be_unread():
    jobs = [job(str(number), "COMPLETED", name="datagen__x", stdout="/l/%j.out") for number in range(1, 306)]
    failed = job("900", "FAILED", exit="1:0", name="sft__x", ended=NOW - 80_000)
    files = {f"/l/{one.id}.out": FakeFile(b"x\n", inode=int(one.id)) for one in (*jobs, failed)}
    session = FakeSession([*jobs, failed], files, version="24.11.5")
    session.jobs = [replace(one, stdout="/l/%j.out") for one in session.jobs]
    done = sweep(session)
    unread = [one for one in jobs if reason(done.job(one.id).get("log.exists")) == "not-read"]
    assert len(unread) == 6
    assert done.job("900").get("log.exists") is True

"""An older or barer Slurm costs the facts that it does not have, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sweeprules.collectors.cluster import because, status
from sweeprules.collectors.slurm.ask import SACCT_COLUMNS
from sweeprules.collectors.slurm.rows import distrust
from sweeprules.collectors.slurm.scontrol import read_output
from sweeprules.collectors.slurm.text import read_duration
from sweeprules.collectors.transport.allow import AllowList
from sweeprules.collectors.transport.command import Command
from sweeprules.engine.facts import ABSENT, Unknown
from tests.collectors.slurm.fake import MARKS, NOW, FakeFile, FakeJob, FakeSession, job, observation, sacct_text
from tests.collectors.slurm.sweeps import reason, sweep


class OldSession(FakeSession):
    """A Slurm whose accounting lacks columns and whose squeue has no `-O`; `outputs` is what scontrol says."""

    lacks: Sequence[str] = ()
    wide = True

    def _squeue(self, words: Sequence[str], command: Command) -> tuple[int, str, str]:
        if "-O" in words and not self.wide:
            return 1, "", "squeue: invalid option -- 'O'\n"
        return super()._squeue(words, command)

    def _sacct(self, words: Sequence[str], command: Command) -> tuple[int, str, str]:
        asked = words[-1].removeprefix("--format=").split(",")
        for name in asked:
            if name in self.lacks:
                return 1, "", f'sacct: error: Invalid field requested: "{name}"\n'
        if "StdOut" in asked:
            return super()._sacct(words, command)
        kept = [SACCT_COLUMNS.index(name) for name in asked]
        lines = sacct_text(self.jobs).splitlines()
        return 0, "".join(MARKS.field.join(_chosen(line, kept)) + "\n" for line in lines), ""


def _chosen(line: str, kept: Sequence[int]) -> list[str]:
    fields = line.split(MARKS.field)
    return [fields[at] for at in kept]


def old(
    jobs: Sequence[FakeJob], *lacks: str, wide: bool = True, files: dict[str, FakeFile] | None = None
) -> OldSession:
    session = OldSession(jobs, files)
    session.lacks, session.wide = lacks, wide
    return session


JOBS = [job("1"), job("2", "FAILED", exit="1:0"), job("3", "PENDING")]


@pytest.mark.parametrize("lacks", [("SubmitLine",), ("SubmitLine", "WorkDir"), ("Comment", "Reason", "TimelimitRaw")])
def test_accounting_without_a_column_still_counts(lacks: tuple[str, ...]):
    session = old(JOBS, *lacks)
    done = sweep(session)
    assert (status(done.gathered), because(done.gathered)) == ("swept", "")
    assert done.job("2").get("state") == "FAILED"
    assert done.job("2").get("exit") == "1:0"
    if "SubmitLine" in lacks:
        assert reason(done.job("2").get("command")) == "not-read"
        assert done.job("1").get("command") == "/w/run.sh"
    for call in session.calls:
        for command in call:
            AllowList().check(command)


def test_accounting_without_an_id_or_a_state_is_not_believed():
    done = sweep(old(JOBS, "State"))
    assert status(done.gathered) == "partial"
    assert done.job_ids == ["1", "3"]


def test_jobs_that_vanished_are_asked_for_with_the_columns_that_there_are():
    before = sweep(old([job("1"), job("2")], "SubmitLine")).prior
    session = old([job("2")], "SubmitLine")
    session.ended_later = [job("1", "COMPLETED")]
    done = sweep(session, before)
    asked = [command.argv[-1] for call in session.calls[2:] for command in call if "-j" in command.argv]
    assert asked
    assert not any("SubmitLine" in form for form in asked)
    assert done.job("2").get("state") == "RUNNING"


def shown(path: str, name: str = "rl__x", more: str = "") -> str:
    return f"JobId=1 JobName={name} BatchFlag=1 WorkDir=/w StdErr=/w/e StdIn=/dev/null StdOut={path} Power={more}\n"


def test_a_queue_without_paths_asks_the_controller_for_them():
    session = old(JOBS, wide=False, files={"/logs/a.out": FakeFile(b"x\n", mtime=NOW - 90)})
    session.shown["1"] = shown("/logs/a.out")
    done = sweep(session)
    assert done.job("1").get("log.path") == "/logs/a.out"
    assert done.job("1").get("log_age") == 90
    assert status(done.gathered) == "swept"


def test_a_controller_that_says_nothing_of_it_leaves_the_log_unknown():
    done = sweep(old(JOBS, wide=False))
    assert reason(done.job("1").get("log.exists")) == "read-failed"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (shown("/a/b.out"), "/a/b.out"),
        (shown("/a/%N_x%j.out"), "/a/%N_x%%j.out"),
        (shown("/a/b.out", name="x StdOut=/etc/passwd"), ""),
        (shown("/a/b c.out"), ""),
        (shown("relative.out"), ""),
        (shown("/a/b.out").replace("BatchFlag=1", "BatchFlag=0"), ""),
        ("slurm_load_jobs error: Invalid job id specified\n", ""),
    ],
)
def test_an_output_path_that_a_name_could_have_written_is_not_believed(text: str, path: str):
    assert read_output(observation(["scontrol", "show", "job", "1", "-o"], text)) == path


def test_times_that_slurm_calls_invalid_are_unknown_and_not_absent():
    assert isinstance(read_duration("INVALID"), Unknown)
    done = sweep(FakeSession([job("1", started=None)]))
    assert reason(done.job("1").get("started")) == "malformed"


def test_an_end_that_accounting_does_not_know_is_unknown():
    done = sweep(FakeSession([job("1", "COMPLETED", ended=None)]))
    assert reason(done.job("1").get("ended")) == "malformed"
    assert sweep(FakeSession([job("1")])).job("1").get("ended") is ABSENT


def test_a_file_without_a_byte_is_not_opened():
    session = FakeSession([job("1")], {"/w/rl__x-1.out": FakeFile(b"")})
    done = sweep(session)
    assert done.job("1").get("log.size") == 0
    assert done.job("1").get("lines.errno-122.count") == 0
    assert not any(command.argv[0] == "tail" for call in session.calls for command in call)


def test_an_answer_that_was_cut_says_so_and_not_how_its_command_ended():
    one = observation(["squeue"], "x" * 100, code=141, stderr="Traceback\n", cut=5)
    assert distrust(one) == "more than the 100 bytes that are read of one answer"
    assert distrust(observation(["squeue"], code=141)) == "exit 141"


def test_accounting_of_a_busy_day_is_read_whole():
    busy = [job(str(number), "COMPLETED", workdir="/w" * 16_000) for number in range(1, 301)]
    assert len(sacct_text(busy)) > 9_000_000
    done = sweep(FakeSession(busy))
    assert status(done.gathered) == "swept"
    assert len(done.job_ids) == 300


def test_a_log_from_the_future_has_no_age():
    def age(mtime: float) -> object:
        return sweep(FakeSession([job("1")], {"/w/rl__x-1.out": FakeFile(b"x\n", mtime)})).job("1").get("log_age")

    assert age(NOW - 60) == 60
    assert age(NOW + 120) == 0
    assert reason(age(NOW + 3 * 3600)) == "read-failed"


def test_a_queue_that_prints_waiting_tasks_as_one_record():
    waiting = [job("11_4"), job("11_[5-7%3]", "PENDING"), job("12_[1,3,...]", "PENDING")]
    done = sweep(FakeSession(waiting))
    assert status(done.gathered) == "swept"
    assert done.job_ids == ["11_4", "11_5", "11_6", "11_7", "12"]
    assert [done.job(f"11_{task}").get("state") for task in (4, 5, 6, 7)] == ["RUNNING", *["PENDING"] * 3]
    assert done.job("12").get("array_id") == "12_[1,3,...]".partition("_")[0]

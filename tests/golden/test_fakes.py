"""The fakes print what real Slurm 22.05 and 24.11 printed for the same jobs; the expected lines were recorded there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.golden.harness.scenario import Step, moment
from tests.golden.harness.world import World

FIRST = {
    "state": "REQUEUED",
    "submitted": "2026-11-30T17:40:30Z",
    "started": "2026-11-30T17:40:30Z",
    "ended": "2026-11-30T17:41:08Z",
}
NOW = "2026-11-30T17:43:36Z"
BORN = "2026-11-30T17:40:30Z"
WORK = "work"
JOBS = {
    "1": {"name": "rl__qwen3_grpo", "started": BORN, "submitted": BORN, "limit": "12h"},
    "2": {"name": "rl__delphi_zclip_stageC", "state": "FAILED", "exit": "0:53", "started": BORN, "submitted": BORN,
          "ended": "2026-11-30T17:40:31Z", "limit": "2d3h5m", "reason": "JobLaunchFailure",
          "stdout": "logs_%j/%x_%j.out"},
    "5": {"name": "rl__chain_a3", "state": "TIMEOUT", "started": BORN, "submitted": BORN, "limit": "1m",
          "ended": "2026-11-30T17:41:40Z"},
    "8": {"name": "rl__chain_walltime", "state": "PENDING", "reason": "Dependency", "submitted": BORN, "limit": "12h",
          "dependency": "afterany:7(unfulfilled)"},
    "9": {"name": "eval-a1-math500", "state": "CANCELLED by 5001", "started": BORN, "submitted": BORN, "limit": "1h",
          "ended": "2026-11-30T17:41:08Z"},
    "11_5": {"name": "datagen__mix_chunks", "state": "FAILED", "exit": "3:0", "raw": 40, "submitted": BORN,
             "started": "2026-11-30T17:40:36Z", "ended": "2026-11-30T17:40:43Z", "limit": "1h",
             "stdout": "%x-%A_%a.out"},
    "14": {"name": "datagen__pending_res2", "state": "CANCELLED by 0", "started": None, "submitted": BORN,
           "ended": "2026-11-30T17:41:08Z", "limit": "1h", "queue": False},
    "15": {"name": "rl__a|b c", "state": "COMPLETED", "started": BORN, "submitted": BORN, "limit": "1h",
           "ended": "2026-11-30T17:40:33Z", "node_list": "node2"},
    "16": {"name": "sft__été_日本 ☃", "state": "COMPLETED", "started": BORN, "submitted": BORN, "limit": "1h",
           "ended": "2026-11-30T17:40:33Z", "node_list": "node2"},
    "17": {"name": "rl__new\nline", "state": "COMPLETED", "started": BORN, "submitted": BORN, "limit": "1h",
           "ended": "2026-11-30T17:40:33Z", "node_list": "node2"},
    "18": {"name": "eval-\"q\"'s\\back;$x%y,z", "state": "COMPLETED", "started": BORN, "submitted": BORN, "limit": "1h",
           "ended": "2026-11-30T17:40:33Z", "node_list": "node2"},
    "26": {"name": "pretokenize", "state": "PENDING", "reason": "JobHeldUser", "submitted": BORN, "limit": "1h"},
    "27": {"name": "rl__requeued", "started": "2026-11-30T17:43:12Z", "submitted": "2026-11-30T17:41:10Z",
           "limit": "1h", "attempts": [FIRST]},
    "31+0": {"name": "rl__het", "started": "2026-11-30T17:40:32Z", "submitted": BORN, "limit": "1h", "raw": 31,
             "node_list": "node3"},
    "31+1": {"name": "rl__het", "started": "2026-11-30T17:40:32Z", "submitted": BORN, "limit": "1h", "raw": 32},
    "40_[5-7%3]": {"name": "datagen__more", "state": "PENDING", "reason": "Resources", "submitted": BORN},
}  # fmt: skip
ALL = ("squeue", "-h", "-a", "-u", "alice", "-t", "all", "-r", "-o",
       "%i|%A|%F|%K|%j|%u|%P|%T|%r|%M|%l|%L|%S|%e|%V|%D|%C|%R|%Z|%E|%k")  # fmt: skip


def place(tmp_path: Path, version: str = "22.05.8", **login: object) -> World:
    """A world with the recorded jobs behind one login."""
    jobs = {
        job_id: {"workdir": WORK, "node_list": "node1", "command": "/data/jobs/live.sh", **job}
        for job_id, job in JOBS.items()
    }
    cluster = {"slurm": version, "logins": {"login01": login}, "jobs": jobs}
    world = World(tmp_path)
    world.set(Step(0.0, {"c": cluster}, {}, {}, (), {}), moment(NOW), clock=True)
    return world


def ask(world: World, *argv: str, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a command on the fake login, the folder's own path taken out."""
    path = f"{world.net}/logins/login01:/usr/bin:/bin"
    done = subprocess.run(argv, env={"PATH": path, "LC_ALL": "C.UTF-8", **(env or {})}, capture_output=True, timeout=30)
    out = done.stdout.decode().replace(f"{world.root}/clusters/c/{WORK}", "/data/work")
    return done.returncode, out, done.stderr.decode()


def row(output: str, start: str) -> str:
    """The one line that starts so."""
    (line,) = [line for line in output.splitlines() if line.startswith(start)]
    return line


def test_squeue_fields(tmp_path: Path) -> None:
    """Every field of the wide format, for each kind of job."""
    status, out, err = ask(place(tmp_path), *ALL)
    assert (status, err) == (0, "")
    for line in (
        "1|1|1|N/A|rl__qwen3_grpo|alice|boost|RUNNING|None|3:06|12:00:00|11:56:54|2026-11-30T17:40:30|"
        "2026-12-01T05:40:30|2026-11-30T17:40:30|1|32|node1|/data/work|(null)|(null)",
        "2|2|2|N/A|rl__delphi_zclip_stageC|alice|boost|FAILED|JobLaunchFailure|0:01|2-03:05:00|2-03:04:59|"
        "2026-11-30T17:40:30|2026-11-30T17:40:31|2026-11-30T17:40:30|1|32|(JobLaunchFailure)|/data/work|(null)|(null)",
        "5|5|5|N/A|rl__chain_a3|alice|boost|TIMEOUT|TimeLimit|1:10|1:00|INVALID|2026-11-30T17:40:30|"
        "2026-11-30T17:41:40|2026-11-30T17:40:30|1|32|(TimeLimit)|/data/work|(null)|(null)",
        "8|8|8|N/A|rl__chain_walltime|alice|boost|PENDING|Dependency|0:00|12:00:00|12:00:00|N/A|N/A|"
        "2026-11-30T17:40:30|1|32|(Dependency)|/data/work|afterany:7(unfulfilled)|(null)",
        "11_5|40|11|5|datagen__mix_chunks|alice|boost|FAILED|NonZeroExitCode|0:07|1:00:00|59:53|"
        "2026-11-30T17:40:36|2026-11-30T17:40:43|2026-11-30T17:40:30|1|32|(NonZeroExitCode)|/data/work|(null)|(null)",
        "27|27|27|N/A|rl__requeued|alice|boost|RUNNING|None|0:24|1:00:00|59:36|2026-11-30T17:43:12|"
        "2026-11-30T18:43:12|2026-11-30T17:41:10|1|32|node1|/data/work|(null)|(null)",
        "31+1|32|31|N/A|rl__het|alice|boost|RUNNING|None|3:04|1:00:00|56:56|2026-11-30T17:40:32|"
        "2026-11-30T18:40:32|2026-11-30T17:40:30|1|32|node1|/data/work|(null)|(null)",
    ):
        assert row(out, line.partition("|")[0] + "|") == line
    assert "17|17|17|N/A|rl__new\nline|alice" in out
    assert {line.partition("|")[0] for line in out.splitlines()} >= {"40_5", "40_6", "40_7"}


def test_squeue_lists_active_jobs_and_what_ended_lately(tmp_path: Path) -> None:
    """Without -t only active ones; the controller forgets what ended over five minutes ago."""
    world = place(tmp_path)
    ids = ask(world, "squeue", "-h", "-u", "alice", "-o", "%i")[1].split()
    assert ids == ["1", "8", "26", "27", "31+0", "31+1", "40_[5-7%3]"]
    assert ask(world, "squeue", "-h", "-u", "alice", "-t", "PD", "-o", "%i")[1].split() == ["8", "26", "40_[5-7%3]"]


def test_squeue_default_header_and_unknown_user(tmp_path: Path) -> None:
    """An unknown user is an error on stderr, the header alone on stdout, and exit 0."""
    status, out, err = ask(place(tmp_path), "squeue", "-u", "nosuchuser")
    assert (status, err) == (0, "squeue: error: Invalid user: nosuchuser\n")
    assert out == "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
    shown = ask(place(tmp_path), "squeue", "-u", "alice", "-t", "RUNNING")[1].splitlines()[1]
    assert shown == "                 1     boost rl__qwen    alice  R       3:06      1 node1"


def test_squeue_columns_of_bytes(tmp_path: Path) -> None:
    """`-O` pads and cuts to the byte; 22.05 shows the path as submitted, 24.11 expanded."""
    form = ("squeue", "-h", "-a", "-r", "-u", "alice", "-t", "RUNNING", "-O", "JobArrayID:40,STDOUT:300")
    for version, name in (("22.05.8", "%x-%j.out"), ("24.11.5", "rl__qwen3_grpo-1.out")):
        world = place(tmp_path / version, version)
        done = subprocess.run(form, env={"PATH": f"{world.net}/logins/login01:/usr/bin:/bin"}, capture_output=True)
        first = done.stdout.split(b"\n")[0]
        assert len(first) == 340
        assert first[:40].rstrip() == b"1"
        assert first.rstrip().endswith(name.encode())


def test_sacct_fields(tmp_path: Path) -> None:
    """Accounting's rows, with its own spelling of names and its words for never."""
    form = "--format=JobID,JobIDRaw,JobName,User,Account,Partition,State,ExitCode,DerivedExitCode,Submit,Start,End," \
           "Elapsed,ElapsedRaw,Timelimit,TimelimitRaw,NNodes,NodeList,Reason,WorkDir"  # fmt: skip
    status, out, err = ask(place(tmp_path), "sacct", "-u", "alice", "-S", "now-3hours", "-X", "-n", "-P", form)
    assert (status, err) == (0, "")
    for line in (
        "1|1|rl__qwen3_grpo|alice|proj|boost|RUNNING|0:0|0:0|2026-11-30T17:40:30|2026-11-30T17:40:30|Unknown|00:03:06|"
        "186|12:00:00|720|1|node1|None|/data/work",
        "2|2|rl__delphi_zclip_stageC|alice|proj|boost|FAILED|0:53|0:0|2026-11-30T17:40:30|2026-11-30T17:40:30|"
        "2026-11-30T17:40:31|00:00:01|1|2-03:05:00|3065|1|node1|None|/data/work",
        "5|5|rl__chain_a3|alice|proj|boost|TIMEOUT|0:0|0:0|2026-11-30T17:40:30|2026-11-30T17:40:30|"
        "2026-11-30T17:41:40|00:01:10|70|00:01:00|1|1|node1|None|/data/work",
        "9|9|eval-a1-math500|alice|proj|boost|CANCELLED by 5001|0:0|0:0|2026-11-30T17:40:30|2026-11-30T17:40:30|"
        "2026-11-30T17:41:08|00:00:38|38|01:00:00|60|1|node1|None|/data/work",
        "15|15|rl__a|b c|alice|proj|boost|COMPLETED|0:0|0:0|2026-11-30T17:40:30|2026-11-30T17:40:30|"
        "2026-11-30T17:40:33|00:00:03|3|01:00:00|60|1|node2|None|/data/work",
    ):
        assert row(out, line.partition("|")[0] + "|") == line
    assert "\n16|16|sft__été_?? ?|" in out
    assert "\n18|18|eval-`q`'s\\back;$x%y,z|" in out
    ids = {line.partition("|")[0] for line in out.splitlines()}
    assert not ids & {"8", "26"}, "jobs that were never eligible are not listed"


def test_sacct_steps_attempts_and_explicit_ids(tmp_path: Path) -> None:
    """Steps without -X, earlier attempts with -D, silence for an id that is not there."""
    world = place(tmp_path)
    base = ("sacct", "-u", "alice", "-S", "now-3hours", "-n", "-P")
    steps = ask(world, *base, "--format=JobID,JobName,State,ExitCode")[1].splitlines()
    for line in ("1.batch|batch|RUNNING|0:0", "2.batch|batch|CANCELLED|0:53", "5.batch|batch|CANCELLED|0:15",
                 "9.batch|batch|CANCELLED|0:15", "15.batch|batch|COMPLETED|0:0"):  # fmt: skip
        assert line in steps
    assert not any(line.startswith("14.") for line in steps)
    twice = ask(world, *base, "-X", "-D", "--format=JobID,State,Start,End")[1].splitlines()
    assert "27|REQUEUED|2026-11-30T17:40:30|2026-11-30T17:41:08" in twice
    assert "27|RUNNING|2026-11-30T17:43:12|Unknown" in twice
    assert "14|CANCELLED by 0|None|2026-11-30T17:41:08" in twice
    asked = ask(world, "sacct", "-n", "-X", "-P", "-j", "1,5,999999", "--format=JobID,State")[1]
    assert asked == "1|RUNNING\n5|TIMEOUT\n"


def test_epochs_and_delimiter(tmp_path: Path) -> None:
    """SLURM_TIME_FORMAT turns times into epochs, but not the words for never."""
    argv = (
        "sacct",
        "-u",
        "alice",
        "-S",
        "now-3hours",
        "-X",
        "-n",
        "-P",
        "--delimiter=@f1@",
        "--format=JobID,Submit,Start,End",
    )
    out = ask(place(tmp_path), *argv, env={"SLURM_TIME_FORMAT": "%s"})[1].splitlines()
    assert "1@f1@1796060430@f1@1796060430@f1@Unknown" in out
    assert "14@f1@1796060430@f1@None@f1@1796060468" in out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("sacct", "-S", "now-3h", "-X", "-P", "--format=JobID"), "Invalid time specification (pos=4): now-3h\n"),
        (("sacct", "-X", "-n", "-P", "--format=JobID,StdOut"), 'sacct: error: Invalid field requested: "StdOut"\n'),
        (("sacct", "-u", "nosuchuser", "-X", "-P", "--format=JobID"), "sacct: error: Invalid user id: nosuchuser\n"),
        (("scontrol", "show", "job", "999999", "-o"), "slurm_load_jobs error: Invalid job id specified\n"),
        (("squeue", "-j", "999999"), "slurm_load_jobs error: Invalid job id specified\n"),
    ],
)
def test_refusals(tmp_path: Path, argv: tuple[str, ...], said: str) -> None:
    """Wrong questions: exit 1, nothing on stdout, the real words on stderr."""
    assert ask(place(tmp_path), *argv) == (1, "", said)


def test_scontrol(tmp_path: Path) -> None:
    """One job on one line, ping, no reservations, and the version."""
    world = place(tmp_path)
    out = ask(world, "scontrol", "show", "job", "1", "-o")[1]
    for part in (
        "JobId=1 JobName=rl__qwen3_grpo UserId=alice(5001) GroupId=alice(5001) MCS_label=N/A Priority=",
        " QOS=normal JobState=RUNNING Reason=None Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 "
        "ExitCode=0:0 RunTime=00:03:06 TimeLimit=12:00:00 TimeMin=N/A SubmitTime=2026-11-30T17:40:30 "
        "EligibleTime=2026-11-30T17:40:30 AccrueTime=2026-11-30T17:40:30 StartTime=2026-11-30T17:40:30 EndTime=",
        " Command=/data/jobs/live.sh WorkDir=/data/work StdErr=/data/work/rl__qwen3_grpo-1.out StdIn=/dev/null "
        "StdOut=/data/work/rl__qwen3_grpo-1.out Power= \n",
    ):
        assert part in out
    assert out.count("\n") == 1
    assert ask(world, "scontrol", "ping") == (0, "Slurmctld(primary) at vm is UP\n", "")
    assert ask(world, "scontrol", "show", "res", "-o") == (0, "No reservations in the system\n", "")
    assert ask(world, "sinfo", "-V") == (0, "slurm-wlm 22.05.8\n", "")
    assert ask(world, "date", "+%s")[1] == f"{int(moment(NOW))}\n"


@pytest.mark.parametrize(
    ("failure", "status", "said"),
    [
        ("socket-timeout", 1, "Socket timed out on send/recv operation"),
        ("connect-failure", 1, "Unable to contact slurm controller (connect failure)"),
        ("errors-with-exit-0", 0, "Socket timed out on send/recv operation"),
    ],
)  # fmt: skip
def test_failures(tmp_path: Path, failure: str, status: int, said: str) -> None:
    """Each failure by its name."""
    assert ask(place(tmp_path, squeue=failure), "squeue") == (status, "", f"slurm_load_jobs error: {said}\n")


def test_failures_of_the_daemons(tmp_path: Path) -> None:
    """Accounting does not notice a dead controller, nor the queue a dead database."""
    down = place(tmp_path, sacct="connect-failure", scontrol="connect-failure", sinfo="connect-failure")
    ids = ("sacct", "-X", "-n", "-P", "-j", "1", "--format=JobID")
    assert ask(down, *ids) == (0, "1\n", "")
    status, out, err = ask(down, "scontrol", "ping")
    assert (status, err, out.splitlines()[0]) == (1, "", "Slurmctld(primary) at vm is DOWN")
    gone = place(tmp_path / "db", sacct="no-database")
    status, out, err = ask(gone, *ids)
    assert (status, out) == (1, "")
    assert err.splitlines()[0].startswith(
        "sacct: error: slurm_persist_conn_open_without_init: failed to open persistent"
    )
    assert err.splitlines()[2] == "sacct: error: Problem talking to the database: Connection refused"


def test_answers_change_by_the_call(tmp_path: Path) -> None:
    """A list of answers holds one for each time that the very same question is asked."""
    world = place(tmp_path, squeue=["ok", "socket-timeout"])
    question = ("squeue", "-h", "-u", "alice", "-o", "%i")
    assert [ask(world, *question)[0] for _ in range(3)] == [0, 1, 1]
    assert ask(world, *question[:-1], "%j")[0] == 0


def test_ssh_stands_for_the_network(tmp_path: Path) -> None:
    """It runs what it is given in a shell of that login, or fails in ssh's own words; every call is noted."""
    world = place(tmp_path)
    env = {**os.environ, "PATH": f"{world.net}/bin:/usr/bin:/bin"}
    options = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "--", "login01", "exec /bin/sh -s")
    done = subprocess.run(
        options, env=env, input=b"squeue -h -u bob\necho $? squeue\n", capture_output=True, timeout=30
    )
    assert (done.returncode, done.stdout) == (0, b"0 squeue\n")
    lost = subprocess.run(("ssh", "nowhere", "true"), env=env, capture_output=True, timeout=30)
    assert (lost.returncode, lost.stderr) == (
        255,
        b"ssh: Could not resolve hostname nowhere: Name or service not known\n",
    )
    assert [call["argv"][0] for call in world.calls()] == ["ssh", "squeue", "ssh"]

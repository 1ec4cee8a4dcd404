"""`doctor`: each cluster, the engine and the store, here and as cron would find them."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from sweeprules.cli import as_cron, cluster_checks
from sweeprules.store.db import open_store
from sweeprules.store.lock import Lock, take_lock
from tests.cli.conftest import LOCAL, Ran, Sweeprules

TOOLS = {
    "squeue": "exit 0",
    "sacct": "exit 0",
    "sinfo": "echo slurm-wlm 22.05.8",
    "scontrol": "echo 'Slurmctld(primary) at leonardo is UP'",
}


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of commands, first on PATH, in which a healthy Slurm answers."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in TOOLS.items():
        put(folder, name, text)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def put(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def plain(ran: Ran, site: Path) -> str:
    """What was printed, without what differs from machine to machine."""
    text = ran.out.replace(str(site), "SITE").replace(str(site.parent), "TMP")
    text = re.sub(r"(ok +python +).*", r"\1VERSIONS", text)
    text = re.sub(r"in \d+\.\d s", "in N s", text)
    text = re.sub(r"[+-]\d s against", "N s against", text)
    return re.sub(r"policy [0-9a-f]{12}", "policy SHA", text)


def by_name(ran: Ran) -> dict[str, tuple[str, str]]:
    return {row["name"]: (row["status"], row["says"]) for row in json.loads(ran.out)["checks"]}


def ask(sweeprules: Sweeprules, site: Path, *more: str) -> dict[str, tuple[str, str]]:
    return by_name(sweeprules("doctor", "--state", site.parent / "state", "--output", "json", *more))


def test_all_is_good(site: Path, tools: Path, sweeprules: Sweeprules, snapshot: SnapshotAssertion) -> None:
    found = sweeprules("doctor", "--state", site.parent / "state")
    assert found.exit == 0
    assert found.err == ""
    without_engine = re.sub(r".*engine  .*\n(.*→ verdicts.*\n)?", "", plain(found, site))
    assert re.sub(r"\d+ ok, \d+ warn", "N ok, N warn", without_engine) == snapshot
    assert not (site.parent / "state").exists()


@pytest.mark.parametrize(
    ("tool", "script", "check", "words"),
    [
        ("squeue", "echo 'slurm_load_jobs error: Socket timed out' >&2; exit 0", "leonardo queue", "Socket timed out"),
        ("sacct", "echo 'sacct: error: Connection refused' >&2; exit 1", "leonardo accounting", "Connection refused"),
        ("scontrol", "echo 'Slurmctld(primary) at x is DOWN'; exit 1", "leonardo controller", "DOWN"),
        ("squeue", "exit 127", "leonardo commands", "not there: squeue"),
        ("grep", "exit 127", "leonardo commands", "not there: grep"),
    ],
)
def test_what_fails_is_an_error(
    site: Path, tools: Path, sweeprules: Sweeprules, tool: str, script: str, check: str, words: str
) -> None:
    put(tools, tool, script)
    ran = sweeprules("doctor", "--output", "json", "--state", site.parent / "state")
    assert ran.exit == 1
    status, says = by_name(ran)[check]
    assert status == "error"
    assert words in says


def test_what_a_cluster_says_reaches_no_terminal(site: Path, tools: Path, sweeprules: Sweeprules) -> None:
    put(tools, "squeue", "printf '\\033[2Jgone\\033]0;x\\007\\302\\2332J\\n' >&2; exit 1")
    found = sweeprules("doctor", "--state", site.parent / "state")
    assert "\\e[2Jgone" in found.out
    whole = sweeprules("doctor", "--state", site.parent / "state", "--output", "json")
    for text in (found.out, whole.out):
        assert not {"\x1b", "\x07", "\x9b"} & set(text)


def test_a_command_that_hangs_ends_with_the_deadline(site: Path, tools: Path, sweeprules: Sweeprules) -> None:
    put(tools, "sacct", "sleep 60")
    started = time.monotonic()
    found = ask(sweeprules, site, "--deadline", "4s")
    assert time.monotonic() - started < 20
    assert "error" in {status for status, _ in found.values()}


def test_a_cluster_that_is_not_to_be_swept_is_not_contacted(site: Path, tools: Path, sweeprules: Sweeprules) -> None:
    put(tools, "squeue", f"touch {site.parent}/asked")
    record = site / "ops/leonardo/cluster.yaml"
    for more, words in (
        ("enabled: false\nbecause: it is being moved\n", "it is being moved"),
        ("downtime: [{from: 2020-01-01, to: 2999-01-01, because: away}]\n", "in downtime: away"),
    ):
        record.write_text(LOCAL + more)
        status, says = ask(sweeprules, site)["leonardo login"]
        assert status == "skipped"
        assert words in says
    record.write_text(LOCAL + "schedulre: slurm\n")
    ran = sweeprules("doctor", "--state", site.parent / "state")
    assert ran.exit == 1
    assert "FAIL  leonardo record" in ran.out
    assert not (site.parent / "asked").exists()


def test_what_the_record_bans_is_not_sent(site: Path, tools: Path, sweeprules: Sweeprules) -> None:
    put(tools, "sacct", f"touch {site.parent}/asked")
    (site / "ops/leonardo/cluster.yaml").write_text(LOCAL + "bans: [sacct]\n")
    status, says = ask(sweeprules, site)["leonardo commands"]
    assert status == "error"
    assert "the record bans sacct" in says
    assert not (site.parent / "asked").exists()


def test_a_login_that_does_not_answer(site: Path, tools: Path, sweeprules: Sweeprules) -> None:
    put(tools, "ssh", "echo 'ssh: connect to host nowhere port 22: Connection refused' >&2; exit 255")
    text = LOCAL.replace("via: local", "via: openssh, host: nowhere, fallbacks: [neither]")
    (site / "ops/leonardo/cluster.yaml").write_text(text)
    ran = sweeprules("doctor", "--state", site.parent / "state")
    assert ran.exit == 1
    assert "nowhere: connect: ssh: connect to host nowhere port 22: Connection refused" in ran.out
    assert "neither: connect:" in ran.out
    assert "try `ssh nowhere true` by hand" in ran.out


@pytest.mark.parametrize(
    ("config", "check", "status", "words"),
    [
        ("user alice", "exit 0", "ok", "no ControlPath is configured"),
        ("controlpath none", "exit 0", "ok", "no ControlPath is configured"),
        ("controlpath /run/cm-alice", "echo 'Master running (pid=4)' >&2; exit 0", "ok", "rides on the live"),
        ("controlpath /run/cm-alice", "exit 255", "warning", "no ControlMaster is live at /run/cm-alice"),
    ],
)
def test_the_control_master_is_found_without_an_agent(
    tools: Path, monkeypatch: pytest.MonkeyPatch, config: str, check: str, status: str, words: str
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    put(tools, "ssh", f'case "$1" in -G) echo "{config}";; -O) {check};; *) touch {tools}/logged-in;; esac')
    found = cluster_checks.control_master("leonardo", "login01", time.monotonic() + 10)
    assert (found.status, words in found.says) == (status, True)
    assert not (tools / "logged-in").exists()


def test_ssh_is_never_given_an_option_for_a_login(tools: Path) -> None:
    put(tools, "ssh", f"touch {tools}/asked")
    found = cluster_checks.control_master("leonardo", "-oProxyCommand=x", time.monotonic() + 10)
    assert found.status == "error"
    assert not (tools / "asked").exists()


# ---------------------------------------------------------------- this machine


def test_the_store(site: Path, tools: Path, sweeprules: Sweeprules) -> None:
    state = site.parent / "state"
    assert "holds no sweep yet" in ask(sweeprules, site)["store"][1]
    open_store(state, time.time()).close()
    found = ask(sweeprules, site)
    assert found["store"][0] == "ok"
    assert "no sweep yet" in found["store"][1]
    assert found["lock"] == ("ok", "no sweep is running")
    lock = take_lock(state, time.time() - 120)
    assert isinstance(lock, Lock)
    with lock:
        assert f"a sweep is running since 2m (process {os.getpid()})" in ask(sweeprules, site)["lock"][1]
    assert ask(sweeprules, site)["lock"] == ("ok", "no sweep is running")
    (state / "sweeprules.sqlite3").write_bytes(b"no database at all, and long enough to be looked at" * 40)
    assert ask(sweeprules, site)["store"][0] == "error"


def test_a_state_folder_that_is_a_file(site: Path, tools: Path, sweeprules: Sweeprules) -> None:
    (site.parent / "state").touch()
    assert ask(sweeprules, site)["store"][0] == "error"


def test_a_broken_policy_and_the_clusters_all_the_same(site: Path, tools: Path, sweeprules: Sweeprules) -> None:
    (site / "rules/own.yaml").write_text("policy: 2\n")
    found = ask(sweeprules, site)
    assert found["site"][0] == "error"
    assert "rules/own.yaml:1:" in found["site"][1]
    assert found["leonardo queue"][0] == "ok"


def test_a_fault_that_somebody_left_switched_on(
    site: Path, tools: Path, sweeprules: Sweeprules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEPRULES_ENGINE_FAULT", "wrong")
    assert ask(sweeprules, site)["engine"][0] == "error"


@pytest.mark.parametrize("deadline", ["0s", "-1s", "soon", "60"])
def test_a_deadline_is_a_duration(site: Path, sweeprules: Sweeprules, deadline: str) -> None:
    assert sweeprules("doctor", f"--deadline={deadline}").exit == 2


# ---------------------------------------------------------------- cron


def test_cron_has_almost_nothing() -> None:
    found = as_cron.cron_environment({"HOME": "/home/alice", "LOGNAME": "alice", "PATH": "/x", "SSH_AUTH_SOCK": "/y"})
    assert found == {"HOME": "/home/alice", "LOGNAME": "alice", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    assert as_cron.cron_environment({})["HOME"].startswith("/")


def test_what_only_a_person_has_is_missed_under_cron(site: Path, tools: Path, sweeprules: Sweeprules) -> None:
    ran = sweeprules("doctor", "--as-cron", "--output", "json")
    found = by_name(ran)
    # The commands of the test are on the PATH of this process alone.
    assert ran.exit == 1
    status, says = found["leonardo queue"] if "leonardo queue" in found else found["leonardo commands"]
    assert status == "error"
    assert "(without cron: ok, " in says
    assert found["engine"][0] == ask(sweeprules, site)["engine"][0]


def test_the_line_for_the_crontab(site: Path, tools: Path, sweeprules: Sweeprules) -> None:
    (site / "ops/leonardo/cluster.yaml").write_text(LOCAL + "enabled: false\nbecause: quiet\n")
    found = by_name(sweeprules("doctor", "--as-cron", "--output", "json"))
    assert found["cron site"][0] == "warning"
    assert found["crontab"][1].endswith(f"run --site {site} --quiet")
    state = site.parent / "100% mine"
    found = by_name(sweeprules("doctor", "--as-cron", "--output", "json", "--site", site, "--state", state))
    assert "cron site" not in found
    assert f"--state '{site.parent}/100\\% mine' --quiet" in found["crontab"][1]
    assert not state.exists()

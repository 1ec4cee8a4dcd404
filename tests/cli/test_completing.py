"""What a shell completes, asked as click's scripts ask: the words so far in the environment, the offers on stdout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _offers(line: str, *, state: Path, site: Path = ROOT, shell: str = "bash") -> list[str]:
    words = ["sweeprules", *line.split(" ")]
    env = {
        **os.environ,
        "_SWEEPRULES_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
        "SWEEPRULES_STATE": str(state),
        "SWEEPRULES_SITE": str(site),
    }
    script = "import sys; sys.argv[0] = 'sweeprules'; from sweeprules.cli.main import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60, check=False, cwd=site
    )
    assert ran.stderr == ""
    return [row.split(",")[1] for row in ran.stdout.splitlines() if row]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state after a sweep of the recorded site."""
    folder: Path = tmp_path_factory.mktemp("state")
    script = "from sweeprules.cli.main import main; main()"
    command = [sys.executable, "-c", script, "run", "--site", str(ROOT / "demo"), "--state", str(folder)]
    subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert (folder / "sweeprules.sqlite3").is_file()
    return folder


@pytest.mark.parametrize(
    ("line", "offered", "not_offered"),
    [
        ("ex", "explain", "run"),
        ("explain x --rule live.", "live.stale-log", "fail.edquot"),
        ("rules --rule live.", "live.bringup", "fail.edquot"),
        ("rules --code SR00", "SR001", "SR010"),
        ("verdict x wrong --flag stale", "stale-log", "failure"),
        ("facts --bucket ", "datagen", "job"),
        ("facts --kind c", "cluster", "job"),
        ("schema ru", "rule-tests", "cluster"),
        ("run --cluster leo", "leonardo", "tacc"),
    ],
)
def test_words_of_the_site(line: str, offered: str, not_offered: str, tmp_path: Path) -> None:
    offers = _offers(line, state=tmp_path)
    assert offered in offers
    assert not_offered not in offers


def test_jobs_and_sweeps_of_the_store(state: Path) -> None:
    jobs = _offers("explain ", state=state)
    assert any(":" in job for job in jobs)
    assert any(job.isdigit() for job in jobs)
    begun = next(job for job in jobs if ":" in job)[:5]
    assert all(job.startswith(begun) for job in _offers(f"explain {begun}", state=state))
    (sweep,) = _offers("report --sweep ", state=state)
    assert _offers(f"explain x --sweep {sweep[:8]}", state=state) == [sweep]
    assert _offers("test --from-sweep x --job ", state=state) == jobs


def test_nothing_is_offered_where_there_is_nothing(tmp_path: Path) -> None:
    assert _offers("explain ", state=tmp_path / "none") == []
    (tmp_path / "sweeprules.yaml").write_text("extends: builtin\n")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "own.yaml").write_text("policy: [\n")
    assert _offers("explain x --rule ", state=tmp_path / "none", site=tmp_path) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell(shell: str) -> None:
    env = {**os.environ, "_SWEEPRULES_COMPLETE": f"{shell}_source"}
    script = "import sys; sys.argv[0] = 'sweeprules'; from sweeprules.cli.main import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60, check=True
    )
    assert "_SWEEPRULES_COMPLETE" in ran.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=ran.stdout, text=True, check=True, timeout=30)

"""Environments of their own for the libraries whose real output is read: made once a session, or kept between sessions.

`SWEEPRULES_DEEP_VENVS` names a folder where they are kept; without it they lie in pytest's temporary folder. Whatever
pip is told by its own variables holds: `PIP_FIND_LINKS=FOLDER` gives it wheels that lie on disk, such as a CPU build of
torch, which the index may have only with CUDA.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

INSTALL_S = 1500
RUN_S = 300
PROGRAMS = Path(__file__).parent / "programs"
TORCH = "torch==2.13.0"
QUIET: Mapping[str, str] = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HARBOR_TELEMETRY": "0",
    "PYTHONUNBUFFERED": "1",
}
"""What keeps a library from asking a hub, and from taking all cores."""


@dataclass(frozen=True, slots=True)
class Room:
    """A virtual environment with some packages."""

    folder: Path

    def run(self, argv: Sequence[str | Path], cwd: Path, **more: str) -> bytes:
        """What a program of ours, or a command of the environment, printed to the terminal; it has to end with 0."""
        command = self.folder / "bin" / argv[0]
        environment = {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin", "HOME": str(cwd), **QUIET, **_pip(), **more}
        done = subprocess.run(
            [str(command), *map(str, argv[1:])],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=RUN_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-3000:]
        return done.stdout


def room(factory: pytest.TempPathFactory, name: str, packages: Sequence[str], least: tuple[int, int] = (3, 11)) -> Room:
    """The environment of that name. Where it can not be had each test that asks for it is skipped, with the reason.

    Under `SWEEPRULES_REAL=required` it fails instead. A program that ends badly in an environment always fails.
    """
    folder, why = _made(_root(factory) / name, tuple(packages), least)
    if not why:
        return Room(folder)
    said = f"REAL OUTPUT OF {name.upper()} IS NOT CHECKED: {why}"
    if os.environ.get("SWEEPRULES_REAL") == "required":
        pytest.fail(said, pytrace=False)
    pytest.skip(said)


@cache
def _made(folder: Path, packages: tuple[str, ...], least: tuple[int, int]) -> tuple[Path, str]:
    stamp = folder / "installed"
    if stamp.exists() and stamp.read_text() == " ".join(packages):
        return folder, ""
    python = _python(least)
    if python is None:
        return folder, f"there is no Python of {least[0]}.{least[1]} or newer"
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([python, "-m", "venv", folder], check=True, capture_output=True)
    command = [str(folder / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except subprocess.TimeoutExpired:
        return folder, f"{' '.join(packages)} was not installed within {INSTALL_S} s"
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        return folder, f"{' '.join(packages)} can not be installed: {(errors or ['pip failed'])[-1]}"
    stamp.write_text(" ".join(packages))
    return folder, ""


def _root(factory: pytest.TempPathFactory) -> Path:
    kept = os.environ.get("SWEEPRULES_DEEP_VENVS")
    return Path(kept).absolute() if kept else factory.getbasetemp() / "venvs"


def _pip() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if re.fullmatch(r"(PIP|SSL|REQUESTS)_[A-Z_]+", name)}


def _python(least: tuple[int, int]) -> str | None:
    """An interpreter that is new enough: this one, one of the search path, one that is installed beside this one."""
    beside = sorted(Path(sys.base_prefix).parent.glob("*/bin/python3"))
    named = [shutil.which(f"python3.{minor}") for minor in range(least[1], least[1] + 4)]
    for one in (sys.executable, *filter(None, named), *map(str, beside)):
        check = f"import sys, venv; sys.exit(sys.version_info < {least})"
        if subprocess.run([one, "-c", check], capture_output=True, check=False).returncode == 0:
            return one
    return None

"""The C module of durable-rules built with AddressSanitizer in a folder of its own, and how to start Python with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PARTS = ("json", "rete", "state", "events", "regex")
BUILD_TIME = 300


class NotHereError(Exception):
    """Raised where this machine can not build it; says what is missing."""


@dataclass(frozen=True, slots=True)
class Sanitized:
    """A folder with the module and the sanitizer's library. Reports are written beside it, one file a process."""

    folder: Path
    library: str

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs on top of its own environment.

        Python's own allocator hands out parts of large blocks, whose use after they were freed would not be seen. Leaks
        are not looked for: Python and the engine keep much until the process ends, and a child ends with its sweep.
        """
        options = f"detect_leaks=0:halt_on_error=1:exitcode=99:log_path={self.folder / 'report'}"
        return {
            "LD_PRELOAD": self.library,
            "ASAN_OPTIONS": options,
            "PYTHONMALLOC": "malloc",
            "PYTHONPATH": os.pathsep.join([str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])]),
        }

    def command(self, *arguments: str) -> tuple[str, ...]:
        """A Python command in which the module is loaded."""
        return ("env", *(f"{name}={value}" for name, value in self.environment.items()), sys.executable, *arguments)

    def reports(self) -> list[str]:
        """All reports so far."""
        return [path.read_text(errors="replace") for path in sorted(self.folder.glob("report.*"))]


def pinned() -> str:
    """The requirement of durable-rules, as the project pins it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (found,) = [text for text in project["dependencies"] if text.startswith("durable-rules")]
    requirement = re.match(r"durable-rules==[\d.]+", found)
    assert requirement is not None, found
    return requirement.group()


def build(folder: Path) -> Sanitized:
    """Download the source of the pinned version and build its module; NotHereError where that can not be done."""
    compiler = shutil.which("gcc")
    if compiler is None:
        raise NotHereError("there is no gcc")
    library = _run(compiler, "-print-file-name=libasan.so").strip()
    if not Path(library).is_absolute():
        raise NotHereError("gcc has no libasan")
    argv = ("-m", "pip", "download", "-q", "--no-deps", "--no-binary", "durable-rules", pinned(), "-d", str(folder))
    try:
        _run(sys.executable, *argv)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise NotHereError(f"the source of {pinned()} could not be downloaded: {error}") from None
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (source,) = [path / "src" for path in folder.iterdir() if (path / "src").is_dir()]
    files = [str(source / "rules" / f"{name}.c") for name in PARTS] + [str(source / "rulespy" / "rules.c")]
    includes = (f"-I{sysconfig.get_paths()['include']}", f"-I{source / 'rules'}")
    flags = ("-shared", "-fPIC", "-g", "-O1", "-fno-omit-frame-pointer", "-fsanitize=address", "-std=c99")
    out = folder / f"durable_rules_engine{sysconfig.get_config_var('EXT_SUFFIX')}"
    _run(compiler, *flags, "-D_GNU_SOURCE", "-w", *includes, *files, "-o", str(out))
    return Sanitized(folder, library)


def _run(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, timeout=BUILD_TIME, check=True).stdout

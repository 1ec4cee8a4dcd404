"""The checks of `doctor` once more, in a process that has no more than cron gives it."""

from __future__ import annotations

import json
import os
import pwd
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from sweeprules.cli.checks import Check
from sweeprules.store.site import SiteChoice

CRON_PATH = "/usr/bin:/bin"
"""What cron sets on Debian, Red Hat and macOS alike."""
START = 5.0
"""Seconds for the other process to start and to end, beside what its checks take."""
_CHILD = "from sweeprules.cli.main import main; main()"


def cron_environment(here: Mapping[str, str]) -> dict[str, str]:
    """All that cron sets; HOME and LOGNAME are those of the user."""
    home, name = here.get("HOME", ""), here.get("LOGNAME", "")
    try:
        user = pwd.getpwuid(os.getuid())
        home, name = home or user.pw_dir, name or user.pw_name
    except KeyError:
        pass
    return {"HOME": home or "/", "LOGNAME": name, "SHELL": "/bin/sh", "PATH": CRON_PATH}


def under_cron(
    choice: SiteChoice, state: Path | None, where: Path, here: Sequence[Check], end: float, env: Mapping[str, str]
) -> list[Check]:
    """The checks as cron finds them, those that differ from `here` marked, and what a line of a crontab needs.

    `state` is the option that was given, `where` the state folder that it led to; `env` the environment before it was
    settled. `end` is in seconds of `time.monotonic()`.
    """
    found, why = _ask(choice, state, max(1.0, end - time.monotonic() - START), cron_environment(env))
    if not found:
        return [*here, Check("cron", "error", f"the checks could not be made as cron: {why}")]
    before: dict[str, list[Check]] = {}
    for check in here:
        before.setdefault(check.name, []).append(check)
    compared = [_compared(check, before.get(check.name, [])) for check in found]
    gone = [name for name in before if name not in {check.name for check in found}]
    return [*compared, *_line(choice, state, where, env, gone)]


def _ask(choice: SiteChoice, state: Path | None, seconds: float, env: dict[str, str]) -> tuple[list[Check], str]:
    argv = [sys.executable, "-P", "-c", _CHILD, "doctor", "--output", "json", "--site", str(choice.root)]
    argv += ["--deadline", f"{seconds:.1f}s", *(("--state", str(state.expanduser().absolute())) if state else ())]
    folder = env["HOME"] if Path(env["HOME"]).is_dir() else "/"
    try:
        done = subprocess.run(
            argv,
            env=env,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds + START,
            check=False,
        )
        rows = json.loads(done.stdout)["checks"]
        return [Check(row["name"], row["status"], row["says"], row["hint"] or "") for row in rows], ""
    except subprocess.TimeoutExpired:
        return [], "they took longer than the deadline"
    except (ValueError, KeyError):
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return [], said[-1] if said else f"exit {done.returncode} and no word"
    except OSError as error:
        return [], error.strerror or type(error).__name__


def _compared(check: Check, here: Sequence[Check]) -> Check:
    """A check by cron; one that ends otherwise than here says how it was here."""
    if not here or any(one.status == check.status for one in here):
        return check
    says = f"{check.says} (without cron: {here[0].status}, {here[0].says})"
    return Check(check.name, check.status, says, check.hint)


def _line(
    choice: SiteChoice, state: Path | None, where: Path, env: Mapping[str, str], gone: Sequence[str]
) -> list[Check]:
    """What the line in the crontab has to say, because cron has neither this environment nor this folder."""
    from sweeprules.store.state import state_path

    told = []
    if gone:
        told.append(Check("cron", "warning", f"not looked at under cron: {', '.join(gone)}"))
    needs_state = state is not None or state_path(None, cron_environment(env)) != where
    program = Path(sys.argv[0]).absolute() if Path(sys.argv[0]).name == "sweeprules" else "sweeprules"
    words = [str(program), "run", "--site", str(choice.root), *(("--state", str(where)) if needs_state else ())]
    # A percent sign ends the command of a crontab's line.
    line = shlex.join([*words, "--quiet"]).replace("%", "\\%")
    if choice.how != "--site":
        says = f"the site was {choice.how if 'found' in choice.how else 'named by ' + choice.how}; cron can not tell it"
        told.append(Check("cron site", "warning", says, "give --site in the crontab, as below"))
    return [*told, Check("crontab", "ok", f"17 */3 * * * {line}")]

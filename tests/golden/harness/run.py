"""Runs the `sweeprules` command on a world, as a person or cron would: a process, its streams, its files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.golden.harness.scenario import Scenario, Step
from tests.golden.harness.world import World

COMMAND = Path(sys.executable).parent / "sweeprules"
PATIENCE = 120.0
"""Seconds after which a command counts as hung."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one process left: exit status and both streams, with what was asked of it."""

    args: tuple[str, ...]
    exit: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Seen:
    """All that one sweep of a scenario gave. `document` is the JSON report, `text` and `markdown` the same for people;
    `handoffs` the text of each handoff file; `calls` what the fakes were asked; `seconds` how long the sweep took."""

    sweep: Outcome
    document: Mapping[str, Any]
    text: str
    markdown: str
    handoffs: Mapping[str, str]
    calls: Sequence[Mapping[str, Any]]
    seconds: float


class Runner:
    """A scenario under way: its world, its store, and the environment of its commands."""

    def __init__(self, scenario: Scenario, root: Path) -> None:
        self.scenario = scenario
        self.world = World(root)
        self.state = root / "state"
        self._home = root / "home"
        self._home.mkdir()
        self._path = "/usr/bin:/bin"

    def sweep(self, step: Step) -> Seen:
        """Makes the world of one step and sweeps it once."""
        clock = self.scenario.now is not None
        now = (self.scenario.now or datetime.now(UTC).timestamp()) + step.offset
        self.world.set(step, now, clock=clock)
        self.world.forget()
        self._path = self.world.path(step)
        given = ("--now", datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")) if clock else ()
        wanted = {"text": {"text", "not_text"}, "markdown": {"markdown"}}
        forms = [form for form, keys in wanted.items() if set(step.expect) & (keys | {"never", "harmless"})]
        return self.swept(self.world.site, *given, *step.run, forms=forms)

    def swept(self, site: Path, *args: str, forms: Sequence[str] = ("text", "markdown")) -> Seen:
        """Sweeps a site as it is; the report in JSON and in `forms`."""
        out = self.state.parent / "report.json"
        out.unlink(missing_ok=True)
        began = time.monotonic()
        swept = self.command("run", "--site", str(site), "--output", "json", "--out", str(out), *args)
        seconds = time.monotonic() - began
        document = json.loads(out.read_text("utf-8")) if out.exists() else {}
        shown = {form: self.command("report", "--output", form).stdout for form in forms if document}
        folder = self.state / "handoffs"
        handoffs = {path.name: path.read_text("utf-8") for path in sorted(folder.glob("*"))} if folder.exists() else {}
        calls = self.world.calls()
        return Seen(swept, document, shown.get("text", ""), shown.get("markdown", ""), handoffs, calls, seconds)

    def command(self, *args: str) -> Outcome:
        """One command of sweeprules on this scenario's store."""
        env = {
            "PATH": self._path,
            "HOME": str(self._home),
            "SWEEPRULES_STATE": str(self.state),
            "LANG": "C.UTF-8",
            "COLUMNS": "160",
            **{name: os.environ[name] for name in ("PYTHONPATH", "COVERAGE_PROCESS_START") if name in os.environ},
        }
        done = subprocess.run(
            [str(COMMAND), *args],
            env=env,
            cwd=self._home,
            capture_output=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
        return Outcome(
            args, done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        )

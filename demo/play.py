"""Sweeps the recorded site and explains one of its flags: `make demo`. Reaches no cluster and keeps nothing."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

SITE = Path(__file__).resolve().parent
COMMAND = Path(sys.executable).parent / "sweeprules"
WEDGED = "borealis:48102"
MEANINGS = {
    0: "all was seen, and nothing reached --fail-on",
    1: "a flag reached --fail-on",
    2: "the command or the site is wrong",
    3: "the sweep is incomplete: cirrus gave no queue that can be believed, so its queue is UNKNOWN, not empty",
    4: "internal error, or the evaluators differ",
}


def main() -> int:
    """0 when both commands did what the demo shows; the status of the sweep itself is told."""
    with tempfile.TemporaryDirectory(prefix="sweeprules-demo-") as state:
        swept = play("run", "--site", str(SITE), "--state", state)
        say(f"\nexit status {swept}: {MEANINGS.get(swept, 'not a status of the contract')}")
        explained = play("explain", WEDGED, "--state", state)
    return 0 if (swept, explained) == (3, 0) else 1


def play(*args: str) -> int:
    """Runs one command as a person would; its exit status."""
    shown = ["demo" if arg == str(SITE) else arg for arg in args]
    say(f"\n$ sweeprules {' '.join(shown)}\n")
    return subprocess.run([str(COMMAND), *args], check=False).returncode


def say(text: str) -> None:
    """One line, before what the next command prints."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

"""The environment of a run, the same at a prompt and in cron."""

from __future__ import annotations

import os

SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")


def settle_environment() -> None:
    """Put the system's program folders on PATH behind what is there: cron sets almost none of them."""
    there = [part for part in os.environ.get("PATH", "").split(os.pathsep) if part]
    os.environ["PATH"] = os.pathsep.join(dict.fromkeys([*there, *SYSTEM_PATH]))

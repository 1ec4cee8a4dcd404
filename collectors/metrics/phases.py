"""In which phase of its life an RL run is, by the timers that its trainer prints."""

from __future__ import annotations

import re
from collections import Counter

from sweeprules.collectors.logs.lines import Chunk

_TIMER = re.compile(rb"(?P<what>Started|Finished): '(?P<name>[A-Za-z_][\w.\-/]{0,80})'")
_MOST = 20_000
"""Timer lines that are looked at, from the end on, until an open one is found."""
_PREPARES = ("load_checkpoint", "init_weight_sync", "setup_", "build_", "init_model", "wait_for_engines", "init_")
DONE = b"Training done!"


def open_timer(chunk: Chunk) -> str | None:
    """The innermost timer that was started and is not finished; empty when all are, None when no timer was printed."""
    text, begin = chunk.text, chunk.begin
    name = None
    closed: Counter[str] = Counter()
    at = text.rfind(b"ed: '", begin)
    for _ in range(_MOST):
        if at < 0:
            break
        found = _TIMER.match(text, max(0, at - 5)) or _TIMER.match(text, max(0, at - 6))
        if found is not None:
            name = found["name"].decode()
            if found["what"] == b"Finished":
                closed[name] += 1
            elif closed[name]:
                closed[name] -= 1
            else:
                return name
        at = text.rfind(b"ed: '", begin, at)
    return None if name is None else ""


def phase_of(timer: str | None, *, done: bool, stepping: bool, stepped: bool) -> str:
    """The phase (catalogue e.5): `stepping` says that a step has begun, `stepped` that one is finished.

    Empty when nothing of it tells.
    """
    if done and timer is None:
        return "teardown"
    if timer is not None and ("save_checkpoint" in timer or timer.startswith("save_hf")):
        return "checkpoint"
    if timer is not None and timer.startswith("eval"):
        return "eval"
    if stepped:
        return "steady"
    if stepping or timer == "step":
        return "first-step"
    return "bring-up" if timer is not None and timer.startswith(_PREPARES) else ""

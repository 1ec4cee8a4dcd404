"""The end of a result file that is too big to read: its fields by their place in the layout.

Harbor writes its files indented, and no string of JSON holds a line break: a line that begins with the indent of the
top level and a quoted name is that field, whatever the file says elsewhere.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, tzinfo

from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.trials.results import Trial, trial_of
from sweeprules.engine.facts import Reason, Unknown

_INDENT = re.compile(r'\{\r?\n( {1,8})"')
_FIELD = re.compile(r'\n( {1,8})"([a-z_]{1,40})": ?')
_STEP = re.compile(r'"step_id": ?(\d{1,9})')
_NEEDED = ("verifier_result", "exception_info", "finished_at")
CUT = Unknown(Reason.CUT, "the result file is longer than what is read of one")


def read_trial_ends(head: bytes, tail: bytes, zone: tzinfo = UTC) -> Trial | Unknown:
    """One trial from the first and the last bytes of its `result.json`.

    `cut` when the file is not indented, when what says whether the trial is valid stands in neither part, or when
    the last byte is not that of a whole file. What the agent used (tokens, episodes) is then mostly not told.
    """
    first = head.decode("utf-8", "replace").removeprefix("\ufeff")
    last = tail.decode("utf-8", "replace").rstrip()
    shape = _INDENT.match(first)
    if shape is None or not last.endswith("\n}"):
        return CUT
    fields = _fields(first, shape[1]) | _fields("\n" + last.partition("\n")[2], shape[1])
    if not all(name in fields for name in _NEEDED):
        return CUT
    found = trial_of(fields, zone)
    if isinstance(found, Unknown) or "agent_result" in fields:
        return found
    # Whether a token came is not told here, so how long the agent ran must not be read as a sign of none.
    return replace(found, agent_seconds=None)


def _fields(part: str, indent: str) -> dict[str, Json]:
    """The fields of the top level whose whole value stands in this part."""
    found: dict[str, Json] = {}
    decoder = json.JSONDecoder()
    for field in _FIELD.finditer(part):
        if field[1] != indent:
            continue
        try:
            found[field[2]], _ = decoder.raw_decode(part, field.end())
        except (ValueError, RecursionError):
            continue
    return found


def last_step(tail: bytes) -> int | None:
    """The number of steps of a trajectory from its last bytes: its steps count from 1; None when none is told there.

    Inside a string the quotes of such a name would be escaped.
    """
    found = [int(one) for one in _STEP.findall(tail.decode("utf-8", "replace"))]
    return max(found) if found else None

"""The setting that a run is in, and what its command says of how it is configured."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

from sweeprules.engine.facts import FactValue, Reason, Unknown

PARTS = ("code", "model", "policy_num_nodes", "num_inference_engines")
"""What a log has to print before its setting is told: the code, the model and the geometry (domain page 3.2)."""
_NAMED = re.compile(r"(?<![\w./@:+-])[\w./@:+-]+\.(?:sif|sqsh|simg|ya?ml|toml)(?![\w./-])", re.ASCII)
_OPTION = re.compile(r"--(?:container-)?(?:image|config)(?:-name|-path|_name|_path)?[= ]['\"]?([\w./@:+-]+)", re.ASCII)
_VALUE = r"['\"]?[= ]['\"]?(\d{1,15})(?![\w.])"
_FRONT = r"(?:^|[\s\"'])(?:--|\+{0,2}(?:\w+\.){0,4})"
_TOTAL = re.compile(rf"{_FRONT}max[_-]steps{_VALUE}", re.ASCII)
_INTERVAL = {
    "rl": re.compile(rf"{_FRONT}ckpt_interval{_VALUE}", re.ASCII),
    "sft": re.compile(rf"{_FRONT}save[_-]steps{_VALUE}", re.ASCII),
}
_TARGET = re.compile(
    r"""(?:^|[\s"'])--(?:upload[_-])?target(?:[_-]repo)?[= ]['"]?([A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,96})(?![\w./-])""",
    re.ASCII,
)
_TRACES = "-traces"
_LENGTH = 16


def settings_key(facts: Mapping[str, FactValue], printed: Mapping[str, str]) -> FactValue:
    """Equal for launches in one setting: code, model and geometry as the log prints them, image and configuration.

    The last two count by the names under which the command calls them; what a configuration holds is not read.
    Unknown while a part of it is.
    """
    missing = next((part for part in PARTS if part not in printed), None)
    if missing is not None:
        return Unknown(Reason.NOT_READ, f"what was read of the log does not print its {missing}")
    command, nodes = facts.get("command"), facts.get("nodes")
    if not isinstance(command, str):
        return command if isinstance(command, Unknown) else Unknown(Reason.NOT_READ, "the command was not read")
    if not isinstance(nodes, int):
        return nodes if isinstance(nodes, Unknown) else Unknown(Reason.NOT_READ, "the nodes were not read")
    named = sorted({*_NAMED.findall(command), *_OPTION.findall(command)})
    parts = json.dumps([sorted(printed.items()), named, nodes])
    return hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()[:_LENGTH]


def said_total(command: FactValue | None) -> int | None:
    """The planned steps by the command, where it gives one positive number of them."""
    return _one(_TOTAL, command)


def said_interval(command: FactValue | None, bucket: str) -> int | None:
    """The steps between two checkpoints by the command, where it gives one positive number of them."""
    return _one(_INTERVAL[bucket], command) if bucket in _INTERVAL else None


def said_target(command: FactValue | None) -> FactValue:
    """The repository that the command names as its target, as `owner/name`; a repository of traces is none.

    Unknown where it names none, for a configuration may name one, and where it names two.
    """
    if not isinstance(command, str):
        return command if isinstance(command, Unknown) else Unknown(Reason.NOT_READ, "the command was not read")
    found = {name for name in _TARGET.findall(command) if not name.endswith(_TRACES)}
    if len(found) > 1:
        return Unknown(Reason.DISAGREE, "the command names more than one target")
    return found.pop() if found else Unknown(Reason.NOT_READ, "the command names no target, its configuration may")


def _one(regex: re.Pattern[str], command: FactValue | None) -> int | None:
    found = {int(number) for number in regex.findall(command)} if isinstance(command, str) else set()
    return found.pop() if len(found) == 1 and found != {0} else None

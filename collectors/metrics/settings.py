"""The setting that an RL run is in, as far as its log prints it: code, model, geometry."""

from __future__ import annotations

import re

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.bars import TRIES

_VALUE = rb"['\"]?[ \t]*[:=][ \t]*['\"]?(?P<v>[\w./@:+-]{1,200})(?=['\",\s}\])]|$)"
_PRINTED: tuple[tuple[bytes, re.Pattern[bytes]], ...] = (
    (b"MarinSkyRL now at ", re.compile(rb"MarinSkyRL (?P<name>now at) (?P<v>[0-9a-f]{6,40})\b")),
    (b"policy.model.path", re.compile(rb"policy\.(?P<name>model\.path)" + _VALUE)),
    (b"policy_num_nodes", re.compile(rb"(?P<name>policy_num_nodes)" + _VALUE)),
    (b"policy_num_gpus_per_node", re.compile(rb"(?P<name>policy_num_gpus_per_node)" + _VALUE)),
    (b"num_inference_engines", re.compile(rb"(?P<name>num_inference_engines)" + _VALUE)),
)
_NAMES = {"now at": "code", "model.path": "model"}


def read_settings(chunk: Chunk, before: tuple[str, ...]) -> tuple[str, ...]:
    """The parts as `name=value`, sorted: of each the newest that is printed, else what was read before."""
    parts = dict(part.split("=", 1) for part in before)
    for literal, regex in _PRINTED:
        found = _newest(chunk, literal, regex)
        if found is not None:
            name = found["name"].decode()
            parts[_NAMES.get(name, name)] = found["v"].decode("utf-8", "replace")
    return tuple(sorted(f"{name}={value}" for name, value in parts.items()))


def _newest(chunk: Chunk, literal: bytes, regex: re.Pattern[bytes]) -> re.Match[bytes] | None:
    text = chunk.text
    at = text.rfind(literal, chunk.begin)
    for _ in range(TRIES):
        if at < 0:
            return None
        found = regex.match(text, at)
        if found is not None and found.end() < len(text):
            return found
        at = text.rfind(literal, chunk.begin, at)
    return None

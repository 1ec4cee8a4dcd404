"""The setting that an RL run is in, as far as its log prints it: code, model, geometry."""

from __future__ import annotations

import re

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.bars import TRIES

_VALUE = rb"['\"]?[ \t]*[:=][ \t]*['\"]?(?P<v>[\w./@:+-]{1,200})(?=['\",\s}\])]|$)"
_PRINTED: tuple[tuple[str, bytes, re.Pattern[bytes]], ...] = (
    ("code", b"MarinSkyRL now at ", re.compile(rb"MarinSkyRL now at (?P<v>[0-9a-f]{6,40})\b")),
    ("model", b"policy.model.path", re.compile(rb"policy\.model\.path" + _VALUE)),
    *(
        (name, name.encode(), re.compile(name.encode() + _VALUE))
        for name in (
            "policy_num_nodes",
            "policy_num_gpus_per_node",
            "num_inference_engines",
            "inference_engine_tensor_parallel_size",
            "colocate_all",
        )
    ),
)


def read_settings(chunk: Chunk, before: tuple[str, ...]) -> tuple[str, ...]:
    """The parts as `name=value`, sorted: of each the newest that is printed, else what was read before."""
    parts = dict(part.split("=", 1) for part in before)
    for name, literal, regex in _PRINTED:
        value = _newest(chunk, literal, regex)
        if value is not None:
            parts[name] = value
    return tuple(sorted(f"{name}={value}" for name, value in parts.items()))


def _newest(chunk: Chunk, literal: bytes, regex: re.Pattern[bytes]) -> str | None:
    text = chunk.text
    at = text.rfind(literal, chunk.begin)
    for _ in range(TRIES):
        if at < 0:
            return None
        found = regex.match(text, at)
        if found is not None and found.end() < len(text):
            return found["v"].decode("utf-8", "replace")
        at = text.rfind(literal, chunk.begin, at)
    return None

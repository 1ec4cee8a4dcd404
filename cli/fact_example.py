"""A likely value of each fact, in the form in which a rule test gives it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from sweeprules.engine.catalogue import FieldDef, KindDef
from sweeprules.engine.facts import ABSENT, FactValue, Value
from sweeprules.engine.testwriting import value

_WIDTH = 56
_IN_BUCKET: dict[str, dict[str, FactValue]] = {
    "rl": {"bucket": "rl", "flavour": "agentic", "name": "rl__a2-8B"},
    "sft": {"bucket": "sft", "flavour": "registered", "name": "sft__delphi-9e19", "tags": ()},
    "datagen": {"bucket": "datagen", "flavour": "chunked", "name": "datagen__leetcode_chunk7", "tags": ()},
    "eval": {"bucket": "eval", "flavour": "agentic", "name": "eval-a2-8B_tb2", "tags": ()},
    "catch-all": {"bucket": "catch-all", "flavour": "upload", "name": "hf_upload_a2-8B", "tags": ()},
}
_RUNNING: dict[str, FactValue] = {"ended": ABSENT, "exit": ABSENT, "exit_code": ABSENT, "exit_signal": ABSENT}
"""What the example of a running job does not have yet."""


def example_lines(kinds: Sequence[KindDef], bucket: str | None) -> Iterator[str]:
    """The facts of each kind as `given:` of a rule test, one a line with its type behind it.

    With a bucket, only those that its jobs may have. All lines together are one YAML document.
    """
    yield "# Likely values, to copy from: leave out what a test does not need, and it is unknown there."
    yield "given:"
    for kind in kinds:
        fields = [spec for spec in kind.fields.values() if not bucket or not spec.buckets or bucket in spec.buckets]
        if kind.name == "step":
            yield "  steps:"
            yield from _block([spec for spec in fields if spec.name != "link"], {}, "    - ", "      ")
        else:
            yield f"  {kind.name}:"
            yield from _block(fields, _instead(kind, bucket), "    ", "    ")


def _instead(kind: KindDef, bucket: str | None) -> dict[str, FactValue]:
    if kind.name != "job":
        return {}
    return {**_RUNNING, **_IN_BUCKET[bucket or "rl"]}


def _block(fields: Sequence[FieldDef], instead: dict[str, FactValue], first: str, later: str) -> Iterator[str]:
    for number, spec in enumerate(fields):
        worth = instead.get(spec.name, _read(spec.example, spec))
        text = f"{later if number else first}{spec.name}: {value(worth, spec.type, spec.fields)}"
        yield f"{text:<{_WIDTH}}  # {_type(spec)}"


def _read(example: object, spec: FieldDef) -> Value:
    """An example of the schema as a fact."""
    if isinstance(example, str):
        return datetime.fromisoformat(example).timestamp() if spec.type == "time" else example
    if isinstance(example, dict):
        return {name: _read(one, FieldDef(name, spec.fields.get(name, spec.item))) for name, one in example.items()}
    if isinstance(example, list):
        parts = FieldDef(spec.name, spec.item, fields=spec.fields)
        return tuple(_read(one, parts) for one in example)
    assert isinstance(example, bool | int | float)
    return example


def _type(spec: FieldDef) -> str:
    item = f" of {spec.item}" if spec.item else ""
    unit = f" ({spec.unit})" if spec.unit and spec.type not in ("duration", "bytes") else ""
    words = f": {', '.join(spec.words)}" if 0 < len(spec.words) <= 8 else ""
    return f"{spec.type}{item}{unit}{words}"

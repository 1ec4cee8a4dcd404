"""What the newest row of a trainer means: its numbers under the names of the catalogue, and whether they are sound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sweeprules.collectors.metrics.rows import BROKEN, Row
from sweeprules.engine.facts import ABSENT, Absent, FactValue, Reason, Unknown

KEYS: Mapping[str, tuple[str, ...]] = {
    "loss": ("loss", "lm loss"),
    "grad_norm": ("grad_norm", "grad norm"),
    "learning_rate": ("learning_rate", "learning rate", "lr"),
    "reward": ("reward",),
    "reward_spread": ("reward_std",),
    "kl": ("kl",),
    "entropy": ("entropy",),
    "step_time": ("step_time",),
}
"""Field of a step -> the keys that trainers on Hugging Face's loop and Megatron print, beside those of the policy."""
_PLAIN = ("epoch", "loss_nan_ranks")
_WATCHED = ("loss", "grad_norm", "reward", "kl", "entropy")
_JOB = ("loss", "grad_norm", "learning_rate")
SEEN = ("loss over 0", "gradient over 0")
"""What later rows are held against: whether a loss, or a gradient norm, over 0 was ever printed."""
_NO_LONGER = Unknown(Reason.NOT_READ, "the run prints this key, and its newest row did not")
_MASKED = Unknown(Reason.NOT_READ, "loss fell to 0, and no gradient norm is measured that would tell why")


def kept(row: Row, aliases: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What of a row the next sweep may ask for: key -> text, the keys that no fact is made of left out."""
    wanted = {key for name in {*KEYS, *aliases} for key in _keys(name, aliases)} | set(_PLAIN)
    return {key: text for key, text in row.values.items() if key in wanted}


def _keys(name: str, aliases: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return (*aliases.get(name, ()), *KEYS.get(name, ()))


def row_values(row: Row, aliases: Mapping[str, Sequence[str]]) -> dict[str, FactValue]:
    """Field of a step -> number, or unknown, for each that the row prints."""
    found = {name: row.get(*_keys(name, aliases)) for name in sorted({*KEYS, *aliases})}
    return {name: value for name, value in found.items() if value is not None}


def seen_after(seen: frozenset[str], row: Row, aliases: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """What rows have shown so far, this one counted: the keys that facts are made of, and `SEEN`."""
    found = {f"key {key}" for key in kept(row, aliases)}
    for name, mark in zip(("loss", "grad_norm"), SEEN, strict=True):
        value = row.get(*_keys(name, aliases))
        if isinstance(value, int | float) and value > 0:
            found.add(mark)
    return seen | found


def row_facts(
    row: Row | None, seen: frozenset[str], aliases: Mapping[str, Sequence[str]], none: Unknown | Absent, *, broken: bool
) -> dict[str, FactValue]:
    """The facts of a job by its newest row; `none` stands where there is no row, `broken` for a newest that is torn."""
    names = (*_JOB, "epoch", "loss_nan_ranks", "has_nan", "nan_suspect")
    if broken or row is None:
        return dict.fromkeys(names, BROKEN if broken else none)
    facts: dict[str, FactValue] = {name: _value(row, seen, _keys(name, aliases)) for name in _JOB}
    facts["epoch"] = _value(row, seen, ("epoch",))
    facts["loss_nan_ranks"] = _whole_number(_value(row, seen, ("loss_nan_ranks",)))
    facts["has_nan"] = any(_not_finite(row.get(*_keys(name, aliases))) for name in _WATCHED)
    facts["nan_suspect"] = _suspect(row, seen, facts, none)
    return facts


def _value(row: Row, seen: frozenset[str], keys: Sequence[str]) -> FactValue:
    value = row.get(*keys)
    if value is not None:
        return value
    return _NO_LONGER if any(f"key {key}" in seen for key in keys) else ABSENT


def _whole_number(value: FactValue) -> FactValue:
    if isinstance(value, float):
        return int(value) if value.is_integer() and value >= 0 else Unknown(Reason.MALFORMED, "no whole number")
    return value


def _not_finite(value: FactValue | None) -> bool:
    return isinstance(value, Unknown) and value.reason == Reason.NAN


def _suspect(row: Row, seen: frozenset[str], facts: Mapping[str, FactValue], none: FactValue) -> FactValue:
    """Whether NaN stands behind a loss of 0: trainers count a loss that is no number as 0 unless told otherwise."""
    loss, gradient = facts["loss"], facts["grad_norm"]
    if isinstance(loss, Unknown) and loss.reason != Reason.NAN:
        return loss
    if loss != 0 or "reward" in row.values:
        return False
    if isinstance(gradient, Unknown) and gradient.reason != Reason.NAN:
        return gradient
    if _not_finite(gradient):
        earlier: FactValue = none if isinstance(none, Unknown) and none.reason == Reason.CUT else False
        return True if SEEN[0] in seen else earlier
    return _MASKED if SEEN[0] in seen and SEEN[1] not in seen else False

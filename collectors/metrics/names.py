"""Under which printed keys the fields of a step stand, and which of their values tell nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sweeprules.collectors.metrics.mirror import is_nan, number
from sweeprules.engine.facts import FactValue, Reason, Unknown

ZERO = Unknown(Reason.MALFORMED, "every diagnostic of the line is 0, which a computation that failed prints")
FALLBACK = Unknown(Reason.MALFORMED, "exactly 1, 0 and 0, which is printed where nothing was computed")
DIAGNOSTICS = ("log_ratio_mean", "log_ratio_p99", "log_ratio_max")
TIS = ("tis_imp_ratio", "tis_capped", "tis_log_ratio")
FAILED = "generate/num_failed_trajectories"
FINITE = frozenset({"reward", "loss", "policy_loss", "grad_norm", "entropy", *DIAGNOSTICS})
"""Fields that are finite as long as the weights are: a timer or a rate that divides by nothing says nothing of them."""
_LINES = 64
"""Kinds of lines of which it is kept where their fields stand."""


@dataclass(frozen=True, slots=True)
class Names:
    """The aliases of a policy, ready to be looked up: field -> its keys, and the beginnings that a star ended."""

    fields: tuple[tuple[str, tuple[str, ...]], ...]
    stars: tuple[tuple[str, tuple[str, ...]], ...]
    keys: frozenset[str]
    _known: dict[tuple[str, ...], tuple[tuple[str, str], ...]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, aliases: Mapping[str, Sequence[str]]) -> Names:
        """Of field -> keys in the order in which they count; a key that ends with `*` stands for any ending."""
        exact = tuple((name, tuple(key for key in keys if not key.endswith("*"))) for name, keys in aliases.items())
        stars = tuple(
            (name, begun)
            for name, keys in aliases.items()
            if (begun := tuple(key[:-1] for key in keys if key.endswith("*")))
        )
        return cls(exact, stars, frozenset(key for _, keys in exact for key in keys))

    def values(self, data: Mapping[str, Any]) -> Mapping[str, FactValue]:
        """Field -> number of the fields that a line holds; unknown where what is printed tells nothing."""
        found: dict[str, FactValue] = {}
        for name, key in self._places(tuple(data)):
            raw = data[key]
            found[name] = raw if type(raw) is float and math.isfinite(raw) else number(raw)
        if "log_ratio_mean" in found or "log_ratio_max" in found:
            self._doubt(found)
        if found.get("tis_imp_ratio") == 1:
            self._doubt_tis(found)
        return MappingProxyType(found)

    def _places(self, printed: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Which key each field has among those of a line; a run prints the same ones at every step."""
        places = self._known.get(printed)
        if places is None:
            if len(self._known) >= _LINES:
                self._known.clear()
            places = self._known[printed] = tuple(self._find(printed))
        return places

    def _find(self, printed: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        held, named = frozenset(printed), set()
        for name, keys in self.fields:
            place = next((key for key in keys if key in held), None)
            if place is not None:
                named.add(name)
                yield name, place
        for name, begun in self.stars:
            ending = next((key for key in printed if key.startswith(begun)), None) if name not in named else None
            if ending is not None:
                yield name, ending

    def _doubt(self, found: dict[str, FactValue]) -> None:
        printed = [name for name in DIAGNOSTICS if name in found]
        if all(found[name] == 0 for name in printed):
            found.update(dict.fromkeys(printed, ZERO))

    def _doubt_tis(self, found: dict[str, FactValue]) -> None:
        printed = [name for name in TIS if name in found]
        if len(printed) > 1 and all(found[name] == 0 for name in printed[1:]):
            found.update(dict.fromkeys(printed, FALLBACK))

    def all_zero(self, data: Mapping[str, Any]) -> bool | None:
        """True when every diagnostic that a line holds is 0; None when it holds none."""
        values = self.values(data)
        printed = [values[name] for name in DIAGNOSTICS if name in values]
        return all(value is ZERO for value in printed) if printed else None

    def nan(self, data: Mapping[str, Any]) -> bool:
        """True when a reward, loss, gradient norm, entropy or log ratio that a line holds is NaN or infinite."""
        return any(name in FINITE and is_nan(data[key]) for name, key in self._places(tuple(data)))

    @staticmethod
    def failed(data: Mapping[str, Any]) -> int | None:
        """The trajectories that the line counts as failed; None when it does not say."""
        value = number(data[FAILED]) if FAILED in data else None
        return int(value) if isinstance(value, int | float) and value >= 0 else None

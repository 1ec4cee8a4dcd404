"""What an RL run's log has said so far, from sweep to sweep, beside its points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from sweeprules.collectors.metrics.points import Json

AHEAD = 1
"""Steps that a bar may lag behind the newest line, since it is drawn after it."""


@dataclass(frozen=True, slots=True)
class State:
    """Positions are bytes of the log, -1 where nothing was seen. `until` is how far lines of metrics were read.

    `source` says what its points are read from (`mirror console row`), `counted` that a trainer prints no step of its
    own. `attempt` counts how often the log went back to an earlier step, or was begun anew. `half` is the text of a
    dictionary that was not ended at `until`.
    """

    until: int = 0
    attempt: int = 1
    source: str = ""
    counted: bool = False
    line: int | None = None
    line_at: int = -1
    malformed: int = 0
    families: tuple[str, ...] = ()
    nan: bool | None = None
    zero: bool | None = None
    failed: int | None = None
    failed_batch: int | None = None
    bar: int | None = None
    bar_of: int | None = None
    bar_at: int = -1
    buffer: int | None = None
    buffer_of: int | None = None
    total: int | None = None
    total_at: int = -1
    resumed: int | None = None
    resumed_at: int = -1
    over: int | None = None
    over_at: int = -1
    saved: int | None = None
    interval: int | None = None
    tis: bool | None = None
    timer: str = ""
    stepping: bool = False
    stepped: bool = False
    done_at: int = -1
    staged: tuple[int, ...] = ()
    staged_of: int | None = None
    half: str = ""
    settings: tuple[str, ...] = ()

    def encode(self) -> dict[str, Json]:
        """JSON-ready; `decode` gives an equal value back."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def decode(cls, data: Mapping[str, Any]) -> State:
        """The value of `encode`; what an earlier version did not keep is what it is at first."""
        known = {item.name for item in fields(cls)} & data.keys()
        values: dict[str, Any] = {name: data[name] for name in known}
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        return cls(**values)

    @property
    def seen(self) -> bool:
        """True when any line of an RL trainer was read."""
        return self != State(until=self.until, attempt=self.attempt, half=self.half)

    @property
    def step(self) -> tuple[int, str] | None:
        """The newest step that the run reached, and its source `bar` or `line`; None when neither was read.

        A line of metrics is told before the bar that is drawn after it. Behind a resume only what came later counts.
        """
        line = None if self.counted else self.line
        resumed, resumed_at = max((self.resumed_at, self.resumed), (self.over_at, self.over), key=_place)[::-1]
        if resumed is not None and resumed_at > self.line_at:
            if self.bar is not None and self.bar_at > resumed_at:
                return self.bar, "bar"
            return resumed, "line"
        if self.bar is not None and (line is None or self._bar_is_newer(line)):
            return self.bar, "bar"
        return (line, "line") if line is not None else None

    def _bar_is_newer(self, line: int) -> bool:
        return self.bar is not None and self.bar_at > self.line_at and not line - AHEAD <= self.bar <= line

    @property
    def max_step(self) -> int | None:
        """The number of steps that is planned: of the bar, else of the banner; the one that was printed last."""
        if self.bar_of is not None and self.bar_at >= self.total_at:
            return self.bar_of
        return self.total if self.total is not None else self.bar_of


def _place(candidate: tuple[int, int | None]) -> int:
    return candidate[0] if candidate[1] is not None else -1

"""Messages about what people wrote: what, where, why, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake in a file that a person wrote.

    `message` says what is wrong and what was expected, `hint` what to do (nearest name, a correct form). `severity` is
    `error` or `warning`; `code` a stable lint code where the finding has one.
    """

    mark: Mark
    message: str
    hint: str = ""
    severity: str = "error"
    code: str = ""

    def __str__(self) -> str:
        tail = f" ({self.hint})" if self.hint else ""
        code = f"{self.code} " if self.code else ""
        return f"{self.mark}: {code}{self.message}{tail}"


class PolicyError(Exception):
    """Raised with every problem of a load at once; `problems` is never empty and is ordered by place."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(sorted(problems))
        super().__init__("\n".join(str(p) for p in self.problems))


def nearest(word: str, names: Iterable[str]) -> str:
    """The hint `did you mean ...?` for the closest of `names`; empty when none is close."""
    import difflib  # one mistake in a thousand runs needs it

    close = difflib.get_close_matches(word, list(names), n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else ""

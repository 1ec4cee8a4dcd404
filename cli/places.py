"""Places in files as a person who stands in a folder would write them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from sweeprules.engine.errors import Mark, Problem

SHIPPED = "builtin:"
"""How the names of shipped files begin, in a site that extends them."""


def place(file: str, root: Path, here: Path) -> str:
    """A file of the site at `root`, relative to `here` where it is below, else absolute; shipped names as they are."""
    if file.startswith(SHIPPED):
        return file
    path = root / file
    try:
        return str(path.relative_to(here))
    except ValueError:
        return str(path)


def placed(problems: Iterable[Problem], root: Path, here: Path) -> list[Problem]:
    """The problems, each once and in order, at places that an editor opens from `here`."""
    moved = (replace(p, mark=Mark(place(p.mark.file, root, here), p.mark.line, p.mark.column)) for p in problems)
    return sorted(dict.fromkeys(moved))

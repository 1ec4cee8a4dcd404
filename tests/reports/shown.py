"""What a table shows: rows by job id, and the cells of the one row of one job."""

from __future__ import annotations

from typing import Any

from sweeprules.engine.facts import Subject
from sweeprules.engine.verdicts import Flag
from sweeprules.reports.document import build
from tests.reports.fleet import verdict, world_of

Cells = dict[str, str]


def rows(document: dict[str, Any], title: str) -> dict[str, Cells]:
    """Job id -> column -> cell, of one table."""
    table = next(table for table in document["tables"] if table["title"] == title)
    found = (dict(zip(table["columns"], row, strict=True)) for row in table["rows"])
    return {next(iter(row.values())).rpartition("[")[2][:-1]: row for row in found}


def one(document: dict[str, Any]) -> Cells:
    """The one row of a report's one table."""
    (table,) = document["tables"]
    (row,) = table["rows"]
    return dict(zip(table["columns"], row, strict=True))


def shown(of: Subject, bucket: str, *more: Subject, flags: tuple[Flag, ...] = (), **given: str) -> Cells:
    """The row of one job."""
    return one(build(world_of([of, *more], [verdict(of, bucket, *flags, **given)])))

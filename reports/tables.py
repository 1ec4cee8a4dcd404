"""The tables of a report: one for each bucket, all clusters in it; rows keep the order of the report's entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from sweeprules.engine.facts import Absent
from sweeprules.reports.clean import one_line
from sweeprules.reports.numbers import is_number
from sweeprules.reports.rows import Row, filling
from sweeprules.reports.training import RL_COLUMNS, SFT_COLUMNS, grid, is_done, job_cell, rl_row, sft_row
from sweeprules.reports.trend import flags, head, live, next_link, said, state_words, tail
from sweeprules.reports.trials import (
    DATAGEN_COLUMNS,
    EVAL_COLUMNS,
    chunk_groups,
    datagen_row,
    eval_groups,
    eval_row,
    tracker_row,
)
from sweeprules.reports.words import NOT_EMITTED, UNREAD, duration

LINES = "Catch-all"
"""The title of the table that is told in lines."""
LINE_COLUMNS = ("Job", "Type", "State", "Elapsed", "Note")
UNSORTED_COLUMNS = ("Job", "State", "Elapsed", "Last output", "Health", "Note")
Data = dict[str, Any]


def tables(rows: Sequence[Row]) -> list[Data]:
    """One table for each bucket that has rows, RL with a second one for runs without a train step, in a fixed order.

    Cells are safe, one-line texts, uncut: `—` is not emitted or not applicable, `?` could not be read.
    """
    by_bucket: dict[str, list[Row]] = {}
    for row in rows:
        by_bucket.setdefault(row.entry["bucket"], []).append(row)
    stepped = [row for row in by_bucket.get("rl", ()) if not filling(row)]
    waiting = [row for row in by_bucket.get("rl", ()) if filling(row)]
    sft, datagen, evals = (by_bucket.get(name, []) for name in ("sft", "datagen", "eval"))
    made = [
        _table("rl", "RL", RL_COLUMNS, stepped, [rl_row(row) for row in stepped]),
        _table("rl", "RL, still filling: no train step yet", RL_COLUMNS, waiting, [rl_row(row) for row in waiting]),
        _table("sft", "SFT", SFT_COLUMNS, sft, [sft_row(row) for row in sft], grid),
        _table("datagen", "Datagen", DATAGEN_COLUMNS, datagen, [datagen_row(g) for g in chunk_groups(datagen)]),
        _table("eval", "Eval", EVAL_COLUMNS, evals, [eval_row(group) for group in eval_groups(evals)]),
        _plain(by_bucket, "catch-all", LINES, LINE_COLUMNS, _line),
        _plain(by_bucket, "UNKNOWN", "Bucket unknown", UNSORTED_COLUMNS, _unsorted),
    ]
    return [table for table in made if table["rows"]]


def _plain(
    by_bucket: dict[str, list[Row]],
    bucket: str,
    title: str,
    columns: Sequence[str],
    cells: Callable[[Row], list[str]],
) -> Data:
    rows = by_bucket.get(bucket, [])
    return _table(bucket, title, columns, rows, [cells(row) for row in rows])


def _table(
    bucket: str,
    title: str,
    columns: Sequence[str],
    rows: Sequence[Row],
    cells: list[list[str]],
    lead: Callable[[Sequence[Row]], str] | None = None,
) -> Data:
    rollup = _rollup(rows, lead(rows) if lead and rows else "")
    return {"bucket": bucket, "title": title, "columns": list(columns), "rows": cells, "rollup": rollup}


def _line(row: Row) -> list[str]:
    flavour = row.entry["flavour"]
    note = said(
        [
            *([live(row)] if row.running else []),
            *flags(row),
            _cause(row),
            _purpose(row),
            tracker_row(row).strip(" ()"),
            next_link(row),
            *tail(row, {}),
        ]
    )
    return [job_cell(row), UNREAD if flavour == "unknown" else flavour, state_words(row), _span(row), note]


def _cause(row: Row) -> str:
    """The first error of a job that ended, in its own words."""
    message, kind = row.get("first_error.message"), row.get("first_error.type")
    if row.running or row.state == "PENDING":
        return ""
    found = [one_line(part, 120) for part in (kind, message) if isinstance(part, str) and part]
    return ": ".join(found)


def _purpose(row: Row) -> str:
    """What its submitter or its own log says that it does."""
    told = [row.get(name) for name in ("stage", "comment", "target")]
    return next((one_line(value, 80) for value in told if isinstance(value, str) and value), "")


def _unsorted(row: Row) -> list[str]:
    note = said([*head(row)[1:], next_link(row), *tail(row, {})])
    return [job_cell(row), state_words(row), _span(row), _last_output(row), row.entry["health"], note]


def _last_output(row: Row) -> str:
    seconds = row.entry["last_output_age_s"]
    if row.state == "PENDING":
        return NOT_EMITTED
    if is_number(seconds):
        return f"{duration(seconds)} ago"
    return NOT_EMITTED if row.entry["unknown"].get("last_output_age_s") == "not-applicable" else UNREAD


def _span(row: Row) -> str:
    value = row.get("elapsed")
    if isinstance(value, int | float):
        return duration(value)
    return NOT_EMITTED if isinstance(value, Absent) else UNREAD


def _rollup(rows: Sequence[Row], lead: str) -> str:
    """How many run, wait and have ended, or `lead` in their place; then what is flagged and what could not be told."""
    count = Counter(_phase(row.state) for row in rows)
    count["ended otherwise"] = sum(_phase(row.state) == "ended" and not is_done(row) for row in rows)
    words = ("ended otherwise", "state unknown") if lead else ("running", "pending", "ended", "state unknown")
    parts = [lead] if lead else []
    parts += [f"{word} {count[word]}" for word in words if count[word]]
    for health, word in (("flagged", "flagged"), ("unknown", "health unknown")):
        found = sum(row.entry["health"] == health for row in rows)
        parts += [f"{word} {found}"] if found else []
    return " · ".join(parts)


def _phase(state: str) -> str:
    return {"RUNNING": "running", "PENDING": "pending", "UNKNOWN": "state unknown"}.get(state, "ended")

"""The rows of training runs: reinforcement learning with its numbers of a step, fine-tuning with its rate and end."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sweeprules.engine.facts import Absent, FactValue
from sweeprules.reports.clean import one_line
from sweeprules.reports.numbers import cell, number, pair, percent, was_printed
from sweeprules.reports.rows import Row, filling, metric, printed, step_of, total_of
from sweeprules.reports.trend import bringup, checkpoint, collapse, head, malformed, next_link, said, slope, tail
from sweeprules.reports.words import UNREAD, duration

RL_COLUMNS = ("Job", "Step", "Reward", "Policy Loss", "Grad Norm", "Entropy", "|log r| μ", "Trend")
SFT_COLUMNS = ("Job", "Step", "Loss", "Grad Norm", "Trend")
_POLE_LEAST = 2
"""Cells from which on one can be the longest."""
_SHOWN_TAGS = ("ablation", "a1", "a2", "a3", "debug", "smoke", "131k")
_BUDGET = re.compile(r"(?<![0-9A-Za-z.])[0-9]+(?:\.[0-9]+)?e[0-9]+(?![0-9A-Za-z])")
_SIZE = re.compile(r"(?<![0-9A-Za-z.])[0-9]+(?:\.[0-9]+)?[bB](?![0-9A-Za-z])")


def job_cell(row: Row, *, name: str | None = None, extra: str = "") -> str:
    """`cluster name (series or tag) [id]`: the id stands last, in brackets."""
    shown = one_line(row.entry["name"] if name is None else name, 120)
    return f"{one_line(row.entry['cluster'], 60)} {shown}{extra} [{one_line(row.entry['job_id'], 200)}]"


def _tags(row: Row) -> str:
    series, tags = row.get("series"), row.entry["facts"].get("tags")
    words = [series] if isinstance(series, str) else []
    words += [tag for tag in _SHOWN_TAGS if isinstance(tags, list) and tag in tags and tag not in words]
    if row.entry["flavour"] == "agentic":
        words.append("agentic")
    return f" ({one_line(', '.join(words), 60)})" if words else ""


def rl_row(row: Row) -> list[str]:
    """The cells under `RL_COLUMNS`."""
    values: dict[str, FactValue] = {
        "reward": metric(row, "reward"),
        "policy loss": metric(row, "policy_loss"),
        "grad norm": printed(row, "grad_norm"),
        "entropy": metric(row, "entropy"),
        "log r": metric(row, "log_ratio_mean", "tis_log_ratio"),
    }
    if filling(row):
        values = _none_due(values)
    step, total = step_of(row), total_of(row)
    trend = said(
        [
            *head(row),
            collapse(row),
            bringup(row),
            checkpoint(row),
            slope(row, "reward"),
            next_link(row),
            malformed(row),
            *tail(row, {**_behind_step(step, total), **values}),
        ]
    )
    return [job_cell(row, extra=_tags(row)), pair(step, total), *(cell(v) for v in values.values()), trend]


def _none_due(values: Mapping[str, FactValue]) -> dict[str, FactValue]:
    """The values of a run without a train step: what it did not print is not there yet."""
    return {name: value if was_printed(value) else Absent() for name, value in values.items()}


def _behind_step(step: FactValue, total: FactValue) -> dict[str, FactValue]:
    """The values that the step's cell shows: without a step it shows no total."""
    return {"step": step} if isinstance(step, Absent) else {"step": step, "max step": total}


def sft_row(row: Row) -> list[str]:
    """The cells under `SFT_COLUMNS`."""
    values: dict[str, FactValue] = {"loss": printed(row, "loss"), "grad norm": printed(row, "grad_norm")}
    if filling(row) or (row.state == "PENDING" and row.newest is None):
        values = _none_due(values)
    step, total = step_of(row), total_of(row)
    trend = said(
        [
            _pace(row, step, total),
            *head(row),
            bringup(row),
            checkpoint(row),
            slope(row, "loss"),
            next_link(row),
            *tail(row, {**_behind_step(step, total), **values}),
        ]
    )
    return [job_cell(row, extra=_tags(row)), pair(step, total), *(cell(v) for v in values.values()), trend]


def _pace(row: Row, step: FactValue, total: FactValue) -> str:
    """`34%, ETA ~22h00m @4.5 s/it`: the share from step and total, the rest while it runs."""
    parts = []
    if isinstance(step, int | float) and isinstance(total, int | float) and total > 0:
        parts.append(percent(step / total))
    eta, rate = row.get("eta"), row.get("rate")
    if row.running and isinstance(eta, int | float):
        parts.append(f"ETA ~{duration(eta)}")
    shown = ", ".join(parts)
    if row.running and isinstance(rate, int | float):
        shown = f"{shown} @{number(rate)} s/it".strip()
    return shown


def grid(rows: Sequence[Row]) -> str:
    """`grid: running 6 · pending-unique 11 · done 37 · long pole: 1e22 9.7B cells (4)`, over distinct names.

    A pending copy of a name that runs is its resume backup and no cell of its own, nor is one that waits behind a run
    that is complete by its data. A state is no proof: what is COMPLETED short of its last step is not done. What is
    none is not named, since a queue that could not be read has no zero either.
    """
    running = _names(rows, "RUNNING")
    done = {row.entry["name"] for row in rows if is_done(row)} - running
    pending = _names(rows, "PENDING") - running - done
    counts = (("running", running), ("pending-unique", pending), ("done", done))
    parts = [f"{word} {len(names)}" for word, names in counts if names]
    pole = _long_pole(rows, running | pending)
    parts += [f"long pole: {pole}"] if pole else []
    return "grid: " + " · ".join(parts) if parts else ""


def is_done(row: Row) -> bool:
    """Whether the row's run has ended at its last step, by its data, and with weights that are of use."""
    return row.flagged("sft-complete") and not (row.flagged("failure") or row.flagged("failure-recurring"))


def _names(rows: Sequence[Row], state: str) -> set[str]:
    found = {row.entry["name"] for row in rows if row.state == state}
    return found | {
        row.entry["name"] for row in rows for link in row.entry["facts"].get("links", ()) if link["state"] == state
    }


def _long_pole(rows: Sequence[Row], open_names: set[str]) -> str:
    """The cohort of the running cell that has longest to go; cells belong together by budget and size in the name."""
    live = [row for row in rows if row.running]
    if not live or len(open_names) < _POLE_LEAST:
        return ""
    etas: dict[str, float] = {}
    for row in live:
        eta = row.get("eta")
        if isinstance(eta, int | float):
            etas[row.entry["name"]] = max(eta, etas.get(row.entry["name"], eta))
    missing = len({row.entry["name"] for row in live}) - len(etas)
    if not etas:
        return f"{UNREAD} (no ETA)"
    longest = max(sorted(etas), key=lambda name: etas[name])
    cohort = _cohort(longest)
    unread = f", ETA unread of {missing}" if missing else ""
    if not cohort:
        return f"{one_line(longest, 60)} ETA ~{duration(etas[longest])}{unread}"
    count = sum(_cohort(name) == cohort for name in open_names)
    return f"{one_line(cohort, 60)} cells ({count}){unread}"


def _cohort(name: str) -> str:
    found = [pattern.search(name) for pattern in (_BUDGET, _SIZE)]
    return " ".join(match.group() for match in found if match)

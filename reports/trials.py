"""The rows of jobs that are made of trials: data generation, its chunks as one row, and evaluations with resumes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from sweeprules.engine.facts import ABSENT, Absent, FactValue, Reason, Subject, Unknown
from sweeprules.reports.clean import one_line
from sweeprules.reports.numbers import about, cell, is_number, number, pair, percent
from sweeprules.reports.rows import Row
from sweeprules.reports.training import job_cell
from sweeprules.reports.trend import bringup, flags, head, live, next_link, said, standing, tail, why_unread
from sweeprules.reports.words import NOT_EMITTED, UNREAD, duration

DATAGEN_COLUMNS = ("Run", "Chunks", "Trials", "avg_turns", "Mean", "exc%", "Trend")
EVAL_COLUMNS = ("Model × benchmark", "Trials", "pass-rate", "top exc", "Infra/Trend")
CHECKS = (("pinggy", "pinggy"), ("api_base", "api_base"), ("vllm", "vLLM"), ("trials", "trials"))
_CHUNK = re.compile(r"_chunk(\d{1,6})(?!\d)")
"""As the jobs of a run are joined and counted (catalogue g): anywhere in the name."""
_MARKS = {"ok": "✓", "bad": "✗", "n/a": " n/a"}
_ENDINGS = re.compile(r"(?:Error|Exception)$")
_LOGGED = "lines.trial-mean.mean"
_MOST_CHUNKS = 6
_MOST_SCORES = 6


def base_name(name: str) -> str:
    """A data generation's name without the number of its chunk."""
    return _CHUNK.sub("", name)


def chunk_groups(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each data generation together, in the order of their first: chunks of one cluster and user.

    Chunks that the report has in one row are taken apart again, each with what was read of it.
    """
    apart = [chunk for row in rows for chunk in _chunks_of(row)]
    return _grouped(apart, _launch, lambda row: bool(_chunk_of(row.job)))


def _launch(row: Row) -> tuple[str, ...]:
    """What the chunks of one data generation have in common; of one that is an array, also the array."""
    name = row.entry["name"]
    array = "" if _CHUNK.search(name) else str(row.get("array_id"))
    return row.entry["cluster"], str(row.get("user")), base_name(name), array


def eval_groups(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each evaluation together: a resume has the model, benchmark and run tag of the first go."""
    names = ("model", "benchmark", "run_tag")
    return _grouped(
        rows,
        lambda row: (row.entry["cluster"], *(str(row.get(name)) for name in names)),
        lambda row: all(isinstance(row.get(name), str) for name in names),
    )


def _chunks_of(row: Row) -> list[Row]:
    """The row itself, then one for each other chunk of its run: the last job of that chunk. Flags stay on the row."""
    last = {_chunk_of(link): link for link in row.links}
    own = _chunk_of(row.job)
    others = [link for number, link in last.items() if number and number != own]
    return [row, *(_of_link(row, link) for link in others)]


def _chunk_of(job: Subject) -> str:
    """The number of a chunk by its name, else by its place in an array; empty for a job that is no chunk."""
    name, index = job.get("name"), job.get("array_index")
    found = _CHUNK.search(name) if isinstance(name, str) else None
    if found is not None:
        return found.group(1)
    return str(index) if isinstance(index, int) and isinstance(job.get("array_id"), str) else ""


def _of_link(row: Row, link: Subject) -> Row:
    state, age = link.get("state"), link.get("log_age")
    told = {name: link.get(name) for name in ("job_id", "name")}
    entry = {
        **row.entry,
        **{name: value if isinstance(value, str) else "" for name, value in told.items()},
        "state": state if isinstance(state, str) else "UNKNOWN",
        "last_output_age_s": age if isinstance(age, int | float) else None,
        "flags": [],
        "actions": [],
        "health": "ok",
    }
    return Row(entry, link, (link,), row.run)


def _grouped(
    rows: Sequence[Row], key: Callable[[Row], tuple[str, ...]], joins: Callable[[Row], bool]
) -> list[list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(key(row) if joins(row) else (row.job.ref.key,), []).append(row)
    return list(found.values())


# ---------------------------------------------------------------- data generation


def datagen_row(group: Sequence[Row]) -> list[str]:
    """The cells under `DATAGEN_COLUMNS` for the chunks of one run, the one that stands for them first."""
    first, started = group[0], [row for row in group if row.state != "PENDING"]
    turns = _average(started, "avg_turns", "trials_done")
    mean = _mean(started)
    share = _average(started, "exception_share", "trials_done")
    trials = _total(started, "trials_done")
    done, total = _told(group, "chunks_done"), _told(group, "chunks_total")
    values = {"chunks": done, "trials": trials, "avg_turns": turns, "Mean": mean, "exc%": share}
    behind = next_link(first) if len(group) == 1 else ""
    trend = said([*_chunk_head(group), _fresh(started), bringup(first), behind, *tail(first, values)])
    name = base_name(first.entry["name"]) if len(group) > 1 or _chunk_of(first.job) else first.entry["name"]
    return [
        job_cell(first, name=name, extra=tracker_row(first)),
        pair(done, total),
        _at_least(trials, started),
        cell(turns),
        cell(mean),
        cell(share, percent),
        trend,
    ]


def tracker_row(row: Row) -> str:
    """` (row 12)`: what the tracker calls the row, or its line."""
    if row.tracker is None:
        return ""
    key, line = row.tracker.get("row_key"), row.tracker.get("line")
    shown = one_line(key, 40) if isinstance(key, str) and key else cell(line) if is_number(line) else ""
    return f" (row {shown})" if shown else ""


def _chunk_head(group: Sequence[Row]) -> Iterator[str]:
    """`chunks 8, 9 live`, with the ids and states of those that the row does not name, and the flags of all."""
    if len(group) == 1:
        number_of = _chunk_of(group[0].job)
        yield from ([f"chunk {number_of}"] if number_of else [])
        yield from head(group[0])
        return
    live_ones = [row for row in group if row.running]
    if live_ones:
        yield f"chunks {_listed(live_ones)} running"
        # The one that was silent longest: a fresh chunk must not speak for it.
        yield live(max(live_ones, key=_silence))
    for state in dict.fromkeys(row.state for row in group if not row.running):
        some = [row for row in group if row.state == state]
        yield f"{_listed(some)} {standing(some[0]) if len(some) == 1 else state}"
    yield from (flag for row in group for flag in flags(row))


def _silence(row: Row) -> float:
    seconds = row.entry["last_output_age_s"]
    return float("inf") if seconds is None else seconds


def _listed(rows: Sequence[Row]) -> str:
    ordered = sorted(rows, key=lambda row: (int(_chunk_of(row.job)[:18] or 0), row.entry["job_id"]))
    shown = [f"{_chunk_of(row.job)} ({one_line(row.entry['job_id'], 40)})" for row in ordered[:_MOST_CHUNKS]]
    more = f" and {len(ordered) - len(shown)} more" if len(ordered) > len(shown) else ""
    return ", ".join(shown) + more


def _told(group: Sequence[Row], name: str) -> FactValue:
    """A fact of the whole run as the first member that knows it tells it."""
    values = [row.get(name) for row in group]
    return next((value for value in values if is_number(value)), values[0])


def _total(rows: Sequence[Row], name: str) -> FactValue:
    """The sum over the members that have it; unknown only when none of them could be read."""
    values = [row.get(name) for row in rows]
    known = [value for value in values if isinstance(value, int | float)]
    if known:
        return sum(known)
    return next((value for value in values if isinstance(value, Unknown)), ABSENT)


def _at_least(total: FactValue, rows: Sequence[Row]) -> str:
    short = is_number(total) and any(isinstance(row.get("trials_done"), Unknown) for row in rows)
    return ("≥" if short else "") + cell(total, about)


def _average(rows: Sequence[Row], name: str, weight: str) -> FactValue:
    """The mean over all members by their weight; unknown when one of them, or its weight, could not be read."""
    if len(rows) == 1:
        return rows[0].get(name)
    told = [(row.get(name), row.get(weight)) for row in rows]
    told = [(value, by) for value, by in told if not isinstance(value, Absent)]
    unread = next((part for both in told for part in both if isinstance(part, Unknown)), None)
    if unread is not None:
        return unread
    pairs = [(v, w) for v, w in told if isinstance(v, int | float) and isinstance(w, int | float) and w > 0]
    return sum(v * w for v, w in pairs) / sum(w for _, w in pairs) if pairs else ABSENT


def _mean(rows: Sequence[Row]) -> FactValue:
    """The mean reward by the results, else by the last line that the logs print of it."""
    value = _average(rows, "mean_valid", "trials_valid")
    if is_number(value) or not all(is_number(row.get(_LOGGED)) for row in rows):
        return value
    return _average(rows, _LOGGED, "lines.trial-mean.n")


def _fresh(rows: Sequence[Row]) -> str:
    ages = [row.get("newest_result_age") for row in rows if row.running]
    known = [age for age in ages if isinstance(age, int | float)]
    return f"newest result {duration(min(known))} ago" if known else ""


# ---------------------------------------------------------------- evaluation


def eval_row(group: Sequence[Row]) -> list[str]:
    """The cells under `EVAL_COLUMNS` for an evaluation and its resumes, the one that stands for them first."""
    row = group[0]
    standard = row.entry["flavour"] == "standard"
    done, planned, rate, top = (
        ABSENT if standard and not is_number(row.get(name)) else _due(row, row.get(name))
        for name in ("trials_done", "trials_planned", "pass_rate", "top_exception")
    )
    values = {"trials": done, "planned": planned, "pass-rate": rate, "top exc": top}
    trend = said(
        [
            *([_suite(row)] if standard else [" ".join(infra(row)), _counts(row)]),
            *head(row),
            *(flag for other in group[1:] for flag in flags(other)),
            _resumes(group[1:]),
            bringup(row),
            tracker_row(row).strip(" ()"),
            next_link(row),
            *tail(row, values),
        ]
    )
    return [_title(row), pair(done, planned), cell(rate), _top(row, top), trend]


def _due(row: Row, value: FactValue) -> FactValue:
    """Of a job that waits nothing is due: what nobody read of it is not there yet."""
    unread = isinstance(value, Unknown) and value.reason == Reason.NOT_READ
    return ABSENT if row.state == "PENDING" and unread else value


def _title(row: Row) -> str:
    model, benchmark = row.get("model"), row.get("benchmark")
    named = isinstance(model, str) and isinstance(benchmark, str)
    return job_cell(row, name=f"{model} × {benchmark}" if named else None)


def _top(row: Row, value: FactValue) -> str:
    if not isinstance(value, str):
        return cell(value)
    counts = row.get("exceptions")
    count = counts.get(value) if isinstance(counts, Mapping) else None
    times = f" {cell(count)}" if isinstance(count, int | float) else ""
    return short_exception(value) + times


def short_exception(name: str) -> str:
    """`AgentTO` for `AgentTimeoutError`: without module and ending."""
    return one_line(_ENDINGS.sub("", name.rpartition(".")[2]).replace("Timeout", "TO") or name, 24)


def infra(row: Row) -> list[str]:
    """`pinggy✓ api_base✓ vLLM✓ trials✓`: `✗` bad, `n/a` where the agent has none, `?` unread, `—` not asked."""
    return [shown + _mark(_due(row, row.get(f"infra.{name}"))) for name, shown in CHECKS]


def _mark(value: FactValue) -> str:
    if isinstance(value, str):
        return _MARKS.get(value, UNREAD)
    return NOT_EMITTED if isinstance(value, Absent) else UNREAD


def _counts(row: Row) -> str:
    """`valid 225, errored 6 of 267 expected`; nothing while no result is due."""
    valid, errored, planned = (row.get(f"trials_{name}") for name in ("valid", "errored", "planned"))
    if not any(is_number(value) for value in (valid, errored)):
        return ""
    return f"valid {cell(valid)} / errored {cell(errored)} / expected {cell(planned)}"


def _suite(row: Row) -> str:
    """The stage of a standard suite, the seeds that have results, and its scores."""
    stage, seeds, scores = row.get("stage"), row.get("seeds_found"), row.get("scores")
    parts = [one_line(stage, 60)] if isinstance(stage, str) else []
    parts += [f"{number(seeds)} seeds"] if isinstance(seeds, int | float) else []
    if isinstance(scores, Mapping):
        named = [f"{one_line(name, 30)} {cell(value)}" for name, value in sorted(scores.items())]
        parts.append(
            ", ".join(named[:_MOST_SCORES]) + (f" +{len(named) - _MOST_SCORES}" if len(named) > _MOST_SCORES else "")
        )
    failed = {name: value for name, value in (("seeds", seeds), ("scores", scores)) if _failed(value)}
    unread = {"stage": stage} if isinstance(stage, Unknown) and row.state != "PENDING" else {}
    parts += [why_unread({name: value}) for name, value in {**unread, **failed}.items()]
    return ", ".join(part for part in parts if part)


def _failed(value: FactValue) -> bool:
    """Whether it was asked for and could not be read: what nobody asked for has no place in a note."""
    return isinstance(value, Unknown) and value.reason != Reason.NOT_READ


def _resumes(others: Sequence[Row]) -> str:
    if not others:
        return ""
    shown = [f"{one_line(row.entry['job_id'], 40)} {row.state}" for row in others[:_MOST_CHUNKS]]
    more = f" and {len(others) - len(shown)} more" if len(others) > len(shown) else ""
    return f"same run: {', '.join(shown)}{more}"

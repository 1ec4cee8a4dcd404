"""The report for a terminal or a mail: tables, what was flagged, what to do, what could not be seen."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sweeprules.reports.boxes import boxed, line, wrap
from sweeprules.reports.clean import one_line
from sweeprules.reports.tables import LINE_COLUMNS
from sweeprules.reports.words import MARKS

_STYLES = {"critical": "bold red", "warning": "yellow", "info": "dim"}
Data = Mapping[str, Any]


def render(document: Data, *, width: int, colour: bool) -> str:
    """The whole report as text of at most `width` columns; colour only where asked, never as the only sign."""
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, no_color=not colour, color_system="standard" if colour else None,
        markup=False, emoji=False, highlight=False, legacy_windows=False,
    )  # fmt: skip
    for part in _parts(document, width):
        console.print(part)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _parts(document: Data, width: int) -> Iterator[Text | Table]:
    yield from _head(document)
    for table in document["tables"]:
        yield Text(f"\n{table['title']}", style="bold")
        yield from _table(table, width)
    if not document["jobs"]:
        yield Text("\n" + _no_jobs(document))
    yield from _flagged(document)
    yield from _to_do(document)
    yield from _unseen(document)


def _head(document: Data) -> Iterator[Text | Table]:
    sweep = document["sweep"]
    whole = "complete" if sweep["complete"] else "INCOMPLETE"
    yield Text(
        f"sweep {sweep['id']} · now {sweep['now']} · {whole} · engine {sweep['engine']} · "
        f"policy {sweep['policy_sha256'][:8]}",
        style="bold",
    )
    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for cluster in document["clusters"]:
        grid.add_row(
            Text(cluster["name"]),
            Text(cluster["status"]),
            Text(f"queue {_queue(cluster)}"),
            Text(f"via {cluster['login']}" if cluster["login"] else ""),
            Text(f"record {cluster['ops']['sha256'][:8]}" if cluster["ops"]["sha256"] else "no record"),
            Text(one_line(cluster["because"] or "", 100)),
        )
    yield grid


def _queue(cluster: Data) -> str:
    if cluster["status"] == "skipped":
        return "not asked"
    return "UNKNOWN" if cluster["queue"] == "unknown" else str(cluster["queue"])


def _table(data: Data, width: int) -> Iterator[Text | Table]:
    if data["columns"] == list(LINE_COLUMNS):
        lines = [one for row in data["rows"] for one in line(data["columns"], row, width)]
    else:
        lines = boxed(data["columns"], data["rows"], width)
    yield Text("\n".join(lines), no_wrap=True, overflow="ignore")
    yield Text("\n".join(f"  {one}" for one in wrap(data["rollup"], width - 2)))


def _no_jobs(document: Data) -> str:
    swept = [c for c in document["clusters"] if c["status"] == "swept"]
    if swept and all(c["queue"] == "empty" for c in swept):
        return "No jobs: " + ", ".join(c["name"] for c in swept) + " proved empty."
    return "No job could be shown; that is not a proof that none runs."


def subjects(document: Data) -> Iterator[tuple[str, Data]]:
    """Everything that carries flags and actions, with its label: sweep, clusters, other subjects, jobs."""
    yield "sweep", {"flags": document["sweep"]["flags"], "actions": []}
    for cluster in document["clusters"]:
        yield cluster["name"], cluster
    for subject in document["subjects"]:
        yield f"{subject['kind']} {one_line(subject['key'], 80)}", subject
    for job in document["jobs"]:
        yield f"{job['cluster']}:{one_line(job['job_id'], 200)} {one_line(job['name'], 60)}", job


def flag_lines(document: Data) -> list[tuple[Data, str]]:
    """Every flag with its subject's label: by severity, causes before their symptoms, what counts first."""
    found = [(flag, label) for label, subject in subjects(document) for flag in subject["flags"]]
    order = list(MARKS)
    return sorted(
        found,
        key=lambda item: (
            order.index(item[0]["severity"]),
            item[0]["exempt"] or item[0]["resolved"],
            bool(item[0]["explained_by"]),
        ),
    )


def _flagged(document: Data) -> Iterator[Text | Table]:
    lines = flag_lines(document)
    yield Text("\nFlagged", style="bold")
    if not lines:
        yield Text("  nothing")
        return
    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for flag, label in lines:
        style = "dim" if flag["exempt"] or flag["resolved"] else _STYLES[flag["severity"]]
        grid.add_row(
            Text(f"  {MARKS[flag['severity']]} {flag['severity']}", style=style),
            Text(flag["name"] + _tail(flag), style=style),
            Text(f"{label}: {one_line(flag['message'], 300)}" + _because(flag)),
        )
    yield grid


def _tail(flag: Data) -> str:
    return " (exempt)" if flag["exempt"] else " (resolved)" if flag["resolved"] else ""


def _because(flag: Data) -> str:
    named = one_line(", ".join(flag["explained_by"]), 400)
    return f" [explained by {named}]" if named else ""


def _to_do(document: Data) -> Iterator[Text | Table]:
    handoffs = {h["id"]: h for h in document["handoffs"]}
    found = [(a, label) for label, subject in subjects(document) for a in subject["actions"] if a["name"] != "report"]
    yield Text("\nActions and handoffs", style="bold")
    if not found:
        yield Text("  none")
        return
    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for action, label in found:
        row = handoffs.get(action["handoff"] or "")
        grid.add_row(
            Text(f"  {action['name']}"),
            Text(action["status"], style="yellow" if action["status"] == "blocked" else ""),
            Text(f"{label}" + _document(row, str(action["status"]))),
        )
    yield grid


def _document(row: Data | None, status: str) -> str:
    if row is None:
        return "; no page was chosen for it, explain says why" if status == "blocked" else ""
    blocked = f"; blocked by {', '.join(one_line(b, 80) for b in row['blocked_by'])}" if row["blocked_by"] else ""
    return f" → {row['template']}{blocked} ({row['path']})"


def _unseen(document: Data) -> Iterator[Text | Table]:
    lines = [
        f"  {c['name']}: {c['status']}, queue {c['queue']}: {one_line(c['because'] or 'no reason given', 300)}"
        for c in document["clusters"]
        if c["status"] in ("partial", "unreachable", "blocked") or (c["status"] == "swept" and c["queue"] == "unknown")
    ]
    lines += [f"  {line}" for line in _unknown_counts(document)]
    if lines:
        yield Text("\nNot seen", style="bold")
        yield Text("\n".join(lines))


def _unknown_counts(document: Data) -> Iterator[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for job in document["jobs"]:
        if job["state"] != "RUNNING":
            continue
        for name, reason in job["unknown"].items():
            if reason != "not-applicable":
                groups.setdefault((name, reason), []).append(f"{job['cluster']}:{job['job_id']}")
    for (name, reason), ids in groups.items():
        some = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        yield f"{name} unknown ({one_line(reason, 60)}) for {len(ids)} running: {one_line(some, 700)}"

"""Reads `squeue`: the queue of one user, and where its running jobs write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from sweeprules.collectors.slurm.ask import ID_WIDTH, PATH_WIDTH, SQUEUE_COLUMNS
from sweeprules.collectors.slurm.rows import Answer, Row, distrust, shown
from sweeprules.collectors.slurm.states import STATES, Meaning, StateReading, read_state
from sweeprules.collectors.slurm.text import (
    JobId,
    Record,
    Separators,
    expand_nodes,
    marked_records,
    parse_id,
    read_duration,
    read_integer,
    read_text,
    read_time,
)
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown
from sweeprules.engine.observation import Observation

# An awaited job in `7(unfulfilled)`, `11_5`, `11_*` (its array) and `7+30` (30 minutes after it began).
_AWAITED = re.compile(r"(?:^|:)(\d+(?:_\d+)?)", re.ASCII)
_COLUMNS = tuple(name for name, _ in SQUEUE_COLUMNS)


def read_queue(observation: Observation, marks: Separators, zone: str, table: Mapping[str, Meaning] = STATES) -> Answer:
    """The queue, or why it may not be believed.

    Text before the first record, and a record whose id can not be read, make the whole answer untrustworthy; a
    record with a readable id and a malformed field keeps its row.
    """
    why = distrust(observation)
    before, records = marked_records(observation.text(), len(_COLUMNS), marks)
    if not why and before.strip():
        why = f"text that is no job: {before.strip()[:80]!r}"
    rows: dict[str, Row] = {}
    problems: list[str] = []
    for record in records:
        found = _rows(record, observation.id, zone, table)
        if isinstance(found, str):
            problems.append(found)
        else:
            rows |= {row.job_id: row for row in found}
    if not why and problems:
        why = f"{len(problems)} records could not be read: {problems[0]}"
    return Answer(observation, MappingProxyType(rows), problems=tuple(problems), why=why, job_lines=len(records))


def _rows(record: Record, observation: str, zone: str, table: Mapping[str, Meaning]) -> list[Row] | str:
    """The record's jobs: the waiting tasks of an array one each, also of a squeue that prints them as one."""
    if record.problem:
        return record.problem
    text = dict(zip(_COLUMNS, record.fields, strict=True))
    parsed = parse_id(text["job_id"])
    if parsed is None or parsed.step:
        return f"not a job id: {text['job_id'][:40]!r}"
    tasks = [JobId(parsed.base, task) for task in parsed.tasks or ()]
    return [_row(one, text, record, observation, zone, table) for one in tasks or [parsed]]


def _row(
    parsed: JobId, text: Mapping[str, str], record: Record, observation: str, zone: str, table: Mapping[str, Meaning]
) -> Row:
    state = read_state(text["state"], table)
    submitted = read_time(text["submitted"], zone)
    facts: dict[str, FactValue] = {
        **id_facts(parsed, text["array_id"]),
        **state_facts(state),
        "user": read_text(text["user"]),
        "name": text["name"],
        "submitted": submitted,
        "started": _started(state, read_time(text["started"], zone)),
        "elapsed": read_duration(text["elapsed"]),
        "time_limit": read_duration(text["time_limit"]),
        "nodes": read_integer(text["nodes"]),
        "node_list": expand_nodes(text["node_list"]),
        "partition": read_text(text["partition"]),
        "qos": read_text(text["qos"]),
        "dependency": read_dependency(text["dependency"]),
        "workdir": read_text(text["workdir"]),
        "command": read_text(text["command"]),
        "comment": read_text(text["comment"]),
    }
    facts["state_reason"] = state.reason or read_text("" if text["reason"] == "None" else text["reason"])
    return Row(
        parsed.text,
        observation,
        MappingProxyType(facts),
        shown(" ".join(record.fields)),
        state.state if isinstance(state.state, str) else "",
        float(submitted) if isinstance(submitted, int | float) else None,
        text["host"] if text["host"] not in ("n/a", "(null)") else "",
        text["raw_id"],
    )


def id_facts(parsed: JobId, array_id: str) -> dict[str, FactValue]:
    """Array and component facts of an id; absent where the job is neither. A task list that was cut is an array's."""
    of_array = parsed.task is not None or parsed.tasks is None
    return {
        "array_id": (array_id or str(parsed.base)) if of_array else ABSENT,
        "array_index": parsed.task if parsed.task is not None else ABSENT,
        "het_index": parsed.het if parsed.het is not None else ABSENT,
    }


def state_facts(state: StateReading) -> dict[str, FactValue]:
    """The facts that a state's word gives by itself."""
    return {
        "state": state.state,
        "state_raw": state.raw,
        "suspended": state.suspended,
        "cancelled_by": state.cancelled_by or ABSENT,
        "phase": state.phase or ABSENT,
    }


def _started(state: StateReading, value: FactValue) -> FactValue:
    """For a pending job squeue prints when it might start: that has not happened. One that runs has a start."""
    if state.state == "PENDING":
        return ABSENT
    if state.state == "RUNNING" and value is ABSENT:
        return Unknown(Reason.MALFORMED, "it runs, and the queue does not say since when")
    return value


def read_dependency(text: str) -> FactValue:
    """The ids that a job waits for, in order, each once; absent when it waits for none (a met edge is dropped)."""
    if text.strip() in ("", "(null)"):
        return ABSENT
    ids: list[str] = []
    for part in re.split(r"[,?]", text):
        kind, _, rest = part.strip().partition(":")
        if kind.startswith("after"):
            ids.extend(found[1] for found in _AWAITED.finditer(rest))
    return tuple(dict.fromkeys(ids))


def read_paths(observation: Observation) -> Mapping[str, str] | Unknown:
    """Job id -> path of its output as submitted (`%x-%j.out`); unknown when the answer may not be believed.

    Each record has a fixed number of bytes, so that a path with a newline in it moves no other.
    """
    why = distrust(observation)
    if why:
        return Unknown("read-failed", why)
    width = ID_WIDTH + PATH_WIDTH + 1
    data = observation.stdout
    if len(data) % width:
        return Unknown("malformed", "the columns are not as wide as asked for")
    paths: dict[str, str] = {}
    for at in range(0, len(data), width):
        record = data[at : at + width]
        parsed = parse_id(record[:ID_WIDTH].decode("ascii", "replace"))
        if parsed is None or record[-1:] != b"\n":
            return Unknown("malformed", "a column does not hold a job id")
        path = record[ID_WIDTH:-1].rstrip(b" ")
        if 0 < len(path) < PATH_WIDTH:
            paths[parsed.text] = path.decode("utf-8", "replace")
    return MappingProxyType(paths)

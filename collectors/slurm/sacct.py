"""Reads `sacct`: jobs of the window with their steps, and, on newer Slurms, where they wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from sweeprules.collectors.slurm.ask import OPTIONAL_COLUMNS, SACCT_COLUMNS, STDOUT_COLUMNS
from sweeprules.collectors.slurm.rows import Answer, Row, StepRow, distrust, shown
from sweeprules.collectors.slurm.squeue import id_facts, state_facts
from sweeprules.collectors.slurm.states import STATES, TERMINAL, Meaning, read_state
from sweeprules.collectors.slurm.text import (
    JobId,
    Separators,
    delimited_records,
    expand_nodes,
    parse_id,
    read_integer,
    read_text,
    read_time,
)
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown
from sweeprules.engine.observation import Observation

_EXIT = re.compile(r"(\d+):(\d+)")
_REFUSED = re.compile(r'Invalid field requested: "(\w+)"')
_NO_COLUMN = Unknown(Reason.NOT_READ, "this Slurm's accounting has no such field")


def refused_column(observation: Observation) -> str | None:
    """The column that this `sacct` does not know, when the others can be asked for without it."""
    found = _REFUSED.search(observation.stderr.decode("utf-8", "replace"))
    refused = observation.answered and observation.exit != 0 and found is not None and found[1] in OPTIONAL_COLUMNS
    return found[1] if refused and found else None


def columns_of(observation: Observation) -> tuple[str, ...]:
    """The columns that a `sacct` was asked for."""
    forms = [word.removeprefix("--format=") for word in observation.argv if word.startswith("--format=")]
    return tuple(forms[-1].split(",")) if forms else SACCT_COLUMNS


def read_accounting(
    observation: Observation, marks: Separators, zone: str, table: Mapping[str, Meaning] = STATES
) -> Answer:
    """Accounting's rows by job id (array tasks of a pending record spread out), and their steps.

    Of several rows of one id the one submitted last counts. A record that can not be told apart makes the answer
    untrustworthy as a whole: one that is missing reads as "no such job".
    """
    why = distrust(observation)
    rows: dict[str, Row] = {}
    steps: dict[str, list[StepRow]] = {}
    problems: list[str] = []
    lines = 0
    columns = columns_of(observation)
    for record in delimited_records(observation.text(), len(columns), marks.field):
        text = dict(zip(columns, record.fields, strict=True)) if not record.problem else {}
        parsed = parse_id(text.get("JobID", ""))
        if parsed is None:
            problems.append(record.problem or f"not a job id: {text['JobID'][:40]!r}")
            continue
        if parsed.step:
            state = text["State"].partition(" ")[0]
            steps.setdefault(parsed.text, []).append(StepRow(parsed.text, parsed.step, state, text["ExitCode"]))
            continue
        lines += 1
        for row in _rows(parsed, text, observation.id, zone, table):
            kept = rows.get(row.job_id)
            if kept is None or (row.submitted or 0) >= (kept.submitted or 0):
                rows[row.job_id] = row
    if not why and problems:
        why = f"{len(problems)} records could not be read: {problems[0]}"
    return Answer(
        observation,
        MappingProxyType(rows),
        MappingProxyType({job: tuple(of) for job, of in steps.items()}),
        tuple(problems),
        why,
        lines,
    )


def _rows(
    parsed: JobId, text: Mapping[str, str], observation: str, zone: str, table: Mapping[str, Meaning]
) -> list[Row]:
    if parsed.tasks == ():
        return [_row(parsed, text, observation, zone, table)]
    return [_row(JobId(parsed.base, task), text, observation, zone, table) for task in parsed.tasks or ()]


def _row(parsed: JobId, text: Mapping[str, str], observation: str, zone: str, table: Mapping[str, Meaning]) -> Row:
    state = read_state(text["State"], table)
    submitted = read_time(text["Submit"], zone)
    word = state.state if isinstance(state.state, str) else ""
    facts: dict[str, FactValue] = {
        **id_facts(parsed, ""),
        **state_facts(state),
        "state_reason": _reason(word, state.reason, text.get("Reason")),
        "user": read_text(text["User"]),
        "name": text["JobName"],
        "submitted": submitted,
        "started": read_time(text["Start"], zone),
        "ended": _ended(word, read_time(text["End"], zone)),
        "elapsed": read_integer(text["ElapsedRaw"]),
        "time_limit": _limit(text.get("TimelimitRaw")),
        **_exit(word, text["ExitCode"]),
        "nodes": read_integer(text["NNodes"]),
        "node_list": _nodes(text.get("NodeList")),
        "partition": _column(text, "Partition"),
        "qos": _column(text, "QOS"),
        "workdir": _column(text, "WorkDir"),
        "command": _column(text, "SubmitLine"),
        "comment": _column(text, "Comment"),
    }
    if word == "PENDING":
        facts["started"] = facts["ended"] = ABSENT
    return Row(
        parsed.text,
        observation,
        MappingProxyType(facts),
        shown(" ".join(text.values())),
        word,
        float(submitted) if isinstance(submitted, int | float) else None,
        raw_id=text["JobIDRaw"],
    )


def _column(text: Mapping[str, str], name: str) -> FactValue:
    return read_text(text[name]) if name in text else _NO_COLUMN


def _nodes(text: str | None) -> FactValue:
    if text is None:
        return _NO_COLUMN
    return () if text == "None assigned" else expand_nodes(text)


def _ended(state: str, value: FactValue) -> FactValue:
    """The end of a job that has ended: accounting that does not know it has not read it."""
    if state not in TERMINAL:
        return ABSENT
    return Unknown(Reason.MALFORMED, "ended, and accounting does not say when") if value is ABSENT else value


def _reason(state: str, told: str, text: str | None) -> FactValue:
    """Accounting keeps the reason for which a job last waited: it says nothing once the job ran."""
    if told or state != "PENDING":
        return told or ABSENT
    return _NO_COLUMN if text is None else read_text("" if text == "None" else text)


def _limit(text: str | None) -> FactValue:
    if text is None:
        return _NO_COLUMN
    minutes = read_integer("" if text in ("UNLIMITED", "Partition_Limit") else text)
    return minutes * 60 if isinstance(minutes, int) else minutes


def _exit(state: str, text: str) -> dict[str, FactValue]:
    """The exit of an ended job; a running one shows 0:0, which means nothing."""
    names = ("exit", "exit_code", "exit_signal")
    if state not in TERMINAL:
        return dict.fromkeys(names, ABSENT)
    found = _EXIT.fullmatch(text.strip())
    if found is None:
        return dict.fromkeys(names, Unknown(Reason.MALFORMED, f"not an exit: {text[:40]!r}"))
    return {"exit": text.strip(), "exit_code": int(found[1]), "exit_signal": int(found[2])}


def failed_step(steps: tuple[StepRow, ...]) -> FactValue:
    """The first step that failed, as `STEP STATE EXIT`; absent when none did.

    `.extern` does not count, nor does a step that was cancelled: at a wall TIMEOUT every step is.
    """
    for step in steps:
        if step.step == "extern" or step.state.startswith("CANCELLED"):
            continue
        if step.state in ("FAILED", "OUT_OF_MEMORY", "NODE_FAIL", "TIMEOUT") and step.exit.strip() != "0:0":
            return f"{step.step} {step.state} {step.exit.strip()}"
    return ABSENT


def read_stdout(observation: Observation, marks: Separators, zone: str) -> Mapping[str, str] | Unknown:
    """Job id -> output path as submitted, the attempt submitted last; unknown where this Slurm has no such field."""
    why = distrust(observation)
    if why:
        return Unknown("not-read" if b"Invalid field" in observation.stderr else "read-failed", why)
    paths: dict[str, tuple[float, str]] = {}
    for record in delimited_records(observation.text(), len(STDOUT_COLUMNS), marks.field):
        if record.problem:
            return Unknown("malformed", record.problem)
        job, submit, path = record.fields
        parsed = parse_id(job)
        moment = read_time(submit, zone)
        at = float(moment) if isinstance(moment, int | float) else 0.0
        if parsed is not None and path and at >= paths.get(parsed.text, (0.0, ""))[0]:
            paths[parsed.text] = (at, path)
    return MappingProxyType({job: path for job, (_, path) in paths.items()})

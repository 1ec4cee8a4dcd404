"""Reads `scontrol` (one job, ping, reservations) and `sinfo -V`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from sweeprules.collectors.slurm.rows import Row, distrust, first_line, shown
from sweeprules.collectors.slurm.squeue import read_dependency, state_facts
from sweeprules.collectors.slurm.states import STATES, TERMINAL, Meaning, read_state
from sweeprules.collectors.slurm.text import read_duration, read_text, read_time
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown, Value
from sweeprules.engine.observation import Observation

# The stretch that Slurm writes itself: no value in it can hold a space. Names stand before it, paths behind it.
_TRUSTED = re.compile(
    r" UserId=(?P<user>[^\s()]+)\(\d+\) GroupId=\S+ MCS_label=\S* Priority=\d+ Nice=-?\d+ Account=\S* QOS=\S*"
    r"(?: WCKey=\S*)? JobState=(?P<state>\w+) Reason=(?P<reason>.{0,200}?) Dependency=(?P<dependency>\S*) Requeue="
)
_TIMES = re.compile(
    r" RunTime=(?P<elapsed>\S+) TimeLimit=(?P<limit>\S+) TimeMin=\S+ SubmitTime=(?P<submitted>\S+)"
    r" EligibleTime=\S+ AccrueTime=\S+ StartTime=(?P<started>\S+) EndTime=(?P<ended>\S+) "
)

_OUTPUT = re.compile(r"\sStdOut=(/\S*)(?=\s+[A-Za-z][A-Za-z:/_]*=|\s*\Z)")


@dataclass(frozen=True, slots=True)
class JobShown:
    """What the controller knows of one id: `there` with its row, `gone` (it knows no such id), or `unread` with why."""

    verdict: Literal["there", "gone", "unread"]
    row: Row | None = None
    why: str = ""


def read_job(observation: Observation, job_id: str, zone: str, table: Mapping[str, Meaning] = STATES) -> JobShown:
    """One framed `scontrol show job ID -o`.

    Its output can be imitated by a job's name or comment: where the stretch that Slurm writes itself is there more
    than once, nothing of it is believed.
    """
    stderr = observation.stderr.decode("utf-8", "replace")
    if observation.answered and observation.exit == 1 and "Invalid job id specified" in stderr:
        return JobShown("gone")
    why = distrust(observation)
    if why:
        return JobShown("unread", why=why)
    text = observation.text()
    found = list(_TRUSTED.finditer(text))
    times = list(_TIMES.finditer(text))
    if len(found) != 1 or len(times) != 1:
        return JobShown("unread", why="the record reads in more than one way" if found else "not a job record")
    return _shown(observation, job_id, zone, table, found[0], times[0], text)


def _shown(
    observation: Observation,
    job_id: str,
    zone: str,
    table: Mapping[str, Meaning],
    found: re.Match[str],
    times: re.Match[str],
    text: str,
) -> JobShown:
    state = read_state(found["state"], table)
    submitted = read_time(times["submitted"], zone)
    facts: dict[str, FactValue] = {
        **state_facts(state),
        "state_reason": state.reason or read_text("" if found["reason"] == "None" else found["reason"]),
        "user": found["user"],
        "dependency": read_dependency(found["dependency"]),
        "elapsed": read_duration(times["elapsed"]),
        "time_limit": read_duration(times["limit"]),
        "submitted": submitted,
        "started": ABSENT if state.state == "PENDING" else read_time(times["started"], zone),
        "ended": read_time(times["ended"], zone) if state.state in TERMINAL else ABSENT,
    }
    row = Row(
        job_id,
        observation.id,
        MappingProxyType(facts),
        shown(text[found.start() + 1 : times.end()]),
        state.state if isinstance(state.state, str) else "",
        float(submitted) if isinstance(submitted, int | float) else None,
    )
    return JobShown("there", row)


def read_output(observation: Observation) -> str:
    """The path of a batch job's output as one `scontrol show job ID -o` has it; empty where it does not tell.

    Names stand before it and may imitate it: where it is there more than once, or broken by a blank, it is not
    believed. The controller has expanded it, but for what only a node knows.
    """
    text = observation.text()
    found = _OUTPUT.findall(text)
    plain = not distrust(observation) and text.startswith("JobId=") and not re.search(r"\sBatchFlag=0\b", text)
    if not plain or len(found) != 1 or text.count("StdOut=") != 1:
        return ""
    return re.sub(r"%(?!\d*[Nnts])", "%%", found[0])


def read_ping(observation: Observation) -> FactValue:
    """True when a controller says UP; exit 1 with DOWN is an answer too."""
    if not observation.answered:
        return Unknown(Reason.READ_FAILED, observation.detail or str(observation.failure))
    text = observation.text()
    words = re.findall(r"^Slurmctld\([^)]*\) at \S+ (?:is|are) (UP|DOWN)", text, re.MULTILINE)
    if not words:
        stderr = observation.stderr.decode("utf-8", "replace")
        return Unknown(Reason.MALFORMED, first_line(stderr or text) or "no controller named")
    return "UP" in words


def read_version(observation: Observation) -> FactValue:
    """`22.05.8` of `slurm-wlm 22.05.8`."""
    found = re.fullmatch(r"slurm(?:-wlm)? (\S{1,40})", observation.text().strip())
    if not observation.answered or observation.exit != 0 or found is None:
        return Unknown(Reason.READ_FAILED, observation.detail or "no version was printed")
    return found[1]


def keeps_stdout(version: FactValue) -> bool:
    """True when accounting of this version has the path of the output; an unread version may have it."""
    if not isinstance(version, str):
        return True
    parts = re.findall(r"\d+", version)[:2]
    return [int(part) for part in parts] >= [24, 5]


def read_reservations(observation: Observation, zone: str) -> FactValue:
    """All reservations as records {name, flags, from, to, partition}; an empty list when there is none."""
    why = distrust(observation)
    if why:
        return Unknown(Reason.READ_FAILED, why)
    records: list[Value] = []
    for line in observation.text().splitlines():
        if not line.strip() or line.startswith("No reservations in the system"):
            continue
        record = _reservation(line, zone)
        if record is None:
            return Unknown(Reason.MALFORMED, f"not a reservation: {line[:80]!r}")
        records.append(record)
    return tuple(records)


def _reservation(line: str, zone: str) -> Value | None:
    keys = dict(re.findall(r"(?:^| )(ReservationName|StartTime|EndTime|PartitionName|Flags)=(\S*)", line))
    start, end = read_time(keys.get("StartTime", ""), zone), read_time(keys.get("EndTime", ""), zone)
    if "ReservationName" not in keys or not isinstance(start, int | float) or not isinstance(end, int | float):
        return None
    flags = tuple(flag for flag in keys.get("Flags", "").split(",") if flag)
    partition = keys.get("PartitionName", "").replace("(null)", "")
    return {"name": keys["ReservationName"], "flags": flags, "from": start, "to": end, "partition": partition}

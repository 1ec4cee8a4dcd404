"""What the last column of a table says of a row: liveness first, then what is wrong, then where it goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sweeprules.engine.facts import Absent, FactValue, Reason, Unknown
from sweeprules.engine.truth import TRUE, UNKNOWN
from sweeprules.reports.clean import one_line
from sweeprules.reports.numbers import cell, is_number, number, pair, signed
from sweeprules.reports.rows import COLLAPSE, Row, filling, step_of
from sweeprules.reports.words import NOT_EMITTED, UNREAD, duration

FAILED = ("FAILED", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE")
_SHORT = {"PENDING": "PD", "RUNNING": "R"}
_RUNGS = {
    "admitted": "gang admitted", "revision": "code in place", "staging": "data staging", "nodes": "Ray nodes up",
    "mesh": "mesh loaded", "weights": "weights loaded", "engine": "engines serving", "trainer": "trainer ready",
    "first-step": "first step made",
}  # fmt: skip
_LINKS = 3


def said(parts: Sequence[str]) -> str:
    """The parts that say something, in order; `—` when none does."""
    return "; ".join(part for part in dict.fromkeys(parts) if part) or NOT_EMITTED


def head(row: Row) -> list[str]:
    """State or liveness, then the flags: what every row starts with."""
    return [standing(row), *flags(row)]


def tail(row: Row, unread: Mapping[str, FactValue]) -> list[str]:
    """What ends every row: what its cells could not show and why, and what is not sure of it.

    `unread` are the values behind its cells, by the name that people know.
    """
    unsure = not row.entry["bucket_sure"] and row.entry["bucket"] != "UNKNOWN"
    return [
        other_word(row),
        why_unread(unread),
        "health unknown" if row.entry["health"] == "unknown" and row.running else "",
        "bucket not sure" if unsure else "",
    ]


def standing(row: Row) -> str:
    """`live 3m` and its kin for a running job, else the state with the reason or exit that the scheduler gave."""
    if row.running:
        return "suspended" if row.get("suspended") is True else live(row)
    return state_words(row)


def state_words(row: Row) -> str:
    """The state, with why it could not be read, the exit of what failed, the reason of what waits."""
    if row.state == "UNKNOWN":
        value = row.get("state")
        return f"{UNREAD} {one_line(value.reason, 40)}" if isinstance(value, Unknown) and value.reason else UNREAD
    exit_text, reason = row.get("exit"), row.get("state_reason")
    if row.state in FAILED and isinstance(exit_text, str):
        return f"{row.state} {one_line(exit_text, 20)}"
    waits = row.state in ("PENDING", "GONE") and isinstance(reason, str)
    return f"{row.state} {one_line(str(reason), 60)}" if waits else row.state


def live(row: Row) -> str:
    """How fresh a running job's output is: `live 3m` within its limit, else `last output 47m ago`, or `?` unread."""
    seconds = row.entry["last_output_age_s"]
    if is_number(seconds):
        return f"live {duration(seconds)}" if row.get("liveness") is True else f"last output {duration(seconds)} ago"
    if row.entry["unknown"].get("last_output_age_s") == "not-applicable":
        pods = _pods(row)
        if pods or row.get("record_present") is True:
            return f"state-poll: running{', ' + pods if pods else ''}"
        return "no log" if isinstance(row.get("log.exists"), Absent) else f"last output {NOT_EMITTED}"
    return f"last output {UNREAD}"


def _pods(row: Row) -> str:
    count, running = row.get("pods.n"), row.get("pods.running")
    return f"pods {pair(running, count)}" if is_number(count) else ""


def flags(row: Row) -> list[str]:
    """The names of the row's flags, marked when they do not count; `bringup` is told with how far it has come."""
    marks = {"exempt": " (exempt)", "resolved": " (resolved)"}
    return [
        flag["name"] + next((text for key, text in marks.items() if flag[key]), "")
        for flag in row.entry["flags"]
        if flag["name"] != "bringup" or row.entry["bucket"] in ("catch-all", "UNKNOWN")
    ]


def other_word(row: Row) -> str:
    """What the second source says of the state, where it says something else."""
    value = row.get("state_other")
    return f"other source says {one_line(value, 40)}" if isinstance(value, str) else ""


def why_unread(values: Mapping[str, FactValue]) -> str:
    """`? reward, entropy: cut`: the reasons behind the row's `?`, one clause a reason."""
    groups: dict[str, list[str]] = {}
    for name, value in values.items():
        if isinstance(value, Unknown) and value.reason != Reason.NAN:
            groups.setdefault(one_line(value.reason, 40) or "unknown", []).append(name)
    return ", ".join(
        f"{UNREAD} {'all numbers' if len(names) == len(values) > 1 else ', '.join(names)}: {reason}"
        for reason, names in groups.items()
    )


def collapse(row: Row) -> str:
    """`1/4 collapse (grad; ? log-ratio)`: signals that are true at the newest step, and those that can not be told."""
    if not row.signals:
        return ""
    true = [name for name in COLLAPSE if row.signals.get(name) is TRUE]
    open_ones = [name for name in COLLAPSE if row.signals.get(name, UNKNOWN) is UNKNOWN]
    inside = "; ".join(
        [*([", ".join(true)] if true else []), *([f"{UNREAD} {', '.join(open_ones)}"] * bool(open_ones))]
    )
    return f"{len(true)}/{len(COLLAPSE)} collapse" + (f" ({inside})" if inside else "")


def bringup(row: Row) -> str:
    """How far a run without a train step has come: rung, ranks, pods and buffer."""
    trains = row.entry["bucket"] in ("rl", "sft")
    if not row.flagged("bringup") and not (trains and filling(row)):
        return ""
    rung = row.get("bringup_rung")
    parts = [_pods(row).replace("pods ", "") + " pods" if _pods(row) else ""]
    if isinstance(rung, str):
        ranks = f" {pair(row.get('staged_ranks'), row.get('staged_of'))} ranks" if rung == "staging" else ""
        parts.append(_RUNGS.get(rung, one_line(rung, 40)) + ranks)
    if is_number(row.get("buffer_n")):
        parts.append(f"buffer {pair(row.get('buffer_n'), row.get('buffer_m'))}")
    shown = ", ".join(part for part in parts if part)
    return f"bring-up: {shown}" if shown else "bring-up"


def checkpoint(row: Row) -> str:
    """The newest saved step, or that nothing is saved although steps were made."""
    value, step = row.get("checkpoint_step"), step_of(row)
    if is_number(value):
        return f"saved {cell(value)}"
    if isinstance(value, Absent):
        return "no checkpoint" if isinstance(step, int | float) and step > 0 else ""
    return "" if isinstance(value, Unknown) and value.reason == Reason.NOT_READ else f"checkpoint {UNREAD}"


def slope(row: Row, *names: str) -> str:
    """What changed since the sweep before: steps, and the first of `names` that both its step and this one have."""
    now = step_of(row)
    before = row.previous.get("step") if row.previous is not None else None
    if not (isinstance(now, int) and isinstance(before, int)) or isinstance(now, bool) or isinstance(before, bool):
        return ""
    change = f"{now - before:+d} steps" if now != before else "no step"
    then = next((step for step in row.steps if step.get("step") == before), None)
    if then is not None and row.newest is not None and now != before:
        for name in names:
            first, last = then.get(name), row.newest.get(name)
            if isinstance(first, int | float) and isinstance(last, int | float):
                change += f", {name.replace('_', ' ')} {signed(last - first)}"
                break
    return f"{change} since last sweep"


def next_link(row: Row) -> str:
    """The ids behind the row's own, then its other open links, with their states; `?` where one vanished unproved."""
    value = row.run.get("successors") if row.run is not None else None
    if isinstance(value, Unknown) and value.reason != Reason.NOT_READ:
        return f"next link {UNREAD} {one_line(value.reason, 30)}"
    behind = _successors(value, row) if isinstance(value, tuple) else {}
    others = {key: word for key, word in _open_links(row).items() if key not in behind}
    parts = [
        f"{name} {_some(list(links.values()))}" for name, links in (("next link", behind), ("links", others)) if links
    ]
    return "; ".join(parts)


def _some(found: Sequence[str]) -> str:
    more = f" +{len(found) - _LINKS}" if len(found) > _LINKS else ""
    return ", ".join(found[:_LINKS]) + more


def _successors(value: Sequence[Any], row: Row) -> dict[object, str]:
    """Those behind the row's link: of a link that ended, the row itself is one."""
    items = [item for item in value if isinstance(item, Mapping) and item.get("id") != row.get("job_id")]
    return {str(item.get("id")): _link(item.get("id"), item.get("state")) for item in items}


def _open_links(row: Row) -> dict[object, str]:
    links = row.entry["facts"].get("links", ())
    return {str(link["job_id"]): _link(link["job_id"], link["state"]) for link in links if str(link["state"]) in _SHORT}


def _link(job_id: object, state: object) -> str:
    word = _SHORT.get(state, one_line(state, 20)) if isinstance(state, str) else UNREAD
    return f"{one_line(job_id, 60) if isinstance(job_id, str) else UNREAD} {word}"


def malformed(row: Row) -> str:
    """How many lines of metrics could not be read."""
    value = row.get("malformed_lines")
    return f"{number(value)} malformed lines" if isinstance(value, int | float) and value else ""

"""Two rule sets over the same sweeps: what each raised, job by job, and how good it was where people said so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sweeprules.engine.facts import Ref
from sweeprules.engine.truth import TRUE, UNKNOWN
from sweeprules.engine.verdicts import Verdict

LEVELS = ("info", "warning", "critical")
CHANGES = ("gained", "lost", "moved")
Data = dict[str, Any]


class Thing(NamedTuple):
    """A flag or an action of one subject. `counts` is false for a flag that is exempt or resolved."""

    ref: Ref
    kind: str
    name: str
    counts: bool


class Look(NamedTuple):
    """How a thing stood in one sweep: a flag's severity or an action's status, its rules, an action's template."""

    level: str
    rule: str
    template: str | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """Whether people want `flag` on the job `job` (`cluster:id`); an empty flag means every flag."""

    job: str
    flag: str
    raised: bool


@dataclass(slots=True)
class Side:
    """What one rule set said so far: things by sweep, and for each rule where it was true and where unknown."""

    things: dict[Thing, dict[str, Look]] = field(default_factory=dict)
    true: dict[str, set[Ref]] = field(default_factory=dict)
    unknown: dict[str, set[Ref]] = field(default_factory=dict)

    def add(self, sweep: str, verdicts: Mapping[Ref, Verdict]) -> None:
        """Take in one sweep's verdicts."""
        for ref, verdict in verdicts.items():
            for thing, look in _things(ref, verdict):
                self.things.setdefault(thing, {})[sweep] = look
            for rule, truth in verdict.truths.items():
                if truth is TRUE:
                    self.true.setdefault(rule, set()).add(ref)
                elif truth is UNKNOWN:
                    self.unknown.setdefault(rule, set()).add(ref)


def _things(ref: Ref, verdict: Verdict) -> Iterator[tuple[Thing, Look]]:
    for flag in verdict.flags:
        counts = not (flag.exempt or flag.resolved)
        yield Thing(ref, "flag", flag.name, counts), Look(flag.severity, flag.rule)
    for action in verdict.actions:
        look = Look(action.status, ", ".join(action.rules), action.template)
        yield Thing(ref, "action", action.name, action.status != "exempt"), look


@dataclass(slots=True)
class Comparison:
    """Both sides, filled sweep by sweep in the order of time."""

    old: Side = field(default_factory=Side)
    new: Side = field(default_factory=Side)
    names: dict[Ref, str] = field(default_factory=dict)
    """Every job that was seen, with its name."""

    def add(self, sweep: str, old: Mapping[Ref, Verdict], new: Mapping[Ref, Verdict], names: Mapping[Ref, str]) -> None:
        """Take in one sweep as both rule sets judge it."""
        self.old.add(sweep, old)
        self.new.add(sweep, new)
        self.names.update(names)


Changed = tuple[Thing, str, Mapping[str, Look], Mapping[str, Look]]


def changes(found: Comparison) -> list[Changed]:
    """Each thing that differs, as gained, lost or moved, with its looks by sweep under OLD and NEW; by subject."""
    made: list[Changed] = []
    for thing in sorted({**found.old.things, **found.new.things}):
        before, after = found.old.things.get(thing, {}), found.new.things.get(thing, {})
        change = "gained" if not before else "lost" if not after else "moved"
        if change != "moved" or _gist(before) != _gist(after):
            made.append((thing, change, before, after))
    return made


def _gist(looks: Mapping[str, Look]) -> dict[str, tuple[str, str | None]]:
    return {sweep: (look.level, look.template) for sweep, look in looks.items()}


def findings(found: Comparison, wanted: Iterable[tuple[str, str]]) -> list[Data]:
    """The flags that a gate stops at; `wanted` are pairs of a change and a severity.

    `lost` at a severity: a flag reached it under OLD and nowhere does under NEW, be it lowered, exempted or gone.
    `gained` is the reverse. `moved`: it reaches it under both, in other sweeps or at another severity.
    """
    gates = list(wanted)
    made = []
    for thing, _, before, after in changes(found):
        if thing.kind != "flag" or not thing.counts:
            continue
        hit = [gate for gate in gates if _stops(*gate, _height(before), _height(after))]
        made += [{"gate": f"{change}:{level}", **_named(thing), "flag": thing.name} for change, level in hit]
    return made


def _stops(change: str, level: str, before: int, after: int) -> bool:
    least = LEVELS.index(level)
    was, now = before >= least, after >= least
    return {"lost": was and not now, "gained": now and not was, "moved": was and now}[change]


def _height(looks: Mapping[str, Look]) -> int:
    return max((LEVELS.index(look.level) for look in looks.values()), default=-1)


def _named(thing: Thing) -> Data:
    return {"kind": thing.ref.kind, "key": thing.ref.key}


# ---------------------------------------------------------------- as data


def build(found: Comparison, expected: Iterable[Expected]) -> Data:
    """The comparison as plain data: `subjects` that differ, `totals`, `rules`, and `flags` that people judged."""
    changed = changes(found)
    subjects: dict[Ref, Data] = {}
    totals = {kind: dict.fromkeys(CHANGES, 0) for kind in ("flag", "action")}
    for thing, change, before, after in changed:
        row = subjects.setdefault(
            thing.ref, {**_named(thing), "name": found.names.get(thing.ref), "flags": [], "actions": []}
        )
        totals[thing.kind][change] += 1
        row[f"{thing.kind}s"].append(
            {"name": thing.name, "change": change, "counts": thing.counts, "old": _side(thing, before),
             "new": _side(thing, after)}
        )  # fmt: skip
    return {
        "totals": {"flags": totals["flag"], "actions": totals["action"]},
        "subjects": list(subjects.values()),
        "rules": _rules(found),
        "flags": _quality(found, list(expected)),
    }


def _side(thing: Thing, looks: Mapping[str, Look]) -> Data | None:
    if not looks:
        return None
    sweeps = list(looks)
    first, last = looks[sweeps[0]], looks[sweeps[-1]]
    shown: Data = {"rule": last.rule, "sweeps": len(sweeps), "first": sweeps[0], "last": sweeps[-1]}
    if thing.kind == "flag":
        return {"severity": LEVELS[_height(looks)], **shown}
    return {"status": last.level, "first_status": first.level, "template": last.template, **shown}


def _rules(found: Comparison) -> list[Data]:
    """For each rule, on how many subjects it was true in any sweep, and unknown in any."""
    sides = (found.old, found.new)
    known = sorted({rule for side in sides for rule in (*side.true, *side.unknown)})
    nobody: set[Ref] = set()
    rows = []
    for rule in known:
        old, new = (side.true.get(rule, nobody) for side in sides)
        rows.append(
            {
                "rule": rule, "old": len(old), "new": len(new), "only_old": len(old - new), "only_new": len(new - old),
                "old_unknown": len(found.old.unknown.get(rule, nobody)),
                "new_unknown": len(found.new.unknown.get(rule, nobody)),
            }
        )  # fmt: skip
    return rows


def _quality(found: Comparison, expected: list[Expected]) -> list[Data]:
    """Precision and recall of each flag on the jobs that people judged and the sweeps hold; the last word counts."""
    seen = {ref.key for ref in found.names}
    words = {(one.job, one.flag): one.raised for one in expected if one.job in seen}
    quiet = {job for (job, flag), raised in words.items() if not flag and not raised}
    flags = {flag for _, flag in words if flag} | {flag for flag, job in _raised(found) if job in quiet}
    return [_flag_quality(found, flag, words, quiet) for flag in sorted(flags)]


def _raised(found: Comparison) -> Iterator[tuple[str, str]]:
    for thing in (*found.old.things, *found.new.things):
        if thing.ref.kind == "job" and thing.kind == "flag" and thing.counts:
            yield thing.name, thing.ref.key


def _flag_quality(found: Comparison, flag: str, words: Mapping[tuple[str, str], bool], quiet: Iterable[str]) -> Data:
    judged = {**dict.fromkeys(quiet, False), **{job: raised for (job, name), raised in words.items() if name == flag}}
    wanted = {job for job, raised in judged.items() if raised}
    return {
        "flag": flag,
        "judged": len(judged),
        "wanted": len(wanted),
        "old": _scores(found.old, flag, judged, wanted),
        "new": _scores(found.new, flag, judged, wanted),
    }


def _scores(side: Side, flag: str, judged: Iterable[str], wanted: set[str]) -> Data:
    raised = {job for job in judged if Thing(Ref("job", job), "flag", flag, True) in side.things}
    hits = len(raised & wanted)
    return {
        "precision": hits / len(raised) if raised else None,
        "recall": hits / len(wanted) if wanted else None,
    }

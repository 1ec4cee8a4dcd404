"""Why a job's flags were raised, or were not: as the contract's JSON, and as one screen of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sweeprules.engine.facts import Absent, FactValue, Ref, Source, Subject, Unknown
from sweeprules.engine.language.ast import Exemption
from sweeprules.engine.truth import Truth
from sweeprules.engine.verdicts import ConditionProof, Flag, RuleProof, Verdict
from sweeprules.reports.clean import one_line
from sweeprules.reports.document import flag_data, ordered, plain, timestamp
from sweeprules.reports.pace import pace
from sweeprules.reports.sparks import sparks
from sweeprules.reports.words import MARKS, command, typed

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Explained:
    """One job of one sweep with the proofs of its rules.

    `around` holds the subjects that its rules may read (cluster, run, links, ...); `types` the catalogue's type of
    (kind, field). `exemptions` are (exemption, truth, condition proof).
    """

    sweep: str
    now: float
    complete: bool
    job: Subject
    run: str
    verdict: Verdict
    proofs: Sequence[RuleProof]
    exemptions: Sequence[tuple[Exemption, Truth, ConditionProof]] = ()
    around: Mapping[Ref, Subject] = field(default_factory=dict)
    handoffs: Sequence[Mapping[str, Any]] = ()
    why_not: Mapping[str, Sequence[tuple[str, ...]]] = field(default_factory=dict)
    """For a rule that is not true, the smallest sets of conditions that it lacks, in words, the nearest first."""
    more_ways: frozenset[str] = frozenset()
    """Rules for which there may be more such sets than are given."""
    links: Sequence[tuple[str, str, tuple[str, ...]]] = ()
    """The run's other links: job id, state, names of the flags on it."""
    cluster_flags: Sequence[Flag] = ()
    cluster_proofs: Sequence[RuleProof] = ()
    types: Mapping[tuple[str, str], str] = field(default_factory=dict)
    steps: Sequence[Subject] = ()
    """The steps of the run, one of each number, the lowest first."""


def build(explained: Explained) -> Data:
    """The contract's explain document."""
    job, verdict = explained.job, explained.verdict
    return {
        "job": _identity(explained),
        "sweep": {"id": explained.sweep, "now": timestamp(explained.now), "complete": explained.complete},
        "facts": [_fact(name, value, job, explained) for name, value in sorted(_facts(explained).items())],
        "rules": [_rule(proof, explained.why_not.get(proof.rule, ())) for proof in explained.proofs],
        "exemptions": [_exemption(*entry) for entry in explained.exemptions],
        "flags": [flag_data(f) for f in ordered(verdict.flags)],
        "handoffs": [dict(h) for h in explained.handoffs],
    }


def _facts(explained: Explained) -> dict[str, FactValue]:
    return {**explained.job.facts, **explained.verdict.decided}


def _identity(explained: Explained) -> Data:
    job = explained.job
    facts = _facts(explained)

    def word(name: str, otherwise: str) -> str:
        value = facts.get(name)
        return value if isinstance(value, str) else otherwise

    return {
        "key": job.ref.key,
        "cluster": word("cluster", "?"),
        "job_id": word("job_id", job.ref.key),
        "name": word("name", "?"),
        "run": explained.run,
        "state": word("state", "UNKNOWN"),
        "bucket": word("bucket", "UNKNOWN"),
        "health": explained.verdict.health,
    }


def _fact(name: str, value: FactValue, job: Subject, explained: Explained) -> Data:
    body: Data
    match value:
        case Unknown(reason=reason):
            body = {"unknown": reason}
        case Absent():
            body = {"absent": True}
        case _:
            body = {"value": plain(value, explained.types.get((job.ref.kind, name), "text"))}
    return {"name": name, **body, "source": _source(job.sources.get(name))}


def _source(source: Source | None) -> Data:
    if source is None:
        return {"command": "", "login": "", "line": "", "at": None}
    return {"command": source.command, "login": source.login, "line": source.line, "at": timestamp(source.at)}


def _rule(proof: RuleProof, sets: Sequence[tuple[str, ...]]) -> Data:
    if not sets and proof.truth is not Truth.TRUE:
        # No change of single conditions is known to be enough: what keeps it from firing is told all the same.
        sets = [tuple(_missing(proof))]
    return {
        "id": proof.rule,
        "truth": proof.truth.word,
        "file": proof.file,
        "line": proof.line,
        "conditions": [_condition(c) for c in proof.conditions],
        "consequences": list(proof.consequences),
        "why_not": [{"needs": list(needs)} for needs in sets],
    }


def _condition(proof: ConditionProof) -> Data:
    body: Data = {"text": proof.text, "truth": proof.truth.word, "actual": proof.actual, "needed": proof.needed}
    if proof.parts:
        body["parts"] = [_condition(part) for part in proof.parts]
    return body


def _exemption(exemption: Exemption, truth: Truth, proof: ConditionProof) -> Data:
    return {
        "id": exemption.id,
        "truth": truth.word,
        "flags": list(exemption.flags),
        "as": exemption.as_flag,
        "say": exemption.say,
        "owner": exemption.owner,
        "expires": timestamp(exemption.expires),
        "conditions": [_condition(proof)],
    }


def leaves(proof: ConditionProof) -> Iterator[ConditionProof]:
    """The conditions without parts below a proof, in the order in which they were written."""
    if not proof.parts:
        yield proof
    for part in proof.parts:
        yield from leaves(part)


def decisive(proof: ConditionProof) -> list[ConditionProof]:
    """The leaves that carry a proof's truth: parts with the truth of the whole, all the way down.

    A condition over the members of a fact counts as a leaf: its members have no source of their own.
    """
    if not proof.parts or proof.facts:
        return [proof]
    carrying = [p for p in proof.parts if p.truth is proof.truth] or list(proof.parts)
    return [leaf for part in carrying for leaf in decisive(part)]


def _missing(proof: RuleProof) -> list[str]:
    blocking = [c for c in proof.conditions if c.truth is not Truth.TRUE]
    return [said(leaf) for condition in blocking for leaf in decisive(condition)]


def said(leaf: ConditionProof) -> str:
    """One condition in words: what it asks, what is there, and its truth unless it is true."""
    tail = "" if leaf.truth is Truth.TRUE else f" [{leaf.truth.word}]"
    actual = f": {leaf.actual}" if leaf.actual else ""
    needed = f", needs {leaf.needed}" if leaf.needed and leaf.truth is not Truth.TRUE else ""
    return one_line(f"{leaf.text}{actual}{needed}{tail}", 300)


# ---------------------------------------------------------------- text

_FROM = "from "
_FROM_LINES = 2
SCREEN_RULES = 5
_SCREEN_LEAVES = 6


def render(
    explained: Explained, *, full: bool = False, rule: str | None = None, width: int = 100, plain: bool = False
) -> str:
    """One screen: the verdict, each fired rule with its numbers and sources, what is unknown, what came nearest.

    `full` prints every rule and fact, uncut; `rule` one rule only, whole. Lines are folded at `width`. `plain` draws
    the run's numbers with ASCII.
    """
    lines = list(_title(explained))
    if rule is not None:
        chosen = [p for p in explained.proofs if p.rule == rule]
        return _text(lines + [line for p in chosen for line in _whole(p, explained)], width, cut=False)
    drawn = sparks(explained.steps, width, plain=plain)
    lines += ["", "Steps", *drawn] if drawn else []
    lines += pace(_facts(explained))
    lines += _flag_section(explained, full)
    lines += _cluster_section(explained, full)
    lines += _link_section(explained)
    lines += _quiet_section(explained, full)
    lines += _unknown_section(explained, full)
    if full:
        lines += ["", "Facts", *(_fact_line(n, v, explained) for n, v in sorted(_facts(explained).items()))]
    return _text(lines, width, cut=not full)


def _text(lines: Sequence[str], width: int, *, cut: bool) -> str:
    return "\n".join(folded for line in lines for folded in _folded(line.rstrip(), width, cut=cut)) + "\n"


def _folded(line: str, width: int, *, cut: bool) -> list[str]:
    if len(line) <= width:
        return [line]
    pad = " " * (len(line) - len(line.lstrip()))
    folded = textwrap.wrap(line, width, subsequent_indent=pad + "    ", break_long_words=True, break_on_hyphens=False)
    if cut and line.startswith(_FROM, len(pad)) and len(folded) > _FROM_LINES:
        return [*folded[: _FROM_LINES - 1], folded[_FROM_LINES - 1][: width - 1] + "…"]
    return folded


def _title(explained: Explained) -> Iterator[str]:
    job = _identity(explained)
    sure = "" if explained.verdict.decided.get("bucket_sure") is True else " (not sure)"
    yield (
        f"{job['key']} {one_line(job['name'], 80)} · {job['state']} · bucket {job['bucket']}{sure}"
        f" · health {job['health']}"
    )
    yield f"sweep {explained.sweep} · now {timestamp(explained.now)}" + ("" if explained.complete else " · INCOMPLETE")
    reason = _health_reason(explained)
    if reason:
        yield reason


def _health_reason(explained: Explained) -> str:
    if explained.verdict.health != "unknown":
        return ""
    facts = _facts(explained)
    parts = []
    for name in ("state", "liveness", "progress"):
        value = facts.get(name, Unknown("not-read"))
        if isinstance(value, Unknown):
            parts.append(f"{name} is {typed(value, 'text')}")
        elif value is False:
            parts.append(f"{name} is false and no flag says so")
    return "health is unknown because " + "; ".join(parts) if parts else ""


def _flag_section(explained: Explained, full: bool) -> list[str]:
    lines = ["", "Flags"]
    if not explained.verdict.flags:
        return [*lines, "  none"]
    lines += _flags(explained.verdict.flags, explained.proofs, explained, full)
    for exemption, truth, held in explained.exemptions:
        if truth is not Truth.FALSE:
            lines.append(f"  exemption {exemption.id} [{truth.word}]: {one_line(exemption.say, 200)}")
            lines += [f"      {said(leaf)}" for leaf in decisive(held)[:_SCREEN_LEAVES]]
    for action in explained.verdict.actions:
        why = f" — blocked by {'; '.join(one_line(b, 120) for b in action.blocked_by)}" if action.blocked_by else ""
        lines.append(f"  → {action.name} ({action.status}){why}")
    return lines


def _cluster_section(explained: Explained, full: bool) -> list[str]:
    """What is wrong with the job's cluster: a queue that is not believed says as much of a job as its own flags."""
    if not explained.cluster_flags:
        return []
    return ["", "Flags of its cluster", *_flags(explained.cluster_flags, explained.cluster_proofs, explained, full)]


def _flags(flags: Sequence[Flag], proofs: Sequence[RuleProof], explained: Explained, full: bool) -> list[str]:
    lines: list[str] = []
    fired = {p.rule: p for p in proofs}
    shown: set[str] = set()
    for flag in ordered(flags):
        tail = " (exempt)" if flag.exempt else " (resolved)" if flag.resolved else ""
        lines.append(f"  {MARKS[flag.severity]} {flag.name}{tail}: {one_line(flag.message, 300)}")
        if flag.covers:
            lines.append(f"      stands for {', '.join(flag.covers)}")
        if flag.explained_by:
            lines.append(f"      explained by {', '.join(flag.explained_by)}")
        proof = fired.get(flag.rule)
        if proof is not None and flag.rule not in shown:
            shown.add(flag.rule)
            lines += _evidence(proof, explained, full)
    return lines


def _link_section(explained: Explained) -> list[str]:
    """Flags of any link stand on the row; each link is explained under its own id."""
    if not explained.links:
        return []
    said_of = [
        f"{job_id} {state}" + (f" ({', '.join(flags)})" if flags else "") for job_id, state, flags in explained.links
    ]
    return ["", f"Other links of the run: {one_line('; '.join(said_of), 400)}"]


def _evidence(proof: RuleProof, explained: Explained, full: bool) -> list[str]:
    lines = [f"      rule {proof.rule} at {proof.file}:{proof.line}"]
    found = [leaf for condition in proof.conditions for leaf in decisive(condition)]
    shown = found if full else found[:_SCREEN_LEAVES]
    told: set[str] = set()
    for leaf in shown:
        lines.append(f"      {said(leaf)}")
        fresh = [text for text in _origins(leaf, explained) if full or text not in told]
        told.update(fresh)
        lines += [f"        {text}" for text in fresh]
    if len(found) > len(shown):
        lines.append(f"      and {len(found) - len(shown)} more (--full)")
    return lines


def _origins(leaf: ConditionProof, explained: Explained) -> list[str]:
    lines = []
    for use in leaf.facts:
        subject = explained.job if use.ref == explained.job.ref else explained.around.get(use.ref)
        source = subject.sources.get(use.name) if subject else None
        if source is not None and source.command:
            quoted = f": {one_line(source.line, 200)}" if source.line else ""
            place = " ".join(part for part in (source.login, timestamp(source.at) or "") if part)
            lines.append(one_line(f"{_FROM}{command(source.command)}{f' ({place})' if place else ''}{quoted}", 400))
    return lines[:2]


def _quiet_section(explained: Explained, full: bool) -> list[str]:
    quiet = nearest_quiet(explained.proofs)
    if not quiet:
        return []
    lines = ["", "Did not fire (nearest first)"]
    shown = quiet if full else quiet[:SCREEN_RULES]
    for proof in shown:
        sets = explained.why_not.get(proof.rule) or [tuple(_missing(proof))]
        perhaps = ", and perhaps more" if proof.rule in explained.more_ways else ""
        more = f" (or {len(sets) - 1} other ways{perhaps})" if len(sets) > 1 else ""
        lines.append(f"  {proof.rule} [{proof.truth.word}] {one_line('; '.join(sets[0]), 300)}{more}")
    if len(quiet) > len(shown):
        lines.append(f"  and {len(quiet) - len(shown)} more rules (--full, or --rule ID)")
    return lines


def nearest_quiet(proofs: Sequence[RuleProof]) -> list[RuleProof]:
    """The rules that raise or ask for something and did not, nearest to firing first: a screen shows `SCREEN_RULES`."""
    raising = [p for p in proofs if any(c.startswith(("flag ", "action ")) for c in p.consequences)]
    return sorted((p for p in raising if p.truth is not Truth.TRUE), key=_distance)


def _distance(proof: RuleProof) -> tuple[int, int, float, str]:
    every = [leaf for condition in proof.conditions for leaf in leaves(condition)]
    held = sum(leaf.truth is Truth.TRUE for leaf in every)
    return (0 if proof.truth is Truth.UNKNOWN else 1, len(_missing(proof)), -held / max(len(every), 1), proof.rule)


def _unknown_section(explained: Explained, full: bool) -> list[str]:
    unknown = [(n, v) for n, v in sorted(_facts(explained).items()) if isinstance(v, Unknown)]
    if not unknown:
        return []
    groups: dict[str, list[str]] = {}
    for name, value in unknown:
        groups.setdefault(typed(value, "text"), []).append(name)
    lines = ["", "Unknown"]
    for reason, names in groups.items():
        shown = names if full else names[:8]
        more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
        lines.append(f"  {one_line(reason, 160)}: {', '.join(shown)}{more}")
    return lines


def _whole(proof: RuleProof, explained: Explained) -> Iterator[str]:
    yield ""
    yield f"rule {proof.rule} [{proof.truth.word}] at {proof.file}:{proof.line}"
    if proof.why:
        yield f"  {one_line(proof.why, 300)}"
    for condition in proof.conditions:
        yield from _tree(condition, explained, 1)
    for text in proof.consequences:
        yield f"  then {one_line(text, 200)}"


def _tree(proof: ConditionProof, explained: Explained, depth: int) -> Iterator[str]:
    pad = "  " * depth
    if not proof.parts:
        yield f"{pad}{said(proof)}"
        for text in _origins(proof, explained):
            yield f"{pad}  {text}"
        return
    yield f"{pad}{one_line(proof.text, 120)} [{proof.truth.word}]"
    for part in proof.parts:
        yield from _tree(part, explained, depth + 1)


def _fact_line(name: str, value: FactValue, explained: Explained) -> str:
    kind = explained.types.get((explained.job.ref.kind, name), "text")
    source = explained.job.sources.get(name)
    origin = f"   [{one_line(source.command, 80)} via {source.login}]" if source and source.command else ""
    return f"  {name} = {one_line(typed(value, kind), 160)}{origin}"

"""Writes a rule test from what a sweep saw of a job: the facts that rules read, and the verdict that came of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.evaluate.compare import OpenList
from sweeprules.engine.evaluate.effects import needed_path
from sweeprules.engine.facts import Absent, Completeness, FactValue, Interval, Reason, Ref, Subject, Unknown, World
from sweeprules.engine.language.ast import Act, Const, Hold, Param, ParamRef, Path, Policy, Raise, Right
from sweeprules.engine.language.scalars import resolve
from sweeprules.engine.language.walk import within
from sweeprules.engine.truth import FALSE, TRUE
from sweeprules.engine.verdicts import Verdict

MOST = 50
"""Members of a relation that are written; with more the relation is said to be partial."""
DEEPEST = 3
"""Relations in a row; the longest path of a shipped rule has two."""
_ASIDE = frozenset({"cluster", "sweep"})
"""Relations of a job whose member stands beside it in a test."""
_GIVEN = frozenset({("step", "job")})
"""Relations that a test has by itself where their member is the one around: the job of its steps."""
_ALWAYS = (
    *(("job", name) for name in ("cluster", "job_id", "name", "state", "liveness", "progress")),
    ("cluster", "name"),
    ("step", "step"),
)
"""Facts that decide without standing in a condition: of parameters, of health, and names."""
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:[-./][A-Za-z0-9_]+)*\Z")
_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
NO_PARTS: Mapping[str, str] = MappingProxyType({})
"""The types of a value that is no record."""
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


@dataclass(frozen=True, slots=True)
class Reads:
    """What a policy reads: facts as (kind, name), and names of relations."""

    facts: frozenset[tuple[str, str]]
    relations: frozenset[str]


def reads(policy: Policy) -> Reads:
    """All facts and relations that some part of a policy reads."""
    found = list(paths(policy))
    found += [needed_path(name, rule.on) for rule in policy.rules.values() for name in rule.needs]
    facts = {(path.kind, path.field) for path in found if path.type != "relation"}
    facts |= {("step", feature.series) for feature in policy.features.values()}
    relations = {name for path in found for name in path.relations}
    relations |= {path.field for path in found if path.type == "relation"}
    return Reads(frozenset(facts | set(_ALWAYS)), frozenset(relations | ({"steps"} if policy.features else set())))


def paths(node: object) -> Iterator[Path]:
    """Every path that stands in a part of a policy: a value of the language, or tuples and mappings of them."""
    return (one for one in within(node) if isinstance(one, Path))


def rule_test(name: str, world: World, about: Ref, verdict: Verdict, policy: Policy, catalogue: Catalogue) -> str:
    """A file of one rule test: the job with what rules read of it and around it, and its verdict as what to expect.

    The other subjects stand as the job's relations reach them, each time anew. Run it before it is believed: what a
    rule reads beyond that is not carried over.
    """
    writer = _Writer(world, policy, catalogue, reads(policy))
    job = world.subjects[about]
    beside = [world.subjects[ref] for kind in ("sweep", "cluster") for ref in writer.beside(job, kind)]
    lines = ["tests:", f"  - name: {scalar(name)}", "    given:"]
    for subject in beside:
        lines += writer.block(subject.ref.kind, writer.facts(subject), 6)
    lines += writer.block("job", writer.facts(job, without=frozenset(policy.decide)) | writer.related(job), 6)
    held = dict(_held(verdict, policy))
    if held:
        lines += writer.block("held", held, 6)
    lines += writer.block("expect", dict(_expected(verdict, policy, catalogue)), 4)
    return "\n".join(lines) + "\n"


@dataclass(slots=True)
class _Writer:
    world: World
    policy: Policy
    catalogue: Catalogue
    reads: Reads
    _above: list[Ref] = field(default_factory=list)

    def block(self, key: str, entries: Mapping[str, str], indent: int) -> list[str]:
        """A key with a map below it, one entry a line."""
        pad = " " * indent
        if not entries:
            return [f"{pad}{key}: {{}}"]
        return [f"{pad}{key}:", *(f"{pad}  {name}: {text}" for name, text in entries.items())]

    def beside(self, job: Subject, kind: str) -> list[Ref]:
        """The one subject of a kind that stands beside the job."""
        if kind == "sweep":
            return [ref for ref, one in self.world.subjects.items() if ref.kind == kind and one.judged][:1]
        relation = job.relations.get(kind)
        return [ref for ref in (relation.members if relation is not None else ()) if ref in self.world.subjects]

    def facts(self, subject: Subject, without: frozenset[str] = frozenset()) -> dict[str, str]:
        """Facts that the policy reads, in YAML."""
        kind = subject.ref.kind
        wanted = sorted(name for of, name in self.reads.facts if of == kind and name not in without)
        found = {name: subject.facts[name] for name in wanted if name in subject.facts}
        types = self.catalogue.kinds[kind].fields
        return {
            name: value(worth, types[name].type, types[name].fields) if name in types else value(worth)
            for name, worth in found.items()
        }

    def related(self, subject: Subject) -> dict[str, str]:
        """Relations that the policy reads, in YAML; a job's cluster and sweep stand beside it."""
        self._above.append(subject.ref)
        found: dict[str, str] = {}
        for name, relation in sorted(subject.relations.items()):
            definition = self.catalogue.kinds[subject.ref.kind].relations.get(name)
            if name not in self.reads.relations or name in _ASIDE or definition is None:
                continue
            if (subject.ref.kind, name) in _GIVEN and set(relation.members) <= set(self._above):
                continue
            members = [ref for ref in relation.members if ref in self.world.subjects and ref not in self._above]
            written = [self._member(ref) for ref in members[:MOST]] if len(self._above) < DEEPEST else []
            cut = len(written) < len(relation.members)
            if relation.completeness is Completeness.UNKNOWN:
                found[name] = value(Unknown(relation.reason))
            elif cut or relation.completeness is Completeness.PARTIAL:
                reason = relation.reason or "cut"
                found[name] = f"{{partial: {scalar(reason)}, members: [{', '.join(written)}]}}"
            elif not written:
                found[name] = value(Absent())
            else:
                found[name] = f"[{', '.join(written)}]" if definition.many else written[0]
        self._above.pop()
        return found

    def _member(self, ref: Ref) -> str:
        subject = self.world.subjects[ref]
        entries = self.facts(subject) | self.related(subject)
        return "{" + ", ".join(f"{name}: {text}" for name, text in entries.items()) + "}"


# ---------------------------------------------------------------- what to expect


def _expected(verdict: Verdict, policy: Policy, catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    yield "flags", _names(flag.name for flag in verdict.flags)
    yield "actions", _names(action.name for action in verdict.actions if action.status != "exempt")
    exempt = [flag.name for flag in verdict.flags if flag.exempt]
    blocked = [action.name for action in verdict.actions if action.status == "blocked"]
    if exempt:
        yield "exempt", _names(exempt)
    if blocked:
        yield "blocked", _names(blocked)
    templates = {a.name: a.template for a in verdict.actions if a.template is not None and a.name in policy.actions}
    if templates:
        yield "templates", "{" + ", ".join(f"{name}: {scalar(page)}" for name, page in templates.items()) + "}"
    if verdict.health:
        yield "health", verdict.health
    types = catalogue.kinds[verdict.ref.kind].fields
    for name, worth in sorted(verdict.decided.items()):
        if name in types and not isinstance(worth, OpenList):
            yield name, value(worth, types[name].type)
    truths = {
        rule: truth.word
        for rule, truth in sorted(verdict.truths.items())
        if rule in policy.rules and (truth is TRUE or (truth is not FALSE and _acts(policy, rule)))
    }
    if truths:
        yield "truth", "{" + ", ".join(f"{rule}: {word}" for rule, word in truths.items()) + "}"


def _acts(policy: Policy, rule: str) -> bool:
    return any(isinstance(one, Raise | Act) for one in policy.rules[rule].then)


def _names(names: Iterator[str] | list[str]) -> str:
    return f"[{', '.join(dict.fromkeys(names))}]"


def _held(verdict: Verdict, policy: Policy) -> Iterator[tuple[str, str]]:
    """A rule with `for:` that was true had been held for long enough, in whichever way its threshold is overridden."""
    for rule, truth in sorted(verdict.truths.items()):
        hold: Hold | None = policy.rules[rule].hold if rule in policy.rules else None
        if hold is None or truth is not TRUE:
            continue
        longest = max(_worths(hold.sweeps or hold.seconds, policy), default=0)
        yield rule, f"{max(int(longest) - 1, 1)} sweeps" if hold.sweeps is not None else value(longest, "duration")


def _worths(right: Right | None, policy: Policy) -> Iterator[float]:
    param: Param | None = policy.params.get(right.name) if isinstance(right, ParamRef) else None
    found = [right.value] if isinstance(right, Const) else []
    if param is not None:
        found = [param.default, *(row.value for row in param.overrides)]
    yield from (one for one in found if isinstance(one, int | float))


# ---------------------------------------------------------------- YAML


def value(worth: FactValue, kind: str = "", parts: Mapping[str, str] = NO_PARTS) -> str:
    """A value as a rule test gives it, in flow style.

    `kind` is the catalogue's type of the field, `parts` the types of the fields of a record in it.
    """
    if isinstance(worth, Unknown):
        return f"{{unknown: {scalar(worth.reason)}}}"
    if isinstance(worth, Absent):
        return f"{{absent: {scalar(worth.reason) if worth.reason else 'true'}}}"
    if isinstance(worth, Interval):
        possible = "" if worth.possible is None else f", possible: {worth.possible}"
        return f"{{sure: {worth.sure}{possible}}}"
    if isinstance(worth, Mapping):
        entries = (f"{scalar(name)}: {value(one, parts.get(name, ''))}" for name, one in worth.items())
        return "{" + ", ".join(entries) + "}"
    if isinstance(worth, tuple):
        return f"[{', '.join(value(one, '', parts) for one in worth)}]"
    return _number(worth, kind) if isinstance(worth, int | float) and not isinstance(worth, bool) else scalar(worth)


def _number(worth: float, kind: str) -> str:
    if not math.isfinite(worth) or worth != int(worth):
        return _decimal(worth)
    if kind == "time":
        return datetime.fromtimestamp(worth, UTC).isoformat().replace("+00:00", "Z")
    if worth > 0 and kind == "duration":
        unit, size = next((unit, size) for unit, size in _UNITS if worth % size == 0)
        return f"{int(worth) // size}{unit}"
    return _decimal(worth)


def _decimal(worth: float) -> str:
    """Digits that every YAML reader takes for the same number: an exponent only behind a point."""
    if not math.isfinite(worth):
        return value(Unknown(Reason.NAN))
    mantissa, sign, exponent = repr(worth).partition("e")
    if not sign:
        return mantissa
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent if exponent[0] in '+-' else '+' + exponent}"


def scalar(worth: bool | int | float | str) -> str:
    """A scalar in YAML; a text in quotes unless it is a plain word that can be nothing else."""
    if not isinstance(worth, str):
        return str(worth).lower() if isinstance(worth, bool) else _decimal(worth)
    if _PLAIN.match(worth) and resolve(worth)[0] == "text":
        return worth
    return '"' + "".join(map(_escaped, worth)) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if " " <= char <= "~":
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

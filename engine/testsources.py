"""What a rule test gives raw, a log or a recorded sweep: read as a sweep does, by readers that the caller hands in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from sweeprules.engine.errors import Mark, Problem, nearest
from sweeprules.engine.evaluate.compare import same
from sweeprules.engine.evaluate.words import humanise
from sweeprules.engine.facts import Absent, FactValue, Interval, Ref, Unknown, World
from sweeprules.engine.holds import Held
from sweeprules.engine.language.ast import Pattern, Policy
from sweeprules.engine.language.node import KIND_WORDS, Node
from sweeprules.engine.testgiven import Given


@dataclass(frozen=True, slots=True)
class LogFacts:
    """Facts of a job from the text of its log.

    `said` is what the text alone says: a test can not give another value for it. `implied` follows from the text and
    from other facts of the job (its phase, its signature) and stands only where the test gives no value.
    """

    said: Mapping[str, FactValue]
    implied: Mapping[str, FactValue]


ReadLog = Callable[[str, Mapping[str, FactValue], Mapping[str, Pattern]], LogFacts]
"""Reads the whole text of a log by patterns: the text, the job's own facts as the test gives them, the patterns."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded sweep under a policy: all that was seen, and what rules with `for:` had been before it."""

    world: World
    held: Held


ReadCassette = Callable[[str, str, Policy], Recorded]
"""Reads a cassette under a policy: the file of the test, a place relative to it, the policy.

Raises `UnreadableError`.
"""


class UnreadableError(Exception):
    """Raised for a cassette that can not be read; `hint` says what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.message, self.hint = message, hint
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Readers:
    """How the raw material of tests is read. The engine reads no file itself; None: such a test can not be run here."""

    log: ReadLog | None = None
    cassette: ReadCassette | None = None


NO_READERS = Readers()
_SHOWN = 6
"""Jobs of a cassette that a hint names."""


@dataclass(frozen=True, slots=True)
class GivenLog:
    """The log of the job that a test is about: its text, and the world without it."""

    text: str
    mark: Mark
    read: ReadLog
    bare: Given
    patterns: Mapping[str, Pattern]
    """Those by which the log is read."""

    def under(self, policy: Policy) -> GivenLog:
        """The same by the patterns of a policy; itself where they are those."""
        return self if self.patterns is policy.patterns else replace(self, patterns=policy.patterns)

    @property
    def world(self) -> World:
        """The world with the facts that the log gives."""
        subject = self.bare.world.subjects[self.bare.about]
        facts = {**subject.facts, **self.told(self.bare.about)}
        return World({**self.bare.world.subjects, self.bare.about: replace(subject, facts=facts)})

    def told(self, ref: Ref) -> Mapping[str, FactValue]:
        """The facts of a subject that the log gives, and no hand wrote."""
        if ref != self.bare.about:
            return {}
        found = self.read(self.text, self.bare.world.subjects[ref].facts, self.patterns)
        implied = {name: value for name, value in found.implied.items() if name not in self.bare.written}
        return {**implied, **found.said}

    def contradictions(self) -> Iterator[Problem]:
        """What the test gives beside the log although the log says otherwise."""
        facts = self.bare.world.subjects[self.bare.about].facts
        said = self.read(self.text, facts, self.patterns).said
        for name, mark in self.bare.written.items():
            if name in said and not _alike(facts[name], said[name]):
                message = f"{name} is given as {_shown(facts[name])}, and the log says {_shown(said[name])}"
                yield Problem(mark, message, "leave it out, or change the log")


def read_log(
    node: Node | None, bare: Given, policy: Policy, readers: Readers, problems: list[Problem]
) -> GivenLog | None:
    """The log that `given: {log: TEXT}` gives; None where there is none, or where it is reported as a mistake."""
    if node is None:
        return None
    text = _text(node, problems)
    if bare.about.kind != "job":
        problems.append(Problem(node.mark, f"a {bare.about.kind} has no log", "give the job that wrote it"))
    elif readers.log is None:
        problems.append(Problem(node.mark, "nothing here can read a log", "run it with `sweeprules test`"))
    elif text is not None:
        return GivenLog(text, node.mark, readers.log, bare, policy.patterns)
    return None


def _text(node: Node, problems: list[Problem]) -> str | None:
    """A text as it stands, or a list of lines."""
    wrong = [item for item in (node.items if node.kind == "list" else (node,)) if item.kind in ("map", "list", "null")]
    for item in wrong:
        problems.append(Problem(item.mark, f"expected the text of a log or its lines, got {KIND_WORDS[item.kind]}"))
    if wrong or node.kind == "bad":
        return None
    return "".join(f"{item.text}\n" for item in node.items) if node.kind == "list" else _scalar(node)


def _scalar(node: Node) -> str:
    return node.value if isinstance(node.value, str) else node.text


def _shown(value: FactValue) -> str:
    return "absent" if isinstance(value, Absent) else humanise(value)


def _alike(given: FactValue, said: FactValue) -> bool:
    if isinstance(given, Unknown | Absent | Interval) or isinstance(said, Unknown | Absent | Interval):
        return type(given) is type(said) and (not isinstance(given, Interval) or given == said)
    return same(given, said)


# ---------------------------------------------------------------- cassettes


@dataclass(frozen=True, slots=True)
class GivenCassette:
    """The recorded sweep that a test is about, under the policy that it was read with."""

    file: str
    name: str
    read: ReadCassette
    policy: Policy
    recorded: Recorded

    def under(self, policy: Policy) -> GivenCassette:
        """The same under another policy; itself where what a sweep takes from it does not differ."""
        mine, other = self.policy, policy
        same_facts = mine.patterns is other.patterns and mine.decide is other.decide and mine.params is other.params
        if same_facts:
            return self
        return replace(self, policy=policy, recorded=self.read(self.file, self.name, policy))

    @property
    def world(self) -> World:
        """All that the sweep saw."""
        return self.recorded.world

    def told(self, ref: Ref) -> Mapping[str, FactValue]:
        """The facts of a subject as the sweep saw them."""
        return self.recorded.world.subjects[ref].facts


def read_cassette(
    given: Node, policy: Policy, readers: Readers, problems: list[Problem]
) -> tuple[GivenCassette, Given] | None:
    """The sweep and the job that `given: {cassette: FILE, job: CLUSTER:ID}` names; None where that is a mistake."""
    name, job = given.get("cassette"), given.get("job")
    for entry in given.entries:
        if entry.key not in ("cassette", "job"):
            hint = "a cassette gives all facts: leave it out"
            problems.append(Problem(entry.mark, f"{entry.key} is given beside a cassette", hint))
    if name is None or name.kind != "text" or not name.text:
        problems.append(Problem(given.key_mark("cassette"), "expected the place of a cassette beside this file"))
    elif job is None or job.kind in ("map", "list", "null"):
        problems.append(Problem(given.key_mark("job"), "expected the job of the cassette", "write job: CLUSTER:ID"))
    elif readers.cassette is None:
        problems.append(Problem(name.mark, "nothing here can read a cassette", "run it with `sweeprules test`"))
    else:
        return _recorded(name, job, policy, readers.cassette, problems)
    return None


def _recorded(
    name: Node, job: Node, policy: Policy, read: ReadCassette, problems: list[Problem]
) -> tuple[GivenCassette, Given] | None:
    try:
        recorded = read(name.mark.file, name.text, policy)
    except UnreadableError as error:
        problems.append(Problem(name.mark, error.message, error.hint))
        return None
    jobs = {subject.ref.key: subject.ref for subject in recorded.world.of_kind("job") if subject.judged}
    found = [ref for key, ref in jobs.items() if job.text in (key, key.partition(":")[2])]
    if len(found) != 1:
        what = "there is no job" if not found else "there is more than one job"
        keys = sorted(str(ref.key) for ref in found or jobs.values())
        some = f"write one of {', '.join(keys[:_SHOWN])}" if keys else "no job of it is judged"
        hint = (nearest(job.text, jobs) if not found else "") or some
        problems.append(Problem(job.mark, f"{what} {job.text} in {name.text}", hint))
        return None
    source = GivenCassette(name.mark.file, name.text, read, policy, recorded)
    return source, Given(recorded.world, Ref("job", found[0].key), {}, ())

"""The log that a rule test gives: its text, read as a sweep reads it by a reader that the caller hands in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.evaluate.compare import same
from sweeprules.engine.evaluate.words import humanise
from sweeprules.engine.facts import Absent, FactValue, Interval, Unknown, World
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


class ReadLog(Protocol):
    """Reads the whole text of a log by patterns; `facts` are the job's own, as the test gives them."""

    def __call__(
        self, text: str, facts: Mapping[str, FactValue], patterns: Mapping[str, Pattern]
    ) -> LogFacts: ...  # pragma: no cover


@dataclass(frozen=True, slots=True)
class Readers:
    """How the raw material of tests is read. The engine reads no log itself; None: such a test can not be run here."""

    log: ReadLog | None = None


NO_READERS = Readers()


@dataclass(frozen=True, slots=True)
class GivenLog:
    """The log of the job that a test is about: its text, and the world without it."""

    text: str
    mark: Mark
    read: ReadLog
    bare: Given
    patterns: Mapping[str, Pattern]
    """Those by which the test as it stands was read."""

    def world(self, policy: Policy) -> World:
        """The world with the facts that the log gives by the patterns of a policy."""
        subject = self.bare.world.subjects[self.bare.about]
        found = self.read(self.text, subject.facts, policy.patterns)
        implied = {name: value for name, value in found.implied.items() if name not in self.bare.written}
        facts = {**subject.facts, **implied, **found.said}
        return World({**self.bare.world.subjects, self.bare.about: replace(subject, facts=facts)})

    def contradictions(self, policy: Policy) -> Iterator[Problem]:
        """What the test gives beside the log although the log says otherwise."""
        facts = self.bare.world.subjects[self.bare.about].facts
        said = self.read(self.text, facts, policy.patterns).said
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

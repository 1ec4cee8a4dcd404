"""Reads the logs of rule tests by the code with which a sweep reads the logs of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.facts import FoundLog, Tail, log_facts
from sweeprules.collectors.logs.failure import signature, signature_text
from sweeprules.collectors.logs.find import FileStat
from sweeprules.collectors.logs.scan import Matcher, prepare
from sweeprules.collectors.normalise import read_phase
from sweeprules.collectors.slurm.states import TERMINAL
from sweeprules.engine.facts import NOT_READ, FactValue
from sweeprules.engine.language.ast import Pattern
from sweeprules.engine.observation import Observation
from sweeprules.engine.testlogs import LogFacts, Readers

_UTC = ZoneInfo("UTC")
_NOT_IN_TEXT = frozenset({"log.path", "log.source", "log.mtime", "log_age"})
"""Facts of a log that the listing of a directory tells, not what the file holds."""


class LogReader:
    """Reads texts of logs; keeps the patterns that it prepared, since most are the same from test to test."""

    def __init__(self) -> None:
        self._matchers: dict[int, Matcher] = {}

    def __call__(self, text: str, facts: Mapping[str, FactValue], patterns: Mapping[str, Pattern]) -> LogFacts:
        """The facts of a log that was read whole, from its first byte on; times without a zone are UTC."""
        data = text.encode()
        path = facts.get("log.path")
        observation = Observation("test", "", "", (), (), 0.0, 0.0, 0, data, b"")
        found = FoundLog(
            path if isinstance(path, str) else "", "scheduler", FileStat(0, 0, len(data), 0.0), None, observation
        )
        reading = log_facts(found, Tail(0, observation), tuple(self._prepared(patterns)), _UTC, None, None)
        said = {name: value for name, value in reading.facts.items() if name not in _NOT_IN_TEXT}
        if said.get("first_error.path") == "":
            said["first_error.path"] = NOT_READ
        known = {**facts, **said}
        implied: dict[str, FactValue] = {}
        if known.get("state") == "RUNNING":
            implied["phase"] = read_phase(known, reading)
        died = signature(known, reading.raised) if known.get("state") in TERMINAL else None
        if died is not None:
            implied["signature"] = signature_text(died)
        return LogFacts(said, implied)

    def _prepared(self, patterns: Mapping[str, Pattern]) -> Iterator[Matcher]:
        for name, pattern in sorted(patterns.items()):
            kept = self._matchers.get(id(pattern))
            if kept is None or kept.pattern is not pattern:
                (kept,) = prepare({name: pattern})
                self._matchers[id(pattern)] = kept
            yield kept


def readers() -> Readers:
    """The readers of this tool, for one run of tests."""
    return Readers(LogReader())

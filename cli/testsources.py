"""Reads the logs and cassettes of rule tests by the code with which a sweep reads the logs and answers of clusters."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

from sweeprules.cli import held
from sweeprules.cli.loading import Loaded, read_site
from sweeprules.cli.places import SHIPPED
from sweeprules.cli.replay import laid_out
from sweeprules.cli.starting import replay_start, with_engine
from sweeprules.cli.sweep import sweep
from sweeprules.collectors.logs.facts import FoundLog, Tail, log_facts
from sweeprules.collectors.logs.failure import signature, signature_text
from sweeprules.collectors.logs.find import FileStat
from sweeprules.collectors.logs.scan import Matcher, prepare
from sweeprules.collectors.normalise import read_phase
from sweeprules.collectors.slurm.states import TERMINAL
from sweeprules.engine.facts import NOT_READ, FactValue
from sweeprules.engine.language.ast import Pattern, Policy
from sweeprules.engine.observation import Observation
from sweeprules.engine.testsources import LogFacts, Readers, Recorded, UnreadableError
from sweeprules.store import builtin
from sweeprules.store.cassette import Cassette, read_cassette
from sweeprules.store.errors import StoreError
from sweeprules.store.site import SiteLoad

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


PATIENCE = 120.0
"""Seconds for judging one recorded sweep."""


class CassetteReader:
    """Replays recorded sweeps under the site's policy and its changes; keeps what it read of each file."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._tapes: dict[Path, tuple[Cassette, SiteLoad]] = {}

    def __call__(self, test_file: str, name: str, policy: Policy) -> Recorded:
        """All that the recorded sweep saw, joined as this policy decides. Raises `UnreadableError`."""
        path = self._path(test_file, name)
        try:
            tape, load = self._tapes.get(path) or self._read(path)
            own = self._loaded.load
            site = replace(own, site=replace(own.site, records=load.site.records))
            loaded = replace(self._loaded, load=site, policy=policy)
            start = with_engine(replay_start(loaded, tape, time.monotonic() + PATIENCE), "native")
            return Recorded(sweep(start).world, held.from_data(start.before.document(held.HOLDS)))
        except StoreError as error:
            raise UnreadableError(f"{name} {error.what}", error.hint) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # The prior state is a document that anyone may have written; what reads it says so in all these ways.
            what = f"{name}: its prior state can not be read: {type(error).__name__}: {error}"
            raise UnreadableError(what, "record it again") from None

    def _read(self, path: Path) -> tuple[Cassette, SiteLoad]:
        tape = read_cassette(path)
        if not tape.files:
            # A recording of one cluster alone, such as `via: replay` plays: the site has its record.
            self._tapes[path] = tape, self._loaded.load
            return self._tapes[path]
        with tempfile.TemporaryDirectory(prefix="sweeprules-") as folder:
            self._tapes[path] = tape, read_site(laid_out(tape, Path(folder), None))
        return self._tapes[path]

    def _path(self, test_file: str, name: str) -> Path:
        """A file of the site that holds the test, named from where the test stands."""
        shipped = test_file.startswith(SHIPPED)
        root = (builtin.ROOT if shipped else self._loaded.choice.root).resolve()
        path = (root / test_file.removeprefix(SHIPPED)).parent / name
        if Path(name).is_absolute() or not path.resolve().is_relative_to(root):
            raise UnreadableError(f"{name} lies outside the site", "put the cassette into a folder of the site")
        return path.resolve()


def readers(loaded: Loaded) -> Readers:
    """The readers of this tool, for one run of tests of a site."""
    return Readers(LogReader(), CassetteReader(loaded))

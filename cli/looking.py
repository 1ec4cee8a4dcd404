"""What a recorded sweep read, made once and kept for the next backtest: how a cassette becomes a world."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from sweeprules.cli import held, results
from sweeprules.cli.cadence import READ
from sweeprules.cli.choosing import KINDS, suspecting
from sweeprules.cli.deciding import Engine
from sweeprules.cli.loading import Loaded
from sweeprules.cli.runs import reach
from sweeprules.cli.starting import replay_start, with_engine
from sweeprules.cli.sweep import Looked, Start, Swept, look
from sweeprules.cli.worlds import suspects_by_cluster
from sweeprules.collectors.prior import COLLECTORS, Prior
from sweeprules.engine.evaluate.reuse import gist, reading
from sweeprules.engine.facts import Ref, World
from sweeprules.engine.holds import Held
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.site import Site
from sweeprules.store.cassette import Cassette
from sweeprules.store.codec import Json
from sweeprules.store.worlds import Worlds

PATIENCE = 600.0
"""Seconds for one cassette under one rule set."""
POLICY = "policy_sha256"
ENGINE = "engine"
NATIVE: Engine = "native"
"""A backtest judges by the native evaluator, whatever judged the sweep."""
_CODE = ("engine", "collectors", "store", "cli")


class UnfitError(Exception):
    """A cassette that can be read and not be judged."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One sweep before it is judged. `last` is the id of the sweep before it, empty when there was none.

    `chosen` are the clusters that the sweep was limited to, None for all; `holds` is the kept document of holds.
    """

    id: str
    now: float
    last: str
    chosen: frozenset[str] | None
    holds: Mapping[str, Any]
    world: World

    @property
    def held(self) -> Held:
        """What rules with `for:` had held when the sweep began."""
        return held.from_data(self.holds)


@dataclass(slots=True)
class Reader:
    """Reads one cassette's sweep under several sites, each stage once for those that read alike."""

    tape: Cassette
    _looked: dict[str, Looked] = field(default_factory=dict)

    def see(self, loaded: Loaded) -> tuple[Seen, bool]:
        """All that the sweep recorded as its world, and whether no wait ran out: else it is not what was recorded.

        Raises `UnfitError`.
        """
        started = time.monotonic()
        try:
            start = with_engine(replay_start(loaded, self.tape, started + PATIENCE), NATIVE)
            Prior.from_data(start.before.document(COLLECTORS))
            holds = start.before.document(held.HOLDS)
            held.from_data(holds)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # The prior state is a document that anyone may have written; what reads it says so in all these ways.
            raise UnfitError(f"its prior state can not be read: {type(error).__name__}: {error}") from None
        world = self._look(start).world
        last = start.before.last
        seen = Seen(start.id, start.now, last.id if last is not None else "", start.chosen, holds, _anyones(world))
        return seen, time.monotonic() - started < PATIENCE / 2

    def _look(self, start: Start) -> Looked:
        """Another site's look where its first stage reads alike and the same subjects are suspected."""
        key = first_key(start.loaded)
        known = self._looked.get(key)
        if known is None or suspects_by_cluster(start.loaded.policy, known.first) != known.suspects:
            known = self._looked[key] = look(start)
        return known


def _anyones(world: World) -> World:
    """The world without the names of the policy that it was first read for and of the engine that judged it then."""
    none = {POLICY: "", ENGINE: NATIVE}
    heads = {s.ref: replace(s, facts={**s.facts, **none}) for s in world.subjects.values() if s.ref.kind == "sweep"}
    return World({**world.subjects, **heads})


def judged_by(seen: Seen, policy: Policy) -> World:
    """The world with the policy that judges it now in the sweep's own facts."""
    ref = Ref("sweep", seen.id)
    head = seen.world.subjects[ref]
    return World({**seen.world.subjects, ref: replace(head, facts={**head.facts, POLICY: policy.sha256})})


def kept(worlds: Worlds, key: str) -> Seen | None:
    """What was kept under this key."""
    found = worlds.get(key)
    if found is None:
        return None
    head: dict[str, Any] = found[0]
    chosen = head["chosen"]
    return Seen(
        head["id"], head["now"], head["last"], None if chosen is None else frozenset(chosen), head["holds"], found[1]
    )  # fmt: skip


def keep(worlds: Worlds, key: str, seen: Seen) -> Seen:
    """Keep it for the next backtest; returned as it will be found then."""
    chosen: list[Json] | None = None if seen.chosen is None else [*sorted(seen.chosen)]
    head: dict[str, Json] = {
        "id": seen.id,
        "now": seen.now,
        "last": seen.last,
        "chosen": chosen,
        "holds": dict(seen.holds),
    }
    return replace(seen, world=worlds.put(key, head, seen.world))


def keep_live(worlds: Worlds, cassette: bytes, start: Start, swept: Swept) -> None:
    """Keep the world of a sweep that has just been made, so that even the first backtest finds it.

    A sweep that a replay could not make again is not kept.
    """
    if not swept.repeatable:
        return
    last = start.before.last
    holds = start.before.document(held.HOLDS)
    world = _anyones(swept.world)
    seen = Seen(start.id, start.now, last.id if last is not None else "", start.chosen, holds, world)
    keep(worlds, key_of(cassette, site_key(start.loaded)), seen)
    worlds.prune()


# ---------------------------------------------------------------- what a world depends on


def key_of(cassette: bytes, site: str) -> str:
    """The hash of all that a world is made from: the cassette's bytes, `site_key`, and the code that reads."""
    parts = (hashlib.sha256(cassette).hexdigest(), site, _code())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def site_key(loaded: Loaded) -> str:
    """What reading depends on in a site: not its records, which are the cassette's, and not the rules that only judge.

    Two sites with the same key make the same world of a cassette.
    """
    policy = loaded.policy
    return hashlib.sha256(f"{first_key(loaded)}\n{reading(policy, suspecting(policy))}".encode()).hexdigest()


def first_key(loaded: Loaded) -> str:
    """The part of `site_key` that the first stage depends on, before anything is suspected."""
    policy, site = loaded.policy, loaded.load.site
    settings: Site = replace(site, root="", records=())
    said = (
        reading(policy, KINDS),
        [gist(policy.params.get(name)) for name in sorted({*READ, *results.READ})],
        gist(settings),
        reach(policy),
    )
    return hashlib.sha256(repr(said).encode()).hexdigest()


@lru_cache(maxsize=1)
def _code() -> str:
    """A hash of the code itself, so that no other release's worlds are taken for this one's."""
    root = Path(__file__).resolve().parent.parent
    found = hashlib.sha256(sys.version.encode())
    for folder in _CODE:
        for path in sorted((root / folder).rglob("*.py")):
            found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()

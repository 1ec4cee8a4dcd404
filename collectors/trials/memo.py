"""What is kept of a directory of trials from sweep to sweep: sums, and four bytes for each trial that is final."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.trials import tally
from sweeprules.collectors.trials.jsontext import count, table
from sweeprules.collectors.trials.tally import Tally

VERSION = 1
_SIZE = 4


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the trajectories and verifiers of a sample of trials said, over all sweeps.

    `steps` and `agent_steps` are sums over `steps_of` and `agent_of` trajectories; `without` counts trials whose
    agent ran to its end and left none. `verifiers` counts outputs that were read, `judge_401` their refused lines.
    """

    steps: int = 0
    steps_of: int = 0
    agent_steps: int = 0
    agent_of: int = 0
    without: int = 0
    verifiers: int = 0
    judge_401: int = 0

    def plus(self, other: Sampled) -> Sampled:
        """The sums of both."""
        return Sampled(*(getattr(self, name) + getattr(other, name) for name in _SAMPLED))


_SAMPLED = ("steps", "steps_of", "agent_steps", "agent_of", "without", "verifiers", "judge_401")


@dataclass(frozen=True, slots=True)
class TrialsMemo:
    """A directory of trials as the last sweep left it.

    `final` are hashes of the names of the trials in `sums`: a trial that stays where it is keeps its result. `started`
    is None before the first whole listing.
    """

    final: frozenset[int] = frozenset()
    sums: Tally = field(default_factory=Tally)
    sampled: Sampled = field(default_factory=Sampled)
    started: int | None = None


@lru_cache(maxsize=1 << 16)
def name_hash(name: str) -> int:
    """Four bytes that stand for a trial's name; whoever uses them has to look for two names with the same ones."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=_SIZE).digest()
    return int.from_bytes(digest, "big")


def still_good(memo: TrialsMemo, names: Iterable[str]) -> bool:
    """True when every final trial is still listed, each under a hash of its own.

    A trial that is gone was taken away to be made again: its share of the sums is not known, so all are read anew.
    """
    seen: set[int] = set()
    for name in names:
        hashed = name_hash(name)
        if hashed in seen and hashed in memo.final:
            return False
        seen.add(hashed)
    return memo.final <= seen


def lonely(names: Iterable[str]) -> frozenset[str]:
    """The names that share their hash with no other: only they can be told from the rest by it."""
    by_hash: dict[int, list[str]] = {}
    for name in names:
        by_hash.setdefault(name_hash(name), []).append(name)
    return frozenset(found[0] for found in by_hash.values() if len(found) == 1)


def encode(memo: TrialsMemo) -> Mapping[str, Json]:
    """JSON-ready; `decode` gives an equal value back."""
    packed = b"".join(one.to_bytes(_SIZE, "big") for one in sorted(memo.final))
    return {
        "version": VERSION,
        "final": base64.b64encode(packed).decode("ascii"),
        "sums": tally.encode(memo.sums),
        "sampled": {name: getattr(memo.sampled, name) for name in _SAMPLED},
        "started": memo.started,
    }


def decode(data: Mapping[str, Json] | None) -> TrialsMemo:
    """The value of `encode`; an empty memo for anything else, so that everything is read anew."""
    if not data or data.get("version") != VERSION:
        return TrialsMemo()
    final, sums = _unpacked(data.get("final")), tally.decode(table(data.get("sums")))
    kept = table(data.get("sampled"))
    if final is None or sums is None or len(final) != sums.done:
        return TrialsMemo()
    sampled = Sampled(*(count(kept.get(name)) or 0 for name in _SAMPLED))
    return TrialsMemo(final, sums, sampled, count(data.get("started")))


def _unpacked(value: Json) -> frozenset[int] | None:
    if not isinstance(value, str):
        return None
    try:
        packed = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(packed) % _SIZE:
        return None
    return frozenset(int.from_bytes(packed[at : at + _SIZE], "big") for at in range(0, len(packed), _SIZE))

"""The values that go into the store and come out of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from sweeprules.engine.facts import Ref, Subject
from sweeprules.engine.verdicts import Verdict
from sweeprules.store.codec import CodecError, Json, decode_subject, encode_subjects
from sweeprules.store.history import Raised, Since, decode_since, encode_since

if TYPE_CHECKING:
    # Only a sweep keeps one: whoever explains does not wait for its reader.
    from sweeprules.store.cassette import Cassette

Documents = Mapping[str, Json]
"""Opaque JSON documents by name; only the sweep knows what is in them."""

_SWEEP_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def new_sweep_id(now: float, nonce: str) -> str:
    """A sweep's id: its time in UTC and a few characters that no other sweep has; also good as a file's name.

    Raises ValueError for a nonce of other characters than letters, digits, `.`, `_` and `-`.
    """
    return checked_id(f"{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}-{nonce}")


def checked_id(text: str) -> str:
    """The id itself; ValueError when it could not name a file."""
    if not _SWEEP_ID.fullmatch(text):
        raise ValueError(f"not a sweep id: {text!r}")
    return text


@dataclass(frozen=True, slots=True)
class SweepInfo:
    """One sweep's head. Times are epoch seconds; `complete` as in the contract; `engine` the word of the report."""

    id: str
    started: float
    finished: float
    now: float
    complete: bool
    engine: str
    policy_sha256: str


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """What a sweep starts from: all of it goes into its cassette, and nothing else of the store reaches its verdicts.

    `swept` holds, for each cluster, the `now` of its newest whole sweep (status `swept`), and `subjects` the judged
    subjects of that sweep; those of no cluster come from the last complete sweep. `older` are those of the whole sweeps
    before it, the newest first, as many as the policy looks back to. `clusters` (by cluster) and `site` are the
    documents that earlier sweeps left.
    """

    last: SweepInfo | None = None
    last_complete: SweepInfo | None = None
    swept: Mapping[str, float] = field(default_factory=dict)
    subjects: tuple[Subject, ...] = ()
    clusters: Mapping[str, Documents] = field(default_factory=dict)
    site: Documents = field(default_factory=dict)
    since: Since = field(default_factory=dict)
    older: tuple[tuple[Subject, ...], ...] = ()

    def document(self, name: str) -> Mapping[str, Any]:
        """What earlier sweeps left for the whole site under a name; empty where there is nothing.

        Raises ValueError for what is no map: it is not of this version.
        """
        found = self.site.get(name) or {}
        if not isinstance(found, Mapping):
            raise ValueError(f"what was kept under {name!r} is no map")
        return found

    def to_json(self) -> dict[str, Json]:
        """The whole as one JSON document, for a cassette."""
        return {
            "last": _encode_info(self.last),
            "last_complete": _encode_info(self.last_complete),
            "swept": dict(self.swept),
            "subjects": encode_subjects(self.subjects),
            "clusters": {name: dict(documents) for name, documents in self.clusters.items()},
            "site": dict(self.site),
            "since": encode_since(self.since),
            **({"older": [encode_subjects(look) for look in self.older]} if self.older else {}),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> StartingPoint:
        """What `to_json` wrote. Raises `CodecError`."""
        try:
            return cls(
                last=_decode_info(document["last"]),
                last_complete=_decode_info(document["last_complete"]),
                swept={str(name): float(at) for name, at in document["swept"].items()},
                subjects=tuple(decode_subject(item) for item in document["subjects"]),
                clusters={name: dict(documents) for name, documents in document["clusters"].items()},
                site=dict(document["site"]),
                since=decode_since(document["since"]),
                older=tuple(tuple(map(decode_subject, look)) for look in document.get("older", ())),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CodecError(f"not a starting point: {error}") from error


def _encode_info(info: SweepInfo | None) -> Json:
    return None if info is None else {name: getattr(info, name) for name in SweepInfo.__slots__}


def _decode_info(document: Json) -> SweepInfo | None:
    return None if document is None else SweepInfo(**cast(dict[str, Any], document))


@dataclass(frozen=True, slots=True)
class SweepRecord:
    """One finished sweep, to be kept whole or not at all.

    `clusters` holds each cluster's status. `report` is the JSON of the contract. `rows` names, for a job that is shown
    in another's row, the key of that row's job. Documents of `prior_clusters` and `prior_site` replace those of the
    same name, None removes one, and what is not named stays. `since` is the whole history.
    """

    info: SweepInfo
    clusters: Mapping[str, str]
    report: Mapping[str, Json]
    subjects: Iterable[Subject]
    verdicts: Mapping[Ref, Verdict] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)
    prior_clusters: Mapping[str, Documents] = field(default_factory=dict)
    prior_site: Documents = field(default_factory=dict)
    since: Since = field(default_factory=dict)
    cassette: Cassette | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """A subject as a sweep left it, with what was decided about it; None where nothing was."""

    sweep: SweepInfo
    subject: Subject
    verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class JobHit:
    """A job that an id names: its key, the newest kept sweep that holds it, and the key of the row that shows it."""

    key: str
    sweep: str
    row: str


@dataclass(frozen=True, slots=True)
class Found:
    """What an id stands for: every job of that id, else the ids that are spelled alike."""

    exact: tuple[JobHit, ...]
    near: tuple[str, ...] = ()


__all__ = ["Documents", "Found", "JobHit", "Raised", "StartingPoint", "Stored", "SweepInfo", "SweepRecord"]

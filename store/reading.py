"""Questions to the database; each is answered from an index."""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sweeprules.engine.facts import Ref, Subject
from sweeprules.store.codec import CodecError, Json, decode_decided, decode_subject, decode_verdict, load
from sweeprules.store.history import Raised
from sweeprules.store.kept import Found, JobHit, StartingPoint, Stored, SweepInfo

MAX_DOCUMENT = 256 * 2**20
"""Bytes of one unpacked document; a report of 5,000 jobs has about 20 MB."""
_NEAR = 5
_NEAR_SCANNED = 20_000


def unpack(data: bytes) -> Json:
    """The document that `pack` wrote. Raises `CodecError`."""
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(data, MAX_DOCUMENT)
    except zlib.error as error:
        raise CodecError(str(error)) from error
    if not unpacker.eof:
        raise CodecError("a document is cut short or too large")
    return load(text)


def _plain(text: str) -> str:
    """A text from a command line, without the half characters that no database takes (and no id has)."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _info(row: tuple[Any, ...] | None) -> SweepInfo | None:
    if row is None:
        return None
    _, sweep_id, started, finished, now, complete, engine, policy = row
    return SweepInfo(sweep_id, started, finished, now, bool(complete), engine, policy)


def last_sweep(connection: sqlite3.Connection) -> SweepInfo | None:
    """The newest sweep."""
    return _info(connection.execute("SELECT * FROM heads ORDER BY seq DESC LIMIT 1").fetchone())


def last_complete(connection: sqlite3.Connection) -> SweepInfo | None:
    """The newest complete sweep."""
    query = "SELECT * FROM heads WHERE complete = 1 ORDER BY seq DESC LIMIT 1"
    return _info(connection.execute(query).fetchone())


def sweep(connection: sqlite3.Connection, sweep_id: str) -> SweepInfo | None:
    """The sweep of this id."""
    return _info(connection.execute("SELECT * FROM heads WHERE id = ?", (_plain(sweep_id),)).fetchone())


def sweeps(connection: sqlite3.Connection) -> tuple[SweepInfo, ...]:
    """Every kept sweep, newest first."""
    rows = connection.execute("SELECT * FROM heads ORDER BY seq DESC").fetchall()
    return tuple(info for row in rows if (info := _info(row)))


def report(connection: sqlite3.Connection, sweep_id: str) -> Json:
    """The report of a sweep; None when it is not kept. Raises `CodecError`."""
    row = connection.execute("SELECT report FROM sweeps WHERE id = ?", (_plain(sweep_id),)).fetchone()
    return None if row is None else unpack(row[0])


def cassette_name(connection: sqlite3.Connection, sweep_id: str) -> str | None:
    """The name of a sweep's cassette file; None when none is kept."""
    row = connection.execute("SELECT cassette FROM sweeps WHERE id = ?", (_plain(sweep_id),)).fetchone()
    return None if row is None else row[0]


def find_jobs(connection: sqlite3.Connection, text: str, sweep_id: str | None) -> Found:
    """The jobs that an id names, each from the newest kept sweep that holds it (or from the one sweep asked about)."""
    text = _plain(text)
    rows = connection.execute(
        "SELECT i.key, s.id, i.shown_as FROM job_ids i JOIN sweeps s ON s.seq = i.seq"
        " WHERE i.text = :text AND (:sweep IS NULL OR s.id = :sweep) ORDER BY i.seq",
        {"text": text, "sweep": sweep_id and _plain(sweep_id)},
    ).fetchall()
    newest = {key: JobHit(key, found, shown_as) for key, found, shown_as in rows}
    if newest:
        return Found(tuple(newest[key] for key in sorted(newest)))
    return Found((), _near(connection, text))


def ids_beginning(connection: sqlite3.Connection, text: str, most: int) -> tuple[str, ...]:
    """Ids of jobs of the newest sweep, plain and as `cluster:id`, that begin so; sorted, at most `most`."""
    text = _plain(text)
    rows = connection.execute(
        "SELECT DISTINCT text FROM job_ids WHERE seq = (SELECT max(seq) FROM sweeps) AND text >= ? AND text < ?"
        " ORDER BY text LIMIT ?",
        (text, text + "\U0010ffff", most),
    ).fetchall()
    return tuple(row[0] for row in rows)


def _near(connection: sqlite3.Connection, text: str) -> tuple[str, ...]:
    begins = connection.execute(
        "SELECT DISTINCT text FROM job_ids WHERE text >= ? AND text < ? LIMIT ?", (text, text + "\U0010ffff", _NEAR)
    ).fetchall()
    if begins:
        return tuple(row[0] for row in begins)
    rows = connection.execute(
        "SELECT text FROM job_ids WHERE seq = (SELECT max(seq) FROM sweeps) LIMIT ?", (_NEAR_SCANNED,)
    ).fetchall()
    known = [row[0] for row in rows]
    import difflib  # only for an id that is not there

    return tuple(difflib.get_close_matches(text, known, n=_NEAR)) or _by_number(text, known)


def _by_number(text: str, known: Sequence[str]) -> tuple[str, ...]:
    """Of ids that are spelled unlike it, those whose number is nearest, of the same cluster where one was named."""
    cluster, colon, rest = text.rpartition(":")
    there = [one for one in known if one.rpartition(":")[:2] == (cluster, colon)]
    if re.match(r"\d", rest) is None:
        return ()
    wanted = _number(rest)
    return tuple(sorted(there or known, key=lambda one: (abs(_number(one) - wanted), one))[:_NEAR])


def _number(text: str) -> int:
    found = re.match(r"\d{1,18}", text.rpartition(":")[2])
    return int(found[0]) if found else 0


def stored(connection: sqlite3.Connection, refs: Iterable[Ref], sweep_id: str) -> dict[Ref, Stored]:
    """The subjects of these names in one sweep; a name that it does not hold is left out. Raises `CodecError`."""
    info = sweep(connection, sweep_id)
    if info is None:
        return {}
    query = (
        "SELECT facts, verdict FROM subjects WHERE seq = (SELECT seq FROM sweeps WHERE id = ?) AND kind = ? AND key = ?"
    )
    found: dict[Ref, Stored] = {}
    for ref in refs:
        row = connection.execute(query, (sweep_id, *ref)).fetchone()
        if row is not None:
            verdict = None if row[1] is None else decode_verdict(ref, unpack(row[1]))
            found[ref] = Stored(info, decode_subject(unpack(row[0])), verdict)
    return found


def around(
    connection: sqlite3.Connection, ref: Ref, sweep_id: str, follow: Collection[str], depth: int, limit: int
) -> dict[Ref, Stored]:
    """A subject and those that its relations named in `follow` reach within `depth`, at most `limit` of them.

    Raises `CodecError`.
    """
    found: dict[Ref, Stored] = {}
    wanted = [ref]
    for _ in range(depth + 1):
        fresh = stored(connection, wanted[: limit - len(found)], sweep_id)
        found.update(fresh)
        wanted = list(dict.fromkeys(n for item in fresh.values() for n in _members(item, follow) if n not in found))
        if not wanted or len(found) >= limit:
            break
    return found


def _members(item: Stored, follow: Collection[str]) -> Iterator[Ref]:
    for name, relation in item.subject.relations.items():
        if name in follow:
            yield from relation.members


def all_stored(connection: sqlite3.Connection, sweep_id: str) -> dict[Ref, Stored]:
    """Every subject of a sweep, also those that only stand in a relation. Raises `CodecError`."""
    query = "SELECT kind, key FROM subjects WHERE seq = (SELECT seq FROM sweeps WHERE id = ?) ORDER BY kind, key"
    return stored(connection, [Ref(*row) for row in connection.execute(query, (sweep_id,)).fetchall()], sweep_id)


def starting_point(connection: sqlite3.Connection, back: int = 1) -> StartingPoint:
    """All that the next sweep starts from, with the subjects of the last `back` whole sweeps. Raises `CodecError`."""
    clusters: dict[str, dict[str, Json]] = {}
    for scope, name, document in connection.execute("SELECT scope, name, document FROM prior"):
        clusters.setdefault(scope, {})[name] = unpack(document)
    since = connection.execute("SELECT kind, key, flag, sweep FROM since").fetchall()
    site = clusters.pop("", {})
    looks = [tuple(_baseline(connection, number)) for number in range(max(1, back))]
    return StartingPoint(
        last=last_sweep(connection),
        last_complete=last_complete(connection),
        swept=_swept(connection),
        subjects=looks[0],
        older=tuple(looks[1:]),
        clusters=clusters,
        site=site,
        since={Raised(Ref(kind, key), flag): first for kind, key, flag, first in since},
    )


def _swept(connection: sqlite3.Connection) -> dict[str, float]:
    rows = connection.execute("SELECT w.cluster, s.now FROM newest_whole w JOIN sweeps s ON s.seq = w.seq")
    return {cluster: float(now) for cluster, now in rows}


def _baseline(connection: sqlite3.Connection, back: int) -> Iterator[Subject]:
    """The judged subjects of each cluster's newest whole sweep, or of the one so many before it.

    Those of no cluster are from the complete sweep of the same place.
    """
    query = "SELECT facts, verdict FROM subjects WHERE seq = ? AND cluster = ? AND judged = 1 ORDER BY kind, key"
    whole = "SELECT seq FROM cluster_sweeps WHERE cluster = ? AND status = 'swept' ORDER BY seq DESC LIMIT 1 OFFSET ?"
    complete = "SELECT seq FROM sweeps WHERE complete = 1 ORDER BY seq DESC LIMIT 1 OFFSET ?"
    for (cluster,) in connection.execute("SELECT cluster FROM newest_whole ORDER BY cluster").fetchall():
        for (seq,) in connection.execute(whole, (cluster, back)).fetchall():
            yield from (_decided(*row) for row in connection.execute(query, (seq, cluster)))
    for (seq,) in connection.execute(complete, (back,)).fetchall():
        yield from (_decided(*row) for row in connection.execute(query, (seq, "")))


def _decided(facts: bytes, verdict: bytes | None) -> Subject:
    """A subject with the fields that rules decided of it, which count before what was read."""
    subject = decode_subject(unpack(facts))
    decided = decode_decided(unpack(verdict)) if verdict is not None else {}
    return replace(subject, facts={**subject.facts, **decided}) if decided else subject

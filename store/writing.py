"""Puts one sweep into the database; the caller holds the transaction."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping

from sweeprules.engine.facts import Subject
from sweeprules.store.codec import Json, dump, encode_subject, encode_verdict
from sweeprules.store.kept import Documents, SweepRecord


def pack(document: Json) -> bytes:
    """A document as it stands in the database: compressed JSON."""
    return zlib.compress(dump(document), 6)


def pack_in_order(document: Json) -> bytes:
    """A document that people read: its keys keep the contract's order."""
    return zlib.compress(json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass"), 6)


def insert_sweep(connection: sqlite3.Connection, record: SweepRecord, cassette: str | None) -> None:
    """Write every part of a sweep. `cassette` is its file's name in the cassette folder. Raises `sqlite3.Error`."""
    info = record.info
    cursor = connection.execute(
        "INSERT INTO sweeps (id, started, finished, now, complete, engine, policy_sha256, report, cassette)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            info.id,
            info.started,
            info.finished,
            info.now,
            int(info.complete),
            info.engine,
            info.policy_sha256,
            pack_in_order(dict(record.report)),
            cassette,
        ),
    )
    seq = int(cursor.lastrowid or 0)
    connection.executemany(
        "INSERT INTO cluster_sweeps VALUES (?, ?, ?)", [(name, seq, status) for name, status in record.clusters.items()]
    )
    subjects = tuple(record.subjects)
    connection.executemany("INSERT INTO subjects VALUES (?, ?, ?, ?, ?, ?, ?)", _subject_rows(record, subjects, seq))
    connection.executemany("INSERT OR IGNORE INTO job_ids VALUES (?, ?, ?, ?)", _id_rows(record, subjects, seq))
    _write_prior(connection, "", record.prior_site, seq)
    for cluster, documents in record.prior_clusters.items():
        _write_prior(connection, cluster, documents, seq)
    connection.execute("DELETE FROM since")
    connection.executemany(
        "INSERT INTO since VALUES (?, ?, ?, ?)",
        [(item.ref.kind, item.ref.key, item.flag, sweep) for item, sweep in record.since.items()],
    )


def cluster_of(subject: Subject) -> str:
    """The cluster that a subject belongs to; empty for one of the whole site."""
    if subject.ref.kind == "cluster":
        return subject.ref.key
    named = subject.facts.get("cluster")
    if isinstance(named, str):
        return named
    return subject.ref.key.partition(":")[0] if subject.ref.kind in {"job", "step", "run"} else ""


def _subject_rows(record: SweepRecord, subjects: Iterable[Subject], seq: int) -> Iterator[tuple[object, ...]]:
    for subject in subjects:
        verdict = record.verdicts.get(subject.ref)
        yield (
            seq,
            subject.ref.kind,
            subject.ref.key,
            cluster_of(subject),
            int(subject.judged),
            pack(encode_subject(subject)),
            None if verdict is None else pack(encode_verdict(verdict)),
        )


def _id_rows(record: SweepRecord, subjects: tuple[Subject, ...], seq: int) -> Iterator[tuple[str, int, str, str]]:
    # What only stands for an earlier sweep has a key of its own (`cluster:id@sweep`), which is no job's id.
    earlier = {ref for s in subjects if (relation := s.relations.get("previous")) for ref in relation.members}
    for subject in subjects:
        if subject.ref.kind != "job" or subject.ref in earlier:
            continue
        key = subject.ref.key
        texts = {key, key.partition(":")[2] or key}
        named = subject.facts.get("job_id")
        if isinstance(named, str):
            texts.add(named)
        for text in texts:
            yield text, seq, key, record.rows.get(key, key)


def _write_prior(connection: sqlite3.Connection, scope: str, documents: Documents, seq: int) -> None:
    gone, kept = _split(documents)
    connection.executemany("DELETE FROM prior WHERE scope = ? AND name = ?", [(scope, name) for name in gone])
    connection.executemany(
        "INSERT OR REPLACE INTO prior VALUES (?, ?, ?, ?)",
        [(scope, name, seq, pack(document)) for name, document in kept.items()],
    )


def _split(documents: Documents) -> tuple[list[str], Mapping[str, Json]]:
    gone = [name for name, document in documents.items() if document is None]
    return gone, {name: document for name, document in documents.items() if document is not None}

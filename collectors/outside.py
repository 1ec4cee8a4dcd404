"""Clusters of which nothing was read: past their deadline, or of a kind that no collector reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sweeprules.engine.facts import ABSENT, Completeness, FactValue, Reason, Ref, Relation, Subject, Unknown
from sweeprules.engine.site import ClusterRecord


def lost(record: ClusterRecord, why: str) -> Subject:
    """A cluster whose gathering did not come to an end: unreachable, and nothing is known of it."""
    unread = Unknown(Reason.READ_FAILED, why)
    return _subject(record, {"status": "unreachable", "reachable": unread, "queue": unread}, Reason.READ_FAILED)


def unreadable(record: ClusterRecord) -> Subject:
    """A cluster that no collector of this release reads: blocked, and nothing was sent."""
    return _subject(record, {"status": "blocked"}, Reason.NOT_READ)


def _subject(record: ClusterRecord, more: Mapping[str, FactValue], reason: Reason) -> Subject:
    facts: dict[str, FactValue] = {
        "name": record.name,
        "enabled": record.enabled,
        "scheduler": record.scheduler,
        "record_loaded": True,
        "record_sha256": record.sha256,
        "dotenv": record.dotenv or ABSENT,
        **more,
    }
    relations = {"jobs": Relation((), Completeness.UNKNOWN, reason)}
    return Subject(Ref("cluster", record.name), MappingProxyType(facts), {}, MappingProxyType(relations))

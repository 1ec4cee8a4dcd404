"""What a finished sweep means for the caller: its exit status, and whether cron should hear of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sweeprules.cli.main import FINDINGS, GOOD, INCOMPLETE, INTERNAL

SEVERITIES = ("info", "warning", "critical")
Document = Mapping[str, Any]


def exit_status(document: Document, fail_on: str | None) -> int:
    """The contract's exit status of `run`, the first that applies.

    4 when the evaluators differed, 3 when incomplete, 1 when a counting flag is at or above `fail_on`, else 0. A usage
    error (2) never gets this far.
    """
    if any(flag["name"] == "engine-divergence" for flag in document["sweep"]["flags"]):
        return INTERNAL
    if not document["sweep"]["complete"]:
        return INCOMPLETE
    if fail_on is not None and any(_reaches(flag, fail_on) for flag in flags(document)):
        return FINDINGS
    return GOOD


def _reaches(flag: Mapping[str, Any], fail_on: str) -> bool:
    counts = not flag["exempt"] and not flag["resolved"]
    return counts and SEVERITIES.index(flag["severity"]) >= SEVERITIES.index(fail_on)


def flags(document: Document) -> Iterator[Mapping[str, Any]]:
    """Every flag of a report: the sweep's, the clusters', the subjects', the jobs'."""
    yield from document["sweep"]["flags"]
    for part in ("clusters", "subjects", "jobs"):
        for subject in document[part]:
            yield from subject["flags"]


def worth_a_mail(document: Document, before: Document | None, status: int) -> bool:
    """True when something failed, is flagged at warning or above, or differs from the report before."""
    if status != GOOD:
        return True
    if any(_reaches(flag, "warning") for flag in flags(document)):
        return True
    return before is None or _gist(document) != _gist(before)


def _gist(document: Document) -> Any:
    clusters = [(c["name"], c["status"], c["queue"]) for c in document["clusters"]]
    jobs = [(j["cluster"], j["job_id"], j["state"], sorted(f["name"] for f in j["flags"])) for j in document["jobs"]]
    others = [(s["kind"], s["key"], sorted(f["name"] for f in s["flags"])) for s in document["subjects"]]
    return clusters, jobs, others, sorted(h["id"] + h["status"] for h in document["handoffs"])

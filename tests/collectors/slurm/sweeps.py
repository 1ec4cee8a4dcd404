"""One sweep of a fake cluster, from gathering to joined subjects, and the state that it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sweeprules.collectors.gather import Gathered, gather_first
from sweeprules.collectors.normalise import Normalised, normalise
from sweeprules.collectors.prior import Prior
from sweeprules.collectors.remember import remember
from sweeprules.collectors.slurm.links import join_links
from sweeprules.engine.errors import Mark
from sweeprules.engine.facts import FactValue, Ref, Subject, Unknown
from sweeprules.engine.language.ast import Pattern
from sweeprules.engine.site import ClusterRecord
from tests.collectors.slurm.fake import NONCE, NOW, FakeSession, record


def pattern(name: str, kind: str, literal: str, regex: str = "", **fields: str) -> Pattern:
    """One pattern of a policy."""
    return Pattern(name, kind, literal, regex, fields, None, "", Mark("rules/patterns.yaml", 1, 1))  # type: ignore[arg-type]


PATTERNS: Mapping[str, Pattern] = {
    one.name: one
    for one in (
        pattern("watchdog", "fault", "Watchdog caught"),
        pattern("errno-122", "fault", "[Errno 122]"),
        pattern("nccl", "fault", "ran for", r"WorkNCCL\((?P<op>.*)\) ran for (?P<ms>\d+) ms", op="text", ms="integer"),
        pattern("shm", "benign", "No available shared memory broadcast block"),
        pattern("bar", "progress", "Step Progress:", r"Step Progress: (?P<n>\d+)/(?P<m>\d+)", n="integer", m="integer"),
    )
}


@dataclass(frozen=True)
class Sweep:
    """What one sweep gave."""

    gathered: Gathered
    normalised: Normalised
    joined: tuple[Subject, ...]
    prior: Prior

    @property
    def cluster(self) -> Subject:
        return self.normalised.subjects[0]

    def job(self, job_id: str) -> Subject:
        return self.of(Ref("job", f"leonardo:{job_id}"))

    def of(self, ref: Ref) -> Subject:
        return next(subject for subject in self.joined if subject.ref == ref)

    def run_of(self, job_id: str) -> Subject:
        return self.of(self.job(job_id).relations["run"].members[0])

    @property
    def job_ids(self) -> list[str]:
        return sorted(one.ref.key.partition(":")[2] for one in self.normalised.subjects if one.ref.kind == "job")


def bucket_of(subject: Subject) -> str:
    """The bucket by the name's prefix."""
    name = subject.get("name")
    for prefix, bucket in (("rl", "rl"), ("sft", "sft"), ("datagen", "datagen"), ("eval", "eval")):
        if isinstance(name, str) and name.startswith(prefix):
            return bucket
    return "catch-all"


def sweep(
    session: FakeSession,
    prior: Prior | None = None,
    *,
    now: float = NOW,
    of: ClusterRecord | None = None,
    share: FactValue = 0.1,
) -> Sweep:
    """One whole sweep; the state goes through its plain form, as the store keeps it."""
    before = prior or Prior()
    gathered = gather_first(of or record(), session, before, now, NONCE)
    normalised = normalise(gathered, PATTERNS)
    decided = {one.ref: bucket_of(one) for one in normalised.subjects if one.ref.kind == "job"}
    joined = join_links(normalised.subjects, decided, before, normalised.signatures, lambda cluster, bucket: share)
    after = remember(before, [(gathered, normalised)], joined, decided, now)
    return Sweep(gathered, normalised, joined, Prior.from_data(after.to_data()))


def reason(value: object) -> str:
    """The reason of an unknown; empty for anything else."""
    return value.reason if isinstance(value, Unknown) else ""

"""Subjects made into one world: relations between clusters, sweeps and jobs that no single cluster knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

from sweeprules.cli.cadence import ALIKE
from sweeprules.cli.cadence import value as parameter
from sweeprules.cli.choosing import KINDS, suspecting
from sweeprules.cli.learned import Learning, with_learned
from sweeprules.cli.loading import Loaded
from sweeprules.cli.marks import Marks, chain
from sweeprules.cli.results import with_results
from sweeprules.collectors import cluster as clusters
from sweeprules.collectors.gather import Gathered
from sweeprules.collectors.learning import Learned
from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.numbers import Printed, Told, aliases_of, names
from sweeprules.collectors.prior import Prior, SignatureMemo
from sweeprules.collectors.slurm.links import join_links
from sweeprules.collectors.steps import with_numbers, with_steps
from sweeprules.collectors.trials.chunks import with_chunks
from sweeprules.engine.evaluate.native import evaluate_part
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.evaluate.verdict import suspects
from sweeprules.engine.facts import ABSENT, NOT_APPLICABLE, FactValue, Ref, Relation, Subject, Unknown, World
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.site import BrokenRecord, ClusterRecord, Site
from sweeprules.engine.verdicts import Flag, Verdict
from sweeprules.store.kept import StartingPoint

STEPPED = frozenset({"rl", "sft"})
"""Buckets whose jobs count steps (catalogue f.1: absent where a bucket has none)."""
NO_MARKS: Marks = {}
UNREAD = Unknown("not-read")


def sweep_subject(sweep_id: str, now: float, before: StartingPoint, policy_sha256: str, engine: str) -> Subject:
    """The sweep as a subject: its clock, and how long ago the last one was."""
    last = before.last.now if before.last is not None else None
    facts: dict[str, FactValue] = {
        "id": sweep_id,
        "now": now,
        "started": now,
        "engine": engine,
        "policy_sha256": policy_sha256,
        "last_sweep_age": ABSENT if last is None else max(0.0, now - last),
    }
    return Subject(Ref("sweep", sweep_id), facts)


def connect(subjects: Iterable[Subject], head: Subject, before: StartingPoint, marks: Marks = NO_MARKS) -> World:
    """A world in which every subject knows its sweep and what it was in the last whole sweep of its cluster.

    Behind that one a job with steps has, as far as `marks` tell, the sweeps in which its newest step was a lower one.
    """
    looks = [{subject.ref: subject for subject in look} for look in (before.subjects, *before.older)]
    given = {subject.ref: subject for subject in subjects}
    made: dict[Ref, Subject] = {head.ref: head}
    for subject in given.values():
        relations = {**subject.relations, "sweep": Relation((head.ref,))}
        if subject.ref in looks[0] and "@" not in subject.ref.key:
            newest = _newest(subject, given)
            behind = [*chain(subject.ref, newest, marks)] if newest is not None else []
            row = _row(subject.ref, looks, before, behind[0].ref if behind else None)
            made.update({one.ref: one for one in (*row, *behind)})
            relations["previous"] = Relation((row[0].ref,))
        else:
            relations.setdefault("previous", Relation(()))
        made[subject.ref] = replace(subject, relations=MappingProxyType(relations))
    return World(made)


def _row(
    of: Ref, looks: Sequence[Mapping[Ref, Subject]], before: StartingPoint, behind: Ref | None
) -> tuple[Subject, ...]:
    """What a subject was in the whole sweeps before this one, the newest first, each the `previous` of the one before.

    Every one has a name of its own. What was before the last of them is `behind`, where that is known; else it leads to
    what nobody read, or, where it was first seen then, nowhere.
    """
    there = [*takewhile(lambda found: found is not None, (look.get(of) for look in looks))]
    name = f"{of.key}@{before.last.id if before.last else 'before'}"
    refs = [Ref(of.kind, name if not number else f"{name}-{number + 1}") for number in range(len(there))]
    nexts = [*refs[1:], behind]
    return tuple(
        replace(
            found,
            ref=ref,
            judged=False,
            relations=found.relations if after is None else {**found.relations, "previous": Relation((after,))},
        )
        for found, ref, after in zip(there, refs, nexts, strict=True)
        if found is not None
    )


def _newest(job: Subject, given: Mapping[Ref, Subject]) -> int | None:
    """The newest step of a job that this sweep read."""
    relation = job.relations.get("steps")
    members = relation.members if relation is not None else ()
    numbers = [given[ref].get("step") for ref in members if ref in given]
    return max((number for number in numbers if isinstance(number, int)), default=None)


class Kinds(NamedTuple):
    """The bucket and the flavour of each judged job for which one was decided, and the tags of each."""

    buckets: Mapping[Ref, str]
    flavours: Mapping[Ref, str]
    tags: Mapping[Ref, FactValue]


def kinds(policy: Policy, world: World) -> Kinds:
    """What kind of work each judged job is, as far as that is known before its results are read."""
    truths: Truths = evaluate_part(policy, world, KINDS)
    tags = {subject.ref: truths.field(subject.ref, "tags") for subject in world.of_kind("job")}
    return Kinds(
        _decided(truths, world, "bucket"),
        _decided(truths, world, "flavour"),
        {ref: value for ref, value in tags.items() if value is not None},
    )


def _decided(truths: Truths, world: World, name: str) -> dict[Ref, str]:
    found = {subject.ref: truths.field(subject.ref, name) for subject in world.of_kind("job")}
    return {ref: value for ref, value in found.items() if isinstance(value, str)}


class Joined(NamedTuple):
    """The subjects of a sweep with all that needs their buckets; and by job key what logs and results left."""

    subjects: list[Subject]
    told: Mapping[str, Told]
    results: Mapping[str, Mapping[str, Json]]
    learned: Mapping[str, Learned]
    """What running jobs showed of their cadence and their progress."""


def joined(
    subjects: Sequence[Subject],
    decided: Kinds,
    prior: Prior,
    signatures: Mapping[str, SignatureMemo],
    printed: Mapping[str, Printed],
    gathered: Sequence[Gathered],
    learning: Learning,
    loaded: Loaded,
) -> Joined:
    """The subjects with runs, links, steps, results, counts, series and cadence: what needs the bucket to be known."""
    known = {**_kept_buckets(subjects, prior), **decided.buckets}
    read, told = with_numbers(subjects, known, printed, aliases_of(loaded.policy.metrics))
    linked = join_links(read, known, prior, signatures, partial(alike_elapsed, loaded.policy))
    fields = (*names(loaded.catalogue.kinds["step"].fields), *loaded.policy.metrics)
    known = {**_kept_buckets(linked, prior), **known}
    whole, left = with_results(linked, known, decided.flavours, gathered, printed, prior, loaded)
    made = with_steps(with_chunks(whole, known), known, told, prior, tuple(dict.fromkeys(fields)))
    jobs = [s for s in made if s.ref.kind == "job"]
    done = [_completed(subject, known, jobs, loaded) for subject in made]
    paced, learned = with_learned(done, known, decided.tags, learning, loaded.policy)
    return Joined(paced, told, left, learned)


def alike_elapsed(policy: Policy, cluster: str, bucket: str) -> FactValue:
    """How far the elapsed times of deaths may differ that are alike: the policy's word for a cluster and a bucket."""
    return parameter(policy, ALIKE, cluster or UNREAD, bucket or UNREAD)


def _kept_buckets(subjects: Iterable[Subject], prior: Prior) -> dict[Ref, str]:
    memos = {s.ref: prior.jobs.get(s.ref.key) for s in subjects if s.ref.kind == "job"}
    return {ref: memo.bucket for ref, memo in memos.items() if memo is not None and memo.bucket}


def _completed(subject: Subject, known: Mapping[Ref, str], jobs: Sequence[Subject], loaded: Loaded) -> Subject:
    if subject.ref.kind == "cluster":
        own = [job for job in jobs if job.judged and job.get("cluster") == subject.ref.key]
        whole = subject.get("status") == "swept"
        return replace(subject, facts={**subject.facts, **clusters.counts(own, known, whole=whole)})
    if subject.ref.kind != "job":
        return subject
    facts = dict(subject.facts)
    facts.setdefault("series", _series(facts.get("name"), loaded.load.site))
    registered = _registration(facts["series"], loaded.load.site)
    if registered is not None:
        facts.setdefault("db_registration", registered)
    bucket = known.get(subject.ref)
    if not subject.judged:
        if bucket is not None:
            facts.setdefault("bucket", bucket)
        return replace(subject, facts=facts)
    if bucket is not None and bucket not in STEPPED:
        facts |= {"step": NOT_APPLICABLE, "max_step": NOT_APPLICABLE}
    return replace(subject, facts=facts)


def _series(name: FactValue | None, site: Site) -> FactValue:
    if not isinstance(name, str):
        return Unknown("not-read", "the name was not read")
    found = [s.name for s in site.series if any(fnmatchcase(name, glob) for glob in s.name_globs)]
    return ABSENT if not found else found[0] if len(found) == 1 else Unknown("conflict", ", ".join(found))


def _registration(name: FactValue, site: Site) -> bool | None:
    """Whether the models of a series are registered, where the site says so."""
    return next((one.db_registration for one in site.series if one.name == name), None)


def suspects_by_cluster(policy: Policy, world: World) -> dict[str, tuple[Ref, ...]]:
    """The subjects that are looked at more closely, by cluster."""
    found: dict[str, list[Ref]] = {}
    for ref in suspects(policy, evaluate_part(policy, world, suspecting(policy))):
        cluster = ref.key if ref.kind == "cluster" else ref.key.partition(":")[0]
        found.setdefault(cluster, []).append(ref)
    return {name: tuple(refs) for name, refs in found.items()}


def with_builtin(
    verdicts: Mapping[Ref, Verdict], records: Iterable[ClusterRecord | BrokenRecord], chosen: frozenset[str] | None
) -> dict[Ref, Verdict]:
    """The verdicts with the flag that no rule raises: a record that would have printed secrets."""
    made = dict(verdicts)
    for record in records:
        ref = Ref("cluster", record.name)
        if isinstance(record, BrokenRecord) and record.secret_risk and (chosen is None or record.name in chosen):
            flag = Flag(
                "secret-risk", "critical", "builtin", "; ".join(record.problems), explains=("evidence-missing",)
            )
            made[ref] = replace(made[ref], flags=(flag, *made[ref].flags))
    return made


def rows(world: World) -> dict[str, str]:
    """For each job that is shown in another's row, the key of that row's job."""
    found: dict[str, str] = {}
    for run in world.of_kind("run"):
        row = run.relations.get("row")
        if row is not None and row.members:
            links = run.relations["links"].members
            found |= {link.key: row.members[0].key for link in links if link != row.members[0]}
    return found

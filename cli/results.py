"""Whose results are looked for, and what they say of their jobs once they were read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from types import MappingProxyType

from sweeprules.cli.cadence import value as parameter
from sweeprules.cli.loading import Loaded
from sweeprules.collectors.gather import Gathered
from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.normalise import zone_of
from sweeprules.collectors.numbers import Printed
from sweeprules.collectors.prior import Prior
from sweeprules.collectors.slurm.states import TERMINAL
from sweeprules.collectors.trials.counts import Terms
from sweeprules.collectors.trials.evaluation import Times
from sweeprules.collectors.trials.facts import Made, kept_facts, made, own_log
from sweeprules.collectors.trials.named import model_and_benchmark
from sweeprules.collectors.trials.places import Kind, Wanted, identity_of, labels_of
from sweeprules.engine.facts import ABSENT, FactValue, Ref, Subject, World
from sweeprules.engine.site import ClusterRecord, Site

ERROR_SHARE = "error_share"
"""The share of the planned trials that may end in errors that are not the model's."""
READ = (ERROR_SHARE,)
"""The policy's parameters that are read here: a change of one changes what is read, not only how it is judged."""


def wanted(
    world: World, buckets: Mapping[Ref, str], flavours: Mapping[Ref, str], loaded: Loaded, prior: Prior
) -> dict[str, tuple[Wanted, ...]]:
    """By cluster the jobs whose results are looked for: those that run, then those that ended since the last sweep."""
    records = {one.name: one for one in loaded.load.site.records if isinstance(one, ClusterRecord)}
    neighbours: dict[tuple[FactValue, FactValue], set[str]] = {}
    jobs = [job for job in world.of_kind("job") if "@" not in job.ref.key]
    for job in jobs:
        neighbours.setdefault((job.get("cluster"), job.get("workdir")), set()).add(
            identity_of(_text(job, "job_id"), labels_of(job.facts))
        )
    found: dict[str, list[tuple[Subject, Wanted]]] = {}
    for job in jobs:
        record = records.get(_text(job, "cluster"))
        kind = _kind(buckets.get(job.ref, ""), flavours.get(job.ref, ""))
        if kind is None or record is None or not job.judged or job.get("state") not in {"RUNNING", *TERMINAL}:
            continue
        alone = len(neighbours[(job.get("cluster"), job.get("workdir"))]) == 1
        memo = prior.jobs.get(job.ref.key)
        directory = memo.results.get("directory") if memo is not None else None
        kept = directory if isinstance(directory, str) else ""
        found.setdefault(record.name, []).append((job, _wanted(job, kind, buckets[job.ref], record, kept, alone=alone)))
    return {name: tuple(one for _, one in sorted(some, key=_turn)) for name, some in found.items()}


def _kind(bucket: str, flavour: str) -> Kind | None:
    """What kind of results a job leaves; None for none, and where it is not known that it leaves any."""
    if bucket == "eval" and flavour == "standard":
        return "suite"
    return "trials" if bucket in ("datagen", "eval") or (bucket, flavour) == ("rl", "agentic") else None


def _turn(pair: tuple[Subject, Wanted]) -> tuple[bool, float]:
    ended = pair[0].get("ended")
    return pair[0].get("state") != "RUNNING", -float(ended) if isinstance(ended, int | float) else 0.0


def _wanted(job: Subject, kind: Kind, bucket: str, record: ClusterRecord, kept: str, *, alone: bool) -> Wanted:
    log = _text(job, "log.path")
    return Wanted(
        _text(job, "job_id"),
        kind,
        bucket,
        labels_of(job.facts),
        workdir=_text(job, "workdir"),
        command=_text(job, "command"),
        log_folder=str(PurePosixPath(log).parent) if log else "",
        run_dir=_text(job, "run_dir"),
        experiments=record.paths.get("experiments", ()),
        eval_jobs=record.paths.get("eval_jobs", ()),
        kept=kept,
        alone=alone,
    )


def _text(subject: Subject, name: str) -> str:
    value = subject.get(name)
    return value if isinstance(value, str) else ""


# ---------------------------------------------------------------- what an evaluation is named after


def with_benchmarks(subjects: Iterable[Subject], site: Site) -> list[Subject]:
    """The subjects with `model` and `benchmark` of evaluations, where name or run tag tells them."""
    return [_named(one, site) if one.ref.kind == "job" else one for one in subjects]


def _named(job: Subject, site: Site) -> Subject:
    found = model_and_benchmark(labels_of(job.facts), site.benchmarks)
    if found is None:
        return job
    return replace(job, facts=MappingProxyType({"model": found[0], "benchmark": found[1], **job.facts}))


def _planned(job: Subject, site: Site) -> int | None:
    """Tasks times repetitions of the benchmark, as the site says."""
    benchmark = job.get("benchmark")
    preset = site.benchmarks.get(benchmark) if isinstance(benchmark, str) else None
    return preset["tasks"] * preset["reps"] if preset is not None else None


# ---------------------------------------------------------------- what was read, as facts


def with_results(
    subjects: Sequence[Subject],
    buckets: Mapping[Ref, str],
    flavours: Mapping[Ref, str],
    gathered: Iterable[Gathered],
    printed: Mapping[str, Printed],
    prior: Prior,
    loaded: Loaded,
) -> tuple[list[Subject], dict[str, Mapping[str, Json]]]:
    """The subjects of `join_links` with what their trials and suites say, and what the next sweep starts from by key.

    A job whose end an earlier sweep judged has what that sweep read.
    """
    by_cluster = {one.record.name: one for one in gathered}
    made_of: list[Subject] = []
    left: dict[str, Mapping[str, Json]] = {}
    for subject in subjects:
        bucket = buckets.get(subject.ref, "")
        if subject.ref.kind != "job" or bucket not in ("datagen", "eval", "rl"):
            made_of.append(subject)
            continue
        found = _made(subject, bucket, flavours.get(subject.ref, ""), by_cluster, printed, prior, loaded)
        if found.memo is not None:
            left[subject.ref.key] = found.memo
        facts = MappingProxyType({**subject.facts, **found.facts})
        made_of.append(replace(subject, facts=facts, sources=MappingProxyType({**subject.sources, **found.sources})))
    return made_of, left


def _made(
    job: Subject,
    bucket: str,
    flavour: str,
    by_cluster: Mapping[str, Gathered],
    printed: Mapping[str, Printed],
    prior: Prior,
    loaded: Loaded,
) -> Made:
    if bucket == "rl" and flavour == "standard":
        return Made({"trial_pass_rate": ABSENT})
    memo = prior.jobs.get(job.ref.key)
    kept: Mapping[str, Json] = memo.results if memo is not None else {}
    cluster, job_id = _text(job, "cluster"), _text(job, "job_id")
    gathered = by_cluster.get(cluster)
    if gathered is None or job_id not in gathered.results.wanted:
        return Made(kept_facts(kept, _terms(job, bucket, loaded)) if bucket != "rl" and not job.judged else {})
    log = printed.get(job.ref.key)
    started = job.get("started")
    times = Times(gathered.now, float(started) if isinstance(started, int | float) else None, gathered.memo.last_good)
    zone = zone_of(gathered.record.timezone)
    return made(job_id, gathered.results, _terms(job, bucket, loaded), times, kept, own_log(log), zone)


def _terms(job: Subject, bucket: str, loaded: Loaded) -> Terms:
    share = parameter(loaded.policy, ERROR_SHARE, job.get("cluster"), bucket)
    usual = Terms(planned=_planned(job, loaded.load.site))
    return replace(usual, error_share=float(share)) if isinstance(share, int | float) else usual

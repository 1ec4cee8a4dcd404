"""The steps of training runs as subjects, over all links of a run, and what they say of the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from sweeprules.collectors.metrics.best import best_step
from sweeprules.collectors.metrics.points import Merged, Series, merge, step_relation, step_subjects
from sweeprules.collectors.metrics.trainer_log import agreed
from sweeprules.collectors.numbers import TRAINED, Aliases, Printed, Told, kept_series, told
from sweeprules.collectors.prior import Prior
from sweeprules.collectors.rundirs import run_directory
from sweeprules.collectors.settings import said_interval, said_total, settings_key
from sweeprules.collectors.slurm.states import ACTIVE, TERMINAL
from sweeprules.engine.facts import ABSENT, NOT_READ, Absent, FactValue, Reason, Ref, Source, Subject, Unknown

_PRINTED = {
    "rl": (
        "buffer_n", "buffer_m", "tis_enabled", "all_zero_diagnostics", "failed_trajectories", "staged_ranks",
        "staged_of", "grad_norm", "learning_rate", "bringup_rung", "engine_running", "engine_waiting", "engine_tps",
        "engine_idle",
    ),
    "sft": ("loss", "grad_norm", "learning_rate", "epoch", "has_nan", "nan_suspect", "loss_nan_ranks"),
}  # fmt: skip
"""What is absent where nothing was printed (catalogue f.2)."""
_SAID = "RUNNING"
_BY_COMMAND = ("save_interval", "max_step")
UNSAVED = Unknown(Reason.NOT_READ, "whether the last step was saved was not read")
NONE_PROVED = Unknown(Reason.WARMING_UP, "no run is on record yet that was completed or healthy")
NOT_YET = Unknown(Reason.WARMING_UP, "the link that runs has not come further than the one before, and may")


def with_numbers(
    subjects: Iterable[Subject], buckets: Mapping[Ref, str], printed: Mapping[str, Printed], aliases: Aliases
) -> tuple[list[Subject], dict[str, Told]]:
    """The subjects with what the logs of jobs tell, now that it is known what each job does; and that by job key."""
    made: list[Subject] = []
    found: dict[str, Told] = {}
    for subject in subjects:
        log = printed.get(subject.ref.key) if subject.ref.kind == "job" else None
        bucket = buckets.get(subject.ref)
        read = told(log, bucket, aliases) if log is not None and bucket is not None else None
        if read is None:
            made.append(_without_log(subject, bucket))
            continue
        found[subject.ref.key] = read
        facts = dict(read.facts)
        if facts.get("checkpoint_step") is ABSENT and "checkpoint_step" in subject.facts:
            # A log that tells of no save is outdone by the directory.
            facts.pop("checkpoint_step")
        if subject.get("state_raw") != _SAID:
            # What the scheduler says of a start or an end counts for more than the last line of the log.
            facts.pop("phase", None)
        facts, sources = {**subject.facts, **facts}, {**subject.sources, **read.sources}
        if "checkpoint_step" in subject.sources and facts.get("checkpoint_step") == subject.get("checkpoint_step"):
            sources["checkpoint_step"] = subject.sources["checkpoint_step"]
        if bucket is not None and bucket in TRAINED:
            more = _run_told(facts, read, bucket)
            facts |= more
            sources |= _sources_of(more, sources)
        made.append(replace(subject, facts=MappingProxyType(facts), sources=MappingProxyType(sources)))
    return made, found


def _run_told(facts: Mapping[str, FactValue], read: Told, bucket: str) -> dict[str, FactValue]:
    """What follows from the log and the rest together: the run's directory, its setting, how far its trainer is.

    And what the log does not say and the command does: the steps between two saves, and how many are planned.
    """
    more: dict[str, FactValue] = {}
    interval, total = said_interval(facts.get("command"), bucket), said_total(facts.get("command"))
    if interval is not None and read.facts and "save_interval" not in facts:
        more["save_interval"] = interval
    if total is not None and isinstance(facts.get("max_step"), Unknown):
        more["max_step"] = total
    if not isinstance(facts.get("run_dir"), str):
        more["run_dir"] = run_directory(facts, read.directory)
    if bucket == "rl":
        more["settings_key"] = settings_key(facts, read.setting)
    elif "percentage" in facts:
        more["percentage"] = agreed(facts["percentage"], facts.get("step", NOT_READ), facts.get("max_step", NOT_READ))
    return more


def _sources_of(facts: Iterable[str], sources: Mapping[str, Source]) -> dict[str, Source]:
    """Where such facts were read: what the command says at the command, the setting with it in the log."""
    of_command = {name: sources["command"] for name in facts if name in _BY_COMMAND and "command" in sources}
    of_log = {"settings_key": sources["bringup_rung"]} if "settings_key" in facts and "bringup_rung" in sources else {}
    return of_command | of_log


def _without_log(subject: Subject, bucket: str | None) -> Subject:
    """A training run of which it is proved that it left no log printed nothing; of any other nothing is known."""
    names = _PRINTED.get(bucket or "")
    if names is None or subject.get("log.exists") is not ABSENT or subject.get("state") == "PENDING":
        return subject
    return replace(subject, facts=MappingProxyType({**dict.fromkeys(names, ABSENT), **subject.facts}))


def with_steps(
    subjects: Sequence[Subject],
    buckets: Mapping[Ref, str],
    found: Mapping[str, Told],
    prior: Prior,
    fields: Sequence[str],
) -> list[Subject]:
    """The subjects of `join_links` with the steps of each run and what follows from them.

    The row of a run has the steps of all its links, of a step made twice the later one; any other link has its own.
    """
    by_ref = {subject.ref: subject for subject in subjects}
    series = {ref: one for ref in by_ref if ref.kind == "job" and (one := _series(ref, buckets, found, prior))}
    made = dict(by_ref)
    for run in (subject for subject in subjects if subject.ref.kind == "run"):
        links = [ref for ref in run.relations["links"].members if ref in by_ref]
        rows = run.relations["row"].members
        merged = merge((ref.key.partition(":")[2], series[ref]) for ref in links if ref in series)
        if any(ref not in series and by_ref[ref].get("state") != "PENDING" for ref in links):
            # A link that has begun and whose log nobody read may have made steps.
            merged = replace(merged, whole=False)
        for ref in links:
            subject = by_ref[ref]
            if buckets.get(ref) in TRAINED and subject.judged and ref in series:
                own = _whole_run(merged) if ref in rows else series[ref]
                steps = step_subjects(ref, own, fields, run=merged, source=subject.sources.get("step"))
                made.update({step.ref: step for step in steps})
                made[ref] = _with(subject, own, steps, merged, is_row=ref in rows)
        for ref in links:
            if "settings_key" in made[ref].facts:
                made[ref] = _with_setting(made[ref], prior)
        bucket = buckets.get(rows[0], "") if rows else ""
        facts = {**_run_facts([made[ref] for ref in links], series, [made[ref] for ref in rows], bucket), **run.facts}
        made[run.ref] = replace(run, facts=MappingProxyType(facts))
    return list(made.values())


def _series(ref: Ref, buckets: Mapping[Ref, str], found: Mapping[str, Told], prior: Prior) -> Series | None:
    now = found.get(ref.key)
    if now is not None and now.series is not None:
        return now.series
    memo = prior.jobs.get(ref.key)
    bucket = buckets.get(ref) or (memo.bucket if memo is not None else "")
    return kept_series(bucket, memo.log if memo is not None else None)


def _whole_run(merged: Merged) -> Series:
    return Series(merged.display, merged.rewards, merged.printed, merged.whole, merged.begun)


def _with(subject: Subject, own: Series, steps: Sequence[Subject], merged: Merged, *, is_row: bool) -> Subject:
    relations = {**subject.relations, "steps": step_relation(own, steps)}
    facts = dict(subject.facts)
    if is_row and "checkpoint_step" in facts:
        facts["best_step"] = best_step(
            merged.rewards,
            facts.get("save_interval", NOT_READ),
            facts["checkpoint_step"],
            facts.get("max_step", NOT_READ),
            whole=merged.whole,
        )
    return replace(subject, facts=MappingProxyType(facts), relations=MappingProxyType(relations))


def _with_setting(subject: Subject, prior: Prior) -> Subject:
    key = subject.facts["settings_key"]
    seen: FactValue = NONE_PROVED if not prior.settings else key in prior.settings
    if not isinstance(key, str):
        seen = key if isinstance(key, Unknown) else NOT_READ
    return replace(subject, facts=MappingProxyType({**subject.facts, "setting_seen": seen}))


# ---------------------------------------------------------------- what the steps say of the run


def _run_facts(
    links: Sequence[Subject], series: Mapping[Ref, Series], rows: Sequence[Subject], bucket: str
) -> dict[str, FactValue]:
    facts: dict[str, FactValue] = {}
    complete = _complete(rows[0], bucket) if rows else None
    if complete is not None:
        facts["complete"] = complete
    advanced = _advanced(links, series)
    if advanced is not None:
        facts["step_advanced"] = advanced
    saved = _saved(links)
    if saved is not None:
        facts["checkpoint"] = saved
    return facts


def _complete(row: Subject, bucket: str) -> FactValue | None:
    """True at or past the last step by data; None where nobody read the row's steps.

    A link that did not end well is complete only when the last step is known to be saved: its failure may have been
    the saving. For RL a wall is an end as good as any (domain page 3.2), for SFT it is none.
    """
    step, last = row.get("step"), row.get("max_step")
    if not (isinstance(step, int) and isinstance(last, int)):
        return next((value for value in (step, last) if isinstance(value, Unknown) and value != NOT_READ), None)
    well = {*ACTIVE, "COMPLETED", *(("TIMEOUT",) if bucket == "rl" else ())}
    if step < last or row.get("state") in well:
        return step >= last
    saved = row.get("checkpoint_step")
    if isinstance(saved, int):
        return saved >= last
    return False if isinstance(saved, Absent) else UNSAVED


def _advanced(links: Sequence[Subject], series: Mapping[Ref, Series]) -> FactValue | None:
    """True when the newest link that has run came to a later step than the link before; absent with one such link.

    A link goes on from a checkpoint and makes some steps again: while it runs, that it is not further yet says nothing.
    """
    ran = [link for link in links if isinstance(link.get("started"), int | float)]
    if not any(link.ref in series or isinstance(link.get("step"), int) for link in ran):
        return None
    if len(ran) < 2:
        return ABSENT
    before, after = (_newest(link, series.get(link.ref)) for link in ran[-2:])
    if isinstance(before, int) and isinstance(after, int) and after > before:
        return True
    if ran[-1].get("state") not in TERMINAL:
        return NOT_YET if isinstance(after, int) else after
    return next((step for step in (before, after) if not isinstance(step, int)), False)


def _newest(link: Subject, series: Series | None) -> FactValue:
    step = link.get("step")
    if isinstance(step, int):
        return step
    if series is not None and series.newest is not None:
        return max(point.step for point in series.points)
    return step if isinstance(step, Unknown) else NOT_READ


def _saved(links: Sequence[Subject]) -> FactValue | None:
    """The newest save that a log tells of; absent where a listing shows that no link has written any."""
    steps = [step for link in links if isinstance(step := link.get("checkpoint_step"), int)]
    if steps:
        return str(max(steps))
    begun = [link for link in links if link.get("state") != "PENDING"]
    none = [isinstance(link.get("checkpoint_step"), Absent) and link.get("checkpoint_kind") == "none" for link in begun]
    return ABSENT if begun and all(none) else None

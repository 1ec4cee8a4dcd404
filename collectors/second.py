"""The second stage with one cluster: all that is looked at more closely, side by side in the same few calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType

from sweeprules.collectors.gather import Gathered, log_marks, told_by
from sweeprules.collectors.logs.older import older_commands, older_read
from sweeprules.collectors.normalise import zone_of
from sweeprules.collectors.runfiles import read_files
from sweeprules.collectors.slurm.jobs import Job
from sweeprules.collectors.slurm.rounds import Asks
from sweeprules.collectors.suspects import read_workers
from sweeprules.collectors.training import NOTHING, Training
from sweeprules.collectors.trials.places import Wanted
from sweeprules.collectors.trials.second import read_results
from sweeprules.collectors.trials.steps import Steps, run
from sweeprules.engine.facts import Ref

Update = Callable[[Gathered], Gathered]
"""What one reader adds to all that was gathered."""


def look_closer(
    gathered: Gathered,
    session: Asks,
    suspects: Iterable[Ref],
    wanted: Sequence[Wanted] = (),
    training: Training = NOTHING,
) -> Gathered:
    """All that the second stage asks of a cluster, in as many round trips as its longest reader takes: at most 4.

    `suspects` are refs of jobs; those of other clusters are passed over. `wanted` are the jobs of this cluster whose
    results are looked for, `training` what its runs of training lack. The very value that came in is returned where
    there was nothing to ask.
    """
    if gathered.scheduled is None:
        return gathered
    keys = {ref.key for ref in suspects}
    jobs = [job for job in gathered.jobs.values() if f"{gathered.record.name}:{job.job_id}" in keys]
    readers: dict[str, Steps[Update]] = {}
    if jobs:
        readers["workers"] = _workers(gathered, jobs)
    if wanted:
        readers["results"] = _results(gathered, wanted)
    if training.files:
        readers["files"] = _files(gathered, training)
    if training.lacks:
        # The searches take longest: what is asked in the same call comes before them.
        readers["older"] = _older(training)
    if not readers:
        return gathered
    updates, observed = run(session.ask, readers)
    more = replace(gathered, observations=(*gathered.observations, *observed))
    for name in sorted(updates):
        more = updates[name](more)
    return told_by(more, session)


def _workers(gathered: Gathered, jobs: list[Job]) -> Steps[Update]:
    """What the workers of suspected jobs wrote near their last output."""
    found = yield from read_workers(jobs, gathered.logs.locations, log_marks(gathered.nonce))
    return lambda more: replace(more, workers=MappingProxyType(dict(found)))


def _older(training: Training) -> Steps[Update]:
    """What stands before the ends of logs that show too few steps."""
    taken, commands = older_commands(training.lacks)
    observed = yield commands
    found = older_read(taken, observed)
    return lambda more: replace(more, older=found)


def _files(gathered: Gathered, training: Training) -> Steps[Update]:
    """What lies in the directories of training runs."""
    marks = log_marks(gathered.nonce)
    found = yield from read_files(training.files, gathered.nonce, (marks.record, marks.field))
    return lambda more: replace(more, files=found)


def _results(gathered: Gathered, wanted: Sequence[Wanted]) -> Steps[Update]:
    """The trials and suites of jobs, and the logs beside their own."""
    kept = {one.job_id: gathered.memos[one.job_id].results for one in wanted if one.job_id in gathered.memos}
    marks, zone = log_marks(gathered.nonce), zone_of(gathered.record.timezone)
    found = yield from read_results(wanted, kept, gathered.nonce, (marks.record, marks.field), zone)
    return lambda more: replace(more, results=found)

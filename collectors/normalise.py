"""From all that was gathered of a cluster to the subjects that rules are about; asks nothing, reads no clock."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sweeprules.collectors.cluster import cluster_subject
from sweeprules.collectors.credentials import credential_relation, credential_subject
from sweeprules.collectors.gather import Gathered, is_settled
from sweeprules.collectors.launchers import launcher_log
from sweeprules.collectors.learning import News
from sweeprules.collectors.logs.facts import FoundLog, LogReading, log_facts, more_faults
from sweeprules.collectors.logs.failure import first_error_facts, signature, signature_text
from sweeprules.collectors.logs.lines import Line
from sweeprules.collectors.logs.older import was_looked_through
from sweeprules.collectors.logs.scan import Matcher, prepare
from sweeprules.collectors.numbers import Printed
from sweeprules.collectors.prior import JobMemo, LogMemo, SignatureMemo
from sweeprules.collectors.rundirs import run_directory
from sweeprules.collectors.runfiles import RunFiles
from sweeprules.collectors.settings import said_target
from sweeprules.collectors.slurm.jobs import BEFORE_START, Job, source
from sweeprules.collectors.slurm.queue import active_before, is_gone
from sweeprules.collectors.slurm.states import FAILED, TERMINAL
from sweeprules.collectors.suspects import NO_WORKERS, WorkerLog, causes_near, lines_near
from sweeprules.engine.facts import (
    ABSENT,
    NOT_READ,
    FactValue,
    Reason,
    Ref,
    Relation,
    Source,
    Subject,
    Unknown,
)
from sweeprules.engine.language.ast import Pattern
from sweeprules.engine.observation import Observation

KEEP_GONE = 3
"""Sweeps for which a job that ended without a record keeps its row (catalogue e.2)."""
KEPT = Source("", "kept state of the last sweep", "")
_RUN_TAG = re.compile(r"(?:\bRUN_TAG=|--run[-_]tag[= ])[\"']?([A-Za-z0-9._:/-]+)")
_NAME_TAG = re.compile(r"eval-[^\s_]+_\S+")


@dataclass(frozen=True, slots=True)
class Normalised:
    """The subjects of one cluster, and what its logs leave to the next sweep, by job key."""

    subjects: tuple[Subject, ...]
    logs: Mapping[str, LogMemo]
    signatures: Mapping[str, SignatureMemo]
    printed: Mapping[str, Printed]
    """The logs themselves, for what can only be told once the bucket of a job is known."""
    news: Mapping[str, News]
    """What was new in them since the last sweep."""


def normalise(gathered: Gathered, patterns: Mapping[str, Pattern]) -> Normalised:
    """The cluster and its jobs. Links, counts and what rules decide come later: they need buckets."""
    reader = _Jobs(gathered, prepare(patterns))
    jobs = [reader.listed(job) for job in gathered.jobs.values()]
    jobs.extend(reader.kept(memo) for memo in _unlisted(gathered))
    cluster = cluster_subject(gathered, (job.ref for job in jobs), reader.zone)
    name = gathered.record.name
    credentials = [credential_subject(name, cert, observation, gathered.now) for cert, observation in gathered.certs]
    subjects = (cluster, *credentials, *jobs)
    return Normalised(
        subjects,
        MappingProxyType(reader.memos),
        MappingProxyType(reader.signatures),
        MappingProxyType(reader.printed),
        MappingProxyType(reader.news),
    )


def _unlisted(gathered: Gathered) -> list[JobMemo]:
    """Jobs of the last sweep that no source lists: they keep their rows until their end is proved."""
    active = set(active_before(gathered.memos))
    return [
        memo
        for job_id, memo in sorted(gathered.memos.items())
        if job_id not in gathered.jobs and (job_id in active or (memo.state == "GONE" and memo.gone_sweeps < KEEP_GONE))
    ]


class _Jobs:
    """Makes subjects of one cluster's jobs, and keeps what their logs leave."""

    def __init__(self, gathered: Gathered, matchers: Sequence[Matcher]) -> None:
        self.gathered = gathered
        self.cluster = gathered.record.name
        self.matchers = matchers
        self.zone = zone_of(gathered.record.timezone)
        self.certs = [cert for cert, _ in gathered.certs]
        self.memos: dict[str, LogMemo] = {}
        self.signatures: dict[str, SignatureMemo] = {}
        self.printed: dict[str, Printed] = {}
        self.news: dict[str, News] = {}

    def listed(self, job: Job) -> Subject:
        """A job that queue or accounting lists."""
        memo = self.gathered.memos.get(job.job_id)
        facts = dict(job.facts)
        sources = dict(job.sources)
        if facts["state_source"] == "sacct" and memo is not None and memo.name:
            facts["name"] = memo.name
        return self._subject(job.job_id, facts, sources, memo)

    def kept(self, memo: JobMemo) -> Subject:
        """A job that no source lists any more: gone when that is proved, else unknown."""
        facts = _kept_facts(memo)
        scheduled = self.gathered.scheduled
        shown = scheduled.shown.get(memo.job_id) if scheduled else None
        up = scheduled.controller_up if scheduled else NOT_READ
        if memo.state == "GONE" or is_gone(memo, shown, up):
            facts |= {"state": "GONE", "state_reason": BEFORE_START, "state_source": "scontrol"}
        elif shown is not None and shown.row is not None:
            facts |= dict(shown.row.facts) | {"state_source": "scontrol"}
        else:
            facts["state"] = Unknown(Reason.VANISHED, _why_vanished(self.gathered, shown.why if shown else ""))
        return self._subject(memo.job_id, facts, dict.fromkeys(facts, KEPT), memo)

    def _subject(
        self, job_id: str, facts: dict[str, FactValue], sources: dict[str, Source], memo: JobMemo | None
    ) -> Subject:
        key = f"{self.cluster}:{job_id}"
        reading = self._log(job_id, facts, memo, sources)
        facts |= reading.facts
        facts |= self._elsewhere(job_id, facts, sources)
        facts |= self._first_error(job_id, facts, reading, sources)
        if facts.get("state") == "RUNNING":
            facts["phase"] = read_phase(facts, reading)
        facts |= {
            "run_dir": run_directory(facts),
            **self._files(job_id, sources),
            "key": key,
            "cluster": self.cluster,
            "job_id": job_id,
            "run_tag": read_run_tag(facts),
            "target": said_target(facts.get("command")),
            "launcher_log": launcher_log(self.gathered.launchers, job_id),
            "first_seen": memo.first_seen if memo is not None else self.gathered.now,
            "signature": self._signature(job_id, facts, reading),
        }
        if isinstance(facts["target"], str) and "command" in sources:
            sources["target"] = sources["command"]
        # A job that is gone without a record keeps its row for some sweeps (catalogue e.2).
        settled = facts.get("state") in TERMINAL - {"GONE"} and is_settled(facts, memo)
        return Subject(
            Ref("job", key),
            MappingProxyType(facts),
            MappingProxyType(sources),
            {
                "cluster": Relation((Ref("cluster", self.cluster),)),
                "credential": credential_relation(facts.get("name"), self.cluster, self.certs),
            },
            judged=not settled,
        )

    def _log(
        self, job_id: str, facts: Mapping[str, FactValue], memo: JobMemo | None, sources: dict[str, Source]
    ) -> LogReading:
        where = self.gathered.logs.locations.get(job_id)
        if where is None:
            return LogReading(_no_log(facts))
        started = facts.get("started")
        tail = self.gathered.logs.tails.get(job_id)
        reading = log_facts(
            where, tail, self.matchers, self.zone, memo.log if memo else None,
            float(started) if isinstance(started, int | float) else None,
        )  # fmt: skip
        older, files = self.gathered.older.get(job_id), self.gathered.files.get(job_id, RunFiles())
        if reading.memo is not None and older is not None and was_looked_through(older):
            reading = replace(reading, memo=replace(reading.memo, searched=True))
        if reading.memo is not None:
            self.memos[f"{self.cluster}:{job_id}"] = reading.memo
            self.news[f"{self.cluster}:{job_id}"] = News(reading.moved, reading.breaks, reading.gap)
        if isinstance(where, FoundLog) and tail is not None and reading.memo is not None:
            self.printed[f"{self.cluster}:{job_id}"] = Printed(
                where, tail, memo.log if memo else None, reading.memo,
                float(started) if isinstance(started, int | float) else None,
                self.zone, self.gathered.now, self.gathered.memo.last_good, older,
                files.facts.get("checkpoint_step", NOT_READ), facts.get("command", NOT_READ),
                tuple(matcher.pattern for matcher in self.matchers),
            )  # fmt: skip
        if isinstance(where, FoundLog):
            stat = source(where.observation, where.path)
            at_stat = ("log.path", "log.source", "log.exists", "log.size", "log.mtime", "log_age")
            sources |= {
                name: stat
                if name in at_stat or tail is None
                else source(tail.observation, _quoted(name, reading.quotes))
                for name in reading.facts
            }
        return reading

    def _files(self, job_id: str, sources: dict[str, Source]) -> Mapping[str, FactValue]:
        """What the directory of a training run holds, where it was looked into."""
        files = self.gathered.files.get(job_id, RunFiles())
        sources |= files.sources
        return files.facts

    def _elsewhere(
        self, job_id: str, facts: Mapping[str, FactValue], sources: dict[str, Source]
    ) -> dict[str, FactValue]:
        """Fault lines in other files: of its workers near the last output, of its launcher when it left no log."""
        files: list[tuple[Observation, Sequence[Line]]] = [
            (log.observation, lines_near(log, _last_output(facts, log), self.zone))
            for log in self.gathered.workers.get(job_id, NO_WORKERS).logs
        ]
        launcher = self.gathered.launchers.of_job(job_id.partition("_")[0])
        if launcher is not None and facts.get("log.exists") is ABSENT and facts.get("state") in FAILED:
            files.append((launcher.observation, launcher.lines))
        added: dict[str, FactValue] = {}
        for observation, lines in files:
            told = more_faults({**facts, **added}, lines, self.matchers, self.zone)
            added |= {name: value for name, (value, _) in told.items()}
            sources |= {name: source(observation, line) for name, (_, line) in told.items()}
        return added

    def _first_error(
        self, job_id: str, facts: Mapping[str, FactValue], reading: LogReading, sources: dict[str, Source]
    ) -> dict[str, FactValue]:
        """The first real cause over the job's log and those of its workers near the last output, if these were read."""
        read = self.gathered.workers.get(job_id, NO_WORKERS)
        workers, unread = read.logs, read.why
        if (not workers and unread is None) or reading.causes is None:
            return {}
        near = [causes_near(log, _last_output(facts, log), self.matchers, self.zone) for log in workers]
        found = first_error_facts((reading.causes, *near), whole=reading.whole, unread=unread)
        if not reading.causes.summary:
            # Only a worker's log holds the table, if any does.
            for log, causes in zip(workers, near, strict=True):
                if causes.summary:
                    sources["elastic_summary"] = source(log.observation)
                    break
        winner = next((log for log in workers if log.path == found["first_error.path"]), None)
        if winner is not None:
            where = source(winner.observation)
            sources |= {name: where for name in found if name.startswith("first_error.")}
        return found

    def _signature(self, job_id: str, facts: Mapping[str, FactValue], reading: LogReading) -> FactValue:
        if facts.get("state") not in TERMINAL:
            return ABSENT
        kept = self.gathered.memos.get(job_id)
        # The log of a settled end is not read again; what it said then still counts.
        memo = kept.signature if kept is not None and is_settled(facts, kept) else None
        was_read = reading.causes is not None or facts.get("log.exists") is ABSENT
        memo = memo or signature(facts, reading.raised if was_read else None)
        if memo is None:
            return Unknown(Reason.NOT_READ, "neither the log nor the exit was read")
        self.signatures[f"{self.cluster}:{job_id}"] = memo
        return signature_text(memo)


def _last_output(facts: Mapping[str, FactValue], log: WorkerLog) -> float:
    """When the job last wrote to its log, epoch seconds; where that is not known, when this worker did."""
    mtime = facts.get("log.mtime")
    return float(mtime) if isinstance(mtime, int | float) else log.stat.mtime


def _quoted(name: str, quotes: Mapping[str, str]) -> str:
    return quotes.get(name) or quotes.get(name.rpartition(".")[0], "")


def _no_log(facts: Mapping[str, FactValue]) -> dict[str, FactValue]:
    """A job that has not started has no log; of one that was not looked at nothing is known."""
    if facts.get("state") != "PENDING":
        return {}
    names = ("path", "source", "exists", "size", "cut", "mtime", "last_time")
    absent: dict[str, FactValue] = {f"log.{name}": ABSENT for name in names}
    return absent | dict.fromkeys(("log_age", "fault_lines", "benign_lines", "heartbeats_only"), ABSENT)


def _kept_facts(memo: JobMemo) -> dict[str, FactValue]:
    def or_absent(value: float | str | None) -> FactValue:
        return ABSENT if value in (None, "") else value

    return {
        "user": or_absent(memo.user),
        "name": memo.name,
        "workdir": or_absent(memo.workdir),
        "submitted": or_absent(memo.submitted),
        "started": or_absent(memo.started),
        "state_raw": or_absent(memo.state),
        "state_source": "store",
        "state_other": ABSENT,
        "suspended": NOT_READ,
    }


def _why_vanished(gathered: Gathered, shown: str) -> str:
    if gathered.scheduled is None:
        return "the cluster could not be reached"
    if gathered.scheduled.queue is None:
        return "the queue could not be read"
    return shown or "it is in neither the queue nor accounting, and its end is not proved"


def read_phase(facts: Mapping[str, FactValue], reading: LogReading) -> FactValue:
    """What the scheduler's word says; else by the log: steady once a progress line was seen, bring-up before.

    Absent where the end of a long log shows neither: then no phase can be told, and it is not teardown.
    """
    said = facts.get("phase")
    if isinstance(said, str):
        return said
    if reading.progressed:
        return "steady"
    cut = facts.get("log.cut")
    if cut is False or facts.get("log.exists") is ABSENT:
        return "bring-up"
    return ABSENT if cut is True else Unknown(Reason.NOT_READ, "the log was not read")


def read_run_tag(facts: Mapping[str, FactValue]) -> FactValue:
    """The run tag in the name, the command or the comment, in that order; absent when all were read and have none."""
    name = facts.get("name")
    if isinstance(name, str) and (found := _NAME_TAG.fullmatch(name)):
        return found[0]
    texts = [facts.get("command", NOT_READ), facts.get("comment", NOT_READ)]
    for text in texts:
        if isinstance(text, str) and (tag := _RUN_TAG.search(text)):
            return tag[1]
    unread = next((text for text in texts if isinstance(text, Unknown)), None)
    return unread if unread is not None else ABSENT


def zone_of(name: str) -> ZoneInfo:
    """The cluster's time zone; UTC where the machine does not know the name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")

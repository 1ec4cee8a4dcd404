"""Jobs with made-up logs, judged by the shipped readers and the shipped policy: what comes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.facts import FoundLog, Tail, log_facts
from sweeprules.collectors.logs.find import FileStat
from sweeprules.collectors.logs.scan import Matcher, prepare
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import ABSENT, FactValue, Ref, Relation, Subject, World
from sweeprules.engine.observation import Observation
from sweeprules.engine.testdefaults import NOW, quiet_job
from tests.rules.shipped import catalogue, policy

CLUSTER, SWEEP = Ref("cluster", "test"), Ref("sweep", "s1")
UTC = ZoneInfo("UTC")
FAILED: Mapping[str, FactValue] = {
    "state": "FAILED",
    "state_raw": "FAILED",
    "exit": "1:0",
    "exit_code": 1,
    "exit_signal": 0,
    "ended": NOW - 120,
}
"""What the scheduler says of a job that ended by itself with a failure."""
_FROM_LOG = frozenset({"log.path", "log.source", "log.mtime", "log_age"})


@dataclass(frozen=True)
class Sample:
    """A job: its log, the facts in which it differs from a quiet one, the state of its next link, what was planted."""

    log: bytes
    facts: Mapping[str, FactValue] = field(default_factory=lambda: FAILED)
    next_state: str = ""
    planted: Mapping[str, FactValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """What was read of a sample and what the policy made of it."""

    facts: Mapping[str, FactValue]
    flags: frozenset[str]
    error_class: FactValue
    health: str

    @property
    def failed(self) -> bool:
        """True when it is called a failure."""
        return bool({"failure", "failure-recurring"} & self.flags)


@cache
def _matchers() -> tuple[Matcher, ...]:
    return prepare(policy().patterns)


@cache
def _quiet() -> Mapping[str, Mapping[str, FactValue]]:
    return quiet_job(policy())


def read(log: bytes) -> Mapping[str, FactValue]:
    """The facts of a log that was read whole, last written a minute before the sweep."""
    told = Observation("test", "", "", (), (), 0.0, 0.0, 0, log, b"")
    found = FoundLog("/w/job.out", "scheduler", FileStat(0, 0, len(log), NOW - 60.0), None, told)
    return log_facts(found, Tail(0, told), _matchers(), UTC, None, None).facts


def judged(samples: Sequence[Sample]) -> list[Seen]:
    """The samples as jobs of one cluster, in order."""
    subjects: dict[Ref, Subject] = {}
    refs: list[Ref] = []
    for number, sample in enumerate(samples, start=1):
        ref = Ref("job", f"test:{number}")
        said = {name: value for name, value in read(sample.log).items() if name not in _FROM_LOG}
        named: dict[str, FactValue] = {"key": ref.key, "job_id": str(number), "cluster": "test", "name": "sft__x"}
        facts = {**_quiet()["job"], **named, **said, **sample.facts}
        relations = {"cluster": Relation((CLUSTER,)), "next_link": Relation(())}
        if sample.next_state:
            after = Ref("job", f"test:{number}0000")
            subjects[after] = Subject(
                after, {**_quiet()["job"], **named, "key": after.key, "state": sample.next_state}, relations=relations
            )
            relations = {**relations, "next_link": Relation((after,))}
        subjects[ref] = Subject(ref, facts, relations=relations)
        refs.append(ref)
    subjects[CLUSTER] = Subject(CLUSTER, _quiet()["cluster"], relations={"jobs": Relation(tuple(refs))})
    subjects[SWEEP] = Subject(SWEEP, {"now": NOW, "complete": True})
    found = judge(policy(), World(subjects), catalogue())
    return [
        Seen(
            subjects[ref].facts,
            frozenset(flag.name for flag in found[ref].flags),
            found[ref].decided.get("error_class", ABSENT),
            found[ref].health,
        )
        for ref in refs
    ]

"""What people reported of training runs and submissions, each with its nearest trap: 50 of each, none like another.

Two of the reported kinds, an attempt that was preempted and the log of an attempt before, are told by the controller of
iris alone and are not here; answers of a queue are in `test_queue`, all other kinds in `test_logs`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.launchers import LauncherLog, Launchers, refusals
from sweeprules.collectors.logs.lines import Chunk, split_lines
from sweeprules.collectors.metrics.points import merge, step_relation, step_subjects
from sweeprules.collectors.metrics.rl import read_rl, series_of
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import Ref, Relation, Subject, World
from sweeprules.engine.observation import Observation
from sweeprules.engine.site import ClusterRecord, Reach
from sweeprules.engine.testdefaults import NOW, quiet_job
from tests.cases import training as made
from tests.rules.shipped import catalogue, policy

TIMES = 50
UTC = ZoneInfo("UTC")
CLUSTER, SWEEP = Ref("cluster", "test"), Ref("sweep", "s1")
RECORD = ClusterRecord("test", "cluster.yaml", "0", "slurm", "alice", "UTC", Reach("openssh", ("login01",)))


@dataclass(frozen=True)
class Case:
    """What a kind looks like, its nearest trap, and the verdict that holds for the one and not for the other."""

    number: str
    variant: Callable[[Random], bytes]
    trap: Callable[[Random], bytes]
    verdict: Callable[[frozenset[str]], bool]


RUNS = (
    Case("17-no-gradient", made.no_gradient, made.some_gradient, made.is_no_gradient),
    Case("19-grad-alone", made.grad_alone, made.grad_and_more, made.is_one_signal),
    Case("21-dead-reward", made.dead_reward, made.living_reward, made.is_dead_reward),
    Case("45-not-a-number", made.not_a_number, made.numbers_again, made.is_nan),
)
SUBMISSIONS = (Case("47-lost-contact", made.lost_contact, made.refused, made.is_uncertain),)


def _logs(case: Case, what: str) -> list[bytes]:
    make = case.variant if what == "variant" else case.trap
    return [make(Random(zlib.crc32(f"{case.number} {what} {number}".encode()))) for number in range(TIMES)]


def _runs(logs: Sequence[bytes]) -> list[frozenset[str]]:
    """The flags of running RL jobs with these logs, read and judged as shipped."""
    quiet = quiet_job(policy())
    aliases = {name: metric.aliases for name, metric in policy().metrics.items()}
    subjects: dict[Ref, Subject] = {}
    refs = [Ref("job", f"test:{number}") for number in range(1, len(logs) + 1)]
    for ref, log in zip(refs, logs, strict=True):
        read = read_rl(Chunk(log, 0), aliases, UTC, whole=True)
        series = series_of(read.memo)
        merged = merge([(ref.key, series)])
        steps = step_subjects(ref, series, tuple(aliases), run=merged, source=None)
        subjects.update({step.ref: step for step in steps})
        named = {"key": ref.key, "job_id": ref.key.partition(":")[2], "cluster": "test", "name": "rl__x"}
        relations = {"cluster": Relation((CLUSTER,)), "steps": step_relation(series, steps)}
        subjects[ref] = Subject(ref, {**quiet["job"], **named, **read.facts}, relations=relations)
    subjects[CLUSTER] = Subject(CLUSTER, quiet["cluster"], relations={"jobs": Relation(tuple(refs))})
    subjects[SWEEP] = Subject(SWEEP, {"now": NOW, "complete": True})
    found = judge(policy(), World(subjects), catalogue())
    return [frozenset(flag.name for flag in found[ref].flags) for ref in refs]


def _submission(log: bytes) -> frozenset[str]:
    """The flags of a cluster one of whose launchers wrote this log."""
    told = Observation("test", "", "", (), (), 0.0, 0.0, 0, log, b"")
    launcher = LauncherLog("/l/a.log", NOW - 60, tuple(split_lines(log, 0, whole_start=True)), frozenset(), told)
    facts = {**quiet_job(policy())["cluster"], "submit_refusals": refusals(Launchers(True, (launcher,)), RECORD, UTC)}
    subjects = {
        CLUSTER: Subject(CLUSTER, facts, relations={"jobs": Relation(())}),
        SWEEP: Subject(SWEEP, {"now": NOW, "complete": True}),
    }
    return frozenset(flag.name for flag in judge(policy(), World(subjects), catalogue())[CLUSTER].flags)


def _wrong(case: Case, what: str, logs: Sequence[bytes], seen: Sequence[frozenset[str]]) -> list[str]:
    holds = what == "variant"
    return [
        f"{log.decode()}\n=> {sorted(f)}" for log, f in zip(logs, seen, strict=True) if case.verdict(f) is not holds
    ]


@pytest.mark.parametrize("case", RUNS, ids=[case.number for case in RUNS])
@pytest.mark.parametrize("what", ["variant", "trap"])
def test_the_verdict_on_a_run_holds_for_the_kind_and_not_for_its_trap(case: Case, what: str) -> None:
    logs = _logs(case, what)
    wrong = _wrong(case, what, logs, _runs(logs))
    assert not wrong, f"{len(wrong)} of {TIMES}, the first of them:\n{wrong[0]}"


@pytest.mark.parametrize("case", SUBMISSIONS, ids=[case.number for case in SUBMISSIONS])
@pytest.mark.parametrize("what", ["variant", "trap"])
def test_the_verdict_on_a_submission_holds_for_the_kind_and_not_for_its_trap(case: Case, what: str) -> None:
    logs = _logs(case, what)
    wrong = _wrong(case, what, logs, [_submission(log) for log in logs])
    assert not wrong, f"{len(wrong)} of {TIMES}, the first of them:\n{wrong[0]}"


@pytest.mark.parametrize("case", [*RUNS, *SUBMISSIONS], ids=[case.number for case in (*RUNS, *SUBMISSIONS)])
def test_no_two_logs_of_a_kind_are_alike(case: Case) -> None:
    assert len(set(_logs(case, "variant"))) >= TIMES * 0.8

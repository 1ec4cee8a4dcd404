"""Kinds of failure that people reported in public, each with its nearest trap: 50 of each, none like another.

Here are those that a log's words decide; what numbers of training and submissions decide is in `test_training`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pytest

from tests.cases import collectives as nccl
from tests.cases import ends, engines
from tests.cases.sample import Sample, Seen, judged

TIMES = 50


@dataclass(frozen=True)
class Case:
    """What a kind looks like, its nearest trap, and the verdict that holds for the one and not for the other."""

    number: str
    variant: Callable[[Random], Sample]
    trap: Callable[[Random], Sample]
    verdict: Callable[[Sample, Seen], bool]


CASES = (
    Case("01-hang-then-monitor", nccl.hang_then_monitor, nccl.hang_behind_an_error, nccl.is_hang),
    Case("03-monitor-ends-it", nccl.monitor_ends_it, nccl.monitor_only_warns, nccl.is_ended_by_monitor),
    Case("05-native-crash", nccl.native_crash, nccl.native_noise, nccl.has_a_cause),
    Case("07-wedged-at-zero", nccl.wedged_at_zero, nccl.young_at_zero, nccl.is_stale_or_hang),
    Case("09-finished-then-teardown", nccl.finished, nccl.not_finished, nccl.is_completion),
    Case("11-engine-unanswered", engines.unanswered, engines.idle_or_otherwise, engines.is_dead_engine),
    Case("13-engine-dead", engines.dead, engines.idle_or_otherwise, engines.is_dead_engine),
    Case("15-only-heartbeats", engines.only_heartbeats, engines.heartbeats_and_work, engines.is_heartbeat_only),
    Case("23-only-the-table", ends.masked, ends.unmasked, ends.is_masked),
    Case("25-ray-memory", ends.ray_memory, ends.ray_death, ends.is_host_memory),
    Case("27-wall", ends.at_the_wall, ends.cancelled, ends.is_wall),
    Case("33-cgroup-memory", ends.cgroup, ends.killed_otherwise, ends.is_cgroup),
    Case("35-gpu-memory-at-zero", ends.gpu_memory, ends.gpu_memory_survived, ends.is_gpu_memory),
    Case("37-quota", ends.quota, ends.full, ends.is_quota),
    Case("39-hang-then-fallout", nccl.hang_then_fallout, nccl.memory_then_hang, nccl.is_hang),
)


def _made(case: Case, what: str) -> list[Sample]:
    make = case.variant if what == "variant" else case.trap
    return [make(Random(zlib.crc32(f"{case.number} {what} {number}".encode()))) for number in range(TIMES)]


@pytest.mark.parametrize("case", CASES, ids=[case.number for case in CASES])
@pytest.mark.parametrize("what", ["variant", "trap"])
def test_the_verdict_holds_for_the_kind_and_not_for_its_trap(case: Case, what: str) -> None:
    samples = _made(case, what)
    wrong = [
        f"{sample.log.decode()}\n=> {sorted(seen.flags)}, {seen.error_class}, {seen.facts.get('first_error.type')}"
        for sample, seen in zip(samples, judged(samples), strict=True)
        if case.verdict(sample, seen) is not (what == "variant")
    ]
    assert not wrong, f"{len(wrong)} of {TIMES}, the first of them:\n{wrong[0]}"


@pytest.mark.parametrize("case", CASES, ids=[case.number for case in CASES])
def test_no_two_logs_of_a_kind_are_alike(case: Case) -> None:
    logs = {sample.log for sample in _made(case, "variant")}
    assert len(logs) >= TIMES * 0.8

"""Slurm 24.11, swept end to end: the states and exits that it tells itself, and no flag that nothing explains."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.integration.e2e.expected import BUCKETS, flags_of
from tests.integration.e2e.product import Product, Sweep
from tests.integration.e2e.truth import Truth, truth
from tests.testbed.jobs import Submitted
from tests.testbed.slurm import Slurm
from tests.testbed.ssh import Logins

pytestmark = pytest.mark.deep
QUICK = ("running", "silent", "fail", "oom", "segv", "complete", "hold", "pipe", "unicode", "newline", "eq", "stepfail")


@dataclass(frozen=True, slots=True)
class Swept:
    """One sweep, and what Slurm said right before and right after it."""

    sweep: Sweep
    before: Truth
    after: Truth


@pytest.fixture(scope="module")
def swept(
    slurm24: Slurm, logins24: Logins, standard_jobs24: Submitted, tmp_path_factory: pytest.TempPathFactory
) -> Swept:
    product = Product(tmp_path_factory.mktemp("slurm24"), logins24)
    before = truth(slurm24)
    sweep = product.sweep()
    return Swept(sweep, before, truth(slurm24))


def test_a_good_queue_is_believed(swept: Swept) -> None:
    assert (swept.sweep.status, swept.sweep.complete) == (0, True)
    assert (swept.sweep.cluster["status"], swept.sweep.cluster["queue"]) == ("swept", "ok")
    assert swept.sweep.cluster_flags == {}


def test_states_and_exits_are_those_of_slurm(swept: Swept) -> None:
    assert set(swept.before.states) <= set(swept.sweep.links)
    for job, state in swept.before.states.items():
        assert swept.sweep.state(job) in (state, swept.after.states[job]), job
        if job in swept.before.exits:
            assert swept.sweep.links[job]["exit"] == swept.before.exits[job]


@pytest.mark.parametrize("label", QUICK)
def test_bucket_and_flags(label: str, swept: Swept, standard_jobs24: Submitted) -> None:
    job = standard_jobs24[label]
    assert swept.sweep.entry(job)["bucket"] == BUCKETS[label]
    assert swept.sweep.flags(job) == flags_of(label, swept.before.states[job])


def test_a_dead_controller_drains_nothing(
    slurm24: Slurm, logins24: Logins, swept: Swept, tmp_path_factory: pytest.TempPathFactory
) -> None:
    product = Product(tmp_path_factory.mktemp("outage24"), logins24)
    seen = product.sweep()
    with slurm24.slurmctld_killed():
        dead = product.sweep()
    assert (dead.status, dead.cluster["queue"]) == (3, "unknown")
    assert "queue-unknown" in dead.cluster_flags
    alive = {job for job in seen.links if seen.state(job) in ("RUNNING", "PENDING")}
    assert alive <= set(dead.links)
    assert {dead.state(job) for job in alive} <= {"RUNNING", "PENDING", "UNKNOWN"}

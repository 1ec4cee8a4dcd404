"""kill -9 at random points of a sweep: the last one stays whole, the next one is right, and nothing is lost."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.e2e.killing import STAGES, Timeline, kill_in, survivors, timeline
from tests.integration.e2e.product import Product, Sweep, validate
from tests.integration.e2e.truth import TERMINAL, truth
from tests.testbed.jobs import Submitted
from tests.testbed.processes import wait_until
from tests.testbed.slurm import Slurm
from tests.testbed.ssh import Logins

ATTEMPTS = 4
"""Sweeps started for each kill that is wanted: some end, or reach the next stage, before the signal arrives."""
#: Labels whose failure a first sweep must tell; a kill may not swallow it.
FAILED = ("fail", "oom", "segv", "stepfail", "nodir", "badwd")


@dataclass(frozen=True, slots=True)
class Target:
    """A product, a copy of its state after good sweeps, and how long each stage of a sweep takes."""

    product: Product
    before: Path
    times: Timeline


@pytest.fixture(scope="module")
def target(logins: Logins, standard_jobs: Submitted, tmp_path_factory: pytest.TempPathFactory) -> Target:
    product = Product(tmp_path_factory.mktemp("kill"), logins)
    assert product.sweep().status == 0
    times = timeline(product, logins)
    before = product.state.with_name("before")
    shutil.copytree(product.state, before)
    return Target(product, before, times)


def rounds(stage: str, count: int, target: Target, logins: Logins, slurm: Slurm, jobs: Submitted) -> Counter[str]:
    """Kill sweeps until `count` were hit in `stage`, in turn after and before a first sweep; the stages hit."""
    product, dice = target.product, random.Random(f"{stage}-{count}")
    hit: Counter[str] = Counter()
    for _ in range(count * ATTEMPTS):
        if hit[stage] >= count:
            break
        fresh = hit[stage] % 2 == 1
        shutil.rmtree(product.state)
        if not fresh:
            shutil.copytree(target.before, product.state)
        kept = listed(product)
        killed = kill_in(stage, product, logins, target.times, dice)
        hit[killed.stage] += 1
        check_after(product, kept, slurm, jobs, fresh=fresh)
    return hit


def listed(product: Product) -> list[str]:
    """The kept sweeps, newest first; none in a state folder where there never was one."""
    done = product.run("report", "--state", str(product.state), "--list")
    return [line.split()[0] for line in done.stdout.splitlines()] if done.status == 0 else []


def kept_report(product: Product, sweep: str) -> dict[str, Any]:
    done = product.run("report", "--state", str(product.state), "--sweep", sweep, "--output", "json")
    assert done.status == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    validate("report", document)
    return document


def check_after(product: Product, kept: list[str], slurm: Slurm, jobs: Submitted, *, fresh: bool) -> None:
    wait_until("what the killed sweep started to end", lambda: not survivors(product), deadline=60, every=0.2)
    since = listed(product)
    # All sweeps that were kept are kept still; the killed one is there as a whole, or not at all.
    assert since in (kept, [*since[:1], *kept])
    whole = [kept_report(product, sweep) for sweep in since[:2]]
    was = truth(slurm)
    sweep = product.sweep()
    assert (sweep.status, sweep.complete, sweep.stderr) == (0, True, "")
    now = truth(slurm)
    assert now.active() <= set(sweep.links)
    for job in now.active():
        assert sweep.state(job) in (was.states[job], now.states[job])
    if fresh:
        told = [sweep.document, *whole]
        for label in FAILED:
            assert any(tells(document, jobs[label]) for document in told), f"the failure of {label} was lost"
    hold_tidy(product, sweep)


def tells(document: Any, job: str) -> bool:
    return any(
        entry["job_id"] == job and entry["state"] in TERMINAL and "failure" in {flag["name"] for flag in entry["flags"]}
        for entry in document["jobs"]
    )


def hold_tidy(product: Product, sweep: Sweep) -> None:
    """The state folder holds what a sweep keeps, every handoff of the report included, and no half-written file."""
    files = {str(path.relative_to(product.state)) for path in product.state.rglob("*") if path.is_file()}
    known = re.compile(
        r"lock|[^/]+\.(db|sqlite3?)(-wal|-shm)?|handoffs/[0-9a-f]+\.md|policies/[^/]+|cassettes/[^/.][^/]*"
        r"|worlds/[0-9a-f]+\.(world|seen)"
    )
    assert not [name for name in files if not known.fullmatch(name)]
    assert {handoff["path"] for handoff in sweep.document["handoffs"]} <= files


@pytest.mark.parametrize("stage", STAGES)
def test_a_sweep_killed_twice_in_each_stage(
    stage: str, target: Target, logins: Logins, slurm: Slurm, standard_jobs: Submitted
) -> None:
    hit = rounds(stage, 2, target, logins, slurm, standard_jobs)
    assert hit[stage] >= 2, hit


@pytest.mark.deep
@pytest.mark.parametrize("stage", STAGES)
def test_a_sweep_killed_twenty_times_in_each_stage(
    stage: str, target: Target, logins: Logins, slurm: Slurm, standard_jobs: Submitted
) -> None:
    hit = rounds(stage, 20, target, logins, slurm, standard_jobs)
    assert hit[stage] >= 20, hit

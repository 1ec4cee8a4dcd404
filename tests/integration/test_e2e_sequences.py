"""What happens between sweeps: ends that are told once, ends that nobody recorded, and links that become one run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.e2e.product import Product
from tests.integration.e2e.truth import truth
from tests.testbed.jobs import Jobs, Submitted
from tests.testbed.processes import wait_until
from tests.testbed.slurm import Slurm
from tests.testbed.ssh import Logins

LONG_LOG = 150_000
"""Bytes; at first sight only the end of a log is read."""


@pytest.fixture
def bobs(slurm: Slurm, logins: Logins, standard_jobs: Submitted) -> Iterator[Jobs]:
    """Submits as bob, who has no other jobs, once the job that waits for three whole nodes is out of the way."""
    standard_jobs.settled(("deadline",), deadline=180)
    jobs = Jobs(slurm, "bob")
    yield jobs
    slurm.must("scancel", "-u", "bob")
    wait_until("bob's jobs to end", lambda: not truth(slurm, "bob").active(), deadline=60, every=0.3)


@pytest.fixture
def product(tmp_path: Path, logins: Logins) -> Product:
    return Product(tmp_path, logins, user="bob")


def test_a_held_job_cancelled_between_sweeps(bobs: Jobs, product: Product, slurm: Slurm) -> None:
    held = bobs.submit("rl__held", options=("-H", "-t", "60"))
    steady = bobs.steady("rl__stays")
    bobs.wait(steady, "RUNNING")
    first = product.sweep()
    assert first.state(held) == "PENDING" and first.flags(held) == set()
    bobs.cancel(held)
    second = product.sweep()
    assert (second.status, second.complete) == (0, True)
    # Accounting lists it by id, or nobody does: proved either way, and never called completed or failed.
    assert second.state(held) in ("CANCELLED", "GONE")
    if second.state(held) == "GONE":
        assert second.entry(held)["facts"]["state_reason"] == "cancelled-before-start?"
    assert second.entry(held)["health"] == "ended" and "failure" not in second.flags(held)
    assert second.state(steady) == "RUNNING"


def test_a_job_that_ended_between_sweeps_is_told_once(bobs: Jobs, product: Product) -> None:
    good = bobs.submit("sft__short", "ok", arguments=("20",))
    bad = bobs.submit("sft__breaks", "sleep", arguments=("10000",))
    bobs.wait(good, "RUNNING")
    bobs.wait(bad, "RUNNING")
    first = product.sweep()
    assert (first.state(good), first.state(bad)) == ("RUNNING", "RUNNING")
    bobs.slurm.must("scancel", "-b", "-s", "11", bad, user="bob")
    bobs.wait(bad, "FAILED")
    bobs.wait(good, "COMPLETED")
    second = product.sweep()
    assert (second.status, second.complete) == (0, True)
    # The last of bob's jobs: what follows them is a drain, and it is proved.
    assert second.cluster["queue"] == "empty" and second.cluster_flags == {}
    assert second.state(good) == "COMPLETED" and second.flags(good) == set()
    assert second.state(bad) == "FAILED" and second.flags(bad) == {"failure"}
    third = product.sweep()
    assert (third.status, third.cluster["queue"]) == (0, "empty")
    assert not third.has(good) and not third.has(bad)


def test_an_end_that_accounting_could_not_tell_is_told_later(bobs: Jobs, product: Product, slurm: Slurm) -> None:
    bad = bobs.submit("eval-breaks_tb2", "sleep")
    steady = bobs.steady("rl__stays_too")
    bobs.wait(bad, "RUNNING")
    bobs.wait(steady, "RUNNING")
    assert product.sweep().state(bad) == "RUNNING"
    with slurm.slurmdbd_killed():
        bobs.slurm.must("scancel", "-b", "-s", "11", bad, user="bob")
        wait_until("the job to leave the queue", lambda: bad not in _queue(slurm), deadline=60, every=0.3)
        cut = product.sweep()
        assert (cut.status, cut.cluster["queue"]) == (3, "ok")
        # The controller still knows how it ended; what it does not tell stays unknown.
        assert cut.state(bad) in ("UNKNOWN", "FAILED") and cut.entry(bad)["health"] != "healthy"
        assert cut.state(steady) == "RUNNING"
    bobs.wait(bad, "FAILED")
    after = product.sweep()
    assert (after.status, after.state(bad), after.flags(bad)) == (0, "FAILED", {"failure"})


def test_links_of_a_chain_are_one_run_over_sweeps(bobs: Jobs, product: Product) -> None:
    first = bobs.submit("rl__chained", options=("-t", "60"))
    second = bobs.submit("rl__chained", options=("-t", "60", "-d", f"afterany:{first}"))
    bobs.wait(first, "RUNNING")
    before = product.sweep()
    assert before.entry(second)["job_id"] == first and before.entry(second)["run"] == f"leonardo:{first}"
    bobs.cancel(first)
    bobs.wait(second, "RUNNING")
    # The queue has dropped the met dependency by now: the edge is remembered.
    after = product.sweep()
    entry = after.entry(first)
    assert (entry["job_id"], entry["run"], entry["state"]) == (second, f"leonardo:{first}", "RUNNING")
    assert {link["job_id"]: link["state"] for link in entry["facts"]["links"]} == {first: "CANCELLED"}
    assert not {"chain-ended", "failure"} & after.flags(first)


def test_a_requeued_job_stays_one_row_until_it_is_cancelled(bobs: Jobs, product: Product, slurm: Slurm) -> None:
    job = bobs.submit("rl__again", options=("-t", "60", "--requeue"))
    bobs.wait(job, "RUNNING")
    product.sweep()
    bobs.requeue(job)
    wait_until("it to wait again", lambda: truth(slurm, "bob").states[job] == "PENDING", deadline=30, every=0.3)
    waiting = product.sweep()
    assert waiting.state(job) == "PENDING" and waiting.entry(job)["facts"]["links"] == []
    assert waiting.flags(job) == set()
    bobs.cancel(job)
    wait_until("it to be cancelled", lambda: truth(slurm, "bob").states[job] == "CANCELLED", deadline=30, every=0.3)
    # Over its window accounting goes on listing it as requeued: only asked by its id does it tell the end.
    over = product.sweep()
    assert (over.status, over.cluster["queue"], over.state(job)) == (0, "empty", "CANCELLED")
    assert over.cluster_flags == {} and over.flags(job) == set()
    assert product.sweep().cluster["queue"] == "empty"


def test_a_log_too_long_to_be_read_whole_is_judged_by_both_evaluators(bobs: Jobs, product: Product) -> None:
    job = bobs.steady("rl__chatty", every=0.001)
    bobs.wait(job, "RUNNING")
    bobs.age_log(job, 0)  # waits for the log
    wait_until("a long log", lambda: bobs.log(job).stat().st_size > LONG_LOG, deadline=60, every=0.3)
    sweep = product.sweep()
    facts = sweep.entry(job)["facts"]
    assert (sweep.status, facts["log.cut"]) == (0, True)
    # What was not read may hold more: counts are open at their upper end.
    assert facts["lines.rl-train-metrics.count"]["sure"] > 0
    assert sweep.stderr == "", "a subject was left to one evaluator alone"


def _queue(slurm: Slurm) -> set[str]:
    return set(slurm.must("squeue", "-h", "-u", "bob", "-o", "%i").split())

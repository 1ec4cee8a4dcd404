"""The standard jobs, swept end to end: each in its bucket and state, with the flags that the catalogue gives it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.integration.e2e.expected import BUCKETS, SLOW, flags_of, name_in_accounting
from tests.integration.e2e.product import Product, Sweep, control_characters
from tests.integration.e2e.truth import TERMINAL, Truth, truth
from tests.testbed.job_list import ARRAY_SIZE, JOBS
from tests.testbed.jobs import Submitted
from tests.testbed.slurm import Slurm
from tests.testbed.ssh import Logins

FIRST_STAGE, SECOND_STAGE = 4, 4
CHAIN = ("chain1", "chain2", "chain3")
LABELS = [spec.label for spec in JOBS]


@dataclass(frozen=True, slots=True)
class Swept:
    """A first sweep of all standard jobs at rest, and what Slurm said right before and right after it."""

    product: Product
    sweep: Sweep
    before: Truth
    after: Truth
    round_trips: int


@pytest.fixture(scope="module")
def swept(
    slurm: Slurm, logins: Logins, standard_jobs: Submitted, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Swept]:
    standard_jobs.settled(SLOW, deadline=180)
    product = Product(tmp_path_factory.mktemp("standard"), logins)
    before, sessions = truth(slurm), logins.sessions()
    sweep = product.sweep()
    yield Swept(product, sweep, before, truth(slurm), logins.sessions() - sessions)


def ids_of(label: str, jobs: Submitted) -> tuple[str, ...]:
    """The ids of a standard job's tasks or parts, as Slurm prints them."""
    base = jobs[label]
    if label == "array":
        return tuple(f"{base}_{task}" for task in range(ARRAY_SIZE))
    return (f"{base}+0", f"{base}+1") if label == "het" else (base,)


def test_a_good_queue_is_believed_and_all_is_complete(swept: Swept) -> None:
    assert (swept.sweep.status, swept.sweep.complete) == (0, True)
    assert (swept.sweep.cluster["status"], swept.sweep.cluster["queue"]) == ("swept", "ok")
    assert swept.sweep.cluster["login"] == "login01" and swept.sweep.stderr == ""
    assert swept.sweep.cluster_flags == {} and swept.sweep.document["sweep"]["flags"] == []


def test_every_job_is_in_the_report_and_no_other(swept: Swept, standard_jobs: Submitted) -> None:
    of_standard = {job for label in LABELS for job in ids_of(label, standard_jobs)}
    assert of_standard <= set(swept.sweep.links)
    # Other tests may have jobs of alice's of their own; Slurm knows those too.
    assert set(swept.sweep.links) <= set(swept.after.states)


@pytest.mark.parametrize("label", LABELS)
def test_state_and_exit_are_what_slurm_says(label: str, swept: Swept, standard_jobs: Submitted) -> None:
    for job in ids_of(label, standard_jobs):
        assert swept.sweep.state(job) in {swept.before.states[job], swept.after.states[job]}
        if job in swept.before.exits:
            assert swept.sweep.links[job]["exit"] == swept.before.exits[job]
        else:
            assert swept.sweep.links[job]["exit"] == {"absent": True}


@pytest.mark.parametrize("label", LABELS)
def test_bucket_and_name(label: str, swept: Swept, standard_jobs: Submitted) -> None:
    spec = next(spec for spec in JOBS if spec.label == label)
    for job in ids_of(label, standard_jobs):
        entry = swept.sweep.entry(job)
        assert (entry["bucket"], entry["bucket_sure"]) == (BUCKETS[label], True)
        ended = swept.before.states[job] in TERMINAL
        assert entry["name"] in ({spec.name, name_in_accounting(spec.name)} if ended else {spec.name})


@pytest.mark.parametrize("label", LABELS)
def test_flags_are_those_of_the_catalogue(label: str, swept: Swept, standard_jobs: Submitted) -> None:
    job = ids_of("chain1" if label in CHAIN else label, standard_jobs)[0]
    assert swept.sweep.flags(job) == flags_of(label, swept.before.states[job])


def test_severities_and_causes(swept: Swept, standard_jobs: Submitted) -> None:
    masked = {flag["name"]: flag for flag in swept.sweep.entry(standard_jobs["stepfail"])["flags"]}
    assert masked["sacct-masked"]["severity"] == masked["failure"]["severity"] == "critical"
    assert masked["sacct-masked"]["explains"] == ["failure"]
    assert masked["failure"]["explained_by"] == ["sacct-masked"]
    unread = {flag["name"]: flag["severity"] for flag in swept.sweep.entry(standard_jobs["nodir"])["flags"]}
    assert unread == {"failure": "critical", "evidence-missing": "warning"}


def test_an_array_is_flagged_for_the_task_that_failed(swept: Swept, standard_jobs: Submitted) -> None:
    entry = swept.sweep.entry(f"{standard_jobs['array']}_5")
    assert entry["health"] == "flagged"
    (flag,) = entry["flags"]
    assert f"{standard_jobs['array']}_5" in flag["message"] and "3:0" in flag["message"]


def test_a_chain_is_one_row_with_its_successors(swept: Swept, standard_jobs: Submitted) -> None:
    first, second, third = (standard_jobs[label] for label in CHAIN)
    entry = swept.sweep.entry(first)
    assert entry["job_id"] == second and entry["run"] == f"leonardo:{first}"
    assert {link["job_id"]: link["state"] for link in entry["facts"]["links"]} == {first: "TIMEOUT", third: "PENDING"}
    (note,) = (action for action in entry["actions"] if action["name"] == "note-successor")
    assert note["args"]["ids"] == [second, third]


def test_parts_of_a_heterogeneous_job_are_one_row(swept: Swept, standard_jobs: Submitted) -> None:
    entry = swept.sweep.entry(f"{standard_jobs['het']}+1")
    assert entry["job_id"] == f"{standard_jobs['het']}+0"


def test_nobody_is_called_healthy_whose_progress_was_not_read(swept: Swept) -> None:
    for entry in swept.sweep.entries:
        if entry["state"] == "RUNNING" and entry["bucket"] != "catch-all" and entry["step"] is None:
            assert entry["health"] in ("starting", "unknown", "flagged"), entry["job_id"]
    running = next(entry for entry in swept.sweep.entries if entry["name"] == "rl__qwen3_grpo")
    assert running["health"] == "healthy" and running["last_output_age_s"] < 60
    # The total stands in the first line alone, which the end of a log that has grown long does not hold any more.
    total = 100_000 if running["facts"]["log.cut"] is False else None
    assert running["step"] > 0 and running["max_step"] == total


def test_the_log_behind_a_pattern_that_scontrol_does_not_expand_is_read(swept: Swept, standard_jobs: Submitted) -> None:
    facts = swept.sweep.entry(standard_jobs["outnodes"])["facts"]
    assert facts["log.path"] == str(standard_jobs.jobs.log(standard_jobs["outnodes"]))
    assert facts["log.exists"] is True


def test_round_trips_stay_within_the_budget(swept: Swept) -> None:
    assert swept.round_trips <= FIRST_STAGE + SECOND_STAGE


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_printed_forms_hold_no_control_characters(form: str, swept: Swept) -> None:
    printed = swept.product.text(form)
    assert control_characters(printed) == set()
    plain = printed.replace("\\", "")  # Markdown's escapes
    assert "rl__qwen3_grpo" in plain and "sft__segv" in plain


def test_a_second_sweep_says_the_same_of_what_lives_and_nothing_of_what_was_told(
    swept: Swept, standard_jobs: Submitted
) -> None:
    again = swept.product.sweep()
    assert (again.status, again.complete) == (0, True)
    for job in set(swept.sweep.links) & set(again.links):
        assert again.state(job) == swept.sweep.state(job)
    for entry in again.entries:
        if entry["state"] in TERMINAL:
            raise AssertionError(f"{entry['job_id']} ended before the last sweep and is shown again")
        assert {flag["name"] for flag in entry["flags"]} <= swept.sweep.flags(entry["job_id"]), entry["flags"]
    active = {job for job in ids_of("running", standard_jobs)} | {standard_jobs["hold"], standard_jobs["depnever"]}
    assert active <= set(again.links)

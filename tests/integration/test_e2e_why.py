"""`explain` of jobs that really ran: a wedge, a quiet log that is exempt, a failure, a restart, and nothing wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.e2e.product import Product, Sweep, control_characters
from tests.integration.e2e.truth import truth
from tests.testbed.jobs import Jobs, Submitted
from tests.testbed.processes import wait_until
from tests.testbed.slurm import Slurm
from tests.testbed.ssh import Logins

#: The shipped limits assume jobs that run for hours; the test's have run for seconds.
POLICY = """\
policy: 1
title: Limits for jobs that just started
params:
  grace: {default: 1s, why: "the jobs of a test are young"}
  bringup_allowance: {default: 1s, why: "the jobs of a test are young"}
rules:
  - {id: live.stale-attempt, disabled: true, because: "the logs of a test are set back to before their jobs began"}
exemptions:
  - id: known-to-be-quiet
    when: {name: {contains: quiet}}
    flags: [stale-log]
    say: "prints nothing between checkpoints"
    why: Its trainer has no progress bar.
"""
HOURS = 3 * 3600.0
SCREEN = 50
FAULT = (
    "[rank3]:[E ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600055 milliseconds "
    "before timing out.\n"
)


@dataclass(frozen=True, slots=True)
class Seen:
    product: Product
    sweep: Sweep
    ids: Mapping[str, str]

    def explain(self, label: str) -> Mapping[str, Any]:
        return self.product.explain(self.ids[label])


@pytest.fixture(scope="module")
def seen(
    slurm: Slurm, logins: Logins, standard_jobs: Submitted, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Seen]:
    standard_jobs.settled(("deadline",), deadline=180)
    bob = Jobs(slurm, "bob")
    ids = {
        "silent": bob.silent("sft__silent"), "wedged": bob.silent("sft__wedged"), "quiet": bob.silent("sft__quiet"),
        "fine": bob.steady("rl__fine"), "failed": bob.submit("sft__breaks", "fail"),
    }  # fmt: skip
    bob.wait(ids["failed"], "FAILED")
    for label in ("silent", "wedged", "quiet", "fine"):
        bob.wait(ids[label], "RUNNING")
        bob.age_log(ids[label], 0)  # waits for the log
    with bob.log(ids["wedged"]).open("a") as log:
        log.write(FAULT)
    for label in ("silent", "wedged", "quiet"):
        bob.age_log(ids[label], HOURS)
    time.sleep(1.5)
    product = Product(tmp_path_factory.mktemp("why"), logins, user="bob", policy=POLICY)
    yield Seen(product, product.sweep(), ids)
    slurm.must("scancel", "-u", "bob")
    wait_until("bob's jobs to end", lambda: not truth(slurm, "bob").active(), deadline=60, every=0.3)


def rule(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found: Sequence[Mapping[str, Any]] = [one for one in document["rules"] if one["id"] == name]
    assert len(found) == 1, [one["id"] for one in document["rules"]]
    return found[0]


def fact(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    (found,) = (one for one in document["facts"] if one["name"] == name)
    return dict(found)


def flags(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {flag["name"]: flag for flag in document["flags"]}


def hold_sources(document: Mapping[str, Any]) -> None:
    """What was read of the cluster says by which command, on which login and when."""
    for name in ("state", "elapsed", "log.path", "log_age"):
        source = fact(document, name)["source"]
        assert source["command"] and source["login"] == "login01" and source["at"], name


def test_a_silent_job_is_stale_and_no_wedge_on_silence_alone(seen: Seen) -> None:
    document = seen.explain("silent")
    assert set(flags(document)) == {"stale-log"}
    stale = rule(document, "live.stale-log")
    assert stale["truth"] == "true" and stale["conditions"]
    assert abs(fact(document, "log_age")["value"] - HOURS) < 300
    for wedge in ("live.wedge-by-silence", "live.wedge-by-fault", "live.wedge-by-two-signs"):
        assert rule(document, wedge)["truth"] != "true"
        assert rule(document, wedge)["why_not"]
    hold_sources(document)


def test_a_silent_job_with_a_fault_in_its_log_is_a_wedge(seen: Seen) -> None:
    document = seen.explain("wedged")
    raised = flags(document)
    assert set(raised) == {"stale-log", "suspected-wedge"}
    assert raised["suspected-wedge"]["severity"] == "critical" and raised["suspected-wedge"]["explains"] == [
        "stale-log"
    ]
    assert raised["stale-log"]["explained_by"] == ["suspected-wedge"]
    assert rule(document, "live.wedge-by-fault")["truth"] == "true"
    assert fact(document, "fault_lines")["value"]
    assert {handoff["template"] for handoff in document["handoffs"]} >= {"propose-kill"}
    (kill,) = (a for a in seen.sweep.entry(seen.ids["wedged"])["actions"] if a["name"] == "propose-kill")
    assert kill["args"]["ids"] == [seen.ids["wedged"]] and kill["class"] == "approval"


def test_an_exempt_job_keeps_its_flag_and_says_why_nobody_acts(seen: Seen) -> None:
    document = seen.explain("quiet")
    assert flags(document)["stale-log"]["exempt"] is True
    (exemption,) = document["exemptions"]
    assert (exemption["id"], exemption["truth"]) == ("known-to-be-quiet", "true")
    assert "prints nothing between checkpoints" in seen.product.explain_text(seen.ids["quiet"])


def test_a_job_that_makes_steps_is_healthy_and_says_how_far_it_is(seen: Seen) -> None:
    document = seen.explain("fine")
    assert flags(document) == {} and document["job"]["health"] == "healthy"
    assert fact(document, "progress_marker")["value"].startswith("step ")
    text = seen.product.explain_text(seen.ids["fine"])
    assert "seen there for the first time" in text and "the next sign of it is expected within" in text
    assert {one["truth"] for one in document["rules"]} <= {"true", "false", "unknown"}
    for one in document["rules"]:
        assert one["truth"] == "true" or one["why_not"], f"{one['id']} does not say what kept it from firing"


def test_a_failure_shows_its_exit_and_its_cause(seen: Seen) -> None:
    document = seen.explain("failed")
    assert set(flags(document)) == {"failure"}
    assert fact(document, "exit")["value"] == "1:0"
    assert "sacct" in fact(document, "exit")["source"]["command"]
    assert fact(document, "first_error.type")["value"] == "RuntimeError"
    assert "loss is not finite" in fact(document, "first_error.message")["value"]
    assert {handoff["template"] for handoff in document["handoffs"]} == {"failure-diagnosis"}


def test_one_screen_unless_asked_for_more_and_nothing_that_a_terminal_acts_upon(seen: Seen) -> None:
    for job in seen.ids.values():
        short, full = seen.product.explain_text(job), seen.product.explain_text(job, "--full")
        assert len(short.splitlines()) <= SCREEN < len(full.splitlines())
        assert control_characters(short + full) == set()


def test_an_id_that_is_not_there_names_near_ones_and_exits_2(seen: Seen) -> None:
    near = seen.ids["fine"]
    done = seen.product.run("explain", f"{near}0", "--state", str(seen.product.state))
    assert done.status == 2 and near in done.stderr


def test_a_kept_sweep_is_explained_by_the_policy_that_judged_it(seen: Seen) -> None:
    limits = seen.product.site / "rules" / "site.yaml"
    text = limits.read_text()
    try:
        limits.write_text(text.replace("flags: [stale-log]", "flags: [log-absent]"))
        assert flags(seen.explain("quiet"))["stale-log"]["exempt"] is True
    finally:
        limits.write_text(text)


def test_a_restart_in_a_chain(
    slurm: Slurm, logins: Logins, standard_jobs: Submitted, tmp_path_factory: pytest.TempPathFactory
) -> None:
    standard_jobs.settled(("chain1", "chain2"), deadline=180)
    product = Product(tmp_path_factory.mktemp("restart"), logins)
    product.sweep()
    document = product.explain(standard_jobs["chain1"])
    assert document["job"]["state"] == "TIMEOUT" and document["job"]["run"] == f"leonardo:{standard_jobs['chain1']}"
    assert set(flags(document)) == {"chain-restart-ok"}
    fired = rule(document, "chain.timeout-is-a-restart")
    assert fired["truth"] == "true" and fired["file"].endswith("chains.yaml")
    ended = rule(document, "chain.ended")
    assert ended["truth"] == "false" and ended["why_not"]

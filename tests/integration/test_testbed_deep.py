"""Slurm 24.11 beside 22.05 on one machine: the second test bed does what its name says."""

from __future__ import annotations

import json

import pytest

from tests.testbed.jobs import Jobs, Submitted
from tests.testbed.slurm import Slurm
from tests.testbed.ssh import Logins

pytestmark = pytest.mark.deep


def test_two_clusters_answer_side_by_side(slurm: Slurm, slurm24: Slurm, logins: Logins, logins24: Logins) -> None:
    assert logins.ssh("login01", "squeue", "-V").stdout.startswith("slurm-wlm 22.05")
    assert logins24.ssh("login01", "squeue", "-V").stdout.startswith("slurm-wlm 24.11")
    assert logins24.ssh("login02", "scontrol", "show", "config").stdout.count("ClusterName             = tacc") == 1
    assert (slurm.version()[:5], slurm24.version()[:5]) == ("22.05", "24.11")


def test_standard_jobs_settle(standard_jobs24: Submitted, jobs24: Jobs) -> None:
    rows = jobs24.accounted()
    assert {row.exit_code for row in rows[standard_jobs24["oom"]]} == {"0:125"}
    assert standard_jobs24["hold"] not in rows


def test_json_has_the_newer_shape(slurm24: Slurm, standard_jobs24: Submitted) -> None:
    queue = json.loads(slurm24.must("squeue", "--json"))
    states = {job["job_id"]: job["job_state"] for job in queue["jobs"]}
    assert states[int(standard_jobs24["running"])] == ["RUNNING"]


def test_a_dead_controller_is_not_an_empty_queue(slurm24: Slurm) -> None:
    with slurm24.slurmctld_killed():
        done = slurm24.run("squeue", "--json")
        assert (done.returncode, done.stdout) == (1, "")
    assert slurm24.run("squeue").returncode == 0

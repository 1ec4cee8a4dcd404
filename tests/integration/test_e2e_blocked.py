"""What may not be sent is not sent, by the logs of a real sshd: refused commands, invalid records, skipped clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.integration.e2e.product import Product, Sweep, validate
from tests.testbed.jobs import Submitted
from tests.testbed.layout import LOGINS
from tests.testbed.ssh import Logins

#: The login that only clusters use which must not be touched.
FORBIDDEN = "login04"
SECRETS = (("printenv",), ("kubectl", "describe", "pod", "x"), ("kubectl", "get", "pod", "x", "-o", "yaml"))
REFUSED = (
    ("find", "/work"), ("du", "-s", "/work"), ("ls", "-R", "/work"), ("ls", "-l", "/work/*"), ("tail", "-f", "/a/b"),
    ("grep", "-r", "text", "/work"), ("cat", "/a/b", "/etc/shadow"), ("scancel", "1"), ("sbatch", "job.sh"),
    ("srun", "hostname"), ("scontrol", "update", "JobId=1", "TimeLimit=1"), ("scontrol", "requeue", "1"),
    ("scontrol", "hold", "1"), ("rm", "-rf", "/work"), ("mv", "/a", "/b"), ("touch", "/a"), ("bash", "-c", "squeue"),
    ("sh", "-c", "id"), ("ssh", "other", "squeue"), ("xargs", "-0", "rm", "--"), ("env", "LD_PRELOAD=/x", "squeue"),
    ("git", "reset", "--hard"), ("git", "push"), ("git", "fetch"), ("kubectl", "delete", "pod", "x"), ("curl", "x"),
    ("squeue; scancel 1",), ("squeue", "-u", "alice", ";", "scancel", "1"), ("$(id)",), ("sacct", "-u", "alice\nid"),
    *SECRETS,
)  # fmt: skip


def record(name: str, **more: object) -> dict[str, object]:
    reach = {"via": "openssh", "host": FORBIDDEN, "fallbacks": [], "connect_timeout": "5s", "command_timeout": "20s"}
    whole = {"cluster": name, "enabled": True, "scheduler": "slurm", "user": "alice", "timezone": "UTC", "reach": reach}
    return {key: value for key, value in {**whole, **more}.items() if value is not None}


@pytest.fixture(scope="module")
def forms() -> Mapping[str, tuple[str, ...]]:
    """The refused commands by the name of the cluster that asks for each."""
    return {f"asks{number:02}": argv for number, argv in enumerate(REFUSED)}


@pytest.fixture(scope="module")
def swept(
    logins: Logins, standard_jobs: Submitted, forms: Mapping[str, tuple[str, ...]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Sweep:  # fmt: skip
    """One sweep of a good cluster, and of many that must not be touched."""
    product = Product(tmp_path_factory.mktemp("blocked"), logins, reach={"fallbacks": []})
    for name, argv in forms.items():
        product.add(name, record(name, commands=[{"argv": list(argv), "because": "it is asked for"}]))
    product.add("typo", record("typo", downtimes=[]))
    product.add("nobody", record("nobody", user=None))
    product.add("other", record("another-name"))
    window = {"from": "2020-01-01", "to": "2099-01-01", "because": "moved to a new hall"}
    product.add("dormant", record("dormant", downtime=[window]))
    product.add("dropped", record("dropped", enabled=False, because="not used any more"))
    (product.site / "ops" / "empty").mkdir()
    sessions, connections = logins.sessions(FORBIDDEN), logins.connections(FORBIDDEN)
    sweep = product.sweep()
    assert logins.sessions(FORBIDDEN) == sessions and logins.connections(FORBIDDEN) == connections
    return sweep


def cluster(sweep: Sweep, name: str) -> dict[str, Any]:
    (found,) = (one for one in sweep.document["clusters"] if one["name"] == name)
    return dict(found)


def flags(sweep: Sweep, name: str) -> set[str]:
    return {flag["name"] for flag in cluster(sweep, name)["flags"]}


def test_the_good_cluster_is_swept_all_the_same(swept: Sweep) -> None:
    assert (swept.status, swept.complete) == (3, False)
    good = cluster(swept, "leonardo")
    assert (good["status"], good["queue"], good["flags"]) == ("swept", "ok", [])
    assert {entry["cluster"] for entry in swept.entries} == {"leonardo"}


@pytest.mark.parametrize("number", range(len(REFUSED)), ids=[" ".join(argv) for argv in REFUSED])
def test_a_cluster_that_asks_for_what_may_not_be_sent_is_blocked(number: int, swept: Sweep) -> None:
    name = f"asks{number:02}"
    assert cluster(swept, name)["status"] == "blocked" and "cluster.yaml" in cluster(swept, name)["because"]
    assert flags(swept, name) == (
        {"evidence-missing", "secret-risk"} if REFUSED[number] in SECRETS else {"evidence-missing"}
    )


@pytest.mark.parametrize("name", ["typo", "nobody", "other", "empty"])
def test_a_cluster_without_a_valid_record_is_blocked(name: str, swept: Sweep) -> None:
    assert cluster(swept, name)["status"] == "blocked" and cluster(swept, name)["because"]
    assert flags(swept, name) == {"evidence-missing"}


@pytest.mark.parametrize(("name", "because"), [("dormant", "moved to a new hall"), ("dropped", "not used any more")])
def test_a_cluster_that_its_record_keeps_out_is_skipped(name: str, because: str, swept: Sweep) -> None:
    skipped = cluster(swept, name)
    assert (skipped["status"], skipped["queue"]) == ("skipped", "unknown") and because in skipped["because"]
    assert flags(swept, name) == {"cluster-skipped"}


def test_what_a_record_bans_is_not_sent_even_when_the_sweep_needs_it(
    logins: Logins, standard_jobs: Submitted, tmp_path: Path
) -> None:
    product = Product(tmp_path, logins, reach={"fallbacks": []})
    last = {"via": "openssh", "host": FORBIDDEN}
    product.add("banned", record("banned", bans=["find", "du"], reach=last))
    first = product.sweep()
    assert (first.status, cluster(first, "banned")["status"]) == (0, "swept")
    product.add("banned", record("banned", bans=["sacct"], reach=last))
    sessions = logins.sessions(FORBIDDEN)
    sweep = product.sweep()
    assert logins.sessions(FORBIDDEN) == sessions
    assert sweep.status == 3 and cluster(sweep, "leonardo")["status"] == "swept"
    blocked = cluster(sweep, "banned")
    assert (blocked["status"], flags(sweep, "banned")) == ("blocked", {"evidence-missing"})
    assert "bans `sacct`" in blocked["because"]
    # The jobs that were there keep their rows, and nothing is said of how they are.
    before = {
        entry["job_id"] for entry in first.entries if entry["cluster"] == "banned" and entry["state"] == "RUNNING"
    }
    now = {entry["job_id"]: entry for entry in sweep.entries if entry["cluster"] == "banned"}
    assert before and before <= set(now)
    assert {(entry["state"], entry["health"]) for entry in now.values()} == {("UNKNOWN", "unknown")}


def test_a_broken_rule_sends_nothing_to_anyone(logins: Logins, tmp_path: Path) -> None:
    broken = "policy: 1\ntitle: Broken\nrules:\n  - {id: x.y, on: job, when: {stat: RUNNING}, then: {flag: failure}}\n"
    product = Product(tmp_path, logins, policy=broken)
    before = {host: logins.sessions(host) for host in LOGINS}
    done = product.run(*product.argv()[1:])
    assert (done.status, done.stdout) == (2, "")
    assert "site.yaml:4:" in done.stderr and "state" in done.stderr and "Traceback" not in done.stderr
    assert {host: logins.sessions(host) for host in LOGINS} == before


def test_the_schema_check_of_these_tests_bites() -> None:
    with pytest.raises(AssertionError):
        validate("report", {"schema_version": 1})

"""Causes that stand on another subject than the job: on which jobs they are named, and on which they are not."""

from __future__ import annotations

from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import ABSENT, FactValue, Ref, Relation, Subject, World
from sweeprules.engine.verdicts import Verdict
from tests.rules.shipped import catalogue, policy

NOW = 1_782_907_200
CLUSTER, SWEEP = Ref("cluster", "leonardo"), Ref("sweep", "s1")
CERTIFICATE = Ref("credential", "leonardo:~/.ssh/x-cert.pub")


def _job(number: str, name: str, **facts: FactValue) -> Subject:
    """A job that failed two hours ago; the record's only certificate is joined to it, whatever it does."""
    ref = Ref("job", f"leonardo:{number}")
    known: dict[str, FactValue] = {"key": ref.key, "job_id": number, "cluster": "leonardo", "name": name}
    ended: dict[str, FactValue] = {"state": "FAILED", "ended": NOW - 7200, "elapsed": 22, "run_tag": ABSENT}
    joined = {"cluster": Relation((CLUSTER,)), "credential": Relation((CERTIFICATE,))}
    return Subject(ref, known | ended | facts, relations=joined)


def _verdicts(left: float) -> dict[Ref, Verdict]:
    until = NOW + left if left else NOW - 10_800
    facts: dict[str, FactValue] = {"path": "~/.ssh/x-cert.pub", "valid_until": until, "left": left, "forever": False}
    certificate = Subject(
        CERTIFICATE, facts | {"needed_by": ("hf_upload",)}, relations={"cluster": Relation((CLUSTER,))}
    )
    jobs = [
        _job("1", "hf_upload_x", **{"lines.publickey-denied.count": 1, "exit": "255:0"}),
        _job("2", "sft__x", **{"lines.triton-cache-missing.count": 1, "exit": "1:0", "exit_code": 1}),
    ]
    cluster = Subject(CLUSTER, {"name": "leonardo"}, relations={"jobs": Relation(tuple(job.ref for job in jobs))})
    everything = [certificate, cluster, *jobs, Subject(SWEEP, {"now": NOW})]
    return judge(policy(), World({subject.ref: subject for subject in everything}), catalogue())


def _explained(verdict: Verdict) -> dict[str, tuple[str, ...]]:
    return {flag.name: flag.explained_by for flag in verdict.flags}


def test_a_failed_upload_names_the_certificate_that_had_ended() -> None:
    found = _verdicts(left=0)
    assert [flag.name for flag in found[CERTIFICATE].flags] == ["cert-expired"]
    by_job = _explained(found[Ref("job", "leonardo:1")])
    assert by_job["failure"] == ("cert-expired", f"cert-expired@{CERTIFICATE}")
    assert by_job["cert-expired"] == ()


def test_a_failure_of_another_kind_does_not() -> None:
    by_job = _explained(_verdicts(left=0)[Ref("job", "leonardo:2")])
    assert by_job == {"failure": ("postpatch-missing",), "postpatch-missing": ()}


def test_a_certificate_is_handed_over_once() -> None:
    found = _verdicts(left=0)
    assert [action.name for action in found[CERTIFICATE].actions] == []
    assert "refresh-cert" in [action.name for action in found[Ref("job", "leonardo:1")].actions]


def test_a_certificate_that_is_about_to_end_explains_no_failure() -> None:
    found = _verdicts(left=5400)
    assert [flag.name for flag in found[CERTIFICATE].flags] == ["cert-expiring"]
    assert [action.name for action in found[CERTIFICATE].actions] == ["refresh-cert"]
    assert _explained(found[Ref("job", "leonardo:1")]) == {"failure": ()}

"""Refused submissions and reservations: lists of records, as the controller and the launchers' logs give them."""

from __future__ import annotations

import pytest

from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import FactValue, Ref, Relation, Subject, Unknown, Value, World
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from tests.rules.shipped import catalogue, policy

NOW = 1_782_907_200
CLUSTER, JOB, SWEEP = Ref("cluster", "leonardo"), Ref("job", "leonardo:7"), Ref("sweep", "s1")
TEXT = "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified"


def _refusal(text: str = TEXT, ago: int = 1800) -> Value:
    return {"text": text, "time": NOW - ago, "log": "/w/logs/launch.log"}


def _reservation(flags: tuple[str, ...] = ("MAINT", "SPEC_NODES"), begins: int = -3600, ends: int = 3600) -> Value:
    return {"name": "m", "flags": flags, "from": NOW + begins, "to": NOW + ends, "partition": "all"}


def _judge(
    refusals: FactValue, reservations: FactValue, means: FactValue = "maintenance", accepted: int = 7200
) -> Truth:
    cluster = Subject(
        CLUSTER,
        {
            "name": "leonardo",
            "status": "swept",
            "queue": "ok",
            "empty_answers": 0,
            "submit_refusals": refusals,
            "refusal_means": means,
            "reservations": reservations,
        },
        relations={"jobs": Relation((JOB,))},
    )
    own: dict[str, FactValue] = {"key": JOB.key, "job_id": "7", "cluster": "leonardo", "name": "sft__x"}
    job = Subject(JOB, own | {"submitted": NOW - accepted}, relations={"cluster": Relation((CLUSTER,))})
    world = World({CLUSTER: cluster, JOB: job, SWEEP: Subject(SWEEP, {"now": NOW})})
    verdict = judge(policy(), world, catalogue())[CLUSTER]
    flags = {flag.name for flag in verdict.flags}
    truth = verdict.truths["gather.maintenance"]
    assert ("maintenance-submit" in flags) is (truth is TRUE)
    assert ("evidence-missing" in flags) is (verdict.truths["gather.refusals-unexplained"] is TRUE)
    if truth is TRUE:
        assert {action.name: dict(action.args) for action in verdict.actions} == {"retry-later": {"after": 86400}}
    return truth


def test_one_refusal_inside_an_active_reservation_is_maintenance() -> None:
    assert _judge((_refusal(),), (_reservation(),)) is TRUE


@pytest.mark.parametrize(
    "reservation",
    [_reservation(begins=3600, ends=7200), _reservation(begins=-7200, ends=-3600), _reservation(flags=("DAILY",))],
    ids=["to come", "over", "of another kind"],
)
def test_a_reservation_that_does_not_hold_now_explains_nothing(reservation: Value) -> None:
    assert _judge((_refusal(),), (reservation,)) is FALSE


def test_a_job_accepted_after_the_refusal_says_that_the_account_is_good() -> None:
    assert _judge((_refusal(),), (_reservation(),), accepted=600) is FALSE


def test_where_the_text_means_an_association_it_is_no_maintenance() -> None:
    assert _judge((_refusal(), _refusal()), (_reservation(),), means="association") is FALSE


def test_refused_alike_without_a_job_accepted_since() -> None:
    assert _judge((_refusal(ago=3000), _refusal()), ()) is TRUE


def test_another_refusal_is_another_matter() -> None:
    other = _refusal("sbatch: error: Batch job submission failed: Requested node configuration is not available")
    assert _judge((other, other), (_reservation(),)) is FALSE


def test_unread_reservations_leave_one_refusal_unexplained() -> None:
    assert _judge((_refusal(),), Unknown("read-failed")) is UNKNOWN

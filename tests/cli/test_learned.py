"""What a sweep learns of the jobs that run: of which, from what, and what is kept of it."""

from __future__ import annotations

import pytest

from sweeprules.cli.cadence import cadence_params
from sweeprules.cli.learned import Learning, lasting, with_learned
from sweeprules.collectors.cadence import history_key
from sweeprules.collectors.gaps import CadenceMemo, Gaps, Moved
from sweeprules.collectors.learning import News
from sweeprules.collectors.prior import JobMemo
from sweeprules.engine.facts import ABSENT, NOT_APPLICABLE, FactValue, Ref, Relation, Subject, Unknown
from tests.engine.evaluate.site import policy
from tests.rules import shipped

NOW, HOUR = 1_782_907_200.0, 3600.0
JOB = Ref("job", "leo:1")
IN_DOUBT = Unknown("not-read", "$default_cadence turns on a tag, bucket or cluster that is unknown")
NOBODY = Learning({}, {}, {}, NOW)
GAPS = Gaps((720.0,) * 20, 20)


def job(judged: bool = True, run: str = "", **facts: FactValue) -> Subject:
    base: dict[str, FactValue] = {
        "state": "RUNNING", "cluster": "leo", "job_id": "1", "name": "rl__a2-8B", "step": 12, "started": NOW - 9 * HOUR,
        "phase": "steady",
    }  # fmt: skip
    relations = {"run": Relation((Ref("run", run),))} if run else {}
    return Subject(JOB, {**base, **facts}, {}, relations, judged=judged)


def cluster(status: str = "swept") -> Subject:
    return Subject(Ref("cluster", "leo"), {"status": status})


def learned(one: Subject, bucket: str | None = "rl", learning: Learning = NOBODY, status: str = "swept"):
    buckets = {} if bucket is None else {JOB: bucket}
    made, found = with_learned([cluster(status), one], buckets, {}, learning, shipped.policy())
    return made[1], found


@pytest.mark.parametrize("other", [job(state="PENDING"), job(state="COMPLETED"), job(judged=False)])
def test_of_a_job_that_does_not_run_nothing_is_learned(other: Subject) -> None:
    assert learned(other) == (other, {})


def test_a_running_job_has_the_default_until_more_is_known() -> None:
    made, found = learned(job())
    told = {name: made.get(name) for name in ("cadence", "cadence_source", "cadence_gaps", "cadence_basis")}
    assert told == {"cadence": 1800, "cadence_source": "default", "cadence_gaps": 0, "cadence_basis": "the default"}
    assert (made.get("progress_marker"), made.get("unchanged_sweeps"), made.get("progress")) == ("step 12", 1, True)
    assert made.sources["cadence"].command == "policy parameter default_cadence"
    assert found[JOB.key].progress is not None


def test_of_a_job_whose_bucket_is_not_known_nothing_can_be_told() -> None:
    made, found = learned(job(), None)
    assert found == {}
    for name in ("cadence", "cadence_source", "cadence_basis", "progress_marker", "progress_age", "progress"):
        assert made.get(name) == Unknown("not-read", "the bucket is unknown")


def test_a_job_of_the_rest_is_not_asked() -> None:
    made, found = learned(job(), "catch-all")
    assert found == {} and made.get("progress") == NOT_APPLICABLE == made.get("cadence")


def test_a_cluster_that_was_not_swept_whole_is_no_look() -> None:
    assert learned(job(), status="partial")[0].get("unchanged_sweeps") == 0


def test_what_is_new_in_its_log_teaches_its_own_gaps() -> None:
    moved = tuple(
        Moved("rl-train-metrics", number, NOW - 4 * HOUR + 600.0 * number, None, number) for number in range(12)
    )
    made, _ = learned(job(), learning=Learning({JOB.key: News(moved)}, {}, {}, NOW))
    assert (made.get("cadence"), made.get("cadence_basis")) == (600.0, "p99 of 11 gaps")
    assert "its own signs" in made.sources["cadence_basis"].command


def test_an_earlier_link_of_its_run_comes_before_earlier_jobs_of_its_kind() -> None:
    link = JobMemo("leo", "0", run="leo:0", cadence=CadenceMemo({("steady", "rl-train-metrics"): GAPS}))
    kind = f"{history_key('rl', '8b', 'leo')} steady"
    history = {kind: Gaps((60.0,) * 30, 30)}
    learning = Learning({}, {link.key: link}, history, NOW)
    made, _ = learned(job(run="leo:0"), learning=learning)
    assert (made.get("cadence"), made.get("cadence_source")) == (720.0, "learned")
    made, _ = learned(job(run="leo:9"), learning=learning)
    assert (made.get("cadence"), made.get("cadence_source")) == (60.0, "history")
    assert made.get("cadence_basis") == "p99 of 30 gaps of earlier jobs of its kind"


def test_a_recording_that_is_replayed_leaves_nothing_behind() -> None:
    _, found = learned(job())
    assert lasting(found, {"leo": None}) == {} and lasting(found, {}) == found


@pytest.mark.parametrize(
    ("match", "tags", "names", "value"),
    [
        ("tag: 131k", ("131k",), (), 7200),
        ("tag: 131k", ("a2",), (), 1800),
        ("tag: 131k", Unknown("not-read"), (), IN_DOUBT),
        ("job: 'leo:1'", ABSENT, ("leo:1", "1", "rl__slow"), 7200),
        ("job: 'leo:1'", ABSENT, ("leo:2", "2", "rl__other"), 1800),
    ],
)  # fmt: skip
def test_a_tag_or_a_job_may_have_a_cadence_of_its_own(
    match: str, tags: FactValue, names: tuple[str, ...], value: FactValue
) -> None:
    p = policy(f"policy: 1\ntitle: t\nparams: {{default_cadence: {{default: 30m, for: [{{{match}, value: 2h}}]}}}}\n")
    assert cadence_params(p, "leo", "rl", tags, names).default == value

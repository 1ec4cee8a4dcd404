"""A proof is true on a positive fact of this sweep, and on nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sweeprules.engine.facts import ABSENT, FactValue, Ref, Relation, Source, Subject, Unknown, World
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from sweeprules.engine.verdicts import Verdict
from sweeprules.handoffs.prove import Case, prove

REF = Ref("job", "aurora:7")
UNREAD = Unknown("read-failed")
SOURCE = Source("aurora/1.2", "squeue -h", "login01", "7 RUNNING", 10.0)


def case(next_state: FactValue | None = None, **facts: FactValue) -> Case:
    relations = {}
    subjects = {}
    if next_state is not None:
        successor = Ref("job", "aurora:8")
        subjects[successor] = Subject(successor, {"state": next_state, "state_source": "squeue"})
        relations["next_link"] = Relation((successor,))
    named = {"state_source": "squeue"} | {name.replace("__", "."): value for name, value in facts.items()}
    subject = Subject(REF, named, {name: SOURCE for name in named}, relations)
    return Case(subject, Verdict(REF, {}, {}, (), ()), World({**subjects, REF: subject}), "alice")


@pytest.mark.parametrize(
    ("name", "facts", "truth"),
    [
        ("own-jobs", {"user": "alice"}, TRUE),
        ("own-jobs", {"user": "bob"}, FALSE),
        ("own-jobs", {"user": UNREAD}, UNKNOWN),
        ("own-jobs", {}, UNKNOWN),
        ("still-running", {"state": "RUNNING"}, TRUE),
        ("still-running", {"state": "COMPLETED"}, FALSE),
        ("still-running", {"state": UNREAD}, UNKNOWN),
        ("still-running", {"state": "RUNNING", "state_source": "sacct"}, UNKNOWN),
        ("still-running", {"state": "RUNNING", "state_source": UNREAD}, UNKNOWN),
        ("never-started", {"state": "PENDING", "started": ABSENT, "state_source": "sacct"}, UNKNOWN),
        ("never-started", {"state": "PENDING", "started": ABSENT}, TRUE),
        ("never-started", {"state": "PENDING", "started": UNREAD}, UNKNOWN),
        ("never-started", {"state": "PENDING", "started": 5.0}, FALSE),
        ("never-started", {"state": "RUNNING", "started": ABSENT}, FALSE),
        ("never-worked", {"state_reason": "Prolog", "log__exists": ABSENT}, TRUE),
        ("never-worked", {"state_reason": "Prolog", "log__exists": UNREAD}, UNKNOWN),
        ("never-worked", {"state_reason": "Prolog", "log__exists": True}, FALSE),
        ("never-worked", {"state_reason": "None", "log__exists": ABSENT}, FALSE),
        ("flavour-known", {"flavour": "agentic"}, TRUE),
        ("flavour-known", {"flavour": UNREAD}, UNKNOWN),
        ("artifact-on-hub", {"state": "COMPLETED"}, UNKNOWN),
    ],
)
def test_each_proof(name: str, facts: dict[str, FactValue], truth: Truth) -> None:
    assert prove(name, case(**facts)).truth is truth


@pytest.mark.parametrize(
    ("state", "truth"), [("RUNNING", TRUE), ("PENDING", TRUE), ("FAILED", FALSE), (UNREAD, UNKNOWN), (None, UNKNOWN)]
)
def test_a_successor_is_seen_in_the_queue_or_not_at_all(state: FactValue | None, truth: Truth) -> None:
    assert prove("successor-seen", case(next_state=state)).truth is truth


def test_the_end_of_a_job_is_proved_by_accounting_alone() -> None:
    assert prove("terminal-by-accounting", case(state="FAILED", state_source="scontrol")).truth is not TRUE
    assert prove("terminal-by-accounting", case(state="GONE", state_source="sacct")).truth is not TRUE
    assert prove("terminal-by-accounting", case(state="FAILED", state_source="sacct")).truth is TRUE
    assert prove("terminal-by-accounting", case(state=UNREAD, state_source="sacct")).truth is UNKNOWN


def test_a_true_proof_quotes_what_was_read() -> None:
    proof = prove("own-jobs", case(user="alice"))
    assert "squeue -h via login01: 7 RUNNING" in proof.source
    assert proof.at == 10.0


def test_what_is_to_be_proved_of_jobs_is_proved_of_those_that_the_action_names() -> None:
    ended = case(user="alice", state="COMPLETED", started=5.0, state_source="sacct")
    waits: dict[str, FactValue] = {"user": "alice", "state": "PENDING", "started": ABSENT, "state_source": "squeue"}
    others = {
        Ref("job", f"aurora:{number}"): Subject(Ref("job", f"aurora:{number}"), facts)
        for number, facts in (
            (8, waits),
            (9, waits),
            (10, {**waits, "state": "RUNNING"}),
            (11, {**waits, "user": "bob"}),
        )
    }
    of = replace(ended, world=World({**ended.world.subjects, **others}))
    for ids, started, own in (
        (("8", "9"), TRUE, TRUE),
        (("8", "10"), FALSE, TRUE),
        (("8", "11"), TRUE, FALSE),
        (("8", "12"), UNKNOWN, UNKNOWN),
        ((), FALSE, TRUE),
    ):
        named = replace(of, ids=ids)
        assert (prove("never-started", named).truth, prove("own-jobs", named).truth) == (started, own)
    assert prove("never-started", replace(of, ids=("12",))).source == "state was not read"


@pytest.mark.parametrize(
    ("done", "before", "planned", "truth"),
    [
        (300, 300, 300, TRUE),
        (301, 300, 300, TRUE),
        (299, 300, 300, FALSE),
        (300, 299, 300, FALSE),
        (300, UNREAD, 300, UNKNOWN),
        (UNREAD, 300, 300, UNKNOWN),
        (300, None, 300, UNKNOWN),
        (300, 300, UNREAD, UNKNOWN),
        (0, 0, 0, UNKNOWN),
        (ABSENT, 300, 300, FALSE),
    ],
)
def test_all_trials_are_done_where_two_sweeps_say_so(
    done: FactValue, before: FactValue | None, planned: FactValue, truth: Truth
) -> None:
    earlier = Ref("job", "aurora:7@1")
    subjects = {}
    if before is not None:
        subjects[earlier] = Subject(earlier, {"trials_done": before, "trials_planned": planned})
    facts = {"trials_done": done, "trials_planned": planned}
    job = Subject(REF, facts, {"trials_done": SOURCE}, {"previous": Relation((earlier,) if before is not None else ())})
    given = Case(job, Verdict(REF, {}, {}, (), ()), World({**subjects, REF: job}), "alice")
    proof = prove("all-trials-done", given)
    assert proof.truth is truth and "squeue" in proof.source

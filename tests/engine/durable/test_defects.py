"""One test for each known defect of durable-rules 2.0.28: the guard holds, or the rule is lowered or written otherwise.

The numbers are those of the list in `sweeprules.engine.durable`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from sweeprules.engine.durable.checked import run_durable
from sweeprules.engine.durable.child import Engine
from sweeprules.engine.durable.encode import json_text
from sweeprules.engine.durable.program import program
from sweeprules.engine.durable.run import DurableTruths, Session
from sweeprules.engine.durable.runner import Child, ChildLostError
from sweeprules.engine.durable.wire import request
from sweeprules.engine.facts import ABSENT, NOT_READ, FactValue, Ref, Subject, World
from sweeprules.engine.language import ast
from sweeprules.engine.truth import TRUE, UNKNOWN
from tests.engine import strategies as gen
from tests.engine.durable import make
from tests.engine.durable.agreeing import agreed
from tests.engine.durable.safe import assert_safe

CADENCE = ast.FieldRef(make.path("cadence"))
PAIR = make.policy(
    make.rule("a", make.test("nodes", "ge", 1), make.signal("one")),
    make.rule("b", make.test("entropy", "lt", 0.5), make.signal("two")),
    make.rule("c", make.test("log_age", "gt", CADENCE), make.signal("three")),
    make.rule("pair", make.at_least(2, "one", "two", "three"), make.flag("pair")),
    make.rule("quiet", make.every(make.test("state", "eq", "RUNNING"), make.no(make.flagged("pair")))),
)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Child(600.0) as child:
        yield Session(child)


def many(count: int) -> World:
    """Jobs that differ enough for joins to fail at every place."""
    ages: list[FactValue] = [10, 20.0, NOT_READ, ABSENT]
    states = ["RUNNING", "FAILED"]
    jobs = [
        make.job(str(i), nodes=i % 3, entropy=(i % 5) / 4, log_age=ages[i % 4], cadence=15, state=states[i % 2])
        for i in range(count)
    ]
    return make.world(*jobs)


@settings(max_examples=150, deadline=None)
@given(gen.policies())
def test_every_definition_stays_in_the_safe_subset(policy: ast.Policy) -> None:
    for unit in program(policy).units:
        assert_safe(unit)


@pytest.mark.parametrize("count", [40, 600, 1000, 1400])
def test_01_joins_end_with_a_guard_and_so_never_read_past_their_end(
    session: Session, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeprules.engine.durable.run.BATCH", count)
    for unit in program(PAIR).units:
        assert_safe(unit)
    found = agreed(PAIR, many(count), session)
    assert len(found.true["pair"]) > count / 10


def test_02_no_join_is_on_id_or_sid_and_none_of_400_is_lost(session: Session) -> None:
    policy = make.policy(
        make.rule("flagged", make.test("nodes", "ge", 0), make.flag("up")),
        make.rule("follows", make.every(make.flagged("up"), make.test("state", "eq", "RUNNING"))),
    )
    jobs = [make.job(str(i), nodes=1, state="RUNNING") for i in range(400)]
    assert len(agreed(policy, make.world(*jobs), session).true["follows"]) == 400


RAW = """
import durable_rules_engine as d, json, sys
definition, facts = sys.stdin.read().split("\\n")
handle = d.create_ruleset("r", definition)
code, state = d.assert_facts(handle, facts)
fired, started = 0, d.start_action_for_state(handle, state)
message = started and started[1]
while message:
    fired, message = fired + 1, d.complete_and_start_action(handle, state)
print(json.dumps([code, fired]))
"""


def raw(definition: dict[str, Any], facts: str) -> list[int]:
    """What the engine itself answers: its return code and the number of firings."""
    text = json.dumps(definition) + "\n" + facts
    argv = [sys.executable, "-c", RAW]
    ran = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=30, check=True)
    found: list[int] = json.loads(ran.stdout)
    return found


def test_03_a_number_that_ends_a_batch_early_is_written_so_that_it_is_read(session: Session) -> None:
    rule = {"r": {"all": [{"m": {"t": "s"}}]}}
    facts = [f'{{"t":"s","sid":"1","id":"{i}","n":{n}}}' for i, n in enumerate(("1", "1e-05", "2"))]
    assert raw(rule, f"[{','.join(facts)}]") == [0, 1], "two of three are gone, and the code says success"
    policy = make.policy(make.rule("small", make.test("grad_norm", "le", 1e-05)))
    jobs = make.jobs_of([1e-05, 1e-05, 0.5, 1e16, -1e-300, 1e-05], "grad_norm")
    found = agreed(policy, make.world(*jobs), session)
    assert found.true["small"] == make.refs("0", "1", "4", "5")
    assert not found.skipped


def test_03_numbers_that_have_no_text_are_unknown_or_left_to_native(session: Session) -> None:
    policy = make.policy(make.rule("big", make.test("grad_norm", "gt", 1.0)))
    found = agreed(policy, make.world(*make.jobs_of([float("inf"), float("nan"), 1e301, 2.0], "grad_norm")), session)
    assert found.true["big"] == make.refs("3")
    assert set(found.skipped) == set(make.refs("2"))


def test_04_jobs_whose_ids_share_a_32_bit_hash_are_two_jobs(session: Session) -> None:
    policy = make.policy(
        make.rule("up", make.test("nodes", "eq", 1), make.flag("up")),
        make.rule("both", make.every(make.flagged("up"), make.test("state", "eq", "RUNNING"))),
    )
    refs = [Ref("job", key) for key in ("iris:49524997", "iris:482069")]
    one, two = Subject(refs[0], {"nodes": 1, "state": "FAILED"}), Subject(refs[1], {"nodes": 2, "state": "RUNNING"})
    found = agreed(policy, World({s.ref: s for s in (one, two)}), session)
    assert found.true["up"] == {refs[0]}
    assert not found.true["both"]


ONE_ACTION = {"r": {"alias": "m", "head": 0, "facts": []}}
TWO = {"r": {"all": [{"m": {"$and": [{"t": "s"}]}}]}, "z": {"all": [{"m": {"$and": [{"t": "z"}]}}]}}


def batch(*ids: str, sid: str = "1") -> str:
    """A batch of one fact an id, and the sentinel."""
    facts = [{"t": "s", "id": key, "j": str(j)} for j, key in enumerate(ids)]
    return "[" + ",".join(json_text({**fact, "sid": sid}) for fact in (*facts, {"t": "z", "id": "z", "j": "z"})) + "]"


def test_04_facts_of_one_hash_in_a_batch_are_seen_as_a_collision() -> None:
    with Child(20.0) as child:
        child.ask({"op": "load", "unit": 0, "actions": ONE_ACTION}, json_text(TWO))
        framed = request(
            {"op": "batch", "unit": 0, "sid": "1", "salt": "", "most": 9}, batch("iris:49524997", "iris:482069")
        )
        (reply,) = child.stream([framed])
    assert reply["error"] == "collision"


def test_04_a_batch_with_a_collision_is_sent_again_under_other_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = make.policy(make.rule("up", make.test("nodes", "eq", 1)))
    sent: list[bytes] = []

    def colliding(requests: Any) -> Iterator[dict[str, Any]]:
        for framed in requests:
            sent.append(framed)
            yield {"error": "collision"} if len(sent) < 3 else next(iter(stream([framed])))

    with Child(20.0) as child:
        child.greet()
        own = Session(child)
        stream = child.stream
        monkeypatch.setattr(child, "ask", lambda head, body="": next(iter(stream([request(head, body)]))))
        monkeypatch.setattr(child, "stream", colliding)
        found = run_durable(policy, make.world(*make.jobs_of([1, 2])), session=own)
    assert isinstance(found, DurableTruths)
    assert found.true["up"] == make.refs("0")
    assert len(sent) == 3
    assert len(set(sent)) == 3


def test_05_negation_is_a_positive_fact_of_its_own(session: Session) -> None:
    found = agreed(PAIR, many(400), session)
    assert found.true["quiet"]
    assert found.false["pair"] >= found.true["quiet"]


def test_06_thousands_of_batches_leave_no_state_behind(session: Session) -> None:
    with Child(60.0) as child:
        child.ask({"op": "load", "unit": 0, "actions": ONE_ACTION}, json_text(TWO))
        heads = ({"op": "batch", "unit": 0, "sid": str(i), "salt": "", "most": 9} for i in range(1500))
        replies = list(child.stream(request(dict(head), batch("a", sid=str(head["sid"]))) for head in heads))
    assert all(reply.get("fired") == [0, 0] for reply in replies)
    assert len(replies) == 1500


def test_07_a_batch_in_which_no_rule_fires_is_forgotten_without_harm(session: Session) -> None:
    policy = make.policy(make.rule("never", make.test("nodes", "gt", 100)))
    for _ in range(30):
        assert not agreed(policy, make.world(*make.jobs_of([1, NOT_READ])), session).true["never"]


def test_08_what_would_fire_for_ever_is_cut_off() -> None:
    with Child(20.0) as child:
        child.ask({"op": "load", "unit": 0, "actions": ONE_ACTION}, json_text(TWO))
        head: dict[str, object] = {"op": "batch", "unit": 0, "sid": "1", "salt": "", "most": 1}
        with pytest.raises(ChildLostError, match="loop"):
            child.ask(head, batch("a"))


def test_08_the_state_fact_is_never_asserted_again_and_meets_no_rule(session: Session) -> None:
    # It has no `t`, and every pattern asks for one first.
    for unit in program(PAIR).units:
        assert all("t" in next(iter(p.values()))["$and"][0] for rule in unit.definition.values() for p in rule["all"])


def test_09_a_division_by_zero_is_computed_here_and_is_unknown(session: Session) -> None:
    ratio = ast.Calc(ast.Arith("/", (ast.Const(90), CADENCE)), "90 / .cadence")
    policy = make.policy(make.rule("slow", make.test("log_age", "gt", ratio)))
    jobs = [make.job(str(i), log_age=50, cadence=c) for i, c in enumerate((0, 9, 1, 0.0))]
    assert agreed(policy, make.world(*jobs), session).true["slow"] == make.refs("1")


def test_10_no_batch_is_empty_and_no_fact_is(session: Session) -> None:
    assert not agreed(PAIR, make.world(), session).true["pair"]
    bare = Subject(Ref("job", "leo:0"), {})
    assert not agreed(PAIR, World({bare.ref: bare}), session).true["pair"]


def test_11_a_rule_with_two_true_branches_is_told_once_and_derives_once(session: Session) -> None:
    either = make.either(make.test("nodes", "ge", 1), make.test("state", "eq", "RUNNING"))
    policy = make.policy(
        make.rule("any", either, make.signal("s")),
        make.rule("also", make.test("nodes", "ge", 2), make.signal("t")),
        make.rule("two", make.at_least(2, "s", "t", "none")),
    )
    found = agreed(policy, make.world(make.job("0", nodes=1, state="RUNNING"), make.job("1", nodes=2)), session)
    assert found.true["any"] == make.refs("0", "1")
    assert found.true["two"] == make.refs("1")


def test_12_five_equals_five_point_zero_in_a_join_and_true_is_not_one(session: Session) -> None:
    policy = make.policy(
        make.rule("same", make.test("nodes", "eq", ast.FieldRef(make.path("grad_norm")))),
        make.rule("other", make.no(make.test("nodes", "eq", ast.FieldRef(make.path("grad_norm"))))),
        make.rule("watch", make.no(make.rule_is("other", UNKNOWN))),
    )
    jobs = [make.job(str(i), nodes=5, grad_norm=g) for i, g in enumerate((5.0, 5, 5.5, True, NOT_READ))]
    found = agreed(policy, make.world(*jobs), session)
    assert found.true["same"] == make.refs("0", "1")
    assert found.true["other"] == make.refs("2")
    assert set(found.skipped) == set(make.refs("3"))


def test_13_a_join_always_finds_its_fields(session: Session) -> None:
    policy = make.policy(
        make.rule("old", make.test("log_age", "gt", CADENCE)),
        make.rule("young", make.no(make.test("log_age", "gt", CADENCE))),
    )
    values: list[FactValue] = [1, 2.5, NOT_READ, ABSENT]
    jobs = [make.job(f"{i}{k}", log_age=a, cadence=c) for i, a in enumerate(values) for k, c in enumerate(values)]
    found = agreed(policy, make.world(*jobs), session)
    assert found.true["old"] == make.refs("10")
    # Three that are not older, two that compare with what is absent, and all four whose own age is absent.
    assert len(found.true["young"]) == 3 + 2 + 4


def test_14_an_error_in_an_action_is_reported_and_never_swallowed() -> None:
    unread = {"alias": "m", "head": 0, "facts": [{"t": "nobody"}]}
    for action, error in (({"alias": "gone", "head": 0, "facts": []}, "KeyError"), (unread, "unhandled")):
        with Child(20.0) as child:
            child.ask({"op": "load", "unit": 0, "actions": {"r": action}}, json_text(TWO))
            head: dict[str, object] = {"op": "batch", "unit": 0, "sid": "1", "salt": "", "most": 9}
            with pytest.raises(ChildLostError, match=error):
                child.ask(head, batch("a"))


THREADS = """
import sys, threading
import durable_rules_engine
from sweeprules.engine.durable.child import Engine
engine = Engine(durable_rules_engine)
definition, body = sys.stdin.read().split("\\n")
engine.load({"unit": 0, "actions": {"r": {"alias": "m", "head": 0, "facts": []}}}, definition)
batch = engine.run({"unit": 0, "sid": "1", "salt": "", "most": 9}, body)
print(batch.fired, threading.active_count(), "durable.engine" in sys.modules)
"""


def test_15_16_17_actions_are_data_run_in_one_thread_without_the_host_and_all_at_once() -> None:
    """No lease of ten seconds, no function whose parameters are counted, no agenda that waits for a timer."""
    text = json_text(TWO) + "\n" + batch("a", "b", "c")
    ran = subprocess.run(
        [sys.executable, "-c", THREADS], input=text, capture_output=True, text=True, timeout=30, check=True
    )
    assert ran.stdout.strip() == "[0, 2, 0, 1, 0, 0] 1 False"
    for unit in program(PAIR).units:
        assert json.loads(json.dumps(unit.actions)) == unit.actions


def test_15_an_agenda_of_more_than_ten_seconds_runs_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    durable = pytest.importorskip("durable_rules_engine")
    engine = Engine(durable)
    engine.load({"unit": 0, "actions": ONE_ACTION}, json_text(TWO))
    clock = iter(range(0, 10**6, 60))
    monkeypatch.setattr("time.time", lambda: next(clock))
    body = batch(*map(str, range(20)))
    assert len(engine.run({"unit": 0, "sid": "1", "salt": "", "most": 99}, body).fired) == 40


def test_17_each_batch_has_one_sid_and_its_reply_holds_all_that_fired(session: Session) -> None:
    policy = make.policy(make.rule("up", make.test("nodes", "ge", 1)))
    found = agreed(policy, make.world(*make.jobs_of([1] * 5000)), session)
    assert len(found.true["up"]) == 5000


def test_the_truth_of_a_rule_is_read_only_when_both_its_sides_are_finished(session: Session) -> None:
    policy = make.policy(
        make.rule("up", make.test("nodes", "ge", 1)),
        make.rule("doubt", make.rule_is("up", UNKNOWN)),
        make.rule("sure", make.no(make.rule_is("up", TRUE))),
    )
    found = agreed(policy, make.world(*make.jobs_of([1, 0, NOT_READ, ABSENT])), session)
    assert found.true["doubt"] == make.refs("2")
    assert found.true["sure"] == make.refs("1", "2", "3")

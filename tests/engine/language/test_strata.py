"""The order in which rules are judged, and the cycles that have none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.engine.language.loading import FULL, load, problems, rule, rules


def levels(*texts: str, more: str = "") -> dict[str, int]:
    policy = load(rules(*texts) + more)
    return {name: level for level, names in enumerate(policy.order) for name in names}


def test_every_rule_and_decided_field_has_one_place() -> None:
    policy = load(FULL.read_text())
    placed = [name for stratum in policy.order for name in stratum]
    assert sorted(placed) == sorted([*policy.rules, "decide:bucket", "decide:flavour"])


def test_a_positive_chain_is_one_stratum_in_the_order_of_its_links() -> None:
    policy = load(
        rules(
            rule("{flagged: stale-log}", "{flag: log-absent}", id="c.last"),
            rule("{flagged: bringup}", "{flag: stale-log}", id="b.mid"),
            rule("{state: RUNNING}", "{flag: bringup}", id="z.first"),
        )
    )
    assert policy.order == (("z.first", "b.mid", "c.last"),)


def test_a_positive_cycle_is_allowed_in_one_stratum() -> None:
    one = rule("{any: [{state: RUNNING}, {flagged: bringup}]}", "{flag: stale-log}", id="a")
    two = rule("{flagged: stale-log}", "{flag: bringup}", id="b")
    assert load(rules(one, two)).order == (("a", "b"),)


def test_what_is_denied_stands_in_an_earlier_stratum() -> None:
    first = rule("{state: RUNNING}", "{flag: bringup}", id="b")
    for then in (
        "{not: {flagged: bringup}}",
        "{rule: {id: b, is: false}}",
        "{every: {of: siblings, is: {flagged: bringup}}}",
    ):
        found = levels(rule(then, id="a"), first)
        assert found["b"] < found["a"], then


def test_unless_needs_its_flags_settled() -> None:
    found = levels(
        rule("{state: RUNNING}", id="a", more="unless: {flagged: bringup}"),
        rule("{state: PENDING}", "{flag: bringup}", id="b"),
    )
    assert found["b"] < found["a"]


def test_a_field_that_rules_set_is_settled_before_it_is_read() -> None:
    setter = rule("{state: RUNNING}", "{set: {phase: steady}}", id="s")
    adder = rule("{state: RUNNING}", "{add: {tags: debug}}", id="t")
    for when in (
        "{phase: steady}",
        "{phase: {ne: .phase}}",
        "{run.row.phase: steady}",
        "{some: {of: siblings, is: {phase: steady}}}",
    ):
        assert levels(rule(when, id="a"), setter)["a"] == 1, when
    assert levels(rule("{tags: {contains: debug}}", id="a"), adder)["a"] == 1


def test_the_last_sweep_is_settled_already() -> None:
    setter = rule("{previous.phase: steady}", "{set: {phase: steady}}", id="s")
    assert levels(setter) == {"s": 0}


def test_decided_fields_and_overrides_by_them_come_first() -> None:
    more = "decide: {bucket: [{otherwise: rl}]}\nparams: {p: {default: 1h, for: [{bucket: rl, value: 2h}]}}\n"
    for when in (
        "{bucket: rl}",
        "{bucket_sure: true}",
        "{elapsed: {gt: $p}}",
        "{elapsed: {gt: {calc: '$p - .cadence'}}}",
    ):
        found = levels(rule(when, id="a"), more=more)
        assert found["decide:bucket"] < found["a"], when


def test_overrides_by_tag_wait_for_the_tags() -> None:
    adder = rule("{state: RUNNING}", "{add: {tags: debug}}", id="t")
    more = "params: {p: {default: 1h, for: [{tag: debug, value: 2h}]}}\n"
    assert levels(rule("{elapsed: {gt: $p}}", id="a"), adder, more=more)["a"] == 1


def test_signals_bind_a_quorum_and_its_evaluable_more_tightly() -> None:
    signal = rule("{grad_norm: {gt: 0}}", "{signal: grad}", on="step", id="s")
    quorum = rule("{at_least: {n: 1, of: [grad]}}", "{flag: rl-collapse}", on="step", id="q")
    blind = rule("{at_least: {of: [grad], evaluable: {lt: 1}}}", "{flag: evidence-missing}", on="step", id="b")
    found = levels(signal, quorum, blind)
    assert (found["s"], found["q"], found["b"]) == (0, 0, 1)


def test_flags_of_steps_are_settled_before_the_job_reads_them() -> None:
    step = rule("{grad_norm: {gt: 0}}", "{flag: rl-collapse}", on="step", id="s")
    assert levels(step, rule("{flagged: rl-collapse}", id="a"))["a"] == 1


def test_a_flag_of_another_kind_is_no_dependency() -> None:
    cluster = rule(
        "{every: {of: jobs, is: {flagged: evidence-missing}}}", "{flag: evidence-missing}", on="cluster", id="c"
    )
    job = rule("{state: RUNNING}", "{flag: evidence-missing}", id="j")
    found = levels(cluster, job)
    assert found["j"] < found["c"]


def test_a_cycle_over_files_names_them() -> None:
    told = problems(
        {
            "a.yaml": rules(rule("{not: {flagged: bringup}}", id="a")),
            "b.yaml": rules(rule("{flagged: stale-log}", "{flag: bringup}", id="b")),
        }
    )
    way = "a (line 2) -> b (b.yaml:2) -> a (line 2)"
    assert told == [f"a.yaml:2:35: a cycle through not: {way} (a rule can not depend on its own denial)"]


def test_each_cycle_is_told() -> None:
    texts = [rule(f"{{rule: {{id: r{n}, is: false}}}}", id=f"r{n}") for n in range(3)]
    assert len(problems(rules(*texts))) == 3


FLAGS = ("bringup", "stale-log", "log-absent", "failure", "edquot", "prolog-wedge")


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from(["flagged", "not"]), st.integers(0, 5)), min_size=1, max_size=9
    )
)
def test_a_stratum_is_built_on_what_stands_before_it(wanted: list[tuple[int, str, int]]) -> None:
    """Against a plain second implementation: longest way by denials, or a cycle through one."""
    texts = [rule("{state: RUNNING}", f"{{flag: {flag}}}", id=f"base.{n}") for n, flag in enumerate(FLAGS)]
    edges: list[tuple[str, str, bool]] = []
    raisers = {n: [f"base.{n}"] for n in range(6)}
    for number, (flag, how, read) in enumerate(wanted):
        name = f"x.{number}"
        when = f"{{flagged: {FLAGS[read]}}}"
        texts.append(rule(when if how == "flagged" else f"{{not: {when}}}", f"{{flag: {FLAGS[flag]}}}", id=name))
        raisers[flag].append(name)
    for number, (_, how, read) in enumerate(wanted):
        edges += [(f"x.{number}", to, how == "not") for to in raisers[read]]
    level = {name: 0 for names in raisers.values() for name in names}
    for _ in range(len(level) + 1):
        for name, to, strict in edges:
            level[name] = max(level[name], level[to] + strict)
    cyclic = any(level[name] < level[to] + strict for name, to, strict in edges)
    told = problems(rules(*texts))
    assert bool(told) == cyclic
    if not cyclic:
        policy = load(rules(*texts))
        assert {name: n for n, names in enumerate(policy.order) for name in names} == level

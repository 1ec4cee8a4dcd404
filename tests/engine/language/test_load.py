"""From text to a typed policy: what a good one becomes."""

from __future__ import annotations

import pytest

from sweeprules.engine.errors import Mark
from sweeprules.engine.language import ast
from sweeprules.engine.language.canon import rule_source, to_data
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN
from tests.engine.language.loading import FULL, load, problems, rule, rules


@pytest.fixture(scope="module")
def full() -> ast.Policy:
    return load({"full.yaml": FULL.read_text()})


def only(text: str, *, on: str = "job", more: str = "") -> ast.Condition:
    """The condition of a policy of one rule that has no consequence."""
    return load(f"rules:\n  - id: r.one\n    on: {on}\n    when: {text}\n{more}").rules["r.one"].when


def the_test(text: str, *, on: str = "job", more: str = "") -> ast.Test:
    condition = only(text, on=on, more=more)
    assert isinstance(condition, ast.Test)
    return condition


def test_the_example_uses_every_construct_and_loads(full: ast.Policy) -> None:
    assert len(full.rules) == 24
    assert {type(one).__name__ for r in full.rules.values() for one in r.then} == {
        "Set", "Add", "Raise", "Signal", "Act",
    }  # fmt: skip


def test_a_test_has_its_path_type_place_and_text(full: ast.Policy) -> None:
    condition = full.rules["rl.entropy-low"].when
    assert isinstance(condition, ast.Test)
    assert condition.path == ast.Path((), "entropy", "step", "number")
    assert condition.compare == ast.Compare("lt", (ast.ParamRef("entropy_low"),))
    assert condition.text == "entropy: {lt: $entropy_low}"
    assert condition.mark.file == "full.yaml"
    line = FULL.read_text().splitlines()[condition.mark.line - 1]
    assert line[condition.mark.column - 1 :].startswith("entropy: {lt:")


def test_paths_over_relations_know_the_kind_that_they_end_at() -> None:
    assert the_test("{job.cluster.queue: ok}", on="step").path == ast.Path(
        ("job", "cluster"), "queue", "cluster", "enum"
    )
    assert the_test("{cluster: leonardo}").path == ast.Path((), "cluster", "job", "text")
    assert the_test("{caps.rl_running: {gt: 0}}", on="cluster").path.field == "caps.rl_running"
    assert the_test("{next_link.log.exists: {absent: true}}").path == ast.Path(
        ("next_link",), "log.exists", "job", "boolean"
    )


@pytest.mark.parametrize(
    ("written", "compare"),
    [
        ("{state: RUNNING}", ast.Compare("eq", (ast.Const("RUNNING"),))),
        ("{state: {ne: RUNNING}}", ast.Compare("ne", (ast.Const("RUNNING"),))),
        ("{state: {in: [FAILED, TIMEOUT]}}", ast.Compare("in", (ast.Const(("FAILED", "TIMEOUT")),))),
        ("{suspended: false}", ast.Compare("eq", (ast.Const(False),))),
        ("{exit_code: {between: [0, 1]}}", ast.Compare("between", (ast.Const(0), ast.Const(1)))),
        ("{elapsed: 90s}", ast.Compare("eq", (ast.Const(90, "90s"),))),
        ("{log.size: 2GiB}", ast.Compare("eq", (ast.Const(2**31, "2GiB"),))),
        ("{started: 2026-07-12}", ast.Compare("eq", (ast.Const(1783814400, "2026-07-12"),))),
        ("{name: {prefix: rl, fold: true}}", ast.Compare("prefix", (ast.Const("rl"),), fold=True)),
        ("{tags: {contains: debug}}", ast.Compare("contains", (ast.Const("debug"),))),
        ("{step: {known: false}}", ast.Compare("known", wanted=False)),
        ("{step: {unknown: true}}", ast.Compare("unknown")),
        ("{step: {absent: true}}", ast.Compare("absent")),
        (
            "{step: {gt: 0, default: 1, because: it has begun}}",
            ast.Compare("gt", (ast.Const(0),), default=ast.Const(1), because="it has begun"),
        ),
        ("{started: {le: .ended}}", ast.Compare("le", (ast.FieldRef(ast.Path((), "ended", "job", "time")),))),
        ("{elapsed: 0}", ast.Compare("eq", (ast.Const(0),))),
    ],
)
def test_tests(written: str, compare: ast.Compare) -> None:
    assert the_test(written).compare == compare


def test_possible_keeps_the_test_that_it_wraps() -> None:
    test = the_test("{rl_running: {possible: {ge: .caps.rl_running}}}", on="cluster").compare
    assert (test.op, test.possible) == ("ge", True)


def test_lists_stand_as_their_members_with_their_name() -> None:
    more = "lists: {live: [RUNNING, PENDING], limits: [90s, 2m]}\n"
    assert the_test("{state: {in: $live}}", more=more).compare.rights == (ast.Const(("RUNNING", "PENDING"), "$live"),)
    assert the_test("{elapsed: {not_in: $limits}}", more=more).compare.rights == (ast.Const((90, 120), "$limits"),)


def test_calc_is_a_tree() -> None:
    more = "params: {floor: {default: 30m}, factor: {default: 3}}\n"
    right = the_test('{log_age: {gt: {calc: "max($floor, -$factor * .cadence)"}}}', more=more).compare.rights[0]
    assert isinstance(right, ast.Calc)
    cadence = ast.FieldRef(ast.Path((), "cadence", "job", "duration"))
    product = ast.Arith("*", (ast.Arith("neg", (ast.ParamRef("factor"),)), cadence))
    assert right.root == ast.Arith("max", (ast.ParamRef("floor"), product))
    assert right.source == "max($floor, -$factor * .cadence)"


def test_pick_names_relation_and_field() -> None:
    right = the_test("{started: {gt: {most: {of: siblings, field: ended}}}}").compare.rights[0]
    of = ast.Path((), "siblings", "job", "relation")
    assert right == ast.Pick("most", of, ast.Path((), "ended", "job", "time"))


def test_quantifiers_view_the_member_and_reach_out_with_two_dots() -> None:
    found = only("{count: {of: cluster.jobs, where: {workdir: {ne: ..workdir}}, is: {gt: 0}}}")
    assert isinstance(found, ast.Quantified)
    assert found.of == ast.Path(("cluster",), "jobs", "cluster", "relation")
    assert (found.member_kind, found.holds, found.if_empty) == ("job", None, UNKNOWN)
    assert isinstance(found.where, ast.Test)
    outer = ast.FieldRef(ast.Path((), "workdir", "job", "text", "outer"))
    assert found.where.compare.rights == (outer,)
    assert found.compare == ast.Compare("gt", (ast.Const(0),))


@pytest.mark.parametrize(
    ("written", "field", "type_"),
    [
        ("{some: {of: node_list, is: {value: a}}}", "value", "text"),
        ("{some: {of: fault_lines, is: {key: a}}}", "key", "text"),
        ("{some: {of: fault_lines, is: {value: {gt: 0}}}}", "value", "integer"),
        ("{some: {of: links, is: {ended: {known: true}}}}", "ended", "time"),
    ],
)
def test_members_of_lists_maps_and_records(written: str, field: str, type_: str) -> None:
    found = only(written)
    assert isinstance(found, ast.Quantified)
    assert isinstance(found.holds, ast.Test)
    assert found.holds.path == ast.Path((), field, "member", type_)
    assert found.member_kind == "member"


@pytest.mark.parametrize(("word", "truth"), [("true", TRUE), ("false", FALSE), ("unknown", UNKNOWN)])
def test_if_empty_is_a_truth(word: str, truth: object) -> None:
    found = only(f"{{every: {{of: siblings, is: {{state: FAILED}}, if_empty: {word}}}}}")
    assert isinstance(found, ast.Quantified)
    assert found.if_empty is truth


def test_at_least_takes_signals_conditions_and_what_is_evaluable(full: ast.Policy) -> None:
    condition = full.rules["rl.collapse-undeterminable"].when
    assert isinstance(condition, ast.All)
    quorum = condition.items[1]
    assert isinstance(quorum, ast.AtLeast)
    assert [type(one).__name__ for one in quorum.of] == ["Signalled", "Signalled", "Signalled", "Test"]
    assert quorum.evaluable == ast.Compare("lt", (ast.Const(2),))
    assert (quorum.n, quorum.ignoring) == (None, ("warming-up",))


def test_consequences(full: ast.Policy) -> None:
    raised = full.rules["queue.drain-doubted"].then[0]
    assert isinstance(raised, ast.Raise)
    assert (raised.severity, raised.resolved) == ("info", True)
    act = full.rules["chain.restart"].then[1]
    assert isinstance(act, ast.Act)
    collected = act.args["ids"]
    assert isinstance(collected, ast.Collect)
    assert collected.of == ast.Path(("run",), "successors", "run", "record-list")
    salvage = full.rules["rl.collapse-of-a-live-run"].then[0]
    assert isinstance(salvage, ast.Act)
    ids = (ast.FieldRef(ast.Path((), "job_id", "job", "text")),)
    assert salvage.args == {"ids": ids, "step": ast.FieldRef(ast.Path((), "step", "job", "integer"))}
    later = full.rules["cluster.all-failed"].then[0]
    assert isinstance(later, ast.Act)
    assert later.args == {"after": ast.Const(1800, "30m")}


def test_params_with_overrides(full: ast.Policy) -> None:
    param = full.params["stale_floor"]
    assert (param.default, param.source, param.unit) == (1800, "30m", "")
    assert [(dict(row.match), row.value) for row in param.overrides] == [
        ({"cluster": "tacc", "bucket": "sft"}, 5400),
        ({"tag": "131k"}, 14400),
        ({"job": "tacc:7"}, 3600),
    ]
    assert full.params["few_steps"].unit == "steps"


def test_decide_patterns_exemptions_routes_words(full: ast.Policy) -> None:
    assert [choice.value for choice in full.decide["bucket"]] == ["catch-all", "rl", "sft", "catch-all"]
    assert full.decide["bucket"][-1].when is None
    assert full.patterns["bar"].fields == {"n": "integer", "m": "integer"}
    assert full.patterns["engine-up"].order == 5
    exemption = full.exemptions[0]
    assert (exemption.on, exemption.as_flag, exemption.owner) == ("job", "rl-collapse-ablation", "alice")
    assert exemption.expires == 1801353600
    assert [route.template for route in full.routes["cancel-salvage"]] == [
        "rl-agentic-job-cleanup", "rl-standard-job-cleanup", None,
    ]  # fmt: skip
    assert full.flags["disk-hungry"].subjects == ("job",)
    assert full.actions["tell-owner"].klass == "free"


def test_pattern_fields_are_typed() -> None:
    more = "patterns: {slow: {literal: ran, regex: '(?P<ms>[0-9]+)', kind: fault, fields: {ms: integer}}}\n"
    assert the_test("{lines.slow.ms: {gt: 0}}", more=more).path == ast.Path((), "lines.slow.ms", "job", "integer")
    assert the_test("{lines.slow.time: {gt: .started}}", more=more).path.type == "time"


def test_the_hash_is_over_meaning() -> None:
    plain = rules(rule("{all: [{state: RUNNING}, {elapsed: {gt: $grace}}]}")) + "params: {grace: {default: 15m}}\n"
    same = (
        "# a comment\nparams:\n  grace:\n    default: 900s   # the same\n"
        "rules:\n  - id: r.one\n    then: {flag: stale-log}\n    on: job\n"
        "    when:\n      all: [{state: {eq: RUNNING}}, elapsed: {gt: $grace}]\n"
    )
    assert load(plain).sha256 == load(same).sha256
    assert to_data(load(plain)) == to_data(load(same))
    assert load(plain).sha256 != load(plain.replace("15m", "16m")).sha256
    assert load(plain).sha256 != load(plain.replace("gt:", "ge:")).sha256
    assert load(plain).sha256 != load(plain.replace("r.one", "r.two")).sha256


def test_the_order_of_files_and_rules_has_no_meaning() -> None:
    one, two = rule("{state: RUNNING}"), rule("{flagged: stale-log}", "{flag: bringup}", id="r.two")
    together = load(rules(one, two))
    assert load(rules(two, one)).sha256 == together.sha256
    apart = load({"a.yaml": rules(two), "b.yaml": rules(one)})
    assert (apart.sha256, apart.order) == (together.sha256, together.order)


SHIPPED = rules(rule("{elapsed: {gt: $grace}}"), rule("{state: FAILED}", "{flag: failure}", id="r.two")) + (
    "params: {grace: {default: 15m, why: shipped}}\nlists: {live: [RUNNING]}\n"
)


def test_a_site_overrides_params_rules_and_lists_by_name() -> None:
    site = rules(rule("{state: TIMEOUT}", "{flag: failure}", id="r.two")) + (
        "params: {grace: {default: 45m}}\nlists: {live: [RUNNING, PENDING]}\n"
    )
    policy = load({"rules/live.yaml": SHIPPED}, {"site/ours.yaml": site})
    assert policy.params["grace"].default == 2700
    assert policy.params["grace"].mark == Mark("site/ours.yaml", 3, 10)
    assert policy.lists["live"] == ("RUNNING", "PENDING")
    assert policy.rules["r.two"].mark.file == "site/ours.yaml"
    assert policy.rules["r.one"].mark.file == "rules/live.yaml"
    assert [(o.section, o.name, o.mark.file) for o in rule_source(policy)] == [
        ("params", "grace", "site/ours.yaml"),
        ("params", "grace", "site/ours.yaml"),
        ("lists", "live", "site/ours.yaml"),
        ("lists", "live", "site/ours.yaml"),
        ("lists", "live", "site/ours.yaml"),
        ("rules", "r.one", "rules/live.yaml"),
        ("rules", "r.two", "site/ours.yaml"),
    ]


def test_a_site_that_breaks_what_a_shipped_rule_needs_is_told_where_the_rule_stands() -> None:
    site = "params: {grace: {default: 5}}\n"
    told = problems({"rules/live.yaml": SHIPPED}, {"site/ours.yaml": site})
    why = "`$grace`: a duration can not be compared with a number (declared at site/ours.yaml:1:10)"
    assert told == [f"rules/live.yaml:2:47: {why}"]


def test_a_new_word_that_exists_is_refused_in_any_layer() -> None:
    flag = "flags: {own: {subject: job, severity: info, exemptible: true, why: ours}}\n"
    assert load(flag).flags["own"].severity == "info"
    assert "is there already" in problems({"a.yaml": flag}, {"b.yaml": flag})[0]
    assert "is there already" in problems({"a.yaml": flag, "b.yaml": flag})[0]


def test_a_flag_of_ones_own_about_a_job_may_come_from_its_steps() -> None:
    flag = "flags: {own: {subject: job, severity: info, exemptible: true, why: ours}}\n"
    step = rule("{grad_norm: {gt: 0}}", "{flag: own}", on="step")
    job = rule("{flagged: own}", id="r.two")
    assert load(rules(step, job) + flag).order == (("r.one",), ("r.two",))
    cluster = rule("{queue: ok}", "{flag: own}", on="cluster")
    assert "is about job, step or run, not about a cluster" in problems(rules(cluster) + flag)[0]


def test_templates_are_those_that_exist() -> None:
    text = rules(rule("{state: RUNNING}", "{action: page}")) + "actions: {page: {class: free, template: pager}}\n"
    assert load(text, templates=["pager"]).actions["page"].templates == ("pager",)
    assert "unknown template `pager` (did you mean page?)" in problems(text, templates=["page"])[0]
    asks = rules(rule("{state: RUNNING}", "{action: ask-operator, args: {question: Is it yours?}}"))
    assert load(asks, templates=["ask-operator"]).rules
    assert "template `ask-operator` of `ask-operator` does not exist" in problems(asks, templates=[])[0]

"""What a site changes of the shipped policy: in part, as a whole, or by a switch; and where each value is from."""

from __future__ import annotations

import pytest

from sweeprules.engine.errors import Mark
from sweeprules.engine.language.ast import Override, Policy
from sweeprules.engine.language.canon import rule_source
from sweeprules.engine.language.origins import Overlay
from tests.engine.language.loading import load, problems, rule, rules

SHIPPED = """\
params:
  floor: {default: 30m, why: shipped, for: [{cluster: tacc, value: 90m}, {bucket: sft, value: 10m}]}
  few: {default: 3, unit: jobs}
lists:
  live: [RUNNING, PENDING]
patterns:
  errno-122: {literal: Errno 122, kind: fault}
rules:
  - {id: r.stale, on: job, when: {all: [{state: {in: $live}}, {log_age: {gt: $floor}}]}, then: {flag: stale-log}}
  - id: r.wedge
    on: job
    when: {all: [{flagged: stale-log}, {not: {rule: {id: r.cause, is: true}}}]}
    then: {flag: suspected-wedge}
  - {id: r.cause, on: job, when: {lines.errno-122.count: {gt: 0}}, then: {flag: edquot}, explains: [failure]}
  - {id: r.alone, on: job, when: {state: FAILED}, then: {flag: failure}}
exemptions:
  - {id: e.debug, when: {name: {contains: debug}}, flags: [stale-log]}
"""


def with_site(site: str) -> Policy:
    return load({"rules/live.yaml": SHIPPED}, {"site/ours.yaml": site})


def told(site: str) -> list[str]:
    return problems({"rules/live.yaml": SHIPPED}, {"site/ours.yaml": site})


def origin(policy: Policy, section: str, name: str, part: str = "") -> tuple[Mark, Mark | None]:
    (found,) = [o for o in rule_source(policy) if (o.section, o.name, o.part) == (section, name, part)]
    return found.mark, found.over


# ---------------------------------------------------------------- params


def test_a_site_changes_a_default_and_repeats_nothing() -> None:
    policy = with_site("params: {floor: {default: 45m}}\n")
    param = policy.params["floor"]
    assert (param.default, param.why, param.source) == (2700, "shipped", "45m")
    assert [row.value for row in param.overrides] == [5400, 600]
    assert origin(policy, "params", "floor", "default") == (
        Mark("site/ours.yaml", 1, 27), Mark("rules/live.yaml", 2, 20),
    )  # fmt: skip
    assert origin(policy, "params", "floor", "for cluster=tacc") == (Mark("rules/live.yaml", 2, 45), None)


def test_a_site_adds_a_row_and_replaces_one_that_matches_the_same() -> None:
    site = "params: {floor: {for: [{cluster: leo, value: 2h}, {cluster: tacc, value: 3h}]}}\n"
    policy = with_site(site)
    param = policy.params["floor"]
    assert (param.default, param.why) == (1800, "shipped")
    assert [(dict(row.match), row.value) for row in param.overrides] == [
        ({"bucket": "sft"}, 600), ({"cluster": "leo"}, 7200), ({"cluster": "tacc"}, 10800),
    ]  # fmt: skip
    assert isinstance(param.overrides[1], Override)
    assert origin(policy, "params", "floor", "for cluster=leo") == (Mark("site/ours.yaml", 1, 24), None)
    assert origin(policy, "params", "floor", "for cluster=tacc")[1] == Mark("rules/live.yaml", 2, 45)
    assert origin(policy, "params", "floor", "default") == (Mark("rules/live.yaml", 2, 20), None)


def test_a_param_that_is_no_other_ones_change_needs_a_default() -> None:
    found = told("params: {flor: {for: [{cluster: leo, value: 2h}]}}\n")
    assert found == ["site/ours.yaml:1:16: missing here: the key `default` (did you mean floor?)"]


# ---------------------------------------------------------------- lists and patterns


def test_a_site_adds_to_a_list_and_takes_from_it() -> None:
    policy = with_site("lists: {live: {add: [GONE, RUNNING], remove: [PENDING]}}\n")
    assert policy.lists["live"] == ("RUNNING", "GONE")
    assert origin(policy, "lists", "live") == (Mark("site/ours.yaml", 1, 9), Mark("rules/live.yaml", 5, 3))
    assert origin(policy, "lists", "live", "RUNNING") == (Mark("rules/live.yaml", 5, 10), None)
    assert origin(policy, "lists", "live", "GONE") == (Mark("site/ours.yaml", 1, 22), None)


@pytest.mark.parametrize(
    ("site", "message"),
    [
        ("lists: {liv: {add: [A]}}", "there is no list `liv` to change (did you mean live?)"),
        ("lists: {live: {remove: [PENDNG]}}", "`PENDNG` is not in the list `live` (did you mean PENDING?)"),
        ("lists: {live: {remove: [RUNNING, PENDING]}}", "the list `live` would be empty"),
        ("lists: {live: {}}", "this map is empty"),
        ("lists: {live: {ad: [A]}}", "unknown key `ad`; expected add or remove (did you mean add?)"),
        ("lists: {live: {add: []}}", "this list is empty"),
        ("lists: {live: {add: [STARTED]}}", "unknown word `STARTED`"),
        (
            "lists: {live: x}",
            "expected a list such as [a, b], or {add: [c]} over one that is there already, got a text",
        ),
    ],
)
def test_a_broken_change_of_a_list(site: str, message: str) -> None:
    found = told(site)
    assert len(found) == 1, found
    assert message in found[0]


def test_a_change_needs_an_earlier_layer() -> None:
    assert "there is no list `own` to change" in problems("lists: {own: {add: [a]}}")[0]


def test_a_site_adds_patterns_beside_the_shipped_ones() -> None:
    policy = with_site("patterns: {our-fault: {literal: oh no, kind: fault}}\n")
    assert set(policy.patterns) == {"errno-122", "our-fault"}
    assert origin(policy, "patterns", "our-fault") == (Mark("site/ours.yaml", 1, 12), None)


# ---------------------------------------------------------------- rules and exemptions


def test_a_site_replaces_a_rule_by_its_id() -> None:
    policy = with_site(rules(rule("{state: TIMEOUT}", "{flag: chain-ended}", id="r.alone")))
    assert policy.rules["r.alone"].mark.file == "site/ours.yaml"
    assert policy.overlays == (
        Overlay(
            "rules", "r.alone", Mark("site/ours.yaml", 2, 10), Mark("rules/live.yaml", 15, 10), False, "", ("failure",)
        ),
    )
    assert origin(policy, "rules", "r.alone")[1] == Mark("rules/live.yaml", 15, 10)


def off(name: str, section: str = "rules") -> str:
    return f"{section}: [{{id: {name}, disabled: true, because: too loud here}}]\n"


def test_a_disabled_rule_is_gone() -> None:
    policy = with_site(off("r.alone"))
    assert "r.alone" not in policy.rules
    (overlay,) = policy.overlays
    assert (overlay.disabled, overlay.because, overlay.flags) == (True, "too loud here", ("failure",))
    assert policy.sha256 != with_site("").sha256


def test_a_disabled_rule_keeps_its_truth_for_who_asks_for_it() -> None:
    policy = with_site(off("r.cause"))
    kept = policy.rules["r.cause"]
    assert (kept.then, kept.explains) == ((), ())
    assert kept.mark == Mark("rules/live.yaml", 14, 10)
    both = with_site(
        "rules:\n" + "".join(f"  - {{id: {n}, disabled: true, because: x}}\n" for n in ("r.cause", "r.wedge"))
    )
    assert set(both.rules) == {"r.stale", "r.alone"}


def test_what_a_disabled_rule_raised_is_never_raised_and_no_error() -> None:
    policy = with_site(off("r.stale"))
    assert "r.stale" not in policy.rules
    assert "r.wedge" in policy.rules


def test_a_disabled_exemption_is_gone() -> None:
    policy = with_site(off("e.debug", "exemptions"))
    assert policy.exemptions == ()
    assert policy.overlays[0].section == "exemptions"


def test_a_later_layer_brings_a_rule_back() -> None:
    again = rules(rule("{state: FAILED}", "{flag: failure}", id="r.alone"))
    policy = load({"a.yaml": SHIPPED}, {"b.yaml": off("r.alone")}, {"c.yaml": again})
    assert policy.rules["r.alone"].mark.file == "c.yaml"


@pytest.mark.parametrize(
    ("site", "message"),
    [
        (off("r.alon"), "there is no rule `r.alon` to disable (did you mean r.alone?)"),
        (off("e.x", "exemptions"), "there is no exemption `e.x` to disable"),
        ("rules: [{id: r.alone, disabled: true}]", "missing here: the key `because`"),
        ("rules: [{disabled: true, because: x}]", "missing here: the key `id`"),
        ("rules: [{id: r.alone, disabled: false, because: x}]", "disabled is true, or it is left out"),
        ("rules: [{id: r.alone, disabled: true, because: x, on: job}]", "the key `on` does not fit"),
        (rules(rule("{state: FAILED}", more="because: x")), "the key `because` does not fit here"),
        ("rules: [{id: r.alone}]", "missing here: the keys `on` and `when`"),
    ],
)
def test_a_broken_switch(site: str, message: str) -> None:
    found = told(site)
    assert len(found) == 1, found
    assert message in found[0]


def test_a_rule_is_switched_off_once() -> None:
    found = problems({"a.yaml": SHIPPED}, {"b.yaml": off("r.alone")}, {"c.yaml": off("r.alone")})
    assert found == ["c.yaml:1:14: the rule `r.alone` is disabled already (at b.yaml:1:14)"]
    found = problems({"a.yaml": SHIPPED}, {"b.yaml": off("r.alone"), "c.yaml": off("r.alone")})
    assert found == ["c.yaml:1:14: the rule `r.alone` is there already (the first one is at b.yaml:1:14)"]


def test_every_named_thing_has_one_origin_as_a_whole() -> None:
    policy = with_site("params: {floor: {default: 45m}}\n")
    whole = [(o.section, o.name) for o in rule_source(policy) if not o.part]
    assert len(whole) == len(set(whole))
    assert set(whole) == {
        *(("params", name) for name in policy.params), *(("lists", name) for name in policy.lists),
        *(("patterns", name) for name in policy.patterns), *(("rules", name) for name in policy.rules),
        *(("exemptions", one.id) for one in policy.exemptions),
    }  # fmt: skip


def test_where_things_stand_is_no_part_of_the_hash() -> None:
    moved = load({"rules/live.yaml": SHIPPED.replace("  few:", "\n  few:")})
    assert moved.sha256 == load({"rules/live.yaml": SHIPPED}).sha256
    assert moved.origins != load({"rules/live.yaml": SHIPPED}).origins

"""Each finding of lint: where it is told, and the nearest policy about which nothing is to be told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sweeprules.engine.language.codes import CODES
from sweeprules.engine.language.lint import lint
from tests.engine.language.loading import ROOT, catalogue, load, rule, rules

SIGNALS = "  - {{id: {0}, on: step, when: {{{1}: {{gt: 0}}}}, then: {{signal: {2}}}}}\n"
NOW = 1_800_000_000.0


def found(*layers: str, now: float | None = None, used: tuple[str, ...] = ()) -> list[str]:
    """The findings as `CODE line: message`."""
    problems = lint(load(*layers), catalogue(), now=now, used=used)
    assert all(one.severity == "warning" for one in problems)
    return [f"{one.code} {one.mark.line}: {one.message}" for one in problems]


def about(when: str, *, on: str = "job", then: str = "{action: report}", more: str = "", head: str = "") -> list[str]:
    """The findings about one rule, which stands on line 2 (after `head`)."""
    return found(rules(rule(when, then, on=on, more=more)) + head)


def test_every_code_has_a_paragraph_and_a_number_of_its_own() -> None:
    assert list(CODES) == [f"SR{number:03}" for number in range(1, len(CODES) + 1)]
    for code, one in CODES.items():
        assert one.code == code
        assert one.title[0].islower() and not one.title.endswith(".")
        assert 60 <= len(one.text) <= 700
        assert one.text.endswith(".")


def test_a_quiet_policy_has_no_findings() -> None:
    assert about("{state: RUNNING}") == []


# ---------------------------------------------------------------- SR001


LIMITS = "params: {low: {default: 1m}, high: {default: 1h}, varied: {default: 1m, for: [{bucket: rl, value: 2h}]}}\n"


@pytest.mark.parametrize(
    "when",
    [
        "{all: [{state: RUNNING}, {state: FAILED}]}",
        "{all: [{state: RUNNING}, {state: {in: [FAILED, TIMEOUT]}}]}",
        "{all: [{state: RUNNING}, {state: {not_in: [RUNNING, TIMEOUT]}}]}",
        "{all: [{state: RUNNING}, {not: {state: RUNNING}}]}",
        "{all: [{suspended: true}, {suspended: {ne: true}}]}",
        "{all: [{elapsed: {gt: $high}}, {elapsed: {lt: $low}}]}",
        "{all: [{elapsed: {gt: $high}}, {any: [{elapsed: {lt: $low}}, {elapsed: $low}]}]}",
        "{all: [{nodes: {gt: 0}}, {nodes: {lt: 1}}]}",
        "{elapsed: {lt: 0}}",
        "{all: [{log_age: {unknown: true}}, {log_age: {gt: $low}}]}",
        "{all: [{log_age: {absent: true}}, {log_age: {known: false}}]}",
        "{all: [{name: {prefix: rl_}}, {name: {prefix: sft_}}]}",
        "{all: [{name: abc}, {name: {contains: x}}]}",
        "{all: [{name: {prefix: rl_}}, {not: {name: {prefix: rl}}}]}",
        "{not: {any: [{state: RUNNING}, {state: {ne: RUNNING}}, {state: {known: false}}, {state: {absent: true}}]}}",
        "{all: [{flagged: failure}, {not: {flagged: failure}}]}",
        "{all: [{rule: {id: r.two, is: true}}, {rule: {id: r.two, is: unknown}}]}",
        "{all: [{state: RUNNING}, {all: [{elapsed: {gt: $low}}, {not: {state: RUNNING}}]}]}",
    ],
)
def test_what_can_never_hold(when: str) -> None:
    two = rule("{state: FAILED}", "{flag: failure}", id="r.two")
    told = found(rules(rule(when, "{action: report}"), two) + LIMITS, used=("low", "high", "varied"))
    assert [one for one in told if one.startswith("SR001")] == ["SR001 2: the rule `r.one` can never fire"]


@pytest.mark.parametrize(
    "when",
    [
        "{all: [{state: {in: [RUNNING, FAILED]}}, {state: {ne: RUNNING}}]}",
        "{any: [{state: RUNNING}, {state: FAILED}]}",
        "{all: [{state: RUNNING}, {prior_link.state: FAILED}]}",
        "{all: [{elapsed: {gt: $low}}, {elapsed: {lt: $high}}]}",
        "{all: [{elapsed: {gt: $high}}, {elapsed: {lt: $varied}}]}",
        "{all: [{elapsed: {gt: .log_age}}, {elapsed: {lt: $low}}]}",
        "{all: [{nodes: {gt: 0}}, {nodes: {between: [1, 1]}}]}",
        "{not: {all: [{log_age: {gt: $low}}, {log_age: {lt: $low}}]}}",
        "{all: [{log_age: {default: 2h, because: x, gt: $high}}, {log_age: {unknown: true}}]}",
        "{all: [{name: {prefix: rl_}}, {name: {prefix: rl_a}}]}",
        "{all: [{name: {contains: a}}, {name: {contains: b}}]}",
        "{all: [{tags: {contains: debug}}, {tags: {contains: smoke}}]}",
        "{all: [{not: {state: RUNNING}}, {state: {absent: true}}]}",
    ],
)
def test_what_can_hold(when: str) -> None:
    assert not [one for one in about(when, head=LIMITS) if one.startswith("SR001")]


def test_a_branch_that_can_never_hold_is_told_at_its_place() -> None:
    text = "rules:\n  - id: r.one\n    on: job\n    when:\n      all:\n        - state: RUNNING\n        - any:\n"
    text += "          - suspended: true\n          - state: FAILED\n    then: {action: report}\n"
    assert found(text) == ["SR001 9: this branch can never hold here"]


def test_unless_keeps_a_rule_from_ever_firing() -> None:
    never = "SR001 2: the rule `r.one` can never fire"
    assert about("{state: RUNNING}", more="unless: {state: {in: [RUNNING, PENDING]}}") == [never]
    assert about("{state: RUNNING}", more="unless: {state: RUNNING}, if_unknown: fire") == [never]
    assert about("{state: RUNNING}", more="unless: {suspended: true}") == []
    # An unknown suspended does not keep it from firing, so the denial alone is not enough.
    assert about("{suspended: {unknown: true}}", more="unless: {suspended: true}, if_unknown: fire") == []
    assert about("{suspended: {unknown: true}}", more="unless: {suspended: true}") == [never]


def test_members_that_none_can_be() -> None:
    told = about("{some: {of: siblings, where: {state: FAILED}, is: {state: RUNNING}}}")
    assert told == ["SR001 2: no member can pass this some"]
    assert about("{every: {of: siblings, where: {state: FAILED}, is: {exit: '0:53'}}}") == []


def test_too_many_combinations_are_taken_to_hold() -> None:
    def one_of(letter: str, count: int) -> str:
        return "{any: [" + ", ".join(f"{{name: {letter}{n}}}" for n in range(count)) + "]}"

    never = "SR001 2: the rule `r.one` can never fire"
    assert about(f"{{all: [{one_of('a', 9)}, {one_of('b', 9)}]}}") == [never]
    assert never not in about(f"{{all: [{one_of('a', 30)}, {one_of('b', 30)}]}}")
    # What has no alternative clashes by itself, however many alternatives stand beside it.
    clash = f"{{all: [{one_of('a', 30)}, {one_of('b', 30)}, {{state: RUNNING}}, {{state: FAILED}}]}}"
    assert about(clash) == [never]


# ---------------------------------------------------------------- SR002


@pytest.mark.parametrize(
    ("first", "second", "shadowed"),
    [
        ("{name: {prefix: rl}}", "{name: {prefix: rl__}}", True),
        ("{name: {prefix: rl__}}", "{name: {prefix: rl}}", False),
        ("{state: RUNNING}", "{all: [{state: RUNNING}, {suspended: false}]}", True),
        ("{any: [{state: RUNNING}, {suspended: true}]}", "{suspended: true}", True),
        ("{all: [{state: RUNNING}, {suspended: true}]}", "{state: RUNNING}", False),
        ("{state: {in: [RUNNING, PENDING]}}", "{state: PENDING}", True),
    ],
)
def test_a_choice_that_is_never_taken(first: str, second: str, shadowed: bool) -> None:
    text = f"decide:\n  bucket:\n    - {{when: {first}, is: rl}}\n    - {{when: {second}, is: sft}}\n"
    message = "SR002 4: this is never taken: whenever it would be, the one on line 3 is"
    assert found(text) == ([message] if shadowed else [])


def test_a_route_that_is_never_taken() -> None:
    text = "routes:\n  agent-log:\n    - {when: {state: FAILED}, template: failure-diagnosis}\n"
    text += "    - {when: {all: [{state: FAILED}, {suspended: true}]}, template: failure-diagnosis}\n"
    assert [one for one in found(text) if one.startswith("SR002")]


# ---------------------------------------------------------------- SR003 to SR010, SR018


def test_a_fact_that_nothing_provides() -> None:
    text = rules(rule("{bucket: rl}", "{action: report}"))
    assert "SR003 2: nothing decides `bucket`, so this is always unknown" in found(text)
    decided = text + "decide: {bucket: [{otherwise: rl}]}\n"
    assert not [one for one in found(decided) if "SR003" in one]


def test_a_fact_of_a_later_stage_counts_as_provided_until_the_stage_is_given() -> None:
    policy = load(rules(rule("{bytes_over_hard: true}", "{action: report}", on="filesystem")))
    feeds = catalogue().kinds["filesystem"].fields["bytes_over_hard"].feeds
    assert lint(policy, catalogue()) == []
    (told,) = lint(policy, catalogue(), stage=feeds - 1)
    assert (told.code, told.message) == ("SR003", "no collector reads `bytes_over_hard`, so this is always unknown")


USES = [
    rules(rule("{elapsed: {gt: $one}}", "{action: report}")) + "params: {one: {default: 1m}}\n",
    rules(rule("{log_age: {gt: {calc: '.elapsed + $one'}}}", "{action: report}")) + "params: {one: {default: 1m}}\n",
    rules(rule("{state: RUNNING}", "{action: retry-later, args: {after: $one}}", on="cluster")).replace(
        "state: RUNNING", "queue: ok"
    )
    + "params: {one: {default: 1m}}\n",
    rules(rule("{state: RUNNING}", "{action: report}", more="for: $one")) + "params: {one: {default: 1h}}\n",
]


@pytest.mark.parametrize("text", USES)
def test_a_param_that_is_used(text: str) -> None:
    assert found(text) == []


def test_names_that_nothing_uses() -> None:
    text = "params:\n  one: {default: 1m}\nlists:\n  two: [a]\npatterns:\n  three: {literal: x, kind: marker}\n"
    text += "  fault: {literal: z, kind: fault}\nfeatures:\n  four: {series: kl, is: since_change}\n"
    text += "flags:\n  own: {subject: job, severity: info, exemptible: true, why: x}\nactions:\n  act: {class: free}\n"
    text += "signals:\n  sign: {why: x}\n"
    assert found(text) == [
        "SR004 2: nothing uses the param `one`",
        "SR005 4: nothing uses the list `two`",
        "SR006 6: nothing uses the marker `three`",
        "SR007 9: nothing uses the feature `four`",
        "SR010 11: nothing uses the flag `own`",
        "SR010 13: nothing uses the action `act`",
        "SR008 15: no rule gives the signal `sign`",
    ]
    assert "SR004 2: nothing uses the param `one`" not in found(text, used=("one",))


def test_names_that_are_used() -> None:
    text = "lists: {two: [a], words: [x]}\npatterns:\n  three: {literal: x, kind: marker}\n"
    text += "  four: {literal: z, kind: marker}\nfeatures:\n  five: {series: kl, is: since_change}\n"
    text += "  six: {series: link, is: consecutive, where: {in: $words}}\n"
    text += "params: {hour: {default: 1h}, n: {default: 2}}\n"
    text += rules(
        rule(
            "{all: [{name: {in: $two}}, {lines.three.count: {gt: 0}}, {comment: {matches: four}}]}", "{action: report}"
        ),
        rule("{all: [{five: {gt: $hour}}, {six: {gt: $n}}]}", "{flag: rl-collapse}", on="step", id="r.two"),
    )
    assert found(text) == []


def test_signals_that_are_not_counted_and_quorums_that_can_not_be() -> None:
    text = "rules:\n" + SIGNALS.format("r.a", "kl", "grad")
    assert found(text) == ["SR008 2: no at_least counts the signal `grad`"]
    text += SIGNALS.format("r.b", "entropy", "entropy")
    text += rule("{at_least: {n: 2, of: [grad, entropy]}}", "{flag: rl-collapse}", on="step", id="r.c")
    assert found(text) == []
    off = "rules: [{id: r.a, disabled: true, because: x}]\n"
    assert "SR018 4: at least 2 can not be: only 1 of these can ever hold" in found(text, off)


def test_a_rule_without_effect() -> None:
    text = "rules:\n  - {id: r.one, on: job, when: {state: RUNNING}}\n"
    assert found(text) == ["SR009 2: nothing follows from the rule `r.one`, and no other asks for its truth"]
    assert found(text.replace("{id", "{stage: suspect, id")) == []
    assert found(text + rule("{rule: {id: r.one, is: true}}", "{action: report}", id="r.two")) == []


# ---------------------------------------------------------------- SR011 to SR016


def test_a_threshold_outside_the_range_of_its_fact() -> None:
    policy = load(rules(rule("{elapsed: {gt: $p}}", "{action: report}")) + "params: {p: {default: 1m}}\n")
    assert lint(policy, catalogue()) == []
    elapsed = catalogue().kinds["job"].fields["elapsed"]
    narrow = replace(elapsed, range=(0, 30))
    job = replace(catalogue().kinds["job"], fields={**catalogue().kinds["job"].fields, "elapsed": narrow})
    told = lint(policy, replace(catalogue(), kinds={**catalogue().kinds, "job": job}))
    assert [(one.code, one.message) for one in told if one.code == "SR011"] == [
        ("SR011", "`elapsed` is 0 to 30, and is compared with 60")
    ]


def test_destruction_without_proof() -> None:
    policy = load(rules(rule("{state: RUNNING}", "{action: cancel-zombie, args: {ids: [.job_id]}}")))
    assert [one.code for one in lint(policy, catalogue())] == []
    bare = replace(policy.actions["cancel-zombie"], proofs=())
    (told,) = lint(replace(policy, actions={**policy.actions, "cancel-zombie": bare}), catalogue())
    assert (told.code, told.message) == ("SR012", "`cancel-zombie` destroys something and asks for no proof")


@pytest.mark.parametrize(
    ("literal", "regex", "missed"),
    [
        ("ran for", r"took (\d+) ms", "took 0 ms"),
        ("Error", "Error|error", "error"),
        ("step ", r"step\s+(\d+)", None),
        ("step  ", r"step\s+(\d+)", "step 0"),
        ("oom", r"[Oo]om kill", "Oom kill"),
        ("oom", r"Detected \d+ oom[-_]kill", None),
        ("a", "(?i)a", None),
        ("b", "a?b{2}", None),
        ("ab", "(?:a)?b", "b"),
    ],
)
def test_a_pattern_that_passes_lines_over(literal: str, regex: str, missed: str | None) -> None:
    told = found(f"patterns:\n  one: {{literal: '{literal}', regex: '{regex}', kind: fault}}\n")
    message = f"SR013 2: the regex of `one` also matches `{missed}`, without its literal"
    assert told == ([] if missed is None else [message])


def test_one_condition_twice() -> None:
    told = about("{any: [{state: RUNNING}, {suspended: true}, {state: RUNNING}]}")
    assert told == ["SR014 2: the same condition stands twice here: `state: RUNNING`"]
    assert about("{any: [{state: RUNNING}, {not: {state: RUNNING}}]}") == []


def test_two_rules_that_say_the_same() -> None:
    one, two = rule("{state: RUNNING}", more="why: x"), rule("{state: RUNNING}", id="r.two")
    assert found(rules(one, two)) == ["SR014 3: the rule `r.two` says the same as `r.one`"]
    assert found(rules(one, rule("{state: RUNNING}", id="r.two", more="for: 3h"))) == []


def test_nothing_in_the_shipped_rules_is_impossible_doubled_or_passed_over() -> None:
    folder = ROOT / "rules"
    files = [path for path in folder.glob("*.yaml") if ".test." not in path.name and path.name != "catalogue.yaml"]
    policy = load({path.name: path.read_text() for path in files})
    assert len(policy.rules) > 20
    mistakes = {"SR001", "SR002", "SR011", "SR012", "SR013", "SR014"}
    assert [str(one) for one in lint(policy, catalogue()) if one.code in mistakes] == []


def test_an_exemption_that_has_expired() -> None:
    text = rules(rule("{state: RUNNING}")) + (
        "exemptions:\n  - {id: e, when: {name: {contains: x}}, flags: [stale-log], expires: 2027-01-15}\n"
    )
    assert found(text) == []
    assert found(text, now=NOW) == ["SR015 4: the exemption `e` has expired and covers nothing"]
    assert found(text, now=NOW - 86400 * 30) == []


def test_an_exemption_that_covers_nothing() -> None:
    text = rules(rule("{state: RUNNING}")) + (
        "exemptions:\n  - {id: e, when: {name: {contains: x}}, flags: [rl-collapse]}\n"
    )
    assert found(text) == ["SR016 4: no rule raises rl-collapse, so the exemption `e` covers nothing"]
    assert not [one for one in found(text.replace("[rl-collapse]", "[rl-collapse, stale-log]")) if "SR016" in one]


# ---------------------------------------------------------------- SR017

BASE = rules(
    rule("{log_age: {gt: $hour}}", id="r.stale"),
    rule("{flagged: stale-log}", "{flag: suspected-wedge}", id="r.wedge"),
    rule("{rule: {id: r.stale, is: unknown}}", "{flag: evidence-missing}", id="r.unread"),
) + ("params: {hour: {default: 1h}}\n")


def overlays(site: str) -> list[str]:
    return [one for one in found(BASE, site) if one.startswith("SR017")]


def test_a_disabled_rule_that_others_build_on() -> None:
    (truth, flag) = lint(load(BASE, "rules: [{id: r.stale, disabled: true, because: loud}]"), catalogue())
    assert (flag.code, truth.code) == ("SR017", "SR017")
    assert flag.message == "disabling `r.stale` leaves no rule that gives the flag `stale-log`"
    assert flag.hint == "r.wedge (layer0.yaml:3:35) builds on it"
    assert truth.message == "`r.stale` is disabled and its truth is still asked for"
    assert overlays("rules: [{id: r.wedge, disabled: true, because: loud}]") == []


def test_a_replacement_that_raises_something_else() -> None:
    other = rules(rule("{log_age: {gt: $hour}}", "{flag: failure}", id="r.stale"))
    assert overlays(other) == ["SR017 2: replacing `r.stale` leaves no rule that gives the flag `stale-log`"]
    wedge = rules(rule("{flagged: stale-log}", "{flag: failure}", id="r.wedge"))
    assert overlays(wedge) == [
        "SR017 2: the flag `suspected-wedge` of the `r.wedge` that this replaces is raised by no rule now"
    ]
    same = rules(rule("{log_age: {gt: $hour}}", id="r.stale", more="why: x"))
    assert overlays(same) == []

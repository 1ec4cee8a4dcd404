"""Every code of lint is told of an example that has what it means, and not of the same one when that is mended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pytest

from sweeprules.cli.cadence import READ
from sweeprules.cli.facts import RELEASE
from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.language.codes import CODES
from sweeprules.engine.language.lint import lint
from tests.engine.language.loading import catalogue, load, rule, rules
from tests.rules import shipped

NOW = 1_800_000_000.0  # 2027-01-15T08:00Z
STEP = "  - {{id: {0}, on: step, when: {{{1}: {{gt: 0}}}}, then: {{signal: {2}}}}}\n"


class Seed(NamedTuple):
    """Layers of a policy that has a finding, and of one that has not; `doctor` changes the policy or the catalogue."""

    bad: tuple[str, ...]
    good: tuple[str, ...]
    doctor: Callable[[Policy, Catalogue], tuple[Policy, Catalogue]] = lambda policy, names: (policy, names)


def one(text: str, mended: str, *before: str, doctor: str = "") -> Seed:
    return Seed((*before, text), (*before, mended), DOCTORS[doctor])


def _short(policy: Policy, names: Catalogue) -> tuple[Policy, Catalogue]:
    """Elapsed times of at most a minute."""
    job = names.kinds["job"]
    fields = {**job.fields, "elapsed": replace(job.fields["elapsed"], range=(0, 60))}
    return policy, replace(names, kinds={**names.kinds, "job": replace(job, fields=fields)})


def _unproved(policy: Policy, names: Catalogue) -> tuple[Policy, Catalogue]:
    """No action asks for a proof."""
    return replace(policy, actions={n: replace(a, proofs=()) for n, a in policy.actions.items()}), names


DOCTORS: dict[str, Callable[[Policy, Catalogue], tuple[Policy, Catalogue]]] = {
    "": lambda policy, names: (policy, names),
    "short": _short,
    "unproved": _unproved,
}


def exemption(flags: str = "[stale-log]", more: str = "") -> str:
    body = f"{{id: e, when: {{name: {{contains: x}}}}, flags: {flags}{more}}}"
    return rules(rule("{state: RUNNING}")) + f"exemptions:\n  - {body}\n"


def diagnosed(position: str) -> str:
    """Two rules that can both be true, the second with this position."""
    then = "{{action: diagnose, args: {{error_class: x, path: .log.path, position: {}}}}}"
    return rules(rule("{state: FAILED}", then.format(0)), rule("{suspended: true}", then.format(position), id="r.two"))


GRAD = "rules:\n" + STEP.format("r.a", "kl", "grad")
BOTH = GRAD + STEP.format("r.b", "entropy", "entropy")
QUORUM = rule("{at_least: {n: 2, of: [grad, entropy]}}", "{flag: rl-collapse}", on="step", id="r.c")
WEDGE = rules(rule("{log_age: {gt: $hour}}"), rule("{flagged: stale-log}", "{flag: suspected-wedge}", id="r.wedge"))
WEDGE += "params: {hour: {default: 1h}}\n"
LONG = rules(rule("{elapsed: {gt: $long}}", "{action: report}"))
OFF = "rules: [{id: r.one, disabled: true, because: loud}]\n"
BUCKETS = "decide: {bucket: [{when: {name: {prefix: rl}}, is: rl}, {otherwise: catch-all}]}\n"
KILL = "{action: cancel-zombie, args: {ids: [.job_id]}}"

SEEDS = {
    "SR001": one(rules(rule("{all: [{state: RUNNING}, {state: FAILED}]}")), rules(rule("{state: FAILED}"))),
    "SR002": one(
        "decide: {bucket: [{when: {name: {prefix: rl}}, is: rl}, {when: {name: {prefix: rl_}}, is: sft}]}\n",
        "decide: {bucket: [{when: {name: {prefix: rl_}}, is: sft}, {when: {name: {prefix: rl}}, is: rl}]}\n",
    ),
    "SR003": one(rules(rule("{bucket: rl}")), rules(rule("{bucket: rl}")) + BUCKETS),
    "SR004": one("params: {long: {default: 1h}}\n", LONG + "params: {long: {default: 1h}}\n"),
    "SR005": one("lists: {live: [RUNNING]}\n", "lists: {live: [RUNNING]}\n" + rules(rule("{state: {in: $live}}"))),
    "SR006": one(
        "patterns: {m: {literal: x, kind: marker}}\n",
        "patterns: {m: {literal: x, kind: marker}}\n" + rules(rule("{lines.m.count: {gt: 0}}")),
    ),
    "SR007": one(
        "features: {f: {series: kl, is: since_change}}\n",
        "features: {f: {series: kl, is: since_change}}\nparams: {h: {default: 1h}}\n"
        + rules(rule("{f: {gt: $h}}", "{flag: rl-collapse}", on="step")),
    ),
    "SR008": one(GRAD, BOTH + QUORUM),
    "SR009": one("rules: [{id: r.a, on: job, when: {state: RUNNING}}]\n", rules(rule("{state: RUNNING}"))),
    "SR010": one(
        "flags: {own: {subject: job, severity: info, exemptible: true, why: x}}\n",
        "flags: {own: {subject: job, severity: info, exemptible: true, why: x}}\n"
        + rules(rule("{state: RUNNING}", "{flag: own}")),
    ),
    "SR011": one(LONG + "params: {long: {default: 1h}}\n", LONG + "params: {long: {default: 30s}}\n", doctor="short"),
    "SR012": one(
        rules(rule("{state: RUNNING}", KILL)), rules(rule("{state: RUNNING}", "{action: report}")), doctor="unproved"
    ),
    "SR013": one(
        "patterns: {p: {literal: ran for, regex: 'took \\d+', kind: fault}}\n",
        "patterns: {p: {literal: took, regex: 'took \\d+', kind: fault}}\n",
    ),
    "SR014": one(
        rules(rule("{any: [{state: RUNNING}, {suspended: true}, {state: RUNNING}]}")),
        rules(rule("{any: [{state: RUNNING}, {suspended: true}, {state: FAILED}]}")),
    ),
    "SR015": one(exemption(more=", expires: 2027-01-15"), exemption(more=", expires: 2027-06-15")),
    "SR016": one(exemption("[rl-collapse]"), exemption("[rl-collapse, stale-log]")),
    "SR017": one(OFF, rules(rule("{log_age: {gt: $hour}}", more="why: louder")), WEDGE),
    "SR018": Seed((BOTH + QUORUM, "rules: [{id: r.a, disabled: true, because: x}]\n"), (BOTH + QUORUM,)),
    "SR019": one(exemption(more=", expires: 2027-01-18"), exemption(more=", expires: 2027-01-23")),
    "SR021": one(
        "patterns: {a: {literal: up, kind: rung, order: 1}, b: {literal: ready, kind: rung, order: 1}}\n",
        "patterns: {a: {literal: up, kind: rung, order: 1}, b: {literal: ready, kind: rung, order: 3}}\n",
    ),
    "SR022": one(diagnosed("1"), diagnosed("0")),
    "SR023": one(
        rules(rule("{state: RUNNING}", more="explains: [failure]")),
        rules(rule("{state: RUNNING}", more="explains: [failure]"), rule("{state: FAILED}", "{flag: failure}", id="r")),
    ),
    "SR020": one(rules(rule("{bucket: sft}")) + BUCKETS, rules(rule("{bucket: rl}")) + BUCKETS),
}


def codes(seed: Seed, layers: tuple[str, ...]) -> list[str]:
    policy, names = seed.doctor(load(*layers), catalogue())
    return [found.code for found in lint(policy, names, now=NOW)]


def test_every_code_has_an_example() -> None:
    assert set(SEEDS) == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_told_of_its_example_and_not_of_the_mended_one(code: str) -> None:
    seed = SEEDS[code]
    assert code in codes(seed, seed.bad)
    assert code not in codes(seed, seed.good)


def test_nothing_is_told_of_the_shipped_policy() -> None:
    found = lint(shipped.policy(), shipped.catalogue(), now=NOW, used=READ, release=RELEASE)
    assert [str(one) for one in found] == []


# ---------------------------------------------------------------- what a site's values silence

SHIPPED = (
    "params: {low: {default: 1h}, high: {default: 2h}}\nlists: {live: [RUNNING]}\n"
    + rules(rule("{all: [{elapsed: {gt: $low}}, {elapsed: {lt: $high}}, {state: {in: $live}}, {state: {ne: FAILED}}]}"))
    + rule("{all: [{bucket: rl}, {log_age: {gt: $low}}]}", "{flag: failure}", id="r.two")
    + BUCKETS
)


def told(site: str) -> list[tuple[str, str, str]]:
    policy = load({"builtin.yaml": SHIPPED}, {"site.yaml": site})
    return [(one.code, one.mark.file, one.message) for one in lint(policy, catalogue())]


def test_a_quiet_site_is_told_nothing() -> None:
    assert told("params: {low: {default: 90m}}\n") == []


def test_a_value_that_can_not_be_reached_any_more_is_told_where_it_was_written() -> None:
    never = [one for one in told("params: {low: {default: 3h}}\n") if one[0] == "SR017"]
    assert never == [("SR017", "site.yaml", "with this value of `$low` the rule `r.one` can never fire")]
    row = "params: {low: {for: [{cluster: leo, value: 3h}]}}\n"
    assert told(row) == []


def test_a_list_that_leaves_a_rule_nothing_is_told() -> None:
    found = told("lists: {live: {add: [FAILED], remove: [RUNNING]}}\n")
    assert ("SR017", "site.yaml", "with this value of `$live` the rule `r.one` can never fire") in found


def test_a_word_that_new_choices_leave_out_is_told_at_them() -> None:
    found = told("decide: {bucket: [{when: {name: {prefix: rl}}, is: sft}, {otherwise: catch-all}]}\n")
    assert [one[:2] for one in found] == [("SR020", "site.yaml")]
    assert found[0][2].startswith("no choice of `bucket` gives rl, which builtin.yaml:")


def test_a_quorum_that_a_site_puts_out_of_reach_is_told_where_it_was_written() -> None:
    text = BOTH + QUORUM.replace("n: 2", "n: $quorum") + "params: {quorum: {default: 2}}\n"
    assert [one.code for one in lint(load(text), catalogue())] == []
    (found,) = lint(load(text, {"site.yaml": "params: {quorum: {default: 3}}\n"}), catalogue())
    assert (found.code, found.mark.file) == ("SR018", "site.yaml")
    row = "params: {quorum: {for: [{bucket: sft, value: 3}]}}\n"
    assert lint(load(text, {"site.yaml": row}), catalogue()) == []


def test_two_patterns_that_find_the_same_lines() -> None:
    text = "patterns: {a: {literal: x, kind: fault}, b: {literal: x, kind: benign}, "
    text += "c: {literal: x, regex: x+, kind: fault}}"
    found = [(one.code, one.message) for one in lint(load(text), catalogue())]
    assert found == [("SR014", "the pattern `b` finds the same lines as `a`")]


def test_a_value_out_of_range_is_told_where_it_was_written() -> None:
    policy = load(
        {"builtin.yaml": LONG + "params: {long: {default: 30s}}\n"}, {"site.yaml": "params: {long: {default: 2h}}\n"}
    )
    found = [one for one in lint(*_short(policy, catalogue())) if one.code == "SR011"]
    assert [(one.mark.file, one.mark.line) for one in found] == [("site.yaml", 1)]


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ("2027-01-15T09:00Z", "the exemption `e` of ops ends within a day"),
        ("2027-01-16T09:00Z", "the exemption `e` of ops ends in 1 day"),
        ("2027-01-22T08:00Z", "the exemption `e` of ops ends in 7 days"),
        ("2027-01-15T08:00Z", "the exemption `e` has expired and covers nothing"),
    ],
)
def test_the_end_of_an_exemption(ends: str, message: str) -> None:
    policy = load(exemption(more=f", owner: ops, expires: '{ends}'"))
    assert [one.message for one in lint(policy, catalogue(), now=NOW)] == [message]

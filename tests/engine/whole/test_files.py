"""In how many files a policy stands, in which order, and under which names, changes nothing."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import Ref, World
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.verdicts import Verdict
from tests.engine.language.loading import catalogue, load
from tests.engine.whole.cases import LENGTHS, case, examples, seeds
from tests.engine.whole.test_laws import shown

POLICIES = 100
"""Policies of which each is written down in many ways."""
Entry = tuple[str, str]
"""A section, and the text of one of its entries."""
PARAMS = [
    "limit: {default: 1.0, why: w}",
    "window: {default: 4, unit: steps}",
    "few: {default: 2, unit: points}",
    "silence: {default: 30m, why: w, for: [{bucket: rl, value: 90m}, {cluster: tacc, value: 1h}]}",
    "two: {default: 2, why: w}",
]
LISTS = ["odd: [RL, consolidate]", "families: [policy/z_clip, loss]"]
FEATURES = [
    "ratio: {series: grad_norm, is: ratio_to_mean, window: $window, min_points: $few, floor: 0.001}",
    "run_of: {series: entropy, is: consecutive, where: {gt: $limit}}",
]
STEP_RULES = ["{grad_norm: {gt: $limit}}", "{ratio: {gt: $two}}", "{run_of: {ge: $two}}", "{job.bucket: rl}"]
JOB_TESTS = [
    "{state: RUNNING}",
    "{name: {contains_any: $odd, fold: true}}",
    "{metric_families: {contains_any: $families}}",
    "{log_age: {gt: $silence}}",
    '{log_age: {gt: {calc: "max($silence, $two * .cadence)"}}}',
    "{not: {suspended: true}}",
    "{next_link.state: {in: [RUNNING, PENDING]}}",
    "{count: {of: siblings, where: {state: ..state}, is: {ge: $two}}}",
    "{cluster.rl_running: {possible: {gt: $two}}}",
    "{run.complete: {unknown: true}}",
    "{previous.state: {absent: true}}",
]
FLAGS = ["stale-log", "failure", "bringup"]
CHAINED = ["{flagged: rl-collapse}", "{not: {flagged: stale-log}}", "{rule: {id: j0, is: unknown}}", *JOB_TESTS]


def entries(rng: random.Random) -> list[Entry]:
    """The entries of one policy in an order in which a person might write them."""
    found: list[Entry] = []
    for section, texts in (("params", PARAMS), ("lists", LISTS), ("features", FEATURES)):
        found += [(section, text) for text in texts]
    for i, signal in enumerate(("grad", "entropy")):
        when = rng.choice(STEP_RULES)
        found.append(("rules", f"{{id: s{i}, on: step, needs: [grad_norm], when: {when}, then: {{signal: {signal}}}}}"))
    quorum = f"{{at_least: {{n: {rng.choice(['1', '$two'])}, of: [grad, entropy]}}}}"
    found.append(("rules", f"{{id: quorum, on: step, judge: any, when: {quorum}, then: {{flag: rl-collapse}}}}"))
    for i, flag in enumerate(FLAGS):
        tests = ", ".join(rng.sample(JOB_TESTS, 2))
        more = rng.choice(["", ", for: 2 sweeps", ", unless: {state: FAILED}, if_unknown: fire", ", for: 1h"])
        group = rng.choice(["all", "any"])
        found.append(("rules", f"{{id: j{i}, on: job, when: {{{group}: [{tests}]}}, then: {{flag: {flag}}}{more}}}"))
    for i in range(3):
        chained = ", ".join(rng.sample(CHAINED, 2))
        found.append(("rules", f"{{id: k{i}, on: job, when: {{any: [{chained}]}}, then: {{add: {{tags: a3}}}}}}"))
    # Every param, list and feature is used once, whatever else was chosen.
    uses = ", ".join([*JOB_TESTS[1:5], "{elapsed: {gt: $silence}}"])
    found.append(("rules", f"{{id: uses, on: job, when: {{all: [{uses}]}}}}"))
    found.append(("rules", "{id: features, on: step, when: {any: [{ratio: {gt: $two}}, {run_of: {gt: $two}}]}}"))
    exempt = rng.choice(JOB_TESTS)
    found.append(("exemptions", f"{{id: e, when: {exempt}, flags: [rl-collapse], as: rl-collapse-ablation, why: w}}"))
    return found


def written(entries: list[Entry], names: list[str], rng: random.Random) -> dict[str, str]:
    """The entries in files: each in one of them, in the order in which they come; the files in any order."""
    files: dict[str, dict[str, list[str]]] = {name: {} for name in names}
    for section, text in entries:
        files[rng.choice(names)].setdefault(section, []).append(text)
    decided = "decide:\n  bucket: [{when: {name: {prefix: rl__}}, is: rl}, {otherwise: sft}]\n"
    texts = {}
    for i, (name, sections) in enumerate(files.items()):
        lines = [f"policy: 1\ntitle: file {name}\n", decided if i == 0 else ""]
        for section in rng.sample(list(sections), len(sections)):
            mark = "- " if section in ("rules", "exemptions") else ""
            lines.append(f"{section}:\n" + "".join(f"  {mark}{text}\n" for text in sections[section]))
        texts[f"rules/{name}.yaml"] = "".join(lines)
    return dict(rng.sample(list(texts.items()), len(texts)))


@cache
def together(base: int) -> tuple[Policy, World, Truths, Mapping[Ref, Verdict]]:
    """One of the policies in one file, a world, and what it says of that."""
    policy = load(written(entries(random.Random(base)), ["one"], random.Random(base)))
    world = case(base).world
    truths = evaluate(policy, world)
    return policy, world, truths, judge(policy, world, catalogue(), truths)


@pytest.mark.parametrize("count", LENGTHS)
def test_no_order_of_files_or_of_what_stands_in_them_matters(count: int) -> None:
    fired = 0

    @examples(count)
    @given(st.integers(0, POLICIES - 1), seeds)
    def law(base: int, seed: int) -> None:
        nonlocal fired
        rng = random.Random(seed)
        all_of_it = entries(random.Random(base))
        one, world, truths, verdicts = together(base)
        mixed = rng.sample(all_of_it, len(all_of_it))
        names = rng.sample(["a", "b", "zz", "m-1", "10", "9"], rng.randint(1, 4))
        other = load(written(mixed, names, rng))
        assert other.sha256 == one.sha256
        assert shown(evaluate(other, world)) == shown(truths)
        assert judge(other, world, catalogue()) == verdicts
        fired += sum(len(verdict.flags) for verdict in verdicts.values())

    law()
    assert fired > count / 4
    assert _rules(load({"rules/t.yaml": written(entries(random.Random(1)), ["t"], random.Random(2))["rules/t.yaml"]}))


def _rules(policy: Policy) -> bool:
    return {"quorum", "j0", "k0", "uses"} <= policy.rules.keys()

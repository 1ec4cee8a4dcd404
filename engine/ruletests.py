"""Runs rule tests: `tests:` files beside the rules, each from given facts to what must come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sweeprules.engine.catalogue import Catalogue, FieldDef
from sweeprules.engine.errors import Mark, Problem, nearest
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.proof import Prover
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import Ref
from sweeprules.engine.holds import Held
from sweeprules.engine.language.ast import Choice, Compare, Const, Path, Policy, Test
from sweeprules.engine.language.node import KIND_WORDS, Node
from sweeprules.engine.language.shape import quote
from sweeprules.engine.language.yamltext import scan
from sweeprules.engine.testasks import ByHand, read_by_hand
from sweeprules.engine.testdefaults import DEFAULTS
from sweeprules.engine.testexpect import Difference, Expect, differences, read_expect
from sweeprules.engine.testfailure import Account, Miss
from sweeprules.engine.testgiven import Given, read_given
from sweeprules.engine.testheld import clock, read_held, timed
from sweeprules.engine.testreads import unread
from sweeprules.engine.testsound import Part, unsound
from sweeprules.engine.testsources import NO_READERS, GivenCassette, GivenLog, Readers, read_cassette, read_log
from sweeprules.engine.truth import Truth
from sweeprules.engine.verdicts import RuleProof, Verdict

SUFFIX = ".test.yaml"
"""How the name of a file of rule tests ends."""


@dataclass(frozen=True, slots=True)
class RuleTest:
    """One test as it was read: the world it gives, what it is about, and what it expects of each subject."""

    name: str
    mark: Mark
    given: Given
    expects: Mapping[Ref, Expect]
    held: Held = field(default_factory=dict)
    """What rules with `for:` had been before."""
    source: GivenLog | GivenCassette | None = None
    """The log or the recorded sweep whose facts are in `given`, by the policy with which the test was read."""
    by_hand: ByHand | None = None
    """Flags that the test raises and actions that it asks for, whatever the rules say."""
    parts: Mapping[Ref, Part] = field(default_factory=dict)
    """What it expects of each subject, as it is written."""

    def place(self, ref: Ref, found: Difference) -> Mark:
        """Where the expectation stands that was not met."""
        return self.parts[ref].at(found.key, found.name) if ref in self.parts else self.mark

    def under(self, policy: Policy) -> RuleTest:
        """The same test with its raw material read by this policy."""
        source = self.source.under(policy) if self.source is not None else None
        if source is None or source is self.source:
            return self
        return replace(self, source=source, given=replace(self.given, world=source.world))


@dataclass(frozen=True, slots=True)
class RuleTestResult:
    """How one test went. `differences` say what is not as expected; `proofs` why, one for each rule behind them.

    An `error` is a test that could not mean what was wanted (it expects nothing, or names what does not exist); its
    problems are among those of the run.
    """

    name: str
    mark: Mark
    status: Literal["passed", "failed", "error"]
    differences: tuple[str, ...] = ()
    proofs: tuple[RuleProof, ...] = ()
    misses: tuple[Miss, ...] = ()
    """Of a failed test: each difference with its place and the shortest account of it."""


@dataclass(frozen=True, slots=True)
class RuleTestRun:
    """All results in order of file and place, and the mistakes in the files themselves."""

    results: tuple[RuleTestResult, ...]
    problems: tuple[Problem, ...]

    @property
    def passed(self) -> bool:
        """True when there is a test, each passed, and no file has a mistake."""
        return bool(self.results) and not self.problems and all(r.status == "passed" for r in self.results)


def run_rule_tests(
    policy: Policy, catalogue: Catalogue, files: Mapping[str, str | bytes], readers: Readers = NO_READERS
) -> RuleTestRun:
    """Run all tests of all files (name -> text) against a policy; `readers` read what they give raw."""
    results: list[RuleTestResult] = []
    problems: list[Problem] = []
    for node, test, mistakes in _read(policy, catalogue, files, readers, problems):
        problems += mistakes
        if mistakes or test is None:
            texts = tuple(str(mistake) for mistake in mistakes)
            results.append(RuleTestResult(_name(node), node.mark, "error", texts))
        else:
            results.append(run_rule_test(test, policy, catalogue))
    return RuleTestRun(tuple(results), tuple(sorted(set(problems))))


def read_rule_tests(
    policy: Policy, catalogue: Catalogue, files: Mapping[str, str | bytes], readers: Readers = NO_READERS
) -> tuple[RuleTest, ...]:
    """The tests of all files that can be read, in order of file and place; `run_rule_tests` says what is wrong."""
    found = _read(policy, catalogue, files, readers, [])
    return tuple(test for _, test, wrong in found if test is not None and not wrong)


def rule_test_problems(
    policy: Policy, catalogue: Catalogue, files: Mapping[str, str | bytes], readers: Readers = NO_READERS
) -> tuple[Problem, ...]:
    """What is wrong with the tests of all files, in order; the same as `run_rule_tests` says, and none is run."""
    problems: list[Problem] = []
    for _, _, mistakes in _read(policy, catalogue, files, readers, problems):
        problems += mistakes
    return tuple(sorted(set(problems)))


def _read(
    policy: Policy,
    catalogue: Catalogue,
    files: Mapping[str, str | bytes],
    readers: Readers,
    problems: list[Problem],
) -> Iterator[tuple[Node, RuleTest | None, list[Problem]]]:
    for file in sorted(files):
        scanned = scan(files[file], file)
        problems += scanned.problems
        for node in _tests(scanned.node, problems) if scanned.node is not None else ():
            yield node, *read_test(node, policy, catalogue, readers)


def _tests(root: Node, problems: list[Problem]) -> tuple[Node, ...]:
    for entry in root.entries:
        if entry.key != "tests":
            problems.append(
                Problem(entry.mark, f"unknown key {quote(entry.key)}, expected tests", nearest(entry.key, ["tests"]))
            )
    tests = root.get("tests")
    if tests is None or tests.kind != "list" or not tests.items:
        problems.append(
            Problem(root.mark, "expected tests: with at least one test", "write tests: [{name, given, expect}]")
        )
        return ()
    return tests.items


def _name(node: Node) -> str:
    name = node.get("name")
    return name.text if name is not None else f"test at line {node.mark.line}"


# ---------------------------------------------------------------- reading


_KEYS = ("name", "defaults", "given", "expect")
_ASIDE = ("held", "log", "raises", "asks")
"""What a test gives that is no fact."""


def read_test(
    node: Node, policy: Policy, catalogue: Catalogue, readers: Readers = NO_READERS
) -> tuple[RuleTest | None, list[Problem]]:
    """One test of a file, and all that is wrong with it."""
    if node.kind != "map":
        return None, [
            Problem(node.mark, f"expected a test, got {KIND_WORDS[node.kind]}", "write {name, given, expect}")
        ]
    problems = [
        Problem(e.mark, f"unknown key {quote(e.key)}", nearest(e.key, _KEYS))
        for e in node.entries
        if e.key not in _KEYS
    ]
    problems += [
        Problem(node.mark, f"the test has no {key}", f"add {key}")
        for key in ("name", "given", "expect")
        if node.get(key) is None
    ]
    given, expect, defaults = node.get("given"), node.get("expect"), node.get("defaults")
    if defaults is not None and defaults.text not in DEFAULTS:
        hint = nearest(defaults.text, DEFAULTS) or f"expected {', '.join(DEFAULTS)}"
        problems.append(Problem(defaults.mark, f"there are no defaults {quote(defaults.text)}", hint))
    if problems or given is None or expect is None:
        return None, problems
    if given.get("cassette") is not None:
        return _recorded_test(node, given, expect, policy, catalogue, readers, problems)
    facts = DEFAULTS[defaults.text](policy) if defaults is not None else {}
    held, text, raises, asks = (given.get(key) for key in _ASIDE)
    given = replace(given, entries=tuple(entry for entry in given.entries if entry.key not in _ASIDE))
    world = read_given(given, with_metrics(catalogue, policy), facts, frozenset(policy.decide) | {"bucket_sure"})
    if held is not None:
        world = timed(world)
    log = read_log(text, world, policy, readers, problems)
    if log is not None:
        problems += log.contradictions()
        world = replace(world, world=log.world)
    states = read_held(held, policy, lambda kind: subject_of(kind, world), clock(world), problems)
    expects, parts = _expected(expect, world, policy, catalogue, problems)
    problems += world.problems
    by_hand = read_by_hand(raises, asks, policy, problems)
    if not problems:
        problems += unsound(parts.values(), world.about.kind, by_hand, policy)
    if not problems and log is None and held is None and by_hand is None:
        problems += unread(parts.values(), world.places, node.key_mark("given"), policy)
    return RuleTest(_name(node), node.mark, world, expects, states, log, by_hand, parts), problems


def _recorded_test(
    node: Node,
    given: Node,
    expect: Node,
    policy: Policy,
    catalogue: Catalogue,
    readers: Readers,
    problems: list[Problem],
) -> tuple[RuleTest | None, list[Problem]]:
    if node.get("defaults") is not None:
        hint = "leave them out: a cassette says what was read and what was not"
        problems.append(Problem(node.key_mark("defaults"), "defaults are given beside a cassette", hint))
    found = read_cassette(given, policy, readers, problems)
    if found is None:
        return None, problems
    source, world = found
    expects, parts = _expected(expect, world, policy, catalogue, problems)
    if not problems:
        problems += unsound(parts.values(), world.about.kind, None, policy)
    held = source.recorded.held
    return RuleTest(_name(node), node.mark, world, expects, held, source, parts=parts), problems


def with_metrics(catalogue: Catalogue, policy: Policy) -> Catalogue:
    """The catalogue with the metrics of a policy among the fields of a step."""
    step = catalogue.kinds["step"]
    new = {m.name: FieldDef(m.name, m.type, m.unit) for m in policy.metrics.values() if m.new}
    kinds = {**catalogue.kinds, "step": replace(step, fields={**step.fields, **new})}
    return replace(catalogue, kinds=kinds)


def _expected(
    node: Node, given: Given, policy: Policy, catalogue: Catalogue, problems: list[Problem]
) -> tuple[dict[Ref, Expect], dict[Ref, Part]]:
    found = dict(_expects(node, given, policy, catalogue, problems))
    return {ref: part.expect for ref, part in found.items()}, found


def _expects(
    node: Node, given: Given, policy: Policy, catalogue: Catalogue, problems: list[Problem]
) -> Iterator[tuple[Ref, Part]]:
    """What is expected of the subject of the test, and under the name of a kind of another one that it gives."""
    others = {e.key: ref for e in node.entries if (ref := _other(e.key, given, catalogue)) is not None}
    own = replace(node, entries=tuple(e for e in node.entries if e.key not in others))
    if own.entries or not others:
        expect, mistakes = read_expect(own, policy, catalogue, given.about.kind)
        problems += mistakes
        yield given.about, Part(given.about.kind, own, expect)
    for key, ref in others.items():
        inner = node.get(key)
        if inner is not None:
            expect, mistakes = read_expect(inner, policy, catalogue, ref.kind)
            problems += mistakes
            yield ref, Part(ref.kind, inner, expect)
    for rule, mark in _rules_named(node):
        if rule in policy.rules and subject_of(policy.rules[rule].on, given) is None:
            kind = policy.rules[rule].on
            problems.append(Problem(mark, f"rule {rule} is about a {kind}, and the test gives none", f"give a {kind}"))


def _other(key: str, given: Given, catalogue: Catalogue) -> Ref | None:
    kind = catalogue.kind_of(key)
    return None if kind is None or kind == given.about.kind else subject_of(kind, given)


def _rules_named(node: Node) -> Iterator[tuple[str, Mark]]:
    for part in (node, *(entry.value for entry in node.entries)):
        truth = part.get("truth")
        for entry in truth.entries if truth is not None else ():
            yield entry.key, entry.mark


def subject_of(kind: str, given: Given) -> Ref | None:
    """The subject of a kind that a test is about: its own, or related to its own; of steps the newest."""
    if kind == given.about.kind:
        return given.about
    subjects = given.world.subjects
    near = {ref: None for relation in subjects[given.about].relations.values() for ref in relation.members}
    found = [ref for ref in (*near, *subjects) if ref.kind == kind and ref in subjects and subjects[ref].judged]
    if kind != "step":
        return next(iter(found), None)
    numbers = {ref: subjects[ref].get("step") for ref in found if ref in near} or dict.fromkeys(found)
    return max(numbers, key=lambda ref: n if isinstance(n := numbers[ref], int) else -1, default=None)


# ---------------------------------------------------------------- running


@dataclass(frozen=True, slots=True)
class Judged:
    """The world of one test as a policy judges it; `policy` has what the test fixes by hand decided first."""

    policy: Policy
    truths: Truths
    verdicts: Mapping[Ref, Verdict]


def judge_test(test: RuleTest, policy: Policy, catalogue: Catalogue) -> Judged:
    """Judge the world of one test."""
    test = test.under(policy)
    world, fixed = test.given.world, _fixing(policy, test.given)
    if test.by_hand is not None:
        fixed = test.by_hand.under(fixed, test.given.about.kind)
    truths = evaluate(fixed, world, test.held)
    return Judged(fixed, truths, judge(fixed, world, catalogue, truths))


def run_rule_test(test: RuleTest, policy: Policy, catalogue: Catalogue) -> RuleTestResult:
    """Judge the world of one test and compare."""
    test = test.under(policy)
    judged = judge_test(test, policy, catalogue)
    found = {ref: _differences(test, ref, expect, judged, policy) for ref, expect in test.expects.items()}
    if not any(found.values()):
        return RuleTestResult(test.name, test.mark, "passed")
    prover = Prover(judged.policy, test.given.world, judged.truths)
    behind = {rule: ref for one in found.values() for rule, ref in _behind(one, judged.policy, test.given)}
    account = Account(prover, test.given, test.source)
    placed = sorted(
        (test.place(ref, one), i, ref, one) for ref, several in found.items() for i, one in enumerate(several)
    )
    misses = tuple(
        account.miss(one, mark, ref, [(rule, behind[rule]) for rule in one.rules if rule in behind])
        for mark, _, ref, one in placed
    )
    proofs = tuple(prover.rule(rule, ref) for rule, ref in behind.items())
    return RuleTestResult(test.name, test.mark, "failed", tuple(miss.text for miss in misses), proofs, misses)


def fails(test: RuleTest, policy: Policy, catalogue: Catalogue) -> bool:
    """Does a test fail? Nothing is proved, so this takes less time than the whole result."""
    test = test.under(policy)
    judged = judge_test(test, policy, catalogue)
    return any(_differences(test, ref, expect, judged, policy) for ref, expect in test.expects.items())


def _differences(test: RuleTest, ref: Ref, expect: Expect, judged: Judged, policy: Policy) -> list[Difference]:
    of_rules = {rule: _truth(rule, judged.policy, test.given, judged.truths) for rule in expect.truth}
    read = expect.decided.keys() - judged.verdicts[ref].decided.keys()
    told = test.source.told(ref) if test.source is not None and read else {}
    return differences(expect, judged.verdicts[ref], of_rules, policy, told)


def _truth(rule: str, policy: Policy, given: Given, truths: Truths) -> Truth:
    ref = subject_of(policy.rules[rule].on, given)
    return truths.truth(rule, ref) if ref is not None else Truth.UNKNOWN


def _behind(found: list[Difference], policy: Policy, given: Given) -> Iterator[tuple[str, Ref]]:
    for rule in dict.fromkeys(rule for difference in found for rule in difference.rules):
        ref = subject_of(policy.rules[rule].on, given) if rule in policy.rules else None
        if ref is not None and given.world.subjects[ref].judged:
            yield rule, ref


def _fixing(policy: Policy, given: Given) -> Policy:
    """The policy with what the test fixes by hand decided first.

    A text becomes the first entry of its list, for this subject alone; anything else (unknown, absent) can only stand
    where the list does not run at all.
    """
    decide = dict(policy.decide)
    for name, value in given.fixed.items():
        target = "bucket" if name == "bucket_sure" else name
        if target not in decide:
            continue
        if isinstance(value, str) and name == target:
            key = Path((), "key", "job", "text")
            mine = Test(key, Compare("eq", (Const(given.about.key),)), decide[name][0].mark, "given")
            decide[name] = (Choice(mine, value, decide[name][0].mark), *decide[name])
        else:
            del decide[target]
    return replace(policy, decide=decide)

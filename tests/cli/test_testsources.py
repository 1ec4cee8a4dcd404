"""Rule tests of recorded sweeps: a cassette beside the test is replayed under the rules as they are."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sweeprules.cli.loading import compile_site
from sweeprules.cli.testsources import readers
from sweeprules.engine.ruletests import read_rule_tests, run_rule_test
from sweeprules.store.site import SiteChoice
from tests.cli.conftest import Ran, Sweeprules
from tests.cli.test_sweeping import DEMO, swept


@pytest.fixture(scope="module")
def cassette(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A cassette of one sweep of the recorded site."""
    folder = tmp_path_factory.mktemp("recorded")
    swept(folder / "state", "--cassette", str(folder / "it.cassette"))
    return (folder / "it.cassette").read_bytes()


@pytest.fixture
def tested(tmp_path: Path, cassette: bytes, sweeprules: Sweeprules) -> Callable[..., Ran]:
    """Runs tests beside the rules of a copy of the recorded site, with `it.cassette` among them."""
    site = Path(shutil.copytree(DEMO, tmp_path / "demo"))
    (site / "rules/it.cassette").write_bytes(cassette)

    def run(*tests: str, rules: str = "") -> Ran:
        (site / "rules/it.test.yaml").write_text("tests:\n" + "".join(f"  - {{name: it, {test}}}\n" for test in tests))
        if rules:
            (site / "rules/own.yaml").write_text(f"policy: 1\ntitle: own\n{rules}")
        return sweeprules("test", "--site", site)

    return run


def test_a_job_of_a_recorded_sweep_is_judged_by_the_rules_as_they_are(tested: Callable[..., Ran]) -> None:
    test = 'given: {cassette: it.cassette, job: "borealis:48102"}, expect: {flags: [suspected-wedge, stale-log]}'
    cluster = "given: {cassette: it.cassette, job: 48102}, expect: {cluster: {truth: {gather.unreachable: false}}}"
    found = tested(test, cluster)
    assert (found.exit, found.out) == (0, "2 tests: 2 passed\n")
    calmer = tested(test, rules="params: {stale_floor: {default: 90d, why: tried without}}\n")
    assert calmer.exit == 1
    assert "flags: expected stale-log" in calmer.out


def test_its_logs_are_read_by_the_patterns_of_the_policy_that_judges() -> None:
    loaded = compile_site(SiteChoice(DEMO, "--site"))
    given = "{cassette: ../ops/borealis/recorded.cassette, job: 48171}"
    text = f"tests: [{{name: it, given: {given}, expect: {{flags: [postpatch-missing]}}}}]\n"
    (test,) = read_rule_tests(loaded.policy, loaded.catalogue, {"rules/it.test.yaml": text}, readers(loaded))
    assert run_rule_test(test, loaded.policy, loaded.catalogue).status == "passed"
    patterns = {name: replace(one, literal="never printed") for name, one in loaded.policy.patterns.items()}
    blind = run_rule_test(test, replace(loaded.policy, patterns=patterns), loaded.catalogue)
    assert blind.status == "failed"
    assert "flags: expected postpatch-missing" in blind.differences[0]


def test_a_recording_of_one_cluster_is_read_with_the_record_of_the_site(tested: Callable[..., Ran]) -> None:
    found = tested("given: {cassette: ../ops/borealis/recorded.cassette, job: 48180}, expect: {flags: [prolog-wedge]}")
    assert (found.exit, found.out) == (0, "1 test: 1 passed\n")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("cassette: ../../x, job: 1", "../../x lies outside the site (put the cassette into a folder of the site)"),
        ("cassette: /etc/passwd, job: 1", "/etc/passwd lies outside the site"),
        ("cassette: gone, job: 1", "gone could not be read: No such file"),
        ("cassette: it.test.yaml, job: 1", "it.test.yaml is not a cassette"),
        ("cassette: it.cassette, job: 'borealis:48181'", "there is no job borealis:48181 in it.cassette (did you mean"),
        ("cassette: it.cassette", "expected the job of the cassette (write job: CLUSTER:ID)"),
        ("cassette: it.cassette, job: {name: x}", "expected the job of the cassette"),
        ("cassette: [x], job: 1", "expected the place of a cassette beside this file"),
        ("cassette: it.cassette, job: 48180, cluster: {}", "cluster is given beside a cassette"),
        ("cassette: it.cassette, job: 48180, log: x", "log is given beside a cassette"),
    ],
)
def test_what_is_no_recorded_job(tested: Callable[..., Ran], given: str, told: str) -> None:
    found = tested(f"given: {{{given}}}, expect: {{flags: []}}")
    assert found.exit == 1
    assert told in found.out
    assert "1 could not be read" in found.out


def test_defaults_have_no_place_beside_a_cassette(tested: Callable[..., Ran]) -> None:
    found = tested("defaults: quiet-job, given: {cassette: it.cassette, job: 48180}, expect: {flags: []}")
    assert "defaults are given beside a cassette" in found.out

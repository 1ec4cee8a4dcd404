"""The harness itself: it must see a difference, and refuse what it does not understand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.harness.expect import differences
from tests.golden.harness.run import Outcome, Runner, Seen
from tests.golden.harness.scenario import Scenario, merged, moment, read, span

FLAG = {"name": "failure", "severity": "critical", "exempt": False, "resolved": False, "message": "m", "since": None}
ASKED = {"name": "diagnose", "status": "blocked", "handoff": None}
REPORTED = {"name": "report", "status": "open", "handoff": None}
JOB = {
    "cluster": "c", "job_id": "7", "bucket": "rl", "state": "FAILED", "flags": [FLAG], "facts": {"links": []},
    "actions": [ASKED, REPORTED],
}  # fmt: skip
CLUSTER = {"name": "c", "status": "swept", "queue": "ok", "because": None, "flags": [], "actions": []}
DOCUMENT = {
    "sweep": {"complete": True, "flags": []},
    "clusters": [CLUSTER],
    "jobs": [JOB],
    "subjects": [],
    "handoffs": [{"id": "h", "template": "t", "job_id": "7", "cluster": "c", "status": "open"}],
}
SEEN = Seen(Outcome((), 1, "", "note"), DOCUMENT, "the text", "the markdown", {"h.md": "page"}, [], 3.0)


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        ({"exit": 0}, "exit is 1, not 0"),
        ({"complete": False}, "complete is True"),
        ({"rows": 2}, "1 rows, not 2: ['7']"),
        ({"clusters": {"c": {"queue": "empty"}}}, "c: queue is 'ok', not 'empty'"),
        ({"clusters": {"d": {}}}, "cluster d is not in the report"),
        ({"clusters": {"c": {"because": "x"}}}, "c: because is None, without 'x'"),
        ({"clusters": {"c": {"calls": 1}}}, "c: 0 round trips, not 1"),
        ({"jobs": {"8": {}}}, "job 8 has 0 rows, not one"),
        ({"jobs": {"c:7": {"flags": []}}}, "job c:7: flags: failure not expected"),
        ({"jobs": {"7": {"flags": ["failure", "edquot"]}}}, "job 7: flags: edquot missing"),
        ({"jobs": {"7": {"flags": ["failure (resolved)"]}}}, "job 7: flags: failure (resolved) missing"),
        ({"jobs": {"7": {"not_flags": ["failure"]}}}, "job 7: failure is there"),
        ({"jobs": {"7": {"actions": ["diagnose"]}}}, "job 7: actions: diagnose missing"),
        ({"jobs": {"7": {"messages": {"failure": "x"}}}}, "job 7: failure says ['m'], without 'x'"),
        ({"jobs": {"7": {"links": ["6"]}}}, "job 7: links: 6 missing"),
        ({"no_jobs": ["7"]}, "job 7 has a row"),
        ({"handoffs": []}, "handoffs: t 7 open not expected"),
        ({"anywhere": ["edquot"]}, "edquot is nowhere"),
        ({"nowhere": ["failure"]}, "failure is there"),
        ({"text": ["absent"]}, "text lacks 'absent'"),
        ({"not_text": ["text"]}, "the text has 'text'"),
        ({"handoff_text": ["x"]}, "no handoff has 'x'"),
        ({"never": ["MARKDOWN"]}, "the markdown says 'MARKDOWN'"),
        ({"stderr": ["x"]}, "stderr lacks 'x'"),
        ({"seconds_below": 3}, "the sweep took 3.0 s, not below 3"),
    ],
)
def test_a_difference_is_seen(expect: dict[str, object], said: str, runner: Runner) -> None:
    """Each kind of expectation fails when it should."""
    found = differences(expect, SEEN, None, runner)
    assert any(line.startswith(said) for line in found), found


def test_what_is_as_expected_is_silent(runner: Runner) -> None:
    """And none fails when it should not."""
    expect = {
        "exit": 1, "complete": True, "rows": 1, "nowhere": ["edquot"], "never": ["drained"], "text": ["text"],
        "jobs": {"7": {"state": "FAILED", "flags": ["failure"], "actions": ["diagnose (blocked)"]}},
        "handoffs": ["t 7 open"], "clusters": {"c": {"status": "swept", "flags": [], "calls": 0}},
    }  # fmt: skip
    assert differences(expect, SEEN, None, runner) == []


def test_two_sweeps_are_compared(runner: Runner) -> None:
    """A flag that came, and a handoff file that is new."""
    calm = {**DOCUMENT, "jobs": [{**JOB, "flags": []}]}
    before = Seen(SEEN.sweep, calm, "", "", {}, [], 1.0)
    found = differences({"same_as_before": True}, SEEN, before, runner)
    assert found[0].startswith("not the same as before")
    assert found[1] == "handoff files that were not there before: ['h.md']"
    assert differences({"same_as_before": True}, SEEN, SEEN, runner) == []


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A runner that is not run."""
    return Runner(Scenario("s", "", None, ()), tmp_path)


def test_unknown_words_are_refused(runner: Runner, tmp_path: Path) -> None:
    """A word that the harness does not know would be an expectation that can not fail."""
    with pytest.raises(ValueError, match="exits"):
        differences({"exits": 0}, SEEN, None, runner)
    with pytest.raises(ValueError, match="colour"):
        differences({"jobs": {"7": {"colour": 1}}}, SEEN, None, runner)
    path = tmp_path / "s99.yaml"
    path.write_text("about: x\nclusterz: {}\n", "utf-8")
    with pytest.raises(ValueError, match="clusterz"):
        list(read(path))


def test_cases_and_steps_are_laid_over(tmp_path: Path) -> None:
    """Mappings merge, values replace, null removes; times add up."""
    assert merged({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": None, "e": 3}, "d": [2]}) == {
        "a": {"c": 2, "e": 3},
        "d": [2],
    }
    path = tmp_path / "s99.yaml"
    then = "then: [{after: 3h}, {after: 30m}]"
    path.write_text(
        f"clusters: {{c: {{user: a}}}}\n{then}\ncases: {{x: {{}}, y: {{clusters: {{c: {{user: b}}}}}}}}", "utf-8"
    )
    first, second = read(path)
    assert (first.name, second.name) == ("s99-x", "s99-y")
    assert [step.offset for step in second.steps] == [0, 10800, 12600]
    assert [step.clusters["c"]["user"] for step in second.steps] == ["b", "b", "b"]
    assert span("6h30m") == 23400
    assert moment("-90s", 100.0) == 10.0
    with pytest.raises(ValueError, match="span"):
        span("6 hours")

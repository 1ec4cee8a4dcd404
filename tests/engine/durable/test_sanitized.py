"""Under AddressSanitizer: what we send to durable-rules touches no memory that is not its own; the rest would."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sweeprules.cli.loading import choose_site, compile_site
from sweeprules.engine.durable.checked import check, with_exemptions
from sweeprules.engine.durable.encode import json_text
from sweeprules.engine.durable.run import Session
from sweeprules.engine.durable.runner import Child
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import World
from sweeprules.engine.holds import NOTHING_HELD, Held
from sweeprules.engine.language.ast import Policy
from tests.engine.durable import shipped, wide
from tests.engine.durable.sanitized import ROOT, NotHereError, Sanitized, build
from tests.engine.durable.test_defects import PAIR, RAW, many
from tests.engine.whole.cases import case

pytestmark = pytest.mark.deep
DEADLINE = 900.0


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Sanitized:
    try:
        return build(tmp_path_factory.mktemp("sanitized"))
    except NotHereError as error:
        pytest.skip(f"NOT RUN, durable-rules was not looked at with AddressSanitizer: {error}")


@pytest.fixture
def session(sanitized: Sanitized) -> Iterator[Session]:
    with Child(DEADLINE, "", sanitized.command("-P", "-m", "sweeprules.engine.durable.child")) as child:
        child.greet()
        maps = Path(f"/proc/{child.pid}/maps").read_text()
        assert str(sanitized.folder) in maps, "the child runs another module than the one that was built"
        assert "libasan" in maps
        yield Session(child)
    assert not sanitized.reports(), sanitized.reports()[0][:3000]


def agreed(session: Session, policy: Policy, world: World, held: Held = NOTHING_HELD) -> int:
    """The number of firings, after both evaluators were seen to agree."""
    truths = evaluate(policy, world, held)
    seen = with_exemptions(truths, judge(policy, world, None, truths, held))
    result = check(policy, world, seen, session=session, held=held)
    assert result.status == "equal", (result.failure, result.divergence and result.divergence.differences)
    return result.firings


def test_the_shipped_policy_is_clean(session: Session) -> None:
    loaded = compile_site(choose_site(ROOT))
    worlds = [shipped.Maker(loaded.policy, loaded.catalogue, seed).world() for seed in range(6)]
    assert sum(agreed(session, loaded.policy, world) for world in worlds) > 1000


@pytest.mark.parametrize("block", range(4))
def test_generated_programs_are_clean(session: Session, block: int) -> None:
    fired = 0
    for seed in range(block * 100, block * 100 + 100):
        one = case(seed)
        fired += agreed(session, *one)
        maker = wide.Maker(seed)
        fired += agreed(session, maker.policy(), maker.world())
    assert fired > 1000


@pytest.mark.parametrize("count", [40, 600, 1400])
def test_large_batches_of_guarded_joins_are_clean(
    session: Session, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeprules.engine.durable.run.BATCH", count)
    assert agreed(session, PAIR, many(count)) > count / 10


ONE_BY_ONE = """
import durable_rules_engine as d, json, sys
definition, facts = sys.stdin.read().split("\\n")
handle = d.create_ruleset("r", definition)
for fact in json.loads(facts):
    code, state = d.assert_fact(handle, json.dumps(fact))
started = d.start_action_for_state(handle, state)
message = started and started[1]
while message:
    message = d.complete_and_start_action(handle, state)
"""


def _raw(
    sanitized: Sanitized, patterns: list[dict[str, Any]], facts: list[dict[str, Any]], script: str = RAW
) -> tuple[int, str]:
    """What becomes of a process that gives the engine a definition as it stands: its exit status and the report."""
    before = len(sanitized.reports())
    body = "[" + ",".join(json_text({"sid": "1", **fact}) for fact in facts) + "]"
    text = json.dumps({"r": {"all": patterns}}) + "\n" + body
    ran = subprocess.run(
        sanitized.command("-c", script), input=text, capture_output=True, text=True, timeout=120, check=False
    )
    found = sanitized.reports()[before:]
    for path in sanitized.folder.glob("report.*"):
        path.unlink()
    return ran.returncode, "".join(found)


FACTS = [{"t": "s", "id": f"i{i}", "j": "a", "n": i % 3, "_one": 1} for i in range(8)]
JOIN: list[dict[str, Any]] = [{"t": "s"}, {"j": {"x": "j"}}, {"$gt": {"n": {"x": "n"}}}]
GUARD = {"_one": {"x": "_one"}}


def test_the_sanitizer_sees_a_join_that_lacks_its_guard_and_none_that_has_it(sanitized: Sanitized) -> None:
    """The control: were the sanitizer not at work, the tests above could not fail."""
    first = {"x": {"$and": [{"t": "s"}]}}
    code, report = _raw(sanitized, [first, {"y": {"$and": JOIN}}], FACTS)
    assert code == 99, report
    assert "AddressSanitizer: heap-buffer-overflow" in report
    assert "events.c" in report
    code, report = _raw(sanitized, [first, {"y": {"$and": [*JOIN, GUARD]}}], FACTS)
    assert (code, report) == (0, "")


def test_the_sanitizer_sees_a_join_on_the_id(sanitized: Sanitized) -> None:
    """The other control: memory of Python's own that was freed is seen too."""
    join = {"y": {"$and": [{"t": "s"}, {"id": {"x": "j"}}, GUARD]}}
    facts = [{**fact, "j": FACTS[i - 1]["id"]} for i, fact in enumerate(FACTS)]
    code, report = _raw(sanitized, [{"x": {"$and": [{"t": "s"}]}}, join], facts, ONE_BY_ONE)
    assert code == 99, report
    assert "AddressSanitizer: heap-use-after-free" in report

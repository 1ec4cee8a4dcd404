"""Every handoff page: whole under its proofs, BLOCKED without them, and never with a cluster's markup in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from jinja2 import TemplateError

from sweeprules.cli.loading import load_catalogue
from sweeprules.engine.facts import ABSENT, FactValue, Ref, Subject, Unknown, World
from sweeprules.engine.language.ast import ActionDef, Policy
from sweeprules.engine.verdicts import Action, Flag, Verdict
from sweeprules.handoffs.render import Handoff, hand_off
from sweeprules.reports.clean import markdown
from sweeprules.reports.words import typed

ROOT = Path(__file__).parents[2]
TEMPLATES = {str(p.relative_to(ROOT / "templates")): p.read_text() for p in (ROOT / "templates").rglob("*.j2")}
CATALOGUE = load_catalogue()
PAGES = sorted(CATALOGUE.templates)
REF = Ref("job", "aurora:7")
HOSTILE = "rl__x\n# title **bold** <b> [a](http://e) `x` \x1b[2J"


def policy(actions: dict[str, ActionDef]) -> Policy:
    return Policy({}, {}, {}, {}, {}, (), {}, {}, actions, (), "0" * 64)


def handed(
    action: Action, facts: dict[str, FactValue], proofs: tuple[str, ...] = (), templates: dict[str, str] = TEMPLATES
) -> tuple[Handoff, Action]:
    known = replace(CATALOGUE.actions[action.name], proofs=proofs)
    subject = Subject(REF, {"cluster": "aurora", "name": HOSTILE, **facts})
    verdict = Verdict(REF, {}, {}, (Flag("failure", "critical", "r", f"died: {HOSTILE}"),), (action,))
    made, settled = hand_off(
        World({REF: subject}), {REF: verdict}, policy({action.name: known}), {}, templates, markdown,
        lambda name, value: typed(value, "text"),
    )  # fmt: skip
    assert len(made) == 1
    return made[0], settled[REF].actions[0]


def action(template: str, **args: FactValue) -> Action:
    name = next(n for n, a in CATALOGUE.actions.items() if template in a.templates)
    found = CATALOGUE.actions[name]
    given = dict.fromkeys(found.args, HOSTILE) | args
    return Action(name, found.klass, found.destructive, given, template, "open", ("failure",), ("r",))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_without_its_proof_is_blocked_and_prints_no_destructive_step(page: str) -> None:
    handoff, settled = handed(action(page), {"state": Unknown("read-failed")}, ("still-running",))
    assert (handoff.status, settled.status) == ("blocked", "blocked")
    assert "still-running is unknown" in handoff.text.replace("\\", "")
    assert "**BLOCKED.**" in handoff.text
    whole, _ = handed(action(page), {"state": "RUNNING", "state_source": "squeue"}, ("still-running",))
    assert whole.status == "open"
    assert "BLOCKED" not in whole.text
    steps = [line for line in whole.text.splitlines() if line.startswith("- ") and line not in handoff.text]
    if CATALOGUE.actions[action(page).name].destructive and "cancel" in page:
        assert steps, "a destructive page prints its steps once proved, and not before"


@pytest.mark.parametrize("page", PAGES)
def test_nothing_of_a_cluster_is_markup_on_a_page(page: str) -> None:
    handoff, _ = handed(action(page), {"state": "RUNNING", "state_source": "squeue"})
    assert "\x1b" not in handoff.text
    assert not any(line.startswith("# title") for line in handoff.text.splitlines())
    for markup in ("**bold**", "<b>", "[a](http", "`x`"):
        assert markup not in handoff.text


def test_an_unknown_argument_blocks() -> None:
    handoff, settled = handed(
        action("propose-kill", ids=Unknown("vanished")), {"state": "RUNNING", "state_source": "squeue"}
    )
    assert settled.status == "blocked"
    assert "argument ids is unknown (vanished)" in handoff.blocked_by


def test_an_absent_argument_does_not_block() -> None:
    _, settled = handed(action("failure-diagnosis", position=ABSENT), {})
    assert settled.status == "open"


def test_an_undefined_name_in_a_template_is_an_error_with_its_file() -> None:
    broken = {**TEMPLATES, "handoffs/propose-kill.md.j2": "{{ nothing_like_it }}"}
    with pytest.raises(TemplateError, match=r"handoffs/propose-kill\.md\.j2"):
        handed(action("propose-kill"), {}, templates=broken)


def test_actions_of_one_template_are_one_document() -> None:
    diagnose, log = action("failure-diagnosis"), None
    found = CATALOGUE.actions["agent-log"]
    log = Action("agent-log", found.klass, False, {"topic": "x"}, "failure-diagnosis", "open", ("failure",), ("r",))
    subject = Subject(REF, {"cluster": "aurora"})
    verdict = Verdict(REF, {}, {}, (), (diagnose, log))
    actions = {a.name: replace(CATALOGUE.actions[a.name], proofs=()) for a in (diagnose, log)}
    made, _ = hand_off(
        World({REF: subject}), {REF: verdict}, policy(actions), {}, TEMPLATES, markdown, lambda n, v: typed(v, "text")
    )
    assert [(h.template, h.actions) for h in made] == [("failure-diagnosis", (diagnose.name, "agent-log"))]


def test_an_exempt_action_has_no_document() -> None:
    exempt = replace(action("propose-kill"), status="exempt")
    verdict = Verdict(REF, {}, {}, (), (exempt,))
    made, settled = hand_off(
        World({REF: Subject(REF, {"cluster": "aurora"})}), {REF: verdict},
        policy({exempt.name: CATALOGUE.actions[exempt.name]}), {}, TEMPLATES, markdown, lambda n, v: typed(v, "text"),
    )  # fmt: skip
    assert made == []
    assert settled[REF].actions[0].status == "exempt"

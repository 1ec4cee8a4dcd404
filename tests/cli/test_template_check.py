"""What is wrong with a template is found before it is rendered, and what is right is not complained of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sweeprules.cli.loading import load_catalogue, read_site
from sweeprules.cli.template_check import template_problems
from sweeprules.cli.template_shapes import handoff_names
from sweeprules.engine.facts import Ref, Subject, World
from sweeprules.engine.language.ast import ActionDef, Policy
from sweeprules.engine.site import ClusterRecord, Gotcha, Reach
from sweeprules.engine.verdicts import Action, Flag, Verdict
from sweeprules.handoffs.render import hand_off
from sweeprules.store.site import SiteChoice

CATALOGUE = load_catalogue()
SHIPPED = read_site(SiteChoice(Path(__file__).resolve().parents[2], "--site"))
OWN = "handoffs/propose-kill.md.j2"


def said(text: str, name: str = OWN, **more: str) -> list[str]:
    """What is said of a template of a site's own, beside the shipped ones."""
    load = replace(SHIPPED, templates={**SHIPPED.templates, **more, name: text})
    found = template_problems(load, CATALOGUE)
    assert {problem.mark.file for problem in found} <= {f"builtin:templates/{name}", f"templates/{name}"}
    return [str(problem).partition(f"{name}:")[2] for problem in found]


def test_the_shipped_ones_are_good() -> None:
    assert template_problems(SHIPPED, CATALOGUE) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{{ clustr }}", "1:4: `clustr` is not among what this template is given (did you mean cluster?)"),
        ("a\n{{ flags[0].nme }}", "2:13: there is no `nme` in it (did you mean name?)"),
        (
            "{% for f in flags %}{{ f.severty }}{% endfor %}",
            "1:26: there is no `severty` in it (did you mean severity?)",
        ),
        ("{% for f in flags if f.nam == 'x' %}{% endfor %}", "1:24: there is no `nam` in it (did you mean name?)"),
        ("{% set f = flags[0] %}{{ f.nam }}", "1:28: there is no `nam` in it (did you mean name?)"),
        ("{{ facts.job_idd }}", "1:10: there is no `job_idd` in it (did you mean job_id?)"),
        ('{{ facts["job_idd"] }}', "1:11: there is no `job_idd` in it (did you mean job_id?)"),
        ("{{ id.__class__ }}", "1:7: templates may not reach `__class__` (use the names that the template is given)"),
        (
            '{{ id["__class__"] }}',
            "1:8: templates may not reach `__class__` (use the names that the template is given)",
        ),
        ("{{ flags.append(1) }}", "1:10: templates may not change what they are given, as `append` would"),
        ("{{ id | mdd }}", "1:1: the template can not be read: No filter named 'mdd'"),
        ("{{ id", "1:1: the template can not be read: unexpected end of template"),
        ("{% if id %}", "1:1: the template can not be read: Unexpected end of template"),
        ('{% include "handoffs/_genric.md.j2" %}', "there is no template `handoffs/_genric.md.j2` (did you mean"),
        ("{% include id %}", "1:1: the other template is named by a value"),
        (f'{{% extends "{OWN}" %}}', "1:1: the template extends itself"),
        (
            '{% extends "handoffs/_generic.md.j2" %}\n{% block stps %}{% endblock %}',
            "2:10: no template that this one extends has the block `stps`, so it is never shown (did you mean steps?)",
        ),
        ('{% from "handoffs/_generic.md.j2" import row %}', "`handoffs/_generic.md.j2` has no macro `row`"),
    ],
)
def test_what_is_wrong(text: str, words: str) -> None:
    (found,) = said(text)
    assert words in found


@pytest.mark.parametrize(
    "text",
    [
        "{% for f in flags %}{{ loop.index }} {{ f.name.upper() }}{% else %}{{ id }}{% endfor %}",
        "{% set x = 3 %}{{ x + 1 }}{% for n in range(3) %}{{ n }}{% endfor %}",
        "{% for name, value in actions[0].args.items() %}{{ name }}{{ value }}{% endfor %}",
        '{{ facts["lines.ray-oom.count"] }} {{ facts.items() | list | length }} {{ facts.state }}',
        "{% macro row(x) %}{{ x.anything }}{% endmacro %}{{ row(flags) }}",
        "{% with f = flags[0] %}{{ f.name }}{% endwith %}",
        '{% include "handoffs/none.md.j2" ignore missing %}',
        "{% for reason in blocked_by[:3] %}{{ reason }}{% endfor %}{{ gotchas[0].validated or 'never' }}",
    ],
)
def test_what_is_right(text: str) -> None:
    assert said(text) == []


def test_all_mistakes_of_all_templates_at_once() -> None:
    assert len(said("{{ a }} {{ b }}\n{{ c }} {{ flags[0].d }}")) == 4


def test_a_partial_may_read_what_all_that_use_it_set() -> None:
    partial = {"handoffs/_row.md.j2": "{{ colour }}"}
    assert said('{% set colour = 1 %}{% include "handoffs/_row.md.j2" %}', **partial) == []
    load = replace(SHIPPED, templates={**SHIPPED.templates, **partial, OWN: '{% include "handoffs/_row.md.j2" %}'})
    assert ["colour" in str(problem) for problem in template_problems(load, CATALOGUE)] == [True]


def test_the_report() -> None:
    name = "report/report.md.j2"
    (found,) = said("{% for f, label in flags %}{{ f.nam | md }}{{ label | md }}{% endfor %}", name)
    assert "did you mean name?" in found
    (found,) = said("{% for c in report.clusters %}{{ c.ops.sha265 }}{% endfor %}", name)
    assert "did you mean sha256?" in found
    assert said("{{ report.jobs[0].facts.anything }}{{ report.sweep.policy_sha256[:12] }}", name) == []


# ---------------------------------------------------------------- the shapes are those that are rendered


def spelled(path: str, shape: Any) -> list[str]:
    """Expressions that reach every name of a shape."""
    if isinstance(shape, list):
        return spelled(f"{path}[0]", shape[0])
    if isinstance(shape, Mapping) and shape:
        return [text for name, inner in shape.items() for text in spelled(f"{path}.{name}", inner)]
    return [path]


def test_every_name_that_is_allowed_is_given() -> None:
    names = dict(handoff_names(CATALOGUE, "propose-kill"))
    del names["facts"]
    expressions = [text for name, shape in names.items() for text in spelled(name, shape)]
    assert len(expressions) > 15
    template = "\n".join(f"{text}={{{{ {text} }}}}" for text in (*expressions, "facts.state"))
    assert said(template) == []
    ref = Ref("job", "leonardo:1")
    action = Action("propose-kill", "ask", False, {"ids": ("1",)}, "propose-kill", "blocked", ("x",), ("r",), ("why",))
    verdict = Verdict(ref, {}, {}, (Flag("x", "critical", "r", "words"),), (action,))
    proof = next(iter(sorted(CATALOGUE.proofs)))
    actions = {"propose-kill": ActionDef("propose-kill", "ask", False, (proof,), ("propose-kill",), ("ids",))}
    policy = Policy({}, {}, {}, {}, {}, (), {}, {}, actions, (), "")
    record = ClusterRecord(
        "leonardo", "p", "s", "slurm", "alice", "UTC", Reach("local"), gotchas=(Gotcha("delete", "slow", "", "x"),)
    )
    world = World({ref: Subject(ref, {"state": "RUNNING", "cluster": "leonardo"})})
    made, _ = hand_off(world, {ref: verdict}, policy, {"leonardo": record}, {OWN: template}, str, lambda *_: "shown")
    assert len(made) == 1
    assert "flags[0].message=words" in made[0].text

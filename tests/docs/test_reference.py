"""The reference is what the generator writes, and nothing that a policy may name is missing from it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.generator.facts import sources
from docs.generator.pages import FOLDER, pages, shipped
from docs.generator.patterns import example
from sweeprules.engine.errors import Mark
from sweeprules.engine.facts import Reason
from sweeprules.engine.language import calc
from sweeprules.engine.language.ast import Pattern, Raise
from sweeprules.engine.language.codes import CODES
from sweeprules.engine.language.compare import OPERATORS
from sweeprules.engine.language.layers import LISTED, NAMED
from sweeprules.engine.testdefaults import DEFAULTS

ROOT = Path(__file__).resolve().parents[2]
FACTS: dict[str, Any] = json.loads((ROOT / "schemas/facts.schema.json").read_text())["$defs"]
RULES: dict[str, Any] = json.loads((ROOT / "schemas/rules.schema.json").read_text())
TESTS: dict[str, Any] = json.loads((ROOT / "schemas/rule-tests.schema.json").read_text())
NAMES: dict[str, Any] = yaml.safe_load((ROOT / "rules/catalogue.yaml").read_text())
KINDS = {name: body for name, body in FACTS.items() if "x-kind" in body}
REGENERATE = "run `python -m docs.generator` and commit docs/reference"


def written(name: str) -> str:
    return (FOLDER / name).read_text()


def section(text: str, title: str) -> str:
    """What stands under a heading of the second level."""
    found = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert found, f"no section {title!r}"
    return found.group(1)


def firsts(text: str) -> set[str]:
    """The first code span of each row of a table."""
    return {found.group(1) for found in re.finditer(r"^\| `([^`]+)`", text, re.M)}


def test_the_committed_pages_are_what_the_generator_writes() -> None:
    made = pages()
    assert sorted(path.name for path in FOLDER.glob("*.md")) == sorted(made), REGENERATE
    stale = [name for name, text in made.items() if written(name) != text]
    assert not stale, REGENERATE


def test_the_index_links_to_every_page() -> None:
    linked = set(re.findall(r"\]\((\w+\.md)\)", written("README.md")))
    assert linked == {path.name for path in FOLDER.glob("*.md")} - {"README.md"}


@pytest.mark.parametrize("kind", KINDS)
def test_no_fact_of_the_schema_is_missing(kind: str) -> None:
    text = section(written("facts.md"), FACTS[kind]["x-kind"]["subject"])
    rows = firsts(text)
    assert set(FACTS[kind]["properties"]) <= rows
    assert set(FACTS[kind].get("x-relations", {})) <= rows
    for word, parts in FACTS[kind].get("x-pattern-fields", {}).items():
        assert {f"{word}.NAME.{part}" for part in parts} <= rows


@pytest.mark.parametrize("kind", KINDS)
def test_each_fact_says_what_it_is_read_from(kind: str) -> None:
    said = {name for of, name in sources() if of == kind and ".NAME." not in name}
    assert said == set(FACTS[kind]["properties"]), "docs/generator/sources.yaml says what each fact is read from"


@pytest.mark.parametrize(("kind", "name"), [(k, n) for k, body in KINDS.items() for n in body["properties"]])
def test_each_fact_has_its_type_unit_and_words(kind: str, name: str) -> None:
    spec = FACTS[kind]["properties"][name]
    text = section(written("facts.md"), FACTS[kind]["x-kind"]["subject"])
    row = next(line for line in text.splitlines() if line.startswith(f"| `{name}`"))
    cells = row.split(" | ")
    assert cells[1].startswith(spec["x-type"])
    assert spec.get("x-unit", "") in cells[1]
    words = [word for branch in spec.get("anyOf", ()) for word in branch.get("enum", ())]
    assert all(f"`{word}`" in cells[1] for word in words)
    assert ("*settable*" in cells[0]) == bool(spec.get("x-settable"))
    assert ("Unknown: " in spec["description"]) == bool(cells[4].strip())
    assert ("Absent: " in spec["description"]) == bool(cells[5].strip(" |"))


def test_each_operator_is_told_and_given_to_a_type() -> None:
    told = firsts(section(written("keys.md"), "A test"))
    assert {*OPERATORS, "possible", "fold", "default", "because", "calc", "least", "most"} <= told
    by_type = section(written("facts.md"), "Tests by type")
    types = {spec["x-type"] for body in KINDS.values() for spec in body["properties"].values()}
    assert types <= firsts(by_type)
    assert all(f"`{name}`" in by_type for name in (*OPERATORS, "possible"))


def _keys(schema: dict[str, Any]) -> Iterator[str]:
    """Every key that a schema lets people write."""
    for name, spec in schema.get("properties", {}).items():
        if not spec.get("x-hidden"):
            yield name
            yield from _keys(spec)
    for part in schema.get("$defs", {}).values():
        yield from _keys(part)
    for inner in (schema.get("additionalProperties"), schema.get("items"), schema.get("else"), schema.get("then")):
        if isinstance(inner, dict):
            yield from _keys(inner)


def test_each_key_of_policies_and_rule_tests_is_told() -> None:
    text = written("keys.md")
    inline = set(re.findall(r"`([^`]+)`", text))
    assert {*_keys(RULES), *_keys(TESTS)} <= inline, "a key of the schema has no row"
    assert {*NAMED, *LISTED} <= firsts(section(text, "A policy file"))
    assert set(RULES["$defs"]["rule"]["properties"]) == firsts(section(text, "A rule"))
    assert set(RULES["$defs"]["route"]["properties"]) - {"for"} == firsts(section(text, "A route"))
    assert {*calc.FUNCTIONS, *DEFAULTS} <= inline


def test_each_way_to_make_a_feature_is_told() -> None:
    words = RULES["$defs"]["feature"]["properties"]["is"]["enum"]
    assert set(words) <= firsts(section(written("policy.md"), "Features"))


def test_each_flag_is_told_with_its_severity_and_whether_it_can_be_exempt() -> None:
    rows = {line.split("`")[1]: line for line in written("flags.md").splitlines() if line.startswith("| `")}
    for name, body in NAMES["flags"].items():
        cells = rows[name].split(" | ")
        assert cells[2].startswith(body["severity"])
        assert cells[3] == ("yes" if body["exemptible"] else "no")
        assert all(f"`{other}`" in cells[4] for other in body.get("explains", ()))
        assert all(f"`{name}`" in rows[other].split(" | ")[4] for other in body.get("explained_by", ()))
    assert set(NAMES["signals"]) == firsts(section(written("flags.md"), "Signals"))


def test_each_action_is_told_with_class_arguments_proofs_and_templates() -> None:
    text = section(written("actions.md"), "Actions")
    rows = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `")}
    assert set(rows) == set(NAMES["actions"])
    for name, body in NAMES["actions"].items():
        cells = rows[name].split(" | ")
        assert all(f"`{kind}`" in cells[1] for t in body["templates"] for kind in NAMES["templates"][t]["subject"])
        assert bool(body["templates"]) == (cells[1] != "any")
        assert cells[2] == body["class"]
        assert cells[3] == {True: "yes", False: "no"}.get(body["destructive"], body["destructive"])
        for at, words in ((4, body["args"]), (5, body["proofs"]), (6, body["templates"])):
            assert all(f"`{word}`" in cells[at] for word in words)
        extra = [proof for one in body.get("proofs_for", ()) for proof in one["proofs"]]
        assert all(f"`{proof}`" in cells[5] for proof in extra)


def test_each_proof_template_word_and_code_is_told() -> None:
    assert set(NAMES["proofs"]) == firsts(section(written("actions.md"), "Proofs"))
    assert set(NAMES["templates"]) <= firsts(written("templates.md"))
    words = written("words.md")
    assert set(NAMES["enums"]) | set(NAMES["slurm_states"]) <= firsts(words)
    for one in NAMES["enums"].values():
        members = one if isinstance(one, list) else [word for some in one.values() for word in some]
        assert all(f"`{word}`" in words for word in members)
    assert {str(reason) for reason in Reason} <= firsts(section(words, "Reasons for being unknown"))
    assert set(re.findall(r"^## (SR\d{3}): ", written("codes.md"), re.M)) == set(CODES)


def test_each_route_of_a_flag_is_told() -> None:
    asked = section(written("actions.md"), "Which actions the shipped rules ask for")
    later = firsts(section(written("actions.md"), "Which actions a flag leads to later"))
    flags = NAMES["routing"]["by_flag"]
    assert later <= set(flags) | set(NAMES["routing"]["by_fact"])
    for flag, actions in flags.items():
        rows = [line for line in asked.splitlines() if f"`{flag}`" in line.rpartition(" | ")[2]]
        told = {line.split("`")[1] for line in rows}
        assert (flag in later) == bool(set(actions) - told), flag


def test_each_flag_says_which_rules_raise_it() -> None:
    rows = {
        line.split("`")[1]: line.split(" | ") for line in written("flags.md").splitlines() if line.startswith("| `")
    }
    raised = shipped()
    for rule in raised.rules.values():
        for one in rule.then:
            if isinstance(one, Raise):
                assert f"`{rule.id}`" in rows[one.flag][5]
    assert {rows[name][5] for name, body in NAMES["flags"].items() if body.get("builtin")} == {"the tool"}
    assert "`live.stale-log`" in rows["stale-log"][5]


@pytest.mark.parametrize(
    ("title", "key"),
    [("Rules", "rules"), ("Parameters", "params"), ("Lists", "lists"), ("Patterns", "patterns"),
     ("Features", "features"), ("Exemptions", "exemptions"), ("Routes", "routes")],
)  # fmt: skip
def test_the_shipped_policy_is_told_whole(title: str, key: str) -> None:
    names: set[str] = set()
    for path in (ROOT / "rules").glob("*.yaml"):
        if path.name != "catalogue.yaml" and not path.name.endswith(".test.yaml"):
            found = yaml.safe_load(path.read_text()).get(key, {})
            names |= {one["id"] for one in found} if isinstance(found, list) else set(found)
    told = firsts(section(written("policy.md"), title))
    assert names <= told
    assert told - names <= {"is", *RULES["$defs"]["feature"]["properties"]["is"]["enum"]}


def test_each_pattern_has_a_line_that_it_meets() -> None:
    text = written("patterns.md")
    rows = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `")}
    patterns = shipped().patterns
    assert set(rows) == set(patterns)
    bare = [name for name, one in patterns.items() if one.literal.replace("|", "\\|") not in rows[name]]
    assert not bare, "no shipped rule test has a line of it"
    assert example(Pattern("a", "fault", "no", r"no\d", {}, None, "", Mark("", 1, 1)), ["no", " no1 ", "no2"]) == "no1"

"""The page of keys: what may stand in a policy file and in a rule test, from their schemas; and the lint codes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from docs.generator.markdown import code, codes, page, table
from sweeprules.engine.language.calc import FUNCTIONS
from sweeprules.engine.language.codes import CODES
from sweeprules.engine.testdefaults import DEFAULTS

Schema = Mapping[str, Any]
TITLES = {
    "param": "A parameter",
    "override": "A row of `for` in a parameter",
    "list_change": "A change of a shipped list",
    "pattern": "A pattern",
    "feature": "A feature",
    "metric": "A metric",
    "choice": "A line of `decide`",
    "choices_first": "A change of a shipped decision",
    "rule": "A rule",
    "condition": "A condition",
    "at_least": "`at_least`",
    "of_members": "`every` and `some`",
    "of_total": "`count` and `sum`",
    "test": "A test",
    "right": "A right side",
    "pick": "`least` and `most`",
    "consequence": "A consequence",
    "arg": "An argument of an action",
    "exemption": "An exemption",
    "route": "A route",
    "routes_first": "A change of shipped routes",
    "new_flag": "A new flag",
}
INTRO = """What may stand where in a file of `rules/`. A key that is not listed is a mistake, and `validate` names the
nearest one. Files `NAME.yaml` are policies, `NAME.test.yaml` beside them are rule tests. An editor with a YAML language
server reads the same from `# yaml-language-server: $schema=...`."""


def keys_page(rules: Schema, tests: Schema) -> str:
    """Keys of policy files and of rule tests."""
    parts = [_policy(rules)]
    parts += [_part(title, rules["$defs"][name]) for name, title in TITLES.items()]
    parts += [_calc(), _tests(tests)]
    return page("Keys of the language", INTRO, *parts)


def _policy(schema: Schema) -> Iterator[str]:
    yield "## A policy file"
    yield ""
    yield from table(("Key", "", "Meaning"), _rows(schema))
    actions = schema["properties"]["actions"]["additionalProperties"]
    yield "A new action has " + "; ".join(f"{code(k)}: {v['description']}" for k, v in actions["properties"].items())
    yield ""
    yield "A new signal has `why` alone."
    yield ""


def _part(title: str, part: Schema) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield str(part["description"])
    yield ""
    yield from table(("Key", "", "Meaning"), _rows(part))


def _rows(part: Schema) -> Iterator[tuple[str, str, str]]:
    for name, spec in part["properties"].items():
        if not spec.get("x-hidden"):
            yield code(name), "required" if name in part.get("required", ()) else "", _meaning(spec)


def _meaning(spec: Schema) -> str:
    words = spec.get("enum", [spec["const"]] if "const" in spec else [])
    told = f" One of {codes(_yaml(word) for word in words)}." if words else ""
    expected = f" Write {spec['x-expect']}." if "x-expect" in spec else ""
    return str(spec.get("description", "Why it is there, or what the report says.")) + told + expected


def _yaml(word: object) -> str:
    return str(word).lower() if isinstance(word, bool) else str(word)


def _calc() -> Iterator[str]:
    yield "## Arithmetic"
    yield ""
    functions = codes(FUNCTIONS)
    yield f'`{{calc: "..."}}` knows `+ - * /`, brackets and {functions} over `$param`, `.field` and `..field`.'
    yield "Units are checked: a time less a time is a duration, a duration times a number is a duration. Division by"
    yield "zero is unknown `calc`. The clock of the sweep is `.sweep.now`. Limits are parameters; only"
    yield "0, 1 and -1 stand as they are."
    yield ""


def _tests(schema: Schema) -> Iterator[str]:
    yield "## A file of rule tests"
    yield ""
    yield f"{code('tests')} is its one key: a list of tests."
    yield ""
    parts = {"A rule test": schema["$defs"]["test"]}
    parts |= {f"`{name}` of a rule test": schema["$defs"]["test"]["properties"][name] for name in ("given", "expect")}
    parts |= {"A flag under `raised`": schema["$defs"]["raised"]}
    parts["What a flag is `raised` with"] = schema["$defs"]["raised"]
    for title, part in parts.items():
        yield from _part(title, part)
    yield "Any other key of `given` is a kind or a relation, any other key of `expect` a fact that rules set or decide,"
    yield f"or a kind of subject with expectations of its own. `defaults` knows {codes(DEFAULTS)}."
    yield ""


def codes_page() -> str:
    """What `validate` warns of, by code."""
    intro = (
        "What `validate` says beside mistakes: the policy can be run, and is likely not what was meant.\n"
        "`sweeprules rules --code SR004` prints one of these."
    )
    return page("Lint codes", intro, _codes())


def _codes() -> Iterator[str]:
    for one in CODES.values():
        yield f"## {one.code}: {one.title}"
        yield ""
        yield from textwrap.wrap(one.text, 118)
        yield ""

"""Checks the shape of a file against a JSON Schema and says what is wrong in a sentence each, with its place.

Schemas are written with discriminators (`if`/`then`), so that only the branch that was meant speaks. Two annotations
help: `x-expect` words what stands in a place ("a duration such as 30m"), `x-message` is what to say instead, in
one text or one for each keyword. A key with `x-hidden` is known, so that it can be spoken about, and never offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry

from sweeprules.engine.errors import Mark, Problem, nearest
from sweeprules.engine.language.node import KIND_WORDS, Node, plain

LISTED = 14
"""How many allowed words a message lists before it says how many more there are."""

_TYPE_WORDS = {
    "object": "a map",
    "array": "a list",
    "string": "a text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}
_Words = tuple[str, str]


def check_shape(node: Node, schema: Mapping[str, Any], *, registry: Registry[Any] | None = None) -> list[Problem]:
    """Every place where the tree does not fit the schema, in file order; values already reported as bad are skipped."""
    validator = Draft202012Validator(schema) if registry is None else Draft202012Validator(schema, registry=registry)
    found: dict[Problem, None] = {}
    for error in validator.iter_errors(plain(node)):
        for leaf in _leaves(error):
            found.update(dict.fromkeys(_problems(leaf, node)))
    return sorted(found)


def listed(words: Iterable[str]) -> str:
    """`a, b or c`, shortened after `LISTED` words."""
    names = [str(word) for word in words]
    # "and 1 more" would be no shorter than the one.
    if len(names) > LISTED + 1:
        return ", ".join(names[:LISTED]) + f" (and {len(names) - LISTED} more)"
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" or {names[-1]}"


def quote(value: object, limit: int = 40) -> str:
    """A value as a message shows it: in backticks, one line, cut, and nothing in it that a terminal acts on."""
    text = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in " ".join(str(value)[:200].split()))
    return f"`{text if len(text) <= limit else text[: limit - 1] + '…'}`"


# ---------------------------------------------------------------- from one schema error to those worth telling


def _leaves(error: ValidationError) -> Iterator[ValidationError]:
    """The errors behind an alternative: those of the branch that was most likely meant."""
    if error.validator not in {"anyOf", "oneOf"} or not error.context or _worded(error):
        yield error
        return
    branches: dict[Any, list[ValidationError]] = {}
    for inner in error.context:
        branches.setdefault(inner.relative_schema_path[0], []).append(inner)
    meant = [errors for errors in branches.values() if not any(_at_root(inner) for inner in errors)]
    if not meant:
        yield error
        return
    for inner in min(meant, key=len):
        yield from _leaves(inner)


def _worded(error: ValidationError) -> bool:
    return "x-expect" in _schema(error) or bool(_own(error))


def _at_root(error: ValidationError) -> bool:
    return not error.relative_path and error.validator in {"type", "enum", "const", "pattern"}


def _schema(error: ValidationError) -> Mapping[str, Any]:
    return error.schema if isinstance(error.schema, Mapping) else {}


def _problems(error: ValidationError, root: Node) -> Iterator[Problem]:
    node, key_mark = _locate(root, list(error.absolute_path))
    if node.kind == "bad":
        return
    if error.validator == "additionalProperties":
        yield from _unknown_keys(error, node)
    elif "propertyNames" in error.absolute_schema_path:
        yield Problem(node.key_mark(str(error.instance)), *_of_key(error))
    elif error.validator == "not" and not _own(error):
        yield from _misplaced(error, node, key_mark)
    else:
        yield Problem(node.mark, *_describe(error, node))


def _locate(root: Node, path: list[str | int]) -> tuple[Node, Mark]:
    """The node at a path, and the place of the key that leads to it."""
    node, key_mark = root, root.mark
    for part in path:
        if isinstance(part, int):
            node = node.items[part]
            key_mark = node.mark
        else:
            key_mark = node.key_mark(part)
            node = node.get(part) or node
    return node, key_mark


def _unknown_keys(error: ValidationError, node: Node) -> Iterator[Problem]:
    schema = _schema(error)
    properties = schema.get("properties", {})
    allowed = [name for name, inner in properties.items() if inner is not False and not _hidden(inner)]
    patterns = [re.compile(pattern) for pattern in schema.get("patternProperties", {})]
    for entry in node.entries:
        if entry.key in properties or any(pattern.search(entry.key) for pattern in patterns):
            continue
        expected = f"; expected {listed(allowed)}" if allowed else ""
        # In {why: one, two} YAML ends the text at the comma and takes what follows for the next key.
        hint = "a text with a comma within { } needs quotes" if " " in entry.key else nearest(entry.key, allowed)
        yield Problem(entry.mark, f"unknown key {quote(entry.key)}{expected}", hint)


def _hidden(schema: object) -> bool:
    return isinstance(schema, Mapping) and "x-hidden" in schema


def _of_key(error: ValidationError) -> _Words:
    schema = _schema(error)
    if "x-expect" in schema:
        return f"the key {quote(error.instance)} does not fit; expected {schema['x-expect']}", ""
    if error.validator == "enum":
        names = [str(word) for word in _value(error)]
        return f"unknown key {quote(error.instance)}; expected {listed(names)}", nearest(str(error.instance), names)
    return f"the key {quote(error.instance)} does not fit", ""


def _misplaced(error: ValidationError, node: Node, key_mark: Mark) -> Iterator[Problem]:
    """`{"not": {}}` marks a key without a place beside the others, `{"not": {"required": [KEY]}}` the map around it."""
    required = _value(error).get("required", ()) if isinstance(_value(error), Mapping) else ()
    for name in required:
        if node.get(name) is not None:
            yield Problem(node.key_mark(name), f"the key {quote(name)} does not fit here")
    if not required and error.absolute_path:
        yield Problem(key_mark, f"the key {quote(error.absolute_path[-1])} does not fit here")
    elif not required:
        yield Problem(node.mark, f"{KIND_WORDS[node.kind]} like this does not fit here")


def _own(error: ValidationError) -> str:
    """The message that a schema has for a keyword: one for each, or one text for all but plain mismatches of type."""
    own = _schema(error).get("x-message", {})
    if isinstance(own, Mapping):
        return str(own.get(error.validator, ""))
    return "" if error.validator in {"type", "enum", "pattern"} else str(own)


# ---------------------------------------------------------------- words


def _describe(error: ValidationError, node: Node) -> _Words:
    schema = _schema(error)
    if error.validator == "required":
        return _required(error, node)
    if _own(error):
        return _own(error), ""
    if "x-expect" in schema and error.validator in {"type", "pattern", "format", "anyOf", "oneOf", "const"}:
        return f"expected {schema['x-expect']}, got {_got(node)}", ""
    words = _WORDS.get(str(error.validator))
    return words(error, node) if words else (f"{quote(plain(node))} does not fit here", "")


def _got(node: Node) -> str:
    if node.kind in {"map", "list", "null"}:
        return KIND_WORDS[node.kind]
    return f"{KIND_WORDS[node.kind]}: {quote(node.text)}" if node.kind != "boolean" else quote(node.text)


def _required(error: ValidationError, node: Node) -> _Words:
    missing = [name for name in _value(error) if node.get(name) is None]
    what = "key" if len(missing) == 1 else "keys"
    return f"missing here: the {what} {' and '.join(quote(name) for name in missing)}", ""


def _value(error: ValidationError) -> Any:
    return error.validator_value


def _type(error: ValidationError, node: Node) -> _Words:
    wanted = _value(error) if isinstance(_value(error), list) else [_value(error)]
    hint = ""
    if "string" in wanted and node.kind in {"integer", "number", "boolean"}:
        hint = f'quote it: "{node.text}"'
    return f"expected {listed(_TYPE_WORDS[str(word)] for word in wanted)}, got {_got(node)}", hint


def _alternatives(error: ValidationError, node: Node) -> _Words:
    wanted: dict[str, None] = {}
    for branch in _value(error):
        words = [branch["x-expect"]] if "x-expect" in branch else _branch_words(branch)
        wanted.update(dict.fromkeys(words))
    expected = listed(wanted) if wanted else "something else"
    return f"expected {expected}, got {_got(node)}", ""


def _branch_words(branch: Mapping[str, Any]) -> list[str]:
    types = branch.get("type", [])
    return [_TYPE_WORDS[str(word)] for word in (types if isinstance(types, list) else [types])]


def _enum(error: ValidationError, node: Node) -> _Words:
    names = [str(word).lower() if isinstance(word, bool) else str(word) for word in _value(error)]
    if node.kind in {"map", "list"}:
        return f"expected {listed(names)}, got {_got(node)}", ""
    return f"{quote(node.text)} is not one of {listed(names)}", nearest(node.text, names)


def _const(error: ValidationError, node: Node) -> _Words:
    return f"expected {quote(_value(error))}, got {_got(node)}", ""


def _empty(error: ValidationError, node: Node) -> _Words:
    what = {"list": "list", "map": "map"}.get(node.kind, "text")
    if _value(error) == 1:
        return f"this {what} is empty", "it needs at least one entry" if what != "text" else ""
    return f"this {what} is too short; at least {_value(error)} are needed", ""


def _too_many(error: ValidationError, node: Node) -> _Words:
    return f"too many entries: at most {_value(error)} may stand here", ""


def _bound(error: ValidationError, node: Node) -> _Words:
    side = "at least" if "inimum" in str(error.validator) else "at most"
    strict = " (itself excluded)" if "xclusive" in str(error.validator) else ""
    return f"{quote(node.text)} is out of range; expected {side} {_value(error)}{strict}", ""


def _repeated(error: ValidationError, node: Node) -> _Words:
    return "one entry stands twice in this list", ""


def _dependent(error: ValidationError, node: Node) -> _Words:
    return "a key is missing that another key here needs: " + error.message.replace("'", "`"), ""


_WORDS: dict[str, Callable[[ValidationError, Node], _Words]] = {
    "type": _type,
    "anyOf": _alternatives,
    "oneOf": _alternatives,
    "enum": _enum,
    "const": _const,
    "minItems": _empty,
    "minProperties": _empty,
    "minLength": _empty,
    "maxItems": _too_many,
    "maxProperties": _too_many,
    "minimum": _bound,
    "maximum": _bound,
    "exclusiveMinimum": _bound,
    "exclusiveMaximum": _bound,
    "uniqueItems": _repeated,
    "dependentRequired": _dependent,
}

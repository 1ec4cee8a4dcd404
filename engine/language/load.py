"""Text to a typed policy: every mistake of every file at once, or a policy that the evaluators need not doubt.

load_policy([{"rules/live.yaml": text}, {"site/rules/ours.yaml": text}], catalogue, schema=schema)
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.errors import PolicyError, Problem
from sweeprules.engine.language.ast import Act, Policy, Route, Rule
from sweeprules.engine.language.canon import digest
from sweeprules.engine.language.destructive import unproved
from sweeprules.engine.language.layers import Effective, Item, merge
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.provenance import origins, overlays
from sweeprules.engine.language.rules import decided, exemption, look_ahead, routes, rule, scope_of
from sweeprules.engine.language.scope import Names
from sweeprules.engine.language.sections import declare, plain_values
from sweeprules.engine.language.shape import check_shape, quote
from sweeprules.engine.language.strata import stratify
from sweeprules.engine.language.switches import switch_off
from sweeprules.engine.language.yamltext import scan

Layer = Mapping[str, str | bytes]
"""File name -> its text."""


def load_policy(
    layers: Sequence[Layer],
    catalogue: Catalogue,
    *,
    schema: Mapping[str, Any],
    templates: Collection[str] | None = None,
) -> Policy:
    """The effective policy of the layers: the shipped files first, then a site's, which override by name.

    `schema` is `schemas/rules.schema.json`; `templates` names the handoff templates that exist (None: those of the
    catalogue). Raises PolicyError with all problems of all files.
    """
    problems: list[Problem] = []
    nodes = [_read_layer(layer, schema, problems) for layer in layers]
    effective = merge(nodes, problems)
    names = Names(catalogue, frozenset(catalogue.templates if templates is None else templates))
    policy = _policy(names, effective, problems)
    if not problems:
        problems.extend(_left_out(policy, effective))
        policy = switch_off(policy)
    if not problems:
        order = stratify(policy)
        problems.extend([*order.problems, *unproved(policy)])
        policy = dataclasses.replace(policy, order=order.strata)
    if problems:
        raise PolicyError(dict.fromkeys(problems))
    return dataclasses.replace(policy, sha256=digest(policy, catalogue.sha256, _digest(schema)))


def _read_layer(layer: Layer, schema: Mapping[str, Any], problems: list[Problem]) -> list[Node]:
    """The trees of the files, in the order of their names; their mistakes are added."""
    found: list[Node] = []
    for file in sorted(layer):
        result = scan(layer[file], file)
        problems.extend(result.problems)
        if result.node is not None:
            problems.extend(check_shape(result.node, schema))
            found.append(result.node)
    return found


def _policy(names: Names, effective: Effective, problems: list[Problem]) -> Policy:
    """The policy as far as it could be read."""
    declare(scope_of(names, problems, "job"), effective)
    look_ahead(names, effective)
    rules = {item.name: rule(names, problems, item) for item in effective.of("rules")}
    whole = {name: one for name, one in rules.items() if one is not None}
    exemptions = [exemption(names, problems, item) for item in effective.of("exemptions")]
    problems.extend(_unrouted(names, effective, whole.values()))
    return Policy(
        params=names.params,
        lists={name: plain_values(node) for name, node in sorted(names.lists.items())},
        patterns=names.patterns,
        decide={item.name: decided(names, problems, item) for item in effective.of("decide")},
        rules=whole,
        exemptions=tuple(one for one in exemptions if one is not None),
        routes={item.name: _routes(names, problems, item, whole.values()) for item in effective.of("routes")},
        flags=names.flags,
        actions=names.actions,
        order=(),
        sha256="",
        features=names.features,
        metrics=names.metrics,
        origins=origins(effective),
        overlays=overlays(effective),
    )


def _routes(names: Names, problems: list[Problem], item: Item, rules: Iterable[Rule]) -> tuple[Route, ...]:
    """The routes of an action, read as conditions on the subjects that the action is fired on."""
    kinds = {one.on for one in rules if any(isinstance(act, Act) and act.action == item.name for act in one.then)}
    action = names.actions.get(item.name)
    about = {
        kind
        for template in (action.templates if action else ())
        for kind in names.catalogue.templates.get(template, ())
    }
    # What a rule on a step or a run asks for is done to its job.
    subjects = {"job" if kind in {"step", "run"} else kind for kind in kinds}
    return routes(names, problems, item, subjects or about or {"job"})


def _unrouted(names: Names, effective: Effective, rules: Iterable[Rule]) -> list[Problem]:
    """Actions that no route sends to a template, where there is not exactly one that exists."""
    found = []
    for one in rules:
        for act in one.then:
            if not isinstance(act, Act) or act.action in effective.sections["routes"]:
                continue
            templates = names.actions[act.action].templates
            if len(templates) > 1:
                hint = f"add routes: {act.action}: [...] over {', '.join(templates)}"
                found.append(Problem(act.mark, f"nothing chooses a template for {quote(act.action)}", hint))
            elif act.action in names.catalogue.actions and templates and templates[0] not in names.templates:
                message = f"the template {quote(templates[0])} of {quote(act.action)} does not exist"
                found.append(Problem(act.mark, message, "add it to templates/handoffs"))
    return found


def _left_out(policy: Policy, effective: Effective) -> list[Problem]:
    """Whatever was written and is not in the policy; it may never get lost without a word."""
    kept: dict[str, Collection[str]] = {
        "rules": policy.rules,
        "params": policy.params,
        "lists": policy.lists,
        "patterns": policy.patterns,
        "features": policy.features,
        "metrics": policy.metrics,
        "exemptions": {one.id for one in policy.exemptions},
        "decide": {name for name, choices in policy.decide.items() if choices},
        "routes": {name for name, found in policy.routes.items() if found},
    }
    return [
        Problem(item.mark, f"{quote(item.name)} under {section} could not be read")
        for section, names in kept.items()
        for item in effective.of(section)
        if item.name not in names
    ]


def _digest(schema: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()

"""What is wrong with the templates of a site, found without rendering any."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from jinja2 import TemplateSyntaxError, nodes
from jinja2.environment import Environment
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment, modifies_known_mutable

from sweeprules.cli.template_shapes import ANY, Shape, handoff_names, has, inside, member, report_names
from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.errors import Mark, Problem, nearest
from sweeprules.handoffs.render import FOLDER, environment
from sweeprules.store.builtin import schema
from sweeprules.store.site import SiteLoad

_Linked = nodes.Extends | nodes.Include | nodes.Import | nodes.FromImport
_PROBES: tuple[object, ...] = ("", 0, [], {})
"""One value of each type that a template meets; what these have may be written after a dot."""


@dataclass(frozen=True, slots=True)
class _Template:
    """One template that Jinja can read: `file` is its name for people."""

    name: str
    file: str
    lines: tuple[str, ...]
    tree: nodes.Template


def template_problems(load: SiteLoad, catalogue: Catalogue) -> list[Problem]:
    """Everything in the templates that would fail, or never be shown, when they are rendered."""
    problems: list[Problem] = []
    read: dict[str, _Template] = {}
    for name, text in sorted(load.templates.items()):
        jinja = _environment(name, load.templates)
        file = _file(name, load)
        try:
            tree = jinja.parse(text, name, file)
            jinja.compile(text, name, file)
        except TemplateSyntaxError as error:
            problems.append(_unreadable(error, file, jinja))
        else:
            read[name] = _Template(name, file, tuple(text.splitlines()), tree)
    for one in read.values():
        problems += _links(one, read, load.templates)
        problems += _blocks(one, read)
        problems += _names(one, read, catalogue, _environment(one.name, load.templates))
    return problems


def unused(load: SiteLoad, known: Iterable[str]) -> list[Problem]:
    """Handoff templates of the site's own that nothing routes to; `known` are the names that something does."""
    names = sorted(set(known))
    found = []
    for name in sorted(load.templates):
        short = name.removeprefix(FOLDER).removesuffix(".md.j2")
        own = f"templates/{name}" in load.files and name.startswith(FOLDER)
        if own and not short.startswith("_") and short not in names:
            hint = nearest(short, names) or "name it in a route, or remove it"
            found.append(Problem(Mark(f"templates/{name}", 1, 1), "no route leads to this template", hint, "warning"))
    return found


def _environment(name: str, templates: Mapping[str, str]) -> ImmutableSandboxedEnvironment:
    """The environment that the template will be rendered in, as far as names of filters go."""
    if name.startswith(FOLDER):
        return environment(templates, str)
    jinja = ImmutableSandboxedEnvironment()
    jinja.filters["md"] = str
    return jinja


def _file(name: str, load: SiteLoad) -> str:
    own = f"templates/{name}"
    return own if own in load.files else f"builtin:{own}"


def _unreadable(error: TemplateSyntaxError, file: str, jinja: Environment) -> Problem:
    message = (error.message or "it can not be read").rstrip(".")
    hint = "mend the Jinja syntax"
    if found := re.match(r"No (filter|test) named '([^']*)'", message):
        known = jinja.filters if found[1] == "filter" else jinja.tests
        hint = nearest(found[2], known) or f"use a {found[1]} of Jinja"
    return Problem(Mark(file, error.lineno, 1), f"the template can not be read: {message}", hint)


def _mark(one: _Template, line: int, word: str) -> Mark:
    text = one.lines[line - 1] if 0 < line <= len(one.lines) else ""
    found = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) if word else None
    return Mark(one.file, line, found.start() + 1 if found else 1)


# ---------------------------------------------------------------- other templates


def _linked(tree: nodes.Template) -> Iterator[tuple[_Linked, str | None]]:
    """What leads to another template, and its name; None where a value names it."""
    for node in tree.find_all((nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)):
        assert isinstance(node, _Linked)
        constant = node.template.value if isinstance(node.template, nodes.Const) else None
        yield node, constant if isinstance(constant, str) else None


def _links(one: _Template, read: Mapping[str, _Template], all_names: Iterable[str]) -> Iterator[Problem]:
    names = sorted(all_names)
    for node, name in _linked(one.tree):
        if name is None:
            message = "the other template is named by a value, so nobody can check it"
            yield Problem(_mark(one, node.lineno, ""), message, "write its name out")
        elif name not in names and not getattr(node, "ignore_missing", False):
            hint = nearest(name, names) or f"there are {', '.join(names[:5])} and more"
            yield Problem(_mark(one, node.lineno, name), f"there is no template `{name}`", hint)
        elif isinstance(node, nodes.FromImport) and name in read:
            yield from _imported(one, node, read[name])
    if one.name in _chain(one, read):
        yield Problem(_mark(one, 1, ""), "the template extends itself, over others or at once", "break the circle")


def _imported(one: _Template, node: nodes.FromImport, other: _Template) -> Iterator[Problem]:
    there = {macro.name for macro in other.tree.find_all(nodes.Macro)} | _stored(other.tree)
    for item in node.names:
        name = item if isinstance(item, str) else item[0]
        if name not in there:
            message = f"`{other.name}` has no macro `{name}`"
            yield Problem(_mark(one, node.lineno, name), message, nearest(name, there))


def _chain(one: _Template, read: Mapping[str, _Template]) -> list[str]:
    """The names of the templates that a template extends, nearest first; ends where it would begin again."""
    chain: list[str] = []
    while True:
        parents = [name for node, name in _linked(one.tree) if isinstance(node, nodes.Extends)]
        if not parents or parents[0] is None or parents[0] in chain:
            return chain
        chain.append(parents[0])
        if parents[0] not in read:
            return chain
        one = read[parents[0]]


def _blocks(one: _Template, read: Mapping[str, _Template]) -> Iterator[Problem]:
    chain = _chain(one, read)
    if not chain or any(name not in read for name in chain):
        return
    known = {block.name for name in chain for block in read[name].tree.find_all(nodes.Block)}
    for node in one.tree.body:
        if isinstance(node, nodes.Block) and node.name not in known:
            message = f"no template that this one extends has the block `{node.name}`, so it is never shown"
            hint = nearest(node.name, known) or f"there are {', '.join(sorted(known))}"
            yield Problem(_mark(one, node.lineno, node.name), message, hint)


# ---------------------------------------------------------------- names


def _stored(tree: nodes.Template) -> set[str]:
    return {node.name for node in tree.find_all(nodes.Name) if node.ctx == "store"}


def _names(
    one: _Template, read: Mapping[str, _Template], catalogue: Catalogue, jinja: Environment
) -> Iterator[Problem]:
    given = _given(one.name, catalogue)
    # A partial template may read what every template that leads to it has set.
    users = [other for other in read.values() if one.name in {name for _, name in _linked(other.tree)}]
    lent = set.intersection(*(_stored(user.tree) for user in users)) if users else set()
    known = {*given, *lent, *jinja.globals}
    unknown = find_undeclared_variables(one.tree) - known
    for node in one.tree.find_all(nodes.Name):
        if node.ctx == "load" and node.name in unknown:
            hint = nearest(node.name, known) or f"there are {', '.join(sorted(given))}"
            message = f"`{node.name}` is not among what this template is given"
            yield Problem(_mark(one, node.lineno, node.name), message, hint)
    found: list[Problem] = []
    _Walk(one, jinja, found.append).body(one.tree.body, dict(given))
    yield from dict.fromkeys(found)


def _given(name: str, catalogue: Catalogue) -> Mapping[str, Shape]:
    if name.startswith(FOLDER):
        return handoff_names(catalogue, name.removeprefix(FOLDER).removesuffix(".md.j2"))
    return report_names(schema("report"))


_Scope = dict[str, Shape]


class _Walk:
    """Follows what each name holds through one template, and tells what is asked of it that it does not have."""

    def __init__(self, one: _Template, jinja: Environment, tell: Callable[[Problem], None]) -> None:
        self._one = one
        self._jinja = jinja
        self._tell = tell

    def body(self, items: Iterable[nodes.Node], scope: _Scope) -> None:
        for item in items:
            self.node(item, scope)

    def node(self, node: nodes.Node, scope: _Scope) -> None:
        """One statement or expression; what it assigns is put into `scope`."""
        if isinstance(node, nodes.For):
            self._loop(node, scope)
        elif isinstance(node, nodes.Assign):
            self._bind(node.target, self.shape(node.node, scope), scope)
        elif isinstance(node, nodes.Expr):
            self.shape(node, scope)
        else:
            apart = isinstance(node, nodes.Block | nodes.Macro | nodes.CallBlock | nodes.With | nodes.Scope)
            own = dict(scope) if apart else scope
            for child in node.iter_child_nodes():
                if isinstance(child, nodes.Name) and child.ctx != "load":
                    own[child.name] = ANY
            self.body(node.iter_child_nodes(), own)

    def shape(self, node: nodes.Node, scope: _Scope) -> Shape:
        """What an expression gives; anything where that is not known."""
        if isinstance(node, nodes.Name):
            return scope.get(node.name, ANY)
        if isinstance(node, nodes.Getattr):
            return self._part(node, node.attr, self.shape(node.node, scope))
        if isinstance(node, nodes.Getitem):
            return self._item(node, scope)
        shapes = [self.shape(child, scope) for child in node.iter_child_nodes()]
        # `a or b` is one of the two: what is asked of it is asked of the first.
        return shapes[0] if isinstance(node, nodes.Or) and isinstance(shapes[0], list) else ANY

    def _item(self, node: nodes.Getitem, scope: _Scope) -> Shape:
        shape = self.shape(node.node, scope)
        if isinstance(node.arg, nodes.Slice):
            self.shape(node.arg, scope)
            return shape
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return self._part(node, node.arg.value, shape)
        self.shape(node.arg, scope)
        return member(shape)

    def _part(self, node: nodes.Expr, name: str, shape: Shape) -> Shape:
        mark = _mark(self._one, node.lineno, name)
        if name.startswith("_"):
            self._tell(Problem(mark, f"templates may not reach `{name}`", "use the names that the template is given"))
        elif any(modifies_known_mutable(probe, name) for probe in _PROBES) and not has(shape, name):
            self._tell(Problem(mark, f"templates may not change what they are given, as `{name}` would"))
        elif not has(shape, name) and not any(hasattr(probe, name) for probe in _PROBES):
            names = sorted(name for name in shape if "*" not in name) if isinstance(shape, Mapping) else []
            listed = f"there are {', '.join(names)}" if 0 < len(names) <= 12 else ""
            self._tell(Problem(mark, f"there is no `{name}` in it", nearest(name, names) or listed))
        return inside(shape, name)

    def _loop(self, node: nodes.For, scope: _Scope) -> None:
        over = self.shape(node.iter, scope)
        own = dict(scope)
        self._bind(node.target, member(over), own)
        own["loop"] = ANY
        if node.test is not None:
            self.shape(node.test, own)
        self.body(node.body, own)
        self.body(node.else_, dict(scope))

    def _bind(self, target: nodes.Node, shape: Shape, scope: _Scope) -> None:
        if isinstance(target, nodes.Name):
            scope[target.name] = shape
        elif isinstance(target, nodes.Tuple):
            parts = shape if isinstance(shape, tuple) and len(shape) == len(target.items) else [ANY] * len(target.items)
            for item, part in zip(target.items, parts, strict=True):
                self._bind(item, part, scope)

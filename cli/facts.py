"""`sweeprules facts`: what rules can read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from sweeprules.cli.options import debug_option, output_option, sentences, unused_options
from sweeprules.engine.catalogue import Catalogue, FieldDef, KindDef
from sweeprules.engine.errors import nearest

RELEASE = 1
"""The stage of the catalogue (`feeds`) whose collectors this release has."""


@click.command("facts")
@unused_options("site", "state")
@click.option("--kind", metavar="KIND", help="Only this kind of subject: job, run, cluster, ...")
@output_option("text", "json")
@debug_option
def command(kind: str | None, output: str) -> None:
    """List the facts that rules can read: kind, name, type, unit and meaning; and the relations between subjects.

    A fact is a value, unknown with a reason, or absent. Those marked `later` are read by no collector of this release:
    in rules they are unknown. NAME stands for a pattern of the policy.
    """
    from sweeprules.cli.loading import load_catalogue

    kinds = chosen(load_catalogue(), kind)
    facts = [row for one in kinds for row in fact_rows(one)]
    relations = [row for one in kinds for row in relation_rows(one)]
    if output == "json":
        found = {"schema_version": 1, "facts": facts, "relations": relations}
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
        return
    for row in facts:
        click.echo("\n".join(_fact_text(row)))
    for row in relations:
        many = "many " if row["many"] else ""
        click.echo(f"{row['kind']}.{row['name']} → {many}{row['to']}")


def chosen(catalogue: Catalogue, kind: str | None) -> list[KindDef]:
    """The kinds to list; a usage error for a word that is none."""
    if kind is None:
        return list(catalogue.kinds.values())
    name = catalogue.kind_of(kind)
    if name is None:
        names = [one.subject for one in catalogue.kinds.values()]
        raise click.UsageError(
            sentences(f"no subject is called {kind!r}; there are {', '.join(names)}", nearest(kind, names))
        )
    return [catalogue.kinds[name]]


def fact_rows(kind: KindDef) -> Iterator[dict[str, Any]]:
    """Each fact of a kind, those that patterns make among them."""
    for spec in kind.fields.values():
        yield _row(kind.name, spec.name, spec)
    for word, parts in kind.pattern_fields.items():
        for part, type_ in parts.items():
            meaning = f"{part.capitalize()} of the lines that the pattern NAME matches; its own fields stand beside it."
            yield _row(kind.name, f"{word}.NAME.{part}", FieldDef(part, type_, description=meaning))


def _row(kind: str, name: str, spec: FieldDef) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": name,
        "type": spec.type,
        "item": spec.item or None,
        "unit": spec.unit or None,
        "words": list(spec.words) or None,
        "later": spec.feeds > RELEASE,
        "settable": spec.settable,
        "description": spec.description,
    }


def relation_rows(kind: KindDef) -> Iterator[dict[str, Any]]:
    """Where a path may go on from a kind."""
    for one in kind.relations.values():
        yield {"kind": kind.name, "name": one.name, "to": one.to, "many": one.many, "optional": one.optional}


def _fact_text(row: dict[str, Any]) -> Iterator[str]:
    item = f" of {row['item']}" if row["item"] else ""
    unit = f" ({row['unit']})" if row["unit"] else ""
    marks = "".join(f" [{mark}]" for mark in ("later", "settable") if row[mark])
    yield f"{row['kind']}.{row['name']}: {row['type']}{item}{unit}{marks}"
    yield f"    {row['description']}"
    if row["words"]:
        yield f"    one of {', '.join(row['words'])}"

"""`sweeprules facts`: what rules can read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from sweeprules.cli.completing import bucket_words, kind_words
from sweeprules.cli.options import debug_option, output_option, sentences, unused_options
from sweeprules.engine.catalogue import Catalogue, FieldDef, KindDef
from sweeprules.engine.errors import nearest

RELEASE = 1
"""The stage of the catalogue (`feeds`) whose collectors this release has."""

PATTERN_FACTS = {
    "count": "How many lines the pattern NAME matches; the fields of the last one stand beside it. Where only a part "
    "of the log was read it is an interval: so many for sure, and possibly more. Two lines of one traceback are two. "
    "Unknown: the log was not read.",
    "time": "When the last line that the pattern NAME matches was printed, as that line says. Unknown: the line "
    "carries no time, which is so of most lines of a traceback; or the log was cut before one was found. Absent: no "
    "line matches.",
}
"""What the facts that each pattern makes mean."""


@click.command("facts")
@unused_options("site", "state")
@click.option(
    "--kind", metavar="KIND", shell_complete=kind_words, help="Only this kind of subject: job, run, cluster, ..."
)
@click.option(
    "--bucket", metavar="BUCKET", shell_complete=bucket_words,
    help="Only what a job of this bucket may have: rl, sft, datagen, eval or catch-all.",
)  # fmt: skip
@click.option("--example", is_flag=True, help="Print a likely value of each instead, as `given:` of a rule test.")
@output_option("text", "json")
@debug_option
def command(kind: str | None, bucket: str | None, example: bool, output: str) -> None:
    """List the facts that rules can read: kind, name, type, unit and meaning; and the relations between subjects.

    A fact is a value, unknown with a reason, or absent. Those marked `later` are read by no collector of this release:
    in rules they are unknown. NAME stands for a pattern of the policy.
    """
    from sweeprules.cli.loading import load_catalogue

    catalogue = load_catalogue()
    wanted = _bucket(catalogue, bucket)
    kinds = chosen(catalogue, kind)
    if wanted is not None and kind is None:
        kinds = [one for one in kinds if one.name in _about_jobs(wanted)]
    facts = [row for one in kinds for row in fact_rows(one) if suits(row, wanted)]
    relations = [row for one in kinds for row in relation_rows(one)]
    if output == "json":
        found = {"schema_version": 1, "facts": facts, "relations": relations}
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
        return
    if example:
        from sweeprules.cli.fact_example import example_lines

        click.echo("\n".join(example_lines(kinds, wanted)))
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


def _bucket(catalogue: Catalogue, bucket: str | None) -> str | None:
    """The bucket that is meant; a usage error for a word that is none."""
    words = catalogue.kinds["job"].fields["bucket"].words
    if bucket is not None and bucket not in words:
        raise click.UsageError(
            sentences(f"no bucket is called {bucket!r}; there are {', '.join(words)}", nearest(bucket, words))
        )
    return bucket


def _about_jobs(bucket: str) -> tuple[str, ...]:
    """The kinds that tell of a job of the bucket; only a trainer has steps."""
    return ("job", "run", "cluster", "sweep", *(("step",) if bucket in {"rl", "sft"} else ()))


def suits(row: dict[str, Any], bucket: str | None) -> bool:
    """True when a job of the bucket may have the fact; of any without one."""
    return bucket is None or row["buckets"] is None or bucket in row["buckets"]


def fact_rows(kind: KindDef) -> Iterator[dict[str, Any]]:
    """Each fact of a kind, those that patterns make among them."""
    for spec in kind.fields.values():
        yield _row(kind.name, spec.name, spec)
    for word, parts in kind.pattern_fields.items():
        for part, type_ in parts.items():
            meaning = PATTERN_FACTS.get(part, f"{part.capitalize()} of the lines that the pattern NAME matches.")
            yield _row(kind.name, f"{word}.NAME.{part}", FieldDef(part, type_, description=meaning))


def _row(kind: str, name: str, spec: FieldDef) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": name,
        "type": spec.type,
        "item": spec.item or None,
        "unit": spec.unit or None,
        "words": list(spec.words) or None,
        "buckets": list(spec.buckets) or None,
        "later": spec.feeds > RELEASE,
        "settable": spec.settable,
        "description": spec.description,
        "example": spec.example,
    }


def relation_rows(kind: KindDef) -> Iterator[dict[str, Any]]:
    """Where a path may go on from a kind."""
    for one in kind.relations.values():
        yield {"kind": kind.name, "name": one.name, "to": one.to, "many": one.many, "optional": one.optional}


def _fact_text(row: dict[str, Any]) -> Iterator[str]:
    item = f" of {row['item']}" if row["item"] else ""
    unit = f" ({row['unit']})" if row["unit"] else ""
    marks = "".join(f" [{mark}]" for mark in ("later", "settable") if row[mark])
    buckets = f" [{', '.join(row['buckets'])}]" if row["buckets"] else ""
    yield f"{row['kind']}.{row['name']}: {row['type']}{item}{unit}{marks}{buckets}"
    yield f"    {row['description']}"
    if row["words"]:
        yield f"    one of {', '.join(row['words'])}"

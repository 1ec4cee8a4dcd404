"""The report as Markdown, from the site's template; every text of a cluster is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from sweeprules.reports.clean import markdown
from sweeprules.reports.text import flag_lines, subjects
from sweeprules.reports.words import MARKS

TEMPLATE = "report/report.md.j2"


def render(document: Mapping[str, Any], templates: Mapping[str, str]) -> str:
    """The report through `templates["report/report.md.j2"]`.

    The template gets the document of the contract, `flags` as (flag, label) and `actions` as (action, label, handoff),
    and the filter `md`. It can reach nothing else; an undefined name fails the render with jinja2's own error.
    """
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )  # nosec: Markdown, escaped by the filter and by `finalize`
    environment.filters["md"] = lambda value: markdown(str(value))
    handoffs = {row["id"]: row for row in document["handoffs"]}
    actions = [
        (action, label, handoffs.get(action["handoff"] or ""))
        for label, subject in subjects(document)
        for action in subject["actions"]
    ]
    return environment.from_string(templates[TEMPLATE]).render(
        report=document, flags=flag_lines(document), actions=actions, marks=MARKS
    )

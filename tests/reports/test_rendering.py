"""What people see, at two widths and as Markdown; snapshots show every change of wording in review."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from sweeprules.reports.document import build
from sweeprules.reports.markdown_report import TEMPLATE
from sweeprules.reports.markdown_report import render as as_markdown
from sweeprules.reports.text import render as as_text
from tests.reports.worlds import HOSTILE, judged

TEMPLATES = {TEMPLATE: (Path(__file__).parents[2] / "templates" / TEMPLATE).read_text()}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return build(judged())


@pytest.mark.parametrize("width", [100, 200])
def test_text(document: dict[str, Any], width: int, snapshot: SnapshotAssertion) -> None:
    text = as_text(document, width=width, colour=False)
    assert max(len(line) for line in text.splitlines()) <= width
    assert text == snapshot


def test_markdown(document: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    assert as_markdown(document, TEMPLATES) == snapshot


def test_a_hostile_name_stays_text_in_every_form(document: dict[str, Any]) -> None:
    for text in (as_text(document, width=200, colour=False), as_markdown(document, TEMPLATES)):
        assert "\x1b" not in text
        assert HOSTILE not in text
        assert not any(line.lstrip().startswith("# title") for line in text.splitlines())
    assert "**bold**" not in as_markdown(document, TEMPLATES)
    assert "<b>" not in as_markdown(document, TEMPLATES)


def test_ids_causes_and_reasons_are_text_too(document: dict[str, Any]) -> None:
    run = document["jobs"][0]
    flag = {**run["flags"][0], "explained_by": ["cert@credential:\x1b[2J"]}
    odd = {**run, "job_id": "7\x1b]0;x\x07", "unknown": {"step": "new-state:\x1b[8m"}, "flags": [flag]}
    assert "\x1b" not in as_text({**document, "jobs": [odd]}, width=100, colour=False)


def test_colour_is_never_the_only_sign(document: dict[str, Any]) -> None:
    coloured = as_text(document, width=120, colour=True)
    assert "\x1b[" in coloured
    assert "● critical" in coloured


def test_without_jobs_nothing_is_called_empty_that_was_not_proved(document: dict[str, Any]) -> None:
    none = {**document, "jobs": [], "tables": []}
    assert "not a proof that none runs" in as_text(none, width=100, colour=False)
    proved = {**none, "clusters": [{**document["clusters"][0], "queue": "empty"}]}
    assert "aurora proved empty" in as_text(proved, width=100, colour=False)

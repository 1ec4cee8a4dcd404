"""docs/rules.md: each block loads, each command prints what it is said to print, each section's tests pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.page import EXAMPLES_PAGE, ROOT, RULES_PAGE, Reader, Section, matches, new_site, sections

SECTIONS = sections(RULES_PAGE)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda one: one.title)
def test_a_section_is_as_it_says(section: Section, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SWEEPRULES_STATE", str(tmp_path / "state"))
    for name in ("SWEEPRULES_SITE", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    reader = Reader(new_site(tmp_path / "work"))
    reader.follow(section)
    reader.site_is_good()
    assert not reader.wrong, "\n\n".join(reader.wrong)


@pytest.mark.parametrize("page", [RULES_PAGE, EXAMPLES_PAGE], ids=lambda one: one.name)
def test_its_links_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = target.partition("#")
        path = (page.parent / file) if file else page
        assert path.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.+)$", path.read_text(), re.M)
            assert anchor in {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads}, target


def test_every_block_of_yaml_is_in_a_section_that_runs() -> None:
    text = RULES_PAGE.read_text()
    assert text.count("```yaml") == sum(b.language == "yaml" for s in SECTIONS for b in s.blocks)
    assert {block.language for section in SECTIONS for block in section.blocks} <= {"yaml", "console", "jinja"}


def test_every_example_is_told() -> None:
    told = EXAMPLES_PAGE.read_text()
    for path in (ROOT / "docs" / "examples").glob("*/sweeprules.yaml"):
        assert f"](examples/{path.parent.name})" in told


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        (["a", "…", "c"], "a\nb\nb\nc\n", True),
        (["a", "…"], "a\n", True),
        (["a"], "a\nb\n", False),
        (["…", "good: 3 rules"], "x\ngood: 71 rules\n", True),
        (["a (b)"], "a (c)\n", False),
        ([], "", True),
        ([], "a\n", False),
    ],
)
def test_what_is_printed_is_compared_line_by_line(expected: list[str], actual: str, same: bool) -> None:
    assert matches(expected, actual) == same

"""Whatever a cluster wrote, what is printed of it is one line of printable characters without markup."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.reports.clean import json_text, markdown, one_line

HOSTILE = [
    ("\x1b[31mred\x1b[0m", "\\e[31mred\\e[0m"),
    ("a\nb\rc\td", "a\\nb\\rc\\td"),
    ("bell\x07 c1\x9b31m", "bell\\x07 c1\\x9b31m"),
    ("left\u202eright", "left\\u202eright"),
    ("zero\u200bwidth", "zero\\u200bwidth"),
    ("nul\x00", "nul\\x00"),
    ("lone\ud800", "lone\\ud800"),
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_control_characters_are_spelled_out(text: str, shown: str) -> None:
    assert one_line(text) == shown


@given(st.text(alphabet=st.characters(), max_size=300))
def test_a_terminal_only_sees_printable_characters(text: str) -> None:
    shown = one_line(text)
    assert all(unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"} for char in shown)
    assert not any(
        unicodedata.bidirectional(char) in {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI"} for char in shown
    )
    assert shown.splitlines() in ([shown], [])


@given(st.text(max_size=2000), st.integers(min_value=1, max_value=100))
def test_a_limit_is_kept_and_a_cut_is_shown(text: str, limit: int) -> None:
    shown = one_line(text, limit)
    assert len(shown) <= limit
    if len(one_line(text, 10_000)) > limit:
        assert shown.endswith("…")


@given(st.text(alphabet="|*_`<>[]()#!\\-+.~$&\n a", max_size=60))
def test_markdown_shows_every_character_as_itself(text: str) -> None:
    escaped = markdown(text)
    assert re.sub(r"\\(.)", r"\1", escaped) == one_line(text)
    assert not re.search(r"(?<!\\)(?:\\\\)*[|<`*_\[]", escaped)


@given(st.dictionaries(st.text(max_size=20), st.text(alphabet=st.characters(), max_size=60), max_size=4))
def test_json_shows_a_terminal_nothing_to_obey_and_loses_nothing(document: dict[str, str]) -> None:
    text = json_text(document)
    assert json.loads(text) == document
    assert all(char == "\n" or unicodedata.category(char) not in {"Cc", "Cs"} for char in text)

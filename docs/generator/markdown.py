"""Markdown that is written by rule: tables, code spans, headings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def code(text: object) -> str:
    """A code span of one line."""
    return f"`{text}`" if "`" not in str(text) else f"`` {text} ``"


def codes(words: Iterable[object], empty: str = "") -> str:
    """Code spans with blanks between."""
    return " ".join(code(word) for word in words) or empty


def cell(text: str) -> str:
    """A text that stays within its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table, line by line, with an empty line behind it."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join(' --- ' for _ in head)}|"
    for row in rows:
        yield f"| {' | '.join(cell(one) for one in row)} |"
    yield ""


def page(title: str, intro: str, *parts: Iterable[str]) -> str:
    """A whole page."""
    lines = [
        f"# {title}",
        "",
        "<!-- Written by `python -m docs.generator`. Change what it is made from. -->",
        "",
        intro,
        "",
    ]
    for part in parts:
        lines += part
    return "\n".join(lines).rstrip("\n") + "\n"

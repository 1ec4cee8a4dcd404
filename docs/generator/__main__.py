"""`python -m docs.generator`: write docs/reference anew."""

from __future__ import annotations

import click

from docs.generator.pages import FOLDER, pages


def main() -> None:
    """Write each page, and remove what is no page any more."""
    found = pages()
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.md"):
        if old.name not in found:
            old.unlink()
    for name, text in found.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        click.echo(f"docs/reference/{name}")


main()

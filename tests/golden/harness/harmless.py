"""Whether the text of a cluster stayed text wherever people see it: in a terminal, in Markdown, in a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt

from tests.golden.harness.run import Runner, Seen

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_LIVE = ("<script", "<strong>bold", "<a href", "<img", "<b>")


def harms(seen: Seen, runner: Runner) -> Iterator[str]:
    """One line for each text of a cluster that got where it could do something."""
    shown = {"the text": seen.text, "the Markdown": seen.markdown, "stderr": seen.sweep.stderr}
    shown |= {f"handoff {name}": text for name, text in seen.handoffs.items()}
    for job in seen.document["jobs"]:
        key = f"{job['cluster']}:{job['job_id']}"
        done = runner.command("explain", key, "--full")
        if done.exit:
            yield f"explain {key}: exit {done.exit}: {done.stderr}"
        shown[f"explain {key}"] = done.stdout
    for where, text in shown.items():
        found = _CONTROL.search(text)
        if found:
            yield f"{where} has {found[0]!a}: {text[max(0, found.start() - 40) : found.end() + 20]!a}"
    for where, text in (("the Markdown", seen.markdown), *((f"handoff {n}", t) for n, t in seen.handoffs.items())):
        yield from _markup(where, text)
    if any(runner.world.root.rglob("pwned")):
        yield "a name was run by a shell"


def _markup(where: str, text: str) -> Iterator[str]:
    parser = MarkdownIt("commonmark").enable("table")
    html = parser.render(text)
    yield from (f"{where} renders {live}" for live in _LIVE if live in html)
    columns = 0
    count = 0
    for token in parser.parse(text):
        if token.type == "tr_open":
            count = 0
        elif token.type == "th_open":
            columns = count = count + 1
        elif token.type == "td_open":
            count += 1
        elif token.type == "tr_close" and count != columns:
            yield f"{where} has a row of {count} cells under {columns} columns"

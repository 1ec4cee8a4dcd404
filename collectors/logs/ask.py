"""What is asked of a file system: argument lists only, nothing recursive, everything bounded."""

from __future__ import annotations

from collections.abc import Sequence

from sweeprules.collectors.transport.command import Command

NEWEST_BYTES = 64 * 1024
"""Of a listing by time the newest names come first, and only they matter."""
LISTING_BYTES = 4 * 1024 * 1024
"""Names of one directory: some 50,000. What is cut there is no proof that a file is missing."""
GROWTH = 64 * 1024
"""Room for what a log gains between its `stat` and its `tail`."""

SEARCH_BYTES = 512 * 1024
"""Kept of the newest matches in one log: some hundred lines of metrics of 4 KB."""
SEARCH_TIME = 20.0
"""Seconds for the search of one log."""


def stat(paths: Sequence[str], record: str, field: str) -> Command:
    """Device, inode, size, mtime and name of many files; a missing one is told on stderr only."""
    form = record + field.join(("%d", "%i", "%s", "%Y", "%n"))
    return Command(("xargs", "-0", "stat", "-L", f"--printf={form}", "--"), items=tuple(paths))


def listing(directory: str, *, newest_first: bool = False) -> Command:
    """The names in one directory, quoted as C strings so that no name can look like two."""
    order = "-1At" if newest_first else "-1AU"
    size = NEWEST_BYTES if newest_first else LISTING_BYTES
    return Command(("ls", order, "--quoting-style=c", "--", directory), max_bytes=size)


def tail(path: str, start: int, size: int) -> Command:
    """A file from byte `start` on: the `size` bytes that were there, and a little of what came since."""
    return Command(("tail", "-c", f"+{start + 1}", "--", path), max_bytes=size + GROWTH)


def last_bytes(path: str, size: int) -> Command:
    """The last `size` bytes of a file whose length is not known."""
    return Command(("tail", "-c", str(size), "--", path), max_bytes=size + GROWTH)


def search(path: str, literals: Sequence[str], size: int = SEARCH_BYTES) -> Command:
    """The newest lines of a file that hold one of the literals, each with its place: the last `size` bytes of them."""
    wanted = (word for literal in literals for word in ("-e", literal))
    return Command(("grep", "-F", "-a", "-b", *wanted, "--", path), timeout=SEARCH_TIME, max_bytes=size, keep="end")

"""The files of a site, found and read with bounds, and what is wrong with any of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sweeprules.engine.errors import Mark, Problem
from sweeprules.store.errors import StoreError
from sweeprules.store.files import read_bounded

MAX_BYTES = 2 * 2**20
"""Of one file; the YAML reader has the same bound."""
MAX_FILES = 5_000
MAX_DEPTH = 8
_LISTED = 20
_BAD_BYTE = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Text:
    """One file's text; a byte that is not UTF-8 was reported and stands as U+FFFD."""

    text: str
    problems: tuple[Problem, ...] = ()


def list_files(root: Path, folder: str, wanted: Callable[[str], bool]) -> tuple[list[str], list[Problem]]:
    """The wanted files below a folder of a site, as sorted paths in the site, and what could not be listed.

    Hidden files and folders are passed over, folders behind symbolic links are not entered. A missing folder is empty.
    """
    found: list[str] = []
    problems: list[Problem] = []
    for name in _walk(root, folder, problems):
        if len(found) >= MAX_FILES:
            problems.append(
                Problem(Mark(folder, 1, 1), f"holds more than {MAX_FILES} files", "a site is smaller: check --site")
            )
            break
        if wanted(name):
            found.append(name)
    return sorted(found), problems


def _walk(root: Path, folder: str, problems: list[Problem]) -> Iterator[str]:
    def refused(error: OSError) -> None:
        # A folder that is not there is empty; one that can not be listed hides what is in it.
        if not isinstance(error, FileNotFoundError):
            name = os.path.relpath(error.filename or folder, root)
            problems.append(
                Problem(Mark(name, 1, 1), f"could not be listed: {error.strerror}", "check its permissions")
            )

    for where, folders, names in os.walk(root / folder, onerror=refused):
        depth = len(Path(where).relative_to(root).parts)
        folders[:] = [] if depth >= MAX_DEPTH else sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(where, name).relative_to(root).as_posix()


def read_file(path: Path, shown: str) -> bytes | Problem:
    """A file's bytes, or why there are none; `shown` stands in the problem."""
    try:
        return read_bounded(path, MAX_BYTES)
    except StoreError as error:
        return Problem(Mark(shown, 1, 1), f"the file {error.what}", error.hint)


def read_text(path: Path, shown: str) -> Text:
    """A file's text; where it could not be read it is empty and a problem says so."""
    data = read_file(path, shown)
    return Text("", (data,)) if isinstance(data, Problem) else decode(data, shown)


def decode(data: bytes, shown: str) -> Text:
    """The text of these bytes, with a problem for each byte that is not UTF-8 (the first ones of many)."""
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return Text("", (Problem(Mark(shown, 1, 1), "the file is UTF-16", "save it as UTF-8"),))
    try:
        return Text(data.decode("utf-8"))
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
    hint = "save the file as UTF-8; it looks like Latin-1"
    marks = [
        (Mark(shown, number, match.start() + 1), ord(match.group()) - 0xDC00)
        for number, line in enumerate(text.split("\n"), start=1)
        for match in _BAD_BYTE.finditer(line)
    ]
    problems = [Problem(mark, f"the byte 0x{byte:02x} is not UTF-8", hint) for mark, byte in marks[:_LISTED]]
    if len(marks) > _LISTED:
        problems.append(Problem(marks[_LISTED][0], f"the same mistake {len(marks) - _LISTED} times more from here on"))
    return Text(_BAD_BYTE.sub("\ufffd", text), tuple(problems))

"""Many small files in one command, told apart without trusting a name or a byte of them.

`head -v` and `tail -v` print `==> PATH <==` before each file. What a file holds could look like such a line, so every
path is written with a run of `/` and `./` in front that spells a mark made from the sweep's random word: it names the
same file, it comes back in the header, and nobody who wrote a file before the sweep could have known it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.transport.mask import masked
from sweeprules.engine.facts import Reason, Unknown
from sweeprules.engine.observation import Observation

_BITS = 40
_OPEN = b"==> "
_CLOSE = b" <==\n"
_GONE = (b": No such file or directory", b": Not a directory")
_COMPLAINTS_KEPT = 15 * 1024
"""Standard error may have been cut from here on (the transport keeps 16 KiB): what it does not name is then open."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What was read of one file: `capped` says that it may be longer than what was asked of it."""

    data: bytes
    capped: bool


@dataclass(frozen=True, slots=True)
class Bundle:
    """What one command gave: the files read, those proved missing, and for each other path why it was not read."""

    pieces: Mapping[str, Piece]
    missing: frozenset[str]
    unread: Mapping[str, Unknown]


def mark(nonce: str) -> str:
    """The run of `/` and `./` that stands before every path of a sweep."""
    bits = int.from_bytes(hashlib.blake2b(nonce.encode(), digest_size=_BITS // 8).digest(), "big")
    return "/./" + "".join("./" if bits >> at & 1 else "/" for at in range(_BITS))


def askable(path: str) -> bool:
    """True for an absolute path that a header can carry: every byte known, and no end of a header inside."""
    return path.startswith("/") and not any(mark in path for mark in ("\0", "\ufffd", " <==\n"))


def heads(paths: Sequence[str], each: int, nonce: str, budget: int) -> Command:
    """The first `each` bytes of every file, at most `budget` bytes in all."""
    return _command("head", str(each), paths, nonce, budget)


def tails(paths: Sequence[str], each: int, nonce: str, budget: int) -> Command:
    """The last `each` bytes of every file, at most `budget` bytes in all."""
    return _command("tail", str(each), paths, nonce, budget)


def _command(program: str, each: str, paths: Sequence[str], nonce: str, budget: int) -> Command:
    before = mark(nonce)
    items = tuple(before + path.lstrip("/") for path in paths)
    return Command(("xargs", "-0", program, "-v", "-c", each, "--"), items=items, max_bytes=budget)


def split(observation: Observation, nonce: str) -> Bundle:
    """The files of a bundle by their paths as asked for; a path that came twice is filed once.

    A file at which the output was cut is unread, and so is what came after it. Never raises.
    """
    before = mark(nonce)
    paths = {
        before_path.encode("utf-8", "surrogateescape"): _plain(before_path, before) for before_path in observation.items
    }
    each = _each(observation)
    starts = _headers(observation.stdout, before.encode(), paths)
    whole = observation.answered and not observation.cut
    pieces: dict[str, Piece] = {}
    for at, (path, _, begin) in enumerate(starts):
        last = at + 1 == len(starts)
        if last and not whole:
            break
        end = len(observation.stdout) if last else starts[at + 1][1]
        if not last and observation.stdout[begin:end].endswith(b"\n"):
            end -= 1
        pieces.setdefault(path, Piece(observation.stdout[begin:end], end - begin >= each))
    return _sorted(observation, paths, pieces)


def _plain(item: str, before: str) -> str:
    return "/" + item.removeprefix(before)


def _each(observation: Observation) -> int:
    argv = observation.argv
    at = argv.index("-c") + 1 if "-c" in argv else len(argv)
    return int(argv[at]) if at < len(argv) and argv[at].isdigit() else 0


def _headers(data: bytes, before: bytes, paths: Mapping[bytes, str]) -> list[tuple[str, int, int]]:
    """Each header's path, where it begins, and where its file does; one of a path not asked for is passed over."""
    opening = _OPEN + before
    shown: dict[bytes, str] = {}
    found: list[tuple[str, int, int]] = []
    at = data.find(opening)
    while at >= 0:
        close = data.find(_CLOSE, at)
        if close < 0:
            break
        name = data[at + len(_OPEN) : close]
        path = paths.get(name)
        if path is None and b"*" in name:
            # A part of the path was taken for a secret.
            shown = shown or {
                masked(_OPEN + item + _CLOSE)[len(_OPEN) : -len(_CLOSE)]: one for item, one in paths.items()
            }
            path = shown.get(name)
        if path is not None:
            found.append((path, at, close + len(_CLOSE)))
        at = data.find(opening, close)
    return found


def _sorted(observation: Observation, paths: Mapping[bytes, str], pieces: Mapping[str, Piece]) -> Bundle:
    left = {item: path for item, path in paths.items() if path not in pieces}
    if not observation.answered:
        return _bundle(pieces, (), left.values(), Unknown(Reason.READ_FAILED, observation.detail or "not answered"))
    if observation.cut:
        return _bundle(
            pieces, (), left.values(), Unknown(Reason.NOT_READ, "there were more bytes than one sweep reads")
        )
    complaints = observation.stderr.splitlines()
    gone = [line for line in complaints if line.endswith(_GONE)]
    if len(gone) == len(complaints) == len(left):
        return _bundle(pieces, left.values(), (), Unknown(Reason.NOT_READ))
    named = frozenset(path for item, path in left.items() if _named(item, gone))
    why = _why(complaints, gone, len(observation.stderr))
    return _bundle(pieces, named, (path for path in left.values() if path not in named), why)


def _named(item: bytes, gone: Iterable[bytes]) -> bool:
    return any(b"'" + item + b"'" in line for line in gone)


def _why(complaints: Sequence[bytes], gone: Sequence[bytes], size: int) -> Unknown:
    other = next((line for line in complaints if line not in gone), b"")
    if other and size < _COMPLAINTS_KEPT:
        return Unknown(Reason.READ_FAILED, other.decode("utf-8", "replace")[:200])
    return Unknown(Reason.NOT_READ, "more files were missing than the complaints tell of")


def _bundle(pieces: Mapping[str, Piece], missing: Iterable[str], unread: Iterable[str], why: Unknown) -> Bundle:
    return Bundle(MappingProxyType(dict(pieces)), frozenset(missing), MappingProxyType(dict.fromkeys(unread, why)))

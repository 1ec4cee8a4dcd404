"""What may be sent to a cluster: decided on argument lists, before any shell text exists."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.transport.shapes import ENVIRONMENT, SHAPES, XARGS_PROGRAMS, Shape

MAX_WORD = 100_000
"""Bytes in one argument: Linux refuses more than 128 KiB, and `env` or `timeout` may stand before it."""
MAX_WORDS = 1_000_000
"""Bytes in all arguments: half of the usual 2 MiB limit. More files go as items."""


class CommandRefusedError(Exception):
    """Raised for a command of no allowed shape; nothing was sent. `nearest` is the shape that it resembles most."""

    def __init__(self, argv: Sequence[str], why: str, nearest: str = "") -> None:
        self.argv = tuple(argv)
        self.why = why
        self.nearest = nearest
        hint = f"; the nearest allowed form is `{nearest}`" if nearest else ""
        super().__init__(f"command refused, nothing was sent: {_shown(argv)}: {why}{hint}")


@dataclass(frozen=True, slots=True)
class AllowList:
    """The shapes that one cluster allows: the shipped ones less its `bans`.

    A ban is a program, or a program with its first words (`scontrol show config`). `extra` are the commands that a
    record adds: each is of an allowed shape itself, but may name its program by an absolute path, which is then
    allowed for every command of that program.
    """

    bans: frozenset[str] = frozenset()
    extra: tuple[tuple[str, ...], ...] = ()

    def check(self, command: Command) -> str:
        """The command's kind; raises `CommandRefusedError`."""
        kind = check(command.argv, self.bans, self.extra)
        _check_items(command)
        return kind


def check(argv: Sequence[str], bans: frozenset[str] = frozenset(), extra: Iterable[Sequence[str]] = ()) -> str:
    """The kind of an allowed command (`squeue`, `scontrol-job`, `stat`, ...); raises `CommandRefusedError`."""
    words = tuple(argv)
    _check_words(words)
    inner = _without_prefix(words)
    _check_bans(words, inner, bans)
    programs = {PurePosixPath(more[0]).name: more[0] for more in extra if more and more[0].startswith("/")}
    program = inner[0]
    if program == programs.get(PurePosixPath(program).name):
        inner = (PurePosixPath(program).name, *inner[1:])
    if inner[0] == "xargs":
        return _xargs(words, inner)
    return _match(words, inner, with_operands=True).kind


def check_extra(argv: Sequence[str], bans: frozenset[str] = frozenset()) -> str:
    """The kind of a command that a record adds; raises `CommandRefusedError`.

    It is held to the same shapes. An absolute program path must be written out plainly, and no word may hold a glob:
    nothing expands it, so it would only mislead whoever reads the record.
    """
    words = tuple(argv)
    if words and words[0].startswith("/") and (".." in words[0] or "//" in words[0]):
        raise CommandRefusedError(words, "the program's path must be written without `..` and `//`")
    for word in words[1:]:
        if not word.startswith(("-", "+")) and re.search(r"[*?]", word):
            why = f"globs are not expanded: name the file or directory instead of {_shown([word])}"
            raise CommandRefusedError(words, why)
    return check(words, bans, (words,))


def _check_words(words: tuple[str, ...]) -> None:
    if not words or not words[0]:
        raise CommandRefusedError(words, "there is no program")
    total = 0
    for word in words:
        size = _size(word)
        total += size + 1
        if "\0" in word:
            raise CommandRefusedError(words, "an argument holds a NUL")
        if size > MAX_WORD or total > MAX_WORDS:
            raise CommandRefusedError(words, "the arguments are too long; files in number go to `xargs -0` as items")


def _without_prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    if words[0] != "env":
        return words
    at = 1
    while at < len(words) and "=" in words[at] and not words[at].startswith("-"):
        name, _, value = words[at].partition("=")
        pattern = ENVIRONMENT.get(name)
        if pattern is None or not re.fullmatch(pattern, value):
            why = f"`env` may set only {', '.join(ENVIRONMENT)}, to harmless values, not {_shown([words[at]])}"
            raise CommandRefusedError(words, why)
        at += 1
    if at == 1 or at == len(words) or words[at] in ("env", "xargs"):
        why = "`env` takes variables and then one allowed command"
        raise CommandRefusedError(words, why, "env TZ=UTC ssh-keygen -L -f PATH")
    return words[at:]


def _check_bans(words: tuple[str, ...], inner: tuple[str, ...], bans: frozenset[str]) -> None:
    named = (PurePosixPath(inner[0]).name, *inner[1:])
    behind = _behind_xargs(inner) if named[0] == "xargs" else ()
    for ban in sorted(bans):
        start = tuple(ban.split())
        if start and any(form[: len(start)] == start for form in (words, named, behind)):
            raise CommandRefusedError(words, f"the cluster's record bans `{ban}`")


def _behind_xargs(inner: tuple[str, ...]) -> tuple[str, ...]:
    at = 1
    while at < len(inner) and inner[at].startswith("-"):
        at += 2 if inner[at] == "-n" else 1
    return inner[at:]


def _xargs(words: tuple[str, ...], inner: tuple[str, ...]) -> str:
    behind = _behind_xargs(inner)
    options = inner[1 : len(inner) - len(behind)]
    plain = [word for at, word in enumerate(options) if word != "-n" and (at == 0 or options[at - 1] != "-n")]
    form = "xargs -0 [-r] [-n N] stat|tail|head OPTIONS --"
    if "-0" not in plain or not set(plain) <= {"-0", "-r"}:
        raise CommandRefusedError(words, "`xargs` takes -0, -r and -n N, and -0 always", form)
    counts = [options[at + 1] if at + 1 < len(options) else "" for at, word in enumerate(options) if word == "-n"]
    if any(not re.fullmatch("[1-9][0-9]{0,5}", count) for count in counts):
        raise CommandRefusedError(words, "`xargs -n` takes a number above zero", form)
    if not behind or behind[0] not in XARGS_PROGRAMS:
        raise CommandRefusedError(words, "`xargs` may run only stat, tail or head", form)
    if behind[-1] != "--":
        raise CommandRefusedError(words, "the command behind `xargs` must end in `--`: its files are the items", form)
    return "xargs-" + _match(words, behind, with_operands=False).kind


def _check_items(command: Command) -> None:
    words = command.argv
    xargs = _without_prefix(words)[0] == "xargs"
    if command.items and not xargs:
        raise CommandRefusedError(words, "only `xargs -0` takes items")
    if xargs and not command.items and "-r" not in words:
        raise CommandRefusedError(words, "`xargs` without -r needs at least one item")
    if any(not item or "\0" in item or _size(item) > MAX_WORD for item in command.items):
        raise CommandRefusedError(words, "an item is empty, too long, or holds a NUL")


def _match(words: tuple[str, ...], inner: tuple[str, ...], *, with_operands: bool) -> Shape:
    same_program = [shape for shape in SHAPES if shape.program == inner[0]]
    if not same_program:
        why = f"{_shown(inner[:1])} is not on the list of commands that only read"
        raise CommandRefusedError(words, why, _nearest(inner[0]))
    refusals: list[tuple[int, str, Shape]] = []
    for shape in same_program:
        depth, why = _mismatch(shape, inner, with_operands)
        if not why:
            return shape
        refusals.append((depth, why, shape))
    _, why, shape = max(refusals, key=lambda refusal: refusal[0])
    raise CommandRefusedError(words, why, _form(shape))


def _mismatch(shape: Shape, inner: tuple[str, ...], with_operands: bool) -> tuple[int, str]:
    """How far the command followed the shape, and why it left it; no reason when it is of the shape."""
    reader = _Reader(shape, inner)
    why = reader.options(shape.global_flags, shape.global_values) if shape.words else ""
    if not why and inner[reader.at : reader.at + len(shape.words)] != shape.words:
        return 0, f"{_shown(inner[: reader.at + 2])} is not among what may be asked"
    reader.at += len(shape.words)
    why = why or reader.options(shape.flags, shape.values) or reader.rest(with_operands) or reader.complete()
    return len(shape.words) + reader.at, why


class _Reader:
    """Follows one shape along one argument list; each step returns why it can not go on, or nothing."""

    def __init__(self, shape: Shape, inner: tuple[str, ...]) -> None:
        self.shape = shape
        self.inner = inner
        self.at = 1
        self.seen: set[str] = set()

    def options(self, flags: frozenset[str], values: Mapping[str, str]) -> str:
        while self.at < len(self.inner):
            word = self.inner[self.at]
            if word == "--" or not word.startswith("-"):
                return ""
            why = self._option(word, flags, values)
            if why:
                return why
        return ""

    def _option(self, word: str, flags: frozenset[str], values: Mapping[str, str]) -> str:
        name, joined, value = word.partition("=")
        self.at += 1
        if word in flags:
            self.seen.add(word)
            return ""
        if name.startswith("--") and name in values:
            if joined:
                return self._value(name, value, values[name])
            if not self.shape.long_values_apart:
                return f"the value of {name} is joined to it by `=`"
        if word in values:
            if self.at == len(self.inner):
                return f"{word} lacks its value"
            self.at += 1
            return self._value(word, self.inner[self.at - 1], values[word])
        letters = {f"-{letter}" for letter in word[1:]}
        if not word.startswith("--") and letters and letters <= flags:
            self.seen |= letters
            return ""
        return f"the option {_shown([name])} is not allowed here"

    def _value(self, name: str, value: str, pattern: str) -> str:
        self.seen.add(name)
        return "" if re.fullmatch(pattern, value) else f"{_shown([value])} is no allowed value of {name}"

    def rest(self, with_operands: bool) -> str:
        """Reads what the options leave: words, and options between them where `--` is not asked for."""
        why = self._lead()
        words: list[str] = []
        while not why and not self.shape.dashes and self.at < len(self.inner) and self.inner[self.at] != "--":
            words.append(self.inner[self.at])
            self.at += 1
            why = self.options(self.shape.flags, self.shape.values)
        rest = self.inner[self.at :]
        if why:
            return why
        if not with_operands:
            return "" if rest == ("--",) else "files behind `xargs` are items, not arguments"
        if self.shape.dashes and rest[:1] != ("--",):
            return "the files must stand behind `--`"
        return self._operands((*words, *rest[1:]))

    def _lead(self) -> str:
        word = self.inner[self.at] if self.at < len(self.inner) else "--"
        if not self.shape.lead or word == "--":
            return ""
        self.at += 1
        return "" if re.fullmatch(self.shape.lead, word) else f"{_shown([word])} is no allowed word before `--`"

    def _operands(self, words: tuple[str, ...]) -> str:
        least, most = self.shape.operands
        if not least <= len(words) <= most:
            return f"{len(words)} words stand where {_span(least, most)} are allowed"
        wrong = [word for word in words if word in ("", "-") or not re.fullmatch(self.shape.operand, word)]
        return f"{_shown(wrong[:1])} is not allowed there" if wrong else ""

    def complete(self) -> str:
        missing = sorted(self.shape.required - self.seen)
        if missing:
            return f"{' '.join(missing)} must be given"
        if self.shape.one_of and not self.shape.one_of & self.seen:
            return f"one of {' '.join(sorted(self.shape.one_of))} must be given"
        return ""


def _span(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def _form(shape: Shape) -> str:
    words = [str(shape)]
    words += [f"{name} ..." for name in sorted(shape.required & shape.global_values.keys())]
    words += sorted(shape.required - shape.global_values.keys())
    if shape.one_of:
        words.append("|".join(sorted(shape.one_of)))
    if shape.operands[1]:
        words.append(("-- " if shape.dashes else "") + "WORD" + ("..." if shape.operands[1] > 1 else ""))
    return " ".join(words)


def _nearest(program: str) -> str:
    names = sorted({shape.program for shape in SHAPES})
    close = difflib.get_close_matches(PurePosixPath(program).name, names, n=1, cutoff=0.6)
    return _form(next(shape for shape in SHAPES if shape.program == close[0])) if close else ""


def _shown(words: Sequence[str]) -> str:
    """The words as one line of plain text, whatever they hold, at most 200 characters."""
    text = " ".join(shlex.quote(word) if word.isprintable() and word.isascii() else ascii(word) for word in words[:20])
    return text if len(text) <= 200 else text[:197] + "..."


def _size(word: str) -> int:
    return len(word.encode("utf-8", "surrogateescape"))

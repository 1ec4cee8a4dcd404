"""Short texts that a regex matches: one for each of its alternatives, built from how it is written."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import re2

MOST = 64
"""Samples of one regex; alternatives beyond that are not tried."""
_QUANTIFIERS = "*+?{"
_CLASSES = {"d": "0", "D": "x", "s": " ", "S": "x", "w": "a", "W": " ", "n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_EMPTY = frozenset("bBAzZ")
"""Escapes that match a place."""


class _UnreadError(Exception):
    """The regex has something that is not read here."""


def samples(regex: str) -> list[str]:
    """Texts that the regex matches, each checked with re2; none where the regex is not read."""
    try:
        reader = _Reader(regex)
        found = reader.alternatives()
        if reader.at < len(regex):
            return []
    except _UnreadError:
        return []
    options = re2.Options()
    options.log_errors = False
    compiled = re2.compile(regex, options=options)
    return [text for text in dict.fromkeys(found) if compiled.search(text)]


class _Reader:
    """Reads the common part of the syntax; each method returns the sample texts of what it read."""

    def __init__(self, regex: str) -> None:
        self.regex = regex
        self.at = 0

    def alternatives(self) -> list[str]:
        """`a|b|c`, to the end or the closing bracket."""
        found = self._sequence()
        while self._peek() == "|":
            self.at += 1
            found += self._sequence()
        return found[:MOST]

    def _sequence(self) -> list[str]:
        found = [""]
        while self._peek() not in {"", "|", ")"}:
            parts = self._repeated(self._atom())
            found = [a + b for a, b in itertools.islice(itertools.product(found, parts), MOST)]
        return found

    def _peek(self) -> str:
        return self.regex[self.at : self.at + 1]

    def _next(self) -> str:
        char = self._peek()
        if not char:
            raise _UnreadError
        self.at += 1
        return char

    def _atom(self) -> list[str]:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == "\\":
            return [self._escape()]
        if char in "^$":
            return [""]
        if char in _QUANTIFIERS:
            raise _UnreadError
        return ["x" if char == "." else char]

    def _group(self) -> list[str]:
        if self._peek() == "?":
            head = self.regex[self.at :]
            if head.startswith("?:"):
                self.at += 2
            elif head.startswith("?P<") and ">" in head:
                self.at += head.index(">") + 1
            else:
                # Flags such as (?i) change what the letters mean.
                raise _UnreadError
        found = self.alternatives()
        if self._next() != ")":
            raise _UnreadError
        return found

    def _escape(self) -> str:
        char = self._next()
        if char in _EMPTY:
            return ""
        if char in _CLASSES:
            return _CLASSES[char]
        if char.isalnum():
            raise _UnreadError
        return char

    def _class(self) -> list[str]:
        """The first and the last of a `[...]`, or something outside of a `[^...]`."""
        denied = self._peek() == "^"
        if denied:
            self.at += 1
        members: list[str] = []
        while True:
            char = self._next()
            if char == "]" and members:
                break
            if char == "[":
                raise _UnreadError
            members.append(self._escape() if char == "\\" else char)
        if denied:
            return [next((char for char in "x0 ~" if char not in members), "")]
        return list(dict.fromkeys((members[0], members[-1])))

    def _repeated(self, parts: list[str]) -> list[str]:
        """The part as few times as it may stand."""
        char = self._peek()
        if char not in {*_QUANTIFIERS} - {""}:
            return parts
        self.at += 1
        least = {"*": 0, "?": 0, "+": 1}.get(char, -1)
        if least < 0:
            least = self._least()
        if self._peek() == "?":
            self.at += 1
        return [""] if least == 0 else [part * least for part in parts]

    def _least(self) -> int:
        end = self.regex.find("}", self.at)
        number = self.regex[self.at : end].partition(",")[0]
        if end < 0 or not number.isdigit() or int(number) > MOST:
            raise _UnreadError
        self.at = end + 1
        return int(number)


def without(regex: str, literal: str) -> Iterator[str]:
    """Texts that the regex matches and that do not have the literal."""
    return (text for text in samples(regex) if literal not in text)

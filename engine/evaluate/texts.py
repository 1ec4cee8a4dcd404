"""Tests on text: glob, regular expression, prefix, substring, and the policy's patterns."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from functools import lru_cache

import re2

from sweeprules.engine.language.ast import Pattern

Matcher = Callable[[str], bool]


class BadPatternError(Exception):
    """A right side that came from a fact is no regular expression."""


@lru_cache(maxsize=1024)
def matcher(op: str, wanted: str, fold: bool) -> Matcher:
    """The test `op` (prefix, glob, regex, contains) against `wanted`, as a function of the text.

    `regex` searches anywhere in the text (anchor it with `^` and `$`) in linear time; `glob` must match the whole
    text, with `* ? [..] [!..]`; `fold` compares without regard to letter case. Raises BadPatternError.
    """
    if op == "regex":
        return _search(wanted, fold)
    text = wanted.casefold() if fold else wanted
    plain = _plain(op, text)
    if not fold:
        return plain
    return lambda left: plain(left.casefold())


def _plain(op: str, wanted: str) -> Matcher:
    if op == "prefix":
        return lambda left: left.startswith(wanted)
    if op == "glob":
        compiled = re.compile(fnmatch.translate(wanted))
        return lambda left: compiled.match(left) is not None
    return lambda left: wanted in left


def _search(regex: str, fold: bool) -> Matcher:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not fold
    try:
        compiled = re2.compile(_encodable(regex), options)
    except re2.error as error:
        raise BadPatternError(str(error)) from error
    return lambda left: compiled.search(_encodable(left)) is not None


def _encodable(text: str) -> str:
    # Undecodable bytes of a cluster's text stand as lone surrogates, which re2 can not take.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=1024)
def _pattern_matcher(literal: str, regex: str) -> Matcher:
    if not regex:
        return lambda left: literal in left
    search = matcher("regex", regex, False)
    return lambda left: literal in left and search(left)


def matches(pattern: Pattern, text: str) -> bool:
    """Does a line mean what the pattern says: its literal is there, and its regex (if it has one) is found."""
    return _pattern_matcher(pattern.literal, pattern.regex)(text)

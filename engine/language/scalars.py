"""What an unquoted YAML word is: the 1.2 core schema, less every word that YAML 1.1 reads as something else."""

from __future__ import annotations

import math
import re

from sweeprules.engine.language.node import Kind

Resolved = tuple[Kind, bool | int | float | str | None, str, str]
"""Kind, value, and for a bad one what is wrong and what to write instead."""

_TRUE, _FALSE = frozenset({"true", "True", "TRUE"}), frozenset({"false", "False", "FALSE"})
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_OLD_TRUE, _OLD_FALSE = frozenset({"yes", "on", "y"}), frozenset({"no", "off", "n"})
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_NUMBER = re.compile(r"([-+]?[0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?\Z")
_SIGNED_POINT = re.compile(r"[-+]\.[0-9]+([eE][-+]?[0-9]+)?\Z")
_ZERO_FIRST = re.compile(r"[-+]?0[0-9]+\Z")
_OTHER_BASE = re.compile(r"[-+]?(0o[0-7]+|0b[01]+)\Z")
_CLOCK = re.compile(r"[-+]?[0-9]+(:[0-9]+)+(\.[0-9]*)?\Z")
_GROUPED = re.compile(r"[-+]?[0-9][0-9]*_[0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?\Z")
_BARE_EXPONENT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+\Z")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")
_INT64 = 2**63
_DIGITS = 400


def resolve(word: str) -> Resolved:
    """The kind and value of an unquoted scalar; kind `bad` with a message and a hint where readers would differ.

    Dates stay texts: the contract of cluster records writes them unquoted, and no field takes them for anything else.
    """
    if word in _NULL:
        return ("null", None, "", "")
    if word in _TRUE or word in _FALSE:
        return ("boolean", word in _TRUE, "", "")
    first = word[0]
    if first.isascii() and (first.isdigit() or first in "+-."):
        return _numeric(word)
    return _wordlike(word)


def _wordlike(word: str) -> Resolved:
    if len(word) <= 3 and word in {word.lower(), word.upper(), word.capitalize()}:
        low = word.lower()
        if low in _OLD_TRUE or low in _OLD_FALSE:
            boolean = "true" if low in _OLD_TRUE else "false"
            return _bad(
                word, f"some YAML readers take `{word}` for {boolean}", f'write {boolean}, or quote it: "{word}"'
            )
    if word in {"=", "<<"}:
        return _bad(word, f"`{word}` has a meaning of its own in YAML", _quote(word))
    return ("text", word, "", "")


def _numeric(word: str) -> Resolved:
    if len(word) > _DIGITS:
        return ("text", word, "", "")
    if _INTEGER.match(word) or _HEX.match(word):
        value = int(word, 16 if word.startswith("0x") else 10)
        if abs(value) >= _INT64:
            return _bad(word, f"the integer {word} does not fit 64 bits", _quote(word))
        return ("integer", value, "", "")
    if _NUMBER.match(word):
        number = float(word)
        return ("number", number, "", "") if math.isfinite(number) else _bad(word, f"{word} is too large", "")
    return _misread(word)


def _misread(word: str) -> Resolved:
    if _ZERO_FIRST.match(word):
        return _bad(word, f"some YAML readers take `{word}` for octal", f"write {int(word)}, or {_quote(word)}")
    if _CLOCK.match(word):
        message = f"some YAML readers take `{word}` for a number in base 60"
        return _bad(word, message, f"{_quote(word)}, or write a duration such as 90s or 30m")
    if _OTHER_BASE.match(word) or _GROUPED.match(word):
        return _bad(word, f"YAML readers differ on what `{word}` is", f"write plain decimal digits, or {_quote(word)}")
    if _SIGNED_POINT.match(word):
        zero = f"{word[0]}0{word[1:]}"
        plain = _with_point(zero) if "e" in word.lower() else zero
        return _bad(word, f"`{word}` is a text to some YAML readers", f"write {plain}, or {_quote(word)}")
    if _BARE_EXPONENT.match(word):
        return _bad(word, f"`{word}` is a text to some YAML readers", f"write {_with_point(word)}, or {_quote(word)}")
    if _INFINITE.match(word):
        return _bad(word, f"`{word}` is no finite number", f"leave the limit out, or {_quote(word)}")
    return ("text", word, "", "")


def _quote(word: str) -> str:
    return f'quote it: "{word}"'


def _with_point(word: str) -> str:
    mantissa, exponent = re.split("[eE]", word)
    sign = "" if exponent[0] in "+-" else "+"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{sign}{exponent}"


def _bad(word: str, message: str, hint: str) -> Resolved:
    return ("bad", word, message, hint)

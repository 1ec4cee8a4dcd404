"""Secrets are struck out of bytes before anything is kept, so that live and replay see the same.

A mask is as long as what it hides and never crosses a line, so offsets and line numbers still hold. One pass of a
linear-time engine finds every form; masking twice is masking once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import re2

# A bare token runs to its last word character: what follows the mask can then not begin a token that had not begun
# before. What precedes it may be no letter or digit, or `task-...` would be taken for a key; `\n` spelled out, as in
# JSON, is a boundary. The forms are strict enough to leave names like `hf_upload_rl__a2` and `sk-learn-run` alone.
_W = rb"[A-Za-z0-9_-]"
_SK = rb"sk-(?:" + _W + rb"{40}|(?:[a-z0-9]{1,12}-){0,3}[A-Za-z0-9_]{16})" + _W + rb"*"
_PREFIXED = (
    rb"(?:hf_[A-Za-z0-9]{30}|gh[oprsu]_[A-Za-z0-9]{30}|github_pat_[A-Za-z0-9]{16}|dtn_[a-z0-9]{20}"
    rb"|glpat-" + _W + rb"{20}|xox[abprs]-[A-Za-z0-9-]{20})" + _W + rb"*"
)
_AWS = rb"(?:AKIA|ASIA)[0-9A-Z]{16}" + _W + rb"*"
_JWT = rb"eyJ" + _W + rb"{8}" + _W + rb"*\." + _W + rb"{8}[A-Za-z0-9_.-]*"
_BARE = rb"(?:^|[^A-Za-z0-9]|\\[nrt])(" + _SK + rb"|" + _PREFIXED + rb"|" + _AWS + rb"|" + _JWT + rb")"

_GAP = rb"[\"']?[ \t]{0,8}[=:][ \t]{0,8}[\"']?"
# Written like a variable of the environment: whatever stands there is the secret.
_VARIABLE = rb"_(?:API_?KEY|ACCESS_KEY|SECRET_KEY|SECRET|TOKEN|PASSWORD|PASSWD)" + _GAP + rb"([^\s\"'&,;]+)"
# In small letters it may be a count of tokens: only what is long and no number is struck out.
_FIELD = (
    rb"(?:token|api_?key|apikey|secret|secret_?key|access_?key|passwd|password)"
    + _GAP
    + rb"([A-Za-z0-9_.+/=~-]{8}[A-Za-z0-9_.+/=~-]*)"
)
_BEARER = rb"[Bb]earer[ \t]{1,8}([A-Za-z0-9_.+/=~-]{8}[A-Za-z0-9_.+/=~-]*)"
_URL = rb"://[^\s/:@\"']{1,100}:([^\s/@\"']{1,200})@"

# The groups by number: bare, variable, field, bearer, url.
_GROUPS = range(1, 6)
_FIELD_GROUP = 3
_SECRET = re2.compile(rb"|".join((_BARE, _VARIABLE, _FIELD, _BEARER, _URL)))
_NUMBER = re.compile(rb"[0-9.,+eE-]*")

_PEM_BEGIN = re2.compile(rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----")
_PEM_END = b"-----END"
_PEM_BODY = re.compile(rb"[A-Za-z0-9+/=]*|\[masked\**\]|\*+|(?:Proc-Type|DEK-Info): ?[A-Za-z0-9,:*\[\]-]+")
_PEM_LINES = 400
"""More lines than the body of any key: 16,384 bits of RSA take about 200."""


def masked(data: bytes) -> bytes:
    """`data` with keys, tokens, passwords and private keys struck out, byte for byte as long."""
    if b"PRIVATE KEY-----" in data:
        data = b"".join(_without_keys(data))
    pieces: list[bytes] = []
    at = 0
    for found in _SECRET.finditer(data):
        group = next(number for number in _GROUPS if found.span(number)[0] >= 0)
        start, end = found.span(group)
        if group == _FIELD_GROUP and _NUMBER.fullmatch(data, start, end):
            continue
        pieces += (data[at:start], _mask(end - start))
        at = end
    return b"".join((*pieces, data[at:])) if pieces else data


def _mask(length: int) -> bytes:
    return b"*" * length if length < 8 else b"[masked" + b"*" * (length - 8) + b"]"


def _without_keys(data: bytes) -> Iterator[bytes]:
    """The lines of `data`, the bodies of private keys masked; a body ends where a line can not belong to one."""
    left = 0
    for line in data.splitlines(keepends=True):
        begin = _PEM_BEGIN.search(line)
        if begin is not None:
            at = begin.end()
            end = line.find(_PEM_END, at)
            left = _PEM_LINES if end < 0 else 0
            end = len(line) if end < 0 else end
            yield line[:at] + _masked_line(line[at:end]) + line[end:]
        elif left and _PEM_BODY.fullmatch(line.strip()):
            left -= 1
            yield _masked_line(line)
        else:
            left = 0
            yield line


def _masked_line(line: bytes) -> bytes:
    body = line.strip()
    return line.replace(body, _mask(len(body)), 1) if body else line

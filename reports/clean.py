"""What a cluster wrote, made safe to print: no control character, no bidirectional trick, no markup."""

from __future__ import annotations

import json
import re

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u180e\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"
)
_UNSAFE_IN_JSON = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", "", 1))
"""Without the newlines of the layout: inside texts the encoder has escaped those already."""
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+.|~&$@:])")


def _shown(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    return _NAMED.get(char) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )


def one_line(text: str, limit: int = 400) -> str:
    """Text on one line with every control, invisible and direction-changing character spelled out; cut with `…`.

    A terminal sees only printable characters. `limit` counts characters of the result.
    """
    shown = _UNSAFE.sub(_shown, text[: limit * 2])
    return shown if len(shown) <= limit and len(text) <= limit * 2 else shown[: limit - 1] + "…"


def json_text(document: object) -> str:
    """A document as indented JSON with a final newline; what a terminal would obey stands escaped in it.

    Raises ValueError for NaN or infinity, which JSON has no word for.
    """
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    return _UNSAFE_IN_JSON.sub(lambda match: json.dumps(match.group())[1:-1], text) + "\n"


def markdown(text: str, limit: int = 400) -> str:
    """Text that Markdown shows as it is: on one line, with every character that could be markup escaped."""
    return _MARKDOWN.sub(r"\\\1", one_line(text, limit))

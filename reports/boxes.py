"""Tables of box-drawing characters that fit a width: what is cut ends in `…`, and an id or a step is never cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

KEYS = ("Job", "Run", "Model × benchmark")
NOTES = ("Trend", "Note", "Infra/Trend")
ASIDE = ("Entropy", "|log r| μ")
"""Numbers that stand in the last column where there is no room for a column of their own."""
WHOLE = ("Step",)
_CUT = "…"
_JOINTS = "-_/."
_KEY_LEAST, _KEY_SHARE, _KEY_LINES = 18, 0.45, 4
_NOTE_LINES = 8
_FIXED_MOST = 24
_CARD_LINES = 12


def cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, width: int) -> str:
    """The text in at most `width` columns, ended by `…` where something is left out."""
    return text if cells(text) <= width else _kept(text, width - 1) + _CUT


def _kept(text: str, width: int) -> str:
    """The longest start of a text that takes at most `width` columns."""
    if text.isascii():
        return text[:width]
    kept = ""
    for char in text:
        if cells(kept + char) > width:
            break
        kept += char
    return kept


def wrap(text: str, width: int, most: int = 0) -> list[str]:
    """The text on lines of at most `width` columns, broken at spaces where possible; past `most` lines it is cut."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cells(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        *full, line = _broken(word, width)
        lines += full
    lines.append(line)
    if most and len(lines) > most:
        return [*lines[: most - 1], _kept(f"{lines[most - 1]} {lines[most]}", width - 1) + _CUT]
    return lines


def _broken(word: str, width: int) -> list[str]:
    if cells(word) <= width:
        return [word]
    pieces, piece = [], ""
    for char in word:
        if piece and cells(piece + char) > width:
            at = _joint(piece)
            pieces.append(piece[:at])
            piece = piece[at:]
        piece += char
    return [*pieces, piece]


def _joint(piece: str) -> int:
    """Where a piece of a long word is broken: behind the last joint in its second half, else at its end."""
    found = max(piece.rfind(sign) for sign in _JOINTS) + 1
    return found if found > len(piece) // 2 else len(piece)


def key_lines(text: str, width: int, most: int = _KEY_LINES) -> list[str]:
    """A row's first cell on lines: its name may be cut, the id in brackets at its end never is."""
    whole = wrap(text, width)
    name, bracket, rest = text.rpartition(" [")
    if len(whole) <= most or not bracket:
        return whole if len(whole) <= most else wrap(text, width, most)
    ids = wrap(bracket.strip() + rest, width)
    return [*wrap(name, width, max(1, most - len(ids))), *ids]


@dataclass(frozen=True, slots=True)
class _Grid:
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    widths: Sequence[int]


def boxed(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The table as lines of at most `width` columns.

    A table too wide puts `ASIDE` into its last column; one that is still too wide shows each row as a card, with every
    number under its name.
    """
    apart = _aside(columns, rows)
    # Each try takes less room: titles on one line, titles folded, fewer columns, a narrow note.
    tries = (((columns, rows), False, 36), ((columns, rows), True, 36), (apart, False, 36), (apart, True, 24))
    for (shown, cells_of), folded, note in tries:
        widths = _widths(shown, cells_of, width, folded=folded, least_note=note)
        if widths is not None:
            return _drawn(_Grid(shown, cells_of, widths))
    return _cards(columns, rows, width)


def _aside(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    moved = [i for i, name in enumerate(columns) if name in ASIDE]
    kept = [i for i in range(len(columns)) if i not in moved]
    if not moved or columns[-1] not in NOTES:
        return columns, rows
    told = [[*(row[i] for i in kept[:-1]), _told(columns, row, moved) + row[-1]] for row in rows]
    return [columns[i] for i in kept], told


def _told(columns: Sequence[str], row: Sequence[str], moved: Sequence[int]) -> str:
    return ", ".join(f"{columns[i]} {row[i]}" for i in moved) + "; "


def _widths(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, folded: bool, least_note: int
) -> list[int] | None:
    """Columns for each cell, or None where the table has no room; numbers keep their whole width.

    `folded` titles stand on a line a word.
    """
    natural = [_natural(name, [row[i] for row in rows], folded) for i, name in enumerate(columns)]
    key = next((i for i, name in enumerate(columns) if name in KEYS), None)
    note = next((i for i, name in enumerate(columns) if name in NOTES), None)
    fixed = [n for i, n in enumerate(natural) if i not in (key, note)]
    room = width - 3 * len(columns) - 1 - sum(fixed)
    if key is None or note is None:
        return natural if room >= sum(natural[i] for i in (key, note) if i is not None) else None
    least = min(natural[key], max(_KEY_LEAST, _longest_id([row[key] for row in rows])))
    if room < least + min(natural[note], least_note):
        return None
    if natural[key] + natural[note] > room:
        share = min(natural[key], max(least, int(room * _KEY_SHARE)))
        natural[key] = max(share, min(natural[key], room - natural[note]))
        natural[note] = min(natural[note], room - natural[key])
    return natural


def _natural(name: str, values: Sequence[str], folded: bool) -> int:
    widest = max((cells(value) for value in values), default=0)
    if name in (*KEYS, *NOTES):
        return max(widest, cells(name))
    most = widest if name in WHOLE else min(widest, _FIXED_MOST)
    return max(most, *(cells(word) for word in (name.split(" ") if folded else [name])))


def _longest_id(values: Sequence[str]) -> int:
    return max((cells(value.rpartition(" ")[2]) for value in values), default=0)


def _drawn(grid: _Grid) -> list[str]:
    lines = [_rule(("┌", "┬", "┐"), grid.widths)]
    lines += _row(grid, [wrap(name, w) for name, w in zip(grid.columns, grid.widths, strict=True)])
    lines.append(_rule(("├", "┼", "┤"), grid.widths))
    for row in grid.rows:
        lines += _row(grid, [_lines(*cell) for cell in zip(grid.columns, row, grid.widths, strict=True)])
    return [*lines, _rule(("└", "┴", "┘"), grid.widths)]


def _lines(column: str, value: str, width: int) -> list[str]:
    if column in KEYS:
        return key_lines(value, width)
    return wrap(value, width, _NOTE_LINES) if column in NOTES else [cut(value, width)]


def _row(grid: _Grid, folded: Sequence[Sequence[str]]) -> list[str]:
    height = max(len(lines) for lines in folded)
    padded = [[*lines, *[""] * (height - len(lines))] for lines in folded]
    return [
        "│" + "│".join(f" {_filled(lines[i], w)} " for lines, w in zip(padded, grid.widths, strict=True)) + "│"
        for i in range(height)
    ]


def _filled(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def _rule(corners: tuple[str, str, str], widths: Sequence[int]) -> str:
    left, middle, right = corners
    return left + middle.join("─" * (w + 2) for w in widths) + right


def _cards(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    inner = [width - 4]
    blocks = [_card(columns, row, inner[0]) for row in rows]
    lines = [_rule(("┌", "┬", "┐"), inner)]
    for i, block in enumerate(blocks):
        lines += [_rule(("├", "┼", "┤"), inner)] if i else []
        lines += [f"│ {_filled(line, inner[0])} │" for line in block]
    return [*lines, _rule(("└", "┴", "┘"), inner)]


def _card(columns: Sequence[str], row: Sequence[str], width: int) -> list[str]:
    """The key, then every number under its name, then the note, which alone may be cut."""
    named = list(zip(columns, row, strict=True))
    keys = [value for name, value in named if name in KEYS]
    notes = [value for name, value in named if name in NOTES]
    numbers = [f"{name} {value if name in WHOLE else cut(value, _FIXED_MOST)}" for name, value in named
               if name not in (*KEYS, *NOTES)]  # fmt: skip
    lines = [line for value in keys for line in key_lines(value, width)]
    lines += wrap(" · ".join(numbers), width) if numbers else []
    return [*lines, *(line for value in notes for line in wrap(value, width, _CARD_LINES))]


def line(columns: Sequence[str], row: Sequence[str], width: int) -> list[str]:
    """A row told in one line, `job · type · running 9m · note`, its note cut to fit; more lines only for a long id."""
    told = dict(zip(columns, row, strict=True))
    state = str(told["State"])
    state = state.lower() if state == "RUNNING" else state
    fixed = " · ".join((told["Job"], told["Type"], f"{state} {told['Elapsed']}"))
    if cells(fixed) > width:
        name = told["Job"].rpartition(" [")[0]
        room = width - cells(fixed) + cells(name)
        fixed = cut(name, max(room, 8)) + fixed[len(name) :]
    if cells(fixed) > width:
        return wrap(fixed, width)
    return [cut(f"{fixed} · {told['Note']}", width) if cells(fixed) + 5 <= width else fixed]

"""Reads one YAML file that a person wrote into a tree with places, and says everything that is wrong with it.

YAML 1.2 core schema. Keys are texts, so `on` is a key. Refused: duplicate keys, unquoted words that YAML 1.1 takes for
something else, tabs, a byte-order mark, bytes that are not UTF-8, control characters, tags, merge keys, aliases that
explode, a second document, nesting or size past the bounds below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import yaml

from sweeprules.engine.errors import Mark, PolicyError, Problem
from sweeprules.engine.language.node import Entry, Kind, Node
from sweeprules.engine.language.scalars import resolve

MAX_BYTES = 2 * 1024 * 1024
"""About 10,000 rules; a larger file is not a policy."""
MAX_DEPTH = 40
"""Levels of maps and lists; the deepest shipped rule has 12."""
MAX_ALIASED = 10_000
"""Values that the aliases of one file may add."""
MAX_REPEATS = 20
"""How many mistakes of one kind are listed before only their count is told."""

_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FORBIDDEN = re.compile(
    "[^\t\n\r -~\u00a0-\u061b\u061d-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff"
    "\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""All but printable text: what a terminal acts on, line breaks that editors do not count, turned writing direction."""
_LINES = re.compile("\r\n|\r|\n")
_Describe = Callable[[str], tuple[str, str]]


class Scan(NamedTuple):
    """What was read: the tree as far as it could be made out (None after a syntax error), and every mistake."""

    node: Node | None
    problems: tuple[Problem, ...]


def read(source: str | bytes, file: str) -> Node:
    """The tree of a file that has no mistakes.

    Raises PolicyError with all of them otherwise.
    """
    scan_result = scan(source, file)
    if scan_result.problems or scan_result.node is None:
        raise PolicyError(scan_result.problems)
    return scan_result.node


def scan(source: str | bytes, file: str) -> Scan:
    """The tree and every mistake of a file; a syntax error ends it. An empty file is a node of kind `null`."""
    problems: list[Problem] = []
    text = _clean(source, file, problems)
    if text is None:
        return Scan(None, tuple(sorted(problems)))
    builder = _Builder(file, problems)
    node = builder.build(text)
    return Scan(node, tuple(sorted(problems)))


# ---------------------------------------------------------------- bytes to clean text


def _clean(source: str | bytes, file: str, problems: list[Problem]) -> str | None:
    """The text to parse, with what can not stand in it replaced character by character; None ends the file."""
    start = Mark(file, 1, 1)
    if len(source) > MAX_BYTES:
        problems.append(Problem(start, f"the file has {len(source)} bytes; at most {MAX_BYTES} are read", "split it"))
        return None
    text = _decode(source, file, problems) if isinstance(source, bytes) else source
    if text is None:
        return None
    if text.startswith("\ufeff"):
        problems.append(Problem(start, "the file begins with a byte-order mark (BOM)", "save it as UTF-8 without BOM"))
        text = text[1:]
    text = _replace(_FORBIDDEN, text, file, problems, _describe_character)
    indented = any("\t" in line[: len(line) - len(line.lstrip())] for line in _LINES.split(text))
    text = _replace(re.compile("\t"), text, file, problems, lambda _: ("a tab", "write spaces; in a quoted text \\t"))
    # A tab that indents hides what belongs to what: anything said of the structure would be a guess.
    return None if indented else text


def _decode(source: bytes, file: str, problems: list[Problem]) -> str | None:
    start = Mark(file, 1, 1)
    if source[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        problems.append(Problem(start, "the file is UTF-16", "save it as UTF-8"))
        return None
    try:
        return source.decode("utf-8")
    except UnicodeDecodeError:
        text = source.decode("utf-8", "surrogateescape")
    bad = re.compile("[\udc80-\udcff]")
    return _replace(bad, text, file, problems, _describe_byte)


def _describe_byte(character: str) -> tuple[str, str]:
    return f"the byte 0x{ord(character) - 0xDC00:02x} is not UTF-8", "save the file as UTF-8; it looks like Latin-1"


def _describe_character(character: str) -> tuple[str, str]:
    return f"the character U+{ord(character):04X} is not allowed", "delete it; in a double-quoted text write \\uXXXX"


def _replace(pattern: re.Pattern[str], text: str, file: str, problems: list[Problem], describe: _Describe) -> str:
    if not pattern.search(text):
        return text
    found = [
        (Mark(file, number, match.start() + 1), match.group())
        for number, line in enumerate(_LINES.split(text), start=1)
        for match in pattern.finditer(line)
    ]
    for mark, character in found[:MAX_REPEATS]:
        message, hint = describe(character)
        problems.append(Problem(mark, message, hint))
    if len(found) > MAX_REPEATS:
        mark = found[MAX_REPEATS][0]
        problems.append(Problem(mark, f"the same mistake {len(found) - MAX_REPEATS} times more from here on"))
    return pattern.sub(" " if pattern.pattern == "\t" else "_", text)


# ---------------------------------------------------------------- events to nodes


class _Size(NamedTuple):
    """How many values a node holds, itself counted, and how many levels."""

    values: int
    levels: int


class _Frame:
    """A map or list that is still open."""

    __slots__ = ("anchor", "entries", "height", "is_map", "items", "key", "mark", "seen", "size")

    def __init__(self, is_map: bool, mark: Mark, anchor: str | None) -> None:
        self.is_map, self.mark, self.anchor = is_map, mark, anchor
        self.items: list[Node] = []
        self.entries: list[Entry] = []
        self.seen: dict[str, Mark] = {}
        self.key: tuple[str, Mark] | None = None
        self.size = self.height = 1


class _Builder:
    """Turns parser events into nodes without recursion, so that depth is a bound and not a crash."""

    def __init__(self, file: str, problems: list[Problem]) -> None:
        self._file, self._problems = file, problems
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Node, _Size]] = {}
        self._open: set[str] = set()
        self._aliased = 0
        self._root: Node | None = None

    def build(self, text: str) -> Node | None:
        try:
            return self._documents(yaml.parse(text, Loader=_LOADER))
        except yaml.MarkedYAMLError as error:
            self._problems.append(_syntax(error, self._file))
            return None

    def _documents(self, events: Iterable[yaml.Event]) -> Node | None:
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._report(event, "a second document begins here", "one file holds one; remove the `---`")
                    break
                if event.version or event.tags:
                    self._report(event, "a YAML directive has no use here", "remove the line that begins with %")
            elif not self._take(event):
                return None
        return self._root or Node("null", Mark(self._file, 1, 1))

    def _take(self, event: yaml.Event) -> bool:
        """Handles one event; False when the file can not be followed any further."""
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            return self._start(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._end()
        return True

    def _start(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> bool:
        if self._expects_key():
            self._report(event, "a key has to be a word", "a map or list can not be a key")
            return False
        if len(self._stack) >= MAX_DEPTH:
            self._report(event, f"nested more than {MAX_DEPTH} levels deep", "flatten it")
            return False
        self._refuse_tag(event)
        self._stack.append(_Frame(isinstance(event, yaml.MappingStartEvent), self._mark(event), event.anchor))
        if event.anchor:
            self._open.add(event.anchor)
        return True

    def _end(self) -> None:
        frame = self._stack.pop()
        kind: Kind = "map" if frame.is_map else "list"
        node = Node(kind, frame.mark, items=tuple(frame.items), entries=tuple(frame.entries))
        if frame.anchor:
            self._open.discard(frame.anchor)
        self._place(node, _Size(frame.size, frame.height), frame.anchor)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        mark = self._mark(event)
        self._refuse_tag(event)
        quoted = bool(event.style)
        if self._expects_key():
            self._key(event.value, quoted, mark)
            return
        kind, value, message, hint = ("text", event.value, "", "") if quoted else resolve(event.value)
        if kind == "bad":
            self._problems.append(Problem(mark, message, hint))
        self._place(Node(kind, mark, value, source=event.value, quoted=quoted), _Size(1, 0), event.anchor)

    def _key(self, word: str, quoted: bool, mark: Mark) -> None:
        frame = self._stack[-1]
        frame.key = (word, mark)
        if word == "<<" and not quoted:
            self._problems.append(Problem(mark, "merge keys (`<<`) are not read", "write the keys out"))
        elif word == "" or (word in {"~", "null"} and not quoted):
            self._problems.append(Problem(mark, "a key is missing before this colon"))
        elif word in frame.seen:
            first = frame.seen[word]
            self._problems.append(
                Problem(mark, f"the key `{word}` stands twice in one map", f"the first one is on line {first.line}")
            )

    def _alias(self, event: yaml.AliasEvent) -> bool:
        name = event.anchor
        if self._expects_key():
            self._report(event, "an alias can not be a key", "write the key out")
            return False
        if name in self._open:
            self._report(event, f"the alias *{name} stands inside its own anchor", "write the value out")
            return False
        if name not in self._anchors:
            self._report(event, f"no anchor &{name} stands before this alias", "write the value out")
            return False
        node, size = self._anchors[name]
        self._aliased += size.values
        if self._aliased > MAX_ALIASED:
            self._report(event, f"the aliases up to here expand to over {MAX_ALIASED} values", "write them out")
            return False
        if len(self._stack) + size.levels > MAX_DEPTH:
            self._report(event, f"nested more than {MAX_DEPTH} levels deep by this alias", "flatten it")
            return False
        self._place(node, size, None)
        return True

    def _place(self, node: Node, size: _Size, anchor: str | None) -> None:
        if anchor:
            self._anchors[anchor] = (node, size)
        if not self._stack:
            self._root = node
            return
        frame = self._stack[-1]
        frame.size += size.values
        frame.height = max(frame.height, size.levels + 1)
        if not frame.is_map:
            frame.items.append(node)
            return
        assert frame.key is not None
        (word, mark), frame.key = frame.key, None
        # What a merge key brings is taken over, so that its one mistake is not told as many.
        for entry in node.entries if word == "<<" else ():
            if entry.key not in frame.seen:
                frame.entries.append(entry)
        if word not in frame.seen and word != "<<":
            frame.seen[word] = mark
            frame.entries.append(Entry(word, mark, node))

    def _expects_key(self) -> bool:
        return bool(self._stack) and self._stack[-1].is_map and self._stack[-1].key is None

    def _refuse_tag(self, event: yaml.NodeEvent) -> None:
        tag = getattr(event, "tag", None)
        if tag:
            self._report(event, f"the tag `{tag[:60]}` is not read", "remove it")

    def _mark(self, event: yaml.Event) -> Mark:
        place = event.start_mark
        return Mark(self._file, place.line + 1, place.column + 1) if place else Mark(self._file, 1, 1)

    def _report(self, event: yaml.Event, message: str, hint: str) -> None:
        self._problems.append(Problem(self._mark(event), message, hint))


def _syntax(error: yaml.MarkedYAMLError, file: str) -> Problem:
    place = error.problem_mark or error.context_mark
    mark = Mark(file, place.line + 1, place.column + 1) if place else Mark(file, 1, 1)
    what = (error.problem or "not readable as YAML").strip()
    began = error.context_mark
    hint = f"{error.context}, begun on line {began.line + 1}" if error.context and began else ""
    return Problem(mark, f"YAML syntax: {what}", hint)

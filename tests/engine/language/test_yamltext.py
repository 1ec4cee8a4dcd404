"""Reading YAML with places."""

from __future__ import annotations

import datetime

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.engine.errors import Mark, PolicyError
from sweeprules.engine.language import yamltext
from sweeprules.engine.language.node import Node, plain
from sweeprules.engine.language.scalars import resolve
from sweeprules.engine.language.yamltext import read, scan


def value(text: str) -> object:
    return plain(read(text, "f.yaml"))


def told(text: str | bytes) -> list[str]:
    return [str(problem) for problem in scan(text, "f").problems]


def test_the_core_schema() -> None:
    text = "{a: true, b: False, c: 12, d: -1.5, e: ~, f: null, g: word, h: 0x1F, i: 1.0e-05, j: '012', k: \"yes\"}"
    assert value(text) == {
        "a": True, "b": False, "c": 12, "d": -1.5, "e": None, "f": None, "g": "word", "h": 31, "i": 1e-05,
        "j": "012", "k": "yes",
    }  # fmt: skip


def test_keys_are_texts_whatever_they_look_like() -> None:
    assert value("{on: 1, no: 2, 12: 3, true: 4, 1:30: 5, 2026-01-01: 6}") == {
        "on": 1, "no": 2, "12": 3, "true": 4, "1:30": 5, "2026-01-01": 6,
    }  # fmt: skip


@pytest.mark.parametrize("word", ["2026-06-23", "2026-07-12T06:00:00Z", "15m", "1.2.3", "a:b", "rl__", "-", "+", "a1"])
def test_words_that_all_readers_leave_alone_or_that_the_contract_writes_bare_are_texts(word: str) -> None:
    node = read(f"a: [{word}]", "f").get("a")
    assert node is not None
    assert (node.items[0].kind, node.items[0].value) == ("text", word)


def test_every_node_and_key_knows_its_place() -> None:
    node = read("top:\n  - {key: value, other: [1, 'two']}\n", "f.yaml")
    top = node.get("top")
    assert top is not None
    inner = top.items[0]
    assert node.key_mark("top") == Mark("f.yaml", 1, 1)
    assert inner.mark == Mark("f.yaml", 2, 5)
    assert inner.key_mark("other") == Mark("f.yaml", 2, 18)
    other = inner.get("other")
    assert other is not None
    assert [item.mark.column for item in other.items] == [26, 29]
    assert [item.quoted for item in other.items] == [False, True]


def test_columns_count_characters_and_not_bytes() -> None:
    node = read("{é: ü, key: no-more}", "f")
    assert node.key_mark("key") == Mark("f", 1, 8)


def test_a_byte_order_mark_does_not_shift_the_first_line() -> None:
    assert told("\ufeffa: no")[1].startswith("f:1:4: some YAML readers take `no`")


def test_crlf_is_a_line_end() -> None:
    assert value("a: 1\r\nb: [2]\r\n") == {"a": 1, "b": [2]}
    assert told("a: 1\r\nb: no\r\n")[0].startswith("f:2:4:")


def test_an_alias_stands_for_its_anchor() -> None:
    assert value("a: &x [1, 2]\nb: *x\n") == {"a": [1, 2], "b": [1, 2]}


def test_aliases_may_add_so_much_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yamltext, "MAX_ALIASED", 6)
    assert value("a: &x [1, 2]\nb: [*x, *x]\n") == {"a": [1, 2], "b": [[1, 2], [1, 2]]}
    assert "expand to over 6 values" in told("a: &x [1, 2]\nb: [*x, *x, *x]\n")[0]


def test_an_explosion_ends_early() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    assert len(told("\n".join(lines))) == 1


def test_a_file_past_the_bound_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yamltext, "MAX_BYTES", 10)
    assert value("a: 123456") == {"a": 123456}
    assert told("a: 12345678") == ["f:1:1: the file has 11 bytes; at most 10 are read (split it)"]


def test_nesting_is_bounded_and_never_a_crash() -> None:
    deep = yamltext.MAX_DEPTH
    assert scan("[" * deep + "]" * deep, "f").problems == ()
    assert "nested more than" in told("[" * 500)[0]
    assert "nest" in told("[" * 100_000)[0]
    assert "nest" in told("{a: " * 100_000)[0]


def test_aliases_do_not_nest_deeper_than_the_bound() -> None:
    deep = "[" * 38 + "{}" + "]" * 38
    lines = ["a0: &a0 " + deep.format("x")]
    lines += [f"a{n}: &a{n} " + deep.format(f"*a{n - 1}") for n in range(1, 20)]
    assert "nested more than 40 levels deep by this alias" in told("\n".join(lines))[0]
    assert told("a: &a [[1]]\nb: " + "[" * 37 + "*a" + "]" * 37) == []


def test_the_same_mistake_many_times_is_counted() -> None:
    lines = told("\n".join(f"a{n}: x\u202e" for n in range(30)))
    assert len(lines) == yamltext.MAX_REPEATS + 1
    assert lines[-1] == "f:21:7: the same mistake 10 times more from here on"


def test_a_duplicate_key_keeps_the_first_value_and_is_told() -> None:
    found = scan("a: 1\na: 2\n", "f")
    assert found.node is not None
    assert plain(found.node) == {"a": 1}
    assert [str(p) for p in found.problems] == [
        "f:2:1: the key `a` stands twice in one map (the first one is on line 1)"
    ]


def test_read_raises_all_at_once() -> None:
    with pytest.raises(PolicyError) as caught:
        read("a: no\nb: 012\n", "f")
    assert [p.mark.line for p in caught.value.problems] == [1, 2]


def test_an_empty_file_is_nothing_at_its_start() -> None:
    assert scan("", "f") == (Node("null", Mark("f", 1, 1)), ())


WORDS = st.one_of(
    st.text(alphabet="0123456789_:.+-eExobnaif", min_size=1, max_size=9),
    st.sampled_from(
        ["yes", "No", "ON", "off", "y", "N", "true", "FALSE", "~", "null", "Null", "=", "<<", ".inf", "-.INF"]
    ),
    st.text(alphabet="abcxyz0189-_. ", min_size=1, max_size=8).map(str.strip).filter(bool),
)


@given(WORDS)
def test_a_word_is_what_every_yaml_reader_takes_it_for_or_a_mistake(word: str) -> None:
    """YAML 1.1, as PyYAML reads it, agrees on every word that is let through; dates, which stay texts, aside."""
    try:
        node = yaml.compose(f"[{word}]", Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return
    if not isinstance(node, yaml.SequenceNode) or len(node.value) != 1 or node.value[0].value != word:
        return
    kind, mine, _, _ = resolve(word)
    try:
        other = yaml.safe_load(f"[{word}]")[0]
    except (ValueError, yaml.YAMLError):
        assert kind in {"bad", "text"}
        return
    if kind == "bad":
        return
    if isinstance(other, datetime.date):
        assert kind == "text"
        return
    assert (type(mine), mine) == (type(other), other)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    found = scan(data, "f")
    assert found.node is not None or found.problems


@given(st.text(alphabet="ab:-[]{},&*!|>'\"%@`#? \n\t1\u0085\u2028", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    found = scan(text, "f")
    assert found.node is not None or found.problems
    for problem in found.problems:
        assert 1 <= problem.mark.line <= text.count("\n") + 2

"""Times, durations, ids, node lists, and records that no text can forge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.slurm.text import (
    JobId,
    Separators,
    delimited_records,
    expand_nodes,
    marked_records,
    parse_id,
    read_duration,
    read_integer,
    read_time,
    sort_key,
)
from sweeprules.engine.facts import Absent, Unknown
from tests.collectors.slurm.fake import MARKS


def test_a_nonce_must_not_be_guessable():
    with pytest.raises(ValueError, match="8 letters"):
        Separators.of("abc")
    with pytest.raises(ValueError, match="8 letters"):
        Separators.of("abcdefg@")


@pytest.mark.parametrize(
    ("text", "zone", "wanted"),
    [
        ("1796060430", "UTC", 1796060430),
        ("2026-11-30T17:40:30", "UTC", 1796060430.0),
        ("2026-11-30T18:40:30", "Europe/Rome", 1796060430.0),
        ("2026-11-30T17:40:30+00:00", "Europe/Rome", 1796060430.0),
        ("2026-11-30T17:40:30", "No/Where", 1796060430.0),
    ],
)
def test_times_are_epochs(text, zone, wanted):
    assert read_time(text, zone) == wanted


@pytest.mark.parametrize("text", ["Unknown", "None", "N/A", "", "(null)"])
def test_a_time_that_has_not_come_is_absent(text):
    assert isinstance(read_time(text, "UTC"), Absent)


@pytest.mark.parametrize("text", ["soon", "12", "2026-13-01T00:00:00", "-5"])
def test_a_time_that_is_none_is_malformed(text):
    value = read_time(text, "UTC")
    assert isinstance(value, Unknown)
    assert value.reason == "malformed"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0:38", 38), ("1:00:00", 3600), ("2-03:05:00", 183900), ("23:59:22", 86362), ("1-02:03:04", 93784)],
)
def test_durations(text, seconds):
    assert read_duration(text) == seconds


@pytest.mark.parametrize("text", ["UNLIMITED", "N/A", ""])
def test_no_limit_is_absent(text):
    assert isinstance(read_duration(text), Absent)


def test_counts_and_ranges_of_wanted_nodes():
    assert read_integer("4") == 4
    assert read_integer("4-8") == 4
    assert isinstance(read_integer("four"), Unknown)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("7", JobId(7)),
        ("11_5", JobId(11, task=5)),
        ("31+1", JobId(31, het=1)),
        ("38.0", JobId(38, step="0")),
        ("31+0.batch", JobId(31, het=0, step="batch")),
        ("11_[5-7%3]", JobId(11, tasks=(5, 6, 7))),
        ("11_[1,3-9:3]", JobId(11, tasks=(1, 3, 6, 9))),
        ("11_[1-3,...]", JobId(11, tasks=None)),
    ],
)
def test_ids(text, wanted):
    assert parse_id(text) == wanted


@pytest.mark.parametrize("text", ["", "x", "7 8", "11_", "11_5_6", "7;rm", "١٢"])
def test_what_is_no_id(text):
    assert parse_id(text) is None


def test_a_huge_array_is_not_spread_out():
    assert parse_id("11_[0-99999999]") == JobId(11, tasks=None)


def test_ids_sort_by_number():
    assert sorted(["10", "9", "11_10", "11_9", "31+1", "31+0"], key=sort_key) == [
        "9", "10", "11_9", "11_10", "31+0", "31+1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ()),
        ("n1", ("n1",)),
        ("n[01-03,7],m5", ("n01", "n02", "n03", "n7", "m5")),
        ("r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
    ],
)
def test_node_lists(text, wanted):
    assert expand_nodes(text) == wanted


@pytest.mark.parametrize("text", ["n[1-", "n[a-b]", "n[1-99999999]"])
def test_a_node_list_that_can_not_be_read_is_malformed(text):
    assert isinstance(expand_nodes(text), Unknown)


ANYTHING = st.text(st.characters(blacklist_categories=("Cs",)), max_size=30)


@given(st.lists(st.lists(ANYTHING, min_size=3, max_size=3), max_size=5))
def test_marked_records_come_back_whatever_their_fields_hold(rows):
    text = "".join(MARKS.record + MARKS.field.join(row) + "\n" for row in rows)
    before, records = marked_records(text, 3, MARKS)
    assert before == ""
    assert [list(record.fields) for record in records] == rows


@given(st.lists(st.tuples(st.integers(1, 10**9), st.lists(ANYTHING, min_size=2, max_size=2)), max_size=5))
def test_delimited_records_come_back_whatever_their_later_fields_hold(rows):
    text = "".join(MARKS.field.join((str(number), *fields)) + "\n" for number, fields in rows)
    records = delimited_records(text, 3, MARKS.field)
    assert [record.fields for record in records] == [(str(number), *fields) for number, fields in rows]


def test_a_record_with_a_field_too_few_says_so():
    _, records = marked_records(f"{MARKS.record}1{MARKS.field}2\n", 3, MARKS)
    assert records[0].problem == "2 fields where 3 were asked for"
    assert delimited_records(f"1{MARKS.field}2\n", 3, MARKS.field)[0].problem

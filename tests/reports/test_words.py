"""Values as people read them."""

from __future__ import annotations

import pytest

from sweeprules.engine.facts import ABSENT, NOT_APPLICABLE, Interval, Unknown
from sweeprules.reports.words import age, command, duration, instant, size, typed


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (59.9, "59s"), (60, "1m"), (3599, "59m"), (3600, "1h00m"), (23_400, "6h30m"), (86_400, "1d00h"),
     (187_500, "2d04h"), (-90, "-1m")],
)  # fmt: skip
def test_durations_have_their_two_largest_units(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_what_could_not_be_read_is_no_age() -> None:
    assert age(Unknown("read-failed")) == "?"
    assert age(ABSENT) == "—"
    assert age(120) == "2m ago"


def test_a_fact_says_whether_it_is_a_value() -> None:
    assert typed(Unknown("cut", "the end only"), "integer") == "unknown: cut (the end only)"
    assert typed(NOT_APPLICABLE, "integer") == "absent (not-applicable)"
    assert typed(Interval(3, None), "integer") == "3 to ?"
    assert typed(False, "boolean") == "false"
    assert typed((), "list") == "(none)"
    assert typed(5400, "duration") == "1h30m"
    assert typed(0, "time") == "1970-01-01T00:00:00Z"
    assert typed(1536, "bytes") == "1.5 KiB"


def test_sizes_and_impossible_times_do_not_raise() -> None:
    assert size(0) == "0 B"
    assert size(5 * 2**60) == "5120.0 PiB"
    assert instant(1e20) == "100000000000000000000"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("env LC_ALL=C squeue --me -o %i", "squeue --me"),
        ("cat -- /short", "cat /short"),
        ("tail -c 9 -- /" + "d" * 60 + "/job.log", "tail -c 9 …/job.log"),
        ("cat --", "cat"),
        ("env A=b --", ""),
        ("", ""),
    ],
)
def test_a_command_is_shown_as_people_know_it(given: str, shown: str) -> None:
    assert command(given) == shown

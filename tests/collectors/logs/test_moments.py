"""Times of records, those without a year among them."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.logs.moments import moment

ZONE = ZoneInfo("UTC")
UNTIL = datetime(2026, 7, 1, 12, tzinfo=UTC).timestamp()


def told(text: str, until: float | None = UNTIL) -> str | None:
    found = moment(text, ZONE, until)
    return None if found is None else datetime.fromtimestamp(found, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2026-06-30 10:00:01,5 x", "2026-06-30T10:00:01"),
        ("[rank2]:[E626 05:06:30.929096625 ProcessGroupNCCL.cpp:632] x", "2026-06-26T05:06:30"),
        ("[E1130 02:11:09.120000000 x]", "2025-11-30T02:11:09"),
        ("[F0701 14:03:49.3 x]", "2026-07-01T14:03:49"),
        ("[E702 13:03:49.3 x]", "2025-07-02T13:03:49"),
        ("ERROR 10-24 16:30:27 [core.py:710] x", "2025-10-24T16:30:27"),
        ("06/09 06:49:23 - mmengine - INFO - x", "2026-06-09T06:49:23"),
        ("  time      : 2026-02-21_20:07:38", "2026-02-21T20:07:38"),
        ("E229 10:00:00.1 x", "2024-02-29T10:00:00"),
        ("E1331 10:00:00.1 x", None),
        ("ERROR 13-24 16:30:27 x", None),
        ("2026-02-31_20:07:38", None),
        ("no time", None),
    ],
)
def test_a_time(text: str, when: str | None):
    assert told(text) == when


def test_without_a_last_write_a_date_without_a_year_tells_nothing():
    assert told("ERROR 10-24 16:30:27 x", None) is None
    assert told("ERROR 10-24 16:30:27 x", 0.0) is None
    assert told("ERROR 10-24 16:30:27 x", 1e300) is None


@given(st.text(max_size=80), st.one_of(st.none(), st.floats(allow_nan=False)))
def test_no_text_breaks_it(text: str, until: float | None):
    found = moment(f"E{text} 10:00:00", ZONE, until)
    assert found is None or isinstance(found, float)

"""What `explain` says of a job's progress: where it stands and since when, and how long that may take."""

from __future__ import annotations

import pytest

from sweeprules.engine.facts import ABSENT, NOT_APPLICABLE, FactValue, Unknown
from sweeprules.reports.pace import pace

HOUR = 3600.0
RUNNING: dict[str, FactValue] = {
    "state": "RUNNING", "progress_marker": "step 12", "progress_age": 4.5 * HOUR, "unchanged_sweeps": 3,
    "cadence": 4.7 * HOUR, "cadence_basis": "p99 of 11 gaps", "log_age": 60.0, "heartbeats_only": True,
}  # fmt: skip


def test_a_slow_step_is_told_with_what_it_is_measured_by() -> None:
    assert pace(RUNNING) == [
        "",
        "Progress: step 12, the same for 4h30m in 3 sweeps",
        "  the next sign of it is expected within 4h42m (p99 of 11 gaps)",
        "  its log was written to 1m ago, and only heartbeats since the last sign",
    ]


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({"progress_age": 120.0, "unchanged_sweeps": 1}, "step 12, moved 2m ago"),
        ({"progress_age": Unknown("first-sight"), "unchanged_sweeps": 1}, "step 12, seen there for the first time"),
        ({"progress_age": Unknown("first-sight"), "unchanged_sweeps": 2}, "step 12, seen there for the first time"),
        ({"progress_marker": "none yet", "unchanged_sweeps": 1}, "no step or result yet, for 4h30m now"),
        ({"progress_marker": "none yet"}, "no step or result yet, the same for 4h30m in 3 sweeps"),
        ({"progress_marker": Unknown("cut", "only the end was read")},
         "where its work stands was not read: only the end was read"),
        ({"progress_marker": Unknown("cut")}, "where its work stands was not read: cut"),
        ({"progress_marker": "step \x1b[2J"}, "step \\e[2J, the same for 4h30m in 3 sweeps"),
    ],
)  # fmt: skip
def test_where_the_work_stands(facts: dict[str, FactValue], line: str) -> None:
    assert pace({**RUNNING, **facts})[1] == f"Progress: {line}"


def test_what_is_expected_may_be_unknown() -> None:
    lines = pace({**RUNNING, "cadence": Unknown("not-read", "the bucket is unknown")})
    assert lines[2] == "  how soon the next sign of it is expected is not known: the bucket is unknown"


def test_the_log_is_told_of_where_its_age_was_read() -> None:
    assert pace({**RUNNING, "heartbeats_only": False})[3] == "  its log was written to 1m ago"
    assert len(pace({**RUNNING, "log_age": Unknown("not-read")})) == 3


@pytest.mark.parametrize("more", [{"state": "PENDING"}, {"progress_marker": NOT_APPLICABLE}, {"state": ABSENT}])
def test_a_job_that_is_not_asked_has_no_such_section(more: dict[str, FactValue]) -> None:
    assert pace({**RUNNING, **more}) == []
    assert pace({"state": "RUNNING"}) == []

"""Chunks of a data generation: counted by number, of each the last job, and never more certain than what was seen."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from sweeprules.collectors.trials.chunks import FIRST_WINDOW, chunk_number, with_chunks
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Ref, Relation, Subject, Unknown

NOW = 1_800_000_000.0
NAMES = ("chunks_total", "chunks_done", "chunks_running", "chunks_failed")


def chunk(number: int | None, state: Any = "COMPLETED", job_id: str = "", **facts: Any) -> Subject:
    job_id = job_id or str(100 + (number or 0))
    name = "datagen__x" if number is None else f"datagen__x_chunk{number}"
    told = {"job_id": job_id, "name": name, "name_cut": False, "state": state, "submitted": NOW, "first_seen": NOW}
    return Subject(Ref("job", f"c:{job_id}"), MappingProxyType({**told, **facts}))


def told(*jobs: Subject, bucket: str = "datagen") -> list[FactValue]:
    run = Subject(Ref("run", "c:1"), {}, relations={"links": Relation(tuple(job.ref for job in jobs))})
    made = with_chunks([*jobs, run], {job.ref: bucket for job in jobs})
    assert made[-1] is run
    assert all(one.facts.get("chunks_total") == made[0].facts.get("chunks_total") for one in made[:-1])
    return [made[0].facts.get(name, "nothing") for name in NAMES]


def reasons(*jobs: Subject) -> list[Any]:
    return [value.reason if isinstance(value, Unknown) else value for value in told(*jobs)]


def test_they_are_counted_by_state() -> None:
    found = [chunk(0), chunk(1, "FAILED"), chunk(2, "RUNNING"), chunk(3, "PENDING"), chunk(4, "TIMEOUT")]
    assert told(*found) == [5, 1, 1, 2]


def test_one_without_chunks_has_none_and_other_work_is_left_alone() -> None:
    assert told(chunk(None)) == [ABSENT] * 4
    assert told(chunk(0), bucket="eval") == ["nothing"] * 4


def test_a_name_that_was_cut_may_have_lost_its_chunk() -> None:
    assert reasons(chunk(None, name_cut=True)) == [Reason.CUT] * 4


def test_of_a_chunk_that_was_made_again_the_last_job_counts() -> None:
    again = chunk(1, "RUNNING", "900", submitted=NOW + 60)
    assert told(chunk(0), chunk(1, "COMPLETED"), again) == [2, 1, 1, 0]
    assert told(chunk(0), chunk(1, "FAILED"), chunk(1, "COMPLETED", "900", submitted=NOW + 60)) == [2, 2, 0, 0]
    assert told(chunk(0), chunk(1, "FAILED", "99"), chunk(1, "PENDING", "900")) == [2, 1, 0, 0]


def test_a_gap_leaves_everything_open() -> None:
    assert reasons(chunk(0), chunk(2)) == [Reason.NOT_READ] * 4
    assert reasons(chunk(2), chunk(3)) == [Reason.NOT_READ] * 4


@pytest.mark.parametrize(
    ("submitted", "total"),
    [(NOW - FIRST_WINDOW, 2), (NOW - FIRST_WINDOW - 1, Reason.NOT_READ), (ABSENT, Reason.NOT_READ)],
)
def test_chunks_from_one_on_are_all_only_when_an_older_one_would_have_been_seen(submitted: Any, total: Any) -> None:
    assert reasons(chunk(1, submitted=submitted), chunk(2))[0] == total


def test_a_chunk_whose_state_is_unknown_leaves_the_counts_open_and_not_their_number() -> None:
    assert reasons(chunk(0), chunk(1, Unknown(Reason.VANISHED))) == [2, *[Reason.NOT_READ] * 3]


def test_the_number_of_a_chunk() -> None:
    assert chunk_number(chunk(7)) == 7
    assert chunk_number(chunk(None)) is None
    assert chunk_number(chunk(None, array_id="40", array_index=3)) == 3

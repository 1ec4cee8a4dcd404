"""What the steps of links say of their run, and what a log that could not be read must not take away."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.logs.facts import FoundLog, Tail, log_facts
from sweeprules.collectors.logs.find import FileStat
from sweeprules.collectors.metrics.points import Point, Series
from sweeprules.collectors.numbers import Printed, Told, kept_series, told, with_memos
from sweeprules.collectors.prior import LogMemo, Prior
from sweeprules.collectors.steps import NOT_YET, UNSAVED, with_numbers, with_steps
from sweeprules.engine.facts import (
    ABSENT,
    NOT_READ,
    Completeness,
    FactValue,
    Ref,
    Relation,
    Subject,
    Unknown,
)
from sweeprules.engine.observation import Observation

ALIASES = {"reward": ("reward/avg_raw_reward",), "grad_norm": ("policy/raw_grad_norm",)}
FIELDS = ("reward", "grad_norm", "entropy")
UTC = ZoneInfo("UTC")


def mirror(*steps: int) -> bytes:
    lines = (f'WANDB_MIRROR kind=train step={n} metrics={{"policy/raw_grad_norm": 0.{n}}}\n' for n in steps)
    return "".join(lines).encode()


def observed(stdout: bytes, status: int = 0) -> Observation:
    stderr = b"" if status == 0 else b"tail: read error: Input/output error"
    return Observation(
        id="1",
        cluster="c",
        login="l",
        argv=("tail",),
        items=(),
        started_at=0.0,
        duration=0.0,
        exit=status,
        stdout=stdout,
        stderr=stderr,
    )


def read(data: bytes, before: LogMemo | None = None, *, status: int = 0, start: int = 0) -> Printed:
    """A log as a sweep reads it from byte `start` on."""
    stat = FileStat(1, 2, start + len(data), 1.0)
    where = FoundLog("/w/x.out", "scheduler", stat, 2.0, observed(b""))
    tail = Tail(start, observed(data if status == 0 else b"", status))
    reading = log_facts(where, tail, (), UTC, before, None)
    after = reading.memo or before
    assert after is not None
    return Printed(where, tail, before, after, None, UTC, now=10.0)


def kept(printed: Printed, found: Told | None) -> LogMemo:
    """What the next sweep starts from."""
    return with_memos({"j": printed.after}, {} if found is None else {"j": found})["j"]


def test_a_log_that_can_not_be_read_takes_nothing_of_what_was_known() -> None:
    first = read(mirror(1, 2, 3))
    known = told(first, "rl", ALIASES)
    assert known is not None and known.series is not None
    memo = kept(first, known)
    failed = read(mirror(4), memo, status=1, start=first.where.stat.size)
    assert told(failed, "rl", ALIASES) is None
    after = kept(failed, None)
    series = kept_series("rl", after)
    assert series is not None and [point.step for point in series.points] == [1, 2, 3]


def test_a_sweep_that_does_not_know_the_bucket_keeps_what_was_known() -> None:
    first = read(mirror(1, 2, 3))
    memo = kept(first, told(first, "rl", ALIASES))
    unsure = read(mirror(4), memo, start=first.where.stat.size)
    job = Subject(Ref("job", "c:1"), {})
    _, found = with_numbers([job], {}, {"c:1": unsure}, ALIASES)
    assert found == {}
    later = read(mirror(5), kept(unsure, None), start=unsure.where.stat.size)
    again = told(later, "rl", ALIASES)
    assert again is not None and again.series is not None
    # The step that nobody read for want of a bucket is a gap, and those before it are there.
    assert [point.step for point in again.series.points] == [1, 2, 3, 5]


# ---------------------------------------------------------------- runs


def series(*steps: int) -> Series:
    points = tuple(Point(n, 1, "", None, MappingProxyType({"grad_norm": 0.1}), n) for n in steps)
    return Series(points, printed=frozenset({"grad_norm"}))


def link(number: int, state: str, **facts: FactValue) -> Subject:
    started = {} if state == "PENDING" else {"started": float(number)}
    return Subject(Ref("job", f"c:{number}"), {"job_id": str(number), "state": state, **started, **facts})


def swept(links: list[Subject], steps: Mapping[int, Series], bucket: str = "rl") -> tuple[Subject, Subject]:
    """The row (the last link) and the run of these links."""
    refs = tuple(one.ref for one in links)
    run = Subject(Ref("run", "c:r"), {}, relations={"links": Relation(refs), "row": Relation(refs[-1:])})
    found = {f"c:{number}": Told(series=one) for number, one in steps.items()}
    made = with_steps([*links, run], dict.fromkeys(refs, bucket), found, Prior(), FIELDS)
    by_ref = {one.ref: one for one in made}
    return by_ref[refs[-1]], by_ref[run.ref]


def test_the_row_has_the_steps_of_all_links_and_a_step_made_twice_once() -> None:
    row, _ = swept([link(1, "TIMEOUT"), link(2, "RUNNING")], {1: series(1, 2, 3), 2: series(3, 4)})
    relation = row.relations["steps"]
    assert [ref.key for ref in relation.members] == [f"c:2/{n}" for n in (1, 2, 3, 4)]
    assert relation.completeness is Completeness.WHOLE


def test_a_link_whose_log_nobody_read_leaves_the_steps_of_the_run_partial() -> None:
    row, _ = swept([link(1, "TIMEOUT"), link(2, "RUNNING")], {2: series(3, 4)})
    assert row.relations["steps"].completeness is Completeness.PARTIAL
    row, _ = swept([link(3, "PENDING"), link(2, "RUNNING")], {2: series(3, 4)})
    assert row.relations["steps"].completeness is Completeness.WHOLE


@pytest.mark.parametrize(
    ("state", "bucket", "saved", "complete"),
    [
        ("RUNNING", "rl", NOT_READ, True),
        ("COMPLETED", "sft", NOT_READ, True),
        ("TIMEOUT", "rl", NOT_READ, True),
        ("TIMEOUT", "sft", NOT_READ, UNSAVED),
        ("FAILED", "sft", NOT_READ, UNSAVED),
        ("FAILED", "rl", NOT_READ, UNSAVED),
        ("FAILED", "sft", ABSENT, False),
        ("FAILED", "sft", 80, False),
        ("OUT_OF_MEMORY", "rl", 90, False),
        ("FAILED", "sft", 100, True),
    ],
)
def test_a_death_at_the_last_step_is_no_completion_before_the_step_is_known_to_be_saved(
    state: str, bucket: str, saved: FactValue, complete: FactValue
) -> None:
    one = link(1, state, step=100, max_step=100, checkpoint_step=saved)
    assert swept([one], {1: series(99, 100)}, bucket)[1].get("complete") == complete


def test_below_the_last_step_or_without_one_nothing_is_complete() -> None:
    assert swept([link(1, "COMPLETED", step=99, max_step=100)], {1: series(99)})[1].get("complete") is False
    cut = Unknown("cut")
    assert swept([link(1, "COMPLETED", step=99, max_step=cut)], {1: series(99)})[1].get("complete") == cut
    assert swept([link(1, "COMPLETED")], {})[1].get("complete") == NOT_READ


@pytest.mark.parametrize(
    ("links", "steps", "advanced"),
    [
        ([link(1, "TIMEOUT"), link(2, "TIMEOUT")], {1: series(50), 2: series(120)}, True),
        ([link(1, "TIMEOUT"), link(2, "TIMEOUT")], {1: series(50), 2: series(50)}, False),
        # It goes on from a checkpoint at 110 and makes ten steps again.
        ([link(1, "TIMEOUT"), link(2, "RUNNING")], {1: series(120), 2: series(111, 112)}, NOT_YET),
        ([link(1, "TIMEOUT"), link(2, "RUNNING")], {1: series(120), 2: series(121)}, True),
        ([link(1, "TIMEOUT"), link(2, "TIMEOUT")], {2: series(120)}, NOT_READ),
        ([link(1, "TIMEOUT")], {1: series(50)}, ABSENT),
    ],
)
def test_whether_a_run_gets_on_from_link_to_link(
    links: list[Subject], steps: Mapping[int, Series], advanced: FactValue
) -> None:
    assert swept(links, steps)[1].get("step_advanced") == advanced


NONE: dict[str, FactValue] = {"checkpoint_step": ABSENT, "checkpoint_kind": "none"}


@pytest.mark.parametrize(
    ("first", "second", "saved"),
    [
        (NONE, NONE, ABSENT),
        (NONE, {"checkpoint_step": 100, "checkpoint_kind": "none"}, "100"),
        (NONE, {"checkpoint_step": ABSENT, "checkpoint_kind": NOT_READ}, NOT_READ),
        (NONE, {"checkpoint_step": ABSENT, "checkpoint_kind": "direct"}, NOT_READ),
        ({"checkpoint_step": NOT_READ, "checkpoint_kind": "none"}, NONE, NOT_READ),
    ],
)
def test_that_no_link_saved_anything_only_a_listing_shows(
    first: dict[str, FactValue], second: dict[str, FactValue], saved: FactValue
) -> None:
    links = [link(1, "TIMEOUT", **first), link(2, "TIMEOUT", **second), link(3, "PENDING")]
    _, run = swept(links, {}, "sft")
    assert run.get("checkpoint") == saved

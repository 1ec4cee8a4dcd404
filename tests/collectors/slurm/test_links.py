"""Runs: which jobs are links of one, in which order, and which of them is the row."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.collectors.prior import Prior, SignatureMemo
from sweeprules.collectors.slurm.runs import Link, find_runs
from sweeprules.engine.facts import ABSENT, Completeness, Interval, Ref, Unknown
from tests.collectors.slurm.fake import NOW, FakeFile, FakeSession, Login, job
from tests.collectors.slurm.sweeps import reason, sweep

HOUR = 3600.0


def timeout(job_id: str, hours_ago: float, **more: object):
    return job(
        job_id, "TIMEOUT", started=NOW - (hours_ago + 24) * HOUR, ended=NOW - hours_ago * HOUR, name="rl__a", **more
    )


def linked(done, job_id: str) -> list[str]:
    return [ref.key.partition(":")[2] for ref in done.run_of(job_id).relations["links"].members]


def only(relation) -> str:
    (ref,) = relation.members
    return ref.key


def test_s30_a_chain_is_one_run_and_the_running_link_its_row():
    jobs = [timeout("10", 2), job("11", name="rl__a", started=NOW - 1.9 * HOUR), job("12", "PENDING", name="rl__a")]
    done = sweep(FakeSession(jobs))
    assert linked(done, "10") == ["10", "11", "12"]
    run = done.run_of("12")
    assert run.ref == Ref("run", "leonardo:10")
    assert only(run.relations["row"]) == "leonardo:11"
    assert run.get("successors") == ({"id": "11", "state": "RUNNING"}, {"id": "12", "state": "PENDING"})
    assert only(done.job("10").relations["next_link"]) == "leonardo:11"
    assert only(done.job("12").relations["prior_link"]) == "leonardo:11"
    assert done.job("12").relations["next_link"].members == ()
    assert done.job("12").relations["next_link"].completeness is Completeness.WHOLE
    links = done.job("11").get("links")
    assert [(one["job_id"], one["state"]) for one in links] == [("10", "TIMEOUT"), ("12", "PENDING")]


def test_an_ended_link_of_an_earlier_sweep_stays_a_link():
    first = sweep(FakeSession([timeout("10", 2), job("11", name="rl__a", started=NOW - 1.9 * HOUR)]))
    later = sweep(FakeSession([job("11", name="rl__a", started=NOW - 1.9 * HOUR)]), first.prior, now=NOW + 3 * HOUR)
    assert linked(later, "11") == ["10", "11"]
    assert later.run_of("11").ref.key == "leonardo:10"
    assert not later.job("10").judged
    assert later.job("10").get("state") == "TIMEOUT"


def test_two_of_a_name_that_ran_at_once_are_two_runs():
    jobs = [job("10", name="rl__a"), job("11", name="rl__a")]
    done = sweep(FakeSession(jobs))
    assert linked(done, "10") == ["10"]
    assert linked(done, "11") == ["11"]


def test_an_edge_joins_what_names_alone_do_not():
    waiting = job("11", "PENDING", name="eval-x", dependency="afterany:10(unfulfilled)")
    done = sweep(FakeSession([job("10", name="eval-x"), waiting, job("12", "PENDING", name="eval-x")]))
    assert linked(done, "11") == ["10", "11"]
    assert linked(done, "12") == ["12"]


def test_an_edge_is_kept_once_seen():
    waiting = job("11", "PENDING", name="eval-x", dependency="afterany:10(unfulfilled)")
    first = sweep(FakeSession([job("10", name="eval-x"), waiting]))
    met = [job("10", "COMPLETED", name="eval-x"), job("11", name="eval-x", started=NOW - 60)]
    done = sweep(FakeSession(met), first.prior)
    assert linked(done, "11") == ["10", "11"]
    assert done.job("11").get("dependency") is ABSENT


def test_an_edge_to_another_name_or_workdir_joins_nothing():
    jobs = [
        job("10", name="sft__a"),
        job("11", "PENDING", name="sft__b", dependency="afterok:10(unfulfilled)"),
        job("12", "PENDING", name="sft__a", workdir="/elsewhere", dependency="afterok:10(unfulfilled)"),
    ]
    done = sweep(FakeSession(jobs))
    assert [linked(done, one.id) for one in jobs] == [["10"], ["11"], ["12"]]


def test_chunks_and_tasks_are_one_row_and_no_chain():
    jobs = [job(str(number), name=f"datagen__x_chunk{number}") for number in (1, 2, 3)]
    done = sweep(FakeSession([*jobs, job("9", name="datagen__y_chunk1")]))
    assert linked(done, "2") == ["1", "2", "3"]
    assert done.job("2").relations["next_link"].members == ()
    assert done.job("2").relations["prior_link"].members == ()
    tasks = sweep(FakeSession([job(f"11_{task}", name="datagen__z") for task in (0, 1)]))
    assert linked(tasks, "11_0") == ["11_0", "11_1"]


def test_tasks_of_other_buckets_are_runs_of_their_own():
    done = sweep(FakeSession([job(f"11_{task}", "PENDING", name="rl__z") for task in (0, 1)]))
    assert linked(done, "11_0") == ["11_0"]


def test_the_components_of_one_job_are_one_link():
    jobs = [
        timeout("8", 2),
        job("31+0", name="rl__a", started=NOW - HOUR),
        job("31+1", name="rl__a", started=NOW - HOUR),
        job("40", "PENDING", name="rl__a"),
    ]
    done = sweep(FakeSession(jobs))
    assert linked(done, "31+1") == ["8", "31+0", "31+1", "40"]
    assert only(done.run_of("8").relations["row"]) == "leonardo:31+0"
    assert only(done.job("8").relations["next_link"]) == "leonardo:31+0"
    assert only(done.job("31+1").relations["next_link"]) == "leonardo:40"
    assert only(done.job("40").relations["prior_link"]) == "leonardo:31+0"


def test_without_a_whole_queue_a_missing_successor_is_not_known():
    hung = {"squeue": (1, "", "slurm_load_jobs error: Socket timed out on send/recv operation\n")}
    done = sweep(FakeSession([timeout("10", 2)], logins={"login01": Login(broken=hung)}))
    assert done.job("10").relations["next_link"].completeness is Completeness.UNKNOWN
    assert reason(done.run_of("10").get("successors")) == "read-failed"


def test_s31_a_vanished_successor_leaves_the_end_of_a_chain_open():
    first = sweep(FakeSession([timeout("10", 2), job("11", name="rl__a", started=NOW - 1.9 * HOUR)]))
    done = sweep(FakeSession([timeout("10", 2)]), first.prior)
    assert reason(done.job("11").get("state")) == "vanished"
    assert reason(done.run_of("10").get("successors")) == "vanished"


def test_the_row_is_the_last_that_started_else_the_first_pending():
    ended = sweep(FakeSession([timeout("10", 30), timeout("11", 2)]))
    assert only(ended.run_of("10").relations["row"]) == "leonardo:11"
    pending = sweep(FakeSession([job("12", "PENDING", name="rl__a"), job("11", "PENDING", name="rl__a")]))
    assert only(pending.run_of("12").relations["row"]) == "leonardo:11"


# ---------------------------------------------------------------- deaths alike

TRACE = b'Traceback (most recent call last):\n  File "/w/train.py", line 3, in step\nValueError: bad\n'


def died(job_id: str, hours_ago: float, minutes: float, **more: object):
    end = NOW - hours_ago * HOUR
    return job(
        job_id, "FAILED", exit="1:0", name="rl__a", started=end - minutes * 60, ended=end, stdout=f"/w/{job_id}.out",
        command=f"-o /w/{job_id}.out x", **more,
    )  # fmt: skip


def test_s45_deaths_alike_are_counted():
    jobs = [died("1", 20, 190), died("2", 12, 188), died("3", 4, 195)]
    files = {f"/w/{one.id}.out": FakeFile(TRACE, inode=int(one.id)) for one in jobs}
    done = sweep(FakeSession(jobs, files))
    assert done.run_of("1").get("same_signature") == 3
    assert str(done.job("1").get("signature")).startswith("1:0 ValueError train.py:step")


def test_a_death_of_another_kind_or_length_ends_the_count():
    jobs = [died("1", 20, 190), died("2", 12, 20), died("3", 4, 195)]
    files = {f"/w/{one.id}.out": FakeFile(TRACE, inode=int(one.id)) for one in jobs}
    assert sweep(FakeSession(jobs, files)).run_of("1").get("same_signature") == 1


@pytest.mark.parametrize(
    ("share", "count"), [(0.0, 1), (0.01, 1), (0.02, 2), (0.05, 3), (1, 3), (Unknown("conflict"), Unknown("conflict"))]
)
def test_the_policy_says_how_long_deaths_alike_may_differ(share, count):
    jobs = [died("1", 20, 190), died("2", 12, 196), died("3", 4, 199)]
    files = {f"/w/{one.id}.out": FakeFile(TRACE, inode=int(one.id)) for one in jobs}
    assert sweep(FakeSession(jobs, files), share=share).run_of("1").get("same_signature") == count


def test_what_differs_anyway_needs_no_word_of_the_policy():
    jobs = [died("1", 20, 190), died("2", 12, 190)]
    files = {"/w/1.out": FakeFile(TRACE), "/w/2.out": FakeFile(TRACE.replace(b"ValueError", b"KeyError"), inode=2)}
    assert sweep(FakeSession(jobs, files), share=Unknown("not-read")).run_of("1").get("same_signature") == 1


def test_a_wall_is_no_death():
    done = sweep(FakeSession([timeout("10", 60), timeout("11", 30), timeout("12", 2)]))
    assert done.run_of("10").get("same_signature") == 0
    jobs = [died("1", 40, 190), died("2", 34, 190), timeout("3", 2)]
    files = {f"/w/{one.id}.out": FakeFile(TRACE, inode=int(one.id)) for one in jobs[:2]}
    assert sweep(FakeSession(jobs, files)).run_of("1").get("same_signature") == 2


def test_a_link_of_an_earlier_sweep_counts_with_its_kept_signature():
    first = sweep(FakeSession([died("1", 4, 190)], {"/w/1.out": FakeFile(TRACE)}))
    assert first.prior.jobs["leonardo:1"].signature == SignatureMemo("1:0", "ValueError", "train.py:step", 11400.0)
    second = died("2", -4, 190)
    done = sweep(FakeSession([second], {"/w/2.out": FakeFile(TRACE)}), first.prior, now=NOW + 5 * HOUR)
    assert done.run_of("2").get("same_signature") == 2


@pytest.mark.parametrize(("error", "count"), [("ValueError", "not-read"), ("KeyError", 1)])
def test_an_elapsed_time_that_was_not_read_leaves_open_whether_deaths_are_alike(error: str, count: object):
    first = sweep(FakeSession([died("1", 4, 190)], {"/w/1.out": FakeFile(TRACE)}))
    (key, memo), *_ = first.prior.jobs.items()
    kept = replace(memo, signature=SignatureMemo("1:0", error, "train.py:step", None))
    prior = replace(first.prior, jobs={key: kept})
    done = sweep(FakeSession([died("2", -4, 190)], {"/w/2.out": FakeFile(TRACE)}), prior, now=NOW + 5 * HOUR)
    same = done.run_of("2").get("same_signature")
    assert (reason(same) or same) == count


def dead(job_id: str, hours_ago: float, memo: SignatureMemo | None, state: str = "FAILED"):
    """A job of an earlier sweep, and what is kept of its death."""
    kept = sweep(FakeSession([died(job_id, hours_ago, 190)], {})).prior.jobs[f"leonardo:{job_id}"]
    return {f"leonardo:{job_id}": replace(kept, state=state, signature=memo)}


ALIKE = SignatureMemo("1:0", "ValueError", "train.py:step", 11400.0)
UNREAD = replace(ALIKE, error=None, frame="")


@pytest.mark.parametrize(
    ("older", "count"),
    [
        ([ALIKE, None], Interval(2, 3)),
        ([ALIKE, UNREAD], Interval(2, 3)),
        ([ALIKE, None, ALIKE], Interval(2, 4)),
        ([ALIKE, ALIKE], 3),
        ([ALIKE, replace(UNREAD, exit="2:0")], 2),
        ([replace(UNREAD, elapsed=60.0)], 1),
        ([UNREAD], "not-read"),
        ([None, ALIKE], "not-read"),
        ([replace(ALIKE, exit="")], "not-read"),
    ],
)
def test_a_death_that_was_not_read_is_no_other_death(older: list[SignatureMemo | None], count: object):
    jobs = {}
    for at, memo in enumerate(older):
        jobs |= dead(str(90 - at), 4 + 4 * at, memo)
    session = FakeSession([died("91", 0.2, 190)], {"/w/91.out": FakeFile(TRACE)})
    same = sweep(session, Prior(jobs=jobs)).run_of("91").get("same_signature")
    assert (reason(same) or same) == count


@pytest.mark.parametrize(("memo", "count"), [(UNREAD, "not-read"), (None, "not-read"), (replace(UNREAD, error=""), 0)])
def test_a_wall_of_which_the_log_was_not_read_may_be_a_death(memo: SignatureMemo | None, count: object):
    jobs = dead("1", 30, memo, "TIMEOUT")
    same = sweep(FakeSession([job("2", "RUNNING", name="rl__a", command="-o /w/2.out x")]), Prior(jobs=jobs))
    found = same.run_of("2").get("same_signature")
    assert (reason(found) or found) == count


def test_deaths_whose_logs_could_not_be_read_are_not_alike_for_that():
    jobs = [died("1", 20, 190), died("2", 12, 190)]
    files = {f"/w/{one.id}.out": FakeFile(TRACE, inode=int(one.id)) for one in jobs}
    denied = {"login01": Login(broken={"tail": (1, "", "tail: Permission denied\n")})}
    done = sweep(FakeSession(jobs, files, logins=denied))
    assert reason(done.run_of("1").get("same_signature")) == "not-read"
    assert str(done.job("1").get("signature")).startswith("1:0 ? - t")


def test_deaths_without_a_log_are_alike_by_their_exits():
    done = sweep(FakeSession([died("1", 20, 190), died("2", 12, 190)]))
    assert done.run_of("1").get("same_signature") == 2


def test_siblings_are_the_jobs_that_ended_within_the_hour():
    jobs = [
        job("1", "FAILED", exit="0:53", name="a", ended=NOW - 600),
        job("2", "FAILED", exit="0:53", name="b", ended=NOW - 3000),
        job("3", "COMPLETED", name="c", ended=NOW - 5000),
        job("4", name="d"),
    ]
    done = sweep(FakeSession(jobs))
    assert [ref.key for ref in done.job("1").relations["siblings"].members] == ["leonardo:2"]
    assert [ref.key for ref in done.job("2").relations["siblings"].members] == ["leonardo:3", "leonardo:1"]
    assert "siblings" not in done.job("3").relations


# ---------------------------------------------------------------- properties


def link(number: int, start: float, length: float, bucket: str, name: str, running: bool) -> Link:
    end = None if running else start + length
    state = "RUNNING" if running else "TIMEOUT"
    return Link(
        f"c:{number}", "c", str(number), "u", name, "/w", bucket, state, start, end, "", False, "", (), True
    )  # fmt: skip


LINKS = st.lists(
    st.tuples(
        st.floats(0, 1000), st.floats(1, 300), st.sampled_from(["rl", "sft", "eval", "catch-all"]),
        st.sampled_from(["a", "b"]), st.booleans(),
    ),
    max_size=12,
).map(lambda rows: {f"c:{at}": link(at, *row) for at, row in enumerate(rows)})  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(LINKS)
def test_every_job_is_in_one_run_and_runs_hold_one_identity(links):
    runs = find_runs(links, frozenset())
    keys = [link.key for run in runs for link in run.links]
    assert sorted(keys) == sorted(links)
    for run in runs:
        assert len({(one.name, one.bucket) for one in run.links}) == 1
        if len(run.links) > 1:
            assert run.links[0].bucket in ("rl", "sft")
            spans = sorted((one.started or 0.0, one.ended or float("inf")) for one in run.links)
            assert all(first[1] <= second[0] for first, second in pairwise(spans))


@settings(max_examples=200, deadline=None)
@given(LINKS, st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=6))
def test_edges_only_ever_join_more(links, pairs):
    edges = frozenset((f"c:{a}", f"c:{b}") for a, b in pairs)
    with_edges = {link.key: {one.key for one in run.links} for run in find_runs(links, edges) for link in run.links}
    for run in find_runs(links, frozenset()):
        for one in run.links:
            assert {other.key for other in run.links} <= with_edges[one.key]


@settings(max_examples=100, deadline=None)
@given(LINKS, st.randoms())
def test_the_order_of_jobs_makes_no_difference(links, random):
    keys = list(links)
    random.shuffle(keys)
    shuffled = find_runs({key: links[key] for key in keys}, frozenset())
    plain = find_runs(links, frozenset())
    assert {tuple(one.key for one in run.links) for run in shuffled} == {
        tuple(one.key for one in run.links) for run in plain
    }

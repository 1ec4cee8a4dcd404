"""The tables of what is made of trials, and of the other jobs."""

from __future__ import annotations

from typing import Any

import pytest

from sweeprules.engine.facts import ABSENT, FactValue, Ref, Subject, Unknown
from sweeprules.reports.document import build
from sweeprules.reports.text import render
from tests.reports.fleet import fleet, job, related, verdict, world_of
from tests.reports.shown import one, rows, shown


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return build(fleet())


def test_the_chunks_of_one_run_make_one_row(document: dict[str, Any]) -> None:
    found = rows(document, "Datagen")
    assert set(found) == {"22", "23"}
    row = found["22"]
    assert list(row.values())[1:-1] == ["7/9", "~3.1k", "6.4", "0.48", "21%"]
    assert row["Trend"].startswith("chunks 8 (21), 9 (22) running; last output 48m ago; stale-log")


def test_a_chunk_that_could_not_be_read_leaves_a_lower_bound_and_no_mean() -> None:
    one_, two = (
        job("a:1", "datagen__x_chunk1", trials_done=100, avg_turns=5.0, mean_valid=0.5, exception_share=0.1),
        job("a:2", "datagen__x_chunk2", trials_done=Unknown("malformed"), avg_turns=Unknown("malformed")),
    )
    row = one(build(world_of([one_, two], [verdict(one_, "datagen"), verdict(two, "datagen")])))
    assert (row["Trials"], row["avg_turns"]) == ("≥100", "?") and "? chunks" in row["Trend"]


def test_where_no_result_was_read_the_logs_tell_the_mean_if_each_of_them_does() -> None:
    line: dict[str, FactValue] = {
        "lines__trial-mean__n": 100,
        "lines__trial-mean__mean": 0.25,
        "mean_valid": Unknown("read-failed"),
    }
    more: dict[str, FactValue] = {
        "lines__trial-mean__n": 300,
        "lines__trial-mean__mean": 0.5,
        "mean_valid": Unknown("read-failed"),
    }
    none: dict[str, FactValue] = {
        "lines__trial-mean__n": ABSENT,
        "lines__trial-mean__mean": ABSENT,
        "mean_valid": Unknown("read-failed"),
    }
    for chunks, mean in (((line,), "0.25"), ((line, more), "0.438"), ((line, none), "?"), ((none,), "?")):
        runs = [job(f"a:{n}", f"datagen__x_chunk{n}", **facts) for n, facts in enumerate(chunks)]
        row = one(build(world_of(runs, [verdict(run, "datagen") for run in runs])))
        assert row["Mean"] == mean
        assert ("Mean" in row["Trend"]) is (mean == "?")


def test_chunks_of_other_users_and_clusters_are_other_runs() -> None:
    runs = [
        job("a:1", "datagen__x_chunk1"),
        job("a:2", "datagen__x_chunk2", user="lee"),
        job("b:3", "datagen__x_chunk3"),
        job("a:4", "datagen__x"),
    ]
    (table,) = build(world_of(runs, [verdict(run, "datagen") for run in runs]))["tables"]
    assert len(table["rows"]) == 4


def test_the_tasks_of_an_array_are_the_chunks_of_its_run() -> None:
    def task(index: int, done: int, array: str = "7") -> Subject:
        return job(
            f"a:{array}_{index}", "datagen__x", array_id=array, array_index=index, trials_done=done, avg_turns=4.0
        )

    runs = [task(1, 50), task(2, 31), task(1, 9, array="8")]
    (table,) = build(world_of(runs, [verdict(run, "datagen") for run in runs]))["tables"]
    assert [row[2] for row in table["rows"]] == ["81", "9"]


def test_the_number_of_a_chunk_may_stand_within_the_name() -> None:
    runs = [
        job("a:1", "datagen__x_chunk1_redo", trials_done=40, avg_turns=4.0),
        job("a:2", "datagen__x_chunk2_redo", trials_done=2, avg_turns=4.0),
    ]
    (table,) = build(world_of(runs, [verdict(run, "datagen") for run in runs]))["tables"]
    assert [row[2] for row in table["rows"]] == ["42"]
    assert table["rows"][0][0].startswith("a datagen__x_redo")


def test_a_tracker_row_stands_beside_the_run() -> None:
    row = Subject(Ref("tracker_row", "t"), {"row_key": "leetcode"})
    assert shown(related(job("a:1", "datagen__x"), tracker_row=row.ref), "datagen", row)["Run"] == (
        "a datagen__x (row leetcode) [1]"
    )


def test_an_evaluation_shows_its_trials_and_its_four_checks(document: dict[str, Any]) -> None:
    row = rows(document, "Eval")["31"]
    assert row["Model × benchmark"] == "leonardo laion/a2-8B × tb2 [31]"
    assert list(row.values())[1:-1] == ["231/267", "0.412", "AgentTO 4"]
    assert row["Infra/Trend"].startswith(
        "pinggy✓ api_base✓ vLLM✗ trials?; valid 225 / errored 6 / expected 267; live 3m; same run: 30 TIMEOUT"
    )


def test_an_agent_without_a_tunnel_has_no_check_of_it(document: dict[str, Any]) -> None:
    row = rows(document, "Eval")["32"]
    assert "pinggy n/a api_base n/a vLLM✓ trials✓; valid 10 / errored 0 / expected ?" in row["Infra/Trend"]
    assert (row["Trials"], row["pass-rate"], row["top exc"]) == ("10/?", "0", "—")


def test_a_standard_evaluation_shows_its_stage(document: dict[str, Any]) -> None:
    row = rows(document, "Eval")["33"]
    assert list(row.values())[1:-1] == ["—", "—", "—"]
    assert row["Infra/Trend"] == "AIME24 seeds 4/10, 4 seeds, MATH500 0.412; live 3m"


def test_scores_that_could_not_be_read_are_no_scores_that_are_not_there() -> None:
    broken = job("a:1", "eval-x", stage="MATH500", seeds_found=Unknown("cut"), scores=Unknown("read-failed"))
    assert shown(broken, "eval")["Infra/Trend"].startswith("MATH500, ? seeds: cut, ? scores: read-failed; live 3m")


def test_other_jobs_take_a_line_each(document: dict[str, Any]) -> None:
    text = render(document, width=100, colour=False)
    assert "\nleonardo consol12 [41] · consolidate · running 9m · live 3m; joining 9 chunk repos\n" in text
    assert "\nleonardo build_sif [42] · build · FAILED 1:0 1m · failure; OSError: No space left on device\n" in text

"""The tables cell by cell: values, `—`, `?`, roll-ups, and how they look at three widths."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from sweeprules.engine.facts import ABSENT, NOT_APPLICABLE, Completeness, Ref, Subject, Unknown
from sweeprules.engine.truth import FALSE, UNKNOWN
from sweeprules.engine.verdicts import Flag
from sweeprules.reports.boxes import cells
from sweeprules.reports.document import Judged, build
from sweeprules.reports.rows import signal_rules
from sweeprules.reports.text import render
from tests.engine.evaluate.site import policy
from tests.reports.fleet import DONE, fleet, job, on_step, related, step, verdict, with_steps, world_of
from tests.reports.shown import one, rows, shown

WIDTHS = (60, 100, 200)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return build(fleet())


@pytest.mark.parametrize("width", WIDTHS)
def test_the_text(document: dict[str, Any], width: int, snapshot: SnapshotAssertion) -> None:
    text = render(document, width=width, colour=False)
    assert max(cells(line) for line in text.splitlines()) <= width
    assert text == snapshot


def test_the_columns_are_those_that_people_know(document: dict[str, Any]) -> None:
    columns = {table["title"]: table["columns"] for table in document["tables"]}
    rl = ["Job", "Step", "Reward", "Policy Loss", "Grad Norm", "Entropy", "|log r| μ", "Trend"]
    assert columns == {
        "RL": rl,
        "RL, still filling: no train step yet": rl,
        "SFT": ["Job", "Step", "Loss", "Grad Norm", "Trend"],
        "Datagen": ["Run", "Chunks", "Trials", "avg_turns", "Mean", "exc%", "Trend"],
        "Eval": ["Model × benchmark", "Trials", "pass-rate", "top exc", "Infra/Trend"],
        "Catch-all": ["Job", "Type", "State", "Elapsed", "Note"],
        "Bucket unknown": ["Job", "State", "Elapsed", "Last output", "Health", "Note"],
    }


# ---------------------------------------------------------------- RL


def test_a_run_shows_its_newest_step_and_where_it_goes(document: dict[str, Any]) -> None:
    row = rows(document, "RL")["4811"]
    assert list(row.values())[1:-1] == ["140/300", "0.412", "-0.00312", "0.21", "0.441", "0.011"]
    assert row["Trend"] == (
        "live 3m; 0/4 collapse; saved 120; +12 steps, reward +0.0311 since last sweep; next link 4812 PD"
    )


def test_a_collapse_is_counted_with_its_names_and_what_is_open(document: dict[str, Any]) -> None:
    row = rows(document, "RL")["rl-9"]
    assert "rl-collapse; 2/4 collapse (grad, entropy; ? log-ratio); no checkpoint; 2 malformed lines" in row["Trend"]


def test_not_emitted_unread_and_not_a_number_are_three_things(document: dict[str, Any]) -> None:
    row = rows(document, "RL")["rl-9"]
    assert (row["Reward"], row["Policy Loss"], row["Entropy"]) == ("NaN", "?", "—")
    assert row["Trend"].endswith("? policy loss: cut")


def test_the_other_log_ratio_stands_in_for_one_that_a_run_never_prints(document: dict[str, Any]) -> None:
    assert rows(document, "RL")["rl-9"]["|log r| μ"] == "0.00002"


def test_what_nobody_could_read_is_never_a_dash(document: dict[str, Any]) -> None:
    row = rows(document, "RL")["4900"]
    assert set(list(row.values())[1:-1]) == {"?"}
    assert "last output ?" in row["Trend"] and "health unknown" in row["Trend"] and "read-failed" in row["Trend"]


def test_nothing_is_due_of_a_run_that_waits(document: dict[str, Any]) -> None:
    row = rows(document, "RL")["4901"]
    assert set(list(row.values())[1:-1]) == {"—"} and row["Trend"] == "PENDING Priority"


def test_a_run_without_a_step_stands_in_the_second_table(document: dict[str, Any]) -> None:
    row = rows(document, "RL, still filling: no train step yet")["rl-131k-x"]
    assert set(list(row.values())[1:-1]) == {"—"}
    assert row["Trend"] == "state-poll: running, pods 8/8; bring-up: 8/8 pods, mesh loaded, buffer 35/64"


@pytest.mark.parametrize(
    "facts",
    [
        {"step": Unknown("cut"), "buffer_n": 35, "buffer_m": 64, "log.cut": True},
        {"step": Unknown("not-read"), "buffer_n": 35, "buffer_m": 64, "log.cut": Unknown("not-read")},
        {"step": Unknown("read-failed"), "bringup_rung": Unknown("read-failed")},
        {"step": 3, "bringup_rung": "mesh"},
        {"step": Unknown("cut"), "bringup_rung": "mesh", "log.cut": True},
        {"step": Unknown("not-read"), "bringup_rung": "first-step"},
    ],
)
def test_a_step_that_may_have_been_made_keeps_a_run_out_of_it(facts: dict[str, Any]) -> None:
    run = replace(job("cw:1", "rl-1"), facts=job("cw:1", "rl-1").facts | facts)
    assert build(world_of([run], [verdict(run, "rl")]))["tables"][0]["title"] == "RL"


def test_steps_of_an_earlier_link_are_the_runs(document: dict[str, Any]) -> None:
    old = step("leonardo:1", 120, reward=0.3)
    fresh = with_steps(job("leonardo:2", "rl_dlp", step=Unknown("not-read"), max_step=ABSENT), [])
    ended = with_steps(job("leonardo:1", "rl_dlp", state="TIMEOUT", step=120, max_step=300), [old])
    run = Subject(Ref("run", "leonardo:1"), {}, {}, {
        "links": replace(with_steps(fresh, [ended]).relations["steps"], members=(ended.ref, fresh.ref)),
        "row": with_steps(fresh, [fresh]).relations["steps"],
    })  # fmt: skip
    row = one(build(world_of([old, fresh, ended, run], [verdict(fresh, "rl"), on_step(old, *[UNKNOWN] * 4)])))
    assert (row["Step"], row["Reward"]) == ("120/300", "0.3")
    assert "0/4 collapse (? grad, entropy, log-ratio, pass-rate)" in row["Trend"]


def test_of_a_step_made_again_the_last_attempt_counts() -> None:
    first, again = step("a:1", 50, reward=0.9), step("a:1", 41, reward=0.2, attempt=2)
    row = shown(with_steps(job("a:1", "rl-1", step=41), [first, again]), "rl", first, again)
    assert row["Reward"] == "0.2"


def test_steps_read_in_part_without_one_leave_the_numbers_unread() -> None:
    row = shown(with_steps(job("a:1", "rl-1"), [], Completeness.PARTIAL), "rl")
    assert row["Reward"] == "?" and "cut" in row["Trend"]


def test_a_log_read_whole_without_a_line_of_metrics_is_a_dash() -> None:
    row = shown(with_steps(job("a:1", "rl-1", step=7), []), "rl")
    assert (row["Step"], row["Reward"], row["Entropy"]) == ("7/300", "—", "—")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"log_age": 185.0, "liveness": True}, "live 3m"),
        ({"log_age": 2820.0, "liveness": False}, "last output 47m ago"),
        ({"log_age": 2820.0, "liveness": Unknown("not-read")}, "last output 47m ago"),
        ({"log_age": Unknown("read-failed")}, "last output ?"),
        ({"log_age": ABSENT, "log.exists": ABSENT}, "no log"),
        ({"log_age": NOT_APPLICABLE, "pods.n": 8, "pods.running": 7}, "state-poll: running, pods 7/8"),
        ({"log_age": NOT_APPLICABLE, "record_present": True}, "state-poll: running"),
        ({"log_age": NOT_APPLICABLE}, "last output —"),
        ({"suspended": True}, "suspended"),
    ],
)
@pytest.mark.parametrize("bucket", ["rl", "sft", "datagen", "eval"])
def test_every_running_row_says_how_fresh_it_is(facts: dict[str, Any], words: str, bucket: str) -> None:
    run = replace(job("a:1", "x"), facts=job("a:1", "x").facts | facts)
    assert words in list(shown(run, bucket).values())[-1].split("; ")


def test_a_step_that_did_not_move_and_one_that_went_back_are_said() -> None:
    before = replace(job("a:1", "rl-1", step=140), ref=Ref("job", "a:1@x"), judged=False)
    same = related(job("a:1", "rl-1"), previous=before.ref)
    assert "no step since last sweep" in shown(same, "rl", before)["Trend"]
    back = related(job("a:1", "rl-1", step=120), previous=before.ref)
    assert "-20 steps since last sweep" in shown(back, "rl", before)["Trend"]


def test_links_behind_it_that_are_not_proved_gone_are_unread() -> None:
    run = Subject(Ref("run", "a:1"), {"successors": Unknown("vanished")})
    row = shown(related(job("a:1", "rl-1"), run=run.ref), "rl", replace(run, judged=False))
    assert "next link ? vanished" in row["Trend"]


def test_the_row_itself_is_no_link_behind_it() -> None:
    run = Subject(Ref("run", "a:1"), {"successors": ({"id": "1", "state": "RUNNING"},)})
    assert "next link" not in shown(related(job("a:1", "rl-1"), run=run.ref), "rl", replace(run, judged=False))["Trend"]


def test_the_rules_that_give_a_signal_are_found() -> None:
    found = signal_rules(
        policy(
            """
policy: 1
title: t
rules:
  - {id: a, on: step, when: {grad_norm: {known: true}}, then: {signal: grad}}
  - {id: b, on: step, when: {grad_norm: 0}, then: {signal: grad}}
  - {id: c, on: step, when: {entropy: {known: true}}, then: [{signal: entropy}, {flag: rl-collapse}]}
"""
        )
    )
    assert found == {"grad": ("a", "b"), "entropy": ("c",)}


# ---------------------------------------------------------------- SFT


def test_fine_tuning_says_how_far_and_how_fast(document: dict[str, Any]) -> None:
    row = rows(document, "SFT")["11"]
    assert list(row.values())[1:-1] == ["9120/26788", "0.611", "0.42"]
    assert row["Trend"] == "34%, ETA ~22h00m @4.5 s/it; live 1m"


def test_a_run_whose_loss_is_known_is_under_way_even_where_its_step_is_not() -> None:
    row = shown(with_steps(job("a:1", "sft__a", step=Unknown("not-read"), loss=0.61), []), "sft")
    assert (row["Step"], row["Loss"]) == ("?/300", "0.61") and "bring-up" not in row["Trend"]


def test_a_number_that_is_none_is_no_dash_however_early_it_was_printed() -> None:
    early = job("a:1", "sft__a", step=Unknown("not-read"), phase="bring-up", loss=Unknown("nan"), grad_norm=ABSENT)
    row = shown(early, "sft")
    assert (row["Step"], row["Loss"], row["Grad Norm"]) == ("?/300", "NaN", "—") and "bring-up" not in row["Trend"]


def test_a_run_that_waits_to_go_on_shows_what_its_last_step_printed() -> None:
    last = step("a:1", 140, loss=Unknown("nan"), grad_norm=Unknown("cut"))
    row = shown(with_steps(job("a:1", "sft__a", state="PENDING"), [last]), "sft", last)
    assert (row["Loss"], row["Grad Norm"]) == ("NaN", "?") and row["Trend"].endswith("? grad norm: cut")


def test_a_grid_counts_cells_and_not_copies(document: dict[str, Any]) -> None:
    rollup = next(table["rollup"] for table in document["tables"] if table["bucket"] == "sft")
    assert rollup == "grid: running 2 · pending-unique 1 · done 1 · long pole: 1e22 9.7B cells (2)"


def test_a_grid_names_one_long_job_and_what_has_no_end_in_sight() -> None:
    runs = [job("a:1", "sft__a", eta=7200.0), job("a:2", "sft__b", eta=Unknown("not-read"))]
    (table,) = build(world_of(runs, [verdict(run, "sft") for run in runs]))["tables"]
    assert table["rollup"].endswith("long pole: sft__a ETA ~2h00m, ETA unread of 1")
    blind = [runs[1], job("a:3", "sft__c", eta=ABSENT)]
    (table,) = build(world_of(blind, [verdict(run, "sft") for run in blind]))["tables"]
    assert table["rollup"].endswith("long pole: ? (no ETA)")


def test_a_cell_is_done_by_its_data_and_not_by_its_state() -> None:
    failed = Flag("failure", "critical", "fail.masked-is-failure", "COMPLETED by name only")
    runs = [
        (job("a:1", "sft__done", state="COMPLETED", step=916, max_step=916), (DONE,)),
        (job("a:2", "sft__done", state="PENDING", step=ABSENT), ()),
        (job("a:3", "sft__saved", state="TIMEOUT", step=916, max_step=916), (DONE,)),
        (job("a:4", "sft__short", state="COMPLETED", step=400, max_step=916), ()),
        (job("a:5", "sft__nan", state="COMPLETED", step=916, max_step=916), (DONE, failed)),
        (job("a:6", "sft__short-again", state="COMPLETED", step=400, max_step=916), ()),
        (job("a:7", "sft__short-again", state="PENDING", step=ABSENT), ()),
    ]
    (table,) = build(world_of([run for run, _ in runs], [verdict(run, "sft", *flags) for run, flags in runs]))["tables"]
    assert table["rollup"].startswith("grid: pending-unique 1 · done 2 · ended otherwise 3")


def test_what_is_none_is_no_part_of_a_grid() -> None:
    (table,) = build(world_of([job("a:1", "sft__a")], [verdict(job("a:1", "sft__a"), "sft")]))["tables"]
    assert table["rollup"] == "grid: running 1"


def test_the_numbers_of_the_newest_step_stand_in_for_the_jobs_own() -> None:
    last = step("a:1", 140, loss=0.75)
    row = shown(with_steps(job("a:1", "sft__a"), [last]), "sft", last)
    assert (row["Loss"], row["Grad Norm"]) == ("0.75", "0.21")


# ---------------------------------------------------------------- order, width


def test_rows_stand_by_severity_phase_cluster_name_and_number() -> None:
    warning, critical = Flag("a", "warning", "r", ""), Flag("b", "critical", "r", "")
    made = [
        (job("b:9", "rl-x"), ()),
        (job("b:10", "rl-x"), ()),
        (job("a:3", "rl-z"), ()),
        (job("a:4", "rl-y", state="PENDING"), ()),
        (job("a:5", "rl-a", state="COMPLETED"), ()),
        (job("c:6", "rl-a", state="FAILED"), (warning,)),
        (job("c:7", "rl-a"), (critical,)),
    ]
    document = build(world_of([run for run, _ in made], [verdict(run, "rl", *flags) for run, flags in made]))
    ids = [row[0].rpartition("[")[2][:-1] for row in document["tables"][0]["rows"]]
    assert ids == ["7", "6", "3", "9", "10", "4", "5"]


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_cut_says_so_and_ids_and_steps_never_are(width: int) -> None:
    reason = "it waits for " + "much " * 60
    long = job("leonardo:48120123", "rl_" + "dlp_1e21_w0_" * 30, state="PENDING", state_reason=reason, step=1234567,
               max_step=7654321)  # fmt: skip
    other = job("leonardo:77", "build_" + "x" * 300, state_other="y " * 200)
    text = render(build(world_of([long, other], [verdict(long, "rl"), verdict(other, "catch-all")])), width=width,
                  colour=False)  # fmt: skip
    assert all(cells(line) <= width for line in text.splitlines())
    assert "[48120123]" in text and "1234567/7654321" in text and "[77]" in text
    assert "…" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_a_long_id_is_folded_and_whole(width: int) -> None:
    job_id = "/kim/" + "abcdefghi-" * 15
    run = job(f"cw:{job_id}", "rl-x")
    text = render(build(world_of([run], [verdict(run, "rl")])), width=width, colour=False)
    table = text[text.index("┌") : text.index("└")]
    assert f"[{job_id}]" in re.sub(r"[│\s]", "", "".join(_first_cells(table)))


def _first_cells(table: str) -> list[str]:
    return [line.split("│")[1] for line in table.splitlines() if line.startswith("│")]


def test_judged_without_signals_counts_none() -> None:
    last = step("a:1", 140)
    run = with_steps(job("a:1", "rl-1"), [last])
    world: Judged = world_of([run, last], [verdict(run, "rl"), on_step(last, *[FALSE] * 4)])
    assert "collapse" not in one(build(replace(world, signals={})))["Trend"]

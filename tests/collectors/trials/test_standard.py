"""Standard evaluations: what is a score, which seeds are there, how far the suite is."""

from __future__ import annotations

import json
import random
import statistics

import pytest

from sweeprules.collectors.trials.standard import (
    Results,
    Suite,
    is_results,
    newest,
    read_results,
    results_paths,
    seed_of,
    standard_facts,
)
from sweeprules.engine.facts import ABSENT, Reason, Unknown

RUN = "/w/delphi-eval/cell-7"


def results(**tasks: object) -> bytes:
    return json.dumps({"results": tasks, "total_evaluation_time_seconds": "77.1", "date": 1.79e9}).encode()


def one(**tasks: object) -> Results:
    found = read_results(results(**tasks))
    assert isinstance(found, Results)
    return found


def evalchemy(rng: random.Random, *, math: bool = True, aime: bool = True) -> tuple[bytes, float, float]:
    """A file of one seed, as evalchemy writes it, and its two scores."""
    first, second = rng.randrange(500) / 500, rng.randrange(300) / 300
    tasks: dict[str, object] = {}
    if math:
        tasks["MATH500"] = {"accuracy": first, "num_total": 500, "num_solved": int(first * 500), "examples": []}
    if aime:
        tasks["AIME24"] = {"accuracy_avg": second, "accuracy_std_err": 0.01, "num_repeat": 10, "run_stats": [{}]}
    return results(**tasks), first, second


def lm_eval(strict: float, flexible: float) -> bytes:
    """A file of lm-eval with one task, two filters, and all that is no score."""
    return results(
        gsm8k={
            "name": "gsm8k",
            "alias": "gsm8k",
            "sample_len": 1319,
            "exact_match,strict-match": strict,
            "exact_match_stderr,strict-match": 0.0134,
            "exact_match,flexible-extract": flexible,
            "exact_match_stderr,flexible-extract": "N/A",
        }
    )


def suite(rng: random.Random, seeds: range, *, apart: bool) -> tuple[dict[str, Results | Unknown], list[float], float]:
    """The files of a run with these seeds; the scores that it has to come to."""
    files: dict[str, Results | Unknown] = {}
    aime, math = [], 0.0
    for seed in seeds:
        data, first, second = evalchemy(rng, math=seed == 42)
        files[f"{RUN}/seed{seed}/acme__m/results_2027-01-05T10-00-00.123456.json"] = read_results(data)
        math = first if seed == 42 else math
        aime.append(second)
    if apart:
        files[f"{RUN}/gsm8k/acme__m/results_2027-01-05T11-00-00.123456.json"] = read_results(lm_eval(0.41, 0.43))
    return files, aime, math


@pytest.mark.parametrize("seed", range(50))
def test_a_suite_as_far_as_it_is(seed):
    rng = random.Random(seed)
    count = rng.randrange(1, 11)
    files, aime, math = suite(rng, range(42, 42 + count), apart=(apart := count == 10 and rng.random() < 0.5))
    found = standard_facts(files)
    assert found.facts["seeds_found"] == count
    assert found.facts["results_nonempty"] is True
    scores = found.facts["scores"]
    assert scores == found.scores
    assert scores["MATH500"] == math
    assert scores["AIME24"] == pytest.approx(statistics.fmean(aime))
    if count > 1:
        assert found.spread["AIME24"] == pytest.approx(statistics.stdev(aime))
    assert ("gsm8k exact_match,strict-match" in scores) is apart
    stage = f"AIME24 seeds {count}/10" if count < 10 else "complete" if apart else "gsm8k"
    assert found.facts["stage"] == stage


def test_the_first_stage_is_the_first_task():
    found = standard_facts({})
    assert found.facts["stage"] == "MATH500 seed42"
    assert found.facts["seeds_found"] == 0
    assert found.facts["scores"] is ABSENT and found.facts["results_nonempty"] is ABSENT


@pytest.mark.parametrize("seed", range(50))
def test_no_number_that_is_no_score_is_one(seed):
    rng = random.Random(seed)
    task = {
        "alias": "x", "sample_len": rng.randrange(999), "num_total": 30, "n-samples": {"original": 20}, "date": 1.7e9,
        "acc_stderr,none": 0.02, "accuracy_std_err": 0.1, "total_evaluation_time_seconds": "18.9", "seed": 42,
        "eval_seconds": 3.2, "acc,none": "N/A", "em": None, "ok": True, "nested": {"acc": 0.5}, "samples": 9,
    }  # fmt: skip
    names = rng.sample(sorted(task), rng.randrange(1, len(task)))
    found = standard_facts({f"{RUN}/results.json": one(t={name: task[name] for name in names})}, None)
    assert found.facts["results_nonempty"] is False
    assert found.facts["scores"] is ABSENT
    assert found.facts["stage"] is ABSENT and found.facts["seeds_found"] is ABSENT


def test_empty_results_are_not_a_score():
    found = standard_facts({f"{RUN}/seed42/results.json": one()})
    assert found.facts["results_nonempty"] is False
    assert found.facts["scores"] is ABSENT
    assert found.facts["seeds_found"] == 0
    assert found.missing[0] == "MATH500 seed42"


def test_zero_is_a_score():
    assert standard_facts({"r/results.json": one(t={"acc,none": 0})}, None).facts["scores"] == {"t": 0.0}


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_score_that_is_no_number_is_unknown(text):
    data = b'{"results": {"t": {"acc,none": %s, "f1,none": 0.5}}}' % text.encode()
    found = read_results(data)
    assert isinstance(found, Results) and found.nan == (("t", "acc,none"),)
    scores = standard_facts({"r/results.json": found}, None).facts["scores"]
    assert isinstance(scores, Unknown) and scores.reason == Reason.NAN


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"results": []}', b'{"a": 1}', b'{"results": "x"}'])
def test_what_is_no_results_file_is_malformed(data):
    found = read_results(data)
    assert isinstance(found, Unknown) and found.reason == Reason.MALFORMED
    facts = standard_facts({f"{RUN}/seed42/results.json": found}).facts
    assert {name: fact for name, fact in facts.items() if fact != found} == {}


def test_one_unread_seed_makes_the_scores_unknown_and_not_that_there_are_some():
    files, _, _ = suite(random.Random(1), range(42, 52), apart=True)
    files[f"{RUN}/seed44/acme__m/results_x.json"] = Unknown(Reason.CUT)
    facts = standard_facts(files).facts
    assert facts["results_nonempty"] is True
    assert all(facts[name] == Unknown(Reason.CUT) for name in ("scores", "seeds_found", "stage"))


def test_a_later_file_of_a_directory_replaces_the_earlier_one():
    names = ["results_2027-01-05T10-00-00.1.json", "results_2027-01-06T10-00-00.1.json", "samples_t.jsonl", "x.json"]
    listed = {f"{RUN}/seed42/m": names, f"{RUN}/seed43/m": names[:1], "/w/other/seed42": names}
    assert results_paths(RUN, listed) == (f"{RUN}/seed42/m/{names[1]}", f"{RUN}/seed43/m/{names[0]}")
    assert newest([]) == ()


@pytest.mark.parametrize(("path", "seed"), [("/w/seed42/r.json", 42), ("/w/SEED_7/m/r", 7), ("/w/seedling/r", None)])
def test_the_seed_of_a_path(path, seed):
    assert seed_of(path) == seed


def test_another_suite_by_values_alone():
    files = {"/x/seed1/results.json": one(T={"accuracy": 0.5}), "/x/seed2/results.json": one(S={"accuracy": 0.25})}
    found = standard_facts(files, Suite((1, 2), "T", "S", "U"))
    assert found.missing == ("S seeds 1/2", "U")
    assert is_results("/x/results.json") and not is_results("/x/my_results.json")


def test_hostile_names_are_one_line():
    found = one(**{"a\nb\x1b[31m": {"acc\r,none": 0.5}, "bare": 0.5})
    assert set(found.scores) == {("a?b?[31m", "acc?,none"), ("bare", "")}

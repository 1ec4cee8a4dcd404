"""Whose results a sweep looks for, in what order, and which directories they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sweeprules.cli import results
from sweeprules.cli.loading import Loaded, choose_site, compile_site
from sweeprules.collectors.prior import JobMemo, Prior
from sweeprules.collectors.trials.places import Wanted
from sweeprules.engine.facts import FactValue, Ref, Subject, Unknown, World
from sweeprules.engine.site import ClusterRecord

ROOT = Path(__file__).parents[2]
NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return compile_site(choose_site(ROOT / "demo"))


def cluster_of(loaded: Loaded) -> str:
    return next(one.name for one in loaded.load.site.records if isinstance(one, ClusterRecord))


def job(cluster: str, job_id: str, name: str, *, judged: bool = True, **facts: Any) -> Subject:
    told: Mapping[str, FactValue] = {
        "cluster": cluster, "job_id": job_id, "name": name, "workdir": f"/w/{job_id}", "state": "RUNNING", **facts,
    }  # fmt: skip
    return Subject(Ref("job", f"{cluster}:{job_id}"), told, judged=judged)


def asked(
    loaded: Loaded, jobs: list[Subject], kinds: Mapping[str, tuple[str, str]], prior: Prior | None = None
) -> tuple[Wanted, ...]:
    cluster = cluster_of(loaded)
    refs = {one.get("job_id"): one.ref for one in jobs}
    buckets = {refs[job_id]: bucket for job_id, (bucket, _) in kinds.items()}
    flavours = {refs[job_id]: flavour for job_id, (_, flavour) in kinds.items() if flavour}
    world = World({one.ref: one for one in jobs})
    return results.wanted(world, buckets, flavours, loaded, prior or Prior()).get(cluster, ())


def test_whose_results_are_looked_for(loaded: Loaded) -> None:
    c = cluster_of(loaded)
    kinds = {
        "1": ("eval", "agentic"), "2": ("eval", ""), "3": ("eval", "standard"), "4": ("datagen", "single"),
        "5": ("rl", "agentic"), "6": ("rl", "standard"), "7": ("rl", ""), "8": ("sft", "hf-only"),
    }  # fmt: skip
    found = asked(loaded, [job(c, job_id, f"name-{job_id}") for job_id in kinds], kinds)
    assert [(one.job_id, one.kind) for one in found] == [
        ("1", "trials"), ("2", "trials"), ("3", "suite"), ("4", "trials"), ("5", "trials"),
    ]  # fmt: skip


def test_running_jobs_come_first_then_the_newest_end(loaded: Loaded) -> None:
    c = cluster_of(loaded)
    jobs = [
        job(c, "1", "a", state="FAILED", ended=NOW - 50),
        job(c, "2", "b", state="COMPLETED", ended=NOW - 10),
        job(c, "3", "c"),
        job(c, "4", "d", state="PENDING"),
        job(c, "5", "e", state=Unknown("vanished")),
        job(c, "6", "f", state="COMPLETED", ended=NOW, judged=False),
    ]
    found = asked(loaded, jobs, {str(at): ("eval", "agentic") for at in range(1, 7)})
    assert [one.job_id for one in found] == ["3", "2", "1"]


def test_a_workdir_is_the_jobs_alone_when_no_other_name_works_there(loaded: Loaded) -> None:
    c = cluster_of(loaded)
    jobs = [
        job(c, "1", "eval_a_tb2", workdir="/w/shared"),
        job(c, "2", "sft_b", workdir="/w/shared"),
        job(c, "3", "eval_c_tb2", workdir="/w/own"),
        job(c, "4", "eval_c_tb2", workdir="/w/own"),
        job(c, "5", "eval", workdir="/w/plain"),
        job(c, "6", "eval", workdir="/w/plain"),
    ]
    found = asked(loaded, jobs, {job_id: ("eval", "agentic") for job_id in "13456"})
    assert {one.job_id: one.alone for one in found} == {"1": False, "3": True, "4": True, "5": False, "6": False}


def test_where_results_were_found_before_is_known(loaded: Loaded) -> None:
    c = cluster_of(loaded)
    memo = JobMemo(c, "1", results={"directory": "/w/t/trace_jobs/a"})
    (one,) = asked(loaded, [job(c, "1", "a")], {"1": ("eval", "agentic")}, Prior({f"{c}:1": memo}))
    assert one.kept == "/w/t/trace_jobs/a"


def test_model_and_benchmark_come_from_names_that_the_site_knows(loaded: Loaded) -> None:
    site = replace(loaded.load.site, benchmarks={"tb2": {"tasks": 89, "reps": 3}})
    named, told, other = results.with_benchmarks(
        [job("c", "1", "eval_m_tb2"), job("c", "2", "eval_m_tb2", model="own"), job("c", "3", "eval_m_x")], site
    )
    assert (named.get("model"), named.get("benchmark")) == ("m", "tb2")
    assert told.get("model") == "own"
    assert isinstance(other.get("benchmark"), Unknown)


def test_what_an_earlier_release_kept_is_no_directory(loaded: Loaded) -> None:
    c = cluster_of(loaded)
    memo = JobMemo(c, "1", results={"directory": 7})
    (one,) = asked(loaded, [job(c, "1", "a")], {"1": ("datagen", "")}, Prior({f"{c}:1": memo}))
    assert one.kept == ""
    assert Prior.from_data(Prior({f"{c}:1": memo}).to_data()).jobs[f"{c}:1"].results == {"directory": 7}

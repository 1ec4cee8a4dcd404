"""A fleet made by hand for the tables: each cell once with a value, once unknown and once absent, every bucket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sweeprules.engine.facts import (
    ABSENT,
    NOT_APPLICABLE,
    Completeness,
    FactValue,
    Reason,
    Ref,
    Relation,
    Subject,
    Unknown,
    World,
)
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from sweeprules.engine.verdicts import Flag, Verdict
from sweeprules.reports.document import ClusterHead, Judged, SweepHead
from tests.reports.worlds import NOW

SIGNALS = {name: (f"rl.{name}",) for name in ("grad", "entropy", "log-ratio", "pass-rate")}
NAN = Unknown(Reason.NAN)
CUT = Unknown(Reason.CUT)
COLLAPSE = Flag("rl-collapse", "critical", "rl.collapse", "at step 140", step=140)
DONE = Flag("sft-complete", "info", "sft.complete", "COMPLETED at step 26788 of 26788")
STALE = Flag("stale-log", "warning", "live.stale-log", "silent 47m")
NUMBERS: dict[str, FactValue] = {
    "reward": 0.4121, "policy_loss": -0.00312, "grad_norm": 0.2104, "entropy": 0.441, "log_ratio_mean": 0.01102,
}  # fmt: skip


def job(key: str, name: str, **facts: FactValue) -> Subject:
    """A running job of `cluster:id`, fresh and healthy; `a__b` in a fact's name stands for `a.b`."""
    cluster, _, job_id = key.partition(":")
    base: dict[str, FactValue] = {
        "cluster": cluster, "job_id": job_id, "name": name, "user": "kim", "state": "RUNNING", "elapsed": 32_400,
        "log_age": 185.0, "liveness": True, "step": 140, "max_step": 300, "log.exists": True, "log.cut": False,
    }  # fmt: skip
    return Subject(Ref("job", key), base | {n.replace("__", "."): v for n, v in facts.items()})


def step(of: str, number: int, **numbers: FactValue) -> Subject:
    """A step of a job with `NUMBERS` and these over them."""
    facts: dict[str, FactValue] = {"step": number, "attempt": 1, "link": of.partition(":")[2], **NUMBERS, **numbers}
    return Subject(Ref("step", f"{of}/{number}"), facts, {}, {"job": Relation((Ref("job", of),))})


def with_steps(of: Subject, steps: Sequence[Subject], completeness: Completeness = Completeness.WHOLE) -> Subject:
    """The job with its relation to these steps."""
    reason = "" if completeness is Completeness.WHOLE else "cut"
    relation = Relation(tuple(one.ref for one in steps), completeness, reason)
    return replace(of, relations={**of.relations, "steps": relation})


def related(of: Subject, **relations: Ref) -> Subject:
    """The job with relations of one member each."""
    return replace(of, relations={**of.relations, **{name: Relation((ref,)) for name, ref in relations.items()}})


def verdict(
    of: Subject, bucket: str, *flags: Flag, health: str = "healthy", flavour: FactValue = "standard"
) -> Verdict:
    """A verdict on a job."""
    return Verdict(of.ref, {}, {"bucket": bucket, "bucket_sure": True, "flavour": flavour}, flags, (), health)


def on_step(of: Subject, *truths: Truth) -> Verdict:
    """A verdict on a step: the truths of the four signals."""
    rules = [rule for (rule,) in SIGNALS.values()]
    return Verdict(of.ref, dict(zip(rules, truths, strict=True)), {}, (), ())


def fleet(extra: Sequence[tuple[Subject, Verdict]] = ()) -> Judged:
    """All of it judged, with more jobs if asked."""
    subjects: list[Subject] = []
    verdicts: list[Verdict] = []
    for made, decided in (_rl(), _sft(), _datagen(), _evals(), _others(), [*zip(*extra, strict=True)] or ([], [])):
        subjects += made
        verdicts += decided
    return world_of(subjects, verdicts)


def world_of(subjects: Sequence[Subject], verdicts: Sequence[Verdict]) -> Judged:
    """These subjects, judged, on one cluster that was swept."""
    return Judged(
        SweepHead("20260528T202640Z-abcdef", NOW, NOW + 9, NOW, True, "native", "ab" * 32),
        (ClusterHead("leonardo", "swept", "", "ok", "login01", "ops/leonardo/cluster.yaml", "cd" * 32),),
        World({subject.ref: subject for subject in subjects}),
        {one.ref: one for one in verdicts},
        signals=SIGNALS,
    )


Made = tuple[list[Subject], list[Verdict]]


def _rl() -> Made:
    name = "rl_dlp_1e21_w0"
    old = step("leonardo:4810", 128, reward=0.381)
    new = step("leonardo:4811", 140)
    first = with_steps(job("leonardo:4810", name, state="TIMEOUT", step=128, exit="0:0"), [old])
    row = with_steps(
        related(
            job("leonardo:4811", name, checkpoint_step=120),
            run=Ref("run", "leonardo:4810"), previous=Ref("job", "leonardo:4811@before"),
        ),
        [new],
    )  # fmt: skip
    run = Subject(
        Ref("run", "leonardo:4810"), {"successors": ({"id": "4812", "state": "PENDING"},)}, {},
        {"links": Relation((first.ref, row.ref)), "row": Relation((row.ref,))},
    )  # fmt: skip
    before = replace(job("leonardo:4811", name, step=128), ref=Ref("job", "leonardo:4811@before"), judged=False)
    spoilt = step("cw:rl-9", 86, reward=NAN, policy_loss=CUT, entropy=ABSENT, log_ratio_mean=ABSENT, tis_log_ratio=2e-5)
    collapsing = with_steps(job("cw:rl-9", "rl-9", log_age=NOT_APPLICABLE, step=86, max_step=80, pods__n=8,
                                pods__running=8, checkpoint_step=ABSENT, malformed_lines=2), [spoilt])  # fmt: skip
    filling = with_steps(job("cw:rl-131k-x", "rl-131k-x", step=Unknown("not-read"), max_step=ABSENT,
                             buffer_n=35, log_age=NOT_APPLICABLE,
                             buffer_m=64, bringup_rung="mesh", pods__n=8, pods__running=8), [])  # fmt: skip
    unread = job("leonardo:4900", "rl_dlp_unread", step=Unknown("read-failed"), max_step=Unknown("read-failed"),
                 log_age=Unknown("read-failed"), liveness=Unknown("read-failed"))  # fmt: skip
    waits = job("leonardo:4901", "rl_dlp_waits", state="PENDING", state_reason="Priority", log_age=ABSENT, elapsed=0,
                step=Unknown("not-read"), max_step=Unknown("not-read"))  # fmt: skip
    return [first, row, run, before, old, new, spoilt, collapsing, filling, unread, waits], [
        verdict(row, "rl"),
        verdict(first, "rl", health="ended"),
        verdict(collapsing, "rl", COLLAPSE, health="flagged", flavour="agentic"),
        verdict(filling, "rl", health="starting", flavour="agentic"),
        verdict(unread, "rl", health="unknown"),
        verdict(waits, "rl", health="waiting"),
        on_step(new, FALSE, FALSE, FALSE, FALSE),
        on_step(spoilt, TRUE, TRUE, UNKNOWN, FALSE),
    ]


def _sft() -> Made:
    cell = "delphi-{}-magpie-sft"
    jobs = [
        job("leonardo:11", cell.format("9e19-1.9B"), step=9120, max_step=26788, loss=0.6112, grad_norm=0.42,
            eta=79_200.0, rate=4.5, log_age=61.0),
        job("leonardo:12", cell.format("1e22-9.7B"), step=10, max_step=26788, loss=Unknown(Reason.NAN),
            grad_norm=Unknown("cut"), eta=400_000.0, rate=15.25),
        job("leonardo:13", cell.format("1e22-9.7B"), state="PENDING", state_reason="Dependency", log_age=ABSENT),
        job("leonardo:14", cell.format("1e22-9.7B-b"), state="PENDING", state_reason="Priority", log_age=ABSENT,
            step=ABSENT),
        job("leonardo:15", cell.format("1e22-9.7B-b"), state="PENDING", state_reason="Dependency", log_age=ABSENT,
            step=ABSENT),
        job("leonardo:16", cell.format("3e18-0.5B"), state="COMPLETED", step=26788, max_step=26788, loss=0.5,
            grad_norm=ABSENT, log_age=20_000.0),
    ]  # fmt: skip
    health = {"RUNNING": "healthy", "PENDING": "waiting"}
    flags = {"COMPLETED": (DONE,)}
    return jobs, [
        verdict(one, "sft", *flags.get(state, ()), health=health.get(state, "ended"))
        for one in jobs
        for state in (str(one.get("state")),)
    ]


def _datagen() -> Made:
    row = Subject(Ref("tracker_row", "grid.md:12"), {"row_key": ABSENT, "line": 12})
    numbers: dict[str, FactValue] = {
        "chunks_total": 9,
        "chunks_done": 7,
        "step": NOT_APPLICABLE,
        "max_step": NOT_APPLICABLE,
    }
    eight = related(job("leonardo:21", "datagen__leetcode-py_chunk8", **numbers, trials_done=2100, trials_valid=2000,
                        avg_turns=6.0, mean_valid=0.5, exception_share=0.2, newest_result_age=300),
                    tracker_row=row.ref)  # fmt: skip
    nine = job("leonardo:22", "datagen__leetcode-py_chunk9", **numbers, trials_done=1000, trials_valid=1000,
               avg_turns=7.24, mean_valid=0.44, exception_share=0.23, log_age=2900.0, liveness=False)  # fmt: skip
    alone = job("leonardo:23", "datagen__x", **{n: NOT_APPLICABLE for n in numbers}, trials_done=Unknown("read-failed"),
                trials_valid=Unknown("read-failed"), avg_turns=ABSENT, mean_valid=Unknown("read-failed"),
                exception_share=Unknown("read-failed"))  # fmt: skip
    return [row, eight, nine, alone], [
        verdict(eight, "datagen", flavour="chunked"),
        verdict(nine, "datagen", STALE, health="flagged", flavour="chunked"),
        verdict(alone, "datagen", flavour="single"),
    ]


def _evals() -> Made:
    none: dict[str, FactValue] = {"step": NOT_APPLICABLE, "max_step": NOT_APPLICABLE}
    named: dict[str, FactValue] = {"model": "laion/a2-8B", "benchmark": "tb2", "run_tag": "eval-a2-8B_tb2"}
    infra: dict[str, FactValue] = {
        "infra.pinggy": "ok", "infra.api_base": "ok", "infra.vllm": "bad", "infra.trials": Unknown("read-failed"),
    }  # fmt: skip
    live = job("leonardo:31", "data", **none, **named, **infra, trials_done=231, trials_planned=267, trials_valid=225,
               trials_errored=6, pass_rate=0.4123, top_exception="AgentTimeoutError",
               exceptions={"AgentTimeoutError": 4, "DaytonaError": 2})  # fmt: skip
    before = job("leonardo:30", "data", **none, **named, **infra, state="TIMEOUT", log_age=9000.0)
    plain = job("leonardo:32", "eval-b", **none, infra__pinggy="n/a", infra__api_base="n/a", infra__vllm="ok",
                infra__trials="ok", trials_done=10, trials_planned=Unknown("not-read"), trials_valid=10,
                trials_errored=0, pass_rate=0.0, top_exception=ABSENT)  # fmt: skip
    suite = job("leonardo:33", "delphi-eval-9e19", **none, trials_done=ABSENT, trials_planned=ABSENT, pass_rate=ABSENT,
                top_exception=ABSENT, stage="AIME24 seeds 4/10", seeds_found=4, scores={"MATH500": 0.412})  # fmt: skip
    return [live, before, plain, suite], [
        verdict(live, "eval", flavour="agentic"),
        verdict(before, "eval", flavour="agentic", health="ended"),
        verdict(plain, "eval", flavour="agentic"),
        verdict(suite, "eval"),
    ]


def _others() -> Made:
    none: Mapping[str, FactValue] = {"step": NOT_APPLICABLE, "max_step": NOT_APPLICABLE}
    joins = job("leonardo:41", "consol12", **none, elapsed=540, comment="joining 9 chunk repos")
    fails = job("leonardo:42", "build_sif", **none, state="FAILED", exit="1:0", first_error__type="OSError",
                first_error__message="No space left on device", elapsed=75)  # fmt: skip
    odd = job("leonardo:43", "odd", **none, bucket=Unknown("not-read"))
    return [joins, fails, odd], [
        verdict(joins, "catch-all", flavour="consolidate"),
        verdict(
            fails, "catch-all", Flag("failure", "critical", "fail.failure", "exit 1"), health="flagged", flavour="build"
        ),
        Verdict(odd.ref, {}, {}, (), (), "unknown"),
    ]

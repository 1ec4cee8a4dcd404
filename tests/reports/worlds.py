"""A small judged world, made by hand: two clusters, a chain, a wedge, an unread job, a hostile name."""

from __future__ import annotations

from sweeprules.engine.facts import (
    ABSENT,
    NOT_READ,
    Completeness,
    FactValue,
    Ref,
    Relation,
    Source,
    Subject,
    Unknown,
    World,
)
from sweeprules.engine.truth import TRUE
from sweeprules.engine.verdicts import Action, Flag, Verdict
from sweeprules.reports.document import ClusterHead, HandoffRow, Judged, SweepHead

NOW = 1_780_000_000.0
HOSTILE = "rl__x\x1b[2J|**bold**<b>\n# title"
TYPES = {("job", "log_age"): "duration", ("job", "started"): "time", ("job", "elapsed"): "duration"}
STAT = Source("aurora/3.1", "stat -c ... -- /w/a.out", "login01", "/w/a.out", NOW)


def job(key: str, **facts: FactValue) -> Subject:
    """A job of `cluster:id` with these facts over those of a running one."""
    cluster, _, job_id = key.partition(":")
    base: dict[str, FactValue] = {
        "cluster": cluster, "job_id": job_id, "name": f"rl__{job_id}", "state": "RUNNING", "elapsed": 32_400,
        "started": NOW - 32_400, "log_age": 60.0, "step": NOT_READ, "max_step": NOT_READ,
    }  # fmt: skip
    return Subject(Ref("job", key), base | facts, {"log_age": STAT})


def verdict(key: str, *flags: Flag, health: str = "unknown", actions: tuple[Action, ...] = ()) -> Verdict:
    """A verdict on a job in bucket rl."""
    decided: dict[str, FactValue] = {"bucket": "rl", "bucket_sure": True, "flavour": Unknown("not-read")}
    return Verdict(Ref("job", key), {"live.suspected-wedge": TRUE}, decided, flags, actions, health)


WEDGE = Flag(
    "suspected-wedge", "critical", "live.suspected-wedge", "silent 6h30m, limit 2h30m", explains=("stale-log",)
)
STALE = Flag("stale-log", "warning", "live.stale-log", "silent 6h30m", explained_by=("suspected-wedge",))
ENDED = Flag("chain-restart-ok", "info", "chain.restart", "successor 12 RUNNING")
UNREAD = Flag("queue-unknown", "warning", "gather.queue-unknown", "no answer")
KILL = Action("propose-kill", "approval", True, {"ids": ("7",), "relaunch": ABSENT}, "propose-kill", "blocked",
              ("suspected-wedge",), ("live.suspected-wedge",), ("cause-proved is unknown",))  # fmt: skip
HANDOFF = HandoffRow(
    "0123456789ab", "propose-kill", "suspected-wedge", "aurora", "7", "job:aurora:7", "blocked",
    ("cause-proved is unknown",), (("own-jobs", "true", "squeue via login01", NOW),), "", "handoffs/0123456789ab.md",
    ("propose-kill",),
)  # fmt: skip


def judged() -> Judged:
    """The judged world."""
    jobs = [
        job("aurora:7", name=HOSTILE, log_age=23_400.0),
        job("aurora:11", name="rl__chain", state="TIMEOUT", ended=NOW - 600, exit="0:0", log_age=600.0),
        job("aurora:12", name="rl__chain", elapsed=500),
        job("aurora:20", name="rl__gone", state=Unknown("vanished"), log_age=Unknown("read-failed")),
        job("borealis:7", name="rl__other", state="PENDING", state_reason="Priority", log_age=ABSENT, elapsed=0),
    ]
    run = Subject(
        Ref("run", "aurora:11"), {"key": "aurora:11"}, {},
        {"links": Relation((jobs[1].ref, jobs[2].ref)), "row": Relation((jobs[2].ref,))},
    )  # fmt: skip
    clusters = [
        Subject(Ref("cluster", "aurora"), {"name": "aurora"}, {}, {"jobs": Relation(tuple(j.ref for j in jobs[:4]))}),
        Subject(Ref("cluster", "borealis"), {"name": "borealis"}, {}, {"jobs": Relation((), Completeness.PARTIAL)}),
    ]
    verdicts = {
        Ref("job", "aurora:7"): verdict("aurora:7", STALE, WEDGE, health="flagged", actions=(KILL,)),
        Ref("job", "aurora:11"): verdict("aurora:11", ENDED, health="ended"),
        Ref("job", "aurora:12"): verdict("aurora:12"),
        Ref("job", "aurora:20"): verdict("aurora:20"),
        Ref("job", "borealis:7"): verdict("borealis:7", health="waiting"),
        clusters[1].ref: Verdict(clusters[1].ref, {}, {}, (UNREAD,), ()),
    }  # fmt: skip
    return Judged(
        SweepHead("20260528T202640Z-abcdef", NOW, NOW + 9, NOW, False, "native", "ab" * 32),
        (
            ClusterHead("aurora", "swept", "", "ok", "login01", "ops/aurora/cluster.yaml", "cd" * 32),
            ClusterHead("borealis", "partial", "queue: timed out", "unknown", "bl02", "ops/b/cluster.yaml", "ef" * 32),
            ClusterHead("callisto", "skipped", "in downtime: cooling", "unknown", "", "ops/c/cluster.yaml", "12" * 32),
        ),
        World({s.ref: s for s in [*jobs, run, *clusters]}),
        verdicts,
        (HANDOFF,),
        TYPES,
    )  # fmt: skip

"""The standard set of jobs: one of each state, reason and awkward name that a sweep has to get right."""

from __future__ import annotations

from dataclasses import dataclass

#: States are spelt as sacct's State column begins; "" stands for a job that sacct does not list (never eligible).
NOT_LISTED = ""
ARRAY_SIZE = 8


@dataclass(frozen=True, slots=True)
class JobSpec:
    """One job: how it is submitted, and the state in which it comes to rest.

    `after` is a dependency type and the label of an earlier job. `expect` has the state, or any of a requeue's two, or
    for an array all its tasks' states. `soon` says whether that state is reached within about 20 s; the others need
    Slurm's own minutes.
    """

    label: str
    name: str
    script: str
    expect: frozenset[str]
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    after: tuple[str, str] | None = None
    output: str | None = "%x-%j.out"
    error: str | None = None
    soon: bool = True


def _state(*names: str) -> frozenset[str]:
    return frozenset(names)


_RUNNING, _PENDING, _DONE, _FAILED = _state("RUNNING"), _state("PENDING"), _state("COMPLETED"), _state("FAILED")
_UNLISTED = _state(NOT_LISTED)
_WHOLE_GG_NODE = ("-p", "gg", "--exclusive", "-N1", "-n8", "-t", "1:00:00")
_HOURS = ("-t", "12:00:00")
_LONG = "rl__" + "".join(letter * 10 for letter in "abcdefghijk") + "_maxgn09_hint"

# The two that Slurm ends only after more than a minute come first, so that they are ripe when the rest is.
JOBS: tuple[JobSpec, ...] = (
    JobSpec("timeout", "rl__chain_a3", "sleep", _state("TIMEOUT"), ("-t", "1"), soon=False),
    JobSpec("chain1", "rl__chain_walltime", "sleep", _state("TIMEOUT"), ("-t", "1"), soon=False),
    JobSpec("chain2", "rl__chain_walltime", "steady", _RUNNING, _HOURS, after=("afterany", "chain1"), soon=False),
    JobSpec("chain3", "rl__chain_walltime", "steady", _UNLISTED, _HOURS, after=("afterany", "chain2")),
    JobSpec("running", "rl__qwen3_grpo", "steady", _RUNNING, ("-t", "12:00:00")),
    JobSpec("silent", "rl__delphi_zclip_stageC", "silent", _RUNNING, ("-t", "2-03:04:05"), output="logs/%x_%j.out"),
    JobSpec("silent2", "rl__silent_ok", "silent", _RUNNING, ("-t", "1-00:00:00")),
    JobSpec("fail", "sft__delphi_midtrain_27", "fail", _FAILED, error="%x-%j.err"),
    JobSpec("cancelled", "eval-a1-math500", "sleep", _state("CANCELLED")),
    JobSpec("oom", "sft__oom", "oom", _state("OUT_OF_MEMORY"), ("--mem=100M",)),
    JobSpec("array", "datagen__mix_chunks", "chunk", _state("COMPLETED", "FAILED"),
            ("-a", f"0-{ARRAY_SIZE - 1}%3"), output="%x-%A_%a.out"),
    JobSpec("pending", "eval-pending-big", "ok", _PENDING, ("-n", "100", "-N", "4", "-t", "1:00:00")),
    JobSpec("pendres", "datagen__pending_res", "sleep", _RUNNING, _WHOLE_GG_NODE),
    JobSpec("pendres2", "datagen__pending_res2", "sleep", _PENDING, _WHOLE_GG_NODE),
    JobSpec("pipe", "rl__a|b c", "ok", _DONE),
    JobSpec("unicode", "sft__été_日本 ☃", "ok", _DONE),
    JobSpec("newline", "rl__new\nline", "ok", _DONE, output="%j.out"),
    JobSpec("quotes", "eval-\"q\"'s\\back;$x%y,z", "ok", _DONE, output="%j.out"),
    JobSpec("tab", "rl__tab\there", "ok", _DONE, output="%j.out"),
    JobSpec("eq", "rl__x JobState=FAILED StdOut=/etc/passwd", "ok", _DONE, output="%j.out"),
    JobSpec("longname", _LONG, "sleep", _RUNNING),
    JobSpec("defout", "consolidate", "ok", _DONE, output=None),
    JobSpec("outnodes", "hf_upload", "sleep", _RUNNING, output="up_%u_%N_%n_%t_%x.%j"),
    JobSpec("segv", "sft__segv", "segv", _FAILED),
    JobSpec("complete", "sft__done", "ok", _DONE),
    JobSpec("stepfail", "sft__step_fails", "step_fails", _DONE),
    JobSpec("hold", "pretokenize", "ok", _UNLISTED, ("-H",)),
    JobSpec("requeue", "rl__requeued", "sleep", _state("REQUEUED", "PENDING"), ("--requeue",)),
    JobSpec("nodir", "eval-nodir", "ok", _FAILED, output="/nonexistent/dir/%x-%j.out"),
    JobSpec("badwd", "eval-badwd", "ok", _FAILED, ("-D", "/nonexistent/wd")),
    JobSpec("begin", "eval-begin", "ok", _UNLISTED, ("--begin=now+2hours",)),
    JobSpec("het", "rl__het", "sleep", _RUNNING, ("-n1", "--mem=50", ":", "-n2", "--mem=60")),
    JobSpec("depnever", "rl__chain_depnever", "ok", _UNLISTED, after=("afterok", "fail")),
    # Last, because a job that waits for all three nodes keeps those behind it waiting as well.
    JobSpec("deadline", "eval-deadline", "ok", _state("DEADLINE"),
            ("--deadline=now+2minutes", "-t", "1", "-n", "24", "-N", "3", "--exclusive"), soon=False),
)  # fmt: skip


def jobs_of(version: str) -> tuple[JobSpec, ...]:
    """The standard set as a Slurm version takes it.

    22.05 keeps a job pending that is too big for its partition; 24.11 refuses it at submission.
    """
    return JOBS if version.startswith("22.") else tuple(spec for spec in JOBS if spec.label != "pending")

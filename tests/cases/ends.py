"""Deaths of memory, of quota, at the wall, and behind a launcher."""

from __future__ import annotations

from random import Random

from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown
from sweeprules.engine.testdefaults import NOW
from tests.cases.collectives import RUNNING
from tests.cases.sample import FAILED, Sample, Seen
from tests.cases.words import Clock, bar, chatter, row, table, traceback, written

KILLED: dict[str, FactValue] = {**FAILED, "exit": "137:0", "exit_code": 137}
PROSE = (
    "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task. The actor is dead because "
    "its worker process has died. There are some potential root causes. (1) The process is killed by SIGKILL by OOM "
    "killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to "
    "SIGSEGV or other unexpected errors."
)


def masked(rng: Random) -> Sample:
    """Only the launcher's table, whatever stands before it without saying anything."""
    clock = Clock(rng)
    lines = [*chatter(rng, clock), row(rng), *table(rng, exitcode=rng.choice(("1", "1", "-15")))]
    if rng.random() < 0.4:
        lines.insert(2, "[rank2]: RuntimeError: Connection closed by peer [10.0.0.7]:4242")
    return Sample(written(rng, lines, steps=True), FAILED)


def unmasked(rng: Random) -> Sample:
    """The same table, and further up the traceback of a rank."""
    error = rng.choice(("ValueError: x", "RuntimeError: shape mismatch", "FileNotFoundError: /w/a.json"))
    glued = f"\r{bar(rng, 23, 60)}" if rng.random() < 0.5 else ""
    first, *rest = traceback(rng, error, f"[rank{rng.randrange(1, 8)}]: ")
    late = traceback(rng, "torch.distributed.DistBackendError: Connection closed by peer", "[rank0]: ")
    return Sample(written(rng, [row(rng), glued + first, *rest, *late, *table(rng)]), FAILED)


def is_masked(sample: Sample, seen: Seen) -> bool:
    """A failure whose cause is hidden: only the launcher speaks."""
    return seen.failed and "root-cause-masked" in seen.flags and seen.facts["first_error.type"] is ABSENT


def ray_memory(rng: Random) -> Sample:
    """Ray ended a small task because the host ran out of memory."""
    used = rng.uniform(20, 900)
    heads = (
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
        "(raylet) 3 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed otherwise",
    )
    rest = [
        f"Memory on the node (IP: 10.0.0.7, ID: 7526) where the task (name=train, pid={rng.randrange(9999)}, memory "
        f"used=0.{rng.randrange(10, 99)}GB) was running was {used:.2f}GB / {used * 1.05:.2f}GB (0.95), "
        "which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: fc5c) because it was the most "
        "recently scheduled task",
        "Top 10 memory users:",
        "PID\tMEM(GB)\tCOMMAND",
    ]
    lines = [rng.choice(heads), *rest] if rng.random() < 0.7 else rest
    return Sample(written(rng, chatter(rng, Clock(rng)) + lines + ([PROSE] if rng.random() < 0.5 else [])), FAILED)


def ray_death(rng: Random) -> Sample:
    """An actor died; that memory ran out is only one of the causes that Ray lists."""
    lines = [PROSE]
    if rng.random() < 0.5:
        lines = [
            "The node with node id: 7526 has been marked dead. This can happen when a",
            "\t(1) raylet crashes unexpectedly (OOM, etc.), its containers OOMKilled",
            "\t(2) raylet has lagging heartbeats due to slow network or busy workload.",
            PROSE,
        ]
    return Sample(written(rng, [row(rng), *lines]), FAILED)


def is_host_memory(sample: Sample, seen: Seen) -> bool:
    """A failure by the memory of the host."""
    return seen.failed and seen.error_class == "host-oom"


def at_the_wall(rng: Random) -> Sample:
    """The time was up; accounting says so, or is not reached and only the log says so."""
    number, moment = rng.randrange(1, 9_999_999), Clock(rng).now
    node = f" ON node-{rng.randrange(99)}" if rng.random() < 0.7 else ""
    lines = [
        "srun: Job step aborted: Waiting up to 47 seconds for job step to finish.",
        f"slurmstepd: error: *** JOB {number}{node} CANCELLED AT {moment:%Y-%m-%dT%H:%M:%S} DUE TO TIME LIMIT ***",
        f"slurmstepd: error: *** STEP {number}.0{node} CANCELLED AT {moment:%Y-%m-%dT%H:%M:%S} DUE TO TIME LIMIT ***",
    ]
    after = traceback(rng, "ValueError: torn down") if rng.random() < 0.3 else []
    log = written(rng, [row(rng), *lines, *after], steps=True)
    if rng.random() < 0.5:
        gone: dict[str, FactValue] = {"state": Unknown(Reason.VANISHED, "in neither queue nor accounting")}
        return Sample(log, gone)
    facts: dict[str, FactValue] = {"state": "TIMEOUT", "state_raw": "TIMEOUT", "exit": "0:0", "ended": NOW - 60}
    facts |= {"exit_code": 0, "exit_signal": 0}
    return Sample(log, facts, next_state=rng.choice(("RUNNING", "PENDING")))


def cancelled(rng: Random) -> Sample:
    """A person ended it, or the failure of one rank ended the others; the same line without the wall."""
    number, moment = rng.randrange(1, 9_999_999), Clock(rng).now
    line = f"slurmstepd: error: *** STEP {number}.0 ON n1 CANCELLED AT {moment:%Y-%m-%dT%H:%M:%S} ***"
    if rng.random() < 0.5:
        facts: dict[str, FactValue] = {**FAILED, "state": "CANCELLED", "state_raw": "CANCELLED by 1000", "exit": "0:15"}
        facts |= {"exit_code": 0, "exit_signal": 15}
        return Sample(written(rng, [row(rng), line]), facts)
    error = traceback(rng, "ValueError: bad batch", "[rank3]: ")
    return Sample(written(rng, [row(rng), *error, line, "srun: error: n1: task 3: Exited with exit code 1"]), FAILED)


def is_wall(sample: Sample, seen: Seen) -> bool:
    """Its wall, and no failure."""
    return not seen.failed and seen.error_class == "wall"


def cgroup(rng: Random) -> Sample:
    """The scheduler's memory limit, in old and new wordings."""
    number, count = rng.randrange(1, 9_999_999), rng.randrange(1, 9)
    step = rng.choice((f"{number}.batch", f"{number}.0"))
    said = rng.choice(
        (
            f"slurmstepd: error: Detected {count} oom-kill event(s) in StepId={step} cgroup. Some of your processes "
            "may have been killed by the cgroup out-of-memory handler.",
            f"slurmstepd: error: Detected {count} oom_kill event in StepId={step}. Some of the step tasks have been "
            "OOM Killed.",
            "slurmstepd: error: Exceeded job memory limit",
        )
    )
    killed = f"/var/spool/slurmd/job{number}/slurm_script: line 28:  8156 Killed                  python3 main.py"
    before = rng.choice(
        ([], [killed], traceback(rng, "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed."))
    )
    return Sample(written(rng, [row(rng), *before, said]), KILLED)


def killed_otherwise(rng: Random) -> Sample:
    """Somebody killed it; or memory is only spoken of."""
    number = rng.randrange(1, 9_999_999)
    lines = [
        f"/var/spool/slurmd/job{number}/slurm_script: line 28:  8156 Killed                  python3 main.py",
        rng.choice(
            ("INFO oom_score_adj is 1000", "slurmstepd: Detected no oom events", "INFO job memory limit is 480 GB")
        ),
    ]
    rng.shuffle(lines)
    return Sample(written(rng, [row(rng), *lines]), KILLED)


def is_cgroup(sample: Sample, seen: Seen) -> bool:
    """A failure by the memory limit of the job."""
    return seen.failed and seen.error_class == "cgroup-oom"


def gpu_memory(rng: Random) -> Sample:
    """A GPU ran out of memory before the first step; the heading is glued to the first frame."""
    total = rng.randrange(10, 9999)
    size = f"{rng.uniform(0.2, 40):.2f} {rng.choice(('GiB', 'MiB'))}"
    kind = rng.choice(("torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError"))
    prefix = rng.choice(("", f"[rank{rng.randrange(8)}]: "))
    first, *rest = traceback(rng, f"{kind}: CUDA out of memory. Tried to allocate {size}. GPU 3 has 79.15 GiB.", prefix)
    if rng.random() < 0.15:
        rest[-1] = f"{prefix}RuntimeError: CUDA error: out of memory"
    lines = [*chatter(rng, Clock(rng)), f"  {bar(rng, 0, total)}{first}", *rest]
    if rng.random() < 0.5:
        lines += table(rng)
    return Sample(written(rng, lines), FAILED)


def gpu_memory_survived(rng: Random) -> Sample:
    """A batch that did not fit was left out and the run went on; what ended it is another thing. Or absurd memory."""
    error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    if rng.random() < 0.5:
        error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory."
        return Sample(written(rng, [row(rng), *traceback(rng, error), *table(rng)]), FAILED)
    rows = [row(rng) for _ in range(rng.randrange(3, 20))]
    return Sample(written(rng, [*traceback(rng, error), *rows, *traceback(rng, "ValueError: bad shard")]), FAILED)


def is_gpu_memory(sample: Sample, seen: Seen) -> bool:
    """A failure by the memory of a GPU."""
    return seen.failed and seen.error_class == "gpu-oom"


def quota(rng: Random) -> Sample:
    """The disk quota is used up while a checkpoint is written."""
    clock = Clock(rng)
    place = rng.choice(("", f": '/w/ckpt/step_{rng.randrange(999)}'"))
    lines = [f"{clock.now:%m/%d %H:%M:%S} - mmengine - INFO - Saving checkpoint at {rng.randrange(2, 40)} epochs"]
    if rng.random() < 0.8:
        lines += traceback(rng, f"OSError: [Errno 122] Disk quota exceeded{place}", rng.choice(("", "[rank0]: ")))
    else:
        lines += ["cp: error writing '/w/ckpt/model.safetensors': Disk quota exceeded"]
    if rng.random() < 0.5:
        lines += table(rng)
    return Sample(written(rng, [row(rng), *lines]), FAILED)


def full(rng: Random) -> Sample:
    """Another reason why nothing can be written, or a quota that somebody only watches."""
    error = rng.choice(
        ("OSError: [Errno 28] No space left on device", "PermissionError: [Errno 13] Permission denied: '/w'")
    )
    if rng.random() < 0.4:
        return Sample(written(rng, ["INFO disk quota is at 97%", row(rng)]), RUNNING)
    return Sample(written(rng, [row(rng), "INFO quota exceeded? no", *traceback(rng, error)]), FAILED)


def is_quota(sample: Sample, seen: Seen) -> bool:
    """A failure by the quota."""
    return seen.failed and "edquot" in seen.flags and seen.error_class == "quota"

"""Collective operations that hang, and what stands near them."""

from __future__ import annotations

from random import Random

from sweeprules.engine.facts import ABSENT, FactValue
from sweeprules.engine.testdefaults import NOW
from tests.cases.sample import FAILED, Sample, Seen
from tests.cases.words import (
    OPS,
    Clock,
    bar,
    chatter,
    dump,
    frames,
    nccl_timeout,
    row,
    stuck,
    terminate,
    traceback,
    written,
)

ABORTED: dict[str, FactValue] = {**FAILED, "exit": "0:6", "exit_code": 0, "exit_signal": 6}
COMPLETED: dict[str, FactValue] = {
    "state": "COMPLETED",
    "state_raw": "COMPLETED",
    "exit": "0:0",
    "exit_code": 0,
    "exit_signal": 0,
    "ended": NOW - 120,
}
RUNNING: dict[str, FactValue] = {"bucket": "sft", "cadence": 600, "cadence_source": "default", "progress": ABSENT}


def hang_then_monitor(rng: Random) -> Sample:
    """An operation times out on some ranks, minutes later the monitors of others speak; lines out of order."""
    clock = Clock(rng)
    operation = rng.choice(OPS), rng.randrange(2, 200_000)
    ranks = rng.sample(range(64), rng.randrange(1, 9))
    first = nccl_timeout(rng, clock, ranks[0], operation, age := rng.randrange(1, 3))
    rest = [nccl_timeout(rng, clock.later(rng.uniform(1.1, 3)), rank, operation, age) for rank in ranks[1:]]
    late = [stuck(clock.later(480), rng.randrange(64)), dump(clock, rng.randrange(64)), terminate(clock.later(8), 3)]
    late = late[: rng.randrange(1, 4)]
    if rng.random() < 0.5:
        lines = [first, *rest, *late]
    else:
        # The monitors' lines were flushed first; their clocks say what came first.
        lines = [*late, first, *rest]
    return Sample(written(rng, chatter(rng, Clock(rng)) + lines, steps=True), ABORTED, planted={"rank": ranks[0]})


def hang_behind_an_error(rng: Random) -> Sample:
    """A rank raises; the others wait for it until they time out. The timeout is no cause."""
    clock = Clock(rng)
    rank = rng.randrange(8)
    error = traceback(rng, rng.choice(("ValueError: bad batch", "KeyError: 'input_ids'")), f"[rank{rank}]: ")
    late = [
        nccl_timeout(rng, clock.later(1800), other, (OPS[0], 77), rng.randrange(3))
        for other in range(8)
        if other != rank
    ]
    return Sample(written(rng, [*chatter(rng, clock), *error, *late]), ABORTED)


def is_hang(sample: Sample, seen: Seen) -> bool:
    """A failure by a collective operation, told of the rank that told it first."""
    return seen.failed and seen.error_class == "nccl" and seen.facts["first_error.rank"] == sample.planted.get("rank")


def monitor_ends_it(rng: Random) -> Sample:
    """The monitor warns, dumps and ends the process."""
    clock = Clock(rng)
    rank = rng.randrange(64)
    lines = [stuck(clock, rank)]
    if rng.random() < 0.7:
        lines.append(dump(clock.later(0.2), rank))
    lines.append(terminate(clock.later(480), rank))
    return Sample(written(rng, chatter(rng, Clock(rng)) + lines, steps=True), ABORTED)


def monitor_only_warns(rng: Random) -> Sample:
    """The warning alone: of a job that went on to work, or that ended well."""
    clock = Clock(rng)
    lines = [stuck(clock, rng.randrange(64), rng.choice((300, 480, 600))) for _ in range(rng.randrange(1, 9))]
    facts = COMPLETED if rng.random() < 0.5 else RUNNING
    return Sample(written(rng, [*chatter(rng, clock), *lines, row(rng)], steps=True), facts)


def is_ended_by_monitor(sample: Sample, seen: Seen) -> bool:
    """A failure by the heartbeat monitor."""
    return seen.failed and seen.error_class == "nccl-heartbeat"


def native_crash(rng: Random) -> Sample:
    """A crash with C++ frames only."""
    clock = Clock(rng)
    rank = rng.randrange(8)
    lines = [nccl_timeout(rng, clock, rank, (rng.choice(OPS), rng.randrange(2, 9999)), rng.randrange(3)), *frames(rng)]
    if rng.random() < 0.3:
        lines = frames(rng)
    elif rng.random() < 0.4:
        lines += ["terminate called after throwing an instance of 'c10::DistBackendError'", "  what():  NCCL error"]
    return Sample(written(rng, [row(rng), *lines]), ABORTED)


def native_noise(rng: Random) -> Sample:
    """Stacks that are printed when a store's server went first, at the end of a job that ended well."""
    clock = Clock(rng)
    name = rng.choice(("sendBytes", "recvValue", "recvVector"))
    lines = [
        f"[rank3]:[{clock.glog('W')} TCPStore.cpp:106] [c10d] {name} failed on SocketImpl(fd=4): Broken pipe",
        f"Exception raised from {name} at ../torch/csrc/distributed/c10d/Utils.hpp:653 (most recent call first):",
        *frames(rng)[1:],
    ]
    return Sample(written(rng, [row(rng), *lines]), COMPLETED)


def has_a_cause(sample: Sample, seen: Seen) -> bool:
    """A failure with a cause, although there is no traceback."""
    return seen.failed and isinstance(seen.facts["first_error.type"], str) and seen.error_class != "none-found"


def wedged_at_zero(rng: Random) -> Sample:
    """Nothing but the first frame of a bar: for hours, and then the end by an operation with so long a limit."""
    clock = Clock(rng)
    total = rng.randrange(100, 90_000)
    if rng.random() < 0.5:
        hours = rng.uniform(0.6, 5)
        facts = {**RUNNING, "elapsed": hours * 3600 + 1200, "log_age": hours * 3600}
        return Sample(written(rng, [*chatter(rng, clock), f"  {bar(rng, 0, total)}"]), facts)
    limit = rng.choice((7_200_000, 18_000_000))
    end = (
        f"[E ProcessGroupNCCL.cpp:821] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum="
        f"{rng.randrange(2, 90)}, OpType={rng.choice(OPS)}, Timeout(ms)={limit}) ran for {limit + 5607} milliseconds "
        "before timing out."
    )
    return Sample(written(rng, [f"  {bar(rng, 0, total)}", end]), {**ABORTED, "elapsed": limit / 1000 + 900})


def young_at_zero(rng: Random) -> Sample:
    """The first frame of a bar, of a job that has only started or that writes still."""
    clock = Clock(rng)
    age = rng.uniform(5, 700)
    elapsed = age + rng.uniform(10, 100) if rng.random() < 0.5 else rng.uniform(3600, 9000)
    facts = {**RUNNING, "elapsed": elapsed, "log_age": age}
    return Sample(written(rng, [*chatter(rng, clock), f"  {bar(rng, 0, 41250)}"]), facts)


def is_stale_or_hang(sample: Sample, seen: Seen) -> bool:
    """Silent for too long while it runs; a failure by its operation once it ended."""
    return bool({"stale-log", "suspected-wedge"} & seen.flags) or (seen.failed and seen.error_class == "nccl")


def hang_then_fallout(rng: Random) -> Sample:
    """An operation times out, and what follows asks for absurd memory or finds its peers gone."""
    clock = Clock(rng)
    rank = rng.randrange(8)
    hang = nccl_timeout(rng, clock, rank, (rng.choice(OPS), rng.randrange(2, 9999)), rng.randrange(3))
    late = [
        *traceback(rng, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory."),
        *traceback(rng, "RuntimeError: [3] is setting up NCCL communicator: Connection reset by peer", "[rank2]: "),
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.",
    ]
    # Fallout may be flushed before its cause; it is none even so.
    lines = [hang, *late] if rng.random() < 0.6 else [*late, hang]
    return Sample(written(rng, chatter(rng, Clock(rng)) + lines), FAILED, planted={"rank": rank})


def memory_then_hang(rng: Random) -> Sample:
    """Memory really ran out on one rank, and the others waited for it."""
    clock = Clock(rng)
    error = (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {rng.uniform(1, 9):.2f} GiB. GPU 3 has 79 GiB."
    )
    hang = nccl_timeout(rng, clock.later(1800), 3, (rng.choice(OPS), rng.randrange(2, 9999)), rng.randrange(3))
    return Sample(written(rng, [*chatter(rng, Clock(rng)), *traceback(rng, error, "[rank5]: "), hang]), FAILED)


def finished(rng: Random) -> Sample:
    """The last step is reached and saved, and only then something fails."""
    steps = rng.randrange(20, 90_000)
    clock = Clock(rng)
    end = rng.choice(
        (
            [f"{{'loss': 0.81, 'epoch': 3.0, 'global_step/max_steps': '{steps}/{steps}'}}"],
            [f"\r{bar(rng, steps, steps)}"],
        )
    )
    saved = rng.choice(
        (
            [f"[INFO:swift] last_model_checkpoint: /w/out/checkpoint-{steps}"],
            [f"tokenizer config file saved in /w/out/checkpoint-{steps}/tokenizer_config.json"],
            [f"Saving model checkpoint to /w/out/checkpoint-{steps}", "{'train_runtime': 811.1, 'train_loss': 0.9}"],
            [f"INFO Saved checkpoint at /w/ckpts/global_step_{steps}/policy"],
        )
    )
    trouble = rng.choice(
        (
            [stuck(clock, 4)],
            [nccl_timeout(rng, clock, 4, ("BROADCAST", 9), 2), terminate(clock.later(9), 4)],
            traceback(rng, "AttributeError: 'NoneType' object has no attribute 'destroy'"),
            ["terminate called after throwing an instance of 'c10::Error'", *frames(rng)],
        )
    )
    return Sample(written(rng, [row(rng), *end, *saved, *trouble]), ABORTED if rng.random() < 0.5 else FAILED)


def not_finished(rng: Random) -> Sample:
    """Almost the same: another step was saved, or none, or the save itself failed, or it failed before the end."""
    steps = rng.randrange(200, 90_000)
    clock = Clock(rng)
    end = f"\r{bar(rng, steps, steps)}"
    hang = [nccl_timeout(rng, clock, 4, ("BROADCAST", 9), 2), terminate(clock.later(9), 4)]
    saved = f"[INFO:swift] last_model_checkpoint: /w/out/checkpoint-{steps}"
    quota = traceback(rng, "OSError: [Errno 122] Disk quota exceeded")
    lines = rng.choice(
        (
            [end, f"[INFO:swift] last_model_checkpoint: /w/out/checkpoint-{steps - 100}", *hang],
            [end, *hang],
            [end, f"Saving model checkpoint to /w/out/checkpoint-{steps}", *quota],
            [*hang, end, saved],
            [f"\r{bar(rng, steps - 1, steps)}", saved.replace(str(steps), str(steps - 1)), *hang],
        )
    )
    return Sample(written(rng, [row(rng), *lines]), FAILED)


def is_completion(sample: Sample, seen: Seen) -> bool:
    """No failure: the work is done, with a note on its teardown."""
    return not seen.failed and seen.error_class == "teardown"

"""Engines that die, and heartbeats that are none of it."""

from __future__ import annotations

from random import Random

from sweeprules.engine.facts import ABSENT
from tests.cases.collectives import COMPLETED, RUNNING
from tests.cases.sample import FAILED, Sample, Seen
from tests.cases.words import SHM, Clock, chatter, row, traceback, written


def _waits(rng: Random, clock: Clock, prefix: str, seconds: int) -> list[str]:
    waits = []
    for _ in range(rng.randrange(1, 9)):
        line = rng.choice((466, 681))
        waits.append(f"{prefix}{clock.vllm('INFO')} [shm_broadcast.py:{line}] {SHM.format(seconds=seconds)}")
        clock.later(seconds)
    return waits


def unanswered(rng: Random) -> Sample:
    """Heartbeats, and then an engine that raised because nobody answered it."""
    clock = Clock(rng)
    core = f"(EngineCore_DP{rng.randrange(4)} pid={rng.randrange(100, 99_999)}) "
    waits = _waits(rng, clock, core, rng.choice((60, 600)))
    head = f"{core}{clock.later(60).vllm()} [core.py:{rng.randrange(600, 900)}] "
    place = f"line {rng.randrange(99, 999)}, in acquire_read"
    frame = f'{head}  File "/opt/vllm/device_communicators/shm_broadcast.py", {place}'
    lines = [f"{head}Traceback (most recent call last):", frame, f"{head}    raise TimeoutError", f"{head}TimeoutError"]
    if rng.random() < 0.3:
        lines = [frame, f"{head}    raise TimeoutError", f"{head}Traceback (most recent call last):"]
    elif rng.random() < 0.5:
        lines.insert(0, f"{head}EngineCore encountered a fatal error.")
    return Sample(written(rng, chatter(rng, Clock(rng)) + waits + lines), FAILED)


def dead(rng: Random) -> Sample:
    """Heartbeats, a call that was not answered, a dead engine; in one of several wordings."""
    clock = Clock(rng)
    core, server = f"(EngineCore pid={rng.randrange(100, 999)}) ", "(APIServer pid=100) "
    waits = _waits(rng, clock, core, 60)
    head = f"{core}{clock.later(300).vllm()} [core.py:1138] "
    call = rng.choice(("execute_model", "sample_tokens"))
    lines = [
        f"{head}EngineCore encountered a fatal error.",
        f"{head}TimeoutError: RPC call to {call} timed out.",
        f"{server}{clock.vllm()} [async_llm.py:601] AsyncLLM output_handler failed.",
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above).",
    ]
    kept = [line for line in lines if rng.random() < 0.7] or lines
    if not any("timed out" in line or "Dead" in line or "fatal" in line for line in kept):
        kept = lines
    return Sample(written(rng, [*chatter(rng, Clock(rng)), *waits, *kept]), FAILED)


def idle(rng: Random) -> Sample:
    """Heartbeats alone; words that look like a death; an engine that was told to go."""
    clock = Clock(rng)
    lines = _waits(rng, clock, f"(EngineCore pid={rng.randrange(999)}) ", rng.choice((60, 600)))
    lines += rng.choice(
        (
            ["NCCL INFO AllReduce: opCount dead12 sendbuff 0x7f recvbuff 0x7f"],
            ["Trial t__a1 failed: AgentTimeoutError: Agent execution timed out after 1800.0 seconds"],
            [f"{clock.vllm('INFO')} [core.py:73] EngineCore exiting."],
            traceback(rng, "KeyboardInterrupt", f"{clock.vllm()} [core.py:710] "),
        )
    )
    return Sample(written(rng, [row(rng), *lines]), COMPLETED if rng.random() < 0.5 else RUNNING)


def failed_otherwise(rng: Random) -> Sample:
    """Heartbeats of an engine that only waits, and a program that fails of something else."""
    clock = Clock(rng)
    waits = _waits(rng, clock, f"(EngineCore pid={rng.randrange(999)}) ", 60)
    error = rng.choice(("ValueError: too few values", "KeyError: 'reward'", "TimeoutError: no answer from the hub"))
    return Sample(written(rng, [*waits, *traceback(rng, error)]), FAILED)


def idle_or_otherwise(rng: Random) -> Sample:
    """One or the other."""
    return idle(rng) if rng.random() < 0.5 else failed_otherwise(rng)


def is_dead_engine(sample: Sample, seen: Seen) -> bool:
    """A failure by its engine."""
    return seen.failed and seen.error_class in ("engine-dead", "engine-rpc")


def only_heartbeats(rng: Random) -> Sample:
    """A line a minute keeps the log fresh, and nothing else comes."""
    clock = Clock(rng)
    core = f"(EngineCore_DP0 pid={rng.randrange(100, 99_999)}) "
    waits = [line for _ in range(rng.randrange(1, 9)) for line in _waits(rng, clock, core, 60)]
    facts = {**RUNNING, "log_age": rng.uniform(1, 59), "elapsed": 9000, "progress": ABSENT, "liveness": ABSENT}
    return Sample(written(rng, ([row(rng)] if rng.random() < 0.5 else []) + waits), facts)


def heartbeats_and_work(rng: Random) -> Sample:
    """The same lines with a step or another line behind them."""
    sample = only_heartbeats(rng)
    after = row(rng, quoted=rng.random() < 0.5) if rng.random() < 0.7 else "INFO checkpoint is being written"
    return Sample(sample.log + f"{after}\n".encode(), sample.facts)


def is_heartbeat_only(sample: Sample, seen: Seen) -> bool:
    """To be looked into, and by itself no failure: fresh, and nothing but heartbeats since the last progress."""
    return not seen.failed and seen.facts["heartbeats_only"] is True and not seen.facts["fault_lines"]

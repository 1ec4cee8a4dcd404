"""Lines as training programs, launchers and schedulers print them, with values from a seeded generator."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

DAY = datetime(2026, 6, 30, tzinfo=UTC)
OPS = ("ALLREDUCE", "_ALLGATHER_BASE", "BROADCAST", "_REDUCE_SCATTER_BASE", "ALLTOALL_BASE", "COALESCED")
SHM = (
    "No available shared memory broadcast block found in {seconds} seconds. This typically happens when some processes"
    " are hanging or doing some time-consuming work (e.g. compilation, weight/kv cache quantization)."
)


class Clock:
    """A clock that goes forward."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.now = DAY + timedelta(seconds=rng.randrange(3600, 60_000))

    def later(self, seconds: float) -> Clock:
        """The same clock, so much later."""
        self.now += timedelta(seconds=seconds)
        return self

    def glog(self, level: str = "E") -> str:
        """As NCCL's process group prints it."""
        moment = self.now
        return f"{level}{moment.month}{moment.day:02d} {moment:%H:%M:%S}.{self.rng.randrange(10**9):09d}"

    def vllm(self, level: str = "ERROR") -> str:
        """As vLLM prints it."""
        return f"{level} {self.now:%m-%d %H:%M:%S}"

    @property
    def iso(self) -> str:
        return f"{self.now:%Y-%m-%d %H:%M:%S}"


def nccl_timeout(rng: Random, clock: Clock, rank: int, operation: tuple[str, int], age: int) -> str:
    """A collective operation that timed out, in one of three wordings; `age` picks one."""
    op, number = operation
    limit = 600_000 if number % 2 else 1_800_000
    ran = limit + rng.randrange(10, 900)
    if age == 0:
        return (
            f"[E ProcessGroupNCCL.cpp:828] [Rank {rank}] Watchdog caught collective operation timeout: "
            f"WorkNCCL(OpType={op}, TensorShape=[{number}], Timeout(ms)={limit}) ran for {ran} milliseconds before "
            "timing out."
        )
    work = f"WorkNCCL(SeqNum={number}, OpType={op}, NumelIn=8, NumelOut=64, Timeout(ms)={limit}) ran for {ran}"
    if age == 1:
        return (
            f"[rank{rank}]:[{clock.glog()} ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective "
            f"operation timeout: {work} milliseconds before timing out."
        )
    return (
        f"[rank{rank}]:[{clock.glog()} ProcessGroupNCCL.cpp:685] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Watchdog "
        f"caught collective operation timeout: {work} ms before timing out."
    )


def stuck(clock: Clock, rank: int, seconds: int = 480) -> str:
    """The monitor's warning, which alone is none of a failure."""
    return (
        f"[rank{rank}]:[{clock.glog()} ProcessGroupNCCL.cpp:1743] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] "
        f"ProcessGroupNCCL's watchdog got stuck for {seconds} seconds without making progress in monitoring enqueued "
        "collectives."
    )


def dump(clock: Clock, rank: int) -> str:
    """What precedes the end of a process."""
    return (
        f"[rank{rank}]:[{clock.glog()} ProcessGroupNCCL.cpp:1533] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] "
        "ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1"
    )


def terminate(clock: Clock, rank: int) -> str:
    """The end of a process by its monitor."""
    return (
        f"[rank{rank}]:[{clock.glog('F')} ProcessGroupNCCL.cpp:1554] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] "
        "Terminating the process after attempting to dump debug info, due to ProcessGroupNCCL watchdog hang."
    )


def frames(rng: Random) -> list[str]:
    """A C++ stack."""
    return [
        "Exception raised from checkTimeout at ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:632 (most recent "
        "call first):",
        f"frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x{rng.randrange(1 << 44):x} in c10)",
        "frame #1: c10d::ProcessGroupNCCL::ncclCommWatchdog() + 0x14d",
    ]


def traceback(rng: Random, error: str, prefix: str = "") -> list[str]:
    """A Python traceback of our own code."""
    lines = [
        "Traceback (most recent call last):",
        f'  File "/w/train_{rng.randrange(9)}.py", line {rng.randrange(9, 400)}, in <module>',
        "    main()",
        f'  File "/opt/env/lib/python3.11/site-packages/torch/nn/m.py", line {rng.randrange(9, 400)}, in forward',
        "    return self._call(*args)",
        error,
    ]
    return [f"{prefix}{line}" for line in lines]


def bar(rng: Random, done: int, total: int) -> str:
    """A frame of a bar of training."""
    full = "█" * (10 * done // max(total, 1))
    return f"{100 * done // max(total, 1):3d}%|{full:<10}| {done}/{total} [{rng.randrange(60):02d}:11<00:00,  4.50s/it]"


def row(rng: Random, quoted: bool = False) -> str:
    """A row of numbers of training."""
    loss, norm = f"{rng.uniform(0.2, 4):.4f}", f"{rng.uniform(0.1, 3):.3f}"
    if quoted:
        return f"{{'loss': '{loss}', 'grad_norm': '{norm}', 'learning_rate': '1e-05', 'epoch': '0.5'}}"
    return f"{{'loss': {loss}, 'grad_norm': {norm}, 'learning_rate': 1e-05, 'epoch': 0.5}}"


def table(rng: Random, host: str = "n1", exitcode: str = "1") -> list[str]:
    """The launcher's table of failed ranks."""
    line = "-" * 60
    return [
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"
        if rng.random() < 0.5
        else "train.py FAILED",
        line,
        "Failures:",
        "  <NO_OTHER_FAILURES>",
        line,
        "Root Cause (first observed failure):",
        "[0]:",
        f"  time      : 2026-06-30_{rng.randrange(10, 24)}:07:38",
        f"  host      : {host}",
        f"  rank      : {rng.randrange(8)} (local_rank: 0)",
        f"  exitcode  : {exitcode} (pid: {rng.randrange(1000, 60_000)})",
        "  error_file: <N/A>",
        "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html",
    ]


def chatter(rng: Random, clock: Clock) -> list[str]:
    """Lines without meaning, as many logs begin."""
    lines = [
        f"[INFO|trainer.py:2526] {clock.iso},123 >>   Total optimization steps = {rng.randrange(10, 90_000):,}",
        "NCCL INFO AllReduce: opCount dead sendbuff 0x7f count 4096 comm 0x55",
        f"[rank{rng.randrange(8)}]:[{clock.glog('W')} reducer.cpp:1529] Warning: find_unused_parameters=True",
        f"{clock.vllm('INFO')} [core.py:73] EngineCore is waiting for work.",
        "WARNING Unknown vLLM environment variable detected: VLLM_X",
        f"Loading checkpoint shards: {bar(rng, 7, 7)}",
    ]
    return rng.sample(lines, rng.randrange(len(lines)))


def written(rng: Random, lines: list[str], *, steps: bool = False) -> bytes:
    """The lines as a log holds them: some behind a frame of a bar, some coloured, with either line break."""
    out: list[str] = []
    inside = False
    for line in lines:
        if "Traceback (most" in line:
            inside = True
        text = line
        if not inside and steps and rng.random() < 0.2:
            text = f"\r{bar(rng, 0, 30)}{text}" if rng.random() < 0.5 else f"\r{bar(rng, 0, 30)}\r{text}"
        if rng.random() < 0.15:
            text = f"\x1b[{rng.choice((31, 36, 1))}m{text}\x1b[0m"
        out.append(text)
    ending = "\r\n" if rng.random() < 0.1 else "\n"
    return (ending.join(out) + ending).encode()

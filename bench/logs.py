"""How fast the readers of logs are, against `grep -c` of one literal, and how much memory a log of any length takes.

`python -m bench.logs read KIND` reads standard input and prints what it took; `write KIND MB` writes such a log.
"""

from __future__ import annotations

import json
import random
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

from bench.measure import output, processor_s
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.sft_stream import read_sft_pieces
from sweeprules.collectors.metrics.stream import read_rl_pieces
from sweeprules.engine.language.load import load_policy

PIECE = 4 * 1024 * 1024
"""Bytes that are read at once."""
SEED = 17
REPEATS = 5
GREPS = 16
"""Times that grep reads the file in one repeat, so that both sides run about as long: a busy machine favours what ends
at once."""
LONG = 2_000
"""MB of the log whose memory is measured: the short one again and again."""
LEAST, AIM = 0.03, 0.06
"""Share of the speed of grep (design page 10)."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of log: what writes it (blocks of lines, one in five of them of interest), what reads it in pieces,
    and the literal that grep counts."""

    write: Callable[[random.Random], Iterator[bytes]]
    read: Callable[[Iterator[bytes]], Numbers]
    literal: str


# ---------------------------------------------------------------- RL


@cache
def aliases() -> Mapping[str, tuple[str, ...]]:
    """The keys of the shipped metrics."""
    from sweeprules.cli.loading import load_catalogue
    from sweeprules.store.builtin import RULES, schema

    files = {"rules/metrics.yaml": (RULES / "metrics.yaml").read_bytes()}
    policy = load_policy([files], load_catalogue(), schema=schema("rules"))
    return {name: metric.aliases for name, metric in policy.metrics.items()}


def read_rl(pieces: Iterator[bytes]) -> Numbers:
    """Reads an RL log."""
    return read_rl_pieces(pieces, aliases(), ZoneInfo("UTC"))


def rl_log(rng: random.Random) -> Iterator[bytes]:
    """Steps as an asynchronous trainer under Ray prints them, with Ray's colours, among lines of its engines."""
    driver, engine = b"\x1b[36m(entrypoint pid=4711)\x1b[0m ", b"\x1b[32m(Engine pid=4712, ip=10.0.0.7)\x1b[0m "
    step = 0
    while True:
        step += 1
        said = [
            driver + b"2026-08-01 17:45:58.995 | INFO     | trainer:loop:21 - Started: 'step'\n",
            *(_frame(driver, b"Generation Buffer Progress", n, 8) for n in range(1, 7)),
            driver + b"2026-08-01 17:46:01.162 | INFO     | trainer:log:12 - " + _mirror(step, rng) + b"\n",
            _frame(driver, b"Training Step Progress", step, 900_000),
            engine + b"INFO 08-01 17:46:02 [loggers.py:248] Engine 000: Avg prompt throughput: 23.1 tokens/s, Avg "
            b"generation throughput: 812.4 tokens/s, Running: 29 reqs, Waiting: 0 reqs, GPU KV cache usage: 12.2%\n",
        ]
        yield b"".join(line + b"".join(_other(engine, rng) for _ in range(4)) for line in said)


def _frame(prefix: bytes, what: bytes, n: int, m: int) -> bytes:
    return prefix + b"\r%s:  12%%|##        | %d/%d [00:10<00:40, 1.31s/it]\n" % (what, n, m)


def _other(prefix: bytes, rng: random.Random) -> bytes:
    words = rng.getrandbits(64), rng.randrange(4000), rng.random()
    return prefix + b"INFO 08-01 17:46:02 [serving.py:88] request %016x took %d tokens, %.3f s to the first\n" % words


_NAMES = (
    "async/staleness_mean",
    "generate/num_failed_trajectories",
    "loss/avg_final_rewards",
    *(f"policy/log_ratio_abs_{name}" for name in ("max", "mean", "p99")),
    *(f"policy/{name}" for name in ("policy_entropy", "policy_loss", "ppo_clip_ratio", "raw_grad_norm")),
    "policy/tis/imp_ratio_capped_fraction",
    "policy/tis/imp_ratio_mean",
    "reward/avg_pass_at_8",
    "reward/avg_raw_reward",
    "timing/step",
    "timing/wait_for_generation_buffer",
)


def _mirror(step: int, rng: random.Random) -> bytes:
    metrics = {name: rng.random() for name in _NAMES} | {"trainer/global_step": step}
    return b"WANDB_MIRROR kind=train step=%d metrics=%s" % (step, json.dumps(metrics, sort_keys=True).encode())


# ---------------------------------------------------------------- SFT


def read_sft(pieces: Iterator[bytes]) -> Numbers:
    """Reads the log of a fine-tuning run."""
    return read_sft_pieces(pieces, aliases(), ZoneInfo("UTC"))


def sft_log(rng: random.Random) -> Iterator[bytes]:
    """Steps as a Hugging Face trainer prints them over its bar, among lines of other ranks and of the collectives."""
    yield b"[transformers]   Total optimization steps = %d\n" % _SFT_STEPS
    step = 0
    while True:
        step = step % _SFT_STEPS + 1
        frame = b"\r%3d%%|###       | %d/%d [%s<9:59:59,  4.50s/it]" % _drawn(step)
        row = {"loss": f"{rng.random():.4g}", "grad_norm": f"{rng.random():.4g}", "learning_rate": "2.5e-05"}
        said = b"\r" + b" " * 60 + b"\r" + str(row | {"epoch": f"{step / 9000:.4g}"}).encode() + b"\n"
        yield b"".join([frame, said, frame, b"\n", *(_collective(rng) for _ in range(4))])


_SFT_STEPS = 900_000


def _drawn(step: int) -> tuple[int, int, int, bytes]:
    seconds = step * 9 // 2
    spent = b"%d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60)
    return round(100 * step / _SFT_STEPS), step, _SFT_STEPS, spent


def _collective(rng: random.Random) -> bytes:
    words = rng.randrange(64), rng.getrandbits(48), rng.randrange(4000)
    return b"[rank%d]: NCCL INFO comm 0x%012x opCount %d AllReduce: channels in use, nothing to report\n" % words


KINDS: Mapping[str, Kind] = {
    "rl": Kind(rl_log, read_rl, "WANDB_MIRROR"),
    "sft": Kind(sft_log, read_sft, "'loss':"),
}


# ---------------------------------------------------------------- measuring


@dataclass(frozen=True, slots=True)
class Speed:
    """What reading a log took beside `grep -c`: both in MB/s, the share of its speed by wall clock and by processor
    time (of grep and the pipe), and the peak memory in MB."""

    kind: str
    size_mb: float
    grep: float
    reader: float
    share: float
    cpu_share: float
    long_mb: float
    peak_mb: float


def measure(kind: str, size_mb: int, long_mb: int = LONG) -> Speed:
    """Both read the same file from a pipe, in turn; then the file again and again as one log of `long_mb`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        with path.open("wb") as stream:
            write(kind, size_mb, stream.write)
        size = path.stat().st_size / 1e6
        pairs = [(_grep(path, KINDS[kind].literal), _read(kind, path, 1)) for _ in range(REPEATS)]
        times = max(1, round(long_mb / size))
        peak = _read(kind, path, times)["peak_mb"]
    wall, cpu = (statistics.median(one[name] / other[name] for one, other in pairs) for name in ("wall", "cpu"))
    grep, reader = (size / statistics.median(side["wall"] for side in sides) for sides in zip(*pairs, strict=True))
    return Speed(kind, size, grep, reader, wall, cpu, size * times, peak)


def write(kind: str, size_mb: int, out: Callable[[bytes], object]) -> None:
    """A log of about that size, always the same."""
    left = size_mb * 1e6
    for block in KINDS[kind].write(random.Random(SEED)):
        out(block)
        left -= len(block)
        if left <= 0:
            return


def _grep(path: Path, literal: str) -> Mapping[str, float]:
    """The seconds of one pass of many."""
    files = " ".join([shlex.quote(str(path))] * GREPS)
    command = f"cat {files} | LC_ALL=C grep -c {shlex.quote(literal)}"
    before, begun = processor_s(), time.perf_counter()
    output(["sh", "-c", command])
    return {"wall": (time.perf_counter() - begun) / GREPS, "cpu": (processor_s() - before) / GREPS}


def _read(kind: str, path: Path, times: int) -> Mapping[str, float]:
    files = " ".join([shlex.quote(str(path))] * times)
    reader = shlex.join([sys.executable, "-m", "bench.logs", "read", kind])
    found: Mapping[str, float] = json.loads(output(["sh", "-c", f"cat {files} | {reader}"]))
    return found


def _pieces() -> Iterator[bytes]:
    while piece := sys.stdin.buffer.read(PIECE):
        yield piece


def _high_water() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return max((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), default=0.0)


def main() -> int:
    """One measurement, or one log."""
    if sys.argv[1] == "write":
        write(sys.argv[2], int(sys.argv[3]), sys.stdout.buffer.write)
        return 0
    aliases()
    before, begun = processor_s(), time.perf_counter()
    numbers = KINDS[sys.argv[2]].read(_pieces())
    took = {"wall": time.perf_counter() - begun, "cpu": processor_s() - before}
    assert numbers.points
    print(json.dumps({**took, "peak_mb": _high_water()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

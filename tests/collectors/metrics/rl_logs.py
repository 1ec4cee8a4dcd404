"""Logs of RL runs, made up in the shapes in which trainers under Ray print them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from bench.shipped import policy
from sweeprules.cli.loading import load_catalogue
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.language.load import load_policy
from sweeprules.store.builtin import RULES, schema

Metrics = dict[str, Any]


@cache
def shipped() -> Policy:
    """The shipped policy."""
    return policy()


@cache
def aliases() -> Mapping[str, tuple[str, ...]]:
    """The shipped metrics: field -> printed keys."""
    files = {"rules/metrics.yaml": (RULES / "metrics.yaml").read_bytes()}
    metrics = load_policy([files], load_catalogue(), schema=schema("rules")).metrics
    return {name: metric.aliases for name, metric in metrics.items()}


def healthy(step: int, rng: random.Random) -> Metrics:
    """What a step of a run that learns prints."""
    ratio = 0.012 + 0.002 * rng.random()
    return {
        "async/staleness_mean": 0.5,
        "generate/num_failed_trajectories": rng.randrange(3),
        "loss/avg_final_rewards": 0.21 + 0.004 * step,
        "policy/log_ratio_abs_max": 0.24,
        "policy/log_ratio_abs_mean": ratio,
        "policy/log_ratio_abs_p99": 7 * ratio,
        "policy/policy_entropy": 0.71 - 0.003 * step,
        "policy/policy_loss": -0.0062,
        "policy/ppo_clip_ratio": 0.0004,
        "policy/raw_grad_norm": 0.14 + 0.03 * rng.random(),
        "policy/rollout_train_prob_diff_mean": 4.1e7,
        "policy/tis/imp_ratio_capped_fraction": 0.001,
        "policy/tis/imp_ratio_mean": 0.97 + 0.02 * rng.random(),
        "policy/tis/log_ratio_abs_mean": ratio,
        "reward/avg_pass_at_16": 0.55,
        "reward/avg_raw_reward": 0.21 + 0.004 * step,
        "timing/step": 412.5,
        "timing/wait_for_generation_buffer": 96.25,
        "trainer/epoch": 0,
        "trainer/global_step": step,
    }


def falling(step: int, onset: int, rng: random.Random) -> Metrics:
    """The same, but from `onset` on gradient and log ratio grow, and one step later the entropy falls."""
    metrics = healthy(step, rng)
    late = step - onset + 1
    if late > 0:
        metrics["policy/raw_grad_norm"] = 0.9 * 2.6**late
        metrics["policy/log_ratio_abs_mean"] = 0.013 * 2.4**late
        metrics["policy/policy_entropy"] *= 0.8**late
        metrics["reward/avg_raw_reward"] *= 0.7**late
    return metrics


@dataclass
class Log:
    """Writes a log as the driver, its actors and its bars do; `colour` as Ray and loguru colour it."""

    colour: bool = True
    total: int = 60
    lines: list[str] = field(default_factory=list)
    clock: int = 0

    def _prefix(self, actor: str, pid: int) -> str:
        return f"\x1b[36m({actor} pid={pid})\x1b[0m " if self.colour else f"({actor} pid={pid}) "

    @property
    def driver(self) -> str:
        return self._prefix("skyrl_entrypoint", 3310)

    @property
    def actor(self) -> str:
        return self._prefix("AsyncVLLMInferenceEngine", 3402)

    def _stamp(self) -> str:
        self.clock += 7
        hour, rest = divmod(self.clock, 3600)
        return f"2026-08-0{1 + hour // 24} {hour % 24:02}:{rest // 60:02}:{rest % 60:02}.417"

    def say(self, message: str, glued: str = "") -> None:
        """A record of the driver, on the same physical line as a frame when `glued`."""
        green, bold, cyan, off = ("\x1b[32m", "\x1b[1m", "\x1b[36m", "\x1b[0m") if self.colour else ("",) * 4
        where = ":".join(f"{cyan}{part}{off}" for part in ("main", "loop", "7"))
        body = f"{green}{self._stamp()}{off} | {bold}INFO    {off} | {where} - {bold}{message}{off}"
        self.lines.append(f"{self.driver}{glued}{body}\n")

    def bar(self, n: int, elapsed: str = "1:02:11<9:11:02, 95.1s/it", glued: str = "") -> str:
        """A frame of the training bar."""
        text = f"Training Step Progress:  {100 * n // self.total:2}%|█▏        | {n}/{self.total} [{elapsed}]"
        if not glued:
            self.lines.append(f"{self.driver}\r{text}\n")
        return "\r" + text

    def buffer(self, n: int, m: int) -> None:
        """A frame of the buffer's bar, with the cursor moved up behind it."""
        frame = f"Generation Buffer Progress:  {100 * n // m:2}%|██▌       | {n}/{m} [08:31<07:02, 31.1s/it"
        self.lines.append(f"{self.driver}\r{frame}, buffer qsize=2]\x1b[A\n")

    def engine(self, running: int, waiting: int = 0, tps: float = 640.5, at: str = "08-01 04:10:00") -> None:
        """A line of statistics of the inference engine."""
        self.lines.append(
            f"{self.actor}INFO {at} [loggers.py:248] Engine 000: Avg prompt throughput: 18.0 tokens/s, Avg generation "
            f"throughput: {tps} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: 9.1%, "
            "Prefix cache hit rate: 55.0% [repeated 3x across cluster]\n"
        )

    def mirror(self, step: int, metrics: Metrics, kind: str = "train", glued: str = "") -> None:
        """A mirror line."""
        self.say(f"WANDB_MIRROR kind={kind} step={step} metrics={json.dumps(metrics, sort_keys=True)}", glued)

    def console(self, step: int, metrics: Metrics) -> None:
        """The console's dictionary over many lines, floats as texts of four digits."""
        self.say(f"Step {step}: ")
        pairs = sorted(metrics.items())
        for place, (key, value) in enumerate(pairs):
            text = f"'{value:.4f}'" if isinstance(value, float) else repr(value)
            begin, end = "{" if place == 0 else " ", "}" if place == len(pairs) - 1 else ","
            self.lines.append(f"{self.driver}{begin}'{key}': {text}{end}\n")

    def step(self, step: int, metrics: Metrics, *, mirror: bool = True, console: bool = True) -> None:
        """A whole step: timers, the buffer filling, numbers, and the bar behind them."""
        self.say("Started: 'step'")
        self.say("Started: 'wait_for_generation_buffer'")
        for n in range(1, 5):
            self.buffer(n, 4)
        self.engine(21 + step % 5)
        self.say("Finished: 'wait_for_generation_buffer', time cost: 96.25s")
        if mirror:
            self.mirror(step, metrics)
        if console:
            self.console(step, metrics)
        self.say("Finished: 'step', time cost: 412.50s", glued=self.bar(step, glued="yes"))

    @property
    def data(self) -> bytes:
        """The bytes of the log."""
        return "".join(self.lines).encode()


def run(steps: Mapping[int, Metrics], *, total: int = 60, colour: bool = True, **shown: bool) -> bytes:
    """A log with these steps from its start."""
    log = Log(colour, total)
    log.say(f"Total training steps: {total}")
    first = min(steps, default=1)
    if first > 1:
        log.say(f"Successfully loaded complete checkpoint state from global_step_{first - 1}")
    log.bar(first - 1, "00:00<?, ?it/s")
    for step, metrics in steps.items():
        log.step(step, metrics, **shown)
    return log.data


def collapsing(last: int = 17, onset: int = 13) -> dict[int, Metrics]:
    """The steps of a run that comes apart at `onset`."""
    rng = random.Random(7)
    return {step: falling(step, onset, rng) for step in range(1, last + 1)}


def learning(first: int = 1, last: int = 20) -> dict[int, Metrics]:
    """The steps of a run that learns."""
    rng = random.Random(8)
    return {step: healthy(step, rng) for step in range(first, last + 1)}


def pieces(data: bytes, rng: random.Random) -> Iterator[int]:
    """Growing sizes of a log, as sweeps find them, the last one whole."""
    at = 0
    while at < len(data):
        at = min(len(data), at + rng.randrange(1, len(data) // 3))
        yield at

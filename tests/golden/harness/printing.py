"""Lines as trainers print them, from a compact word on each number: `grad_norm: "0.3x11 1.4"`.

    rl:  {step: 30..41, of: 300, every: 5m, grad_norm: "0.3x11 1.4", entropy: "0.50x11 0.30"}   mirror lines and a bar
         zone: Europe/Oslo   is that of the clock; UTC without it
         noise: 200000   prints that many bytes of other lines behind each step
    sft: {step: 100..120, of: 916, every: 20s, loss: "1.2", grad_norm: "0.4"}                   rows and tqdm frames

A value stands for all steps where there is one of it; `nan` is printed as the trainer prints it, `-` leaves the key
out. The last step is printed when the file was last written, or `ago` before the sweep: the lines behind it came later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from tests.golden.harness.scenario import span

KEYS = {
    "reward": "reward/avg_raw_reward",
    "reward_spread": "reward/std_raw_reward",
    "policy_loss": "policy/policy_loss",
    "grad_norm": "policy/raw_grad_norm",
    "entropy": "policy/policy_entropy",
    "log_ratio_mean": "policy/log_ratio_abs_mean",
    "log_ratio_max": "policy/log_ratio_abs_max",
    "z_clip": "policy/z_clip/triggered",
}
"""How SkyRL's trainers call a number."""
_PREFIX = "\x1b[36m(skyrl_entrypoint pid=9077)\x1b[0m "
_TERMS = {"step", "of", "every", "resumed", "ago", "noise", "zone"}
_NOISE = f"{_PREFIX}rollout worker 7: finished a trajectory of 8121 tokens, 43 of 64 wait for the buffer\n"


def printed(given: Mapping[str, Any], now: float) -> Iterator[str]:
    """The lines of one trainer, by the time of the sweep, epoch seconds."""
    for name, lines in (("rl", _rl), ("sft", _sft)):
        if name in given:
            yield from lines(given[name], now - span(given[name].get("ago", given.get("age", "1m"))))


def _rl(given: Mapping[str, Any], at: float) -> Iterator[str]:
    steps = _steps(given["step"])
    every, of = span(given.get("every", "5m")), given.get("of", 300)
    found = {name: series(str(text), len(steps)) for name, text in given.items() if name not in _TERMS}
    yield f"{_PREFIX}Total training steps: {of}\n"
    if "resumed" in given:
        yield f"{_PREFIX}Successfully loaded complete checkpoint state from global_step_{given['resumed']}\n"
    for index, step in enumerate(steps):
        moment = _stamp(at - every * (len(steps) - 1 - index), given.get("zone", "UTC"))
        metrics = [f'"{KEYS[name]}": {_json(values[index])}' for name, values in found.items() if values[index] != "-"]
        body = ", ".join(sorted([*metrics, f'"trainer/global_step": {step}']))
        line = f"{moment} | INFO | trainer:log:88 - WANDB_MIRROR kind=train step={step} metrics={{{body}}}"
        yield f"{_PREFIX}{line}\x1b[0m\n"
        frame = f"{100 * step // of:2d}%|#   | {step}/{of} [{clock(every * (index + 1))}<2:03:04, {every:.1f}s/it]"
        yield f"{_PREFIX}Training Step Progress:  {frame}\n"
        yield _NOISE * (given.get("noise", 0) // len(_NOISE))


def _sft(given: Mapping[str, Any], at: float) -> Iterator[str]:
    steps = _steps(given["step"])
    every, of = span(given.get("every", "20s")), given.get("of", 916)
    found = {name: series(str(text), len(steps)) for name, text in given.items() if name not in _TERMS}
    yield f"[INFO|trainer.py:2526] {_stamp(at - every * len(steps))},101 >>   Total optimization steps = {of:,}\n"
    for index, step in enumerate(steps):
        row = ", ".join(f"'{name}': '{values[index]}'" for name, values in found.items() if values[index] != "-")
        frame = f"{100 * step // of:3d}%|##        | {step}/{of} [{clock(every * (index + 1))}<20:00, {every:5.2f}s/it]"
        yield f"\r{frame}\r                                        \r{{{row}, 'epoch': '{step / of:.2f}'}}\n\r{frame}"
    yield "\n"


def clock(seconds: float) -> str:
    """How a progress bar says for how long it has run."""
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60:02d}:{rest % 60:02d}"


def _steps(word: Any) -> range:
    first, _, last = str(word).partition("..")
    return range(int(first), int(last or first) + 1)


def series(text: str, length: int) -> list[str]:
    """The values that a compact word spells, one of it for all of `length`; ValueError where their number differs."""
    values: list[str] = []
    for word in text.split():
        found = re.fullmatch(r"(.+)x(\d+)", word)
        values.extend([found[1]] * int(found[2]) if found else [word])
    if len(values) == 1:
        values *= length
    if len(values) != length:
        raise ValueError(f"{text!r} has {len(values)} values for {length} steps")
    return values


def _json(value: str) -> str:
    return "NaN" if value == "nan" else value


def _stamp(at: float, zone: str = "UTC") -> str:
    return datetime.fromtimestamp(at, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S")

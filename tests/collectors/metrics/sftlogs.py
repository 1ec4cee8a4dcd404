"""Logs of fine-tuning runs, made up here in the layouts that Hugging Face's trainers and their kin print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.numbers import Numbers
from sweeprules.collectors.metrics.sft import read_sft

UTC = ZoneInfo("UTC")
BANNERS = {
    "bare": "  Total optimization steps = {}\n",
    "five": "[transformers]   Total optimization steps = {}\n",
    "factory": "[INFO|trainer.py:2526] 2026-03-04 05:06:07,089 >>   Total optimization steps = {}\n",
}


def span(seconds: int) -> str:
    """As tqdm prints it."""
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60:02}:{rest % 60:02}"


def frame(n: int, m: int, seconds: float = 0, rate: str = "5.00s/it", desc: str = "") -> str:
    """One drawing of a bar, as tqdm draws it after a carriage return."""
    share = n / m
    return (
        f"\r{desc}{share * 100:3.0f}%|{'█' * int(share * 10):<10}| {n}/{m} [{span(int(seconds))}<{span(99)}, {rate:>8}]"
    )


def row(loss: Any, grad: Any = 0.5, *, quoted: bool = True, **more: Any) -> str:
    """One row of numbers; `quoted` as transformers 5 prints them."""
    values = {"loss": loss, "grad_norm": grad, "learning_rate": 2.5e-05, "epoch": 0.25, **more}
    if quoted:
        return str({key: f"{value:.4g}" if isinstance(value, float) else str(value) for key, value in values.items()})
    return str(values)


def written(text: str) -> str:
    """A row over the bar, as `tqdm.write` puts it there."""
    return f"\r{' ' * 40}\r{text}\n"


def training(
    total: int, upto: int, *, every: int = 10, pace: float = 5.0, start: int = 0, quoted: bool = True, bar: bool = True
) -> str:
    """The bar and the rows of a run from step `start` to `upto`."""
    parts = [frame(0, total, rate="?it/s")] if bar else []
    for step in range(start + 1, upto + 1):
        seconds = (step - start) * pace
        if bar:
            parts.append(frame(step, total, seconds, f"{pace:.2f}s/it"))
        if step % every == 0:
            text = row(1 + 10 / step, 0.5 + step / 1000, quoted=quoted)
            parts.append(written(text) if bar else text + "\n")
            if bar:
                parts.append(frame(step, total, seconds, f"{pace:.2f}s/it"))
    return "".join(parts)


def read(
    text: str | bytes,
    before: Mapping[str, Any] | None = None,
    *,
    start: int = 0,
    whole: bool = True,
    total: int | None = None,
    aliases: Mapping[str, tuple[str, ...]] | None = None,
) -> Numbers:
    """What the reader makes of a log; only its end when not `whole`."""
    data = text.encode() if isinstance(text, str) else text
    chunk = Chunk(data, start, whole_start=whole or before is not None)
    return read_sft(chunk, aliases or {}, UTC, before, whole=whole, total=total)

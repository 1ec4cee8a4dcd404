"""From a world to verdicts: the native evaluator, checked by durable-rules or standing alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import click

from sweeprules.cli.loading import Loaded
from sweeprules.engine.durable.checked import CheckResult, available, check, with_exemptions
from sweeprules.engine.evaluate.native import evaluate
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import Ref, World
from sweeprules.engine.holds import NOTHING_HELD, Held
from sweeprules.engine.verdicts import Flag, Verdict

Engine = Literal["checked", "native", "durable"]


@dataclass(frozen=True, slots=True)
class Decided:
    """Verdicts of one world, and how the check of the evaluator ended; `reproducer` is None when they agree."""

    truths: Truths
    verdicts: Mapping[Ref, Verdict]
    flags: tuple[Flag, ...]
    reproducer: Mapping[str, object] | None
    notes: tuple[str, ...]


def choose_engine(asked: Engine) -> tuple[Engine, str]:
    """The engine that runs, and why it is not the one asked for; a usage error where `durable` can not be had."""
    if asked == "native":
        return "native", ""
    possible, why = available()
    if possible:
        return asked, ""
    if asked == "durable":
        raise click.UsageError(f"--engine durable can not be had here: {why}. Use --engine native.")
    return "native", f"durable-rules can not be had here ({why}); the native evaluator runs alone"


def decide(
    loaded: Loaded, world: World, engine: Engine, *, held: Held = NOTHING_HELD, deadline: float, fault: str
) -> Decided:
    """Judge a world. Verdicts are the native evaluator's, whatever the other finds, crashes on or takes too long for.

    `held` is what rules with `for:` had been before this sweep; `deadline` is in seconds. Under `durable` the same
    verdicts stand.
    """
    truths = evaluate(loaded.policy, world, held)
    verdicts = judge(loaded.policy, world, loaded.catalogue, truths, held)
    if engine == "native":
        return Decided(truths, verdicts, (), None, ())
    exempted = any(verdict.exempted for verdict in verdicts.values())
    compared = with_exemptions(truths, verdicts) if exempted else truths
    result = check(loaded.policy, world, compared, held=held, deadline=deadline, fault=fault)
    flags = (_divergence(result),) if result.diverged else ()
    notes = tuple(f"{rule} was judged by the native evaluator alone: {why}" for rule, why in result.left_out.items())
    if result.skipped:
        ref, why = next(iter(result.skipped.items()))
        count = len(result.skipped)
        notes += (
            f"subjects that were judged by the native evaluator alone: {count}, first {ref.kind} {ref.key}: {why}",
        )
    reproducer = result.divergence.reproducer if result.divergence else None
    if result.failure is not None and result.diverged:
        reproducer = {"failure": str(result.failure.kind), "detail": result.failure.detail}
    return Decided(truths, verdicts, flags, reproducer, notes)


def _divergence(result: CheckResult) -> Flag:
    if result.divergence is not None:
        found = result.divergence.differences
        first = found[0]
        message = (
            f"the evaluators differ on {len(found)} truths, first {first.rule} on {first.ref}: "
            f"native says {first.native}, durable-rules {first.durable}; the verdicts are the native ones"
        )
    else:
        assert result.failure is not None
        message = (
            f"durable-rules could not check this sweep ({result.failure.kind}: {result.failure.detail}); "
            "the verdicts are the native ones"
        )
    return Flag("engine-divergence", "critical", "builtin", message)

"""The facts of an RL run that its log tells, from what was read of it."""

from __future__ import annotations

from sweeprules.collectors.metrics.phases import phase_of
from sweeprules.collectors.metrics.points import Series
from sweeprules.collectors.metrics.state import State
from sweeprules.engine.facts import ABSENT, NOT_READ, Absent, FactValue, Reason, Unknown

_CUT = Unknown(Reason.CUT, "only the end of the log was read")
_NO_LINE = Unknown(Reason.NOT_READ, "no line of metrics was printed yet")


def rl_facts(state: State, series: Series, *, whole: bool, checkpoint: FactValue = NOT_READ) -> dict[str, FactValue]:
    """All facts but the engine's. What the log does not tell at all is left out."""
    never: FactValue = ABSENT if whole else _CUT
    facts: dict[str, FactValue] = {
        **_progress(state, checkpoint, whole=whole),
        "buffer_n": _or(state.buffer, never),
        "buffer_m": _or(state.buffer_of, never),
        "tis_enabled": _or(state.tis, never),
        "has_nan": _nan(state, whole=whole),
        "all_zero_diagnostics": _zero(state, whole=whole),
        "malformed_lines": _malformed(state, whole=whole),
        "failed_trajectories": _or(state.failed if state.failed is not None else state.failed_batch, never),
        "staged_ranks": len(state.staged) if state.staged_of is not None else never,
        "staged_of": _or(state.staged_of, never),
        "overshoot_line": _over(state, whole=whole),
        "metric_families": _nothing_yet(whole=whole) if state.line is None else state.families,
    }
    for name in ("grad_norm", "learning_rate"):
        facts[name] = _newest(series, name, never)
    if state.interval is not None:
        facts["save_interval"] = state.interval if state.interval > 0 else ABSENT
    phase = phase_of(
        state.timer or None,
        done=state.done_at > max(state.line_at, state.resumed_at) or state.over_at > state.line_at,
        stepping=state.stepping or (state.bar is not None),
        stepped=state.stepped,
    )
    if phase:
        facts["phase"] = phase
    return facts


def _nothing_yet(*, whole: bool) -> Unknown:
    return _NO_LINE if whole else _CUT


def _or(value: bool | int | None, otherwise: FactValue) -> FactValue:
    return otherwise if value is None else value


def _progress(state: State, checkpoint: FactValue, *, whole: bool) -> dict[str, FactValue]:
    """`step step_source max_step checkpoint_step`."""
    nothing = _untold(state, whole=whole)
    reached = state.step
    saved = _saved(state, checkpoint)
    if reached is None and isinstance(saved, int):
        reached = saved, "checkpoint"
    return {
        "step": nothing if reached is None else reached[0],
        "step_source": nothing if reached is None else reached[1],
        "max_step": _or(state.max_step, Unknown(Reason.NOT_READ, "no total was read") if whole else _CUT),
        "checkpoint_step": saved,
    }


def _untold(state: State, *, whole: bool) -> Unknown:
    if state.counted:
        return Unknown(Reason.NOT_READ, "the trainer prints no number of the step")
    return Unknown(Reason.NOT_READ, "no bar and no line with a step was printed yet") if whole else _CUT


def _saved(state: State, checkpoint: FactValue) -> FactValue:
    """The checkpoint's own file counts; where it could not be read, the newest line that says what was saved."""
    if isinstance(checkpoint, int) and not isinstance(checkpoint, bool):
        return checkpoint
    if isinstance(checkpoint, Absent) and state.saved is None:
        return ABSENT
    if state.saved is not None:
        return state.saved
    return checkpoint if isinstance(checkpoint, Unknown) else NOT_READ


def _nan(state: State, *, whole: bool) -> FactValue:
    """What the newest line says; an attempt that begins after it has printed none yet."""
    if state.nan is not None and state.resumed_at > state.line_at:
        return _NO_LINE
    return _or(state.nan, _nothing_yet(whole=whole))


def _zero(state: State, *, whole: bool) -> FactValue:
    if state.line is None:
        return _nothing_yet(whole=whole)
    return ABSENT if state.zero is None else state.zero


def _malformed(state: State, *, whole: bool) -> FactValue:
    if whole:
        return state.malformed
    return Unknown(Reason.CUT, f"{state.malformed} in what was read of the log")


def _over(state: State, *, whole: bool) -> FactValue:
    """A run that trained on after the line was not past its last step."""
    if state.over_at >= 0 and state.over_at > state.line_at:
        return True
    return False if whole or state.over_at >= 0 or state.line_at >= 0 else _CUT


def _newest(series: Series, name: str, never: FactValue) -> FactValue:
    newest = series.newest
    if newest is None:
        return _NO_LINE if not isinstance(never, Unknown) else never
    if name in newest.values:
        return newest.values[name]
    return Unknown(Reason.NOT_READ, "no longer printed") if name in series.printed else never

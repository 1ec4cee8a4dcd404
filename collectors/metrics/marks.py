"""Single lines of an RL trainer that say how far a run is: banners, resumes, saves, settings, timers, staging."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.bars import TRIES, count
from sweeprules.collectors.metrics.mirror import MIRROR
from sweeprules.collectors.metrics.phases import DONE, open_timer
from sweeprules.collectors.metrics.settings import read_settings
from sweeprules.collectors.metrics.state import State

_TOTAL = re.compile(rb"(?:Total training steps:[ \t]*|[Mm]ax training steps \()(?P<m>\d[\d,]{0,14})(?=[^\d,])")
_RESUMED = re.compile(rb"(?:Resumed training|complete checkpoint state) from global_step[ \t:=_]*(?P<n>\d{1,15})(?=\D)")
_RESUMES = (b"Resumed training from global_step", b"complete checkpoint state from")
_AT_END = re.compile(rb"Resumed at global_step (?P<n>\d{1,15}) >= max training steps")
_OVER = (b"run is already COMPLETE", b"Training already complete on resume", b"already at/past max_steps")
_SAVED = re.compile(rb"saved checkpoint for global_step_(?P<n>\d{1,15})(?=\D)")
_INTERVALS = ((b"ckpt_interval", re.compile(rb"ckpt_interval['\"]?[ \t]*[:=][ \t]*(?P<n>-?\d{1,9})(?=\D)")),)
_TIS = re.compile(rb"use_tis['\"]?[ \t]*[:=][ \t]*(?P<on>[Tt]rue|[Ff]alse)\b")
_STAGED = re.compile(rb"Staging train_data on this node \(rank (?P<n>\d{1,6})/(?P<m>\d{1,6})\)")
_BATCH = re.compile(rb"Batch generation complete: \d+/\d+ successful, (?P<n>\d{1,9}) failed")
_STEP_DONE = b"Finished: 'step'"
_STEP_BEGUN = b"Started: 'step'"
_STEPS, _ALREADY, _OF_STEP = b"raining steps", b"already", b" global_step"
"""What totals, what words for a run that is over, and what resumes and saves have in common: looked for first, as most
stretches hold none of them. A line of metrics names its step without a blank before it."""
_BEGUN = ((b"Total training steps:", _STEPS), (b"Resumed training from global_step", _OF_STEP))
_MOST_RANKS = 4096


def read_marks(chunk: Chunk, state: State) -> State:
    """The state with what such lines of a stretch say; the newest of each kind counts."""
    changes: dict[str, Any] = {}
    held = frozenset(part for part in (_STEPS, _ALREADY, _OF_STEP) if chunk.text.rfind(part, chunk.begin) >= 0)
    _totals(chunk, held, changes)
    if _OF_STEP in held:
        _resumes(chunk, changes)
    _settings(chunk, changes)
    changes["settings"] = read_settings(chunk, state.settings)
    _staging(chunk, state, changes)
    _timers(chunk, state, held, changes)
    return replace(state, **changes)


def _totals(chunk: Chunk, held: frozenset[bytes], changes: dict[str, Any]) -> None:
    total = last_match(chunk, _STEPS, _TOTAL, back=7) if _STEPS in held else None
    if total is not None:
        changes["total"], changes["total_at"] = count(total["m"]), chunk.position(total.start())
    over_at = max(chunk.text.rfind(sign, chunk.begin) for sign in _OVER) if _ALREADY in held else -1
    if over_at >= 0:
        changes["over_at"] = chunk.position(over_at)
        ended = last_match(chunk, b"Resumed at global_step", _AT_END)
        changes["over"] = int(ended["n"]) if ended is not None else None


def _resumes(chunk: Chunk, changes: dict[str, Any]) -> None:
    resumes = [found for sign in _RESUMES if (found := last_match(chunk, sign, _RESUMED)) is not None]
    resumed = max(resumes, key=lambda found: found.start(), default=None)
    if resumed is not None:
        step, at = int(resumed["n"]), chunk.position(resumed.start())
        changes["resumed"], changes["resumed_at"] = step, at
        if step:
            changes["saved"] = step
    saved = last_match(chunk, b"saved checkpoint for", _SAVED)
    if saved is not None and (resumed is None or saved.start() > resumed.start()):
        changes["saved"] = int(saved["n"])


def _settings(chunk: Chunk, changes: dict[str, Any]) -> None:
    tis = last_match(chunk, b"use_tis", _TIS)
    if tis is not None:
        changes["tis"] = tis["on"].lower() == b"true"
    for literal, regex in _INTERVALS:
        interval = last_match(chunk, literal, regex)
        if interval is not None:
            changes["interval"] = int(interval["n"])
    batch = last_match(chunk, b"Batch generation complete:", _BATCH)
    if batch is not None:
        changes["failed_batch"] = int(batch["n"])


def _staging(chunk: Chunk, state: State, changes: dict[str, Any]) -> None:
    ranks = set(state.staged)
    for found in _matches(chunk, b"Staging train_data on this node", _STAGED):
        if len(ranks) < _MOST_RANKS:
            ranks.add(int(found["n"]))
        changes["staged_of"] = int(found["m"])
    changes["staged"] = tuple(sorted(ranks))


def _timers(chunk: Chunk, state: State, held: frozenset[bytes], changes: dict[str, Any]) -> None:
    text, begin = chunk.text, chunk.begin
    timer = open_timer(chunk)
    if timer is not None:
        changes["timer"] = timer
    done = text.rfind(DONE, begin)
    if done >= 0:
        changes["done_at"] = chunk.position(done)
    started = max((text.rfind(sign, begin) for sign, part in _BEGUN if part in held), default=-1)
    finished = text.rfind(MIRROR + b" kind=train", begin)
    if finished <= started:
        finished = max(finished, text.rfind(_STEP_DONE, begin))
    if started >= 0:
        changes["stepped"] = finished > started
    elif finished >= 0 or state.source:
        changes["stepped"] = True
    changes["stepping"] = text.rfind(_STEP_BEGUN, begin) > started or (started < 0 and state.stepping)


def last_match(chunk: Chunk, literal: bytes, regex: re.Pattern[bytes], back: int = 0) -> re.Match[bytes] | None:
    """The newest match that begins at most `back` bytes before the literal; of `TRIES` places at most."""
    text, begin = chunk.text, chunk.begin
    at = text.rfind(literal, begin)
    for _ in range(TRIES):
        if at < 0:
            return None
        found = regex.search(text, max(begin, at - back), at + len(literal) + 60)
        if found is not None:
            return found
        at = text.rfind(literal, begin, at)
    return None


def _matches(chunk: Chunk, literal: bytes, regex: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
    at = chunk.text.find(literal, chunk.begin)
    while at >= 0:
        found = regex.match(chunk.text, at)
        if found is not None:
            yield found
        at = chunk.text.find(literal, at + len(literal))

"""What `doctor` looks at on this machine: Python, site, engine and store. Each check is a value."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sweeprules.cli.loading import SiteBrokenError, compile_load
from sweeprules.cli.options import counted
from sweeprules.engine.evaluate.words import duration
from sweeprules.engine.language.ast import Policy
from sweeprules.store.db import open_kept
from sweeprules.store.errors import StoreError
from sweeprules.store.lock import Held, take_lock
from sweeprules.store.migrations import STEPS
from sweeprules.store.site import SiteChoice, SiteLoad

Status = Literal["ok", "warning", "error", "skipped"]
ENGINE_SECONDS = 10.0
"""Time for the durable-rules child to start and answer; it takes a third of a second on an idle machine."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: what was found, and what to do where that is not good. `skipped`: not looked at."""

    name: str
    status: Status
    says: str
    hint: str = ""


def python() -> Check:
    """The interpreter and the release."""
    from importlib.metadata import version

    says = f"{platform.python_version()} ({sys.executable}), sweeprules {version('sweeprules')}, {platform.system()}"
    return Check("python", "ok", says)


def site(choice: SiteChoice, load: SiteLoad) -> tuple[Check, Policy | None]:
    """The site's own files but for the records, and its policy when that can be used."""
    named = f"{choice.root} ({choice.how})"
    try:
        loaded = compile_load(choice, load)
    except SiteBrokenError as broken:
        says = f"{named} has {counted(len(broken.problems), 'error')}, first {broken.problems[0]}"
        return Check("site", "error", says, "no sweep starts; `sweeprules validate` prints them all"), None
    if loaded.warnings:
        says = f"{named} has {counted(len(loaded.warnings), 'warning')}, first {loaded.warnings[0]}"
        return Check("site", "warning", says, "`sweeprules validate` prints them all"), loaded.policy
    says = f"{named}, {counted(len(loaded.policy.rules), 'rule')}, policy {loaded.policy.sha256[:12]}"
    return Check("site", "ok", says), loaded.policy


def engine(policy: Policy | None, end: float) -> Check:
    """Whether durable-rules checks the native evaluator here; `end` is in seconds of `time.monotonic()`."""
    from sweeprules.cli.starting import FAULT
    from sweeprules.engine.durable.checked import available, check
    from sweeprules.engine.facts import World

    if fault := os.environ.get(FAULT):
        return Check("engine", "error", f"{FAULT}={fault} breaks durable-rules on purpose", f"unset {FAULT}")
    possible, why = available(min(ENGINE_SECONDS, max(1.0, end - time.monotonic())))
    if not possible:
        hint = "verdicts are those of the native evaluator either way; durable-rules needs Python 3.11 or 3.12"
        return Check("engine", "warning", f"native alone, durable-rules can not be had: {why}", hint)
    if policy is None:
        return Check("engine", "ok", "checked: durable-rules starts")
    result = check(policy, World({}), {}, deadline=max(1.0, end - time.monotonic()))
    if result.status != "equal":
        why = str(result.failure) if result.failure else "it differs on an empty sweep"
        return Check("engine", "error", f"durable-rules can not run this policy: {why}", "run with --engine native")
    if result.left_out:
        says = f"checked, but for {counted(len(result.left_out), 'rule')} that the native evaluator judges alone"
        return Check("engine", "warning", says, "`sweeprules validate --verbose` names them")
    return Check("engine", "ok", "checked: durable-rules takes every rule of the policy")


# ---------------------------------------------------------------- store


def store(state: Path, now: float) -> Iterator[Check]:
    """The store's state: whether it opens, what it holds, and whether a sweep runs. Nothing is made."""
    try:
        kept = open_kept(state, now) if state.is_dir() else None
    except StoreError as error:
        yield Check("store", "error", f"{error.where}: {error.what}", error.hint)
        return
    if kept is None:
        yield _new_store(state)
        return
    with kept:
        try:
            last = kept.last()
            count = len(kept.sweeps())
        except StoreError as error:
            yield Check("store", "error", f"{error.where}: {error.what}", error.hint)
            return
    said = "no sweep yet"
    if last is not None:
        whole = "" if last.complete else ", which was not complete"
        said = f"{counted(count, 'sweep')}, the last {duration(max(0.0, now - last.finished))} ago{whole}"
    yield Check("store", "ok", f"{state}, schema {len(STEPS)}, {said}")
    yield _lock(state, now)


def _new_store(state: Path) -> Check:
    there = next(folder for folder in (state, *state.parents) if folder.exists())
    if not there.is_dir():
        return Check("store", "error", f"{there} is not a folder", "name a folder with --state")
    if not os.access(there, os.W_OK | os.X_OK):
        return Check("store", "error", f"{there} can not be written to", "name another folder with --state")
    return Check("store", "ok", f"{state} holds no sweep yet; the first one makes it")


def _lock(state: Path, now: float) -> Check:
    # The lock is only tried where its last holder seems alive: a sweep that starts in that moment would give way.
    pid = _holder(state / "lock")
    if pid is None or not _alive(pid):
        return Check("lock", "ok", "no sweep is running")
    try:
        lock = take_lock(state, now)
    except StoreError as error:
        return Check("lock", "error", f"{error.where}: {error.what}", error.hint)
    if isinstance(lock, Held):
        age = f" since {duration(max(0.0, now - lock.since))}" if lock.since is not None else ""
        return Check("lock", "ok", f"a sweep is running{age} (process {lock.pid})")
    lock.release()
    return Check("lock", "ok", "no sweep is running")


def _holder(path: Path) -> int | None:
    try:
        with path.open("rb") as file:
            return int(json.loads(file.read(1024))["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

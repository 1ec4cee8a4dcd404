"""The process in which durable-rules runs: it reads frames, asserts facts, runs the agenda and answers what fired.

It is started with `python -P -m sweeprules.engine.durable.child` and never forked. The engine's own host is not used:
its timer threads run actions by themselves, swallow exceptions, re-assert a state fact after each action (which loops
for ever on some rules) and drop the agenda after ten seconds. This loop takes one firing after another from the engine,
in one thread, and whatever goes wrong becomes an error frame.

Requests (head of a frame; a body follows where facts are sent):
`hello` {fault, alarm} -> {ok, version};
`load` {unit, actions} + the ruleset's definition -> {ok};
`batch` {unit, sid, salt, most} + facts -> {fired: [head, j, ...], count} or {error, detail}.
An action is {alias, head, facts}: the alias whose `j` names the subject, the head to report (-1: none) and the facts to
assert, each {t} with `n` and, copied from a bound fact, `k`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from sweeprules.engine.durable.wire import frame, read_frame, split

SENTINEL = "z"
"""Name of the rule that the last fact of each batch fires: the proof that the batch was read to its end."""
_OK, _NOT_HANDLED, _OBSERVED = 0, 1, 2


class BatchError(Exception):
    """Raised inside a batch; `kind` is one of unhandled, collision, unread, loop, engine."""

    def __init__(self, kind: str, detail: str) -> None:
        self.kind = kind
        super().__init__(detail)


@dataclass(frozen=True, slots=True)
class Unit:
    """One ruleset, created once for the life of this process."""

    handle: int
    actions: dict[str, dict[str, Any]]


@dataclass(slots=True)
class Batch:
    """What one batch has fired and derived. `seen` are derived ids, so that a branch that fires again is silent."""

    sid: str
    salt: str
    fired: list[int] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    count: int = 0
    whole: bool = False


class Engine:
    """The rulesets of this process and what is done with them. `native` is the compiled module of durable-rules."""

    def __init__(self, native: Any) -> None:
        self.native = native
        self.units: dict[int, Unit] = {}
        self.fault = ""

    def load(self, head: dict[str, Any], definition: str) -> None:
        """Create one ruleset; a second load of one unit is a protocol error."""
        unit = int(head["unit"])
        if unit in self.units:
            raise BatchError("engine", f"unit {unit} is loaded already")
        handle = self.native.create_ruleset(f"u{unit}", definition)
        self.units[unit] = Unit(handle, head["actions"])

    def run(self, head: dict[str, Any], facts: str) -> Batch:
        """Assert the facts under one sid, fire until nothing is left, forget the sid, and say what fired."""
        unit = self.units[int(head["unit"])]
        batch = Batch(str(head["sid"]), str(head["salt"]))
        code, state = self.native.assert_facts(unit.handle, facts)
        if code != _OK:
            raise BatchError("unhandled" if code == _NOT_HANDLED else "collision", f"asserting facts gave {code}")
        most = int(head["most"])
        started = self.native.start_action_for_state(unit.handle, state)
        message = started[1] if started else None
        while message:
            batch.count += 1
            if batch.count > most:
                raise BatchError("loop", f"over {most} firings in one batch")
            self._fire(unit, batch, json.loads(message))
            message = self.native.complete_and_start_action(unit.handle, state)
        if not batch.whole:
            raise BatchError("unread", "the last fact of the batch was not read")
        if "exception" in json.loads(self.native.get_state(unit.handle, batch.sid)):
            raise BatchError("engine", "the state holds an exception")
        self.native.delete_state(unit.handle, batch.sid)
        return batch

    def _fire(self, unit: Unit, batch: Batch, message: dict[str, dict[str, Any]]) -> None:
        ((rule, bound),) = message.items()
        if rule == SENTINEL:
            batch.whole = True
            return
        action = unit.actions[rule]
        subject = bound[action["alias"]]["j"]
        if action["head"] >= 0:
            key = f"={action['head']}:{subject}"
            if key in batch.seen:
                return
            batch.seen.add(key)
            batch.fired += (action["head"], int(subject))
        for fact in action["facts"]:
            self._derive(unit, batch, fact, subject, bound)

    def _derive(self, unit: Unit, batch: Batch, fact: dict[str, Any], subject: str, bound: dict[str, Any]) -> None:
        rank = bound[fact["from"]]["k"] if "from" in fact else fact.get("k", 0)
        key = f"{fact['t']}:{rank}:{subject}"
        if key in batch.seen:
            return
        batch.seen.add(key)
        derived = {"t": fact["t"], "sid": batch.sid, "id": batch.salt + key, "j": subject, "k": rank, "_one": 1}
        code, _ = self.native.assert_fact(unit.handle, json.dumps(derived))
        if code != _OK:
            raise BatchError("unhandled" if code == _NOT_HANDLED else "collision", f"deriving {fact['t']} gave {code}")

    def answer(self, payload: bytes) -> dict[str, object]:
        """The reply to one request; an error of the engine is a reply too."""
        head, body = split(payload)
        try:
            return self._dispatch(head, body)
        except BatchError as error:
            return {"error": error.kind, "detail": str(error)}
        except (self.native.error, MemoryError, KeyError, ValueError) as error:
            return {"error": "engine", "detail": f"{type(error).__name__}: {error}"[:300]}

    def _dispatch(self, head: dict[str, Any], body: str) -> dict[str, object]:
        match head["op"]:
            case "hello":
                self.fault = str(head["fault"])
                # The alarm's default action ends the process even while the engine loops in C.
                signal.alarm(int(head["alarm"]))
                self._misbehave()
                return {"ok": True}
            case "load":
                self.load(head, body)
                return {"ok": True}
            case "batch":
                batch = self.run(head, body)
                if self.fault == "wrong":
                    batch.fired = [] if batch.fired else self._invented(int(head["unit"]))
                return {"fired": batch.fired, "count": batch.count}
        raise BatchError("engine", "unknown request")

    def _invented(self, unit: int) -> list[int]:
        """All that this ruleset can find, said of the first subject."""
        heads = {action["head"] for action in self.units[unit].actions.values() if action["head"] >= 0}
        return [number for head in sorted(heads) for number in (head, 0)]

    def _misbehave(self) -> None:
        if self.fault == "slow":
            time.sleep(3600)
        if self.fault == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)


def serve(stream: BinaryIO, out: BinaryIO, engine: Engine) -> None:
    """Answer requests until the other side closes."""
    while (payload := read_frame(stream)) is not None:
        out.write(frame(json.dumps(engine.answer(payload)).encode()))
        out.flush()


def _no_core_file() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        resource = importlib.import_module("resource")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> int:
    """Run the child on standard input and output; exit 3 with one frame when durable-rules can not be imported."""
    _no_core_file()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever the library prints must not be taken for a frame.
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), sys.stdout.fileno())
    try:
        native = importlib.import_module("durable_rules_engine")
    except ImportError as error:
        out.write(frame(json.dumps({"error": "unavailable", "detail": str(error)[:300]}).encode()))
        out.flush()
        return 3
    out.write(frame(json.dumps({"ok": True}).encode()))
    out.flush()
    serve(sys.stdin.buffer, out, Engine(native))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Replays cases in a process of its own, kept over many: `python -m tests.engine.whole.replayer` on two pipes.

A request is a length and a pickled (policy, subjects as stored bytes, held); the answer a length and the verdicts as
stored bytes.
"""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import IO

from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import World
from sweeprules.engine.holds import Held
from sweeprules.engine.language.ast import Policy
from sweeprules.store.codec import decode_subject, dump, encode_subjects, encode_verdict, load

ROOT = Path(__file__).resolve().parents[3]
LENGTH = struct.Struct(">I")


def stored(world: World) -> bytes:
    """The subjects of a world as a cassette keeps them."""
    return dump(encode_subjects(world.subjects.values()))


def verdicts(policy: Policy, subjects: bytes, held: Held) -> bytes:
    """The verdicts on stored subjects, as they are stored."""
    rows = load(subjects)
    assert isinstance(rows, list)
    found = [decode_subject(row) for row in rows]
    judged = judge(policy, World({subject.ref: subject for subject in found}), None, None, held)
    return dump([[ref.kind, ref.key, encode_verdict(verdict)] for ref, verdict in judged.items()])


class Replayer:
    """The other process, started once; its hash seed is another one than here."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": str(ROOT)}
        argv = [sys.executable, "-m", "tests.engine.whole.replayer"]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=ROOT)
        self.asked = 0

    def __enter__(self) -> Replayer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def replay(self, policy: Policy, subjects: bytes, held: Held) -> bytes:
        """The verdicts as that process finds them."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.asked += 1
        send(self._process.stdin, pickle.dumps((policy, subjects, dict(held))))
        answer = receive(self._process.stdout)
        assert answer is not None, "the other process ended"
        return answer


def send(stream: IO[bytes], payload: bytes) -> None:
    """One payload with its length."""
    stream.write(LENGTH.pack(len(payload)) + payload)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """The next payload; None at the end."""
    head = stream.read(LENGTH.size)
    return stream.read(LENGTH.unpack(head)[0]) if head else None


def main() -> None:
    while (request := receive(sys.stdin.buffer)) is not None:
        send(sys.stdout.buffer, verdicts(*pickle.loads(request)))


if __name__ == "__main__":
    main()

"""Readers that ask in turns: shared rounds, each with its own answers."""

from __future__ import annotations

from collections.abc import Sequence

from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.trials.steps import Observed, Steps, run
from sweeprules.engine.observation import Observation
from tests.collectors.trials.shell import Login


def asks(word: str, sizes: Sequence[int]) -> Steps[list[str]]:
    seen: list[str] = []
    for number, size in enumerate(sizes):
        observed = yield [Command(("date", f"+%s.{word}{number}")) for _ in range(size)]
        seen.append(",".join(one.argv[1] for one in observed))
    return seen


class Counting(Login):
    def _run(self, key: str, command: Command, number: int) -> Observation:
        return Observation(key, "c", "l", command.argv, (), 0.0, 0.1, 0, b"", b"")


def test_the_longest_reader_decides_how_many_calls_there_are():
    login = Counting()
    found, observed = run(login.ask, {"a": asks("a", [1, 2]), "b": asks("b", [2, 0, 1, 1]), "c": asks("c", [])})
    assert found == {
        "a": ["+%s.a0", "+%s.a1,+%s.a1"],
        "b": ["+%s.b0,+%s.b0", "", "+%s.b2", "+%s.b3"],
        "c": [],
    }
    assert [len(call) for call in login.calls] == [3, 3, 1]
    assert len(observed) == 7


def test_nothing_to_ask_is_no_call():
    login = Login()
    assert run(login.ask, {}) == ({}, ())
    empty: Observed = ()
    assert run(login.ask, {"a": asks("a", [0, 0])}) == ({"a": ["", ""]}, empty)
    assert login.calls == []

"""The child: its protocol, its faults, and what its end looks like from outside."""

from __future__ import annotations

import struct
import sys
import time

import pytest

from sweeprules.engine.durable.encode import json_text
from sweeprules.engine.durable.runner import Child, ChildLostError, DurableFailure, available
from sweeprules.engine.durable.wire import MAX_FRAME, frame, request, split

ONE_RULE = json_text(
    {"r": {"all": [{"m": {"$and": [{"t": "s"}, {"n": 1}]}}]}, "z": {"all": [{"m": {"$and": [{"t": "z"}]}}]}}
)
ACTIONS = {"r": {"alias": "m", "head": 5, "facts": []}}


def fact(**fields: object) -> str:
    return json_text({"sid": "1", "j": "0", **fields})


def lost(deadline: float, fault: str = "", command: tuple[str, ...] = ()) -> DurableFailure:
    with pytest.raises(ChildLostError) as caught, Child(deadline, fault, command) as child:
        child.greet()
    return caught.value.failure


def test_it_fires_what_holds_and_forgets_it_afterwards() -> None:
    body = f"[{fact(t='s', id='a', n=1)},{fact(t='z', id='z')}]"
    with Child(20.0) as child:
        child.ask({"op": "load", "unit": 0, "actions": ACTIONS}, ONE_RULE)
        head: dict[str, object] = {"op": "batch", "unit": 0, "sid": "1", "salt": "", "most": 10}
        for _ in range(3):
            assert child.ask(head, body) == {"fired": [5, 0], "count": 2}


def test_many_requests_run_ahead_of_their_replies_without_blocking() -> None:
    padding = fact(t="s", id="a", n=1, s="x" * 50_000)
    head: dict[str, object] = {"op": "batch", "unit": 0, "sid": "1", "salt": "", "most": 9}
    framed = request(head, f"[{padding},{fact(t='z', id='z')}]")
    with Child(60.0) as child:
        child.ask({"op": "load", "unit": 0, "actions": ACTIONS}, ONE_RULE)
        replies = list(child.stream(framed for _ in range(200)))
    assert len(replies) == 200
    assert all(reply["fired"] == [5, 0] for reply in replies)


def test_it_is_another_process_and_ends_with_its_context() -> None:
    with Child(20.0) as child:
        process = child._process
        assert process.poll() is None
    assert process.poll() == 0


def test_a_crash_is_a_value_that_names_the_signal() -> None:
    assert lost(20.0, "crash") == DurableFailure("crash", "the child was ended by SIGSEGV")


def test_a_slow_child_is_ended_at_the_deadline() -> None:
    started = time.monotonic()
    assert lost(1.0, "slow").kind == "timeout"
    assert time.monotonic() - started < 5


def test_a_child_that_hears_nothing_is_ended_at_the_deadline() -> None:
    assert lost(0.5, "", (sys.executable, "-c", "import time; time.sleep(60)")).kind == "timeout"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("sys.stdout.buffer.write(b'\\xff' * 64)", "garbage"),
        ("sys.stdout.buffer.write(b'\\0\\0\\0\\2[]')", "garbage"),
        ("sys.stdout.buffer.write(b'\\0\\0\\0\\2{{')", "garbage"),
        ("sys.stdout.buffer.write(b'\\0\\0')", "crash"),
        ("sys.exit(7)", "crash"),
    ],
)
def test_garbage_and_early_ends_are_values(text: str, kind: str) -> None:
    failure = lost(10.0, "", (sys.executable, "-c", f"import sys; {text}"))
    assert failure.kind == kind


def test_what_can_not_be_started_is_unavailable() -> None:
    assert lost(5.0, "", ("/nonexistent/python",)).kind == "unavailable"


def test_an_import_that_fails_says_why() -> None:
    text = (
        "import sys; from unittest import mock\n"
        "from sweeprules.engine.durable import child\n"
        "error = ImportError('undefined symbol: PyEval_CallObject')\n"
        "with mock.patch.object(child.importlib, 'import_module', side_effect=error): sys.exit(child.main())"
    )
    failure = lost(10.0, "", (sys.executable, "-c", text))
    assert failure.kind == "unavailable"
    assert "PyEval_CallObject" in failure.detail


def test_it_is_available_where_these_tests_run() -> None:
    assert available() == (True, "")


def test_an_unknown_fault_is_refused_before_anything_starts() -> None:
    assert "typo" in lost(5.0, "typo").detail


def test_frames_are_bounded_and_carry_their_parts() -> None:
    assert split(request({"op": "x"}, "é\n[]")[4:]) == ({"op": "x"}, "é\n[]")
    with pytest.raises(ValueError, match="bound"):
        frame(b"x" * (MAX_FRAME + 1))
    assert frame(b"ab") == struct.pack(">I", 2) + b"ab"


def test_errors_of_the_engine_are_replies_and_the_child_lives_on() -> None:
    with Child(20.0) as child:
        for body in ("{", '{"r": {"all": [{"m": {"$in": {"a": 1}}}]}}'):
            with pytest.raises(ChildLostError, match="engine"):
                child.ask({"op": "load", "unit": 1, "actions": {}}, body)
        with pytest.raises(ChildLostError, match="engine"):
            child.ask({"op": "dance"})
        child.ask({"op": "load", "unit": 0, "actions": ACTIONS}, ONE_RULE)

"""A cluster is asked login by login, within its time, and every attempt is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.transport.allow import AllowList, CommandRefusedError
from sweeprules.collectors.transport.command import Answer, Command, Reply, unsent
from sweeprules.collectors.transport.replay import ReplayTransport
from sweeprules.collectors.transport.session import Session
from sweeprules.engine.observation import Failure, Observation
from sweeprules.engine.site import Reach

SQUEUE = Command(("squeue", "-h", "-o", "%i"))
SACCT = Command(("sacct", "--format=JobID"))
REACH = Reach("openssh", "leonardo", ("login02", "login03"))
DOWN = [Failure.CONNECT, Failure.AUTH, Failure.HOST_KEY, Failure.FORK, Failure.TIMEOUT, Failure.UNFRAMED]


@dataclass
class Scripted:
    """A transport whose logins fail or answer as told: one failure a call, the last one for all further calls."""

    script: dict[str, list[Failure]]
    calls: list[str] = field(default_factory=list)
    seen: list[Command] = field(default_factory=list)
    closed: bool = False

    def call(self, login: str, batch: Sequence[Command], deadline: float) -> Reply:
        turn = self.calls.count(login)
        self.calls.append(login)
        self.seen.extend(batch)
        outcomes = self.script.get(login, [Failure.NONE])
        failure = outcomes[min(turn, len(outcomes) - 1)]
        if failure is not Failure.NONE:
            return unsent(batch, failure, f"{login} said {failure}", 100.0 + len(self.calls), 0.5)
        text = f"{login}#{len(self.calls)}".encode()
        return Reply(tuple(Answer(100.0, 0.1, 0, text, b"", remote_clock=99.0) for _ in batch))

    def close(self) -> None:
        self.closed = True


def session(
    transport: Scripted | ReplayTransport, reach: Reach = REACH, kept: list[Observation] | None = None
) -> Session:
    return Session("leonardo", reach, transport, 1e18, on_observation=None if kept is None else kept.append)


def test_the_host_is_asked_first_and_stays() -> None:
    transport = Scripted({})
    talk = session(transport)
    answers = talk.ask((SQUEUE, SACCT))
    talk.ask((SQUEUE,))
    assert transport.calls == ["leonardo", "leonardo"]
    assert [(answer.id, answer.login, answer.cluster) for answer in answers] == [
        ("leonardo/1.1", "leonardo", "leonardo"), ("leonardo/1.2", "leonardo", "leonardo"),
    ]  # fmt: skip
    assert talk.round_trips == 2 and talk.login == "leonardo"
    assert answers[0].clean and answers[0].remote_clock == 99.0


@pytest.mark.parametrize("failure", DOWN)
def test_a_login_that_fails_is_passed_over_and_kept_in_mind(failure: Failure) -> None:
    kept: list[Observation] = []
    transport = Scripted({"leonardo": [failure]})
    talk = session(transport, kept=kept)
    (answer,) = talk.ask((SQUEUE,))
    assert (answer.login, answer.id, answer.answered) == ("login02", "leonardo/2.1", True)
    talk.ask((SQUEUE,))
    assert transport.calls == ["leonardo", "login02", "login02"]
    assert [(one.id, one.failure) for one in kept][:2] == [("leonardo/1.1", failure), ("leonardo/2.1", Failure.NONE)]
    assert kept[0].detail == f"leonardo said {failure}"
    assert [(one.login, one.failure) for one in talk.attempts][:2] == [("leonardo", failure), ("login02", Failure.NONE)]
    assert talk.logins_tried == ("leonardo", "login02")


def test_when_every_login_failed_all_are_tried_again() -> None:
    transport = Scripted({login: [Failure.CONNECT, Failure.NONE] for login in REACH.logins})
    talk = session(transport)
    (first,) = talk.ask((SQUEUE,))
    (second,) = talk.ask((SQUEUE,))
    assert (first.failure, first.login) == (Failure.CONNECT, "login03")
    assert (second.answered, second.login) == (True, "leonardo")
    assert transport.calls == ["leonardo", "login02", "login03", "leonardo"]


def test_a_login_that_answered_and_then_fails_is_left_for_one_that_has_not() -> None:
    transport = Scripted({"leonardo": [Failure.NONE, Failure.FORK]})
    talk = session(transport)
    assert talk.ask((SQUEUE,))[0].login == "leonardo"
    assert talk.ask((SQUEUE,))[0].login == "login02"
    assert talk.ask((SQUEUE,))[0].login == "login02"
    assert transport.calls == ["leonardo", "leonardo", "login02", "login02"]


def test_a_second_opinion_comes_from_another_login() -> None:
    transport = Scripted({"login02": [Failure.FORK]})
    talk = session(transport)
    talk.ask((SQUEUE,))
    other = talk.ask_next((SQUEUE,))
    assert other is not None and other[0].login == "login03"
    assert transport.calls == ["leonardo", "login02", "login03"]


def test_each_further_opinion_comes_from_a_login_that_has_not_answered_yet() -> None:
    transport = Scripted({})
    talk = session(transport)
    talk.ask((SQUEUE,))
    while talk.ask_next((SQUEUE,)) is not None:
        pass
    assert transport.calls == list(REACH.logins)


def test_a_cluster_with_one_login_has_no_second_opinion() -> None:
    transport = Scripted({})
    assert session(transport, Reach("openssh", "vista")).ask_next((SQUEUE,)) is None
    assert transport.calls == []


@pytest.mark.parametrize(("host_keys", "alarm"), [("strict", True), ("rotating", False)])
def test_a_changed_key_means_the_next_login_and_an_alarm_unless_keys_rotate(host_keys: str, alarm: bool) -> None:
    transport = Scripted({"leonardo": [Failure.HOST_KEY]})
    reach = Reach("openssh", "leonardo", ("login02",), host_keys="rotating" if host_keys == "rotating" else "strict")
    talk = session(transport, reach)
    assert talk.ask((SQUEUE,))[0].login == "login02"
    assert [attempt.alarm for attempt in talk.attempts] == [alarm, False]


def test_after_the_deadline_nothing_is_sent_and_no_login_is_blamed() -> None:
    kept: list[Observation] = []
    transport = Scripted({})
    now = [0.0]
    talk = Session("c", REACH, transport, 10.0, on_observation=kept.append, monotonic=lambda: now[0], now=lambda: 50.0)
    talk.ask((SQUEUE,))
    now[0] = 10.0
    answers = talk.ask((SQUEUE, SACCT))
    assert transport.calls == ["leonardo"]
    assert [answer.failure for answer in answers] == [Failure.DEADLINE, Failure.DEADLINE]
    assert [answer.id for answer in answers] == ["c/2.1", "c/2.2"]
    assert len(kept) == 3 and talk.round_trips == 1
    assert not any(attempt.alarm for attempt in talk.attempts)


def test_a_call_that_ran_into_the_deadline_is_not_repeated_elsewhere() -> None:
    transport = Scripted({"leonardo": [Failure.DEADLINE]})
    assert session(transport).ask((SQUEUE,))[0].failure is Failure.DEADLINE
    assert transport.calls == ["leonardo"]


def test_a_part_that_was_answered_is_an_answer() -> None:
    class Half(Scripted):
        def call(self, login: str, batch: Sequence[Command], deadline: float) -> Reply:
            good = super().call(login, batch, deadline).answers[0]
            return Reply((good, Answer(1.0, 1.0, failure=Failure.TIMEOUT, detail="slow")))

    transport = Half({})
    answers = session(transport).ask((SQUEUE, SACCT))
    assert [answer.failure for answer in answers] == [Failure.NONE, Failure.TIMEOUT]
    assert transport.calls == ["leonardo"]


def test_commands_without_a_timeout_get_the_cluster_s() -> None:
    transport = Scripted({})
    reach = Reach("openssh", "x", command_timeout=7.0)
    session(transport, reach).ask((SQUEUE, Command(SACCT.argv, timeout=3.0)))
    assert [command.timeout for command in transport.seen] == [7.0, 3.0]


def test_a_banned_command_is_refused_before_anything_is_sent() -> None:
    transport = Scripted({})
    talk = Session("c", REACH, transport, 1e18, AllowList(frozenset({"sacct"})))
    with pytest.raises(CommandRefusedError):
        talk.ask((SQUEUE, SACCT))
    assert transport.calls == [] and talk.attempts == []


def test_nothing_asked_is_nothing_sent() -> None:
    transport = Scripted({})
    talk = session(transport)
    assert talk.ask(()) == ()
    assert transport.calls == []
    talk.close()
    assert transport.closed


OUTCOMES = st.sampled_from([Failure.NONE, Failure.NONE, *DOWN, Failure.DEADLINE])
ASKS: tuple[Callable[[Session], object], ...] = (
    lambda talk: talk.ask((SQUEUE, SACCT)),
    lambda talk: talk.ask((SQUEUE,)),
    lambda talk: talk.ask_next((SQUEUE,)),
)


@given(
    st.fixed_dictionaries({login: st.lists(OUTCOMES, min_size=1, max_size=5) for login in REACH.logins}),
    st.lists(st.sampled_from(range(len(ASKS))), max_size=6),
    st.integers(1, 8),
)
def test_a_replay_takes_the_same_way_and_gives_the_same_observations(
    script: dict[str, list[Failure]], asks: list[int], calls: int
) -> None:
    kept: list[Observation] = []
    live = Scripted(script)
    talk = Session(
        "leonardo", REACH, live, 10.0, on_observation=kept.append,
        monotonic=lambda: 10.0 if len(live.calls) >= calls else 0.0, now=lambda: 77.0,
    )  # fmt: skip
    first = [ASKS[ask](talk) for ask in asks]
    again: list[Observation] = []
    recorded = ReplayTransport(kept)
    replayed = session(recorded, kept=again)
    assert [ASKS[ask](replayed) for ask in asks] == first
    assert again == kept
    assert replayed.attempts == talk.attempts
    assert recorded.unasked() == 0


def test_a_replay_says_what_it_was_never_told() -> None:
    kept: list[Observation] = []
    session(Scripted({}), kept=kept).ask((SQUEUE,))
    recorded = ReplayTransport(kept)
    talk = session(recorded)
    assert talk.ask((SQUEUE,))[0].answered
    assert [talk.ask((command,))[0].failure for command in (SQUEUE, SACCT)] == [Failure.NOT_RECORDED] * 2
    items = Command(("xargs", "-0", "stat", "-c", "%n", "--"), items=("/a",))
    assert "holds no further answer" in talk.ask((items,))[0].detail


def test_a_replay_tells_equal_commands_apart_by_their_items() -> None:
    first, second = (Command(("xargs", "-0", "stat", "-c", "%n", "--"), items=(name,)) for name in ("/a", "/b"))
    kept: list[Observation] = []
    live = session(Scripted({}), kept=kept)
    live.ask((first,))
    live.ask((second,))
    recorded = ReplayTransport(kept)
    reply = recorded.call("leonardo", (second, first), 0.0)
    assert [answer.stdout for answer in reply.answers] == [b"leonardo#2", b"leonardo#1"]

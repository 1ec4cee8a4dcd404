"""How many turns an agent took: the steps of `agent/trajectory.json`, whole or by its ends."""

from __future__ import annotations

from dataclasses import dataclass

from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.trials.jsontext import member, objects, parse
from sweeprules.collectors.trials.partial import last_step
from sweeprules.engine.facts import Reason, Unknown

JUDGE = b"judge API error"


@dataclass(frozen=True, slots=True)
class Turns:
    """The steps of one trajectory, and those of the agent's own making (None when it was not read whole).

    `steps` counts what the user and the system said too; `agent` leaves out what was copied from an earlier context.
    """

    steps: int
    agent: int | None


def read_turns(head: bytes, tail: bytes, *, whole: bool) -> Turns | Unknown:
    """One trajectory; `whole` says that `head` is all of it. `malformed` while it is written, `cut` without steps."""
    if not whole:
        last = last_step(tail)
        return Unknown(Reason.CUT, "no step stands at the end of the trajectory") if last is None else Turns(last, None)
    found = parse(head)
    if isinstance(found, Unknown):
        return found
    steps = found if isinstance(found, list) else member(found, "steps")
    if not isinstance(steps, list):
        return Unknown(Reason.MALFORMED, "the trajectory has no steps")
    return Turns(len(steps), _agent_steps(steps))


def _agent_steps(steps: list[Json]) -> int | None:
    told = [one for one in objects(steps) if "source" in one]
    if steps and not told:
        return None
    return sum(one["source"] == "agent" and not _copied(one) for one in told)


def _copied(step: dict[str, Json]) -> bool:
    return step.get("is_copied_context") is True or member(step, "extra", "is_copied_context") is True


def refused_keys(output: bytes) -> int:
    """Lines of a verifier's output in which the judge refused its key with status 401."""
    count = 0
    at = output.find(JUDGE)
    while at >= 0:
        end = output.find(b"\n", at)
        end = len(output) if end < 0 else end
        count += b"401" in output[at:end]
        at = output.find(JUDGE, end)
    return count

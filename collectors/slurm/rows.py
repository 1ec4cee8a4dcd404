"""What one source says of one job: facts by their catalogue names, and the line they were read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sweeprules.engine.facts import FactValue
from sweeprules.engine.observation import Observation


@dataclass(frozen=True, slots=True)
class Row:
    """One job as one source has it. `facts` are keyed by catalogue names; `line` is what was printed, shortened.

    `submitted` tells attempts of one id apart (a requeue renews it); None when unread. `state` is the mapped state's
    word, or `""` when it is unknown (then `facts["state"]` says why).
    """

    job_id: str
    observation: str
    facts: Mapping[str, FactValue]
    line: str
    state: str = ""
    submitted: float | None = None
    host: str = ""
    raw_id: str = ""


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step of a job: its name after the dot, its state word and exit as accounting has them."""

    job_id: str
    step: str
    state: str
    exit: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One source's whole answer. `why` is empty when it may be believed; `problems` are records that could not be read.

    `job_lines` counts the records of jobs, the unreadable ones included.
    """

    observation: Observation
    rows: Mapping[str, Row] = field(default_factory=dict)
    steps: Mapping[str, tuple[StepRow, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    why: str = ""
    job_lines: int = 0

    @property
    def ok(self) -> bool:
        """True when framed, exit 0, nothing on stderr, nothing cut and nothing unaccounted for."""
        return not self.why


def distrust(observation: Observation) -> str:
    """Why an answer may not be believed; empty when it may: framed, exit 0, stderr empty, nothing cut."""
    if not observation.answered:
        return observation.detail or str(observation.failure) or "no closing frame"
    if observation.cut:
        # A command whose output is cut ends by a broken pipe: its exit and its complaint are ours.
        return f"more than the {len(observation.stdout)} bytes that are read of one answer"
    stderr = observation.stderr.decode("utf-8", "replace").strip()
    if observation.exit != 0:
        return f"exit {observation.exit}: {first_line(stderr)}".rstrip(": ")
    return f"stderr: {first_line(stderr)}" if stderr else ""


def first_line(text: str, most: int = 200) -> str:
    """The first line, shortened, for messages."""
    return text.strip().partition("\n")[0][:most]


def shown(text: str, most: int = 300) -> str:
    """What a source quotes: at most `most` characters, the separators turned into bars."""
    return text[:most]

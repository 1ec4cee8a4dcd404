"""The chunks of a data generation: how many there are, and how far they have come."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from sweeprules.collectors.slurm.text import sort_key
from sweeprules.collectors.trials.counts import chunk_facts
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Ref, Subject, Unknown

NAMES = ("chunks_total", "chunks_done", "chunks_running", "chunks_failed")
FIRST_WINDOW = 24 * 3600.0
"""Seconds that a first sweep looks back: what was submitted since then it has seen."""
_CHUNK = re.compile(r"_chunk(\d{1,6})(?!\d)")
_STATE_UNKNOWN = Unknown(Reason.NOT_READ, "the state of a chunk is not known")


def with_chunks(subjects: Sequence[Subject], buckets: Mapping[Ref, str]) -> list[Subject]:
    """The subjects of `join_links` with `chunks_*` on the jobs of data generations: absent for one without chunks."""
    jobs = {subject.ref: subject for subject in subjects if subject.ref.kind == "job"}
    facts: dict[Ref, Mapping[str, FactValue]] = {}
    for run in subjects:
        if run.ref.kind != "run":
            continue
        links = [jobs[ref] for ref in run.relations["links"].members if ref in jobs]
        own = [link for link in links if buckets.get(link.ref) == "datagen"]
        if own:
            found = _facts(links)
            facts |= {link.ref: found for link in own}
    return [
        replace(one, facts=MappingProxyType({**one.facts, **facts[one.ref]})) if one.ref in facts else one
        for one in subjects
    ]


def chunk_number(job: Subject) -> int | None:
    """The number of a job's chunk by its name, else by its place in an array; None for one without."""
    name = job.get("name")
    found = _CHUNK.search(name) if isinstance(name, str) else None
    if found is not None:
        return int(found[1])
    index = job.get("array_index")
    return index if isinstance(index, int) and isinstance(job.get("array_id"), str) else None


def _facts(links: Sequence[Subject]) -> dict[str, FactValue]:
    numbered = [(number, link) for link in links if (number := chunk_number(link)) is not None]
    if not numbered:
        return dict.fromkeys(NAMES, _unnumbered(links))
    by_chunk: dict[int, list[Subject]] = {}
    for number, link in numbered:
        by_chunk.setdefault(number, []).append(link)
    states = {str(number): _state(by_chunk[number]) for number in sorted(by_chunk)}
    return chunk_facts(states, _total(by_chunk))


def _unnumbered(links: Iterable[Subject]) -> FactValue:
    """Absent for a job without chunks; a name that may have been cut may have lost its chunk."""
    cut = any(link.get("name_cut") is not False and "name_cut" in link.facts for link in links)
    return Unknown(Reason.CUT, "the name may have lost the number of its chunk") if cut else ABSENT


def _state(jobs: Sequence[Subject]) -> str | Unknown:
    """Where a chunk stands: as the last job that was submitted for it."""
    state = max(jobs, key=_submitted).get("state")
    return state if isinstance(state, str) else _STATE_UNKNOWN


def _submitted(job: Subject) -> tuple[float, tuple[int, int, int]]:
    submitted, job_id = job.get("submitted"), job.get("job_id")
    return (
        float(submitted) if isinstance(submitted, int | float) else 0.0,
        sort_key(job_id) if isinstance(job_id, str) else (0, 0, 0),
    )


def _total(by_chunk: Mapping[int, Sequence[Subject]]) -> int | None:
    """How many chunks there are, where none can be missing: counted from 0, or from 1 with no older one unseen."""
    numbers = sorted(by_chunk)
    whole = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    if not whole or numbers[0] > 1:
        return None
    if numbers[0] == 1 and not any(_seen_from_the_start(job) for job in by_chunk[1]):
        return None
    return len(numbers)


def _seen_from_the_start(job: Subject) -> bool:
    """Whether a chunk before this one, submitted with it, would have been listed when this one was first seen."""
    submitted, first = job.get("submitted"), job.get("first_seen")
    if not isinstance(submitted, int | float) or not isinstance(first, int | float):
        return False
    return submitted >= first - FIRST_WINDOW

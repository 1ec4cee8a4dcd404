"""What a sweep starts from: the store and the machine's clock, or a cassette."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sweeprules.cli.deciding import Engine, choose_engine
from sweeprules.cli.loading import Loaded
from sweeprules.cli.sweep import Start
from sweeprules.collectors.prior import COLLECTORS, Prior
from sweeprules.collectors.transport.command import Transport
from sweeprules.collectors.transport.connect import transport_for
from sweeprules.collectors.transport.replay import ReplayTransport
from sweeprules.engine.observation import Observation
from sweeprules.engine.site import ClusterRecord
from sweeprules.store.cassette import Cassette, read_cassette
from sweeprules.store.kept import StartingPoint, new_sweep_id

if TYPE_CHECKING:
    from sweeprules.cli.run import Request

FAULT = "SWEEPRULES_ENGINE_FAULT"


def start_of(loaded: Loaded, request: Request, before: StartingPoint, nonce: str) -> tuple[Start, tuple[str, ...]]:
    """The start of a live sweep, and notes for the person who asked.

    A cluster whose record says `via: replay` answers from its cassette, with the nonce that was sent then; when no
    `--now` is given, the newest of those cassettes sets the clock.
    """
    engine, note = choose_engine(cast(Engine, request.engine))
    tapes = _tapes(loaded, request.chosen)
    started = time.time()
    now = request.now
    if now is None:
        now = max((tape.now for tape in tapes.values()), default=started)
    since = request.since
    start = Start(
        loaded=loaded,
        id=new_sweep_id(now, nonce[:6]),
        now=now,
        started=started,
        nonce=nonce,
        before=before,
        engine=engine,
        deadline=request.end,
        connect=_connector(tapes),
        since=None if isinstance(since, str) else now + since if since < 0 else since,
        chosen=request.chosen,
        fault=os.environ.get(FAULT, ""),
        nonces={name: tape.nonce for name, tape in tapes.items()},
        priors={name: _prior_of(tape) for name, tape in tapes.items()},
    )
    return start, (note,) if note else ()


def _tapes(loaded: Loaded, chosen: frozenset[str] | None) -> dict[str, Cassette]:
    records = [r for r in loaded.load.site.records if isinstance(r, ClusterRecord) and r.enabled]
    wanted = [r for r in records if r.reach.via == "replay" and (chosen is None or r.name in chosen)]
    return {record.name: read_cassette(Path(record.reach.cassette)) for record in wanted}


def _connector(tapes: Mapping[str, Cassette]) -> Callable[[ClusterRecord], Transport]:
    def connect(record: ClusterRecord) -> Transport:
        tape = tapes.get(record.name)
        return transport_for(record, tape.observations if tape is not None else ())

    return connect


def replay_start(loaded: Loaded, tape: Cassette, deadline: float, fault: str = "") -> Start:
    """The start that a cassette recorded: its clock, ids, prior state and answers; nothing is asked of any cluster."""
    clock = cast(Mapping[str, object], tape.prior.get("clock") or {})
    before = StartingPoint.from_json({k: v for k, v in tape.prior.items() if k != "clock"})
    finished = float(cast(float, clock.get("finished", tape.now)))
    chosen = cast("list[str] | None", clock.get("chosen"))
    return Start(
        loaded=loaded,
        id=tape.sweep_id,
        now=tape.now,
        started=float(cast(float, clock.get("started", tape.now))),
        nonce=tape.nonce,
        before=before,
        engine=cast(Engine, tape.engine),
        deadline=deadline,
        connect=lambda record: ReplayTransport(_of(tape.observations, record.name)),
        clock=lambda: finished,
        since=cast("float | None", clock.get("since")),
        chosen=None if chosen is None else frozenset(chosen),
        fault=fault,
        nonces=cast("Mapping[str, str]", clock.get("nonces") or {}),
        priors={
            name: Prior.from_data(data) for name, data in cast("Mapping[str, Any]", clock.get("priors") or {}).items()
        },
    )


def _prior_of(tape: Cassette) -> Prior:
    site = cast("Mapping[str, Any]", tape.prior.get("site") or {})
    return Prior.from_data(site.get(COLLECTORS) or {})


def _of(observations: Iterable[Observation], cluster: str) -> list[Observation]:
    return [one for one in observations if one.cluster == cluster]


def with_engine(start: Start, engine: Engine) -> Start:
    """The same start, judged by another engine."""
    return replace(start, engine=engine)

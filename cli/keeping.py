"""What is kept of a sweep: the store, its cassette, the handoff documents. Files first, the database last."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from sweeprules.cli import marks
from sweeprules.cli.held import HOLDS, to_data
from sweeprules.cli.reads import relations
from sweeprules.cli.sweep import Start, Swept
from sweeprules.collectors.prior import COLLECTORS
from sweeprules.handoffs.identity import path_of
from sweeprules.store.cassette import MAX_FILE, Cassette
from sweeprules.store.codec import Json
from sweeprules.store.db import Store
from sweeprules.store.errors import StoreError
from sweeprules.store.files import read_bounded, write_atomic
from sweeprules.store.kept import SweepInfo, SweepRecord
from sweeprules.store.policies import KeptPolicy, save_policy

CLOCK = "clock"
"""In a cassette's prior state: when the sweep started and ended, so that a replay says the same."""


def cassette_of(start: Start, swept: Swept) -> Cassette:
    """The cassette from which the same report can be made again."""
    prior: dict[str, Json] = {
        **start.before.to_json(),
        CLOCK: {
            "started": start.started,
            "finished": swept.finished,
            "since": start.since,
            "chosen": None if start.chosen is None else [*sorted(start.chosen)],
            "nonces": dict(start.nonces),
            "priors": {name: prior.to_data() for name, prior in start.priors.items()},
        },
    }
    return Cassette(
        sweep_id=start.id,
        now=start.now,
        nonce=start.nonce,
        engine=start.engine,
        policy_sha256=start.loaded.policy.sha256,
        site=str(start.loaded.choice.root.name),
        prior=prior,
        observations=swept.observations,
        files=start.loaded.load.files,
    )


def keep(store: Store, state: Path, start: Start, swept: Swept) -> None:
    """Keep a sweep whole or not at all. Raises `StoreError`.

    Handoff documents are written before the database, so that a path in a kept report always leads to a file; one that
    a killed sweep left behind is written again by the next.
    """
    for handoff in swept.handoffs:
        write_atomic(state / path_of(handoff.id), handoff.text.encode("utf-8", "backslashreplace"))
    save_policy(state, KeptPolicy(start.loaded.policy, start.loaded.types, relations(start.loaded.policy)))
    info = SweepInfo(
        start.id, start.started, swept.finished, start.now, swept.complete, start.engine, start.loaded.policy.sha256
    )
    site = start.loaded.load.site
    store.save_sweep(
        SweepRecord(
            info=info,
            clusters=swept.statuses,
            report=swept.document,
            subjects=swept.world.subjects.values(),
            verdicts=swept.verdicts,
            rows=swept.rows,
            prior_site={
                COLLECTORS: swept.prior.to_data(),
                HOLDS: to_data(swept.held),
                marks.STEPS: marks.to_data(swept.marks),
            },
            since=swept.since,
            cassette=cassette_of(start, swept),
        )
    )
    store.prune(start.now, site.keep_sweeps, site.keep_cassettes)


def keep_world(store: Store, state: Path, start: Start, swept: Swept) -> None:
    """Keep what the sweep read in the form that a backtest looks for; raises nothing, for it can be made again."""
    from sweeprules.cli.looking import keep_live
    from sweeprules.store.worlds import FOLDER, Worlds

    with contextlib.suppress(StoreError, OSError):
        path = store.cassette_path(start.id)
        if path is not None:
            keep_live(Worlds(state / FOLDER), read_bounded(path, MAX_FILE), start, swept)


def save_reproducer(state: Path, start: Start, swept: Swept) -> Path | None:
    """The reproducer of a difference between the evaluators, as a file; None when they agree."""
    if swept.reproducer is None:
        return None
    path = state / "divergence" / f"{start.id}.json"
    write_atomic(path, json.dumps(swept.reproducer, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace"))
    return path

"""A scenario's sweeps again from recorded answers alone: as a replay, and as the world that was kept of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sweeprules.cli import looking
from sweeprules.cli.loading import choose_site, compile_site
from sweeprules.engine.facts import Ref, Subject, World
from sweeprules.store.cassette import parse_cassette
from sweeprules.store.worlds import Worlds
from tests.golden.harness.run import Runner


def same_again(runner: Runner) -> Iterator[dict[Ref, Subject]]:
    """The subjects of the world kept of each sweep, which a replay and a reading of its cassette came to as well."""
    known: set[Path] = set()
    for step in runner.scenario.steps:
        seen = runner.sweep(step)
        (tape,) = set((runner.state / "cassettes").iterdir()) - known
        known.add(tape)
        again = runner.command("replay", str(tape), "--output", "json")
        assert json.loads(again.stdout) == seen.document
        data = tape.read_bytes()
        loaded = compile_site(choose_site(runner.world.site))
        kept = looking.kept(Worlds(runner.state / "worlds"), looking.key_of(data, looking.site_key(loaded)))
        made, whole = looking.Reader(parse_cassette(data, str(tape))).see(loaded)
        assert whole and kept is not None
        assert kept.world == World({ref: replace(one, sources={}) for ref, one in made.world.subjects.items()})
        yield dict(kept.world.subjects)

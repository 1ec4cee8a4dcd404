"""A sweep leaves its world for the backtests to come: the one that a replay of its cassette makes."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from sweeprules.cli import looking
from sweeprules.cli.loading import choose_site, compile_site
from sweeprules.cli.main import cli
from sweeprules.engine.facts import World
from sweeprules.store.cassette import parse_cassette
from sweeprules.store.worlds import Worlds
from tests.cli.conftest import Sweeprules

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("engine", ["native", "checked"])
def test_the_world_of_each_sweep_is_that_of_its_replay(engine: str, tmp_path: Path) -> None:
    arguments = ["run", "--site", str(ROOT / "demo"), "--state", str(tmp_path), "--engine", engine]
    for _ in range(2):
        assert CliRunner().invoke(cli, arguments, standalone_mode=False).return_value == 3
    loaded = compile_site(choose_site(ROOT / "demo"))
    found = list((tmp_path / "cassettes").iterdir())
    assert len(found) == 2
    for path in found:
        data = path.read_bytes()
        kept = looking.kept(Worlds(tmp_path / "worlds"), looking.key_of(data, looking.site_key(loaded)))
        seen, whole = looking.Reader(parse_cassette(data, str(path))).see(loaded)
        assert whole
        assert kept is not None
        assert (kept.id, kept.now, kept.last, kept.chosen, kept.holds) == (
            seen.id, seen.now, seen.last, seen.chosen, seen.holds,
        )  # fmt: skip
        assert kept.world == _bare(seen.world)


def _bare(world: World) -> World:
    return World({ref: replace(subject, sources={}) for ref, subject in world.subjects.items()})


def test_a_first_backtest_reads_no_cassette(
    tmp_path: Path, sweeprules: Sweeprules, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweeprules("run", "--site", ROOT / "demo", "--state", tmp_path)
    trial = tmp_path / "rules"
    trial.mkdir()
    (trial / "x.yaml").write_text("policy: 1\nparams: {stale_floor: {default: 30h, why: tried}}\n")

    def refused(*_: object) -> None:
        raise AssertionError("a cassette was read")

    monkeypatch.setattr(looking.Reader, "see", refused)
    found = sweeprules("backtest", "--rules", ROOT / "demo", ROOT / "demo", "--state", tmp_path)
    assert found.exit == 0, found.err


def test_a_sweep_that_ran_out_of_time_leaves_none(tmp_path: Path, sweeprules: Sweeprules) -> None:
    started = time.monotonic()
    sweeprules("run", "--site", ROOT / "demo", "--state", tmp_path, "--deadline", "1ms")
    assert time.monotonic() - started < 60
    worlds = tmp_path / "worlds"
    assert not worlds.exists() or not list(worlds.iterdir())

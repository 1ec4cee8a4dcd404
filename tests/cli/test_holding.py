"""Rules that hold over sweeps, through `run` on a recorded cluster: what a blind sweep neither starts nor ends."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sweeprules.engine.observation import Observation
from sweeprules.store.cassette import Cassette, read_cassette
from tests.cli.conftest import Sweeprules

DEMO = Path(__file__).parents[2] / "demo"
JOB = "48195"
HOUR = 3600.0
RULES = """policy: 1
title: Held
flags:
  twice: {subject: job, severity: info, exemptible: true, why: "there in two looks"}
  long: {subject: job, severity: info, exemptible: true, why: "there for three hours"}
  back: {subject: job, severity: info, exemptible: true, why: "was elsewhere, and is there again"}
  same: {subject: job, severity: info, exemptible: true, why: "of the same bucket as before"}
  flaps: {subject: job, severity: info, exemptible: true, why: "there, elsewhere, and there again"}
rules:
  - id: our.flaps
    on: job
    when: {all: [{partition: boost}, {previous.partition: other}, {previous.previous.partition: boost}]}
    then: {flag: flaps}
  - {id: our.same, on: job, when: {previous.bucket: {eq: .bucket}}, then: {flag: same}}
  - {id: our.twice, on: job, when: {partition: boost}, for: 2 sweeps, then: {flag: twice}}
  - {id: our.long, on: job, when: {partition: boost}, for: 3h, then: {flag: long}}
  - {id: our.back, on: job, when: {all: [{partition: boost}, {previous.partition: other}]}, then: {flag: back}}
"""


class Recorded:
    """A site of one recorded cluster whose recording is changed between sweeps."""

    def __init__(self, root: Path, sweeprules: Sweeprules) -> None:
        self.site, self.state = root / "site", root / "state"
        self._run = sweeprules
        shutil.copytree(DEMO, self.site)
        for other in ("cirrus", "tundra"):
            shutil.rmtree(self.site / "ops" / other)
        (self.site / "rules" / "held.yaml").write_text(RULES)
        self._tape = self.site / "ops" / "borealis" / "recorded.cassette"
        self._whole = read_cassette(self._tape)

    def sweep(self, look: str, hour: float, engine: str) -> dict[str, Any]:
        """One sweep that sees the job `there` or `moved` to another partition, or that is `blind`."""
        self._seen(look).write(self._tape)
        now = datetime.fromtimestamp(self._whole.now + hour * HOUR, UTC).isoformat()
        found = self._run(
            "run", "--site", self.site, "--state", self.state, "--output", "json", "--now", now, "--engine", engine
        )
        assert found.exit in (0, 3), found.err
        document: dict[str, Any] = json.loads(found.out)
        assert document["clusters"][0]["status"] == ("unreachable" if look == "blind" else "swept")
        return document

    def _seen(self, look: str) -> Cassette:
        observations = self._whole.observations
        if look == "blind":
            observations = ()
        elif look == "moved":
            observations = tuple(map(_moved, observations))
        return replace(self._whole, observations=observations)


def _moved(seen: Observation) -> Observation:
    lines = [line.replace(b"boost", b"other") if JOB.encode() in line else line for line in seen.stdout.split(b"\n")]
    return replace(seen, stdout=b"\n".join(lines))


def flags(document: dict[str, Any]) -> dict[str, str]:
    """The flags of the job with the first sweep that raised each; none where a blind sweep has no row of it."""
    found = [flag for job in document["jobs"] if job["job_id"] == JOB for flag in job["flags"]]
    return {flag["name"]: flag["since"] for flag in found if flag["name"] in ("twice", "long", "back", "flaps")}


def looked(site: Recorded, looks: Sequence[str], engine: str, apart: float = 2.0) -> Iterator[set[str]]:
    for number, look in enumerate(looks):
        yield set(flags(site.sweep(look, number * apart, engine)))


@pytest.fixture
def recorded(tmp_path: Path, sweeprules: Sweeprules) -> Recorded:
    return Recorded(tmp_path, sweeprules)


NOTHING: set[str] = set()


@pytest.mark.parametrize(
    ("engine", "looks", "expected"),
    [
        # A sweep that could not see does not end what had begun: the third is the second look, four hours on.
        ("checked", ("there", "blind", "there"), (NOTHING, NOTHING, {"twice", "long"})),
        # It does not begin anything either, and its time does not count.
        ("native", ("blind", "there", "there"), (NOTHING, NOTHING, {"twice"})),
        # A look that said no ends it; what begins anew waits for as long again.
        ("checked", ("there", "moved", "there", "there"), (NOTHING, NOTHING, {"back", "flaps"}, {"twice"})),
        # Between a yes and a no a blind sweep leaves both as they are.
        (
            "native",
            ("there", "blind", "moved", "blind", "there"),
            (NOTHING, NOTHING, NOTHING, NOTHING, {"back", "flaps"}),
        ),
    ],
)
def test_holds(engine: str, looks: Sequence[str], expected: Sequence[set[str]], recorded: Recorded) -> None:
    assert tuple(looked(recorded, looks, engine)) == tuple(expected)


def test_what_flaps_is_told_from_what_moved_once(recorded: Recorded, sweeprules: Sweeprules, tmp_path: Path) -> None:
    assert [*looked(recorded, ("moved", "moved", "there"), "native")][-1] == {"back"}
    looks = [set(flags(recorded.sweep(look, hour, "native"))) for hour, look in ((6, "moved"), (8, "there"))]
    assert looks == [NOTHING, {"back", "flaps"}]
    tape, again = tmp_path / "sweep.cassette", tmp_path / "again.json"
    assert sweeprules("report", "--state", recorded.state, "--cassette", tape).exit == 0
    sweeprules("replay", tape, "--output", "json", "--out", again)
    assert set(flags(json.loads(again.read_text()))) == {"back", "flaps"}


def test_a_held_flag_keeps_its_first_sweep_over_one_that_could_not_see(recorded: Recorded) -> None:
    documents = [
        recorded.sweep(look, 4.0 * number, "native") for number, look in enumerate(("there", "there", "blind", "there"))
    ]
    first, second, third, last = ([doc["sweep"]["id"], flags(doc)] for doc in documents)
    assert (first[1], third[1]) == ({}, {})
    assert second[1] == {"twice": second[0], "long": second[0]}
    assert last[1] == second[1]


def test_what_was_decided_in_the_last_whole_sweep_is_known_of_it(recorded: Recorded) -> None:
    found = []
    for number, look in enumerate(("there", "blind", "there")):
        document = recorded.sweep(look, 2.0 * number, "checked")
        names = {flag["name"] for job in document["jobs"] if job["job_id"] == JOB for flag in job["flags"]}
        found.append("same" in names)
    assert found == [False, False, True]


def test_a_held_rule_says_in_explain_how_long_it_was_seen(recorded: Recorded, sweeprules: Sweeprules) -> None:
    for number, look in enumerate(("there", "blind", "there")):
        recorded.sweep(look, 2.0 * number, "native")
    shown = sweeprules("explain", JOB, "--state", recorded.state, "--rule", "our.twice")
    assert shown.exit == 0, shown.err
    assert "our.twice [true]" in shown.out

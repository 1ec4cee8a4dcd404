"""Records the cassettes of the demo: `python -m tests.golden.record_demo`, from the root of the repository.

The fleet of `demo_fleet.yaml` is put behind fake logins, and each cluster of demo/ops that replays is swept once
through ssh with its own record. Paths get their final names afterwards, of equal length, so that no column moves.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from sweeprules.engine.observation import Observation
from sweeprules.store.cassette import read_cassette
from tests.golden.harness.run import Runner
from tests.golden.harness.scenario import Step, read

HERE = Path(__file__).parent
DEMO = HERE.parent.parent / "demo"
FLEET = HERE / "demo_fleet.yaml"
SHOWN = "/gpfs/projects/ml"
"""What stands in the recordings for the folder of the clusters' files."""


def main() -> int:
    """Replaces the cassettes; 0 when each was recorded."""
    room = folder()
    try:
        return record(room)
    finally:
        shutil.rmtree(room)


def folder() -> Path:
    """A new folder whose `clusters` has a path as long as the one that is shown."""
    length = len(SHOWN) - len("/clusters")
    base = tempfile.mkdtemp(dir="/tmp", prefix="")
    shutil.rmtree(base)
    made = Path(base[:length])
    made.mkdir()
    return made


def record(room: Path) -> int:
    """Sweeps cluster by cluster, and writes what was observed."""
    (scenario,) = read(FLEET)
    (step,) = scenario.steps
    files = str(room / "clusters")
    runner = Runner(scenario, room)
    clusters = {name: {**given, "raw_record": live(name, files)} for name, given in step.clusters.items()}
    for name in clusters:
        tape = room / f"{name}.cassette"
        swept = Step(0.0, clusters, {}, rules(), ("--cluster", name, "--cassette", str(tape)), {})
        shutil.rmtree(runner.state, ignore_errors=True)
        seen = runner.sweep(swept)
        if not tape.exists():
            sys.stderr.write(f"{name} was not recorded: exit {seen.sweep.exit}\n{seen.sweep.stderr}")
            return 1
        whole = read_cassette(tape)
        moved = tuple(renamed(one, files) for one in whole.observations)
        out = DEMO / "ops" / name / "recorded.cassette"
        replace(whole, site="demo", files={}, observations=moved).write(out)
        sys.stdout.write(f"{out.relative_to(DEMO.parent)}: {len(moved)} observations\n")
    return 0


def rules() -> dict[str, Any]:
    """The demo's own policies: they decide what is looked at twice."""
    return {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in (DEMO / "rules").glob("*.yaml")}


def live(name: str, files: str) -> str:
    """The demo's record of a cluster, reached by ssh instead of replayed."""
    record: dict[str, Any] = yaml.safe_load((DEMO / "ops" / name / "cluster.yaml").read_text("utf-8"))
    reach: Mapping[str, Any] = record["reach"]
    record["reach"] = {"via": "openssh", **{key: reach[key] for key in reach if key not in ("via", "cassette")}}
    return json.dumps(record, indent=1).replace(SHOWN, files)


def renamed(observation: Observation, files: str) -> Observation:
    """The observation with the shown folder in place of the one that was used."""
    old, new = files.encode(), SHOWN.encode()
    return replace(
        observation,
        argv=tuple(word.replace(files, SHOWN) for word in observation.argv),
        items=tuple(word.replace(files, SHOWN) for word in observation.items),
        stdout=observation.stdout.replace(old, new),
        stderr=observation.stderr.replace(old, new),
    )


if __name__ == "__main__":
    sys.exit(main())

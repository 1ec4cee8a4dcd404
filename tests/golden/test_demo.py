"""The demo replays whole: what its fleet should show, it shows, and nothing is reached for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.golden.harness.expect import differences
from tests.golden.harness.harmless import harms
from tests.golden.harness.run import Runner
from tests.golden.harness.scenario import read
from tests.golden.record_demo import DEMO, FLEET


def test_the_demo_shows_its_fleet(tmp_path: Path) -> None:
    """From the cassettes, with the expectations that stand beside the fleet; a hostile name does no harm."""
    (scenario,) = read(FLEET)
    runner = Runner(scenario, tmp_path)
    seen = runner.swept(DEMO)
    found = [*differences(scenario.steps[0].expect, seen, None, runner), *harms(seen, runner)]
    assert not found, "\n".join((*found, seen.sweep.stderr, seen.text))


def test_make_demo_plays_both_commands() -> None:
    """It ends well, tells the sweep's own exit status, and leaves no folder behind."""
    done = subprocess.run([sys.executable, str(DEMO / "play.py")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    for part in (
        "$ sweeprules run --site demo",
        "exit status 3:",
        "$ sweeprules explain borealis:48102",
        "suspected-wedge",
    ):
        assert part in done.stdout
    state = done.stdout.partition("--state ")[2].partition("\n")[0]
    assert state
    assert not Path(state).exists()


def test_recordings_name_no_folder_of_the_machine() -> None:
    """Whoever recorded it left no path of theirs in it."""
    import gzip

    for path in DEMO.rglob("*.cassette"):
        text = gzip.decompress(path.read_bytes())
        assert b"/gpfs/projects/ml" in text
        for trace in (b"/tmp", b"/home", b"/root", str(Path.cwd()).encode()):
            assert trace not in text, f"{path.name} holds {trace!r}"

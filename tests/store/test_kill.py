"""A writer killed at any moment leaves the last sweep whole."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sweeprules.store.db import open_kept, open_store
from sweeprules.store.lock import Lock, take_lock
from tests.store.samples import START, cassette, job, record

JOBS = 150
WRITER = """
import sys
from pathlib import Path
from sweeprules.store.db import open_store
from sweeprules.store.lock import Lock, take_lock
from tests.store.samples import START, cassette, job, record

state, number = Path(sys.argv[1]), int(sys.argv[2])
lock = take_lock(state, START)
assert isinstance(lock, Lock)
print("started", flush=True)
while True:
    with open_store(state, START) as store:
        jobs = [job("leo", str(n), number) for n in range(150)]
        store.save_sweep(record(number, jobs, prior_clusters={"leo": {"last": number}}, cassette=cassette(number)))
        store.prune(START + number * 86400.0, 3 * 86400.0, 2 * 86400.0)
    print(number, flush=True)
    number += 1
"""


def write_until_killed(state: Path, first: int, delay: float) -> int:
    """Run a writer of sweeps, kill it `delay` seconds after its start; returns the last sweep that it said it kept."""
    arguments = [sys.executable, "-c", WRITER, str(state), str(first)]
    root = Path(__file__).resolve().parent.parent.parent
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        said = process.stdout.read().split()
    assert process.returncode == -signal.SIGKILL
    return int(said[-1]) if said else first - 1


def check(state: Path, at_least: int) -> int:
    """The number of the last sweep, proved whole; 0 when the writer was killed before the first."""
    opened = open_kept(state, START)
    if opened is None:
        assert at_least == 0
        return 0
    with opened as store:
        last = store.last()
        if last is None:
            assert at_least == 0
            return 0
        number = int(last.id.removeprefix("sweep-"))
        assert number >= at_least, "a sweep that was reported as kept is gone"
        for sweep in store.sweeps():
            one = int(sweep.id.removeprefix("sweep-"))
            world = store.world(sweep.id)
            assert len(world) == JOBS
            assert all(item.subject.facts["step"] == one and item.verdict for item in world.values())
            assert store.report(sweep.id) == {"schema_version": 1, "number": one}
        assert store.starting_point().clusters == {"leo": {"last": number}}
        assert store.cassette(last.id) == cassette(number)
        assert store.find_jobs("7").exact[0].sweep == last.id
        assert store._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return number


def rounds(state: Path, count: int, seed: int) -> None:
    """Kill a writer `count` times at random moments, and check after each; at the end all still works."""
    dice = random.Random(seed)
    number = 0
    for _ in range(count):
        said = write_until_killed(state, number + 1, dice.uniform(0.0, 0.35))
        number = check(state, max(said, number))
    lock = take_lock(state, START)
    assert isinstance(lock, Lock)
    with lock, open_store(state, START) as store:
        jobs = [job("leo", str(n), number + 1) for n in range(JOBS)]
        kept = record(number + 1, jobs, prior_clusters={"leo": {"last": number + 1}}, cassette=cassette(number + 1))
        store.save_sweep(kept)
        store.prune(START, 1e9, 1e9)
        named = {path.name for path in (state / "cassettes").iterdir()}
        assert named == {f"{s.id}.cassette" for s in store.sweeps() if store.cassette_path(s.id)}
    check(state, number + 1)


def test_killed_at_random_points(tmp_path: Path) -> None:
    rounds(tmp_path / "state", 5, seed=1)


@pytest.mark.deep
def test_killed_at_many_random_points(tmp_path: Path) -> None:
    rounds(tmp_path / "state", 200, seed=2)

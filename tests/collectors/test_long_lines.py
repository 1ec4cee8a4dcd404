"""One line of 20 MB through every reader of what jobs write: time in proportion, no exception."""

from __future__ import annotations

import time
from collections.abc import Callable
from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.launchers import LauncherLog, Launchers, refusals
from sweeprules.collectors.logs.candidates import read_causes
from sweeprules.collectors.logs.completion import read_completion
from sweeprules.collectors.logs.lines import MAX_LINE, Chunk, Line
from sweeprules.collectors.logs.scan import prepare, scan
from sweeprules.collectors.logs.traces import tracebacks
from sweeprules.collectors.metrics.engine import read_engine
from sweeprules.collectors.metrics.rl import read_rl
from sweeprules.collectors.metrics.sft import read_sft
from sweeprules.collectors.metrics.trainer_log import percentage
from sweeprules.collectors.settings import PARTS, settings_key
from sweeprules.collectors.trials.partial import read_trial_ends
from sweeprules.collectors.trials.results import read_config, read_job, read_trial
from sweeprules.collectors.trials.serving import read_posts, read_refused, traffic, tunnel_state
from sweeprules.collectors.trials.standard import read_results
from sweeprules.collectors.trials.trajectory import read_turns
from sweeprules.collectors.trials.upload import read_console, read_upload
from tests.collectors.metrics.rl_logs import aliases
from tests.collectors.slurm.fake import observation, record
from tests.collectors.slurm.sweeps import pattern

UTC = ZoneInfo("UTC")
SIZE = 20_000_000
SECONDS = 20.0
MATCHERS = prepare({
    "shm": pattern("shm", "fault", "shared memory broadcast", r"block found in (?P<n>\d+)", n="integer"),
    "bar": pattern("bar", "progress", "Progress:", r"Progress:\s*(?P<n>\d+)/", n="integer"),
})  # fmt: skip
LINES = {
    "letters": b"x" * SIZE,
    "a row": b"{'loss': '0.5', 'reward': 0.5, " + b"'a': 1, " * (SIZE // 8),
    "digits": b"Step Progress: " + b"9" * SIZE,
    "an object": b'{"trial_name": "' + b"y" * SIZE,
    "a mirror line": b'WANDB_MIRROR kind=train step=3 metrics={"a": "' + b"z" * SIZE,
}
READERS: dict[str, Callable[[bytes], object]] = {
    "rl": lambda data: read_rl(Chunk(data, 0), aliases(), UTC, whole=True),
    "sft": lambda data: read_sft(Chunk(data, 0), aliases(), UTC, None, whole=True),
    "engine": lambda data: read_engine(Chunk(data, 0), UTC, None),
    "patterns": lambda data: scan(Chunk(data, 0), MATCHERS, UTC),
    "causes": lambda data: read_causes(Chunk(data, 0), tracebacks(Chunk(data, 0)), MATCHERS, "/w/a", UTC, 1.8e9),
    "completion": lambda data: read_completion(Chunk(data, 0)),
    "upload": lambda data: read_upload(Chunk(data, 0), whole=True),
    "console": lambda data: read_console(Chunk(data, 0)),
    "posts": lambda data: read_posts(Chunk(data, 0), 0),
    "tunnel": lambda data: tunnel_state(Chunk(data, 0)),
    "traffic": lambda data: traffic(Chunk(data, 0)),
    "refused": lambda data: read_refused(Chunk(data, 0), UTC, 1.8e9),
    "trainer's log": percentage,
    "trial": read_trial,
    "trial's ends": lambda data: read_trial_ends(data, data),
    "job": read_job,
    "config": read_config,
    "results": read_results,
    "turns": lambda data: read_turns(data, data, whole=False),
}


@pytest.mark.parametrize("line", sorted(LINES))
@pytest.mark.parametrize("reader", sorted(READERS))
def test_one_line_of_20_mb(reader: str, line: str) -> None:
    data = LINES[line]
    begun = time.process_time()
    READERS[reader](data)
    assert time.process_time() - begun < SECONDS


def test_a_command_of_one_long_word() -> None:
    begun = time.process_time()
    assert isinstance(settings_key({"command": "a/" * 100_000, "nodes": 4}, dict.fromkeys(PARTS, "x")), str)
    assert time.process_time() - begun < 2


def test_launchers_whose_lines_repeat_an_error() -> None:
    line = Line(("sbatch: error: " * MAX_LINE)[:MAX_LINE], 0)
    logs = tuple(LauncherLog(f"/w/{n}.log", 1.0, (line,) * 4, frozenset(), observation(("tail",))) for n in range(20))
    begun = time.process_time()
    assert refusals(Launchers(True, logs), record(), UTC) == ()
    assert time.process_time() - begun < 2

"""One measurement in a process of its own: `python -m bench.one ENGINE JOBS` prints one line of JSON."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import sys
import threading
import time
from pathlib import Path

from bench import workload
from bench.engines import ENGINES

WARM = 20


def peak_mb() -> float:
    """Peak resident memory in MB of this process; the unit differs between systems."""
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


class ChildPeak:
    """The most memory that the durable-rules child held, in MB, looked up while it runs.

    What the system counts for ended children is no use: from the fork to the exec a child counts as big as its parent.
    """

    def __init__(self) -> None:
        self.mb = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> ChildPeak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.05):
            for process in _children():
                # It may end while it is looked at.
                with contextlib.suppress(OSError):
                    if CHILD in (process / "cmdline").read_bytes():
                        self.mb = max(self.mb, _high_water(process))


CHILD = b"sweeprules.engine.durable.child"


def _children() -> list[Path]:
    found = [path.read_text() for path in Path("/proc/self/task").glob("*/children")]
    return [Path("/proc") / pid for text in found for pid in text.split()]


def _high_water(process: Path) -> float:
    lines = (process / "status").read_text().splitlines()
    return max((int(line.split()[1]) / 2**10 for line in lines if line.startswith("VmHWM:")), default=0.0)


def processor_s() -> float:
    """Seconds of processor time so far, of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def main() -> int:
    """Measure once: seconds of wall and processor (children too), peak memory, and the digest of the firings."""
    engine, count = ENGINES[sys.argv[1]], int(sys.argv[2])
    policy = workload.policy()
    # Once uncounted on a few jobs: what the first use of an engine imports and compiles is no part of its speed.
    engine.run(policy, engine.prepare(policy, workload.jobs(WARM)))
    prepared = engine.prepare(policy, workload.jobs(count))
    gc.collect()
    before = processor_s()
    started = time.perf_counter()
    with ChildPeak() if sys.platform == "linux" else contextlib.nullcontext() as child:
        counts = engine.run(policy, prepared)
    wall = time.perf_counter() - started
    print(
        json.dumps(
            {
                "wall": wall,
                "cpu": processor_s() - before,
                "peak_mb": peak_mb(),
                "child_mb": None if child is None else child.mb,
                "firings": sum(counts.values()),
                "digest": workload.digest(counts),
            }
        ),
        flush=True,
    )
    # The measured engines keep large graphs; taking them apart is no part of the measurement.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())

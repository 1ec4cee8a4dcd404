"""One measurement in a process of its own: `python -m bench.one ENGINE JOBS` prints one line of JSON."""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time

from bench import workload
from bench.engines import ENGINES

WARM = 20


def peak_mb(who: int) -> float:
    """Peak resident memory in MB of this process or of its children; the unit differs between systems."""
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(who).ru_maxrss / scale


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
    counts = engine.run(policy, prepared)
    wall = time.perf_counter() - started
    print(
        json.dumps(
            {
                "wall": wall,
                "cpu": processor_s() - before,
                "peak_mb": peak_mb(resource.RUSAGE_SELF),
                "child_mb": peak_mb(resource.RUSAGE_CHILDREN),
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

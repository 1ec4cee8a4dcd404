"""A job of harbor's oracle over our own tasks, in folders of this machine: `oracle.py TASKS JOBS ATTEMPTS`.

What the job's own result holds in memory at its end is written to JOBS/truth.json.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from harbor.job import Job
from harbor.models.job.config import DatasetConfig, JobConfig
from harbor.models.trial.config import AgentConfig, EnvironmentConfig


async def run(tasks: Path, jobs: Path, attempts: int) -> None:
    """One job."""
    job = await Job.create(
        JobConfig(
            job_name="oracle",
            jobs_dir=jobs,
            n_attempts=attempts,
            n_concurrent_trials=2,
            quiet=True,
            environment=EnvironmentConfig(import_path="local_room:LocalRoom"),
            agents=[AgentConfig(name="oracle")],
            datasets=[DatasetConfig(path=tasks)],
        )
    )
    result = await job.run()
    trials = {
        trial.trial_name: {
            "reward": (trial.verifier_result.rewards or {}).get("reward") if trial.verifier_result else None,
            "exception": trial.exception_info.exception_type if trial.exception_info else None,
            "finished": trial.finished_at.timestamp() if trial.finished_at else None,
        }
        for trial in result.trial_results
    }
    stats = {"planned": result.n_total_trials, "done": result.stats.n_completed_trials}
    truth = {"trials": trials, "errored": result.stats.n_errored_trials, **stats}
    (jobs / "truth.json").write_text(json.dumps(truth))


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))

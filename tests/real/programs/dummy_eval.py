"""An evaluation of our own task with lm-eval's dummy model: `dummy_eval.py TASKS OUT SEED`.

Its results are saved as its command line saves them; what the evaluation returned is written to `truth<SEED>.json`.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager


def main() -> None:
    """One evaluation."""
    tasks, out, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tracker = EvaluationTracker(output_path=out)
    # The dummy model answers by the random numbers of Python.
    results = simple_evaluate(
        model="dummy",
        tasks=["word_pairs"],
        task_manager=TaskManager(include_path=tasks),
        evaluation_tracker=tracker,
        random_seed=seed,
        bootstrap_iters=0,
    )
    assert results is not None
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    Path(f"truth{seed}.json").write_text(json.dumps(results["results"]["word_pairs"]))


if __name__ == "__main__":
    random.seed(int(sys.argv[3]))
    main()

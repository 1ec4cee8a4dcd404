"""What an evaluation is named after: the model and the benchmark in its name or run tag."""

from __future__ import annotations

import re
from collections.abc import Iterable

_START = re.compile(r"(?:eval|res)_(?:dp_)?")
_LAUNCHED = "eval-"


def model_and_benchmark(labels: Iterable[str], benchmarks: Iterable[str]) -> tuple[str, str] | None:
    """The pair from `eval_MODEL_BENCHMARK`, `res_...`, `eval_dp_...` or `eval-BENCHMARK__MODEL` (formats page 4).

    Only a benchmark that the site knows tells where the one name ends and the other begins; the longest that fits
    counts. None where no label has one.
    """
    known = sorted(benchmarks, key=len, reverse=True)
    for label in labels:
        for benchmark in known:
            model = _model(label, benchmark)
            if model:
                return model, benchmark
    return None


def _model(label: str, benchmark: str) -> str:
    launched = f"{_LAUNCHED}{benchmark}__"
    if label.startswith(launched):
        return label.removeprefix(launched)
    start = _START.match(label)
    end = f"_{benchmark}"
    return label[start.end() : -len(end)] if start is not None and label.endswith(end) else ""

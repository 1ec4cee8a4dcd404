"""What an evaluation is named after: the model and the benchmark in its name or run tag."""

from __future__ import annotations

import re
from collections.abc import Iterable

_START = re.compile(r"(?:eval|res)[-_](?:dp_)?")


def model_and_benchmark(labels: Iterable[str], benchmarks: Iterable[str]) -> tuple[str, str] | None:
    """The pair from `eval-BENCHMARK__MODEL`, `eval_MODEL_BENCHMARK`, `res_...` or `eval_dp_...` (formats page 4).

    Only a benchmark that the site knows tells where the one name ends and the other begins; the longest that fits
    counts. None where no label has one.
    """
    known = sorted(benchmarks, key=len, reverse=True)
    for label in labels:
        for form in (_launched, _listened):
            for benchmark in known:
                model = form(label, benchmark)
                if model:
                    return model, benchmark
    return None


def _launched(label: str, benchmark: str) -> str:
    start = f"eval-{benchmark}__"
    return label.removeprefix(start) if label.startswith(start) else ""


def _listened(label: str, benchmark: str) -> str:
    start, end = _START.match(label), f"_{benchmark}"
    return label[start.end() : -len(end)] if start is not None and label.endswith(end) else ""

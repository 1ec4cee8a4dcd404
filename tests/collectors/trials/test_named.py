"""Model and benchmark in the name of an evaluation."""

from __future__ import annotations

import pytest

from sweeprules.collectors.trials.named import model_and_benchmark

KNOWN = ("tb2", "v2", "dev_set_v2", "swebench-100")


@pytest.mark.parametrize(
    ("label", "found"),
    [
        ("eval_small-1_tb2", ("small-1", "tb2")),
        ("eval_a_b_dev_set_v2", ("a_b", "dev_set_v2")),
        ("eval_dp_m_v2", ("m", "v2")),
        ("res_m_tb2", ("m", "tb2")),
        ("res_dp_m_tb2", ("m", "tb2")),
        ("eval-swebench-100__acme--m-8B", ("acme--m-8B", "swebench-100")),
        ("eval-small-1_tb2", ("small-1", "tb2")),
        ("eval-v2__x_tb2", ("x_tb2", "v2")),
        ("eval_m_other", None),
        ("eval_tb2", None),
        ("sft_m_tb2", None),
        ("eval-tb2__", None),
    ],
)
def test_only_a_benchmark_that_the_site_knows_tells_them_apart(label: str, found: tuple[str, str] | None) -> None:
    assert model_and_benchmark([label], KNOWN) == found


def test_the_first_label_that_has_them_counts() -> None:
    assert model_and_benchmark(["data", "eval_m_tb2"], KNOWN) == ("m", "tb2")
    assert model_and_benchmark(["eval_m_tb2"], ()) is None

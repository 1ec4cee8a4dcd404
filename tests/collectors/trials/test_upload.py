"""Uploads and consoles: the last word decides, and what was not read is not told."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.trials.upload import console_facts, read_console, read_upload
from sweeprules.engine.facts import ABSENT, Reason, Unknown

YIELD = (
    "[trace-export] Literal yield: {x}/{y} trials ({p:.1f}%), {s} steps enriched, 0 stripped; 3 chains (0 ambiguous)."
)
DONE = "[trace-export] Upload complete ({n} rows): https://hub.example/datasets/acme/{n}"
SPLIT = "Generating train split: {n} examples [00:01, 900.1 examples/s]"
FAILURES = (
    "[upload] job {n}: upload skipped, no token",
    "Failed to upload traces: 403 Client Error",
    "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests",
    "Upload of chunk {n} failed after 3 attempts",
    "[trace-export] Literal correlation bound 0/{n} trials from x - refusing to export a literal-less dataset for it",
)
NOISE = (
    "[trace-export] Streaming export from: /w/trace_jobs/{n}",
    "[trace-export] --skip_register set: upload only, NOT registering in Supabase.",
    "README.md: 0.00B [00:00, ?B/s]",
    "Uploading the dataset shards: 100%|###| 4/4 [00:09<00:00,  2.3s/ shards]",
    "0 upload errors so far; error_log.txt is empty",
)


def upload(text: str, before: Mapping[str, Json] | None = None, *, whole: bool = True):
    return read_upload(Chunk(text.encode(), 0), before, whole=whole)


@pytest.mark.parametrize("seed", range(50))
def test_an_upload_that_came_to_its_end(seed):
    rng = random.Random(seed)
    x, n = rng.randrange(1, 900), rng.randrange(900, 3_000)
    lines = [YIELD.format(x=x, y=n, p=100 * x / n, s=9), SPLIT.format(n=n)]
    lines += [rng.choice(FAILURES).format(n=rng.randrange(9))] * rng.randrange(2)
    lines += [DONE.format(n=n)]
    for _ in range(rng.randrange(6)):
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(NOISE).format(n=rng.randrange(99)))
    text = rng.choice(["\n", "\r\n", "\r"]).join(lines)
    found = upload("\x1b[36m(pid=7)\x1b[0m " * rng.randrange(2) + text + "\n" * rng.randrange(2))
    assert (found.facts["literal_yield"], found.facts["literal_of"]) == (x, n)
    assert (found.facts["uploaded"], found.facts["uploaded_rows"]) == (True, n)
    assert found.error == "" and "Upload complete" in found.quotes["uploaded"]


@pytest.mark.parametrize("seed", range(50))
def test_an_upload_that_failed_last(seed):
    rng = random.Random(seed)
    lines = [rng.choice((*NOISE, SPLIT, DONE)).format(n=rng.randrange(1, 99)) for _ in range(rng.randrange(5))]
    last = rng.choice(FAILURES).format(n=7)
    found = upload("\n".join([*lines, last, rng.choice(NOISE).format(n=3)]))
    assert found.facts["uploaded"] is False
    assert found.error == last


def test_a_log_that_says_nothing():
    quiet = "\n".join(NOISE)
    assert upload(quiet).facts == {
        "literal_yield": ABSENT,
        "literal_of": ABSENT,
        "uploaded_rows": ABSENT,
        "uploaded": False,
    }
    assert {fact.reason for fact in upload(quiet, whole=False).facts.values()} == {Reason.CUT}


def test_what_an_earlier_sweep_read_is_kept():
    first = upload(YIELD.format(x=0, y=40, p=0, s=0) + "\n", whole=True)
    assert (first.facts["literal_yield"], first.facts["uploaded"]) == (0, False)
    then = upload("more\n" + DONE.format(n="1,040") + "\nSupabase registration complete for acme/x\n", first.memo)
    assert (then.facts["literal_of"], then.facts["uploaded_rows"], then.facts["uploaded"]) == (40, 1040, True)
    assert then.facts["registered"] is True
    assert "registered" not in first.facts


def test_rows_by_the_split_when_the_end_names_none():
    bar = "Generating train split: 100%|##########| 5,000/5,000 [00:00<00:00, 9 examples/s]\nUpload complete\n"
    assert upload(bar).facts["uploaded_rows"] == 5000


# ---------------------------------------------------------------- the console


def frames(rng: random.Random, upto: int, of: int) -> str:
    """A console's progress as a terminal gets it: frames with carriage returns, a bar, times."""
    shown = [f" {at}/{of} Mean: {rng.random():.3f} \x1b[35m━━╺━\x1b[0m 0:0{at % 9}:00 1:00:00" for at in range(1, upto)]
    return (
        "Running trials... ━━ 0:00:01 -:--:--\r" + "\r".join(shown) + f"\r {upto}/{of} Mean: 0.219 ━━ 0:01:02 0:02:03"
    )


@pytest.mark.parametrize("seed", range(50))
def test_the_last_frame_of_a_console(seed):
    rng = random.Random(seed)
    upto = rng.randrange(1, 60)
    text = frames(rng, upto, of := upto + rng.randrange(40)) + rng.choice(
        ["", "\n", "\nMean: of all\n", "\r 9/2 Mean: 0.5"]
    )
    found = read_console(Chunk(text.encode(), 1000))
    assert found is not None
    assert console_facts(found) == {"trials_done": upto, "trials_planned": of, "mean_valid": 0.219}
    assert 1000 <= found.position < 1000 + len(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "Mean: 0.5",
        "3/4 mean: 0.5",
        "5/4 Mean: 0.5",
        "1/2/4 Mean: 0.5",
        "3/4 Mean: nan",
        "3/4 Mean: 0.5.1",
        "3/4 Median: 1",
    ],
)
def test_what_is_no_progress(text):
    assert read_console(Chunk(text.encode(), 0)) is None
    assert console_facts(None) == {}


def test_a_mean_that_is_no_ratio_is_left_out():
    found = read_console(Chunk(b"3/4 Mean: -1.25", 0))
    assert console_facts(found) == {"trials_done": 3, "trials_planned": 4}
    assert isinstance(upload("", whole=False).facts["uploaded"], Unknown)

"""Whatever users name their jobs, no other job's facts move."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeprules.collectors.slurm.ask import SQUEUE_COLUMNS
from sweeprules.collectors.slurm.sacct import read_accounting
from sweeprules.collectors.slurm.squeue import read_dependency, read_paths, read_queue
from sweeprules.engine.facts import ABSENT
from tests.collectors.slurm.fake import MARKS, FakeSession, job, observation, paths_text, sacct_text, squeue_text
from tests.collectors.slurm.sweeps import sweep

FORGED = squeue_text([job("666", "FAILED", name="rl__forged", queued=True)]).replace(
    "0123456789abcdef", "fedcba9876543210"
)
HOSTILE = (
    "rl__a|b c",
    "rl__new\nline",
    "rl__tab\there",
    "rl__'q'\"s\\back;$(rm -rf /)`x`,z",
    "rl__x JobState=FAILED StdOut=/etc/passwd",
    "rl__\x1b[31mred\x1b[0m",
    "rl__ünï☃",
    "666\n667|FAILED|1:0",
    FORGED,
    "@r",
    "@f",
    "",
    " ",
    "\n",
)
NAMES = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=60),
)
CLEAN = [job("1", name="sft__one"), job("2", "PENDING", name="eval-two", dependency="afterany:1(unfulfilled)")]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_a_name(name):
    done = sweep(FakeSession([*CLEAN, job("7", name=name)]))
    assert done.job_ids == ["1", "2", "7"]
    assert done.job("7").get("name") == name
    assert done.job("1").get("name") == "sft__one"


@settings(max_examples=150, deadline=None)
@given(NAMES, NAMES, NAMES)
def test_no_name_comment_or_workdir_changes_another_job(name, comment, workdir):
    plain = [*CLEAN, job("7")]
    hostile = [CLEAN[0], job("7", name=name, comment=comment, workdir=workdir), CLEAN[1]]
    for read, write in ((read_queue, squeue_text), (read_accounting, sacct_text)):
        wanted = read(observation(("x",), write(plain)), MARKS, "UTC")
        answer = read(observation(("x",), write(hostile)), MARKS, "UTC")
        assert answer.ok
        assert set(answer.rows) == {"1", "2", "7"}
        for job_id in ("1", "2"):
            assert answer.rows[job_id].facts == wanted.rows[job_id].facts
        assert answer.rows["7"].facts["name"] == name
        assert {k: v for k, v in answer.rows["7"].facts.items() if k not in ("name", "comment", "workdir")} == {
            k: v for k, v in wanted.rows["7"].facts.items() if k not in ("name", "comment", "workdir")
        }


@settings(deadline=None)
@given(NAMES)
def test_no_output_path_moves_another(path):
    jobs = [job("1"), job("7", stdout="/w/" + path[:40]), job("8")]
    # What squeue pads it pads by bytes.
    text = b"".join(paths_text([one]).encode() if one.id != "7" else _padded(one.id, one.stdout) for one in jobs)
    paths = read_paths(observation(("squeue",), text))
    assert paths["1"] == paths["8"] == "/w/%x-%j.out"
    assert paths["7"] == ("/w/" + path[:40]).rstrip(" ")


def _padded(job_id: str, path: str) -> bytes:
    return job_id.ljust(40).encode() + path.encode()[:1040].ljust(1040) + b"\n"


def test_a_path_that_fills_its_column_was_cut_and_is_not_believed():
    text = _padded("1", "/w/" + "x" * 2000) + _padded("2", "/w/y")
    assert dict(read_paths(observation(("squeue",), text))) == {"2": "/w/y"}


@pytest.mark.parametrize("column", [name for name, _ in SQUEUE_COLUMNS if name not in ("job_id", "raw_id")])
def test_garbage_in_one_field_never_raises(column):
    at = [name for name, _ in SQUEUE_COLUMNS].index(column)
    head, _, tail = squeue_text([job("7")]).partition(MARKS.record)
    fields = tail.removesuffix("\n").split(MARKS.field)
    fields[at] = "\x00garbage[1-"
    text = head + MARKS.record + MARKS.field.join(fields) + "\n"
    answer = read_queue(observation(("squeue",), text + squeue_text([job("8")])), MARKS, "UTC")
    assert set(answer.rows) == {"7", "8"}


def test_a_record_that_can_not_be_told_apart_spoils_the_answer():
    text = squeue_text([job("7")]) + MARKS.record + "half a rec"
    answer = read_queue(observation(("squeue",), text), MARKS, "UTC")
    assert not answer.ok
    assert "could not be read" in answer.why
    cut = read_accounting(observation(("sacct",), sacct_text([job("7"), job("8")])[:-60]), MARKS, "UTC")
    assert not cut.ok


def test_output_that_was_cut_is_not_believed():
    one = replace(observation(("squeue",), squeue_text([job("7")])), cut=100)
    assert not read_queue(one, MARKS, "UTC").ok


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(null)", ABSENT),
        ("", ABSENT),
        ("afterany:7(unfulfilled)", ("7",)),
        ("afterok:4(failed),afterany:5(unfulfilled)", ("4", "5")),
        ("afterany:7(unfulfilled)?afterany:8(unfulfilled)", ("7", "8")),
        ("afterany:7:8:9", ("7", "8", "9")),
        ("aftercorr:11_*(unfulfilled)", ("11",)),
        ("afterok:11_5(unfulfilled)", ("11_5",)),
        ("singleton(unfulfilled)", ()),
        ("after:7+30(unfulfilled)", ("7",)),
    ],
)
def test_dependency_lists(text, wanted):
    assert read_dependency(text) == wanted

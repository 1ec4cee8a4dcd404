"""Every fact and relation that the collector gives is on the closed list, and of the type that it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sweeprules.engine.facts import Absent, FactValue, Interval, Subject, Unknown
from sweeprules.engine.site import Refusal
from tests.collectors.slurm.fake import NOW, FakeFile, FakeSession, Login, job, record
from tests.collectors.slurm.sweeps import sweep

KINDS = json.loads((Path(__file__).parents[3] / "schemas" / "facts.schema.json").read_text(encoding="utf-8"))["$defs"]
RIGHT = {
    "text": str,
    "enum": str,
    "integer": int,
    "number": (int, float),
    "ratio": (int, float),
    "bytes": int,
    "duration": (int, float),
    "time": (int, float),
    "boolean": bool,
    "list": tuple,
    "record-list": tuple,
    "map": object,
    "interval": (int, Interval),
}
REASONS = {str(word) for word in KINDS["reason"]["anyOf"][0]["enum"]}


def everything() -> tuple[Subject, ...]:
    """The subjects of sweeps that use every path of the collector."""
    jobs = [
        job("1", name="rl__a", dependency="afterok:9(unfulfilled)"),
        job("2", "PENDING", name="rl__a"),
        job("3", "FAILED", exit="1:0", name="sft__x", stdout="/w/3.out", steps=(("batch", "FAILED", "1:0"),)),
        job("4", "SUSPENDED", name="eval-x"),
        job("5_1", "COMPLETED", name="datagen__x_chunk1"),
        job("6+0", "COMPLETING", name="hf_upload_x"),
        job("7", "HIBERNATING", name="odd"),
        job("8", sacct_state="FAILED", exit="1:0", ended=NOW - 5, name="differs"),
    ]
    trace = b'Traceback (most recent call last):\n  File "/w/t.py", line 1, in f\nValueError: x\n'
    files = {
        "/w/rl__a-1.out": FakeFile(b"2027-01-15 07:00:00 Step Progress: 1/9\nWorkNCCL(a) ran for 5 ms\n"),
        "/w/3.out": FakeFile(trace, inode=3),
        "/launch/a.log": FakeFile(b"Submitted batch job 3\nBatch job submission failed: no\n", inode=4),
    }
    of = record(
        paths={"logs": ("/launch",)},
        refusals=(Refusal("no", "maintenance"),),
        raw={"certs": [{"path": "a", "needed_by": ["hf"]}]},
        caps={"rl_running": 6},
    )
    valid = "a:\n Type: x user certificate\n Valid: from 2027-01-15T00:00:00 to 2027-01-15T09:00:00\n"
    first = sweep(FakeSession(jobs, files, certs={"a": (0, valid)}), of=of)
    second = sweep(FakeSession(jobs[1:], files), first.prior, of=of)
    dead = {"login01": Login(broken={"squeue": (1, "", "slurm_load_jobs error\n"), "sacct": (1, "", "x\n")})}
    third = sweep(FakeSession(jobs, files, logins=dead), second.prior, of=of)
    return (*first.joined, *second.joined, *third.joined)


SUBJECTS = everything()


@pytest.mark.parametrize("kind", ["job", "run", "cluster", "credential"])
def test_names_are_on_the_list(kind):
    listed = KINDS[kind]
    patterns = [re.compile(text) for text in listed.get("patternProperties", {})]
    subjects = [subject for subject in SUBJECTS if subject.ref.kind == kind]
    assert subjects
    for subject in subjects:
        for name in subject.facts:
            assert name in listed["properties"] or any(pattern.match(name) for pattern in patterns), name
        assert set(subject.relations) <= set(listed["x-relations"])
        assert set(subject.sources) <= set(subject.facts) | {"name"}


@pytest.mark.parametrize("kind", ["job", "run", "cluster", "credential"])
def test_values_are_of_their_type(kind):
    properties = KINDS[kind]["properties"]
    for subject in SUBJECTS:
        if subject.ref.kind != kind:
            continue
        for name, value in subject.facts.items():
            if name in properties:
                check(f"{subject.ref} {name}", value, properties[name])


def check(where: str, value: FactValue, listed: dict[str, object]) -> None:
    if isinstance(value, Unknown):
        assert value.reason in REASONS or value.reason.startswith("new-state:"), where
        return
    if isinstance(value, Absent):
        return
    kind = str(listed["x-type"])
    assert isinstance(value, RIGHT[kind]), (where, value)  # type: ignore[arg-type]
    assert isinstance(value, bool) == (kind == "boolean"), (where, value)
    if kind == "enum":
        assert value in listed["anyOf"][0]["enum"], (where, value)  # type: ignore[index]
    if kind == "record-list":
        assert isinstance(value, tuple)
        for one in value:
            assert set(one) <= set(listed["x-fields"]), (where, one)  # type: ignore[call-overload, arg-type]


def test_every_job_stands_in_its_cluster_and_in_a_run():
    for subject in SUBJECTS:
        if subject.ref.kind == "job":
            assert subject.relations["cluster"].members[0].key == "leonardo"
            assert len(subject.relations["run"].members) == 1

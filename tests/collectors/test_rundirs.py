"""The directory of a run: by its command, its log, or the site's record; never one that nobody named or showed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.rundirs import Place, in_log, places, run_directory
from sweeprules.engine.facts import NOT_READ, FactValue, Reason, Unknown
from sweeprules.engine.site import ClusterRecord, Reach

RECORD = ClusterRecord(
    "c", "cluster.yaml", "0", "slurm", "alice", "UTC", Reach("openssh", ("login01",)),
    paths={"experiments": ("/w/exp",), "rl_checkpoints": ("/w/ckpts/",)},
)  # fmt: skip


def facts(**more: FactValue) -> dict[str, FactValue]:
    return {"command": "/w/run.sbatch", "name": "rl__a", "name_cut": False, "workdir": "/w/home", **more}


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("Saving model checkpoint to /w/a/b/checkpoint-60", "/w/a/b"),
        ("Saving model checkpoint to /w/a/b", "/w/a/b"),
        ("[INFO|x.py:9] 2026-01-01 >> Configuration saved in /w/a/b/config.json", "/w/a/b"),
        ("Model weights saved in /w/q/r/checkpoint-40/model.safetensors", "/w/q/r"),
        ("saved in the index located at /w/q/r/model.safetensors.index.json.", "/w/q/r"),
        ("\x1b[36m(skyrl pid=9)\x1b[0m   output_dir: /w/exp/run1", "/w/exp/run1"),
        ("'ckpt_path': '/w/rl/x/checkpoints', 'lr': 1", "/w/rl/x"),
        ("trainer.ckpt_path=/w/rl/x trainer.lr=1", "/w/rl/x"),
    ],
)
def test_a_log_names_it_by_a_setting_or_by_a_save(line: str, path: str):
    said = in_log(Chunk(f"begin\n{line}\nend\n".encode(), 0))
    assert run_directory(facts(), said) == path


def test_the_newest_line_counts_and_what_was_said_before_stands():
    text = "output_dir: /w/a/old\nConfiguration saved in /w/a/new/config.json\nloss\n"
    assert run_directory(facts(), in_log(Chunk(text.encode(), 0))) == "/w/a/new"
    assert in_log(Chunk(b"loss\n", 0), "/w/a/new") == "/w/a/new"
    assert in_log(Chunk(b"output_dir: /w/a/b", 0)) == ""


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("python t.py --output_dir /w/a/b --lr 1", "/w/a/b"),
        ("python t.py --output-dir=/w/a/b/", "/w/a/b"),
        ("sbatch x.sh +trainer.ckpt_path='/w/a/b/ckpts'", "/w/a/b"),
        ("x --run_dir /w/a/b --output_dir /w/a/b", "/w/a/b"),
        ("x --run_dir /w/a/b --output_dir /w/a/c", Reason.CONFLICT),
        ("x --output_dir out", Reason.NOT_READ),
        ("x --output_dir $WORK/a/b/c", Reason.NOT_READ),
        ("x --output_dir /w/a/../b/c", Reason.NOT_READ),
        ("x --output_dir /w", Reason.NOT_READ),
        ("x --no_output_dir /w/a/b", Reason.NOT_READ),
        ("/w/a/b/run.sbatch", Reason.NOT_READ),
    ],
)
def test_a_command_names_it_whole_or_not(command: str, found: str | Reason):
    made = run_directory(facts(command=command))
    assert (made.reason if isinstance(made, Unknown) else made) == found


def test_the_command_counts_for_more_than_the_log_and_an_unread_command_stays_unread():
    assert run_directory(facts(command="x --output_dir /w/a/b"), "/w/a/c") == "/w/a/b"
    assert run_directory(facts(command=NOT_READ)) == NOT_READ
    assert run_directory(facts(command=NOT_READ), "/w/a/c") == "/w/a/c"


@pytest.mark.parametrize(
    "said", ["saves/a", "saves/a/checkpoint-9", "saves/a/model.safetensors", "./saves/a/config.json"]
)
def test_a_save_below_the_workdir_names_its_directory(said: str):
    assert next(place.path for place in places(facts(), said, RECORD, "sft")) == "/w/home/saves/a"


def test_where_to_look_when_nobody_named_it_whole():
    by_record = (Place("/w/ckpts/rl__a", False), Place("/w/exp/rl__a", False))
    assert places(facts(), "", RECORD, "rl") == by_record
    assert places(facts(), "", RECORD, "sft") == (Place("/w/exp/rl__a", False),)
    assert places(facts(), "./out/checkpoint-6", RECORD, "sft")[0] == Place("/w/home/out", False)
    assert places(facts(run_tag="rl-7"), "", RECORD, "rl")[0] == Place("/w/ckpts/rl-7", False)
    assert places(facts(), "/w/a/b", RECORD, "rl") == (Place("/w/a/b", True),)
    assert places(facts(name_cut=True), "", RECORD, "rl") == ()
    assert places(facts(name="../x"), "", RECORD, "rl") == ()


@given(st.text(), st.text())
def test_no_text_makes_a_path_that_a_shell_would_read(command: str, said: str):
    found = run_directory(facts(command=command), said)
    if isinstance(found, str):
        assert found.startswith("/") and not set(found) & set("$`~*?\\\0\n\r") and ".." not in found.split("/")

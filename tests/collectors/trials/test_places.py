"""Where results may lie: by the job's own words first, and never in a directory that another job may mean as well."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.transport.allow import AllowList, CommandRefusedError
from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.trials.places import (
    MOST,
    Kind,
    Place,
    Wanted,
    beside,
    directories,
    is_own,
    labels_of,
    places,
)
from sweeprules.collectors.trials.second import read_results
from sweeprules.engine.facts import ABSENT

EVAL = Wanted("7", "trials", "eval", ("eval_m_tb2",), workdir="/w/eval7", alone=True)


def paths(wanted: Wanted) -> list[str]:
    return [place.path for place in places(wanted)]


def test_a_directory_of_the_last_sweep_is_the_only_one() -> None:
    assert places(replace(EVAL, kept="/w/x/trace_jobs/r")) == (Place("/w/x/trace_jobs/r", True),)


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("harbor run --jobs-dir /w/jobs --job-name r1", "/w/jobs/r1"),
        ("harbor run --jobs-dir=/w/jobs", "/w/jobs/eval_m_tb2"),
        ("harbor run --jobs_dir 'jobs'", "/w/eval7/jobs/eval_m_tb2"),
        ("python t.py generator.trials_dir=/w/traces/r1", "/w/traces/r1"),
        ("python t.py --trials_dir /w/traces/r1/", "/w/traces/r1"),
    ],
)
def test_what_the_command_says_comes_first(command: str, path: str) -> None:
    assert paths(replace(EVAL, command=command))[0] == path


@pytest.mark.parametrize("path", ["$WORK/jobs", "~/jobs", "/w/../../etc", "/", "/w", "/w/*/jobs", "/w/`id`/x"])
def test_a_path_that_is_not_whole_is_not_asked_for(path: str) -> None:
    plain = {place.path for place in places(EVAL)}
    found = {place.path for place in places(replace(EVAL, command=f"x --trials-dir {path}", workdir="/w/eval7"))}
    assert {one for one in found - plain if not one.startswith("/w/eval7/")} == set()
    assert not any(mark in one for one in found for mark in ("..", "$`"))


def test_the_places_of_the_site_and_the_workdir() -> None:
    job = replace(EVAL, eval_jobs=("/s/eval_jobs",), experiments=("/s/exp",))
    assert paths(job) == [
        "/s/eval_jobs/eval_m_tb2",
        "/s/exp/eval_m_tb2/trace_jobs",
        "/s/exp/eval_m_tb2/eval_m_tb2/trace_jobs",
        "/s/exp/eval_m_tb2",
        "/s/exp/trace_jobs/eval_m_tb2",
        "/w/eval7/trace_jobs/eval_m_tb2",
        "/w/eval7/jobs/eval_m_tb2",
        "/w/eval7/trace_jobs",
    ]
    assert len(places(replace(job, labels=("a", "b", "c"), run_dir="/w/r"))) == MOST


def test_a_workdir_of_many_jobs_is_looked_into_by_name_only() -> None:
    assert paths(replace(EVAL, alone=False)) == ["/w/eval7/trace_jobs/eval_m_tb2", "/w/eval7/jobs/eval_m_tb2"]
    assert paths(replace(EVAL, alone=False, labels=("data",))) == []


def test_a_log_in_a_directory_of_logs_shows_where_the_run_is() -> None:
    found = places(Wanted("7", "trials", "rl", ("r1",), workdir="/w", log_folder="/exp/r1/logs"))
    assert Place("/exp/r1/trace_jobs", True) in found
    assert Place("/exp/r1/r1/trace_jobs", True) in found
    assert Place("/exp/r1", False) in found


def test_a_directory_that_two_jobs_would_take_is_nobodys() -> None:
    one = replace(EVAL, labels=("eval",), command="x --trials-dir /w/t/shared")
    other = replace(one, job_id="8")
    assert directories([one, other], 100) == {"7": (), "8": ()}
    same = replace(one, labels=("eval_m_tb2",))
    shared = directories([same, replace(same, job_id="8")], 100)
    assert shared["7"][0].path == shared["8"][0].path == "/w/t/shared"
    tasks = [replace(same, job_id=f"9_{at}") for at in (1, 2)]
    assert "/w/t/shared" not in {place.path for some in directories(tasks, 100).values() for place in some}


def test_known_directories_come_before_guesses_when_room_is_short() -> None:
    known = replace(EVAL, job_id="9", kept="/w/k/t")
    found = directories([EVAL, known], 1)
    assert found == {"9": (Place("/w/k/t", True),)}


def test_a_standard_evaluation_has_other_places() -> None:
    job = Wanted("7", "suite", "eval", ("delphi-eval-r1",), workdir="/w/d", command="x --output_path out", alone=True)
    assert paths(replace(job, experiments=("/e",))) == [
        "/w/d/out",
        "/e/delphi-eval/delphi-eval-r1",
        "/e/delphi-eval/r1",
        "/e/delphi-eval-r1",
        "/e/r1",
        "/w/d/results/delphi-eval-r1",
        "/w/d/results/r1",
        "/w/d/results",
    ]


def test_a_resume_has_the_name_of_what_it_resumes() -> None:
    assert labels_of({"run_tag": ABSENT, "name": "res_m_tb2"}) == ("res_m_tb2", "eval_m_tb2")
    assert labels_of({"run_tag": "r", "name": "a/b"}) == ("r",)
    assert labels_of({"run_tag": "..", "name": "."}) == ()


@pytest.mark.parametrize(
    ("folder", "name", "own"),
    [
        ("/exp/eval_m_tb2/logs", "vllm.log", True),
        ("/w/eval7/logs", "vllm.log", True),
        ("/logs", "vllm_7.log", True),
        ("/logs", "vllm_17.log", False),
        ("/logs", "eval_m_tb2_pinggy.log", True),
        ("/logs", "vllm.log", False),
    ],
)
def test_a_log_beside_is_the_jobs_by_its_folder_or_its_name(folder: str, name: str, *, own: bool) -> None:
    assert is_own(EVAL, folder, name) is own


def test_logs_lie_with_the_trials_and_above_them() -> None:
    known = replace(EVAL, kept="/e/r/trace_jobs/r", log_folder="/l/logs")
    own = ("/l/logs", "/w/eval7", "/w/eval7/logs")
    assert beside(known, places(known)) == ("/e/r/trace_jobs/r", "/e/r", "/e/r/logs", *own)


HOSTILE = st.text(st.sampled_from("ab/.*?$`~ \n\0'\"-_;|&()[]{}\\é\ufffd"), max_size=12)


@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE, st.booleans(), st.sampled_from(["trials", "suite"]))
def test_no_name_makes_a_command_that_walks_or_expands(
    name: str, workdir: str, told: str, folder: str, alone: bool, kind: Kind
) -> None:
    facts = {"run_tag": ABSENT, "name": name}
    command = f"x --jobs-dir {told} --trials-dir /w/{told} --output_path {told}"
    wanted = Wanted(
        "7", kind, "eval", labels_of(facts), f"/w/{workdir}", command, f"/l/{folder}", experiments=("/e",), alone=alone
    )
    first = next(read_results([wanted], {}, "9f3c1d77a0e2b645", ("\x1e", "\x1f")), ())
    for one in first:
        assert AllowList(frozenset({"find", "du"})).check(one) in ("ls", "xargs-head")
        assert one.argv[0] in ("ls", "xargs") and not any("R" in word for word in one.argv[1:3])
        directory = one.argv[-1] if one.argv[0] == "ls" else one.items[0]
        assert directory.startswith("/") and ".." not in directory.split("/")


@pytest.mark.parametrize(
    "argv",
    [
        ("find", "/w", "-name", "result.json"),
        ("du", "-s", "/w"),
        ("ls", "-R", "--", "/w"),
        ("ls", "-1AR", "--", "/w"),
        ("ls", "--recursive", "--", "/w"),
        ("ls", "-1A", "--", "/w/a", "/w/b"),
        ("xargs", "-0", "find", "--"),
        ("xargs", "-0", "ls", "-1", "--"),
        ("xargs", "-0", "sh", "-c", "--"),
        ("sh", "-c", "cat /w/*/result.json"),
    ],
)
def test_nothing_recursive_can_be_sent(argv: tuple[str, ...]) -> None:
    items = ("/w",) if argv[0] == "xargs" else ()
    with pytest.raises(CommandRefusedError):
        AllowList().check(Command(argv, items=items))

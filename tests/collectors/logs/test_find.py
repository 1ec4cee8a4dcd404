"""Where a log is: paths expanded, files looked at, listings that find it or prove that it is not there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sweeprules.collectors.logs.facts import FoundLog
from sweeprules.collectors.logs.find import Listing, Naming, expand, read_listing, read_stats
from sweeprules.collectors.logs.locate import Candidate, after_listing, after_stat, want
from sweeprules.engine.facts import ABSENT, Unknown
from tests.collectors.slurm.fake import MARKS, observation

NAMING = Naming("7", "7", "", None, "alice", "rl__x", "n01.site", "/w")
TASK = Naming("11_5", "40", "11", 5, "alice", "datagen__x", "n01", "/w")


@pytest.mark.parametrize(
    ("template", "wanted"),
    [
        ("/l/%x-%j.out", "/l/rl__x-7.out"),
        ("%x_%j.out", "/w/rl__x_7.out"),
        ("logs_%j/%x.out", "/w/logs_7/rl__x.out"),
        ("/l/up_%u_%N_%n_%t_%x.%j", "/l/up_alice_n01_0_0_rl__x.7"),
        ("/l/%5j.out", "/l/00007.out"),
        ("/l/100%%.out", "/l/100%.out"),
        ("/l/%q.out", "/l/%q.out"),
    ],
)
def test_paths_are_expanded(template, wanted):
    assert expand(template, NAMING) == wanted


def test_paths_of_an_array_task():
    assert expand("/l/%x-%A_%a.out", TASK) == "/l/datagen__x-11_5.out"
    assert expand("/l/%j.out", TASK) == "/l/40.out"


def stats(files: dict[str, int], stderr: str = "", items: tuple[str, ...] = ()):
    rows = "".join(
        MARKS.record + MARKS.field.join(("9", str(inode), "100", "1799999940", path)) for path, inode in files.items()
    )
    one = observation(("xargs",), rows, code=123 if stderr else 0, stderr=stderr)
    return read_stats(replace(one, items=items or tuple(files)), MARKS.record, MARKS.field)


def test_a_file_is_there_with_its_stat():
    found = stats({"/l/a b\n.out": 5})
    assert found.there["/l/a b\n.out"].inode == 5
    assert found.there["/l/a b\n.out"].mtime == 1799999940
    assert found.clock == 1_800_000_000.0


def test_a_missing_file_is_missing_and_a_refused_one_is_not():
    gone = "stat: cannot statx '/l/a': No such file or directory\nstat: cannot statx '/l/b': Not a directory\n"
    assert stats({}, gone, ("/l/a", "/l/b")).missing == {"/l/a", "/l/b"}
    mixed = "stat: cannot statx '/l/a': No such file or directory\nstat: cannot statx '/l/b': Permission denied\n"
    assert stats({}, mixed, ("/l/a", "/l/b")).missing == {"/l/a"}
    assert stats({}, "stat: cannot statx '/l/b': Permission denied\n", ("/l/b",)).missing == frozenset()


def test_names_that_the_shell_would_quote_are_counted_missing_too():
    odd = "stat: cannot statx 'l/no'$'\\n''pe': No such file or directory\n"
    assert stats({}, odd, ("l/no\npe",)).missing == {"l/no\npe"}


def test_a_call_without_an_answer_proves_nothing():
    one = observation(("xargs",), "", code=None, stderr="")
    assert read_stats(replace(one, items=("/l/a",)), MARKS.record, MARKS.field).missing == frozenset()


def wanted(ended: bool = False, templates=(("/l/%x-%j.out", "scheduler"),), naming: Naming = NAMING):
    return want(naming, naming.job_id, templates, ("data_{job_id}.out",), ended=ended)


def test_the_schedulers_path_comes_first_then_the_fallback():
    both = stats({"/l/rl__x-7.out": 1, "/w/data_7.out": 2})
    found = after_stat(wanted(), both)
    assert isinstance(found, FoundLog)
    assert (found.path, found.source) == ("/l/rl__x-7.out", "scheduler")
    gone = "stat: cannot statx '/l/rl__x-7.out': No such file or directory\n"
    found = after_stat(wanted(), stats({"/w/data_7.out": 2}, gone, ("/l/rl__x-7.out", "/w/data_7.out")))
    assert isinstance(found, FoundLog)
    assert (found.path, found.source) == ("/w/data_7.out", "workdir")


def test_a_path_that_may_not_be_looked_at_is_unknown_not_missing():
    refused = "stat: cannot statx '/l/rl__x-7.out': Permission denied\n"
    assert isinstance(after_stat(wanted(), stats({}, refused, ("/l/rl__x-7.out", "/w/data_7.out"))), Unknown)


def test_no_output_by_design():
    found = after_stat(wanted(templates=(("/dev/null", "scheduler"),)), None)
    assert isinstance(found, Unknown)
    assert found.reason == "no-log-by-design"


def listed(names: tuple[str, ...], whole: bool = True) -> Listing:
    return Listing(names, whole, observation(("ls",)))


def test_a_running_jobs_log_is_any_that_ends_in_its_id():
    assert after_listing(wanted(), {"/w": listed(("a.out", "x_7.out", "x_17.out"))}) == Candidate(
        "/w/x_7.out", "listing"
    )
    assert after_listing(wanted(), {"/w": listed(("x-7.out", "x_17.out", "x_7.log"))}) is ABSENT


def test_an_ended_jobs_log_is_any_that_holds_its_id():
    one = wanted(ended=True, templates=())
    assert after_listing(one, {"/w": listed(("x-7.err", "x-7.out"))}) == Candidate("/w/x-7.out", "listing")
    assert after_listing(one, {"/w": listed(("7.out",))}) == Candidate("/w/7.out", "listing")
    assert after_listing(one, {"/w": listed(("x-17.out", "x-7"))}) is ABSENT


def test_a_task_of_an_array_is_not_the_job_of_its_number():
    one = wanted(ended=True, templates=())
    found = after_listing(one, {"/w": listed(("datagen-11_7.out",))})
    assert isinstance(found, Unknown)
    known = replace(one, arrays=frozenset({"11"}))
    assert after_listing(known, {"/w": listed(("datagen-11_7.out",))}) is ABSENT
    named = replace(one, name="rl_11")
    assert after_listing(named, {"/w": listed(("rl_11_7.out",))}) == Candidate("/w/rl_11_7.out", "listing")


def test_a_path_whose_node_is_not_known_is_found_beside():
    one = wanted(templates=(("/l/up_%N_%n_%x.%j", "scheduler"),))
    listings = {"/l": listed(("up_vm_0_rl__x.7", "up_vm_0_rl__x.8")), "/w": listed(())}
    assert after_listing(one, listings) == Candidate("/l/up_vm_0_rl__x.7", "scheduler")


@pytest.mark.parametrize(
    "listings",
    [
        {},
        {"/w": Unknown("read-failed", "Permission denied")},
        {"/w": Listing(("a",), False, observation(("ls",)))},
    ],
)
def test_absence_needs_a_whole_listing(listings):
    assert isinstance(after_listing(wanted(), listings), Unknown)


def test_absence_of_a_running_jobs_log_needs_the_schedulers_path():
    assert isinstance(after_listing(wanted(templates=()), {"/w": listed(())}), Unknown)
    assert after_listing(wanted(), {"/w": listed(())}) is ABSENT


def test_listings_are_c_strings():
    text = '"my dir\\nnl"\n"caf\\303\\251"\n"a\\"b\\\\c"\n'
    found = read_listing(observation(("ls",), text))
    assert isinstance(found, Listing)
    assert found.names == ("my dir\nnl", "café", 'a"b\\c')
    assert found.whole


def test_a_directory_that_is_not_there_holds_nothing():
    missing = "ls: cannot access '/nonexistent/wd': No such file or directory\n"
    found = read_listing(observation(("ls",), code=2, stderr=missing))
    assert isinstance(found, Listing)
    assert found.names == ()
    refused = "ls: cannot open directory '/x': Permission denied\n"
    assert isinstance(read_listing(observation(("ls",), code=2, stderr=refused)), Unknown)


def test_a_listing_that_was_cut_is_not_whole():
    found = read_listing(observation(("ls",), '"a"\n"b', cut=10, code=141))
    assert isinstance(found, Listing)
    assert (found.names, found.whole) == (("a",), False)

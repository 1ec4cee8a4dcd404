"""What a sweep leaves is what the next one, and explain, find."""

from __future__ import annotations

import dataclasses
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeprules.engine.facts import Ref, Relation, Subject
from sweeprules.store.cassette import Cassette
from sweeprules.store.codec import CodecError, dump, load
from sweeprules.store.db import Store, open_kept, open_store
from sweeprules.store.errors import StoreError
from sweeprules.store.history import Raised
from sweeprules.store.kept import JobHit, StartingPoint, new_sweep_id
from tests.store.samples import DAY, START, cassette, cluster, info, job, record


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with open_store(tmp_path / "state", START) as opened:
        yield opened


def test_an_empty_store_knows_of_nothing(store: Store) -> None:
    assert store.last() is None
    assert store.last_complete() is None
    assert store.sweeps() == ()
    assert store.sweep("sweep-1") is None
    assert store.report("sweep-1") is None
    assert store.cassette("sweep-1") is None
    assert store.find_jobs("4711").exact == ()
    assert store.find_jobs("4711").near == ()
    assert store.stored([Ref("job", "leo:4711")], "sweep-1") == {}
    assert store.starting_point() == StartingPoint()


def test_the_state_is_private(store: Store) -> None:
    assert stat.S_IMODE(store.state.stat().st_mode) == 0o700
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    assert open_kept(tmp_path / "none", START) is None
    assert not (tmp_path / "none").exists()


def test_a_sweep_comes_back(tmp_path: Path) -> None:
    kept = record(1, cassette=cassette(1))
    with open_store(tmp_path, START) as store:
        store.save_sweep(kept)
    opened = open_kept(tmp_path, START)
    assert opened is not None
    with opened as store:
        assert store.last() == store.last_complete() == store.sweep("sweep-1") == info(1)
        assert store.report("sweep-1") == {"schema_version": 1, "number": 1}
        assert store.cassette("sweep-1") == cassette(1)
        found = store.world("sweep-1")
        assert {ref: item.subject for ref, item in found.items()} == {s.ref: s for s in kept.subjects}
        assert {ref: item.verdict for ref, item in found.items() if item.verdict} == kept.verdicts
        assert {item.sweep for item in found.values()} == {info(1)}


def test_sweeps_are_listed_newest_first(store: Store) -> None:
    for number in (1, 2, 3):
        store.save_sweep(record(number, complete=number != 3))
    assert [sweep.id for sweep in store.sweeps()] == ["sweep-3", "sweep-2", "sweep-1"]
    assert store.last() == info(3, complete=False)
    assert store.last_complete() == info(2)


def test_one_id_twice_is_refused_and_changes_nothing(store: Store) -> None:
    store.save_sweep(record(1))
    with pytest.raises(StoreError, match="refused what was written"):
        store.save_sweep(record(1, [job("leo", "1")]))
    assert store.sweeps() == (info(1),)
    assert Ref("job", "leo:1") not in store.world("sweep-1")


def test_a_sweep_whose_facts_can_not_be_written_changes_nothing(store: Store) -> None:
    store.save_sweep(record(1, prior_site={"a": 1}))
    bad = dataclasses.replace(record(2, prior_site={"a": 2}), report={"bad": float("nan")})
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.save_sweep(bad)
    assert store.starting_point().site == {"a": 1}
    store.save_sweep(record(3))
    assert [sweep.id for sweep in store.sweeps()] == ["sweep-3", "sweep-1"]


# ------------------------------------------------------------ jobs


def test_a_job_is_found_by_id_and_by_key(store: Store) -> None:
    store.save_sweep(record(1, [job("leo", "4711"), job("tacc", "4711"), job("leo", "4712")]))
    leo, tacc = JobHit("leo:4711", "sweep-1", "leo:4711"), JobHit("tacc:4711", "sweep-1", "tacc:4711")
    assert store.find_jobs("4711").exact == (leo, tacc)
    assert store.find_jobs("tacc:4711").exact == (tacc,)


def test_a_job_is_found_in_the_newest_sweep_that_holds_it(store: Store) -> None:
    store.save_sweep(record(1, [job("leo", "1"), job("leo", "2")]))
    store.save_sweep(record(2, [job("leo", "2")]))
    assert store.find_jobs("1").exact == (JobHit("leo:1", "sweep-1", "leo:1"),)
    assert store.find_jobs("2").exact == (JobHit("leo:2", "sweep-2", "leo:2"),)
    assert store.find_jobs("2", "sweep-1").exact == (JobHit("leo:2", "sweep-1", "leo:2"),)
    assert store.find_jobs("1", "sweep-2").exact == ()


def test_a_link_names_the_row_that_shows_it(store: Store) -> None:
    ended = dataclasses.replace(job("leo", "1"), judged=False)
    store.save_sweep(record(1, [ended, job("leo", "2")], rows={"leo:1": "leo:2"}))
    assert store.find_jobs("1").exact == (JobHit("leo:1", "sweep-1", "leo:2"),)


def test_an_earlier_sweeps_subject_is_no_job_of_its_own(store: Store) -> None:
    before = Subject(Ref("job", "leo:1@sweep-0"), {"job_id": "1"}, judged=False)
    now = dataclasses.replace(job("leo", "1"), relations={"previous": Relation((before.ref,))})
    store.save_sweep(record(1, [now, before]))
    assert [hit.key for hit in store.find_jobs("1").exact] == ["leo:1"]
    assert store.stored([before.ref], "sweep-1")[before.ref].subject == before


@pytest.mark.parametrize("job_id", ["123_4", "123+0", "/alice/rl-run/3", "a'; DROP TABLE sweeps; --", "%", "\u202e4"])
def test_ids_of_any_spelling(store: Store, job_id: str) -> None:
    store.save_sweep(record(1, [job("leo", job_id)]))
    assert [hit.key for hit in store.find_jobs(job_id).exact] == [f"leo:{job_id}"]
    assert [hit.key for hit in store.find_jobs(f"leo:{job_id}").exact] == [f"leo:{job_id}"]


def test_half_a_character_on_the_command_line(store: Store) -> None:
    store.save_sweep(record(1))
    assert store.find_jobs("47\udcff", "\udcff").exact == ()
    assert store.sweep("\udcff") is None
    assert store.report("\udcff") is None
    assert store.cassette("\udcff") is None


def test_near_ids(store: Store) -> None:
    store.save_sweep(record(1, [job("leo", str(number)) for number in range(40_000, 40_040)]))
    assert store.find_jobs("4003").near == ("40030", "40031", "40032", "40033", "40034")
    assert "40017" in store.find_jobs("400l7").near
    assert store.find_jobs("entirely-else").near == ()


def test_a_neighbourhood_follows_only_what_is_named(store: Store) -> None:
    one = dataclasses.replace(
        job("leo", "1"),
        relations={"cluster": Relation((Ref("cluster", "leo"),)), "next_link": Relation((Ref("job", "leo:2"),))},
    )
    two = dataclasses.replace(job("leo", "2"), relations={"next_link": Relation((Ref("job", "leo:3"),))})
    away = Relation((Ref("job", "leo:1"), Ref("job", "leo:gone")))
    store.save_sweep(
        record(1, [one, two, job("leo", "3"), dataclasses.replace(cluster("leo"), relations={"jobs": away})])
    )

    def keys(follow: set[str], depth: int, limit: int = 100) -> set[str]:
        return {ref.key for ref in store.around(one.ref, "sweep-1", follow, depth, limit)}

    assert keys({"next_link"}, 2) == {"leo:1", "leo:2", "leo:3"}
    assert keys({"next_link"}, 1) == {"leo:1", "leo:2"}
    assert keys({"next_link", "cluster", "jobs"}, 5) == {"leo:1", "leo:2", "leo:3", "leo"}
    assert len(keys({"next_link", "cluster"}, 5, 2)) == 2
    assert keys(set(), 5) == {"leo:1"}


# ------------------------------------------------------------ the prior state


def test_documents_stay_until_replaced(store: Store) -> None:
    store.save_sweep(
        record(1, prior_clusters={"leo": {"jobs": [1], "logs": {}}, "tacc": {"jobs": [2]}}, prior_site={"a": 1})
    )
    store.save_sweep(record(2, prior_clusters={"leo": {"jobs": [3], "logs": None}}, prior_site={"b": None}))
    prior = store.starting_point()
    assert prior.clusters == {"leo": {"jobs": [3]}, "tacc": {"jobs": [2]}}
    assert prior.site == {"a": 1}


def test_the_history_of_flags_is_the_last_sweeps(store: Store) -> None:
    one, two = Raised(Ref("job", "leo:1"), "stale-log"), Raised(Ref("cluster", "leo"), "queue-unknown")
    store.save_sweep(record(1, since={one: "sweep-1", two: "sweep-1"}))
    store.save_sweep(record(2, since={one: "sweep-1"}))
    assert store.starting_point().since == {one: "sweep-1"}


def test_the_baseline_of_a_cluster_is_its_last_whole_sweep(store: Store) -> None:
    ended = dataclasses.replace(job("leo", "9"), judged=False)
    sweep = Subject(Ref("sweep", "now"), {"id": "x"})
    store.save_sweep(record(1, [job("leo", "1"), job("tacc", "1"), ended, sweep], {"leo": "swept", "tacc": "swept"}))
    store.save_sweep(
        record(2, [job("leo", "2"), job("tacc", "2")], {"leo": "swept", "tacc": "partial"}, complete=False)
    )
    prior = store.starting_point()
    assert [subject.ref.key for subject in prior.subjects] == ["leo:2", "tacc:1", "now"]
    # What rules had decided of a job is known of it in the next sweep too.
    assert [subject.facts.get("bucket") for subject in prior.subjects] == ["rl", "rl", None]
    assert prior.swept == {"leo": START + 2 * DAY, "tacc": START + DAY}
    assert prior.last == info(2, complete=False)
    assert prior.last_complete == info(1)


def travelled(prior: StartingPoint) -> StartingPoint:
    """What a cassette gives back of it."""
    document = load(dump(prior.to_json()))
    assert isinstance(document, dict)
    return StartingPoint.from_json(document)


def test_as_many_whole_sweeps_are_looked_back_to_as_are_asked_for(store: Store) -> None:
    for number, status in enumerate(("swept", "swept", "partial", "swept"), start=1):
        store.save_sweep(
            record(number, [job("leo", str(number)), job("tacc", str(number))], {"leo": status, "tacc": "swept"})
        )
    prior = store.starting_point(3)
    keys = [[subject.ref.key for subject in look] for look in (prior.subjects, *prior.older)]
    assert keys == [["leo:4", "tacc:4"], ["leo:2", "tacc:3"], ["leo:1", "tacc:2"]]
    assert store.starting_point(9).older[-1] == ()
    assert store.starting_point().older == ()
    assert travelled(prior) == prior


def test_the_prior_state_travels_in_a_cassette(store: Store) -> None:
    raised = Raised(Ref("job", "leo:1"), "stale-log")
    store.save_sweep(record(1, prior_clusters={"leo": {"a": [1]}}, since={raised: "sweep-1"}))
    prior = store.starting_point()
    assert travelled(prior) == prior
    assert StartingPoint.from_json(StartingPoint().to_json()) == StartingPoint()
    with pytest.raises(CodecError, match="not a starting point"):
        StartingPoint.from_json({"last": None})


# ------------------------------------------------------------ what is forgotten


def test_old_sweeps_are_forgotten(store: Store) -> None:
    for number in range(5):
        store.save_sweep(record(number, [job("leo", str(number))], cassette=cassette(number)))
    assert store.prune(START + 4 * DAY, 2.5 * DAY, 1.5 * DAY) == 2
    assert [sweep.id for sweep in store.sweeps()] == ["sweep-4", "sweep-3", "sweep-2"]
    assert store.find_jobs("1").exact == ()
    assert store.cassette("sweep-2") is None
    assert isinstance(store.cassette("sweep-3"), Cassette)
    assert sorted(path.name for path in (store.state / "cassettes").iterdir()) == [
        "sweep-3.cassette",
        "sweep-4.cassette",
    ]


def test_what_the_next_sweep_starts_from_is_never_forgotten(store: Store) -> None:
    store.save_sweep(record(1, [job("tacc", "1")], {"tacc": "swept"}, complete=False))
    store.save_sweep(record(2, statuses={"leo": "swept"}))
    store.save_sweep(record(3, statuses={"leo": "partial", "tacc": "unreachable"}, complete=False))
    store.save_sweep(record(4, statuses={"leo": "unreachable"}, complete=False, cassette=cassette(4)))
    assert store.prune(START + 500 * DAY, DAY, DAY) == 1
    assert [sweep.id for sweep in store.sweeps()] == ["sweep-4", "sweep-2", "sweep-1"]
    assert store.cassette("sweep-4") is not None


def test_pruning_without_one_complete_sweep(store: Store) -> None:
    for number in (1, 2):
        store.save_sweep(record(number, statuses={"leo": "partial"}, complete=False))
    assert store.prune(START + 500 * DAY, DAY, DAY) == 1


def test_a_cassette_that_no_sweep_names_goes(store: Store) -> None:
    folder = store.state / "cassettes"
    folder.mkdir()
    (folder / "stray.cassette").touch()
    (folder / ".x.cassette.0123.partial").touch()
    (folder / "notes.txt").touch()
    store.prune(START, DAY, DAY)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_sweep_ids_are_names_of_files() -> None:
    assert new_sweep_id(START, "ab12") == "20261130T005320Z-ab12"
    for nonce in ("../x", "a/b", "", "a b"):
        if nonce:
            with pytest.raises(ValueError, match="not a sweep id"):
                new_sweep_id(START, nonce)


def test_an_id_that_is_a_path_is_refused(store: Store) -> None:
    bad = dataclasses.replace(info(1), id="../evil")
    with pytest.raises(ValueError, match="not a sweep id"):
        store.save_sweep(dataclasses.replace(record(1, cassette=cassette(1)), info=bad))
    assert store.sweeps() == ()

"""The state that a sweep starts from, where some clusters repeat a recording."""

from __future__ import annotations

from sweeprules.collectors.prior import ClusterMemo, JobMemo, Prior


def prior(*keys: str, at: float, edges: tuple[tuple[str, str], ...] = ()) -> Prior:
    jobs = {key: JobMemo(*key.split(":"), last_seen=at) for key in keys}
    return Prior(jobs, {memo.cluster: ClusterMemo(at) for memo in jobs.values()}, frozenset(edges))


def test_a_recorded_cluster_starts_from_the_state_of_its_recording() -> None:
    own = prior("a:1", "a:2", "b:3", at=9.0, edges=(("a:2", "a:1"), ("b:4", "b:3")))
    recorded = prior("a:1", "c:7", at=1.0, edges=(("a:9", "a:1"),))
    found = own.with_recorded({"a": recorded})
    assert {key: memo.last_seen for key, memo in found.jobs.items()} == {"a:1": 1.0, "b:3": 9.0}
    assert {name: memo.last_good for name, memo in found.clusters.items()} == {"a": 1.0, "b": 9.0}
    assert found.edges == {("a:9", "a:1"), ("b:4", "b:3")}


def test_a_recording_of_a_first_sweep_starts_from_nothing() -> None:
    found = prior("a:1", "b:3", at=9.0).with_recorded({"a": Prior()})
    assert set(found.jobs) == {"b:3"} and set(found.clusters) == {"b"}


def test_without_recordings_the_state_stands_as_it_is() -> None:
    own = prior("a:1", at=9.0)
    assert own.with_recorded({}) is own

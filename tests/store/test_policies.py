"""Kept policies: what was kept comes back; what another version kept, or nobody did, is said in words."""

from __future__ import annotations

import io
import pickle
import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from sweeprules.engine.language import ast
from sweeprules.store.errors import StoreError
from sweeprules.store.policies import FOLDER, MODULES, KeptPolicy, read_policy, save_policy, shape
from tests.engine.language.loading import FULL, load

KEPT = KeptPolicy(load(FULL.read_text()), {("job", "state"): "enum"}, frozenset({"run"}))
SHA = KEPT.policy.sha256


def kept(state: Path) -> Path:
    save_policy(state, KEPT)
    (path,) = (state / FOLDER).iterdir()
    return path


def test_a_policy_comes_back_as_it_was(tmp_path: Path) -> None:
    path = kept(tmp_path)
    assert read_policy(tmp_path, SHA) == KEPT
    before = path.stat().st_mtime_ns
    save_policy(tmp_path, KEPT)
    assert path.stat().st_mtime_ns == before


def test_one_that_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not kept"):
        read_policy(tmp_path, SHA)
    with pytest.raises(StoreError, match="is not kept"):
        read_policy(tmp_path, "../../*")


@pytest.mark.parametrize("name", ["{0}.policy", "{0}.0123456789ab.policy"])
def test_one_that_another_version_kept_is_named_and_does_not_keep_this_one_out(name: str, tmp_path: Path) -> None:
    kept(tmp_path).rename(tmp_path / FOLDER / name.format(SHA))
    with pytest.raises(StoreError, match="by another version of sweeprules"):
        read_policy(tmp_path, SHA)
    save_policy(tmp_path, KEPT)
    assert read_policy(tmp_path, SHA) == KEPT


def test_a_class_with_another_part_is_another_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept(tmp_path)

    @dataclass(frozen=True, slots=True)
    class Hold:
        """The hold of a version to come."""

        sweeps: int
        calendar: str

    Hold.__module__ = ast.__name__
    before = shape()
    monkeypatch.setattr(ast, "Hold", Hold)
    shape.cache_clear()
    try:
        assert shape() != before
        with pytest.raises(StoreError, match="by another version of sweeprules"):
            read_policy(tmp_path, SHA)
    finally:
        shape.cache_clear()


def test_damage_of_any_kind_is_said_and_never_crashes(tmp_path: Path) -> None:
    path = kept(tmp_path)
    whole = path.read_bytes()
    chance = random.Random(7)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(bytes(data[: chance.choice((len(data), chance.randrange(len(data))))]))
        try:
            read_policy(tmp_path, SHA)
        except StoreError as error:
            assert str(path) in str(error)


def test_a_planted_file_runs_no_code(tmp_path: Path) -> None:
    class Planted:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (__import__("os").system, ("false",))

    kept(tmp_path).write_bytes(pickle.dumps((Planted(), {}, frozenset())))
    with pytest.raises(StoreError, match="has no place in a policy"):
        read_policy(tmp_path, SHA)


def test_a_policy_under_the_name_of_another(tmp_path: Path) -> None:
    path = kept(tmp_path)
    path.rename(path.with_name(path.name.replace(SHA, "0" * 64)))
    with pytest.raises(StoreError, match="is not the policy that its name says"):
        read_policy(tmp_path, "0" * 64)


def test_every_module_that_values_of_a_policy_come_from_counts() -> None:
    """A value of a module that `shape` leaves out could change without a word."""
    seen: set[str] = set()

    class Looks(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> object:
            seen.add(module)
            return super().find_class(module, name)

    Looks(io.BytesIO(pickle.dumps(KEPT.policy, protocol=5))).load()
    ours = {module for module in seen if module.startswith("sweeprules.")}
    assert ours
    assert ours <= {one.__name__ for one in MODULES}

"""`sweeprules init` makes a whole site or nothing."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from sweeprules.engine.site import ClusterRecord
from sweeprules.store import scaffold
from sweeprules.store.errors import StoreError
from sweeprules.store.scaffold import FILES, make_site
from sweeprules.store.site import find_site, load_site


def files(folder: Path) -> set[str]:
    """Every file below a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_new_site_loads_and_touches_no_cluster(tmp_path: Path) -> None:
    root = tmp_path / "a" / "mine"
    assert set(make_site(root)) == files(root) == set(FILES)
    loaded = load_site(root, check_command=lambda argv, bans: None, secret_risk=lambda argv: False)
    assert [problem for problem in loaded.problems if not problem.mark.file.startswith("builtin:")] == []
    assert loaded.record_problems == {}
    (record,) = loaded.site.records
    assert isinstance(record, ClusterRecord)
    assert not record.enabled
    assert len(loaded.layers) == 2
    assert loaded.layers[1] == {}
    assert find_site(None, {}, root / "ops").root == root
    assert files(tmp_path) == {f"a/mine/{name}" for name in FILES}


def test_a_repository_without_files_will_do(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    make_site(tmp_path)
    assert files(tmp_path) == set(FILES)
    assert (tmp_path / ".git").is_dir()


def test_a_site_is_never_overwritten(tmp_path: Path) -> None:
    make_site(tmp_path / "s")
    (tmp_path / "s" / "sweeprules.yaml").write_text("mine")
    with pytest.raises(StoreError, match="is a site already"):
        make_site(tmp_path / "s")
    assert (tmp_path / "s" / "sweeprules.yaml").read_text() == "mine"


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(StoreError, match=r"is not empty: it holds notes\.txt"):
        make_site(tmp_path)
    with pytest.raises(StoreError, match="a site can not be made there: Not a directory"):
        make_site(tmp_path / "notes.txt")
    assert files(tmp_path) == {"notes.txt"}


@pytest.mark.parametrize("method", ["mkdir", "write_text", "rename"])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
@pytest.mark.parametrize("there", [True, False])
def test_a_full_disk_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, at: int, there: bool
) -> None:
    root = tmp_path / "site"
    if there:
        root.mkdir()
    real = getattr(Path, method)
    calls = 0

    def full(*args: object, **kwargs: object) -> object:
        nonlocal calls
        calls += 1
        if calls == at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Path, method, full)
        try:
            make_site(root)
        except StoreError as error:
            assert "No space left on device" in str(error)
            assert [item.name for item in tmp_path.iterdir()] == (["site"] if there else [])
            assert files(tmp_path) == set()
            return
    assert calls < at, "the failure was swallowed"
    assert files(root) == set(scaffold.FILES)

"""Files are whole or not there, whatever fails on the way."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from sweeprules.store.errors import StoreError
from sweeprules.store.files import drop_leftovers, make_private_dir, read_bounded, write_atomic


def no_space(*_: object, **__: object) -> None:
    """What the system says when the disk is full."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def names(folder: Path) -> list[str]:
    """What is in a folder, the hidden files too."""
    return sorted(item.name for item in folder.iterdir())


def test_a_file_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert names(path.parent) == ["file"]


def test_an_old_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"a long old text")
    write_atomic(path, b"new", 0o644)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / "link").symlink_to(target)
    write_atomic(tmp_path / "link", b"new")
    assert target.read_text() == "mine"
    assert (tmp_path / "link").read_bytes() == b"new"


@pytest.mark.parametrize("step", ["open", "fdopen", "fsync"])
def test_a_full_disk_at_any_step_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with monkeypatch.context() as patch, pytest.raises(StoreError, match="No space left") as caught:
        patch.setattr(os, step, no_space)
        write_atomic(path, b"new")
    assert str(caught.value).startswith(str(path))
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("method", ["replace", "mkdir"])
def test_a_refused_rename_or_folder_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    folder = tmp_path if method == "replace" else tmp_path / "new"
    with monkeypatch.context() as patch, pytest.raises(StoreError, match="could not be written"):
        patch.setattr(Path, method, no_space)
        write_atomic(folder / "file", b"new")
    assert names(tmp_path) == []


def test_the_middle_of_the_data_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., IO[bytes]] = os.fdopen

    class Full:
        def __init__(self, handle: int) -> None:
            self.stream = real(handle, "wb")

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None:
            self.stream.close()

        def write(self, data: bytes) -> None:
            self.stream.write(data[: len(data) // 2])
            no_space()

    path = tmp_path / "file"
    path.write_bytes(b"old")
    with monkeypatch.context() as patch, pytest.raises(StoreError, match="No space left"):
        patch.setattr(os, "fdopen", lambda handle, _mode: Full(handle))
        write_atomic(path, b"0123456789")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_leftovers_go_and_nothing_else(tmp_path: Path) -> None:
    for name in (".file.0123.partial", "file.partial", ".hidden", "file"):
        (tmp_path / name).touch()
    drop_leftovers(tmp_path)
    assert names(tmp_path) == [".hidden", "file", "file.partial"]
    drop_leftovers(tmp_path / "none")


def test_existing_folders_keep_their_mode(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    make_private_dir(tmp_path / "open" / "a" / "b")
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "open" / "a").stat().st_mode) == 0o700


def test_reading_has_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    with pytest.raises(StoreError, match="is larger than 4 bytes"):
        read_bounded(path, 4)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(StoreError, match="is not a regular file"):
        read_bounded(tmp_path / "pipe", 10)
    with pytest.raises(StoreError, match=r"is not a regular file|Is a directory"):
        read_bounded(tmp_path, 10)
    with pytest.raises(StoreError, match="Too many levels of symbolic links"):
        read_bounded(tmp_path / "loop", 10)
    with pytest.raises(StoreError, match="No such file"):
        read_bounded(tmp_path / "none", 10)

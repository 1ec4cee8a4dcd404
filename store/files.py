"""Files that are either whole or not there, and reads that have a bound."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from sweeprules.store.errors import StoreError, reason

PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600
_TEMP_SUFFIX = ".partial"


def write_atomic(path: Path, data: bytes, mode: int = PRIVATE_FILE) -> None:
    """Put `data` at `path` so that a reader, or a crash at any point, sees the old file or the new one, whole.

    Missing folders are made, for the owner alone. Raises `StoreError`; the old file then stands and nothing else is
    left beside it.
    """
    temp = path.with_name(f".{path.name}.{secrets.token_hex(6)}{_TEMP_SUFFIX}")
    try:
        make_private_dir(path.parent)
        _write_new(temp, data, mode)
        temp.replace(path)
        sync_dir(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temp.unlink()
        raise StoreError(
            str(path), f"could not be written: {reason(error)}", "the file before it is untouched"
        ) from error


def _write_new(path: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, flags, mode)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def sync_dir(path: Path) -> None:
    """Make a rename in this folder outlive a power cut. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_private_dir(path: Path) -> None:
    """Make a folder and those above it for the owner alone; one that exists stays as it is. Raises OSError."""
    missing = [path]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for folder in reversed(missing):
        folder.mkdir(mode=PRIVATE_DIR, exist_ok=True)


def drop_leftovers(folder: Path) -> None:
    """Remove half-written files that a killed writer left in a folder; call it only while no other writer can run."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.name.startswith(".") and path.name.endswith(_TEMP_SUFFIX):
                path.unlink(missing_ok=True)


def read_bounded(path: Path, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes.

    Raises `StoreError` for anything else: missing, a folder, a pipe or a device (which could hang), unreadable, a
    loop of symbolic links, too large.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise StoreError(str(path), "is not a regular file", "a plain file is expected here")
            data = stream.read(limit + 1)
    except OSError as error:
        raise StoreError(str(path), f"could not be read: {reason(error)}") from error
    if len(data) > limit:
        raise StoreError(
            str(path), f"is larger than {limit} bytes", "such a file is not read: split it, or check what it is"
        )
    return data

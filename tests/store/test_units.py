"""Durations, sizes and moments of site files, and where the state is."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeprules.store import units
from sweeprules.store.state import make_state, state_path


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15s", 15.0), ("30m", 1800.0), ("1.5h", 5400.0), ("2d", 172800.0), ("0s", 0.0)]
    + [(bad, None) for bad in ("", "15", "s", "-1s", "1 s", "1w", "1e3s", "9" * 400 + "s", "1s\n", "٣s")],
)
def test_durations(text: str, seconds: float | None) -> None:
    assert units.duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "count"),
    [("64GB", 64 * 10**9), ("64GiB", 64 * 2**30), ("1.5KB", 1500), ("2TB", 2 * 10**12)]
    + [(bad, None) for bad in ("64", "GB", "64gb", "64 GB", "-1GB", "64B")],
)
def test_sizes(text: str, count: int | None) -> None:
    assert units.size(text) == count


@pytest.mark.parametrize(
    ("text", "at"),
    [("1970-01-02", 86400.0), ("1970-01-01T06:00Z", 21600.0), ("1970-01-01T00:00:07Z", 7.0)]
    + [(bad, None) for bad in ("1970-02-30", "1970-01-01T06:00", "1970-01-01T25:00Z", "tomorrow", "1970-1-1", "")],
)
def test_moments(text: str, at: float | None) -> None:
    assert units.moment(text) == at


def test_the_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert state_path(None, {}) == tmp_path / ".local/state/sweeprules"
    assert state_path(None, {"SWEEPRULES_STATE": "~/x"}) == tmp_path / "x"
    assert state_path("here", {"SWEEPRULES_STATE": "~/x"}) == tmp_path / "here"
    make_state(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700

"""A library that can not be had is told loudly, and fails the test where real output is required."""

from __future__ import annotations

import pytest

from tests.real import venvs


@pytest.mark.parametrize(("required", "ends"), [("", pytest.skip.Exception), ("required", pytest.fail.Exception)])
def test_a_library_that_can_not_be_had(
    required: str,
    ends: type[BaseException],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SWEEPRULES_REAL", required)
    with pytest.raises(ends, match=r"REAL OUTPUT OF NOTHING IS NOT CHECKED: there is no Python of 9\.9"):
        venvs.room(tmp_path_factory, "nothing", ["no-such-library"], least=(9, 9))


def test_a_program_that_ends_badly_fails(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("room")
    (folder / "bin").mkdir()
    (folder / "bin/bad").write_text("#!/bin/sh\necho broken\nexit 3\n")
    (folder / "bin/bad").chmod(0o755)
    with pytest.raises(AssertionError, match="broken"):
        venvs.Room(folder).run(["bad"], folder)

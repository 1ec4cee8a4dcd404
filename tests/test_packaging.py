"""What a plain installation brings along."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
OF_DATA = ("rules", "schemas", "ops", "templates", "demo")


def folders() -> set[str]:
    """The folders below those of data that hold a file of the project, as packages."""
    files = [path for name in OF_DATA for path in (ROOT / name).rglob("*") if path.is_file()]
    kept = {path.parent.relative_to(ROOT) for path in files if path.suffix != ".pyc"}
    return {".".join(("sweeprules", *path.parts)) for path in kept}


def test_each_folder_that_holds_data_is_named_as_a_package() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    assert folders() <= set(listed)
    assert not {name for name in listed if not (ROOT / Path(*name.split(".")[1:])).is_dir()}

"""`init`: a new site is whole, good, and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Sweeprules


def test_a_new_site_is_good_for_every_verb(tmp_path: Path, sweeprules: Sweeprules) -> None:
    new = tmp_path / "new site"
    made = sweeprules("init", new)
    assert made.exit == 0
    assert "sweeprules.yaml" in made.out.splitlines()
    assert all((new / name).is_file() for name in made.out.splitlines())
    assert "validate" in made.err
    checked = sweeprules("validate", "--site", new)
    assert (checked.exit, checked.err) == (0, "")
    assert checked.out.startswith("good: ")
    assert sweeprules("test", "--site", new).exit == 0
    shipped = Path(__file__).resolve().parents[2]
    own, theirs = (json.loads(sweeprules("rules", "--site", s, "--output", "json").out) for s in (new, shipped))
    assert own["policy_sha256"] == theirs["policy_sha256"]


def test_a_folder_in_use_is_left_alone(tmp_path: Path, sweeprules: Sweeprules) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used/notes").write_text("mine")
    found = sweeprules("init", tmp_path / "used")
    assert found.exit == 2
    assert "is not empty" in found.err
    assert [path.name for path in (tmp_path / "used").iterdir()] == ["notes"]
    assert sweeprules("init", tmp_path / "new").exit == 0
    assert "is a site already" in sweeprules("init", tmp_path / "new").err


def test_a_folder_is_named(sweeprules: Sweeprules) -> None:
    assert sweeprules("init").exit == 2

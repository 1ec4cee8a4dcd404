"""State that another version left: said in words before anything is asked, and never a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sweeprules.cli import held, marks
from sweeprules.cli.remembered import check_remembered
from sweeprules.collectors.prior import JobMemo, Prior
from sweeprules.engine.facts import Ref
from sweeprules.engine.holds import HoldState
from sweeprules.store.db import open_store
from sweeprules.store.errors import StoreError
from sweeprules.store.kept import StartingPoint, SweepInfo, SweepRecord
from tests.cli.conftest import Sweeprules

GOOD: dict[str, Any] = {
    "collectors": Prior({"leo:1": JobMemo("leo", "1")}).to_data(),
    held.HOLDS: held.to_data({("r", Ref("job", "leo:1")): HoldState(2, "s1", 5.0, 9.0, "11")}),
    marks.STEPS: marks.to_data({"leo:1": (3, 7)}),
}
BAD: list[tuple[str, Any]] = [
    ("collectors", {"version": 2}),
    ("collectors", {"version": 1}),
    ("collectors", {**GOOD["collectors"], "jobs": [{"cluster": "leo"}]}),
    ("collectors", {**GOOD["collectors"], "clusters": {"leo": {"calendar": 1}}}),
    (held.HOLDS, {"version": 2, "states": []}),
    (held.HOLDS, {"version": 1}),
    (held.HOLDS, {"version": 1, "states": [["r", "job", "leo:1", {"sweeps": 1, "calendar": 2}]]}),
    (held.HOLDS, {"version": 1, "states": [["r"]]}),
    (marks.STEPS, {"version": 2, "jobs": {}}),
    (marks.STEPS, {"version": 1, "jobs": [1]}),
]


def test_what_this_version_left_is_read() -> None:
    check_remembered(StartingPoint(), "x")
    check_remembered(StartingPoint(site=GOOD), "x")


@pytest.mark.parametrize(("name", "document"), BAD)
def test_what_another_version_left_is_said(name: str, document: Any) -> None:
    with pytest.raises(StoreError) as caught:
        check_remembered(StartingPoint(site={**GOOD, name: document}), "/state/db")
    assert str(caught.value).startswith(f"/state/db: what earlier sweeps left under '{name}' can not be read")
    assert "--state" in caught.value.hint


def test_a_job_that_an_earlier_version_left_lacks_what_is_remembered_since() -> None:
    data = GOOD["collectors"]
    for lost in ("gone_sweeps", "signature", "log", "bucket"):
        (job,) = [{key: value for key, value in one.items() if key != lost} for one in data["jobs"]]
        assert Prior.from_data({**data, "jobs": [job]}).jobs == {"leo:1": JobMemo("leo", "1")}


def test_a_sweep_that_finds_it_says_so_and_sends_nothing(site: Path, tmp_path: Path, sweeprules: Sweeprules) -> None:
    state = tmp_path / "state"
    with open_store(state, 0.0) as store:
        info = SweepInfo("s1", 0.0, 0.0, 0.0, True, "native", "0" * 64)
        store.save_sweep(SweepRecord(info, {}, {}, (), prior_site={held.HOLDS: {"version": 9}}))
    found = sweeprules("run", "--site", site, "--state", state)
    assert found.exit != 0
    assert "what earlier sweeps left under 'holds' can not be read by this version" in found.err
    assert "version 9" in found.err
    with open_store(state, 0.0) as store:
        assert [one.id for one in store.sweeps()] == ["s1"]

"""Which runs prove that the setting that they ran in is sound."""

from __future__ import annotations

import pytest

from sweeprules.cli.runs import sound
from sweeprules.engine.facts import Ref, Subject, World
from sweeprules.engine.verdicts import Verdict

JOB = Ref("job", "c:1")


@pytest.mark.parametrize(
    ("state", "health", "proves"),
    [
        ("RUNNING", "healthy", True),
        ("COMPLETED", "ended", True),
        # What accounting calls completed may have failed, or have trained numbers that are none.
        ("COMPLETED", "flagged", False),
        ("COMPLETED", "exempt", False),
        ("TIMEOUT", "ended", False),
        ("CANCELLED", "ended", False),
        ("RUNNING", "unknown", False),
        ("RUNNING", "starting", False),
    ],
)
def test_a_run_proves_its_setting_when_nothing_about_it_is_flagged(state: str, health: str, proves: bool) -> None:
    verdicts = {JOB: Verdict(JOB, {}, {}, (), (), health)}
    assert (JOB.key in sound(verdicts, World({JOB: Subject(JOB, {"state": state})}))) is proves

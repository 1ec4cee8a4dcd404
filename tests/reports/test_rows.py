"""What proves that a run made no step yet: every link that has begun was read whole, and none printed one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sweeprules.engine.facts import ABSENT, Ref, Subject, Unknown
from sweeprules.reports.document import build
from tests.reports.fleet import job, verdict, with_steps, world_of


@pytest.mark.parametrize(
    ("waits", "filling"),
    [
        ({"state": "PENDING", "log.exists": ABSENT}, True),
        ({"state": "PENDING", "log.exists": True}, False),
        ({"state": Unknown("vanished"), "log.exists": ABSENT}, False),
        ({"state": "TIMEOUT"}, False),
    ],
)
def test_only_a_link_that_never_began_needs_no_reading(waits: dict[str, Any], filling: bool) -> None:
    running = with_steps(job("leonardo:1", "rl_dlp", step=Unknown("not-read")), [])
    other = replace(job("leonardo:2", "rl_dlp"), facts={**job("leonardo:2", "rl_dlp", step=ABSENT).facts, **waits})
    run = Subject(Ref("run", "leonardo:1"), {}, {}, {
        "links": with_steps(running, [running, other]).relations["steps"],
        "row": with_steps(running, [running]).relations["steps"],
    })  # fmt: skip
    (table,) = build(world_of([running, other, run], [verdict(running, "rl")]))["tables"]
    assert table["title"].startswith("RL, still filling") is filling

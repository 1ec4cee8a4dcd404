"""A record can not ask for what prints secrets, even in a form that reads files in general."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeprules.collectors.transport.allow import CommandRefusedError, check_extra
from sweeprules.collectors.transport.risk import secret_risk
from sweeprules.engine.site import BrokenRecord
from sweeprules.store.record import read_record

RECORD = """cluster: c
scheduler: slurm
user: alice
timezone: UTC
reach: {{via: local}}
commands: [{{argv: {argv}, because: x}}]
"""


def refusal(argv: tuple[str, ...], bans: frozenset[str]) -> str | None:
    """Why a command may not be sent."""
    try:
        check_extra(argv, bans)
    except CommandRefusedError as refused:
        return str(refused)
    return None


def risk(tmp_path: Path, argv: str) -> bool | None:
    """Whether the record is refused for a secret; None when it may be used."""
    (tmp_path / "ops" / "c").mkdir(parents=True)
    (tmp_path / "ops" / "c" / "cluster.yaml").write_text(RECORD.format(argv=argv))
    record = read_record(tmp_path, "c", refusal, lambda words: secret_risk(words) is not None).record
    return record.secret_risk if isinstance(record, BrokenRecord) else None


@pytest.mark.parametrize(
    "argv",
    ["[cat, --, /proc/1/environ]", "[cat, --, /home/a/hpc.env]", "[tail, -c, '99', --, /home/a/.netrc]", "[env]"],
)
def test_it_blocks_the_cluster_and_says_secret(tmp_path: Path, argv: str):
    assert risk(tmp_path, argv) is True


@pytest.mark.parametrize("argv", ["[cat, --, /home/a/notes.txt]", "[squeue, -h, -o, '%i']"])
def test_what_only_reads_is_kept(tmp_path: Path, argv: str):
    assert risk(tmp_path, argv) is None

"""Logs beside a job's own over several sweeps: found by name, read from where they were left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeprules.collectors.trials import sidelogs
from sweeprules.collectors.trials.serving import read_posts
from sweeprules.collectors.trials.sidelogs import Found, SideLog
from sweeprules.collectors.trials.steps import run
from sweeprules.engine.facts import ABSENT, Unknown
from tests.collectors.trials.shell import Login

POST = 'INFO:  10.0.0.9:1 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
RECORD, FIELD = "<record 7f>", "<field 7f>"


def read(root: Path, kept: dict | None = None, login: Login | None = None) -> Found:
    memos = json.loads(json.dumps(kept or {}))
    wanted = {"7": (str(root), str(root / "logs"))}
    found, _ = run((login or Login()).ask, {"s": sidelogs.sidelogs(wanted, memos, RECORD, FIELD)})
    if kept is not None:
        kept.update({one.path: dict(one.memo) for one in found["s"]["7"].values() if isinstance(one, SideLog)})
    return found["s"]["7"]


def engine(found: Found) -> SideLog:
    log = found["engine"]
    assert isinstance(log, SideLog)
    return log


def test_each_kind_is_found_where_it_lies(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "vllm.log").write_text(POST)
    (tmp_path / "slurm.log").write_text("x")
    (tmp_path / "logs" / "run_pinggy.log").write_text("You are authenticated as x\n")
    login = Login()
    found = read(tmp_path, None, login)
    assert found["upload"] is ABSENT
    assert {kind: one.path for kind, one in found.items() if isinstance(one, SideLog)} == {
        "engine": str(tmp_path / "vllm.log"),
        "tunnel": str(tmp_path / "logs" / "run_pinggy.log"),
    }
    assert len(login.calls) == 3 and engine(found).whole and not engine(found).gap


def test_requests_are_counted_once_over_sweeps(tmp_path):
    (tmp_path / "logs").mkdir()
    log, kept = tmp_path / "vllm.log", {}
    log.write_text(POST * 5 + POST[:30])
    counts = []
    for more in (POST[30:], POST * 4, "", POST):
        one = engine(read(tmp_path, kept))
        counts.append(read_posts(one.chunk, one.since).total)
        assert one.whole
        log.write_text(log.read_text() + more)
    assert counts == [5, 1, 4, 0]


def test_a_log_that_began_anew_is_read_as_new(tmp_path):
    (tmp_path / "logs").mkdir()
    log, kept = tmp_path / "vllm.log", {}
    log.write_text(POST * 9)
    read(tmp_path, kept)
    log.write_text(POST * 2)
    one = engine(read(tmp_path, kept))
    assert (one.since, read_posts(one.chunk, one.since).total) == (0, 2)


def test_more_than_is_read_in_one_sweep_is_a_gap(tmp_path, monkeypatch):
    monkeypatch.setattr(sidelogs, "FIRST_SIGHT", 300)
    monkeypatch.setattr(sidelogs, "AT_MOST", 900)
    (tmp_path / "logs").mkdir()
    log, kept = tmp_path / "vllm.log", {}
    log.write_text(POST * 3)
    assert engine(read(tmp_path, kept)).whole
    log.write_text(POST * 50)
    one = engine(read(tmp_path, kept))
    assert one.gap and not one.whole
    log.write_text(POST * 51)
    again = engine(read(tmp_path, kept))
    assert not again.gap and not again.whole
    assert read_posts(again.chunk, again.since).total == 1


def test_a_directory_that_can_not_be_listed_proves_nothing(tmp_path):
    found = read(tmp_path, None, Login(fail=frozenset({1})))
    assert all(isinstance(one, Unknown) for one in found.values())


@pytest.mark.parametrize("call", [2, 3])
def test_a_log_that_was_found_and_not_read_is_unknown(tmp_path, call):
    (tmp_path / "logs").mkdir()
    (tmp_path / "vllm.log").write_text(POST)
    assert isinstance(read(tmp_path, None, Login(fail=frozenset({call})))["engine"], Unknown)

"""The setting of a run: equal for launches alike, unlike where a part of it is, unknown while a part is unread."""

from __future__ import annotations

import pytest

from sweeprules.collectors.prior import ClusterMemo, Prior
from sweeprules.collectors.remember import KEEP_SETTINGS, remember
from sweeprules.collectors.settings import PARTS, said_interval, said_target, said_total, settings_key
from sweeprules.collectors.steps import with_steps
from sweeprules.engine.facts import ABSENT, NOT_READ, FactValue, Reason, Ref, Relation, Subject, Unknown

PRINTED = {"code": "abc1234", "model": "m/8B", "policy_num_nodes": "2", "num_inference_engines": "4"}
COMMAND = "sbatch --image /img/a.sif run.sh --config conf/a.yaml"


def facts(**more: FactValue) -> dict[str, FactValue]:
    return {"command": COMMAND, "nodes": 4, **more}


def test_launches_alike_have_one_key_and_every_part_counts() -> None:
    key = settings_key(facts(), PRINTED)
    assert isinstance(key, str) and key == settings_key(facts(name="other"), dict(reversed(PRINTED.items())))
    others = [
        settings_key(facts(nodes=5), PRINTED),
        settings_key(facts(command=COMMAND.replace("a.sif", "b.sif")), PRINTED),
        settings_key(facts(command=COMMAND.replace("a.yaml", "b.yaml")), PRINTED),
        *(settings_key(facts(), {**PRINTED, part: "other"}) for part in PARTS),
    ]
    assert len({key, *others}) == 4 + len(PARTS)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_was_not_printed_leaves_it_open(part: str) -> None:
    found = settings_key(facts(), {name: value for name, value in PRINTED.items() if name != part})
    assert isinstance(found, Unknown) and part in found.detail


def test_a_command_or_nodes_that_nobody_read_leave_it_open() -> None:
    assert settings_key(facts(command=NOT_READ), PRINTED) == NOT_READ == settings_key(facts(nodes=NOT_READ), PRINTED)
    assert isinstance(settings_key({}, PRINTED), Unknown) and isinstance(
        settings_key(facts(nodes=ABSENT), PRINTED), Unknown
    )


@pytest.mark.parametrize(
    ("command", "total", "interval"),
    [
        ("x --max_steps 900 --save_steps=40", 900, 40),
        ("x trainer.max_steps=900", 900, None),
        ("x --max_steps -1 --save_steps 0.5", None, None),
        ("x --max_steps 900 --max_steps 901", None, None),
        ("x --no_max_steps 900", None, None),
        ("x --max_steps 0", None, None),
        (NOT_READ, None, None),
    ],
)
def test_what_a_command_configures(command: FactValue, total: int | None, interval: int | None) -> None:
    assert (said_total(command), said_interval(command, "sft")) == (total, interval)
    assert said_interval("x trainer.ckpt_interval=20", "rl") == 20
    assert said_interval("x trainer.ckpt_interval=20", "eval") is None


def job(number: int, **more: FactValue) -> Subject:
    run = Relation((Ref("run", "c:1"),))
    return Subject(Ref("job", f"c:{number}"), {"cluster": "c", "job_id": str(number), **more}, relations={"run": run})


def seen(key: FactValue, prior: Prior) -> FactValue:
    link = job(1, settings_key=key, state="RUNNING")
    relations = {"links": Relation((link.ref,)), "row": Relation((link.ref,))}
    made = with_steps([link, Subject(Ref("run", "c:1"), {}, relations=relations)], {link.ref: "rl"}, {}, prior, ())
    return made[0].facts["setting_seen"]


def test_a_setting_is_seen_once_a_run_proved_it() -> None:
    empty = seen("k", Prior())
    assert isinstance(empty, Unknown) and empty.reason == Reason.WARMING_UP
    assert seen("k", Prior(settings={"k": 5.0})) is True
    assert seen("k", Prior(settings={"other": 5.0})) is False
    assert seen(NOT_READ, Prior(settings={"k": 5.0})) == NOT_READ


def test_sound_runs_prove_their_setting_for_as_long_as_they_are_kept() -> None:
    jobs = [
        job(1, settings_key="done", state="COMPLETED"),
        job(2, settings_key="well", state="RUNNING"),
        job(3, settings_key="unsure", state="RUNNING"),
        job(4, settings_key="dead", state="FAILED"),
        job(5, settings_key=NOT_READ, state="COMPLETED"),
    ]
    start = Prior({}, {"c": ClusterMemo()}, settings={"old": 7.0})
    after = remember(start, (), jobs, {}, 8.0, sound={"c:1", "c:2", "c:5"})
    assert after.settings == {"old": 7.0, "done": 8.0, "well": 8.0}
    assert Prior.from_data(after.to_data()).settings == after.settings
    later = remember(after, (), (), {}, 7.0 + KEEP_SETTINGS)
    assert later.settings == {"done": 8.0, "well": 8.0}


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("sbatch eval.sh --upload_target DCAgent2/throughput", "DCAgent2/throughput"),
        ("eval.sh --upload-target=DCAgent2/oom-grid --n 3", "DCAgent2/oom-grid"),
        ("eval.sh --target 'laion/a2-8B'", "laion/a2-8B"),
        ("eval.sh --target_repo laion/a2-8B --upload_target laion/a2-8B", "laion/a2-8B"),
        ("eval.sh --upload_target laion/a2-8B --target DCAgent2/m-traces", "laion/a2-8B"),
    ],
)
def test_a_target_is_what_the_command_names(command: str, target: str) -> None:
    assert said_target(command) == target


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("eval.sh --upload_target DCAgent2/m-traces", Reason.NOT_READ),
        ("eval.sh --upload_target a/b --target c/d", Reason.DISAGREE),
        ("eval.sh --my_target a/b", Reason.NOT_READ),
        ("eval.sh --upload_target /scratch/a/b", Reason.NOT_READ),
        ("eval.sh --upload_target a/b/c", Reason.NOT_READ),
        ("eval.sh", Reason.NOT_READ),
        (ABSENT, Reason.NOT_READ),
        (None, Reason.NOT_READ),
        (Unknown(Reason.READ_FAILED), Reason.READ_FAILED),
    ],
)
def test_no_target_is_made_up(command: FactValue | None, reason: Reason) -> None:
    found = said_target(command)
    assert isinstance(found, Unknown) and found.reason == reason

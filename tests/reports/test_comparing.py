"""Two rule sets compared: what one gains the other loses, and people's words make precision and recall."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from sweeprules.engine.facts import Ref
from sweeprules.engine.truth import FALSE, TRUE
from sweeprules.engine.verdicts import Action, Flag, Verdict
from sweeprules.reports.compared_text import render
from sweeprules.reports.comparing import LEVELS, Comparison, Expected, build, changes, findings

JOBS = [Ref("job", f"leo:{number}") for number in (1, 2, 3)]
Sweeps = list[Mapping[Ref, Verdict]]


def verdict(ref: Ref, *flags: Flag, actions: tuple[Action, ...] = ()) -> Verdict:
    return Verdict(ref, {"r": TRUE if flags else FALSE}, {}, flags, actions)


def flag(name: str = "stale-log", severity: str = "warning", *, exempt: bool = False) -> Flag:
    return Flag(name, severity, "r", "said", exempt=exempt)


def action(status: str) -> Action:
    return Action("propose-kill", "kill", True, {}, "kill", status, (), ("r",))


def compared(old: Sweeps, new: Sweeps) -> Comparison:
    found = Comparison()
    for number, (before, after) in enumerate(zip(old, new, strict=True)):
        found.add(f"sweep-{number}", before, after, dict.fromkeys(JOBS, "a\x1b[31mname"))
    return found


FLAGS = st.builds(flag, st.sampled_from(["a", "b"]), st.sampled_from(LEVELS), exempt=st.booleans())
VERDICTS = st.fixed_dictionaries(
    {
        ref: st.lists(FLAGS, max_size=2, unique_by=lambda f: f.name).map(lambda fs, ref=ref: verdict(ref, *fs))
        for ref in JOBS
    }
)
SWEEPS = st.lists(st.tuples(VERDICTS, VERDICTS), min_size=1, max_size=3)
MIRROR = {"gained": "lost", "lost": "gained", "moved": "moved"}


@given(SWEEPS)
def test_what_one_side_gains_the_other_loses(sweeps: list[tuple[Mapping[Ref, Verdict], Mapping[Ref, Verdict]]]) -> None:
    old, new = [one for one, _ in sweeps], [other for _, other in sweeps]
    there, back = compared(old, new), compared(new, old)
    assert [(t, MIRROR[c], a, b) for t, c, b, a in changes(there)] == changes(back)
    assert changes(compared(old, old)) == []
    for level in LEVELS:
        lost, gained = (findings(one, [(change, level)]) for one, change in ((there, "lost"), (back, "gained")))
        assert [one["key"] for one in lost] == [one["key"] for one in gained]
    document = {
        **build(there, []), "window": {"judged": 1, "cassettes": 1, "first": "", "last": ""}, "not_judged": [],
        "old": {"rules": "-", "policy_sha256": []}, "new": {"rules": "-", "policy_sha256": []}, "findings": [],
    }  # fmt: skip
    assert "\x1b" not in render(document)


def test_an_exempted_flag_is_lost_and_so_is_a_lowered_one() -> None:
    one = JOBS[0]
    exempted = compared([{one: verdict(one, flag())}], [{one: verdict(one, flag(exempt=True))}])
    assert [(thing.counts, change) for thing, change, _, _ in changes(exempted)] == [(False, "gained"), (True, "lost")]
    assert [found["gate"] for found in findings(exempted, [("lost", "warning")])] == ["lost:warning"]
    lowered = compared([{one: verdict(one, flag())}], [{one: verdict(one, flag(severity="info"))}])
    assert [change for _, change, _, _ in changes(lowered)] == ["moved"]
    assert [found["gate"] for found in findings(lowered, [("lost", "warning"), ("lost", "info")])] == ["lost:warning"]


def test_an_action_that_is_blocked_under_the_new_rules_is_moved() -> None:
    one = JOBS[0]
    old, new = ([{one: verdict(one, flag(), actions=(action(status),))}] for status in ("open", "blocked"))
    document = build(compared(old, new), [])
    (shown,) = document["subjects"][0]["actions"]
    assert (shown["change"], shown["old"]["status"], shown["new"]["status"]) == ("moved", "open", "blocked")
    assert document["totals"] == {
        "flags": {"gained": 0, "lost": 0, "moved": 0}, "actions": {"gained": 0, "lost": 0, "moved": 1},
    }  # fmt: skip


def test_precision_and_recall_count_judged_jobs_alone_and_the_last_word() -> None:
    first, second, third = JOBS
    old = [{first: verdict(first, flag()), second: verdict(second, flag()), third: verdict(third, flag())}]
    new = [{first: verdict(first, flag()), second: verdict(second), third: verdict(third, flag(exempt=True))}]
    words = [
        Expected(first.key, "stale-log", False),
        Expected(first.key, "stale-log", True),
        Expected(second.key, "", False),
        Expected("leo:9", "stale-log", True),
    ]
    (row,) = build(compared(old, new), words)["flags"]
    assert (row["judged"], row["wanted"]) == (2, 1)
    assert row["old"] == {"precision": 0.5, "recall": 1.0}
    assert row["new"] == {"precision": 1.0, "recall": 1.0}

"""The catalogue agrees with itself and with the list of facts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schemas.shipped import ROOT, read_yaml, schema

CATALOGUE: dict[str, Any] = read_yaml(ROOT / "rules" / "catalogue.yaml")
FLAGS = CATALOGUE["flags"]
ACTIONS = CATALOGUE["actions"]
FACTS = schema("facts")["$defs"]
SUBJECTS = {node["x-kind"]["subject"] for node in FACTS.values() if "x-kind" in node}


def _fact_words(kind: str, name: str) -> list[str]:
    words: list[str] = FACTS[kind]["properties"][name]["anyOf"][0]["enum"]
    return words


def test_subjects_are_kinds_of_the_facts() -> None:
    used = {kind for entry in [*FLAGS.values(), *CATALOGUE["templates"].values()] for kind in entry["subject"]}
    used |= {kind for flag in FLAGS.values() for kind in flag.get("through", [])}
    used |= {route["subject"] for route in CATALOGUE["routing"]["by_fact"].values()}
    assert used <= SUBJECTS


@pytest.mark.parametrize("key", ["explains", "explained_by", "replaces", "stands_for"])
def test_flags_name_flags(key: str) -> None:
    named = {other for flag in FLAGS.values() for other in flag.get(key, [])}
    assert named
    assert named <= set(FLAGS)


def test_explains_and_explained_by_are_one_edge() -> None:
    forward = {(name, other) for name, flag in FLAGS.items() for other in flag.get("explains", [])}
    backward = {(other, name) for name, flag in FLAGS.items() for other in flag.get("explained_by", [])}
    assert forward == backward


def test_no_flag_explains_itself_through_others() -> None:
    def causes(name: str, seen: frozenset[str]) -> None:
        assert name not in seen, [*seen, name]
        for other in FLAGS[name].get("explained_by", []):
            causes(other, seen | {name})

    for name in FLAGS:
        causes(name, frozenset())


def test_what_stands_for_others_is_raised_by_exemption_only() -> None:
    stand_ins = {name for name, flag in FLAGS.items() if "stands_for" in flag}
    assert stand_ins == {name for name, flag in FLAGS.items() if flag.get("exempt")}
    covered = [other for name in stand_ins for other in FLAGS[name]["stands_for"]]
    assert [name for name in covered if not FLAGS[name]["exemptible"]] == []
    assert not any(FLAGS[name]["exemptible"] for name in stand_ins)


def test_four_flags_have_two_severities() -> None:
    assert {name: flag["severity_when"] for name, flag in FLAGS.items() if "severity_when" in flag} == {
        "false-drain-suspect": {"info": "resolved"},
        "iris-unconfirmed": {"info": "resolved"},
        "rl-cap": {"warning": "withheld"},
        "qos-job-cap": {"warning": "withheld"},
    }
    assert all(flag["severity"] not in flag.get("severity_when", {}) for flag in FLAGS.values())


def test_three_flags_have_no_rule() -> None:
    builtin = {name for name, flag in FLAGS.items() if flag.get("builtin")}
    assert builtin == {"engine-divergence", "secret-risk", "ledger-overdue"}


def test_actions_name_proofs_and_templates_that_are_there() -> None:
    proofs = {proof for action in ACTIONS.values() for proof in action["proofs"]}
    proofs |= {p for action in ACTIONS.values() for case in action.get("proofs_for", []) for p in case["proofs"]}
    templates = {template for action in ACTIONS.values() for template in action["templates"]}
    assert proofs <= set(CATALOGUE["proofs"])
    assert templates == set(CATALOGUE["templates"])


def test_every_proof_is_used() -> None:
    used = {proof for action in ACTIONS.values() for proof in action["proofs"]}
    used |= {p for action in ACTIONS.values() for case in action.get("proofs_for", []) for p in case["proofs"]}
    done_signals = {"tree-gone", "inodes-reclaimed"}
    assert set(CATALOGUE["proofs"]) - used == done_signals


def test_destructive_actions_need_proofs_and_a_template() -> None:
    destructive = {name: action for name, action in ACTIONS.items() if action["destructive"] is not False}
    assert len(destructive) == 10
    for name, action in destructive.items():
        assert action["class"] != "free", name
        assert action["proofs"] or action["proofs_for"], name
        assert action["templates"], name


def test_templates_with_destructive_steps_belong_to_destructive_actions() -> None:
    allowed = {t for action in ACTIONS.values() if action["destructive"] is not False for t in action["templates"]}
    assert {name for name, template in CATALOGUE["templates"].items() if template["destructive_steps"]} <= allowed


def test_proofs_of_one_bucket_name_buckets_and_flags() -> None:
    cases = [case for action in ACTIONS.values() for case in action.get("proofs_for", [])]
    assert {bucket for case in cases for bucket in case.get("bucket", [])} <= set(CATALOGUE["enums"]["bucket"])
    assert {flag for case in cases for flag in case.get("unless_flag", [])} <= set(FLAGS)


def test_routing_names_flags_and_actions() -> None:
    routing = CATALOGUE["routing"]
    assert set(routing["by_flag"]) <= set(FLAGS)
    routed = {action for actions in routing["by_flag"].values() for action in actions}
    routed |= {*routing["otherwise"], *routing["by_fact"]}
    assert routed == set(ACTIONS)


def test_routed_actions_fit_the_subject_of_their_flag() -> None:
    """A flag that is raised on no job can not lead to a document that is about jobs only."""
    for flag, actions in CATALOGUE["routing"]["by_flag"].items():
        for action in actions:
            subjects = {s for t in ACTIONS[action]["templates"] for s in CATALOGUE["templates"][t]["subject"]}
            if subjects and action not in {"refire-row", "harvest-row", "diagnose"}:
                assert set(FLAGS[flag]["subject"]) & subjects, (flag, action)


@pytest.mark.parametrize(
    ("kind", "field", "enum"),
    [
        ("job", "bucket", "bucket"),
        ("job", "phase", "phase"),
        ("job", "log.source", "log_source"),
        ("job", "cadence_source", "cadence_source"),
        ("job", "probe_verdict", "verdict"),
        ("job", "checkpoint_kind", "checkpoint_kind"),
        ("job", "error_class", "error_class"),
        ("job", "infra.vllm", "infra"),
        ("cluster", "status", "cluster_status"),
        ("cluster", "queue", "queue"),
        ("tracker_row", "status", "tracker_status"),
    ],
)
def test_enums_are_those_of_the_facts(kind: str, field: str, enum: str) -> None:
    assert _fact_words(kind, field) == CATALOGUE["enums"][enum]


def test_states_and_flavours_are_those_of_the_facts() -> None:
    enums = CATALOGUE["enums"]
    assert _fact_words("job", "state") == [*enums["state"]["active"], *enums["state"]["terminal"]]
    flavours = [word for words in enums["flavour"].values() for word in words]
    assert _fact_words("job", "flavour") == list(dict.fromkeys(flavours))
    assert list(enums["flavour"]) == enums["bucket"]


def test_infra_checks_share_one_list() -> None:
    checks = [name for name in FACTS["job"]["properties"] if name.startswith("infra.")]
    assert len(checks) == 4
    assert all(_fact_words("job", name) == CATALOGUE["enums"]["infra"] for name in checks)


def test_slurm_words_lead_to_states_and_phases() -> None:
    enums = CATALOGUE["enums"]
    words = CATALOGUE["slurm_states"]
    states = {*enums["state"]["active"], *enums["state"]["terminal"]}
    assert {entry["state"] for entry in words.values()} == states - {"GONE"}
    assert {entry["phase"] for entry in words.values() if "phase" in entry} <= set(enums["phase"])
    named_alike = {word for word in words if word in states}
    assert named_alike == states - {"GONE"}
    assert all(words[word]["state"] == word for word in named_alike)


def test_args_are_facts_or_named_by_the_action() -> None:
    assert all(len(action["args"]) == len(set(action["args"])) for action in ACTIONS.values())
    assert {name for name, action in ACTIONS.items() if not action["args"]} == {"report"}

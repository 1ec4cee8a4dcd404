"""The catalogue as the two shipped files give it."""

from __future__ import annotations

import copy
import json

from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.language.node import plain
from sweeprules.engine.language.yamltext import read
from tests.engine.language.loading import ROOT, catalogue

FACTS = json.loads((ROOT / "schemas" / "facts.schema.json").read_text())
WORDS = read((ROOT / "rules" / "catalogue.yaml").read_text(), "catalogue.yaml")


def test_fields_have_type_unit_words_and_range() -> None:
    job = catalogue().kinds["job"]
    assert (job.fields["elapsed"].type, job.fields["elapsed"].unit) == ("duration", "s")
    assert job.fields["elapsed"].range == (0, None)
    assert "RUNNING" in job.fields["state"].words
    assert "UNKNOWN" not in job.fields["state"].words
    assert job.fields["tags"].item == "text"
    assert job.fields["links"].fields["ended"] == "time"
    assert job.fields["tags"].settable
    assert not job.fields["state"].settable
    assert job.fields["trials_done"].feeds == 1


def test_relations_say_where_they_lead() -> None:
    job = catalogue().kinds["job"]
    siblings, link = job.relations["siblings"], job.relations["next_link"]
    assert (siblings.to, siblings.many, siblings.optional) == ("job", True, False)
    assert (link.to, link.many, link.optional) == ("job", False, True)
    for kind in catalogue().kinds.values():
        assert {"previous", "sweep", "evidence"} <= set(kind.relations)
        assert {relation.to for relation in kind.relations.values()} <= set(catalogue().kinds)


def test_kinds_are_found_in_either_spelling() -> None:
    assert catalogue().kind_of("tracker_row") == catalogue().kind_of("tracker-row") == "tracker_row"
    assert catalogue().kind_of("jobs") is None
    assert catalogue().flags["series-concluded"].subjects == ("tracker_row", "campaign")


def test_flags_know_their_severities_and_both_ends_of_an_explanation() -> None:
    flags = catalogue().flags
    assert flags["false-drain-suspect"].severities == ("warning", "info")
    assert flags["stale-log"].severities == ("warning",)
    assert "stale-log" in flags["suspected-wedge"].explains
    for name, body in plain(WORDS)["flags"].items():  # type: ignore[index]
        for cause in body.get("explained_by", ()):
            assert name in flags[cause].explains


def test_what_no_rule_raises() -> None:
    assert "engine-divergence" in catalogue().builtin
    assert "rl-collapse-ablation" in catalogue().exempt
    assert catalogue().resolvable == {"false-drain-suspect", "iris-unconfirmed"}


def test_actions_destroy_when_one_leg_does() -> None:
    actions = catalogue().actions
    assert actions["cancel-pending"].destructive
    assert actions["advance-chain"].destructive
    assert not actions["diagnose"].destructive
    assert actions["cancel-salvage"].args == ("ids", "step")


def test_the_hash_is_over_what_counts() -> None:
    described = copy.deepcopy(FACTS)
    described["$defs"]["job"]["properties"]["elapsed"]["description"] = "other words"
    assert Catalogue.load(described, WORDS).sha256 == catalogue().sha256
    changed = copy.deepcopy(FACTS)
    changed["$defs"]["job"]["properties"]["elapsed"]["x-type"] = "number"
    assert Catalogue.load(changed, WORDS).sha256 != catalogue().sha256


def test_a_tree_and_plain_data_give_the_same() -> None:
    data = plain(WORDS)
    assert isinstance(data, dict)
    assert Catalogue.load(FACTS, data) == catalogue()

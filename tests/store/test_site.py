"""Where the site is, and what is read from it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from sweeprules.engine.site import BrokenRecord, ClusterRecord, Downtime, Gotcha, Reach, Refusal, Series
from sweeprules.store import builtin, record, tree
from sweeprules.store.errors import StoreError
from sweeprules.store.site import SiteChoice, SiteLoad, find_site, load_site

FULL = """\
cluster: leonardo
enabled: true
downtime: [{from: 2026-06-23, to: 2026-07-12T06:30Z, because: upgrade}]
scheduler: slurm
user: alice
timezone: Europe/Rome
reach: {via: openssh, host: leonardo, fallbacks: [login02, login03], connect_timeout: 15s, command_timeout: 2m,
  host_keys: rotating}
caps: {rl_running: 6}
walls: {default: 24h, debug: 30m}
gpu_memory_limit: 64GB
dotenv: hpc/dotenv/leonardo.env
paths: {experiments: /x, logs: [/a, ~/b]}
log_fallbacks: ["data_{job_id}.out"]
clones: [~/clone]
quota: [{tool: df-i, path: /e/data1}]
certs: [{path: ~/.ssh/x-cert.pub, needed_by: [hf_upload], warn: 2h}]
write_paths: {persistent: [/work/x], scratch: [/scratch/x]}
bans: [find, du]
commands: [{argv: [squeue, --me], because: look}]
refusals: [{text: Invalid account, means: maintenance}]
gotchas:
  - {tag: delete, text: slow, validated: 2026-07-08, source: me}
  - {tag: host-keys, text: t, validated: false, source: me}
validated: {user: 2026-07-08, reach.host: true}
"""
NOTES = "# Leonardo\n\n## Delete: never in bulk\n\n```\n# host keys\n```\n\n## Host keys rotate ##\n"
SMALL = "cluster: {0}\nscheduler: slurm\nuser: a\ntimezone: UTC\nreach: {{via: local}}\n"


def load(root: Path) -> SiteLoad:
    """The site, where every added command is fine."""
    return load_site(root, check_command=lambda argv, bans: None, secret_risk=lambda argv: False)


def put(root: Path, files: dict[str, str]) -> Path:
    """A site of these files."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


# ------------------------------------------------------------ where


def test_the_option_wins_then_the_environment_then_the_nearest(tmp_path: Path) -> None:
    for name in ("one", "two", "three/four"):
        put(tmp_path / name, {"sweeprules.yaml": ""})
    env = {"SWEEPRULES_SITE": str(tmp_path / "two")}
    inside = tmp_path / "three" / "four" / "ops"
    inside.mkdir()
    assert find_site("one", env, tmp_path) == SiteChoice(tmp_path / "one", "--site")
    assert find_site(None, env, inside) == SiteChoice(tmp_path / "two", "SWEEPRULES_SITE")
    assert find_site(None, {}, inside) == SiteChoice(tmp_path / "three" / "four", "found upward")
    assert find_site("../../one", {}, tmp_path / "three" / "four") == SiteChoice(tmp_path / "one", "--site")


def test_no_site_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="neither this folder nor one above it") as caught:
        find_site(None, {}, tmp_path)
    assert "sweeprules init" in caught.value.hint
    with pytest.raises(StoreError, match=r"named by --site, has no sweeprules\.yaml"):
        find_site(str(tmp_path), {}, tmp_path)
    with pytest.raises(StoreError, match="named by SWEEPRULES_SITE, is not a folder"):
        find_site(None, {"SWEEPRULES_SITE": "gone"}, tmp_path)


# ------------------------------------------------------------ records


def test_a_full_record(tmp_path: Path) -> None:
    put(tmp_path, {"sweeprules.yaml": "", "ops/leonardo/cluster.yaml": FULL, "ops/leonardo/ops.md": NOTES})
    loaded = load(tmp_path)
    assert loaded.record_problems == {}
    (found,) = loaded.site.records
    assert isinstance(found, ClusterRecord)
    assert found.sha256 == hashlib.sha256(FULL.encode()).hexdigest()
    assert found.path == "ops/leonardo/cluster.yaml"
    assert found.downtime == (Downtime(1782172800.0, 1783837800.0, "upgrade"),)
    assert found.reach == Reach("openssh", "leonardo", ("login02", "login03"), 15.0, 120.0, "rotating")
    assert found.caps == {"rl_running": 6}
    assert found.walls == {"default": 86400.0, "debug": 1800.0}
    assert found.gpu_memory_limit == 64 * 10**9
    assert found.paths == {"experiments": ("/x",), "logs": ("/a", "~/b")}
    assert found.write_paths == {"persistent": ("/work/x",), "scratch": ("/scratch/x",)}
    assert found.bans == frozenset({"find", "du"})
    assert found.commands == (("squeue", "--me"),)
    assert found.refusals == (Refusal("Invalid account", "maintenance"),)
    assert found.gotchas == (Gotcha("delete", "slow", "2026-07-08", "me"), Gotcha("host-keys", "t", "", "me"))
    assert found.raw["certs"] == [{"path": "~/.ssh/x-cert.pub", "needed_by": ["hf_upload"], "warn": "2h"}]


def test_a_cassette_is_found_beside_its_record(tmp_path: Path) -> None:
    text = SMALL.format("demo").replace("{via: local}", "{via: replay, cassette: ../one.cassette}")
    put(
        tmp_path,
        {"sweeprules.yaml": "", "ops/demo/cluster.yaml": text, "ops/one.cassette": "x", "ops/demo/ops.md": "#"},
    )
    (found,) = load(tmp_path).site.records
    assert isinstance(found, ClusterRecord)
    assert Path(found.reach.cassette).samefile(tmp_path / "ops" / "one.cassette")
    assert Path(found.reach.cassette).is_absolute()


def test_a_cluster_that_is_switched_off_needs_no_way_to_it(tmp_path: Path) -> None:
    text = "cluster: gone\nenabled: false\nbecause: dropped\nscheduler: slurm\n"
    put(tmp_path, {"sweeprules.yaml": "", "ops/gone/cluster.yaml": text, "ops/gone/ops.md": "#"})
    (found,) = load(tmp_path).site.records
    assert isinstance(found, ClusterRecord)
    assert not found.enabled
    assert found.reach == record.NOWHERE


def test_notes_never_block_a_cluster(tmp_path: Path) -> None:
    put(tmp_path, {"sweeprules.yaml": "", "ops/leonardo/cluster.yaml": FULL})
    missing = load(tmp_path)
    assert [str(p) for p in missing.record_problems["leonardo"]] == [
        "ops/leonardo/ops.md:1:1: the file could not be read: No such file or directory"
    ]
    assert isinstance(missing.site.records[0], ClusterRecord)
    (tmp_path / "ops/leonardo/ops.md").write_text("# Leonardo\n## host-key\n")
    problems = load(tmp_path).record_problems["leonardo"]
    assert {problem.severity for problem in problems} == {"warning"}
    assert [str(problem) for problem in problems] == [
        "ops/leonardo/cluster.yaml:23:11: ops/leonardo/ops.md has no heading for the tag `delete`"
        " (add `## delete` there)",
        "ops/leonardo/cluster.yaml:24:11: ops/leonardo/ops.md has no heading for the tag `host-keys`"
        " (did you mean host-key?)",
    ]


def test_a_field_that_was_validated_and_is_not_there(tmp_path: Path) -> None:
    text = SMALL.format("a") + "validated: {usr: 2026-07-08}\n"
    put(tmp_path, {"sweeprules.yaml": "", "ops/a/cluster.yaml": text, "ops/a/ops.md": "#"})
    (problem,) = load(tmp_path).record_problems["a"]
    assert problem.severity == "warning"
    assert str(problem) == "ops/a/cluster.yaml:6:13: this record has no field `usr` (did you mean user?)"


def test_a_folder_without_a_record_is_blocked(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "sweeprules.yaml": "",
            "ops/new/ops.md": "# new",
            "ops/README.md": "",
            "ops/.hidden/x": "",
            "ops/_drafts/x": "",
        },
    )
    loaded = load(tmp_path)
    assert loaded.site.records == (
        BrokenRecord(
            "new",
            "ops/new/cluster.yaml",
            "",
            ("ops/new/cluster.yaml:1:1: the file could not be read: No such file or directory",),
        ),
    )


def test_files_that_can_not_be_read_are_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_BYTES", 200)
    put(
        tmp_path,
        {
            "sweeprules.yaml": "",
            "ops/big/cluster.yaml": SMALL.format("big") + "#" * 200,
            "ops/folder/cluster.yaml/x": "",
            "rules/big.yaml": "#" * 300,
        },
    )
    (tmp_path / "ops/loop").mkdir()
    (tmp_path / "ops/loop/cluster.yaml").symlink_to("cluster.yaml")
    (tmp_path / "ops/pipe").mkdir()
    os.mkfifo(tmp_path / "ops/pipe/cluster.yaml")
    (tmp_path / "rules/loop.yaml").symlink_to("loop.yaml")
    loaded = load(tmp_path)
    said = {name: str(problems[0]) for name, problems in loaded.record_problems.items()}
    assert said["big"].startswith("ops/big/cluster.yaml:1:1: the file is larger than 200 bytes")
    assert "is not a regular file" in said["folder"] or "Is a directory" in said["folder"]
    assert "Too many levels of symbolic links" in said["loop"]
    assert "is not a regular file" in said["pipe"]
    assert [str(problem).split(" (")[0] for problem in loaded.problems] == [
        "rules/big.yaml:1:1: the file is larger than 200 bytes",
        "rules/loop.yaml:1:1: the file could not be read: Too many levels of symbolic links",
    ]


def test_without_clusters_there_are_none(tmp_path: Path) -> None:
    assert load(put(tmp_path, {"sweeprules.yaml": ""})).site.records == ()


def test_an_ops_that_can_not_be_listed_is_an_error_and_not_empty(tmp_path: Path) -> None:
    loaded = load(put(tmp_path, {"sweeprules.yaml": "", "ops": "not a folder"}))
    (problem,) = loaded.problems
    assert str(problem) == "ops:1:1: could not be listed: Not a directory (check its permissions)"
    assert problem.severity == "error"


# ------------------------------------------------------------ settings, rules, templates


def test_settings(tmp_path: Path) -> None:
    text = (
        "extends: builtin\n"
        'series: [{name: a3, match: {name: {glob: "*a3*"}}, status: concluded}, '
        '{name: d, match: {name: {glob: "d*"}}, db_registration: false}]\n'
        'exempt_targets: ["DCAgent2/*"]\nbenchmarks: {tb2: {tasks: 89, reps: 3}}\n'
        "experiment_log: notes/log.md\nkeep: {sweeps: 2d}\n"
    )
    site = load(put(tmp_path, {"sweeprules.yaml": text})).site
    assert site.series == (Series("a3", ("*a3*",), "concluded"), Series("d", ("d*",), "active", False))
    assert site.exempt_targets == ("DCAgent2/*",)
    assert site.benchmarks == {"tb2": {"tasks": 89, "reps": 3}}
    assert site.experiment_log == str(tmp_path / "notes/log.md")
    assert (site.keep_sweeps, site.keep_cassettes) == (2 * 86400.0, 30 * 86400.0)


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shipped policy of two files, a test and a template."""
    root = put(
        tmp_path / "shipped",
        {
            "sweeprules.yaml": "extends: builtin\n",
            "rules/catalogue.yaml": "names",
            "rules/core.yaml": "shipped",
            "rules/core.test.yaml": "tests",
            "templates/handoffs/a.md.j2": "shipped a",
            "templates/handoffs/b.md.j2": "shipped b",
        },
    )
    monkeypatch.setattr(builtin, "ROOT", root)
    return root


def test_a_site_lies_over_the_shipped_policy(tmp_path: Path, shipped: Path) -> None:
    root = put(
        tmp_path / "mine",
        {
            "sweeprules.yaml": "extends: builtin\n",
            "rules/core.yaml": "mine",
            "rules/deep/more.yaml": "more",
            "rules/catalogue.yaml": "a policy of that name",
            "rules/.hidden.yaml": "x",
            "rules/README.md": "x",
            "templates/handoffs/a.md.j2": "my a",
            "templates/report/r.md.j2": "r",
        },
    )
    loaded = load(root)
    assert loaded.problems == ()
    assert loaded.layers == (
        {"builtin:rules/core.yaml": "shipped"},
        {"rules/catalogue.yaml": "a policy of that name", "rules/core.yaml": "mine", "rules/deep/more.yaml": "more"},
    )
    assert loaded.tests == {"builtin:rules/core.test.yaml": "tests"}
    assert loaded.templates == {"handoffs/a.md.j2": "my a", "handoffs/b.md.j2": "shipped b", "report/r.md.j2": "r"}
    assert set(loaded.files) == {
        "sweeprules.yaml",
        "rules/catalogue.yaml",
        "rules/core.yaml",
        "rules/deep/more.yaml",
        "templates/handoffs/a.md.j2",
        "templates/report/r.md.j2",
    }


def test_a_site_of_its_own(tmp_path: Path, shipped: Path) -> None:
    loaded = load(put(tmp_path / "mine", {"sweeprules.yaml": "", "rules/x.yaml": "x"}))
    assert loaded.layers == ({"rules/x.yaml": "x"},)
    assert loaded.templates == {}


def test_the_shipped_folder_as_a_site_is_read_once(shipped: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(shipped)
    for root in (shipped, tmp_path / "link"):
        loaded = load(root)
        assert loaded.layers == ({"rules/core.yaml": "shipped"},)
        assert loaded.tests == {"rules/core.test.yaml": "tests"}


def test_broken_settings_do_not_take_the_shipped_policy_away(tmp_path: Path, shipped: Path) -> None:
    loaded = load(put(tmp_path / "mine", {"sweeprules.yaml": "extends: biultin\n"}))
    assert [problem.mark.line for problem in loaded.problems] == [1]
    assert len(loaded.layers) == 2


def test_bytes_that_are_not_utf8_are_shown_where_they_are(tmp_path: Path) -> None:
    put(tmp_path, {"sweeprules.yaml": ""})
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/a.yaml").write_bytes(b"title: x\nwhy: caf\xe9" + b"\xe9" * 30)
    (tmp_path / "rules/b.yaml").write_bytes("a: b".encode("utf-16"))
    loaded = load(tmp_path)
    lines = [str(problem) for problem in loaded.problems]
    assert lines[0] == "rules/a.yaml:2:9: the byte 0xe9 is not UTF-8 (save the file as UTF-8; it looks like Latin-1)"
    assert "rules/a.yaml:2:29: the same mistake 11 times more from here on" in lines
    assert lines[-1] == "rules/b.yaml:1:1: the file is UTF-16 (save it as UTF-8)"
    assert loaded.layers[0]["rules/a.yaml"].startswith("title: x\nwhy: caf\ufffd")


def test_folders_behind_links_are_not_entered(tmp_path: Path) -> None:
    put(tmp_path / "site", {"sweeprules.yaml": "", "rules/a.yaml": "a"})
    put(tmp_path / "other", {"b.yaml": "b"})
    (tmp_path / "site/rules/loop").symlink_to(tmp_path / "site/rules")
    (tmp_path / "site/rules/other").symlink_to(tmp_path / "other")
    assert set(load(tmp_path / "site").layers[0]) == {"rules/a.yaml"}


def test_a_folder_of_too_many_files_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_FILES", 3)
    put(tmp_path, {"sweeprules.yaml": "", **{f"rules/{n}.yaml": "" for n in range(5)}})
    (problem,) = load(tmp_path).problems
    assert str(problem).startswith("rules:1:1: holds more than 3 files")


def test_the_shipped_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"cluster", "site", "facts", "cassette"} <= set(builtin.schema_names())
    assert builtin.schema("cluster")["title"]
    assert builtin.catalogue_text()
    with pytest.raises(StoreError, match=r"there is no schema `clustr`.*did you mean cluster\?"):
        builtin.schema_text("clustr")

"""Every broken file of the corpus: where, what, and what to do, word for word, and all of a file at once.

Beside each file of `bad/` stands what has to be said about it (`.expect`), one line a problem:
`line:column: message (hint)`. To add a case, add both.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sweeprules.engine.errors import Problem
from sweeprules.engine.site import BrokenRecord, ClusterRecord
from sweeprules.store.site import SiteLoad, load_site

BAD = Path(__file__).parent / "bad"
GOOD = """cluster: {name}
scheduler: slurm
user: alice
timezone: Europe/Rome
reach: {{via: openssh, host: {name}}}
"""


def cases(kind: str) -> list[str]:
    """The names of the cases of a kind."""
    return sorted(path.stem for path in (BAD / kind).glob("*.yaml"))


def check_command(argv: tuple[str, ...], bans: frozenset[str]) -> str | None:
    """Allows squeue alone."""
    if argv[0] in bans:
        return f"the record bans `{argv[0]}`"
    return None if argv[0] == "squeue" else f"`{argv[0]}` has none of the allowed shapes"


def load(root: Path) -> SiteLoad:
    """The site, with a simple idea of what is allowed."""
    return load_site(root, check_command=check_command, secret_risk=lambda argv: "describe" in argv)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A good site of two clusters, on its own."""
    for name in ("leonardo", "tacc"):
        (tmp_path / "ops" / name).mkdir(parents=True)
        (tmp_path / "ops" / name / "cluster.yaml").write_text(GOOD.format(name=name))
        (tmp_path / "ops" / name / "ops.md").write_text("# Notes\n\n## delete\n")
    (tmp_path / "sweeprules.yaml").write_text("")
    return tmp_path


def said(problems: tuple[Problem, ...], file: str) -> list[str]:
    """The problems as the corpus writes them."""
    assert {problem.mark.file for problem in problems} <= {file}
    return [str(problem).removeprefix(f"{file}:") for problem in problems]


def expected(kind: str, name: str) -> list[str]:
    """What has to be said of a case."""
    return (BAD / kind / f"{name}.expect").read_text().splitlines()


def test_the_good_site_is_good(root: Path) -> None:
    found = load(root)
    assert found.problems == ()
    assert found.record_problems == {}
    assert [type(record) for record in found.site.records] == [ClusterRecord, ClusterRecord]


@pytest.mark.parametrize("name", cases("cluster"))
def test_a_broken_record_says_all_and_blocks_its_cluster_alone(root: Path, name: str) -> None:
    (root / "ops/leonardo/cluster.yaml").write_bytes((BAD / "cluster" / f"{name}.yaml").read_bytes())
    found = load(root)
    assert said(found.record_problems["leonardo"], "ops/leonardo/cluster.yaml") == expected("cluster", name)
    broken, good = found.site.records
    assert isinstance(broken, BrokenRecord)
    assert broken.problems
    assert broken.secret_risk == ("secrets" in name)
    assert isinstance(good, ClusterRecord)
    assert found.problems == ()


@pytest.mark.parametrize("name", cases("site"))
def test_broken_settings_say_all(root: Path, name: str) -> None:
    (root / "sweeprules.yaml").write_bytes((BAD / "site" / f"{name}.yaml").read_bytes())
    found = load(root)
    own = tuple(problem for problem in found.problems if not problem.mark.file.startswith("builtin:"))
    assert said(own, "sweeprules.yaml") == expected("site", name)


def test_the_corpus_is_large_and_every_case_has_its_words() -> None:
    for kind in ("cluster", "site"):
        for name in cases(kind):
            assert expected(kind, name), name
            for line in expected(kind, name):
                assert re.match(r"[1-9]\d*:[1-9]\d*: \S", line), line
    assert len(cases("cluster")) + len(cases("site")) >= 50


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("templates/handoffs/Foo.md.j2", "`Foo.md.j2` can not be a template's name (use a-z, 0-9 and -, "),
        ("templates/handoffs/foo.md", None),
        ("templates/handoffs/foo.txt", "the template `foo.txt` does not end in .j2 (name it foo.txt.j2)"),
        ("templates/handoff/foo.j2", "`handoff` is no folder of templates (there are handoffs, tables and report)"),
        ("templates/foo.j2", "`.` is no folder of templates (there are handoffs, tables and report)"),
        (
            "templates/handoffs/a/foo.j2",
            "`handoffs/a` is no folder of templates (there are handoffs, tables and report)",
        ),
        ("rules/mine.yml", "rule files end in .yaml; this one is not read (rename it)"),
    ],
)
def test_names_of_files(root: Path, path: str, words: str | None) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("x")
    found = [str(problem) for problem in load(root).problems]
    if words is None:
        assert found == []
    else:
        assert len(found) == 1
        assert found[0].startswith(f"{path}:1:1: {words}")

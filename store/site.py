"""A site's folder: where it is, and all that is read from it before a sweep."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sweeprules.engine.errors import Mark, Problem
from sweeprules.engine.site import Site
from sweeprules.store import builtin
from sweeprules.store.errors import StoreError
from sweeprules.store.record import CheckCommand, ReadRecord, SecretRisk, read_record
from sweeprules.store.settings import FILE, Settings, read_settings
from sweeprules.store.tree import list_files, read_text

How = Literal["--site", "SWEEPRULES_SITE", "found upward"]
_TEMPLATE = re.compile(r"(handoffs|tables|report)/_?[a-z0-9][a-z0-9-]*(\.[a-z]+)?\.j2")
_CLUSTER_FOLDERS = 500


@dataclass(frozen=True, slots=True)
class SiteChoice:
    """The site's folder (absolute), and which of the three ways named it."""

    root: Path
    how: How


@dataclass(frozen=True, slots=True)
class SiteLoad:
    """A site as it was read; text is not checked further here.

    `layers` are policy files (name -> text), the shipped ones first, so that a later layer overrides; `tests` the rule
    tests; `templates` by their name below templates/, the site's own over the shipped ones. Names of shipped files
    begin with `builtin:`, unless the site is the shipped folder itself. `problems` are those of the settings, rules
    and templates: a sweep must not start with an error among them. `record_problems` are each cluster's: an error
    there blocks that cluster alone. `files` are the site's own files as text, for a cassette.
    """

    site: Site
    layers: tuple[Mapping[str, str], ...]
    tests: Mapping[str, str]
    templates: Mapping[str, str]
    problems: tuple[Problem, ...]
    record_problems: Mapping[str, tuple[Problem, ...]]
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Folder:
    """The rules and templates of one folder, shipped or a site's."""

    policies: Mapping[str, str]
    tests: Mapping[str, str]
    templates: Mapping[str, str]
    problems: tuple[Problem, ...]
    files: Mapping[str, str]


def find_site(option: str | None, env: Mapping[str, str], cwd: Path) -> SiteChoice:
    """The site's folder: the option, else SWEEPRULES_SITE, else the nearest folder upward with a sweeprules.yaml.

    Raises `StoreError` when the named folder is no site, or when there is none.
    """
    if option:
        return SiteChoice(_named_site(Path(option), cwd, "--site"), "--site")
    if named := env.get("SWEEPRULES_SITE"):
        return SiteChoice(_named_site(Path(named), cwd, "SWEEPRULES_SITE"), "SWEEPRULES_SITE")
    start = Path(os.path.abspath(cwd))  # noqa: PTH100  resolve() would leave the way that the person came
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return SiteChoice(folder, "found upward")
    hint = "name one with --site DIR, or make one with `sweeprules init DIR`"
    raise StoreError(str(start), f"neither this folder nor one above it has a {FILE}", hint)


def _named_site(named: Path, cwd: Path, how: str) -> Path:
    root = Path(os.path.abspath(cwd / named.expanduser()))  # noqa: PTH100
    if not root.is_dir():
        raise StoreError(str(root), f"named by {how}, is not a folder", "name a folder that holds sweeprules.yaml")
    if not (root / FILE).is_file():
        raise StoreError(str(root), f"named by {how}, has no {FILE}", f"make it a site with `sweeprules init {named}`")
    return root


def load_site(root: Path, *, check_command: CheckCommand, secret_risk: SecretRisk) -> SiteLoad:
    """Read a whole site; everything wrong with it is in the result, with file (path in the site), line and column.

    `check_command` says whether a record may add a command, `secret_risk` whether one would print secrets.
    Raises `StoreError` only when the shipped data can not be read, which no site can cause.
    """
    settings = read_settings(root)
    own = _read_folder(root, "")
    shipped = None if _is_shipped(root) or not settings.extends else _read_folder(builtin.ROOT, "builtin:")
    reads, stray = _read_records(root, check_command, secret_risk)
    parts = (shipped, own) if shipped is not None else (own,)
    files = {FILE: settings.text, **own.files}
    for read in reads:
        files.update(read.texts)
    return SiteLoad(
        site=_site(root, settings, reads),
        layers=tuple(part.policies for part in parts),
        tests={name: text for part in parts for name, text in part.tests.items()},
        templates={name: text for part in parts for name, text in part.templates.items()},
        problems=(*settings.problems, *(problem for part in parts for problem in part.problems), *stray),
        record_problems={read.record.name: read.problems for read in reads if read.problems},
        files=files,
    )


def _site(root: Path, settings: Settings, reads: list[ReadRecord]) -> Site:
    log = settings.experiment_log
    return Site(
        root=str(root),
        records=tuple(read.record for read in reads),
        series=settings.series,
        exempt_targets=settings.exempt_targets,
        benchmarks=settings.benchmarks,
        keep_sweeps=settings.keep_sweeps,
        keep_cassettes=settings.keep_cassettes,
        experiment_log=str(root / Path(log).expanduser()) if log else "",
    )


def _is_shipped(root: Path) -> bool:
    try:
        return root.samefile(builtin.ROOT)
    except OSError:
        return False


def _read_folder(root: Path, prefix: str) -> _Folder:
    names, problems = list_files(root, "rules", lambda name: name.endswith((".yaml", ".yml")))
    shipped = _is_shipped(root)
    policies: dict[str, str] = {}
    tests: dict[str, str] = {}
    for name in names:
        if shipped and name == f"rules/{builtin.CATALOGUE}":
            continue
        if name.endswith(".yml"):
            problems.append(
                Problem(Mark(prefix + name, 1, 1), "rule files end in .yaml; this one is not read", "rename it")
            )
            continue
        read = read_text(root / name, prefix + name)
        problems += read.problems
        (tests if name.endswith(".test.yaml") else policies)[prefix + name] = read.text
    templates, more = _read_templates(root, prefix)
    own = {name.removeprefix(prefix): text for name, text in (*policies.items(), *tests.items())}
    files = {**own, **{f"templates/{name}": text for name, text in templates.items()}}
    return _Folder(policies, tests, templates, (*problems, *more), files)


def _read_templates(root: Path, prefix: str) -> tuple[dict[str, str], list[Problem]]:
    names, problems = list_files(root, "templates", lambda name: not name.endswith(".md"))
    templates: dict[str, str] = {}
    for name in names:
        short = name.removeprefix("templates/")
        if not _TEMPLATE.fullmatch(short):
            problems.append(Problem(Mark(prefix + name, 1, 1), *_template_name(short)))
            continue
        read = read_text(root / name, prefix + name)
        problems += read.problems
        templates[short] = read.text
    return templates, problems


def _template_name(name: str) -> tuple[str, str]:
    folder, _, rest = name.rpartition("/")
    if folder not in {"handoffs", "tables", "report"}:
        return f"`{folder or '.'}` is no folder of templates", "there are handoffs, tables and report"
    if not rest.endswith(".j2"):
        return f"the template `{rest}` does not end in .j2", f"name it {rest}.j2"
    return f"`{rest}` can not be a template's name", "use a-z, 0-9 and -, such as rl-agentic-job-cleanup.md.j2"


def _read_records(
    root: Path, check_command: CheckCommand, secret_risk: SecretRisk
) -> tuple[list[ReadRecord], list[Problem]]:
    try:
        folders = sorted(item.name for item in (root / "ops").iterdir() if item.is_dir() and item.name[:1] not in "._")
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [Problem(Mark("ops", 1, 1), f"could not be listed: {error.strerror}", "check its permissions")]
    if len(folders) > _CLUSTER_FOLDERS:
        message = f"holds {len(folders)} folders; at most {_CLUSTER_FOLDERS} clusters are read"
        return [], [Problem(Mark("ops", 1, 1), message, "check --site")]
    return [read_record(root, folder, check_command, secret_risk) for folder in folders], []

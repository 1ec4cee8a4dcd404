"""What `sweeprules init` puts into a new site: a site that works, changes nothing yet, and shows where to change it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from pathlib import Path

from sweeprules.store.errors import StoreError, reason
from sweeprules.store.files import sync_dir
from sweeprules.store.settings import FILE

_SETTINGS = """\
# The settings of this site. `sweeprules schema site` prints what may stand here.
# The shipped policy holds; files in rules/ and templates/ change it piece by piece.
extends: builtin
keep: {sweeps: 90d, cassettes: 30d}
"""

_CLUSTER = """\
# A record to start from: copy the folder, name the copy after your cluster, and switch it on.
# `sweeprules schema cluster` prints all that may stand here, `sweeprules validate` checks it.
cluster: example
enabled: false
because: it is only an example
scheduler: slurm
user: alice
timezone: Europe/Rome
reach: {via: openssh, host: example-login, fallbacks: [], connect_timeout: 15s, command_timeout: 60s}
gotchas:
  - tag: delete
    text: Deleting many files at once slows the file system down for everybody.
    validated: false
    source: an example
"""

_NOTES = """\
# example

What people should know of this cluster. Each tag of a gotcha in cluster.yaml has a heading here.

## delete

Say here what happens, how you know, and what to do instead.
"""

_RULES = """\
# Rules of this site

Every `.yaml` file here is a policy. It adds rules, or replaces a shipped rule or parameter of the same name; all that
it does not name stays as shipped. `sweeprules rules` lists what there is, `sweeprules schema rules` prints the form.

To change one number, for example how long a log may be silent at least, write a file such as `limits.yaml`:

    policy: 1
    title: Limits of this site
    params:
      stale_floor: {default: 45m, why: "our evaluations print every 40 minutes"}

Tests stand beside the rules in `NAME.test.yaml`; `sweeprules test` runs them.
"""

_TEMPLATES = """\
# Templates of this site

A template here takes the place of the shipped one of the same name: `handoffs/NAME.md.j2`, `tables/NAME.j2`,
`report/NAME.j2`.
"""

FILES = {
    FILE: _SETTINGS,
    "ops/example/cluster.yaml": _CLUSTER,
    "ops/example/ops.md": _NOTES,
    "rules/README.md": _RULES,
    "templates/README.md": _TEMPLATES,
}


def make_site(target: Path) -> tuple[str, ...]:
    """Make a new site in `target`, whole or not at all; returns the files that were written, as paths in the site.

    A folder that is there must be empty, but for hidden files such as a version control's. Raises `StoreError`.
    """
    target = Path(os.path.abspath(target))  # noqa: PTH100  a link that leads to the place stays as the person wrote it
    _refuse_used(target)
    build = target.parent / f".{target.name}.{secrets.token_hex(6)}.partial"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            path = build / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        _put(build, target)
    except OSError as error:
        raise StoreError(
            str(target), f"the site could not be made: {reason(error)}", "nothing was left there"
        ) from error
    finally:
        shutil.rmtree(build, ignore_errors=True)
    return tuple(FILES)


def _refuse_used(target: Path) -> None:
    try:
        if (target / FILE).exists():
            raise StoreError(str(target), "is a site already", "name another folder, or remove its sweeprules.yaml")
        used = [item.name for item in target.iterdir() if not item.name.startswith(".")]
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(str(target), f"a site can not be made there: {reason(error)}", "name a new folder") from error
    if used:
        raise StoreError(str(target), f"is not empty: it holds {sorted(used)[0]}", "name a new or empty folder")


def _put(build: Path, target: Path) -> None:
    """Move what was built into place; the settings come last, so that a folder with them is a whole site."""
    if not target.exists():
        build.rename(target)
        sync_dir(target.parent)
        return
    placed: list[Path] = []
    try:
        for name in sorted((item.name for item in build.iterdir()), key=lambda name: name == FILE):
            (build / name).rename(target / name)
            placed.append(target / name)
    except OSError:
        for path in placed:
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise
    sync_dir(target)

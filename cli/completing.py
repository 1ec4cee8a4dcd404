"""What a shell may complete: words of the site, of the policy and of the store. What fails completes nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from sweeprules.engine.catalogue import Catalogue
    from sweeprules.engine.language.ast import Policy
    from sweeprules.store.db import Store

MOST = 200
"""Words that are offered: a shell shows no more in any useful way."""
_MAX_HELP = 80


def rule_ids(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Ids of the rules of the site, with what follows from them."""
    return _offer(begun, lambda: _rules(_policy(ctx)))


def flag_names(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of flags, those that the site declares among them."""
    return _offer(begun, lambda: ((one.name, one.why) for one in _policy(ctx).flags.values()))


def job_ids(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Ids of the jobs of the newest sweep, plain and as `cluster:id`."""
    return _offer(begun, lambda: _jobs(ctx, begun))


def sweep_ids(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Ids of kept sweeps, newest first."""
    return _offer(begun, lambda: _sweeps(ctx))


def cluster_names(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of the clusters that the site has a record of."""
    return _offer(begun, lambda: _clusters(ctx))


def schema_words(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of schemas."""
    return _offer(begun, _schemas)


def code_words(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Codes of findings, with their titles."""
    return _offer(begun, _codes)


def kind_words(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Kinds of subjects."""
    return _offer(begun, lambda: ((one.subject, "") for one in _catalogue().kinds.values()))


def bucket_words(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Buckets."""
    return _offer(begun, lambda: ((word, "") for word in _catalogue().kinds["job"].fields["bucket"].words))


def _offer(begun: str, source: Callable[[], Iterable[tuple[str, str]]]) -> list[CompletionItem]:
    """The words that begin so. Whatever is wrong with a site or a store, a prompt is no place to say it."""
    found: list[CompletionItem] = []
    with suppress(Exception):
        for word, says in source():
            if word.startswith(begun) and _plain(word):
                found.append(CompletionItem(word, help=_help(says)))
            if len(found) == MOST:
                break
    return found


def _plain(word: str) -> bool:
    """No word of a cluster reaches a prompt that a shell or a terminal would take for more than a word."""
    return word.isascii() and all(char.isalnum() or char in "-_.:+%@=/" for char in word)


def _help(says: str) -> str | None:
    from sweeprules.reports.clean import one_line

    return one_line(says, _MAX_HELP) or None


# ---------------------------------------------------------------- where the words are


def _catalogue() -> Catalogue:
    from sweeprules.cli.loading import load_catalogue

    return load_catalogue()


def _policy(ctx: click.Context) -> Policy:
    from sweeprules.cli.loading import choose_site, compile_site

    site: Path | None = ctx.params.get("site")
    return compile_site(choose_site(site)).policy


def _rules(policy: Policy) -> Iterator[tuple[str, str]]:
    return ((rule.id, rule.why) for rule in policy.rules.values())


def _clusters(ctx: click.Context) -> Iterator[tuple[str, str]]:
    from sweeprules.cli.loading import choose_site, read_site

    for record in read_site(choose_site(ctx.params.get("site"))).site.records:
        yield record.name, ""


def _schemas() -> Iterator[tuple[str, str]]:
    from sweeprules.store.builtin import schema, schema_names

    return ((name, str(schema(name).get("title", ""))) for name in schema_names())


def _codes() -> Iterator[tuple[str, str]]:
    from sweeprules.engine.language.codes import CODES

    return ((code, found.title) for code, found in CODES.items())


def _store(ctx: click.Context) -> Store | None:
    from sweeprules.store.db import open_kept
    from sweeprules.store.state import state_path

    state: Path | None = ctx.params.get("state")
    return open_kept(state_path(str(state) if state else None, os.environ), time.time())


def _jobs(ctx: click.Context, begun: str) -> list[tuple[str, str]]:
    store = _store(ctx)
    if store is None:
        return []
    with store:
        return [(text, "") for text in store.ids_beginning(begun, MOST)]


def _sweeps(ctx: click.Context) -> list[tuple[str, str]]:
    from sweeprules.reports.words import instant

    store = _store(ctx)
    if store is None:
        return []
    with store:
        return [(info.id, instant(info.now)) for info in store.sweeps()]

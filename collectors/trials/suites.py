"""Finds and reads the results files of standard evaluations, in at most four rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from sweeprules.collectors.logs.find import Listing, read_listing
from sweeprules.collectors.trials import ask
from sweeprules.collectors.trials.bundle import Piece, askable, heads, split
from sweeprules.collectors.trials.standard import Results, is_results, read_results, results_paths
from sweeprules.collectors.trials.steps import Steps
from sweeprules.engine.facts import NOT_READ, Reason, Unknown

EACH = 4 * ask.MIB
"""Bytes read of one results file: lm-eval's hold some 10 KiB, evalchemy's may hold every answer."""
MAX_PARTS = 24
"""Directories of one run that are looked into: ten seeds, and room for tasks apart."""
MAX_MODELS = 3
"""Directories of models that are looked into inside one of those."""

Files = Mapping[str, Results | Unknown]
_Listings = dict[str, Listing | Unknown]


def suites(directories: Iterable[str], nonce: str) -> Steps[Mapping[str, Files | Unknown]]:
    """The results files of each run's directory by path, or why they were not looked for.

    A directory that could not be listed stands among the files as unknown, so that no score is taken for all there is.
    Files lie in the directory itself, in one of its own (`seed42`), or in a model's inside that.
    """
    asked = tuple(dict.fromkeys(one.rstrip("/") or "/" for one in directories if askable(one)))
    listings: _Listings = {}
    level: Sequence[str] = asked
    for most in (MAX_PARTS, MAX_MODELS, 0):
        if not level:
            break
        observed = yield tuple(ask.listing(path) for path in level)
        found: _Listings = dict.fromkeys(level, NOT_READ)
        found |= {path: read_listing(one) for path, one in zip(level, observed, strict=False)}
        listings |= found
        level = tuple(path for folder in level for path in _inside(folder, found[folder], most))
    paths = {one: _paths(one, listings) for one in asked}
    wanted = tuple(dict.fromkeys(path for some in paths.values() for path in some))
    pieces, unread = {}, {}
    if wanted:
        bundle = split((yield (heads(wanted, EACH, nonce, ask.BUDGET),))[0], nonce)
        pieces, unread = dict(bundle.pieces), dict(bundle.unread)
    return MappingProxyType({one: _files(one, paths[one], listings, pieces, unread) for one in asked})


def _inside(folder: str, listing: Listing | Unknown, most: int) -> tuple[str, ...]:
    """The directories to look into next: none where results lie already."""
    if isinstance(listing, Unknown) or any(is_results(name) for name in listing.names):
        return ()
    names = sorted(name for name in listing.names if ask.may_be_directory(name))
    return tuple(path for name in names[:most] if askable(path := f"{folder}/{name}"))


def _paths(directory: str, listings: _Listings) -> tuple[str, ...]:
    names = {
        path: listing.names
        for path, listing in listings.items()
        if isinstance(listing, Listing) and _within(path, directory)
    }
    return tuple(path for path in results_paths(directory, names) if askable(path))


def _within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")


def _files(
    directory: str,
    paths: Sequence[str],
    listings: _Listings,
    pieces: Mapping[str, Piece],
    unread: Mapping[str, Unknown],
) -> Files | Unknown:
    own = listings[directory]
    if isinstance(own, Unknown):
        return own
    if own.observation.exit == 2:
        return Unknown(Reason.NOT_READ, f"{directory} is not there")
    files: dict[str, Results | Unknown] = {
        path: listing for path, listing in listings.items() if isinstance(listing, Unknown) and _within(path, directory)
    }
    for path in paths:
        piece = pieces.get(path)
        files[path] = unread.get(path, NOT_READ) if piece is None else _results(piece)
    return MappingProxyType(files)


def _results(piece: Piece) -> Results | Unknown:
    found = read_results(piece.data)
    if isinstance(found, Unknown) and piece.capped:
        return Unknown(Reason.CUT, "the results file is longer than what is read of one")
    return found

"""Cassettes judged under two rule sets, each read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sweeprules.cli import looking, worlds
from sweeprules.cli.held import held_states
from sweeprules.cli.loading import Loaded, SiteBrokenError
from sweeprules.cli.looking import Seen, UnfitError
from sweeprules.cli.rule_sets import RuleSet
from sweeprules.engine.evaluate.native import Judging, evaluate_pair
from sweeprules.engine.evaluate.plan import Node
from sweeprules.engine.evaluate.reuse import alike
from sweeprules.engine.evaluate.truths import Truths
from sweeprules.engine.evaluate.verdict import judge
from sweeprules.engine.facts import Ref, World
from sweeprules.engine.holds import Held
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.site import ClusterRecord
from sweeprules.engine.verdicts import Verdict
from sweeprules.handoffs.render import settle
from sweeprules.reports.comparing import Comparison
from sweeprules.store.cassette import MAX_FILE, Cassette, parse_cassette, parse_head
from sweeprules.store.errors import StoreError
from sweeprules.store.files import read_bounded
from sweeprules.store.worlds import Worlds


@dataclass(slots=True)
class Tried:
    """What came of it: the comparison, the clocks of the sweeps judged, and why each other cassette was not."""

    comparison: Comparison = field(default_factory=Comparison)
    times: list[float] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def try_all(old: RuleSet, new: RuleSet, paths: Sequence[Path], kept: Worlds | None = None) -> Tried:
    """Judge each cassette under both rule sets, in the order given.

    What rules hold from sweep to sweep (`for:`) goes on from what the same rule set held after the sweep before, where
    that one was judged too; else from what was recorded. `kept` holds the worlds that earlier backtests made; those
    made now are put there. Raises `SiteBrokenError`, before anything is judged, when a rule set is broken; a cassette
    that can not be judged is counted, with the reason.
    """
    for side in (old, new):
        side.check()
    tried = Tried()
    pair = _Pair(_Line(old), _Line(new), kept)
    for path in paths:
        try:
            data = read_bounded(path, MAX_FILE)
            pair.judge(tried, data, str(path))
        except (StoreError, UnfitError) as error:
            tried.failed[str(path)] = str(error)
    if kept is not None:
        kept.prune()
    return tried


@dataclass(slots=True)
class _Line:
    """One rule set going through the sweeps: `before` is the id of the sweep it judged last, and what it held then."""

    rules: RuleSet
    before: tuple[str, Held] | None = None

    def loaded(self, tape: Cassette, *, first: bool) -> Loaded:
        """The site that judges this cassette.

        Raises `SiteBrokenError` for rules that a person named, as long as nothing is judged yet; later it is this
        cassette that does not fit them. Raises `UnfitError` and `StoreError`.
        """
        try:
            return self.rules.loaded(tape)
        except SiteBrokenError as broken:
            if first and self.rules.folder is not None:
                raise
            what = "; ".join(str(problem) for problem in broken.problems[:3])
            raise UnfitError(f"the policy can not be compiled ({self.rules.name}): {what}") from None

    def held(self, seen: Seen) -> Held:
        """What this rule set held after the sweep before; what was recorded where it did not judge that one."""
        if self.rules.folder is None or self.before is None or seen.last != self.before[0]:
            return seen.held
        return self.before[1]


@dataclass(slots=True)
class _Pair:
    """Both rule sets, and what is worked out once for each pair of policies."""

    old: _Line
    new: _Line
    kept: Worlds | None
    _alike: dict[tuple[int, int], tuple[Policy, Policy, frozenset[Node]]] = field(default_factory=dict)
    _keys: dict[int, tuple[Loaded, str]] = field(default_factory=dict)

    def judge(self, tried: Tried, data: bytes, name: str) -> None:
        """One cassette under both. Raises `StoreError` and `UnfitError`; nothing is added then."""
        head = parse_head(data, name)
        sites = [line.loaded(head, first=not tried.times) for line in (self.old, self.new)]
        seen = self._seen(data, name, sites)
        states = [line.held(one) for line, one in zip((self.old, self.new), seen, strict=True)]
        asked = [
            Judging(site.policy, looking.judged_by(one, site.policy), held)
            for site, one, held in zip(sites, seen, states, strict=True)
        ]
        same = self._same(sites) if seen[0].world is seen[1].world else frozenset()
        truths = evaluate_pair(asked[0], asked[1], same)
        old, new = (_verdicts(*one) for one in zip(sites, asked, truths, seen, strict=True))
        names = {**_names(seen[0].world), **({} if seen[1].world is seen[0].world else _names(seen[1].world))}
        tried.comparison.add(head.sweep_id, old, new, names)
        tried.times.append(head.now)
        for line, site, one, held, found in zip((self.old, self.new), sites, seen, states, truths, strict=True):
            line.before = (one.id, held_states(held, found, one.now, one.id, site.load.site.keep_sweeps))

    def _seen(self, data: bytes, name: str, sites: Sequence[Loaded]) -> list[Seen]:
        """What both sites read of a cassette: once where they read alike, and not at all where it is kept."""
        keys = [looking.key_of(data, self._key(site)) for site in sites]
        found: dict[str, Seen] = {}
        reader: looking.Reader | None = None
        for key, site in zip(keys, sites, strict=True):
            one = found.get(key) or (looking.kept(self.kept, key) if self.kept is not None else None)
            if one is None:
                reader = reader or looking.Reader(parse_cassette(data, name))
                one, whole = reader.see(site)
                if self.kept is not None and whole:
                    one = looking.keep(self.kept, key, one)
            found[key] = one
        return [found[key] for key in keys]

    def _key(self, site: Loaded) -> str:
        known = self._keys.get(id(site))
        if known is None:
            # The site is kept beside its key: an id is only good as long as what it names is there.
            known = self._keys[id(site)] = (site, looking.site_key(site))
        return known[1]

    def _same(self, sites: Sequence[Loaded]) -> frozenset[Node]:
        old, new = (site.policy for site in sites)
        known = self._alike.get((id(old), id(new)))
        if known is None:
            known = self._alike[id(old), id(new)] = (old, new, alike(old, new))
        return known[2]


def _verdicts(site: Loaded, asked: Judging, truths: Truths, seen: Seen) -> dict[Ref, Verdict]:
    records = {r.name: r for r in site.load.site.records if isinstance(r, ClusterRecord)}
    found = judge(asked.policy, asked.world, site.catalogue, truths, asked.held)
    found = worlds.with_builtin(found, site.load.site.records, seen.chosen)
    return settle(asked.world, found, asked.policy, records)


def _names(world: World) -> dict[Ref, str]:
    jobs = ((s.ref, s.get("name")) for s in world.subjects.values() if s.ref.kind == "job" and s.judged)
    return {ref: name if isinstance(name, str) else "" for ref, name in jobs}

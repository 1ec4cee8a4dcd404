"""What exemptions covered in one sweep, whose they are and how long they still hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sweeprules.engine.facts import Ref
from sweeprules.engine.language.ast import Exemption, Policy
from sweeprules.engine.truth import TRUE
from sweeprules.engine.verdicts import Flag, Verdict
from sweeprules.reports.clean import one_line

_DAY = 86400.0


def told(policy: Policy) -> bool:
    """Whether some exemption is told of even where it covers nothing: it has an owner or an end."""
    return any(one.owner or one.expires is not None for one in policy.exemptions)


def tally(policy: Policy, verdicts: Mapping[Ref, Verdict], now: float) -> list[str]:
    """Lines of text: a title and one line for each exemption that covered a flag, or has an owner or an end.

    `now` is the sweep's clock in epoch seconds. Empty where there is nothing to tell.
    """
    covered: dict[str, Counter[str]] = {}
    subjects: Counter[str] = Counter()
    for verdict in verdicts.values():
        found = [*_covered(policy, verdict)]
        subjects.update({name for name, _ in found})
        for name, flag in found:
            covered.setdefault(name, Counter())[flag] += 1
    lines = [
        f"  {one.id}{_terms(one, now)}: {_says(covered.get(one.id, Counter()), subjects[one.id])}"
        for one in sorted(policy.exemptions, key=lambda one: one.id)
        if one.id in covered or one.owner or one.expires is not None
    ]
    return ["Exemptions", *lines] if lines else []


def _covered(policy: Policy, verdict: Verdict) -> Iterable[tuple[str, str]]:
    """Each flag that was covered on a subject, with the exemption that did: the first by id, as in a verdict."""
    at_work = sorted((one for one in policy.exemptions if verdict.exempted.get(one.id) is TRUE), key=lambda one: one.id)
    for flag in _exempt(verdict.flags):
        for name in flag.covers:
            yield from ((one.id, name) for one in [*_naming(at_work, name)][:1])


def _exempt(flags: Iterable[Flag]) -> Iterable[Flag]:
    return (flag for flag in flags if flag.exempt)


def _naming(exemptions: Sequence[Exemption], flag: str) -> Iterable[Exemption]:
    return (one for one in exemptions if flag in one.flags)


def _terms(one: Exemption, now: float) -> str:
    parts = [f"of {one_line(one.owner, 60)}"] if one.owner else []
    if one.expires is not None:
        parts.append(_left(one.expires - now))
    return f" ({', '.join(parts)})" if parts else ""


def _left(seconds: float) -> str:
    days = int(abs(seconds) // _DAY)
    count = "less than a day" if not days else f"{days} day{'' if days == 1 else 's'}"
    return f"{count} left" if seconds > 0 else f"ended {count} ago"


def _says(flags: Counter[str], subjects: int) -> str:
    if not flags:
        return "covers nothing"
    total = sum(flags.values())
    each = ", ".join(f"{name} {number}" for name, number in sorted(flags.items()))
    where = "subject" if subjects == 1 else "subjects"
    return f"covers {total} flag{'' if total == 1 else 's'} of {subjects} {where} ({each})"

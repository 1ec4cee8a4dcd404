"""What a field is worth once the rules that decide it have their truths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sweeprules.engine.evaluate.compare import OpenList, same
from sweeprules.engine.facts import Absent, FactValue, Reason, Unknown, Value
from sweeprules.engine.truth import FALSE, TRUE, UNKNOWN, Truth

Claim = tuple[Truth, FactValue]
"""A rule's truth and the value that it would give."""

IN_DOUBT = Unknown(Reason.NOT_READ, "a rule that would set it is unknown")
CONFLICT = Unknown(Reason.CONFLICT, "rules set unlike values")
NOTHING_MATCHED = Unknown(Reason.NOT_READ, "no entry of the list matched")


def decide(claims: Sequence[tuple[Truth, str]], forgiving: bool) -> tuple[FactValue, bool]:
    """The first entry that is true, and whether no unknown one stood before it.

    An unknown entry is passed over. A `forgiving` field (bucket: `bucket_sure` says so beside it) then still takes a
    later entry; any other is unknown unless the entry passed over says the same.
    """
    passed: list[str] = []
    for truth, value in claims:
        if truth is TRUE:
            if forgiving or all(other == value for other in passed):
                return value, not passed
            return IN_DOUBT, False
        if truth is UNKNOWN:
            passed.append(value)
    return (IN_DOUBT, False) if passed else (NOTHING_MATCHED, True)


def settle_set(base: FactValue, claims: Sequence[Claim]) -> FactValue:
    """The value of a field that rules set; `base` is what was read, and stands where no rule sets it.

    Unlike values of true rules are unknown `conflict`; an unknown rule that would change the value makes it unknown.
    """
    sure = [value for truth, value in claims_of(claims, TRUE)]
    doubt = [value for truth, value in claims_of(claims, UNKNOWN)]
    if any(not _alike(sure[0], value) for value in sure[1:]):
        return CONFLICT
    settled = sure[0] if sure else base
    if all(_alike(settled, value) for value in doubt):
        return settled
    return IN_DOUBT


def claims_of(claims: Sequence[Claim], truth: Truth) -> list[Claim]:
    """The claims of rules that have one truth."""
    return [claim for claim in claims if claim[0] is truth]


def _alike(left: FactValue, right: FactValue) -> bool:
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return left == right
    if isinstance(left, Absent) or isinstance(right, Absent):
        return isinstance(left, Absent) and isinstance(right, Absent)
    return same(left, right)


def settle_add(base: FactValue, read: bool, claims: Iterable[Claim]) -> FactValue:
    """The value of a list that rules add to: what was read, then what true rules add in order of their ids.

    No member stands twice. The list is open (there may be more) where it was read and is unknown, or where an unknown
    rule, or a true one with an unknown value, would add something that is not in it.
    """
    members: list[Value] = list(base) if isinstance(base, tuple) else []
    unread = read and not isinstance(base, tuple | Absent)
    is_open = isinstance(base, OpenList) or unread
    doubtful: list[FactValue] = []
    for truth, value in claims:
        if truth is FALSE or isinstance(value, Absent):
            continue
        if truth is UNKNOWN or isinstance(value, Unknown):
            doubtful.append(value)
            continue
        for member in value if isinstance(value, tuple) else (value,):
            if not any(same(member, other) for other in members):
                members.append(member)
    is_open = is_open or any(not _within(value, members) for value in doubtful)
    return OpenList(members) if is_open else tuple(members)


def _within(value: FactValue, members: Sequence[Value]) -> bool:
    wanted = value if isinstance(value, tuple) else (value,)
    return all(any(same(w, member) for member in members) for w in wanted)

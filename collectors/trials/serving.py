"""How an evaluation reaches its model: requests to the engine, the tunnel, the address, and refused tokens."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from sweeprules.collectors.logs.lines import Chunk, printed_time
from sweeprules.collectors.metrics.points import Json
from sweeprules.collectors.trials.jsontext import number
from sweeprules.collectors.trials.results import TrialConfig
from sweeprules.engine.facts import ABSENT, FactValue, Reason, Unknown

TUNNELLESS = frozenset({"terminus-2", "oracle", "nop"})
"""Agents that reach the model without a tunnel (domain page 3.5); to them two of the checks do not apply."""
MANY_POSTS = 200
"""Requests from which on their share of status 400 tells something (catalogue a.5)."""
BAD_SHARE = 0.15
SLOT = 600.0
HOUR = 3600.0
_POST = re.compile(rb'/v1/(?:chat/)?completions(?:\?\S{0,200})? HTTP/\d(?:\.\d)?"?\s+(\d{3})\b')
_POSTED = b'"POST /v1/'
_WITHIN = 400
_TOKEN = b"Bearer token invalid"
_LOCKED = b"A tunnel with the same token"
_OPEN = b"You are authenticated as"
_TRAFFIC = re.compile(rb"\b(RB|SB|TC):\s*(\d{1,18})")
_BACK = 50
"""Lines before one without a time in which a time is looked for."""
_AT_MOST = 20_000
"""Lines of one kind that are looked at in one stretch of a log for a time."""


# ---------------------------------------------------------------- requests


@dataclass(frozen=True, slots=True)
class Posts:
    """Requests that an engine answered: with 200, with 400, and all of them."""

    ok: int = 0
    refused: int = 0
    total: int = 0


def read_posts(chunk: Chunk, since: int) -> Posts:
    """The requests for completions in a stretch of an engine's log, those that stand before byte `since` left out."""
    ok = refused = total = 0
    text = chunk.text
    at = text.find(_POSTED, chunk.begin)
    while at >= 0:
        found = _POST.search(text, at, at + _WITHIN)
        following = text.find(_POSTED, at + len(_POSTED))
        if found is not None and (following < 0 or found.end() <= following) and chunk.position(at) >= since:
            total += 1
            ok += found[1] == b"200"
            refused += found[1] == b"400"
        at = following
    return Posts(ok, refused, total)


def post_facts(posts: Posts | Unknown | None, seconds: float | None) -> dict[str, FactValue]:
    """`posts_200`, `posts_400` and `posts_rate` (a minute) since the last sweep, `seconds` ago.

    None: the job serves no model. At first sight there is no last sweep to count from, so `seconds` is None.
    """
    names = ("posts_200", "posts_400", "posts_rate")
    if not isinstance(posts, Posts):
        return dict.fromkeys(names, ABSENT if posts is None else posts)
    rate: FactValue = Unknown(Reason.FIRST_SIGHT, "there is no earlier sweep to count from")
    if seconds is not None and seconds > 0:
        rate = posts.total / (seconds / 60)
    return {"posts_200": posts.ok, "posts_400": posts.refused, "posts_rate": rate}


# ---------------------------------------------------------------- the four checks


@dataclass(frozen=True, slots=True)
class Seen:
    """What the four checks rest on; each part unknown where it was not read.

    `agent` is the agent's name. `tunnel` is the tunnel's log since the current start. `config` is a trial's config.
    `posts` are requests since the last sweep, `done` and `new` the trials that are done and those new since then (None
    at first sight), `quick` those that failed at once, `running` how long the job has run, in seconds.
    """

    agent: FactValue
    tunnel: Chunk | Unknown
    config: TrialConfig | Unknown
    posts: Posts | Unknown | None
    started: int | Unknown
    done: int | Unknown
    new: int | None
    quick: int | Unknown
    running: float | None
    planned: int | Unknown = field(default_factory=lambda: Unknown(Reason.NOT_READ))


def infra_facts(seen: Seen, tunnelless: frozenset[str] = TUNNELLESS) -> dict[str, FactValue]:
    """`infra.pinggy`, `infra.api_base`, `infra.vllm` and `infra.trials`: `ok`, `bad`, `n/a`, or unknown."""
    tunnel: FactValue = tunnel_state(seen.tunnel)
    address: FactValue = address_state(seen.config)
    if isinstance(seen.agent, str) and seen.agent in tunnelless:
        tunnel = address = "n/a"
    elif not isinstance(seen.agent, str):
        tunnel = address = Unknown(Reason.NOT_READ, "the agent is not known, so neither is whether it needs a tunnel")
    return {
        "infra.pinggy": tunnel,
        "infra.api_base": address,
        "infra.vllm": _engine_state(seen),
        "infra.trials": _trials_state(seen),
    }


def tunnel_state(tunnel: Chunk | Unknown) -> FactValue:
    """The last word of the tunnel's log: `ok` once authenticated, `bad` when another holds the token."""
    if isinstance(tunnel, Unknown):
        return tunnel
    opened, locked = tunnel.text.rfind(_OPEN, tunnel.begin), tunnel.text.rfind(_LOCKED, tunnel.begin)
    if locked > opened and b"already active" in tunnel.text[locked : locked + _WITHIN]:
        return "bad"
    if opened >= 0:
        return "ok"
    return Unknown(Reason.NOT_READ, "the tunnel's log says neither that it is open nor that it is locked")


def traffic(tunnel: Chunk) -> Mapping[str, int]:
    """The tunnel's newest counters by name (`RB`, `SB` bytes, `TC` connections): they grow where it carries traffic."""
    tail = tunnel.text[max(tunnel.begin, len(tunnel.text) - 16_384) :]
    return MappingProxyType({found[1].decode("ascii"): int(found[2]) for found in _TRAFFIC.finditer(tail)})


def address_state(config: TrialConfig | Unknown) -> FactValue:
    """`bad` when an address that a trial calls can not be reached from outside, `ok` when all can."""
    if isinstance(config, Unknown):
        return config
    if not config.addresses:
        return Unknown(Reason.NOT_READ, "the trial's config names no address")
    return "bad" if any(is_internal(address) for address in config.addresses) else "ok"


def is_internal(address: str) -> bool:
    """True for an address inside a cluster: a private or loopback number, or a name without a domain."""
    try:
        host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        return False
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return bool(host) and ("." not in host or host.endswith((".local", ".internal", ".cluster", ".svc")))
    return number.is_private or number.is_loopback or number.is_link_local


def _engine_state(seen: Seen) -> FactValue:
    """`bad` with too many of status 400, or with no request since the last sweep while trials are left."""
    posts = seen.posts
    if not isinstance(posts, Posts):
        return ABSENT if posts is None else posts
    if posts.total >= MANY_POSTS and posts.refused > BAD_SHARE * posts.total:
        return "bad"
    if posts.ok:
        return "ok"
    if seen.new is None:
        return Unknown(Reason.FIRST_SIGHT, "there is no earlier sweep to count from")
    if isinstance(seen.done, int) and seen.done == seen.planned:
        return "ok"
    return "bad"


SETUP = 1800.0
"""Seconds without any trial after which the set-up counts as stalled (domain page 3.5)."""


def _trials_state(seen: Seen) -> FactValue:
    """`bad` when most trials fail at once or none has begun after half an hour, `ok` when results came."""
    for part in (seen.started, seen.done, seen.quick):
        if isinstance(part, Unknown):
            return part
    done, quick = seen.done, seen.quick
    assert isinstance(done, int) and isinstance(quick, int)
    if done >= 10 and quick * 2 > done:
        return "bad"
    if done and (seen.new is None or seen.new > 0 or done == seen.planned):
        return "ok"
    if seen.running is None:
        return Unknown(Reason.NOT_READ, "how long the job has run is not known")
    if seen.started == 0 and seen.running > SETUP:
        return "bad"
    return Unknown(Reason.WARMING_UP, "no trial has ended since the last sweep")


# ---------------------------------------------------------------- refused tokens


@dataclass(frozen=True, slots=True)
class Refused:
    """`auth_error_slots`, the last line behind it, and what the next sweep starts from."""

    fact: FactValue
    quote: str = ""
    memo: Mapping[str, Json] = field(default_factory=dict)


def read_refused(
    chunk: Chunk, zone: ZoneInfo, now: float, before: Mapping[str, Json] | None = None, *, gap: bool = False
) -> Refused:
    """The ten-minute slots of the hour before `now` in which a token was refused.

    A line without a time has that of the last line before it that has one. `gap` says that bytes since the last
    sweep were not read. Unknown when such a line can not be placed, or when the stretch may not reach back an hour.
    """
    memo = before or {}
    kept = {int(moment // SLOT): moment for moment in _times(memo.get("times"))}
    reached = number(memo.get("reached"))
    if gap or reached is None:
        reached = 0.0 if chunk.start == 0 else _first_time(chunk, zone)
    quote, lost = "", False
    for moment, line in _refused(chunk, zone):
        quote = quote or line[:300]
        if moment is None:
            lost = True
        elif moment < now - HOUR:
            break
        else:
            slot = int(moment // SLOT)
            kept[slot] = max(moment, kept.get(slot, moment))
    recent = sorted(moment for moment in kept.values() if now - HOUR <= moment <= now)
    left: dict[str, Json] = {"times": [*recent]}
    if reached is not None:
        left["reached"] = reached
    fact: FactValue = _apart(recent)
    if lost:
        fact = Unknown(Reason.NOT_READ, "some lines with a refused token carry no time")
    elif reached is None or reached > now - HOUR:
        fact = Unknown(Reason.CUT, "what was read of the log does not reach back an hour")
    return Refused(fact, quote, MappingProxyType(left))


def _apart(times: Sequence[float]) -> int:
    """How many of the rising `times` lie a slot apart: one burst counts once, also where it crosses a slot's border."""
    count, last = 0, -SLOT
    for moment in times:
        if moment - last >= SLOT:
            count, last = count + 1, moment
    return count


def _times(value: Json) -> Sequence[float]:
    return [moment for one in value if (moment := number(one)) is not None] if isinstance(value, list) else []


def _refused(chunk: Chunk, zone: ZoneInfo) -> Iterator[tuple[float | None, str]]:
    """The lines with a refused token and their times, the newest first."""
    at = chunk.text.rfind(_TOKEN, chunk.begin)
    seen = 0
    while at >= 0 and seen < _AT_MOST:
        seen += 1
        low, high = chunk.bounds(at)
        line = chunk.raw(low, high).decode("utf-8", "replace")
        yield _time_at(chunk, zone, low), line
        at = chunk.text.rfind(_TOKEN, chunk.begin, max(low, chunk.begin))


def _time_at(chunk: Chunk, zone: ZoneInfo, low: int) -> float | None:
    """The time of a line, or of one of the lines before it."""
    for _ in range(_BACK):
        begin, end = chunk.bounds(low)
        moment = printed_time(chunk.raw(begin, end).decode("utf-8", "replace"), zone)
        if moment is not None:
            return moment
        if begin <= chunk.begin:
            return None
        low = begin - 1
    return None


def _first_time(chunk: Chunk, zone: ZoneInfo) -> float | None:
    """The first printed time within the first 500 lines."""
    for number_of, line in enumerate(chunk.lines()):
        moment = printed_time(line.text, zone)
        if moment is not None or number_of > 500:
            return moment
    return None

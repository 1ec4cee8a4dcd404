"""Certificates that a record names: asked of the login with `ssh-keygen -L`, in UTC."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from sweeprules.collectors.slurm.ask import certificate
from sweeprules.collectors.slurm.jobs import source
from sweeprules.collectors.transport.command import Command
from sweeprules.engine.facts import ABSENT, Completeness, FactValue, Reason, Ref, Relation, Subject, Unknown
from sweeprules.engine.observation import Observation
from sweeprules.engine.site import ClusterRecord

_VALID = re.compile(r"^\s*Valid: (?:from (?P<from>\S+) to (?P<to>\S+)|(?P<forever>forever))\s*$", re.MULTILINE)
_FACTS = ("kind", "valid_from", "valid_until", "left", "forever")


@dataclass(frozen=True, slots=True)
class Certificate:
    """One entry of a record's `certs`."""

    path: str
    needed_by: tuple[str, ...]

    @property
    def command(self) -> Command:
        """Asks for it. A path under `~` is relative: a login's commands start in the home directory."""
        return certificate(self.path.removeprefix("~/"))


def certificates(record: ClusterRecord) -> tuple[Certificate, ...]:
    """The certificates of a record, in its order."""
    listed = record.raw.get("certs")
    entries = listed if isinstance(listed, list | tuple) else ()
    found = []
    for entry in entries:
        if isinstance(entry, Mapping) and isinstance(entry.get("path"), str):
            needed = entry.get("needed_by")
            names = tuple(str(name) for name in needed) if isinstance(needed, list | tuple) else ()
            found.append(Certificate(entry["path"], names))
    return tuple(found)


def credential_subject(cluster: str, wanted: Certificate, observation: Observation, now: float) -> Subject:
    """The certificate as a subject; absent facts when there is no such file."""
    facts: dict[str, FactValue] = {"path": wanted.path, "needed_by": wanted.needed_by, **_facts(observation, now)}
    line = next((line.strip() for line in observation.text().splitlines() if "Valid:" in line), "")
    told = source(observation, line)
    return Subject(
        Ref("credential", f"{cluster}:{wanted.path}"),
        MappingProxyType(facts),
        MappingProxyType(dict.fromkeys(facts, told)),
        {"cluster": Relation((Ref("cluster", cluster),))},
    )


def _facts(observation: Observation, now: float) -> dict[str, FactValue]:
    text, stderr = observation.text(), observation.stderr.decode("utf-8", "replace")
    if observation.answered and observation.exit != 0 and "No such file" in text + stderr:
        return dict.fromkeys(_FACTS, ABSENT)
    if not observation.answered or observation.exit != 0:
        why = observation.detail or stderr.strip().partition("\n")[0][:200] or f"exit {observation.exit}"
        return dict.fromkeys(_FACTS, Unknown(Reason.READ_FAILED, why))
    valid = list(_VALID.finditer(text))
    kind = re.search(r"^\s*Type: (\S+)", text, re.MULTILINE)
    if not valid:
        return dict.fromkeys(_FACTS, Unknown(Reason.MALFORMED, "no line says how long it is valid"))
    clock = observation.remote_clock if observation.remote_clock is not None else now
    return {"kind": kind[1] if kind else ABSENT, **_validity(valid[0], clock)}


def _validity(valid: re.Match[str], clock: float) -> dict[str, FactValue]:
    if valid["forever"]:
        return {"valid_from": ABSENT, "valid_until": ABSENT, "left": ABSENT, "forever": True}
    start, end = _utc(valid["from"]), _utc(valid["to"])
    if end is None:
        return dict.fromkeys(_FACTS[1:], Unknown(Reason.MALFORMED, f"not a time: {valid['to'][:40]!r}"))
    return {
        "valid_from": ABSENT if start is None else start,
        "valid_until": end,
        "left": max(0.0, end - clock),
        "forever": False,
    }


def _utc(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def credential_relation(name: FactValue | None, cluster: str, wanted: Sequence[Certificate]) -> Relation:
    """The certificate that a job needs: the one whose `needed_by` is in its name, else the record's only one."""
    text = name if isinstance(name, str) else ""
    for one in wanted:
        if any(word and word in text for word in one.needed_by):
            return Relation((Ref("credential", f"{cluster}:{one.path}"),))
    if len(wanted) == 1:
        return Relation((Ref("credential", f"{cluster}:{wanted[0].path}"),))
    return Relation((), Completeness.UNKNOWN, Reason.NOT_READ)

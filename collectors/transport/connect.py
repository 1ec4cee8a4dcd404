"""The transport that a record's `reach.via` names."""

from __future__ import annotations

from collections.abc import Iterable

from sweeprules.collectors.transport.allow import AllowList
from sweeprules.collectors.transport.command import Transport
from sweeprules.collectors.transport.local import LocalTransport
from sweeprules.collectors.transport.openssh import OpenSshTransport
from sweeprules.collectors.transport.replay import ReplayTransport
from sweeprules.engine.observation import Observation
from sweeprules.engine.site import ClusterRecord


def allow_list(record: ClusterRecord) -> AllowList:
    """What `record` allows: the shipped shapes, less its bans, with the programs that its commands name."""
    return AllowList(record.bans, record.commands)


def transport_for(record: ClusterRecord, recorded: Iterable[Observation] = ()) -> Transport:
    """A transport for `record`; `recorded` are the observations of its cassette where it says `via: replay`.

    Raises `ValueError` for `via: kube`, which speaks no shell.
    """
    reach = record.reach
    if reach.via == "replay":
        return ReplayTransport(recorded)
    if reach.via == "local":
        return LocalTransport(allow_list(record))
    if reach.via == "openssh":
        return OpenSshTransport(allow_list(record), connect_timeout=reach.connect_timeout)
    if reach.via == "fabric":
        # fabric takes a third of a second to import, so only those pay who use it.
        from sweeprules.collectors.transport.fabric_ssh import FabricTransport

        return FabricTransport(allow_list(record), connect_timeout=reach.connect_timeout)
    raise ValueError(f"via {reach.via} is no shell transport")

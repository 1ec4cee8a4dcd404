"""A handoff as a row of the report, and the words that its page has for facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sweeprules.engine.facts import FactValue, World
from sweeprules.handoffs.identity import path_of
from sweeprules.handoffs.render import Handoff
from sweeprules.reports.document import HandoffRow
from sweeprules.reports.words import typed


def worded(types: Mapping[tuple[str, str], str]) -> Callable[[str, FactValue], str]:
    """How a fact of a job reads on a page, by its name and its type."""

    def shown(name: str, value: FactValue) -> str:
        return typed(value, types.get(("job", name), "text"))

    return shown


def handoff_row(handoff: Handoff, world: World) -> HandoffRow:
    """What the report says of a handoff."""
    subject = world.subjects[handoff.subject]
    job_id = subject.get("job_id")
    cluster = handoff.subject.key if handoff.subject.kind == "cluster" else subject.get("cluster")
    return HandoffRow(
        id=handoff.id,
        template=handoff.template,
        cause=handoff.cause,
        cluster=cluster if isinstance(cluster, str) else "",
        job_id=job_id if isinstance(job_id, str) else "",
        subject=str(handoff.subject),
        status=handoff.status,
        blocked_by=handoff.blocked_by,
        proofs=tuple((p.name, p.truth.word, p.source, p.at) for p in handoff.proofs),
        since="",
        path=path_of(handoff.id),
        actions=handoff.actions,
    )

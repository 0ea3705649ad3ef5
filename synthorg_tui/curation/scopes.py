"""For whom an item would be: the scopes that it can be given, and the agents each would reach.

A lesson goes to its agent, to the agents of that one's role or department, or to all. What an agent
wrote is for it alone or for all. Choosing is the reviewer's; how a scope is carried out is in
``plan`` and ``propagation``.
"""

from collections.abc import Mapping, Sequence

from synthorg_tui.approvals.models import DecisionRefusedError
from synthorg_tui.approvals.roles import DecisionSubject
from synthorg_tui.curation.models import Lesson, LessonKind, ProceduralMemoryScope
from synthorg_tui.curation.propagation import Propagation
from synthorg_tui.curation.review import (
    InboxEntry,
    OrgPayload,
    Subject,
    WritePayload,
    entry_of,
)

_ALONE_OR_ALL = (ProceduralMemoryScope.AGENT, ProceduralMemoryScope.ORG)


def scopes_of(subject: Subject | None) -> tuple[ProceduralMemoryScope, ...]:
    """Return the scopes that a subject can be given, the narrowest first; none if it has none.

    What was learnt from many agents stays for all of them, as it is no single one's.
    """
    if isinstance(subject, WritePayload):
        return _ALONE_OR_ALL
    if not isinstance(subject, Lesson):
        return ()
    if subject.kind is LessonKind.EVOLVED:
        return (ProceduralMemoryScope.ORG,)
    return tuple(ProceduralMemoryScope)


def scope_of(subject: Subject | None) -> ProceduralMemoryScope | None:
    """Return the scope that a subject has as it is; ``None`` if it has none."""
    if isinstance(subject, WritePayload):
        return ProceduralMemoryScope.ORG if subject.shared else ProceduralMemoryScope.AGENT
    return subject.proposal.scope if isinstance(subject, Lesson) else None


def subject_of(entry: InboxEntry, payload: str | None = None) -> DecisionSubject:
    """Return what roles are asked of about an item, as a person edited it where one did.

    ``payload`` is what it became then. What is written to organisation memory is for all.
    """
    if payload is not None:
        entry = entry_of(entry.item.model_copy(update={"payload": payload}))
    about, subject = DecisionSubject.of(entry.item), entry.subject
    agent = about.agent_id or getattr(subject, "agent_id", "")
    scope = scope_of(subject)
    if isinstance(subject, OrgPayload):
        scope = ProceduralMemoryScope.ORG
    return DecisionSubject(agent, scope.value if scope is not None else about.scope)


def scoped(subject: Subject | None, scope: ProceduralMemoryScope) -> Lesson | WritePayload:
    """Return the subject with a scope; raises ``DecisionRefusedError`` for one it can't have."""
    allowed = scopes_of(subject)
    if not isinstance(subject, Lesson | WritePayload):
        raise DecisionRefusedError("only a lesson, and what an agent wrote, has a scope")
    if scope not in allowed:
        names = ", ".join(each.value for each in allowed)
        raise DecisionRefusedError(f"this can't be for the scope {scope.value}; allowed: {names}")
    if isinstance(subject, WritePayload):
        return subject.model_copy(update={"shared": scope is ProceduralMemoryScope.ORG})
    proposal = subject.proposal.model_copy(update={"scope": scope})
    return subject.model_copy(update={"proposal": proposal})


def reach_of(
    subject: Subject | None, propagation: Propagation, known: Sequence[str]
) -> Mapping[ProceduralMemoryScope, tuple[str, ...]]:
    """Return for each scope that a subject can have the agents who would be given it, sorted.

    ``known`` are the agents that have memories.
    """
    if isinstance(subject, WritePayload):  # its agent's own: it isn't propagated as lessons are
        everybody = propagation.reach(subject.agent_id, ProceduralMemoryScope.ORG, known)
        return dict(zip(_ALONE_OR_ALL, ((subject.agent_id,), everybody), strict=True))
    if not isinstance(subject, Lesson):
        return {}
    nobody = subject.agent_id if subject.kind is LessonKind.EVOLVED else ""
    return {
        scope: tuple(
            agent for agent in propagation.reach(subject.agent_id, scope, known) if agent != nobody
        )
        for scope in scopes_of(subject)
    }

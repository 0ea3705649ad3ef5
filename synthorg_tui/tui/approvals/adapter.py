"""The engine behind the approvals port."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import short_path
from synthorg_tui.tui.approvals.ports import (
    FIELDS,
    STEPS,
    ApprovalRow,
    Bulk,
    Flag,
    Neighbour,
    Note,
    Occurrence,
    ReviewSheet,
    Reworded,
    StaleReview,
    Status,
    TrailEvent,
    Wording,
)

if TYPE_CHECKING:
    from synthorg_tui.approvals.person import Person
    from synthorg_tui.curation.edits import ProposalEdit
    from synthorg_tui.curation.models import Evidence, ProceduralMemoryProposal
    from synthorg_tui.curation.review import Decision, InboxEntry, Review
    from synthorg_tui.engine import Engine
    from synthorg_tui.memory.models import MemoryEntry

_TITLE: Final = 200
_NEWS: Final = frozenset({"changed", "approval.expired"})
"""Topics of the engine's events after which what waits may be another."""


def person() -> "Person":
    """Whoever sits at the screen."""
    from synthorg_tui.approvals.person import Person

    return Person("tui")


class EngineApprovals:
    """The approvals port over an open engine."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._listening = False

    async def pending(self) -> int:
        """How many wait."""
        return (await self._engine.approvals.counts()).pending

    async def inbox(self, status: Status = "pending") -> tuple[ApprovalRow, ...]:
        """All items of a status."""
        from synthorg_tui.approvals.models import ApprovalStatus

        entries = await self._engine.reviews.inbox(
            include_snoozed=True, status=ApprovalStatus(status)
        )
        return await asyncio.to_thread(lambda: tuple(map(_flagged_row, entries)))

    async def review(self, item_id: str) -> ReviewSheet:
        """An item with everything a decision stands on."""
        return await self._sheet(await self._engine.reviews.review(item_id))

    async def approve(self, item_id: str, shown: str, edited: Reworded | None = None) -> str:
        """Approve what was shown."""
        from synthorg_tui.curation.review import ReviewChangedError

        edit = None if edited is None else partial(_edit, wording=edited)
        try:
            decision = await self._engine.reviews.approve(
                item_id, shown=shown, person=person(), edit=edit
            )
        except ReviewChangedError as error:
            raise StaleReview(await self._sheet(error.review)) from error
        return told("Approved", decision)

    async def approve_many(self, reviewed: Sequence[tuple[str, str]]) -> Bulk:
        """Approve these, each while it is what was shown."""
        done = await self._engine.reviews.approve_many(reviewed, person())
        stale = [
            (each.item.id, f"{each.item.title}: it changed since you read it")
            for each in done.stale
        ]
        return Bulk(len(done.decisions), (*stale, *done.refused))

    async def reject(self, item_id: str, shown: str, reason: str) -> str:
        """Reject what was shown."""
        from synthorg_tui.curation.review import ReviewChangedError

        try:
            await self._engine.reviews.reject(item_id, shown=shown, reason=reason, person=person())
        except ReviewChangedError as error:
            raise StaleReview(await self._sheet(error.review)) from error
        return "Rejected: it is not proposed again · u takes it back"

    async def snooze(self, item_id: str, until: datetime | None) -> None:
        """Out of the way until then."""
        await self._engine.reviews.snooze(item_id, until, person())

    async def undo(self) -> str | None:
        """Take back the last decision."""
        return undone(await self._engine.reviews.undo(person()))

    def listen(self, changed: Callable[[], None]) -> None:
        """Tell when an agent or a command may have changed the queue."""
        if not self._listening:
            self._listening = True
            self._engine.events.subscribe(lambda topic, _: changed() if topic in _NEWS else None)

    async def _sheet(self, review: "Review") -> ReviewSheet:
        from synthorg_tui.curation.models import FileChangeKind, FileChangePayload

        row, subject = review_row(review.entry, len(review.flags)), review.entry.subject
        events = await self._engine.approvals.events(row.id)
        proposed, grounded, authors = _said(subject)
        both = isinstance(subject, FileChangePayload) and subject.change is FileChangeKind.CONFLICT
        return ReviewSheet(
            row,
            review.shown,
            proposed=proposed,
            grounded=grounded,
            authors=authors,
            occurrences=tuple(map(occurrence, review.entry.evidence)),
            flags=tuple(Flag(each.kind.value, each.place, each.found) for each in review.flags),
            neighbours=tuple(
                Neighbour(each.name, each.discovery, each.similarity, each.verdict)
                for each in review.near
            ),
            path=review.path,
            text=review.text,
            diff=review.diff,
            replaces=tuple(_gone(each, subject) for each in review.replaces),
            agents=review.agents,
            note=_note(subject),
            ours=subject.ours if both and isinstance(subject, FileChangePayload) else "",
            problem=review.problem,
            description=review.item.description,
            requested_by=review.item.requested_by,
            trail=tuple(
                TrailEvent(each.at, each.kind.value, each.actor, each.reason) for each in events
            ),
        )


def told(done: str, decision: "Decision") -> str:
    """What a decision did, in a line."""
    kept = (
        f" · {decision.left_alone[0]} was changed meanwhile and stays"
        if decision.left_alone
        else ""
    )
    where = f" · {short_path(decision.paths[0])}" if decision.paths and not kept else ""
    return f"{done}{where}{kept} · u takes it back"


def undone(decision: "Decision | None") -> str | None:
    """What an undo took back, in a line."""
    if decision is None:
        return None
    many = decision.count > 1
    return f"Undid {decision.title}" if many else f"Took back: {decision.title}"


def occurrence(evidence: "Evidence") -> Occurrence:
    """A recorded occurrence as the screens show it."""
    return Occurrence(
        source=evidence.lines,
        agent_id=evidence.agent_id,
        failed=evidence.failed,
        error=evidence.error,
        resolved_by=evidence.resolved_by,
        between=evidence.between,
        at=evidence.at,
        project=evidence.project or "",
    )


def _flagged_row(entry: "InboxEntry") -> ApprovalRow:
    from synthorg_tui.approvals.scan import scan
    from synthorg_tui.curation.review import texts_of

    return review_row(entry, len(scan(texts_of(entry))))


def review_row(entry: "InboxEntry", flags: int) -> ApprovalRow:
    """An item as a list shows it."""
    item = entry.item
    return ApprovalRow(
        id=item.id,
        kind=entry.kind.value,
        title=item.title,
        created_at=item.created_at,
        status=item.status.value,
        risk=item.risk_level.value,
        agent_id=getattr(entry.subject, "agent_id", ""),
        scope=entry.scope,
        confidence=entry.confidence,
        recurrence=entry.recurrence,
        flags=flags,
        expires_at=item.expires_at,
        snoozed_until=item.snoozed_until,
        decided_at=item.decided_at,
        decided_by=item.decided_by or "",
        reason=item.decision_reason or "",
    )


def _note(subject: object) -> Note | None:
    """What an agent wants kept; ``None`` for anything else."""
    from synthorg_tui.core.redaction import marks_in
    from synthorg_tui.curation.review import WritePayload
    from synthorg_tui.memory.retrieval.tags import parse_tags

    if not isinstance(subject, WritePayload):
        return None
    draft, request = subject.draft, subject.draft.request
    return Note(
        text=request.content,
        category=request.category.value,
        source=request.metadata.source or "",
        project=draft.project or "",
        sensitivity=parse_tags(request.metadata.tags).sensitivity.value,
        tags=request.metadata.tags,
        written_at=draft.created_at,
        redactions=tuple(marks_in(request.content).items()),
    )


_Said = tuple[Wording | None, Wording | None, tuple[tuple[str, str], ...]]


def _said(subject: object) -> _Said:
    """What a lesson says, the draft made of its evidence, and who wrote each field."""
    from synthorg_tui.curation.models import Lesson

    if not isinstance(subject, Lesson):
        return None, None, ()
    authors = tuple((name, author.value) for name, author in subject.authors.items())
    return _wording(subject.proposal), _wording(subject.grounded), authors


def _wording(proposal: "ProceduralMemoryProposal") -> Wording:
    return Wording(
        proposal.discovery,
        proposal.condition,
        proposal.action,
        proposal.rationale,
        proposal.execution_steps,
    )


def _gone(entry: "MemoryEntry", subject: object) -> str:
    """A memory that would go, and why where that is known."""
    reasons = getattr(subject, "reasons", {})
    first = entry.content.strip().partition("\n")[0][:_TITLE].removeprefix("[DISCOVERY] ")
    return f"{first} ({reasons[entry.id]})" if reasons.get(entry.id) else first


def _edit(entry: "InboxEntry", wording: Reworded) -> "ProposalEdit":
    """What a person made of an item, and who wrote the fields of a lesson that changed."""
    from pydantic import ValidationError

    from synthorg_tui.curation.edits import ProposalEdit
    from synthorg_tui.curation.models import Author, Lesson, ProceduralMemoryProposal

    subject = entry.subject
    if isinstance(wording, str):
        return ProposalEdit(wording)
    if not isinstance(subject, Lesson):
        raise DomainError("Only a lesson can be reworded.")
    fields = {name: wording.text(name) for name in FIELDS}
    changed = {**subject.proposal.model_dump(), **fields, STEPS: wording.steps}
    try:
        proposal = ProceduralMemoryProposal.model_validate(changed)
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(map(str, problem["loc"]))
        raise DomainError(f"This wording doesn't do: {name}: {problem['msg']}.") from error
    grounded = _wording(subject.grounded)
    authors = {
        name: Author.EVIDENCE
        for name in (*FIELDS, STEPS)
        if wording.text(name) == grounded.text(name)
    }
    kept = set(wording.steps) <= set(subject.proposal.execution_steps)
    if kept and STEPS in subject.authors:
        authors.setdefault(STEPS, subject.authors[STEPS])
    return ProposalEdit(proposal, authors)

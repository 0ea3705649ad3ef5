"""Decisions of a person: reviewing what approving would do, approving, rejecting, undoing.

Every decision takes the same way: under the registry's lock the preview of what the person was
shown is built once more, compared with what they read, and its plan is handed to the
``DecisionRunner``. This is the only module that turns a person's answer into a decision. What a
decision changes is worked out in ``preview`` and ``plan``; how it becomes true is in ``decisions``.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias, TypeVar
from uuid import uuid4

from synthorg_tui.approvals.models import (
    ApprovalItem,
    ApprovalNotFoundError,
    ApprovalStatus,
    DecisionRefusedError,
    OvertakenError,
    StaleReviewError,
)
from synthorg_tui.approvals.person import Person, Policy
from synthorg_tui.approvals.roles import DecisionSubject
from synthorg_tui.approvals.rows import payload_hash
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.administration import AdminPayload
from synthorg_tui.curation.adoption import Adoption
from synthorg_tui.curation.base import CurationBase
from synthorg_tui.curation.conflicts import paired
from synthorg_tui.curation.decisions import DecisionRunner
from synthorg_tui.curation.edits import ProposalEdit
from synthorg_tui.curation.journal import Effects
from synthorg_tui.curation.models import LESSON_ACTION, Evidence
from synthorg_tui.curation.plan import CurationPlan, Preview, same_memories
from synthorg_tui.curation.preview import ApprovalPreview
from synthorg_tui.curation.review import (
    BY_ITSELF,
    CONFLICT_ACTION,
    BulkOutcome,
    Decision,
    DecisionKind,
    InboxEntry,
    Review,
    ReviewChangedError,
    SubjectKind,
    entry_of,
)
from synthorg_tui.curation.review_sheet import SheetDecision, SheetVerdict
from synthorg_tui.curation.scopes import subject_of
from synthorg_tui.executions.store import Excerpt, ExecutionStore
from synthorg_tui.memory.extensions import BundleOutcome
from synthorg_tui.memory.org.errors import OrgMemoryWriteError
from synthorg_tui.memory.store.statements import hold_both
from synthorg_tui.persistence.port import Connection

_log = logging.getLogger(__name__)

_Taken = TypeVar("_Taken")
_TRIES: Final = 4
"""How often a decision is worked out while other programs decide, before that is said."""

EditProposal: TypeAlias = Callable[[InboxEntry], ProposalEdit]
"""What a person makes of an item as it is at the moment of the decision."""


class ReviewService:
    """The inbox of proposals, and the only way to decide about them.

    Everything a decision changes in the database is one transaction; its files follow and are
    finished after a crash. One decision is taken at a time.

    Args:
        base: The approval items, the approved skills and the memories.
        runner: Carries decisions out.
        preview: Works out what a decision does.
        executions: The stored transcripts, shown as evidence.
        adoption: What ``adopt_by_policy`` may approve; ``None`` for nothing.
    """

    def __init__(
        self,
        base: CurationBase,
        runner: DecisionRunner,
        preview: ApprovalPreview,
        executions: ExecutionStore,
        adoption: Adoption | None,
    ) -> None:
        self._base = base
        self._runner = runner
        self._preview = preview
        self._executions = executions
        self._adoption = adoption

    async def inbox(
        self,
        *,
        include_snoozed: bool = False,
        status: ApprovalStatus | None = ApprovalStatus.PENDING,
    ) -> tuple[InboxEntry, ...]:
        """Return the items of a status (``None`` for all), newest first."""
        items = await self._base.queue.list(status=status, snoozed=include_snoozed)
        return tuple(map(entry_of, items))

    async def review(self, item_id: str) -> Review:
        """Return everything that approving the item would do; raises ``ApprovalNotFoundError``."""
        review = await self._preview.review(await self._build(item_id))
        barred = self._base.queue.rights.refusal(subject_of(review.entry))
        return replace(review, barred=barred) if barred else review

    async def approve(
        self, item_id: str, *, shown: str, person: Person, edit: EditProposal | None = None
    ) -> Decision:
        """Approve a proposal and carry out what it proposes.

        Args:
            item_id: The id of the item.
            shown: ``Review.shown`` of what the person read.
            person: The person who decides.
            edit: Returns the person's wording of the item, or raises to stop. Called only once the
                item is known to be as it was shown. An edited lesson replaces no more memories
                than were shown.

        Raises:
            ApprovalNotFoundError: There is no such item.
            ReviewChangedError: It is no longer what was shown.
            ApprovalConflictError: It is decided or expired.
            DecisionRefusedError: It can't be approved, or can't be edited like this.
            MemoryStoreError: The agent may store nothing more; nothing was changed.
            SkillWriteError: It is approved, but its file can't be written yet.
        """

        async def act() -> Decision:
            preview = await self._approvable(item_id, shown)
            if edit is not None:
                preview = await self._preview.edited(preview, edit(preview.review.entry))
            return await self._decide(preview, ApprovalStatus.APPROVED, person)

        return await self._in_turn(act)

    async def reject(self, item_id: str, *, shown: str, reason: str, person: Person) -> Decision:
        """Reject a proposal for good; ``shown`` and the errors are those of ``approve``."""

        async def act() -> Decision:
            preview = await self._as_shown(item_id, shown)
            return await self._decide(preview, ApprovalStatus.REJECTED, person, reason=reason)

        return await self._in_turn(act)

    async def approve_many(
        self, reviewed: Iterable[tuple[str, str]], person: Person
    ) -> BulkOutcome:
        """Approve several items, each only if it is still what was shown; undone as one.

        ``reviewed`` pairs the id of an item with the ``Review.shown`` that the person read. Items
        that can't be approved are in the result, not raised.
        """
        verdicts = [SheetVerdict(key, shown, "", SheetDecision.APPROVE) for key, shown in reviewed]
        return await self.decide(verdicts, person)

    async def decide(self, verdicts: Sequence[SheetVerdict], person: Person) -> BulkOutcome:
        """Approve, reword or reject several items as ``approve_many`` does; undone as one.

        Items that are left for later are left alone.
        """
        decisions, stale, refused = [], [], []
        bulk = uuid4().hex
        for verdict in verdicts:
            try:
                if verdict.decision is not SheetDecision.LATER:
                    act = partial(self._carry_out, verdict, person, bulk)
                    decisions.append(await self._in_turn(act))
            except ReviewChangedError as error:
                stale.append(error.review)
            except DomainError as error:
                refused.append((verdict.item_id, error.message))
        return BulkOutcome(tuple(decisions), tuple(stale), tuple(refused))

    async def _carry_out(self, verdict: SheetVerdict, person: Person, bulk: str) -> Decision:
        if verdict.decision is SheetDecision.REJECT:
            preview = await self._as_shown(verdict.item_id, verdict.shown)
            return await self._decide(
                preview, ApprovalStatus.REJECTED, person, reason=verdict.reason, bulk=bulk
            )
        preview = await self._approvable(verdict.item_id, verdict.shown)
        if preview.review.entry.kind in BY_ITSELF:
            raise DecisionRefusedError("this is approved by itself, not with others")
        if verdict.edit is not None:
            preview = await self._preview.edited(preview, verdict.edit)
        return await self._decide(preview, ApprovalStatus.APPROVED, person, bulk=bulk)

    async def snooze(self, item_id: str, until: datetime | None, person: Person) -> ApprovalItem:
        """Hide a pending item until the given time and return it; ``None`` shows it again now.

        Raises ``ApprovalNotFoundError``, and ``ApprovalConflictError`` when it isn't pending or the
        time is in the past.
        """
        return await self._base.queue.snooze(item_id, until, self._base.queue.rights.named(person))

    async def undo(self, person: Person) -> Decision | None:
        """Undo the last decision that can be undone; ``None`` when there is none.

        Where several people decide, that is the person's own last one. Approvals that were made in
        bulk are undone together. Raises ``ApprovalConflictError`` when a file that was written has
        been changed since, and ``DecisionRefusedError`` for what the person may not decide about.
        """
        rights = self._base.queue.rights
        undo = partial(self._runner.undo, rights.named(person), rights.own_actors())
        return await self._in_turn(undo)

    async def undoable(self) -> tuple[str, ...]:
        """Return the titles of the decisions that ``undo`` would undo, latest first."""
        return await self._runner.undoable(self._base.queue.rights.own_actors())

    async def retire(self, path: str, person: Person) -> Decision:
        """Retire a skill: remove its file and its memories, which an undo restores.

        Raises ``ApprovalNotFoundError`` when no active skill has this file, and
        ``SkillPathError`` when it isn't one that can be removed and written.
        """

        async def act() -> Decision:
            plan = await self._preview.retirement(path)
            return await self._of_skill(DecisionKind.RETIRED, plan, person)

        return await self._in_turn(act)

    async def restore_file(
        self, path: str, person: Person, *, only_if_gone: bool = False
    ) -> Decision:
        """Write a skill's approved text over its file on disk; an undo brings the file back.

        With ``only_if_gone`` any file that is there is left alone.

        Raises ``ApprovalNotFoundError`` when no active skill has this file,
        ``ApprovalConflictError`` when it has that text already or is to be left alone, and
        ``SkillPathError`` when it isn't one that can be removed and written.
        """

        async def act() -> Decision:
            plan = await self._preview.restoration(path, only_if_gone=only_if_gone)
            return await self._of_skill(DecisionKind.FILE_RESTORED, plan, person)

        return await self._in_turn(act)

    async def _of_skill(self, kind: DecisionKind, plan: CurationPlan, person: Person) -> Decision:
        """Carry out a decision about the one skill that a plan changes, rather than an item."""
        (skill,) = plan.changed
        person = self._base.queue.rights.named(person)
        about = DecisionSubject(skill.agent_id, skill.proposal.scope.value)
        self._base.queue.rights.require(person, about)
        return await self._runner.commit(plan, kind, skill.name, person)

    async def adopt_by_policy(self) -> tuple[Decision, ...]:
        """Approve without a person what the settings let be adopted, and return the decisions.

        Everything else keeps waiting.
        """
        if self._adoption is None:
            return ()
        decisions = []
        for item in await self._base.queue.list(
            status=ApprovalStatus.PENDING, action_type=LESSON_ACTION
        ):
            async with self._runner.turn():
                preview = await self._build(item.id)
                review = await self._preview.review(preview)
                if self._adoption.takes(review, await self._base.queue.events(item.id)):
                    try:
                        policy = self._adoption.policy
                        decisions.append(
                            await self._decide(preview, ApprovalStatus.APPROVED, policy)
                        )
                    except DomainError as error:
                        _log.warning("%r waits for a person: %s", item.title, error)
        return tuple(decisions)

    async def excerpt(self, evidence: Evidence, *, context: int = 0) -> Excerpt | None:
        """Return the transcript lines of an occurrence; ``None`` when they aren't stored.

        ``context`` is the number of lines to add before and after them.
        """
        from synthorg_tui.executions.models import SourceRef

        ref = SourceRef.parse(evidence.lines)
        return await self._executions.excerpt(ref, context=context) if ref else None

    async def _build(self, item_id: str) -> Preview:
        item = await self._base.queue.get(item_id)
        if item is None:
            raise ApprovalNotFoundError(f"there is no proposal {item_id}")
        return await self._preview.build(item)

    async def _as_shown(self, item_id: str, shown: str) -> Preview:
        preview = await self._build(item_id)
        self._base.queue.require_open(preview.review.entry.item)
        if preview.review.shown != shown:
            raise ReviewChangedError(await self._preview.review(preview))
        return preview

    async def _approvable(self, item_id: str, shown: str) -> Preview:
        preview = await self._as_shown(item_id, shown)
        if preview.review.problem:
            raise DecisionRefusedError(preview.review.problem)
        return preview

    async def _decide(
        self,
        preview: Preview,
        status: ApprovalStatus,
        person: Person | Policy,
        *,
        reason: str | None = None,
        bulk: str = "",
    ) -> Decision:
        """Approve or reject, unless a memory or fact was changed since it was shown."""
        entry, rights = preview.review.entry, self._base.queue.rights
        item = entry.item
        decider = rights.named(person) if isinstance(person, Person) else person
        is_approved = status is ApprovalStatus.APPROVED
        plan = preview.plan if is_approved else CurationPlan()
        act = entry.subject if is_approved and isinstance(entry.subject, AdminPayload) else None
        effects = Effects(
            payload_before=item.payload if preview.payload is not None else None,
            bulk=bulk,
            is_used_later=entry.kind is SubjectKind.RUN or act is not None,
            act=act,
        )

        def also(db: Connection, outcome: BundleOutcome) -> None:
            leaves = plan.bundle.remove or plan.bundle.archive
            if leaves and not same_memories(preview.review.replaces, outcome.removed):
                raise StaleReviewError("a memory has changed since it was shown")
            self._base.queue.decide_in(
                db,
                item.id,
                status=status,
                person=decider,
                reason=reason,
                payload_hash=payload_hash(item),
                payload=preview.payload,
                about=subject_of(entry, preview.payload),
            )
            if item.action_type == CONFLICT_ACTION and not is_approved:
                hold_both(db, paired(item), at=self._base.clock.now(), by=str(decider))

        kind = DecisionKind(status.value)
        try:
            return await self._runner.commit(
                plan, kind, item.title, decider, item_id=item.id, effects=effects, also=also
            )
        except StaleReviewError as error:
            raise ReviewChangedError(await self.review(item.id)) from error
        except OrgMemoryWriteError as error:
            review = await self.review(item.id)
            if review.shown == preview.review.shown:
                raise
            raise ReviewChangedError(review) from error

    async def _in_turn(self, act: Callable[[], Awaitable[_Taken]]) -> _Taken:
        """Have one decision worked out and taken; anew where another program was quicker."""
        for _ in range(_TRIES - 1):
            with suppress(OvertakenError):
                async with self._runner.turn():
                    return await act()
        async with self._runner.turn():
            return await act()

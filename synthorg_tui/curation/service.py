"""Where a person decides: what approving would do, doing it whole, and taking it back."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalItem,
    ApprovalNotFoundError,
    ApprovalStatus,
    DecisionRefusedError,
    RiskLevel,
    StaleReviewError,
)
from synthorg_tui.approvals.person import Person, Policy
from synthorg_tui.approvals.queue import ApprovalQueue, payload_hash
from synthorg_tui.approvals.scan import scan
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation import plan as adoption
from synthorg_tui.curation.decisions import Cause, DecisionRunner
from synthorg_tui.curation.models import (
    Author,
    Evidence,
    Lesson,
    ProceduralMemoryProposal,
    ProceduralMemoryScope,
)
from synthorg_tui.curation.plan import CurationPlan, edited_lesson, reworded_write, same_memories
from synthorg_tui.curation.preview import ApprovalPreview, Preview, SkillStore
from synthorg_tui.curation.registry import RegisteredSkill, SkillRegistry, SkillStatus, SkillVersion
from synthorg_tui.curation.review import (
    LESSON_ACTION,
    BulkOutcome,
    Decision,
    DecisionKind,
    InboxEntry,
    NearSkill,
    Review,
    ReviewChangedError,
    entry_of,
    texts_of,
)
from synthorg_tui.curation.similarity import near_skills
from synthorg_tui.curation.supersession import SupersessionVerdict
from synthorg_tui.executions.store import Excerpt, ExecutionStore
from synthorg_tui.memory.extensions import BundleOutcome
from synthorg_tui.skills.disk import IRREGULAR, FileState, skill_path
from synthorg_tui.skills.document import SkillPathError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_log = logging.getLogger(__name__)

POLICY: Final = Policy("memory.procedural.require_approval")


class ReviewService:
    """What waits for a decision, and the only way to take one.

    Everything a decision changes in the database is one transaction; its files follow and are
    finished after a crash. One decision is taken at a time.

    Args:
        queue: The items.
        ledger: The skills in force.
        decider: Carries decisions out.
        store: The memories.
        preparer: Works out what an approval does.
        executions: The evidence.
        require_approval: Off, harmless lessons of a single agent may be adopted without a person.
        clock: Decides what "now" is.
    """

    def __init__(
        self,
        *,
        queue: ApprovalQueue,
        ledger: SkillRegistry,
        decider: DecisionRunner,
        store: SkillStore,
        preparer: ApprovalPreview,
        executions: ExecutionStore,
        require_approval: bool,
        clock: Clock,
    ) -> None:
        self._queue = queue
        self._ledger = ledger
        self._decider = decider
        self._store = store
        self._preparer = preparer
        self._executions = executions
        self._require_approval = require_approval
        self._clock = clock
        self.deciding = asyncio.Lock()
        """Held while a decision is taken: what is on disk may be behind the ledger."""

    async def inbox(
        self,
        *,
        include_snoozed: bool = False,
        status: ApprovalStatus | None = ApprovalStatus.PENDING,
    ) -> tuple[InboxEntry, ...]:
        """The items of a status (``None`` is all), newest first."""
        items = await self._queue.list(status=status, snoozed=include_snoozed)
        return tuple(map(entry_of, items))

    async def review(self, item_id: str) -> Review:
        """All that approving the item would do; raises ``ApprovalNotFoundError``."""
        return await self._reviewed(await self._prepared(item_id))

    async def approve(
        self,
        item_id: str,
        *,
        shown: str,
        person: Person,
        edited: ProceduralMemoryProposal | str | None = None,
        authors: Mapping[str, Author] | None = None,
    ) -> Decision:
        """Let a proposal count.

        Args:
            item_id: Which item.
            shown: ``Review.shown`` of what the person read.
            person: Who decides.
            edited: What the person made of a lesson, which replaces no more than was shown, or
                of what an agent wrote.
            authors: Who wrote fields of ``edited``, where it wasn't the person.

        Raises:
            ApprovalNotFoundError: There is no such item.
            ReviewChangedError: It is no longer what was shown.
            ApprovalConflictError: It is decided or expired.
            DecisionRefusedError: It can't be approved, or not edited.
            MemoryStoreError: The agent may keep nothing more; nothing was changed.
            SkillWriteError: It counts, but its file can't be written yet.
        """
        async with self.deciding:
            prepared = await self._approvable(item_id, shown)
            if edited is None:
                return await self._approve(prepared, person)
            if isinstance(edited, str):
                write = reworded_write(prepared.entry, edited)
                changed = self._preparer.write(prepared.entry, write)
                return await self._approve(changed, person, payload=write.model_dump_json())
            lesson = edited_lesson(prepared.entry, edited, authors or {})
            at_most = frozenset(each.id for each in prepared.replaces)
            changed = await self._preparer.lesson(prepared.entry, lesson, at_most=at_most)
            return await self._approve(changed, person, payload=lesson.model_dump_json())

    async def reject(self, item_id: str, *, shown: str, reason: str, person: Person) -> Decision:
        """Turn a proposal down for good; raises like ``approve``."""
        async with self.deciding:
            prepared = await self._as_shown(item_id, shown)
            item = prepared.entry.item

            def decide(db: "Connection") -> None:
                self._queue.decide_in(
                    db,
                    item.id,
                    status=ApprovalStatus.REJECTED,
                    person=person,
                    reason=reason,
                    payload_hash=payload_hash(item),
                )

            cause = Cause(DecisionKind.REJECTED, item.title, item.id)
            return await self._committed(prepared, CurationPlan(), cause, person, decide)

    async def approve_many(
        self, reviewed: Iterable[tuple[str, str]], person: Person
    ) -> BulkOutcome:
        """Approve exactly these items, each if it is still what was shown under its id.

        What it approves is undone as one.
        """
        decisions, stale, refused = [], [], []
        bulk = uuid4().hex
        for item_id, shown in reviewed:
            try:
                async with self.deciding:
                    prepared = await self._approvable(item_id, shown)
                    decisions.append(await self._approve(prepared, person, bulk=bulk))
            except ReviewChangedError as error:
                stale.append(error.review)
            except DomainError as error:
                refused.append((item_id, error.message))
        return BulkOutcome(tuple(decisions), tuple(stale), tuple(refused))

    async def snooze(self, item_id: str, until: datetime | None, person: Person) -> ApprovalItem:
        """Put an item out of the way until then; ``None`` wakes it."""
        return await self._queue.snooze(item_id, until, person)

    async def undo(self, person: Person) -> Decision | None:
        """Take back the last decision that still stands, ``None`` when there is none.

        What was approved in bulk is taken back as one. Raises ``ApprovalConflictError`` when a
        file that was written has been changed since.
        """
        async with self.deciding:
            return await self._decider.undo(person)

    async def undoable(self) -> tuple[str, ...]:
        """Titles of what ``undo`` would take back."""
        return await self._decider.undoable()

    async def retire(self, path: str, person: Person) -> Decision:
        """Take a skill out of use: its file and its memories go, and can be brought back.

        Raises ``ApprovalNotFoundError`` when no skill that counts has this file, and
        ``SkillPathError`` when it isn't one that can be removed and written.
        """
        async with self.deciding:
            await self._decider.settle()
            record, state = await self._preparer.record_and_state(path)
            record = _counting(record, path, state)
            plan = adoption.leave_plan(
                record, state, status=SkillStatus.RETIRED, now=self._clock.now()
            )
            return await self._decider.commit(
                plan, Cause(DecisionKind.RETIRED, record.name), person
            )

    async def restore_file(self, path: str, person: Person) -> Decision:
        """Write the text in force over what is on disk.

        Raises ``ApprovalNotFoundError`` when no skill that counts has this file,
        ``ApprovalConflictError`` when it is as it should be, and ``SkillPathError`` when it
        isn't one that can be removed and written.
        """
        async with self.deciding:
            await self._decider.settle()
            record, state = await self._preparer.record_and_state(path)
            record = _counting(record, path, state)
            if state.sha256 == record.sha256:
                raise ApprovalConflictError(f"{path} is as it should be")
            content = await self._ledger.content(record.sha256)
            plan = adoption.restore_plan(record, state, content, now=self._clock.now())
            return await self._decider.commit(
                plan, Cause(DecisionKind.FILE_RESTORED, record.name), person
            )

    async def adopt_by_policy(self) -> tuple[Decision, ...]:
        """Approve what needs no person, when the settings say so.

        That is a lesson for its own agent that replaces and contradicts nothing, whose risk isn't
        high and in which nothing looks dangerous; everything else still waits.
        """
        if self._require_approval:
            return ()
        decisions = []
        for item in await self._queue.list(
            status=ApprovalStatus.PENDING, action_type=LESSON_ACTION
        ):
            async with self.deciding:
                prepared = await self._prepared(item.id)
                if _is_harmless(await self._reviewed(prepared)):
                    try:
                        decisions.append(await self._approve(prepared, POLICY))
                    except DomainError as error:
                        _log.warning("%r waits for a person: %s", item.title, error)
        return tuple(decisions)

    async def history(self, path: str) -> tuple[SkillVersion, ...]:
        """Every text that a skill's file had, newest first."""
        return await self._ledger.versions(path)

    async def excerpt(self, evidence: Evidence, *, context: int = 0) -> Excerpt | None:
        """The transcript lines of an occurrence, ``None`` when they aren't kept."""
        from synthorg_tui.executions.models import SourceRef

        ref = SourceRef.parse(evidence.lines)
        return await self._executions.excerpt(ref, context=context) if ref else None

    async def _prepared(self, item_id: str) -> Preview:
        item = await self._queue.get(item_id)
        if item is None:
            raise ApprovalNotFoundError(f"there is no proposal {item_id}")
        return await self._preparer.prepare(entry_of(item))

    async def _as_shown(self, item_id: str, shown: str) -> Preview:
        await self._decider.settle()
        prepared = await self._prepared(item_id)
        if prepared.shown != shown:
            raise ReviewChangedError(await self._reviewed(prepared))
        return prepared

    async def _approvable(self, item_id: str, shown: str) -> Preview:
        prepared = await self._as_shown(item_id, shown)
        if prepared.problem:
            raise DecisionRefusedError(prepared.problem)
        return prepared

    async def _reviewed(self, prepared: Preview) -> Review:
        return Review(
            entry=prepared.entry,
            shown=prepared.shown,
            path=prepared.path,
            text=prepared.text,
            diff=prepared.diff,
            flags=scan(_texts(prepared)),
            near=await self._near(prepared.entry),
            replaces=prepared.replaces,
            agents=prepared.agents,
            problem=prepared.problem,
        )

    async def _near(self, entry: InboxEntry) -> tuple[NearSkill, ...]:
        lesson = entry.subject
        if not isinstance(lesson, Lesson):
            return ()
        return await near_skills(self._store, lesson, await self._ledger.active())

    async def _approve(
        self,
        prepared: Preview,
        person: Person | Policy,
        *,
        payload: str | None = None,
        bulk: str = "",
    ) -> Decision:
        item = prepared.entry.item

        def decide(db: "Connection") -> None:
            self._queue.decide_in(
                db,
                item.id,
                status=ApprovalStatus.APPROVED,
                person=person,
                reason=None,
                payload_hash=payload_hash(item),
                payload=payload,
            )

        before = item.payload if payload is not None else None
        cause = Cause(DecisionKind.APPROVED, item.title, item.id, before, bulk)
        return await self._committed(prepared, prepared.plan, cause, person, decide)

    async def _committed(
        self,
        prepared: Preview,
        plan: CurationPlan,
        cause: Cause,
        person: Person | Policy,
        decide: "Callable[[Connection], None]",
    ) -> Decision:
        def also(db: "Connection", outcome: BundleOutcome) -> None:
            if plan.bundle.remove and not same_memories(prepared.replaces, outcome.removed):
                raise StaleReviewError("a memory has changed since it was shown")
            decide(db)

        try:
            return await self._decider.commit(plan, cause, person, also=also)
        except StaleReviewError as error:
            raise ReviewChangedError(await self.review(prepared.entry.item.id)) from error


def _texts(prepared: Preview) -> dict[str, str]:
    """What is scanned, by the name of its place; of a file the text as it is by now."""
    texts = texts_of(prepared.entry)
    return {**texts, "file": prepared.text} if "file" in texts else texts


def _is_harmless(review: Review) -> bool:
    """Whether a lesson may be adopted without a person."""
    lesson = review.entry.subject
    return (
        isinstance(lesson, Lesson)
        and not review.problem
        and lesson.proposal.scope is ProceduralMemoryScope.AGENT
        and not review.flags
        and review.item.risk_level in (RiskLevel.LOW, RiskLevel.MEDIUM)
        and not review.replaces
        and all(each.verdict != SupersessionVerdict.CONFLICT for each in review.near)
    )


def _counting(record: RegisteredSkill | None, path: str, state: FileState) -> RegisteredSkill:
    """The skill whose file may be touched."""
    if record is None or record.status is not SkillStatus.ACTIVE:
        raise ApprovalNotFoundError(f"no skill that counts has the file {path}")
    skill_path(Path(record.root), record.name)
    if state.sha256 == IRREGULAR:
        raise SkillPathError(f"{path} is no plain file of at most 1 MB", remedy="Move it away.")
    return record

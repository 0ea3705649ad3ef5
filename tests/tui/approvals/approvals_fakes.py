"""A queue in memory: what the Approvals pane is tested against.

It holds the engine's own objects. Some are made without validation, where a test needs a text
that the engine would never let through.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from synthorg_tui.approvals.models import (
    ApprovalEvent,
    ApprovalEventKind,
    ApprovalItem,
    ApprovalStatus,
    Flag,
    FlagKind,
    RiskLevel,
)
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.models import (
    Author,
    Evidence,
    FileChangeKind,
    FileChangePayload,
    Lesson,
    LessonKind,
    ProceduralMemoryProposal,
    ProceduralMemoryScope,
    PrunePayload,
)
from synthorg_tui.curation.review import (
    BulkOutcome,
    Decision,
    DecisionKind,
    InboxEntry,
    NearSkill,
    Review,
    ReviewChangedError,
    Subject,
    SubjectKind,
    WritePayload,
)
from synthorg_tui.curation.review_sheet import SheetDecision, SheetVerdict
from synthorg_tui.evaluation.models import SkillEvaluation
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.tui import app as app_module
from synthorg_tui.tui.approvals.adapter import EngineApprovals, Status
from synthorg_tui.tui.approvals.wording import Wording

app_module.COUNT_AFTER = 0.001

NOW = datetime(2026, 3, 14, 15, 9, tzinfo=UTC)
GROUNDED = Wording(
    "`git push` fails on a branch that has no upstream",
    "When `git push` says: The current branch feature/cart has no upstream branch.",
    "Run `git push -u origin HEAD`.",
    "It failed in 2 runs and worked each time with -u.",
    ("Run `git push -u origin HEAD`.", "Run `git status -sb` and look for the upstream."),
)
PROPOSED = replace(
    GROUNDED,
    discovery="Set the upstream with the first push of a new branch",
    rationale="A new branch has no upstream, so a bare push has nowhere to go.",
)
EVIDENCE = (
    Evidence(
        execution="claude-code:3f2a91c0",
        lines="claude-code:3f2a91c0#L10-L14",
        agent_id="claude-code",
        failed="git push",
        error="fatal: The current branch feature/cart has no upstream branch.\n"
        "To push the current branch and set the remote as upstream, use",
        resolved_by="git push -u origin HEAD",
        between=("git branch -vv",),
        at=NOW - timedelta(days=3),
        project="/home/ada/work/shop",
    ),
    Evidence(
        execution="codex:7be0442d",
        lines="codex:7be0442d#L31-L40",
        agent_id="codex",
        failed="git push",
        error="fatal: The current branch fix/tax has no upstream branch.",
        resolved_by="git push --set-upstream origin fix/tax",
        at=NOW - timedelta(days=1),
        project="shop",
    ),
)
DIFF: tuple[str, ...] = (
    "--- skills/set-upstream-first-push/SKILL.md",
    "+++ proposed",
    "@@ -1,6 +1,6 @@",
    " ---",
    ' name: "set-upstream-first-push"',
    '-description: "Use when git push fails."',
    '+description: "Use when git push fails on a branch that has no upstream."',
    " ---",
)
PATH = "/home/ada/.local/share/synthorg-tui/skills/set-upstream-first-push/SKILL.md"
WRITE_SHOWN = "3cdd2e02fd66"
"""The start of the hash of what an agent wants stored: all that a picture shows of it."""
LESSONS = (SubjectKind.LESSON, SubjectKind.PROMOTION, SubjectKind.CONFLICT)
_TITLES = (
    ("lesson", "Set the upstream with the first push of a new branch", "claude-code", "agent"),
    ("lesson", "Arm the timer before the mock clock is moved", "claude-code", "agent"),
    ("promotion", "Rebuild the index after every migration", "", "org"),
    ("file_change", "set-upstream-first-push was edited on disk", "", ""),
    ("prune", "7 lessons nobody used for 90 days", "", ""),
    ("conflict", "Two ways to reset the staging database", "codex", "org"),
)


def proposal_of(wording: Wording) -> ProceduralMemoryProposal:
    """A proposal that says so, whether the engine would take it or not."""
    return ProceduralMemoryProposal.model_construct(
        discovery=wording.discovery,
        condition=wording.condition,
        action=wording.action,
        rationale=wording.rationale,
        execution_steps=wording.steps,
        confidence=0.9,
    )


def lesson_of(
    proposed: Wording = PROPOSED,
    grounded: Wording = GROUNDED,
    agent_id: str = "claude-code",
    authors: Mapping[str, Author] | None = None,
) -> Lesson:
    """A lesson; the model worded discovery and rationale of it."""
    by_model = {"discovery": Author.MODEL, "rationale": Author.MODEL}
    return Lesson.model_construct(
        key="push",
        kind=LessonKind.FAILURE,
        agent_id=agent_id,
        task_id="task",
        proposal=proposal_of(proposed),
        grounded=proposal_of(grounded),
        authors=dict(by_model if authors is None else authors),
        evidence=EVIDENCE,
    )


def _subject(kind: SubjectKind, agent_id: str) -> Subject:
    if kind in LESSONS:
        return lesson_of(agent_id=agent_id)
    if kind is SubjectKind.FILE_CHANGE:
        return FileChangePayload(change=FileChangeKind.EDITED, name="set-upstream", path=PATH)
    return PrunePayload.model_construct(agent_id=agent_id, memory_ids=("x",))


def with_item(entry: InboxEntry, **changes: Any) -> InboxEntry:
    """Return the entry with fields of its item changed, without validation."""
    return replace(entry, item=entry.item.model_copy(update=changes))


def worded(entry: InboxEntry, wording: Wording) -> InboxEntry:
    """The entry with another wording proposed."""
    assert isinstance(entry.subject, Lesson)
    lesson = entry.subject.model_copy(update={"proposal": proposal_of(wording)})
    return replace(entry, subject=lesson)


def approval_rows(count: int) -> list[InboxEntry]:
    """Return ``count`` different items, newest first."""
    entries = []
    for at in range(count):
        name, title, agent_id, scope = _TITLES[at % len(_TITLES)]
        kind = SubjectKind(name)
        has_lesson = kind in LESSONS
        risk = RiskLevel.MEDIUM if has_lesson else RiskLevel.LOW
        item = ApprovalItem(
            id=f"{name}-{at:04d}",
            action_type="test",
            title=title + ("" if at < len(_TITLES) else f" (case {at})"),
            description=title,
            requested_by="capture",
            risk_level=RiskLevel.HIGH if kind is SubjectKind.CONFLICT else risk,
            created_at=NOW - timedelta(hours=2 + at * 7),
            expires_at=NOW + timedelta(days=80),
        )
        entries.append(
            InboxEntry(
                item,
                kind,
                _subject(kind, agent_id),
                scope=scope,
                confidence=round(0.92 - (at % 9) * 0.06, 2) if has_lesson else None,
                recurrence=2 - at % 2 if has_lesson else 0,
                evidence=EVIDENCE if has_lesson else (),
            )
        )
    return entries


def row_flags(entries: Sequence[InboxEntry]) -> dict[str, int]:
    """Every sixth of ``approval_rows`` has a flag."""
    return {entry.item.id: int(int(entry.item.id.rpartition("-")[2]) % 6 == 5) for entry in entries}


def written(
    text: str,
    *,
    category: Any = MemoryCategory.SEMANTIC,
    source: str = "agent:claude-code 2.1",
    project: str = "/home/ada/work/shop",
    tags: tuple[str, ...] = ("origin:agent",),
) -> InboxEntry:
    """A memory that an agent wants stored."""
    at = NOW - timedelta(minutes=4)
    request = MemoryStoreRequest.model_construct(
        category=category,
        content=text,
        metadata=MemoryMetadata.model_construct(source=source, tags=tags),
    )
    draft = MemoryDraft.model_construct(request=request, project=project, created_at=at)
    title = " ".join(text.split())[:120]
    item = ApprovalItem.model_construct(
        id="write-0000",
        action_type="agents:write",
        title=title,
        description=title,
        requested_by="agent claude-code",
        risk_level=RiskLevel.LOW,
        created_at=at,
        expires_at=NOW + timedelta(days=90),
    )
    payload = WritePayload.model_construct(agent_id="claude-code", draft=draft)
    return InboxEntry(item, SubjectKind.WRITE, payload)


def memory_of(content: str, memory_id: str = "mem") -> ListedMemory:
    """A memory that an approval would remove."""
    return ListedMemory(memory_id, "ada", MemoryCategory.SEMANTIC, content, NOW)


class FakeApprovals(EngineApprovals):
    """Items in a dict; ``rewrite`` and ``touch_file`` change them behind a review's back."""

    sheet_folder = Path("review")

    def __init__(
        self, rows: Sequence[InboxEntry] = (), flags: Mapping[str, int] | None = None
    ) -> None:
        self.rows = {entry.item.id: entry for entry in rows}
        self.flags = row_flags(rows) if flags is None else dict(flags)
        self.files = dict.fromkeys(self.rows, DIFF)
        self.decided: list[tuple[str, str, object]] = []
        self.error: DomainError | None = None
        self.gate: asyncio.Event | None = None
        self.counted = 0
        self.evaluations: tuple[SkillEvaluation, ...] = ()
        self.looked: list[tuple[str, bool]] = []
        self.scopes: list[str | None] = []
        self.reach: dict[ProceduralMemoryScope, tuple[str, ...]] = {}
        self.call_by = "bell"
        self.changed: Callable[[], None] = lambda: None

    @property
    def notify(self) -> str:
        return self.call_by

    def status(self, item_id: str) -> str:
        return self.rows[item_id].item.status

    def rewrite(self, item_id: str, discovery: str) -> None:
        entry = self.rows[item_id]
        assert isinstance(entry.subject, Lesson)
        wording = replace(Wording.of(entry.subject.proposal), discovery=discovery)
        self.rows[item_id] = worded(entry, wording)

    def touch_file(self, item_id: str, text: str) -> None:
        self.files[item_id] = (*DIFF, f"+{text}")

    def _shown(self, item_id: str) -> str:
        subject = self.rows[item_id].subject
        wording = Wording.of(subject.proposal) if isinstance(subject, Lesson) else PROPOSED
        text = repr((wording, self.files[item_id]))
        if isinstance(subject, WritePayload):
            digest = hashlib.sha256(repr(subject).encode("utf-8", "surrogatepass")).hexdigest()
            return WRITE_SHOWN + digest
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    async def pending(self) -> int:
        self.counted += 1
        items = [entry.item for entry in self.rows.values()]
        return sum(
            item.status is ApprovalStatus.PENDING
            and not (item.snoozed_until and item.snoozed_until > NOW)
            for item in items
        )

    async def inbox(self, status: Status = "pending") -> tuple[InboxEntry, ...]:
        if self.error is not None:
            raise self.error
        return tuple(entry for entry in self.rows.values() if entry.item.status == status)

    async def flag_counts(self, entries: Sequence[InboxEntry]) -> Mapping[str, int]:
        return self.flags

    async def review(self, item_id: str) -> Review:
        if item_id not in self.rows:
            raise DomainError(f"There is no item {item_id}.")
        return self.sheet(item_id)

    async def evaluation(self, item_id: str, *, anew: bool = False) -> tuple[SkillEvaluation, ...]:
        self.looked.append((item_id, anew))
        return self.evaluations

    async def trail(self, item_id: str) -> tuple[ApprovalEvent, ...]:
        item = self.rows[item_id].item
        added = ApprovalEventKind.ADDED
        return (ApprovalEvent(1, item_id, item.created_at, added, item.requested_by, "", ""),)

    def sheet(self, item_id: str) -> Review:
        """An item with everything a decision stands on."""
        entry = self.rows[item_id]
        is_write = entry.kind is SubjectKind.WRITE
        place = "content" if is_write else "rationale"
        flag = Flag(FlagKind.INJECTION, place, "ignore all previous instructions")
        verdict = "conflict" if entry.kind is SubjectKind.CONFLICT else "full"
        says = "Push with -u the first time"
        near = NearSkill("near", "push-with-upstream", says, 0.87, verdict)
        has_file = entry.kind in (*LESSONS, SubjectKind.FILE_CHANGE)
        unused = [memory_of(f"Lesson {at} that nobody used", f"mem-{at}") for at in range(7)]
        return Review(
            entry,
            self._shown(item_id),
            path=PATH if has_file else "",
            diff=self.files[item_id] if has_file else (),
            flags=(flag,) * self.flags.get(item_id, 0),
            near=(near,) if entry.kind in LESSONS else (),
            replaces=tuple(unused) if entry.kind is SubjectKind.PRUNE else (),
            reach=self.reach,
        )

    def _decide(
        self, item_id: str, shown: str, status: ApprovalStatus, what: object = None
    ) -> Decision:
        if shown != self._shown(item_id):
            raise ReviewChangedError(self.sheet(item_id))
        entry = self.rows[item_id]
        assert entry.item.status is ApprovalStatus.PENDING
        reason = what if status is ApprovalStatus.REJECTED else None
        self.rows[item_id] = with_item(
            entry, status=status, decided_at=NOW, decided_by="person (tui)", decision_reason=reason
        )
        self.decided.append((item_id, status.value, what))
        return Decision(len(self.decided), DecisionKind(status.value), entry.item.title, NOW)

    async def approve(
        self,
        item_id: str,
        shown: str,
        edited: ProceduralMemoryProposal | str | None = None,
        authors: Mapping[str, Author] | None = None,
        scope: str | None = None,
    ) -> Decision:
        self.scopes.append(scope)
        if self.gate is not None:
            await self.gate.wait()
        return self._decide(item_id, shown, ApprovalStatus.APPROVED, edited)

    async def approve_many(self, reviewed: Sequence[tuple[str, str]]) -> BulkOutcome:
        decisions, stale = [], []
        for item_id, shown in reviewed:
            try:
                decisions.append(await self.approve(item_id, shown))
            except ReviewChangedError as changed:
                stale.append(changed.review)
        return BulkOutcome(tuple(decisions), tuple(stale))

    async def decide(self, verdicts: Sequence[SheetVerdict]) -> BulkOutcome:
        decisions, stale = [], []
        for verdict in verdicts:
            key, edit = (verdict.item_id, verdict.shown), verdict.edit
            try:
                if verdict.decision is SheetDecision.APPROVE:
                    decisions.append(await self.approve(*key, edit.wording if edit else None))
                elif verdict.decision is SheetDecision.REJECT:
                    decisions.append(await self.reject(*key, verdict.reason))
            except ReviewChangedError as changed:
                stale.append(changed.review)
        return BulkOutcome(tuple(decisions), tuple(stale))

    async def reject(self, item_id: str, shown: str, reason: str) -> Decision:
        return self._decide(item_id, shown, ApprovalStatus.REJECTED, reason)

    async def snooze(self, item_id: str, until: datetime | None) -> None:
        self.rows[item_id] = with_item(self.rows[item_id], snoozed_until=until)

    def listen(self, changed: Callable[[], None]) -> None:
        self.changed = changed

    async def undo(self) -> Decision | None:
        if not self.decided:
            return None
        item_id, _, _ = self.decided.pop()
        entry = self.rows[item_id]
        self.rows[item_id] = with_item(
            entry, status=ApprovalStatus.PENDING, decided_at=None, decided_by=None
        )
        return Decision(9, DecisionKind.UNDONE, entry.item.title, NOW)

"""Forgets imported sessions: record, lines, and what was made of them, in one transaction.

A memory or a lesson that another session shows as well stays, without this session's evidence. What
memories leave in skills, proposals and files is for ``erasure``.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from synthorg_tui.approvals import rows
from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus
from synthorg_tui.approvals.rows import erase_in
from synthorg_tui.core.actors import Actor, ActorKind
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import counted
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.curation import journal, registry
from synthorg_tui.curation.base import CurationBase
from synthorg_tui.curation.erasure import NOTHING, Erased, Erasure, ErasureReview
from synthorg_tui.curation.inbox import lesson_of
from synthorg_tui.curation.models import Evidence, Lesson
from synthorg_tui.curation.registry import RegisteredSkill, SkillStatus
from synthorg_tui.executions.blame import Blame
from synthorg_tui.executions.conversation import Conversation
from synthorg_tui.executions.drawn import (
    DrawnMemory,
    Moving,
    detach_in,
    drawn_again,
    move_in,
    release_in,
    release_purged,
)
from synthorg_tui.executions.forgotten import AgedSessions, absorb_in, forget_in
from synthorg_tui.executions.models import SourceRef
from synthorg_tui.executions.sessions import SessionList, StoredSession, older_families
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.memory.extensions import MemoryBundle
from synthorg_tui.persistence.call_log import erase_from_calls
from synthorg_tui.persistence.port import Connection

_log = logging.getLogger(__name__)

AGE: Final = Actor(ActorKind.POLICY, "memory.storage.max_session_days")
"""Who deletes sessions by age."""


@dataclass(frozen=True, slots=True)
class SessionReview:
    """The effect of forgetting sessions; ``sessions`` includes those of their subagents.

    ``memories`` is the number of memories that are purged, ``lessons`` that of waiting proposals
    that are erased. Skills in ``supported`` stay, since other sessions show what they say.
    """

    sessions: tuple[StoredSession, ...] = ()
    memories: int = 0
    lessons: int = 0
    supported: tuple[str, ...] = ()
    erasure: ErasureReview = field(default_factory=ErasureReview)

    @property
    def told(self) -> tuple[str, ...]:
        """The review as sentences for a person, one line each."""
        lines = sum(session.lines for session in self.sessions)
        return (
            f"{counted(lines, 'stored line', 'stored lines')} of "
            f"{counted(len(self.sessions), 'session', 'sessions')} with their records",
            *([counted(self.memories, "memory", "memories")] if self.memories else []),
            *([counted(self.lessons, "proposal", "proposals")] if self.lessons else []),
            *self.erasure.told,
            *(f"Skill {name} stays: other sessions show it, too" for name in self.supported),
            *(["The text of skills that stay may quote the session"] if self.supported else []),
            *(
                f"The transcript's file isn't touched: {path}"
                for path in dict.fromkeys(session.path for session in self.sessions)
            ),
        )


@dataclass(frozen=True, slots=True)
class ForgottenSessions:
    """The result of forgetting: the ids of the sessions, and what a purge of memories erased."""

    sessions: tuple[str, ...]
    erased: Erased


@dataclass(frozen=True, slots=True)
class _ForgettingPlan:
    """Everything that is erased with some sessions; ``fewer`` lose evidence and stay."""

    sessions: tuple[StoredSession, ...]
    memory_ids: tuple[str, ...] = ()
    items: tuple[ApprovalItem, ...] = ()
    fewer: tuple[tuple[ApprovalItem, Lesson], ...] = ()
    skills: tuple[RegisteredSkill, ...] = ()
    known: tuple[DrawnMemory, ...] = ()
    keeps: bool = False
    texts: tuple[str, ...] = field(default=(), repr=False)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the sessions."""
        return tuple(session.id for session in self.sessions)


class SessionErasure:
    """Lists imported sessions and forgets them, which can't be undone.

    Args:
        base: The memories, the approved skills and the proposals.
        erasure: Purges memories with the skills and proposals made of them.
        sessions: The imported sessions.
        executions: Their records.
    """

    def __init__(
        self,
        base: CurationBase,
        erasure: Erasure,
        sessions: SessionList,
        executions: ExecutionStore,
    ) -> None:
        self._base = base
        self._erasure = erasure
        self._sessions = sessions
        self._executions = executions

    async def list(self) -> tuple[StoredSession, ...]:
        """Return all imported sessions, the latest first."""
        return await self._sessions.all()

    async def conversation(self, session_id: NotBlankStr) -> Conversation | None:
        """Return a session as a conversation; ``None`` when there is no such session."""
        return await self._sessions.conversation(session_id)

    async def blame(self, path: NotBlankStr, text: str | None = None) -> Blame:
        """Return the calls that changed the file at this absolute path.

        With ``text``, a line of it as it is now, the call that wrote that line comes first.
        """
        return await self._sessions.blame(path, text)

    async def aged(self) -> AgedSessions:
        """Return how many sessions were deleted by age, and when the last one was."""
        return await self._sessions.aged()

    async def memories_of(self, session_ids: Sequence[NotBlankStr]) -> tuple[str, ...]:
        """Return the ids of the memories drawn from these sessions, deleted ones too."""
        return await self._base.store.made_of(session_ids)

    async def review(
        self, session_ids: Sequence[NotBlankStr], *, keep_memories: bool = False
    ) -> SessionReview:
        """Return what forgetting these sessions would erase; changes nothing.

        Raises ``DomainError`` when there is no such session.
        """
        plan = await self._plan(session_ids, keep_memories=keep_memories)
        erasure = ErasureReview()
        if plan.memory_ids:
            erasure = (await self._erasure.review(plan.memory_ids)).without_lines
        return SessionReview(
            sessions=plan.sessions,
            memories=len(plan.memory_ids),
            lessons=sum(item.status is ApprovalStatus.PENDING for item in plan.items),
            supported=tuple(s.name for s in plan.skills if s.status is SkillStatus.ACTIVE),
            erasure=erasure,
        )

    async def purge(
        self, session_ids: Sequence[NotBlankStr], *, actor: str, keep_memories: bool = False
    ) -> ForgottenSessions:
        """Forget sessions with those of their subagents, and purge the memories drawn from them.

        With ``keep_memories`` these and the skills stay, without evidence. No later import brings a
        forgotten session back. Raises ``DomainError`` when there is no such session, and the errors
        of ``Erasure.purge``.
        """
        plan = await self._plan(session_ids, keep_memories=keep_memories)

        def also(db: Connection, number: int, at: datetime) -> None:
            _forget(db, plan, actor=actor, number=number, at=at)

        erased = await self._erasure.purge_with(plan.memory_ids, actor=actor, also=also)
        return ForgottenSessions(plan.ids, erased)

    async def absorb(self, into: NotBlankStr, absorbed: Mapping[str, Sequence[int]]) -> None:
        """Erase sessions that are parts of another one from now on, which draws what they did.

        ``absorbed`` has the number of each line of theirs in that one. What a person has changed or
        decided on stays, with its evidence there.
        """
        store, ids = self._base.store, tuple(absorbed)
        records = await self._base.registry.all()
        theirs = {memory_id for record in records for memory_id in record.memory_ids}
        drawn = await self._base.database.read(lambda db: drawn_again(db, ids))
        purge = tuple(memory_id for memory_id in drawn if memory_id not in theirs)
        items = await self._base.queue.list(snoozed=True)
        moving = partial(_moved, into, absorbed)

        def within(db: Connection, _: object) -> None:
            release_purged(db, purge)
            move_in(db, ids, moving)
            for record in records:
                if any(seen.execution in absorbed for seen in record.evidence):
                    evidence = _moved_evidence(record.evidence, into, moving)
                    registry.put(db, record.model_copy(update={"evidence": evidence}))
            for item in items:
                lesson = lesson_of(item)
                if lesson and any(seen.execution in absorbed for seen in lesson.evidence):
                    evidence = _moved_evidence(lesson.evidence, into, moving)
                    update = {"evidence": evidence, "task_id": evidence[0].execution}
                    payload = lesson.model_copy(update=update).model_dump_json()
                    rows.update(db, item.model_copy(update={"payload": payload}))
            absorb_in(db, ids)

        await store.change_together(MemoryBundle(purge=purge, erases=True), within, actor="import")

    async def delete_aged(self, days: int, now: datetime) -> int:
        """Delete the sessions that ended more than so many days ago, keeping what was made of them.

        Does so once a day at most. A session goes together with those of its subagents, when all
        are older; one that a waiting proposal names as evidence stays. Imports bring one back only
        when it went on. Returns how many were deleted; a failure is logged.
        """
        last = (await self._sessions.aged()).latest
        if last is not None and timedelta(0) <= now - last < timedelta(days=1):
            return 0
        old = older_families(await self._sessions.all(), now - timedelta(days=days))
        waiting = await self._base.queue.list(status=ApprovalStatus.PENDING, snoozed=True)
        lessons = (lesson for item in waiting if (lesson := lesson_of(item)) is not None)
        needed = {each.execution for lesson in lessons for each in lesson.evidence}
        ids = [each for family in old if needed.isdisjoint(family) for each in family]

        def also(db: Connection, _: int, at: datetime) -> None:
            forget_in(db, ids, at=at, by_age=True)

        try:
            if ids:
                await self._erasure.purge_with((), actor=str(AGE), also=also)
        except DomainError as error:
            _log.warning("sessions beyond their age stay: %s", error)
            return 0
        if ids:
            _log.info("deleted %s by age", counted(len(ids), "session"))
        return len(ids)

    async def _plan(self, session_ids: Sequence[str], *, keep_memories: bool) -> _ForgettingPlan:
        """Work out what is erased; reads only."""
        sessions = await self._sessions.with_parts(session_ids)
        ids = frozenset(session.id for session in sessions)
        missing = sorted(set(session_ids) - ids)
        if missing:
            raise DomainError(f"there is no session {missing[0]}")
        items, fewer = _lessons_of(await self._base.queue.list(snoozed=True), ids)
        skills = [
            s
            for s in await self._base.registry.all()
            if len(_left(s.evidence, ids)) < len(s.evidence)
        ]
        alone = [] if keep_memories else [s for s in skills if not _left(s.evidence, ids)]
        supported = [skill for skill in skills if skill not in alone]
        made = set() if keep_memories else set(await self._base.store.made_of(sorted(ids)))
        made |= {memory_id for skill in alone for memory_id in skill.memory_ids}
        whole = [
            SourceRef(execution_id=session.id, first_line=1, last_line=session.lines or 1)
            for session in sessions
        ]
        known = () if keep_memories else await self._base.store.known_from(whole)
        made |= {each.memory_id for each in known}
        made -= {memory_id for skill in supported for memory_id in skill.memory_ids}
        return _ForgettingPlan(
            sessions=sessions,
            memory_ids=tuple(sorted(made)),
            items=tuple(items),
            fewer=tuple(fewer),
            skills=tuple(supported),
            known=known,
            keeps=keep_memories,
            texts=await self._texts(ids),
        )

    async def _texts(self, ids: Collection[str]) -> tuple[str, ...]:
        """What was said in the sessions, to be looked for in the record of agents' calls."""
        texts: dict[str, None] = {}
        for session_id in sorted(ids):
            execution = await self._executions.get(session_id)
            if execution is not None:
                texts |= dict.fromkeys(turn.text for turn in execution.turns)
                texts[execution.task] = None
        return tuple(texts)


def _forget(
    db: Connection, plan: _ForgettingPlan, *, actor: str, number: int, at: datetime
) -> None:
    """Carry the plan out, within the transaction that purges the memories."""
    if plan.keeps:
        detach_in(db, plan.ids)
    release_in(db, plan.known)
    forget_in(db, plan.ids, at=at)
    for item in plan.items:
        erase_in(db, item.id, actor=actor, at=at)
    for item, lesson in plan.fewer:
        left = (item.description, lesson.model_dump_json())
        erase_in(db, item.id, actor=actor, at=at, left=left)
    for skill in plan.skills:
        present = registry.find(db, skill.path)
        if present is not None:
            evidence = _left(present.evidence, frozenset(plan.ids))
            registry.put(db, present.model_copy(update={"evidence": evidence}))
    for operation in journal.every(db):
        stored = operation.effects.model_dump_json()
        if any(session_id in stored for session_id in plan.ids):
            journal.trim_in(db, operation, effects=NOTHING, title=operation.title, by=number)
    erase_from_calls(db, [], plan.texts)


def _lessons_of(
    items: Sequence[ApprovalItem], ids: frozenset[str]
) -> tuple[list[ApprovalItem], list[tuple[ApprovalItem, Lesson]]]:
    """The proposals that these sessions alone show, and the others without their evidence."""
    alone, fewer = [], []
    for item in items:
        lesson = lesson_of(item)
        if lesson is None or not any(each.execution in ids for each in lesson.evidence):
            continue
        left = _left(lesson.evidence, ids)
        if left:
            task_id = left[0].execution if lesson.task_id in ids else lesson.task_id
            update = {"evidence": left, "task_id": task_id}
            fewer.append((item, lesson.model_copy(update=update)))
        else:
            alone.append(item)
    return alone, fewer


def _left(evidence: Sequence[Evidence], ids: frozenset[str]) -> tuple[Evidence, ...]:
    return tuple(each for each in evidence if each.execution not in ids)


def _moved(into: str, absorbed: Mapping[str, Sequence[int]], source: str) -> str:
    """Where the lines that a source names stand in the session that has them now."""
    ref = SourceRef.parse(source)
    lines = absorbed.get(ref.execution_id) if ref else None
    if ref is None or lines is None:
        return source
    found = [number for number in lines[ref.first_line - 1 : ref.last_line] if number] or [1]
    return str(SourceRef(execution_id=into, first_line=min(found), last_line=max(found)))


def _moved_evidence(
    evidence: Sequence[Evidence], into: str, moving: Moving
) -> tuple[Evidence, ...]:
    """The evidence where it stands now, each occurrence once."""
    moved: dict[str, Evidence] = {}
    for seen in evidence:
        lines = moving(seen.lines)
        if lines != seen.lines:
            seen = seen.model_copy(update={"execution": into, "lines": lines})
        moved.setdefault(lines, seen)
    return tuple(moved.values())

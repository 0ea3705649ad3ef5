"""Forgets imported sessions: record, lines, and what was made of them, in one transaction.

A memory or a lesson that another session shows as well stays, without this session's evidence. What
memories leave in skills, proposals and files is for ``erasure``.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

from synthorg_tui.approvals import rows
from synthorg_tui.approvals.models import ApprovalEventKind, ApprovalItem, ApprovalStatus
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
    detach_in,
    drawn_again,
    move_in,
    release_in,
    release_purged,
    sources_in,
)
from synthorg_tui.executions.events import events_of
from synthorg_tui.executions.forgotten import (
    AgedSessions,
    absorb_in,
    forget_events_in,
    forget_ids_in,
    forget_in,
)
from synthorg_tui.executions.models import Execution, SourceRef, under_id
from synthorg_tui.executions.sessions import SessionList, StoredSession, older_families
from synthorg_tui.executions.store import Branch, ExecutionStore, replace_in, unlearn_in
from synthorg_tui.memory.extensions import MemoryBundle, MemoryDraft
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


Redraw = Callable[[], Awaitable[object]]
Placing = Callable[[str], str]
"""Returns where the lines that a source names stand from now on; empty when they go."""


class Drawing(NamedTuple):
    """How a session is read anew from its redacted lines, and what memories are drawn from one."""

    read_again: Callable[[Execution, Sequence[str]], Execution]
    drafts: Callable[[Execution], Sequence[MemoryDraft]]


@dataclass(frozen=True, slots=True)
class _Remainder:
    """What other files of a session hold of it, once some of them are forgotten.

    ``moved`` are the present numbers of its lines, 0 of those that only the forgotten files had;
    ``lost`` are the events of these.
    """

    execution: Execution
    lines: tuple[str, ...]
    branches: tuple[Branch, ...]
    moved: tuple[int, ...]
    lost: frozenset[int]

    def place(self, source: str) -> str:
        """Where the lines of a source stand now; empty when one of its ends is gone."""
        ref = SourceRef.parse(source)
        if ref is None or ref.last_line > len(self.moved):
            return ""
        first, last = self.moved[ref.first_line - 1], self.moved[ref.last_line - 1]
        return str(self.execution.ref(first, last)) if first and last else ""


@dataclass(frozen=True, slots=True)
class _ForgettingPlan:
    """Everything that is erased with some sessions; ``fewer`` lose evidence and stay.

    ``sessions`` with ``gone`` are erased; of those with ``left`` other files stay. ``released`` are
    memories that what is left draws anew, ``sources`` where others have theirs from now on.
    """

    sessions: tuple[StoredSession, ...]
    gone: frozenset[str] = frozenset()
    left: Mapping[str, _Remainder] = field(default_factory=dict)
    released: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
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

    @property
    def purged(self) -> tuple[str, ...]:
        """The memories to purge, also those that are drawn anew."""
        return (*self.memory_ids, *self.released)


class SessionErasure:
    """Lists imported sessions and forgets them, which can't be undone.

    Args:
        base: The memories, the approved skills and the proposals.
        erasure: Purges memories with the skills and proposals made of them.
        sessions: The imported sessions.
        executions: Their records.
        drawing: Reads what is left of a session, and draws memories from one.
    """

    def __init__(
        self,
        base: CurationBase,
        erasure: Erasure,
        sessions: SessionList,
        executions: ExecutionStore,
        drawing: Drawing,
    ) -> None:
        self._base = base
        self._erasure = erasure
        self._sessions = sessions
        self._executions = executions
        self._drawing = drawing
        self.redraw: Redraw = executions.unlearnt
        """Draws memories and lessons from what is left of sessions, now rather than at the next
        import; whoever can do so sets it."""

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

        erased = await self._erasure.purge_with(plan.purged, actor=actor, also=also)
        if plan.left:
            await self.redraw()
            erased = replace(erased, memories=erased.memories - len(plan.released))
        return ForgottenSessions(plan.ids, erased)

    async def absorb(
        self,
        into: NotBlankStr,
        absorbed: Mapping[str, Sequence[int]],
        keys: Collection[str | None],
        put: Callable[[Connection], None],
    ) -> None:
        """Erase sessions that are parts of the one that ``put`` stores, which draws what they did.

        ``absorbed`` has the number of each line of theirs in that one, ``keys`` are those of the
        memories that it draws. What a person has changed or decided on stays, with its evidence
        there; a proposal that nobody looked into waits to be drawn anew.
        """
        ids = tuple(absorbed)
        records = await self._base.registry.all()
        drawn = await self._drawn_again(ids, records)
        items = await self._base.queue.list(snoozed=True)
        sources = await self._base.database.read(lambda db: sources_in(db, ids))
        purge = tuple(x.memory_id for x in sources if x.memory_id in drawn and x.key not in keys)
        place = partial(_moved, into, absorbed)
        now = self._base.clock.now()

        def within(db: Connection, _: object) -> None:
            release_purged(db, purge)
            move_in(db, {each.memory_id: place(each.source) for each in sources})
            for record in records:
                evidence = _left(record.evidence, place)
                if evidence != record.evidence:
                    registry.put(db, record.model_copy(update={"evidence": evidence}))
            absorb_in(db, ids)
            put(db)
            for item in items:
                _take_along(db, item, {into, *ids}, place, now)

        bundle = MemoryBundle(purge=purge, erases=bool(purge))
        await self._base.store.change_together(bundle, within, actor="import")

    async def _drawn_again(
        self, ids: Sequence[str], records: Sequence[RegisteredSkill]
    ) -> tuple[str, ...]:
        """The memories that these sessions draw and nobody has a hand in."""
        drawn = await self._base.database.read(lambda db: drawn_again(db, ids))
        taken = {memory_id for record in records for memory_id in record.memory_ids}
        return tuple(memory_id for memory_id in drawn if memory_id not in taken)

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
        sessions = await self._with_parts(session_ids)
        left, gone = await self._fates(sessions)
        place = partial(_place, gone, left)
        alone_in, fewer = _lessons_of(await self._base.queue.list(snoozed=True), place)
        records = await self._base.registry.all()
        skills = [s for s in records if _left(s.evidence, place) != s.evidence]
        alone = [] if keep_memories else [s for s in skills if not _left(s.evidence, place)]
        supported = tuple(skill for skill in skills if skill not in alone)
        released = () if keep_memories else await self._drawn_again(tuple(left), records)
        sources = await self._base.database.read(lambda db: sources_in(db, [*gone, *left]))
        store = self._base.store
        places = {each.memory_id: place(each.source) for each in sources}
        lost = [each for each in sources if not places[each.memory_id]]
        said = {each.key: each.memory_id for each in lost if "|said:" in each.key}
        places |= await self._said_by_others(said, {*gone, *left}, left.values())
        made = {each.memory_id for each in lost} | set(await store.made_of(sorted(gone)))
        made = set() if keep_memories else made - set(released)
        made |= {memory_id for skill in alone for memory_id in skill.memory_ids}
        made -= {memory_id for memory_id, source in places.items() if source}
        refs = [ref for id_ in (*gone, *left) for ref in await self._gone_from(id_, left.get(id_))]
        known = () if keep_memories else await store.known_from(refs)
        made |= {each.memory_id for each in known}
        made -= {memory_id for skill in supported for memory_id in skill.memory_ids}
        return _ForgettingPlan(
            sessions=sessions,
            gone=gone,
            left=left,
            released=tuple(memory_id for memory_id in released if memory_id not in made),
            sources={memory_id: source for memory_id, source in places.items() if source},
            memory_ids=tuple(sorted(made)),
            items=tuple(alone_in),
            fewer=tuple(fewer),
            skills=supported,
            known=known,
            keeps=keep_memories,
            texts=await self._texts(refs),
        )

    async def _with_parts(self, session_ids: Sequence[str]) -> tuple[StoredSession, ...]:
        sessions = await self._sessions.with_parts(session_ids)
        missing = sorted(set(session_ids) - {session.id for session in sessions})
        if missing:
            raise DomainError(f"there is no session {missing[0]}")
        return sessions

    async def _fates(
        self, sessions: Sequence[StoredSession]
    ) -> tuple[dict[str, _Remainder], frozenset[str]]:
        """What is left of the stored sessions that these are files of, and which go as a whole."""
        wanted = frozenset(session.id for session in sessions)
        homes = dict.fromkeys(session.branch_of or session.id for session in sessions)
        found = {home: await self._remainder(home, wanted) for home in homes}
        left = {home: rest for home, rest in found.items() if rest is not None}
        return left, frozenset(homes) - left.keys()

    async def _remainder(self, home: str, wanted: Collection[str]) -> _Remainder | None:
        """What files that aren't forgotten hold of a stored session; ``None`` for nothing."""
        branches = await self._executions.branches(home)
        staying = [each for each in branches if each.id not in wanted]
        execution = await self._executions.get(home)
        if not staying or execution is None:
            return None
        first = next(
            (b for b in staying if b.id == home),
            max(staying, key=lambda b: len(b.numbers)),
        )
        lines = await self._executions.lines(home)
        kept = sorted(frozenset().union(*(each.numbers for each in staying)))
        present = {number: place for place, number in enumerate(kept, 1)}
        read = await asyncio.to_thread(
            self._drawing.read_again,
            under_id(execution, first.id, first.path),
            [lines[number - 1] for number in kept],
        )
        moved = tuple(present.get(number, 0) for number in range(1, len(lines) + 1))
        renumbered = [
            replace(each, numbers=frozenset(present[number] for number in each.numbers))
            for each in (first, *(each for each in staying if each is not first))
        ]
        lost = events_of(execution).keys - events_of(read).keys
        kept_lines = tuple(lines[number - 1] for number in kept)
        return _Remainder(read, kept_lines, tuple(renumbered), moved, lost)

    async def _gone_from(self, home: str, rest: _Remainder | None) -> Sequence[SourceRef]:
        """The lines of a stored session that are erased."""
        execution = await self._executions.get(home)
        if execution is None:
            return []
        if rest is None:
            return [execution.ref(1, execution.line_count or 1)]
        lost = [number for number, place in enumerate(rest.moved, 1) if not place]
        return [execution.ref(number, number) for number in lost]

    async def _said_by_others(
        self, wanted: Mapping[str, str], gone: Collection[str], left: Iterable[_Remainder]
    ) -> dict[str, str]:
        """Where other sessions say what people said in those that go, by the memories' ids."""
        found: dict[str, str] = {}
        others = (s.id for s in await self._sessions.all() if not s.branch_of and s.id not in gone)
        waiting: Sequence[Execution | str] = [*(rest.execution for rest in left), *others]
        for each in waiting:
            if len(found) == len(wanted):
                break
            execution = await self._executions.get(each) if isinstance(each, str) else each
            drafts = await asyncio.to_thread(self._drawing.drafts, execution) if execution else ()
            for draft in drafts:
                if memory_id := wanted.get(draft.key or ""):
                    found.setdefault(memory_id, draft.request.metadata.source or "")
        return found

    async def _texts(self, refs: Sequence[SourceRef]) -> tuple[str, ...]:
        """What was said on these lines, to be looked for in the record of agents' calls."""
        texts: dict[str, None] = {}
        for id_ in dict.fromkeys(ref.execution_id for ref in refs):
            execution = await self._executions.get(id_)
            spans = [(ref.first_line, ref.last_line) for ref in refs if ref.execution_id == id_]
            if execution is not None:
                said = [t for t in execution.turns if any(a <= t.first_line <= b for a, b in spans)]
                texts |= dict.fromkeys(turn.text for turn in said)
                if not execution.turns or execution.turns[0] in said:
                    texts[execution.task] = None
        return tuple(texts)


def _forget(
    db: Connection, plan: _ForgettingPlan, *, actor: str, number: int, at: datetime
) -> None:
    """Carry the plan out, within the transaction that purges the memories."""
    gone = sorted(plan.gone)
    if plan.keeps:
        detach_in(db, gone)
    release_in(db, plan.known)
    release_purged(db, plan.released)
    move_in(db, plan.sources)
    for home, rest in plan.left.items():
        forget_events_in(db, rest.lost)
        replace_in(db, home, rest.execution, rest.lines, rest.branches, rest.moved)
    forget_in(db, gone, at=at)
    forget_ids_in(db, set(plan.ids) - plan.gone, at=at)
    for item in plan.items:
        erase_in(db, item.id, actor=actor, at=at)
    for item, lesson in plan.fewer:
        left = (item.description, lesson.model_dump_json())
        erase_in(db, item.id, actor=actor, at=at, left=left)
    for skill in plan.skills:
        present = registry.find(db, skill.path)
        if present is not None:
            evidence = _left(present.evidence, partial(_place, plan.gone, plan.left))
            registry.put(db, present.model_copy(update={"evidence": evidence}))
    for operation in journal.every(db):
        stored = operation.effects.model_dump_json()
        if any(session_id in stored for session_id in plan.ids):
            journal.trim_in(db, operation, effects=NOTHING, title=operation.title, by=number)
    erase_from_calls(db, [], plan.texts)


def _take_along(
    db: Connection, item: ApprovalItem, ids: Collection[str], place: Placing, now: datetime
) -> None:
    """Have a lesson name its evidence where it stands now, or take it back to be drawn anew."""
    lesson = lesson_of(item)
    seen = {each.execution for each in lesson.evidence} if lesson is not None else set()
    if lesson is None or seen.isdisjoint(ids):
        return
    is_open = item.status is ApprovalStatus.PENDING and item.snoozed_until is None
    evidence = () if is_open else _left(lesson.evidence, place)
    payload = lesson.model_copy(update={"evidence": evidence}).model_dump_json()
    status = ApprovalStatus.EXPIRED if is_open else item.status
    item = item.model_copy(update={"payload": payload, "status": status})
    rows.update(db, item)
    if is_open:
        rows.append_event(db, item, ApprovalEventKind.EXPIRED, at=now, actor="import")
        unlearn_in(db, seen)


def _lessons_of(
    items: Sequence[ApprovalItem], place: Placing
) -> tuple[list[ApprovalItem], list[tuple[ApprovalItem, Lesson]]]:
    """The proposals of which no evidence is left, and those of which less is, or elsewhere."""
    alone, fewer = [], []
    for item in items:
        lesson = lesson_of(item)
        left = _left(lesson.evidence, place) if lesson is not None else ()
        if lesson is None or left == lesson.evidence:
            continue
        if left:
            kept = {seen.execution for seen in left}
            task_id = lesson.task_id if lesson.task_id in kept else left[0].execution
            update = {"evidence": left, "task_id": task_id}
            fewer.append((item, lesson.model_copy(update=update)))
        else:
            alone.append(item)
    return alone, fewer


def _left(evidence: Sequence[Evidence], place: Placing) -> tuple[Evidence, ...]:
    """The evidence that is left where it stands now, each occurrence once."""
    found: dict[str, Evidence] = {}
    for seen in evidence:
        lines = place(seen.lines)
        if lines and lines != seen.lines:
            ref = SourceRef.parse(lines)
            execution = ref.execution_id if ref else seen.execution
            seen = seen.model_copy(update={"execution": execution, "lines": lines})
        if lines:
            found.setdefault(lines, seen)
    return tuple(found.values())


def _place(gone: Collection[str], left: Mapping[str, _Remainder], source: str) -> str:
    """Where a source stands once sessions are forgotten; empty when it goes."""
    execution = source.partition("#")[0]
    if execution in gone:
        return ""
    return left[execution].place(source) if execution in left else source


def _moved(into: str, absorbed: Mapping[str, Sequence[int]], source: str) -> str:
    """Where the lines that a source names stand in the session that has them now."""
    ref = SourceRef.parse(source)
    lines = absorbed.get(ref.execution_id) if ref else None
    if ref is None or lines is None:
        return source
    found = [number for number in lines[ref.first_line - 1 : ref.last_line] if number] or [1]
    return str(SourceRef(execution_id=into, first_line=min(found), last_line=max(found)))

"""A desk in memory with a fixed clock: what the screens are tested against."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn, cast

from synthorg_tui.approvals.trail import TrailEntry
from synthorg_tui.core.enums import CallOutcome, MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.ingest.discovery import FoundTranscripts
from synthorg_tui.ingest.service import ImportProgress, ImportReport
from synthorg_tui.jobs.models import RunProgress
from synthorg_tui.memory.listing import (
    BrowseFilter,
    ChangeKind,
    Facets,
    FoundMemories,
    ListedMemory,
    MemoryPage,
    MemoryRevision,
    MemoryUse,
    SortOrder,
    UndoneAct,
)
from synthorg_tui.settings.safety import Loosened
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.filters import matches
from synthorg_tui.tui.engine_adapter import Change, Draft, EngineAdapter, MemoryReader
from synthorg_tui.tui.engine_host import LocalEngineHost
from synthorg_tui.tui.manage.adapter import StoreManagement
from synthorg_tui.tui.safety import EngineSafety, News
from tests.tui.activity.activity_fakes import FakeActivity
from tests.tui.approvals.approvals_fakes import FakeApprovals
from tests.tui.digest.digest_fakes import FakeDigests
from tests.tui.organisation.organisation_fakes import FakeOrganisation
from tests.tui.sessions.sessions_fakes import FakeSessions, sessions
from tests.tui.skills.skills_fakes import FakeSkills

NOW = datetime(2026, 3, 14, 15, 9, tzinfo=UTC)

_SAMPLES = (
    (
        MemoryCategory.EPISODIC,
        "claude-code",
        "Fixed the flaky checkout test: the mock clock was advanced before the timer was armed.\n\n"
        "The failing call was `pytest tests/test_checkout.py -x`; it passed after moving\n"
        "`clock.advance(5)` below `timer.start()`.",
        ("testing", "clock"),
    ),
    (
        MemoryCategory.PROCEDURAL,
        "codex",
        "Pushing a branch with no upstream fails; `git push -u origin HEAD` sets it.",
        ("git", "push"),
    ),
    (
        MemoryCategory.SEMANTIC,
        "claude-code",
        "The staging database is read-only on weekends.",
        ("database",),
    ),
    (
        MemoryCategory.SOCIAL,
        "reviewer",
        "Prefers small pull requests with the test in the same commit.",
        ("review",),
    ),
    (
        MemoryCategory.WORKING,
        "codex",
        "Migration 0042 is half done: the index still has to be rebuilt.",
        (),
    ),
    (
        MemoryCategory.EPISODIC,
        "codex",
        "Upgraded the HTTP client; the timeout option moved from the session to the request.",
        ("http", "upgrade"),
    ),
)


def rows(count: int) -> list[ListedMemory]:
    """Return ``count`` different memories, newest first."""
    made = []
    for at in range(count):
        category, agent, content, tags = _SAMPLES[at % len(_SAMPLES)]
        suffix = "" if at < len(_SAMPLES) else f" (case {at})"
        made.append(
            ListedMemory(
                id=f"mem-{at:05d}",
                agent_id=agent,
                category=category,
                content=content + suffix,
                created_at=NOW - timedelta(minutes=7 + at * 97),
                tags=tags,
                source=f"claude-code:3f2a91c0#L{at + 10}-L{at + 14}",
                confidence=0.9 if category is MemoryCategory.EPISODIC else 0.7,
            )
        )
    return made


def in_sessions(count: int) -> list[ListedMemory]:
    """Return memories as imports make them: four of each session, two sessions a day."""
    kinds = ("commit", "recovery", "task", "session")
    return [
        replace(
            row,
            content=f"memory {at}. " + "What the agent did in it, in words that tell rows apart",
            tags=(kinds[at % 4], "git"),
            project=f"/home/ada/project-{at // 8 % 5}",
            session_id=f"s{at // 4}",
            agent_id=("codex", "claude-code")[at // 4 % 2],
            created_at=NOW - timedelta(days=at // 8, minutes=at % 8),
        )
        for at, row in enumerate(rows(count))
    ]


def edit_of(
    memory_id: str, actor: str, before: dict[str, object], after: dict[str, object]
) -> MemoryRevision:
    """An entry of a history."""
    return MemoryRevision(2, memory_id, NOW, actor, ChangeKind.EDITED, before, after)


class FakeSafety(EngineSafety):
    """Says what a test wants said at the opening; by default nothing."""

    def __init__(self) -> None:
        self.shown: tuple[str, ...] = ()
        self.off = ""
        self.asked: tuple[Loosened, ...] = ()
        self.taken: list[Loosened] = []
        self.new = News()
        self.told_up_to = 0
        self.entries: tuple[TrailEntry, ...] = ()

    async def badges(self) -> tuple[str, ...]:
        return self.shown

    def switched_off(self) -> str:
        return self.off

    async def loosened(self) -> tuple[Loosened, ...]:
        return self.asked

    async def take(self, accepted: tuple[Loosened, ...]) -> None:
        self.taken.extend(accepted)

    def where(self) -> str:
        return "/home/ada/.config/synthorg-tui/company.yaml"

    async def news(self) -> News:
        return self.new

    async def told(self, last: int) -> None:
        self.told_up_to = last

    async def trail(self) -> tuple[TrailEntry, ...]:
        return self.entries


class FakeDesk(EngineAdapter):
    """Holds memories in a list; answers wait until the event ``gate`` is set."""

    known_agents = 15

    def __init__(self, live: Sequence[ListedMemory]) -> None:
        self.live = {row.id: row for row in live}
        self.gone: dict[str, ListedMemory] = {}
        self.revisions: dict[str, list[MemoryRevision]] = {}
        self.places: tuple[FoundTranscripts, ...] = (
            FoundTranscripts("claude_code", Path("/home/ada/.claude/projects"), 48, 73_400_000),
            FoundTranscripts("codex", Path("/home/ada/.codex/sessions"), 12, 9_120_000),
        )
        self.skipped: tuple[tuple[str, str], ...] = ()
        self.degraded = ""
        self.erased_with: tuple[str, ...] = ()
        self.sources: tuple[str, ...] = ()
        self.blanked = False
        self.error: DomainError | None = None
        self.acts: list[tuple[UndoneAct, dict[str, ListedMemory], dict[str, ListedMemory]]] = []
        self.undone = list(self.acts)
        self.near: tuple[ListedMemory, ...] = ()
        self.standing: dict[str, ListedMemory] = {}
        self.given: dict[str, tuple[MemoryUse, ...]] = {}
        self.search_gate: dict[str, asyncio.Event] = {}
        self.import_gate: asyncio.Event | None = None
        self.restore_gate: asyncio.Event | None = None
        self.imported: list[str] = []
        self.opened: list[tuple[str, str]] = []
        self.digests: FakeDigests = FakeDigests(lambda: self.live.values())
        self.approvals: FakeApprovals = FakeApprovals()
        self.skills: FakeSkills = FakeSkills()
        self.activity: FakeActivity = FakeActivity()
        self.sessions: FakeSessions = FakeSessions(sessions(5))
        self.organisation: FakeOrganisation = FakeOrganisation()
        self.safety: FakeSafety = FakeSafety()

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    async def browse(
        self, what: BrowseFilter, *, sort: SortOrder, offset: int, limit: int
    ) -> MemoryPage:
        self._check()
        pool = self.gone if what.deleted else self.live
        found = [row for row in pool.values() if matches(replace(what, deleted=False), row)]
        found.sort(key=lambda row: (row.created_at, row.id), reverse=sort != "oldest")
        if sort in ("agent", "category"):
            found.sort(key=lambda row: row.agent_id if sort == "agent" else row.category.value)
        return MemoryPage(tuple(found[offset : offset + limit]), offset, len(found))

    async def note_opened(self, query: str, memory_id: str) -> None:
        self.opened.append((query, memory_id))

    async def search(self, text: str, what: BrowseFilter, *, limit: int) -> FoundMemories:
        if gate := self.search_gate.get(text):
            await gate.wait()
        words = text.lower().split()
        scored = []
        for row in self.live.values():
            hits = sum(word in row.content.lower() for word in words)
            if hits and matches(replace(what, words=()), row):
                share = hits / len(words)
                scored.append(
                    replace(row, dense=share * 0.8, sparse=share * 9.3, fused=round(share, 2))
                )
        scored.sort(key=lambda row: -(row.fused or 0))
        return FoundMemories(tuple(scored[:limit]), self.degraded)

    async def facets(self, what: BrowseFilter | None = None) -> Facets:
        self._check()
        rows = [row for row in self.live.values() if matches(what or BrowseFilter(), row)]
        return Facets(
            archived=sum(row.archived_at is not None for row in self.live.values()),
            agents=tuple(sorted(Counter(row.agent_id for row in rows).items())),
            categories=tuple(Counter(row.category for row in rows).items()),
            projects=tuple(Counter(row.project for row in rows if row.project).items()),
            kinds=() if what is None else tuple(Counter(row.kind for row in rows).items()),
        )

    async def history(self, memory_id: str) -> tuple[MemoryRevision, ...]:
        row = self.live.get(memory_id) or self.gone[memory_id]
        made = self.revisions.get(memory_id, [])
        first = {"content": made[0].before.get("content") if made else row.content}
        added = MemoryRevision(1, memory_id, row.created_at, "import", ChangeKind.ADDED, {}, first)
        return (*reversed(made), added)

    async def stands_for(self, memory_id: str) -> ListedMemory | None:
        return self.standing.get(memory_id)

    async def uses(self, memory_id: str, *, limit: int) -> tuple[MemoryUse, ...]:
        return self.given.get(memory_id, ())[:limit]

    async def restore_version(self, memory_id: str, revision: int) -> None:
        kept = [each for each in await self.history(memory_id) if each.revision == revision]
        await self.edit(memory_id, Change(content=str(kept[0].after["content"])))

    def _note(self, kind: ChangeKind, *memory_ids: str) -> None:
        title = (self.live | self.gone)[memory_ids[0]].content
        self.undone.clear()
        self.acts.append((UndoneAct(kind, memory_ids, NOW, title), {**self.live}, {**self.gone}))

    async def undo(self) -> UndoneAct | None:
        return self._swap(self.acts, self.undone)

    async def redo(self) -> UndoneAct | None:
        return self._swap(self.undone, self.acts)

    def _swap(self, source: list[Any], target: list[Any]) -> UndoneAct | None:
        if not source:
            return None
        act, live, gone = source.pop()
        target.append((act, self.live, self.gone))
        self.live, self.gone = live, gone
        return cast("UndoneAct", act)

    async def similar(self, memory_id: str) -> tuple[ListedMemory, ...]:
        return self.near

    async def add(self, draft: Draft) -> str:
        memory_id = f"new-{len(self.live)}"
        before = {**self.live}
        self.live[memory_id] = ListedMemory(
            memory_id, draft.agent_id, draft.category, draft.content, NOW, draft.tags
        )
        self._note(ChangeKind.ADDED, memory_id)
        self.acts[-1] = (self.acts[-1][0], before, {**self.gone})
        return memory_id

    async def edit(self, memory_id: str, change: Change) -> ListedMemory:
        old = self.live[memory_id]
        self._note(ChangeKind.EDITED, memory_id)
        new = replace(
            old,
            content=change.content if change.content is not None else old.content,
            category=change.category or old.category,
            tags=change.tags if change.tags is not None else old.tags,
            updated_at=NOW,
        )
        self.live[memory_id] = new
        before, after = {"content": old.content}, {"content": new.content}
        made = self.revisions.setdefault(memory_id, [])
        revision = edit_of(memory_id, "you", dict(before), dict(after))
        made.append(replace(revision, revision=len(made) + 2))
        return new

    async def remove(self, memory_ids: Sequence[str]) -> int:
        self._check()
        self._note(ChangeKind.DELETED, *memory_ids)
        for memory_id in memory_ids:
            self.gone[memory_id] = self.live.pop(memory_id)
        return len(memory_ids)

    async def archive(self, memory_ids: Sequence[str]) -> int:
        self._check()
        self._set_archived(ChangeKind.ARCHIVED, memory_ids, NOW, "by_hand")
        return len(memory_ids)

    def _set_archived(
        self, kind: ChangeKind, ids: Sequence[str], at: datetime | None, why: str | None
    ) -> None:
        self._note(kind, *ids)
        for key in ids:
            self.live[key] = replace(self.live[key], archived_at=at, archived_why=why)

    async def publish(self, memory_ids: Sequence[str]) -> int:
        self._check()
        private = [key for key in memory_ids if f"{key}-all" not in self.live]
        self._note(ChangeKind.ADDED, *private)
        for key in private:
            self.live[f"{key}-all"] = replace(self.live[key], id=f"{key}-all", shared=True)
        return len(private)

    async def retract(self, memory_ids: Sequence[str]) -> int:
        return await self.remove(memory_ids)

    async def restore(self, memory_ids: Sequence[str]) -> int:
        if archived := [key for key in memory_ids if key in self.live]:
            self._set_archived(ChangeKind.RESTORED, archived, None, None)
            return len(archived)
        if self.restore_gate is not None:
            await self.restore_gate.wait()
            self.restore_gate.clear()
        found = [memory_id for memory_id in memory_ids if memory_id in self.gone]
        for memory_id in found:
            self.live[memory_id] = self.gone.pop(memory_id)
        return len(found)

    async def erasing(self, memory_ids: Sequence[str]) -> tuple[str, ...]:
        return self.erased_with

    async def transcripts(self, memory_ids: Sequence[str]) -> tuple[str, ...]:
        return self.sources

    async def purge(self, memory_ids: Sequence[str], *, lines: bool = False) -> int:
        self.blanked = lines
        for memory_id in memory_ids:
            del self.gone[memory_id]
        self.acts = [act for act in self.acts if not {*act[0].memory_ids} & {*memory_ids}]
        return len(memory_ids)

    async def found_places(self) -> tuple[FoundTranscripts, ...]:
        return self.places

    async def run_import(
        self,
        roots: Sequence[Path],
        *,
        progress: Callable[[ImportProgress], None],
        cancel: threading.Event,
    ) -> ImportReport:
        self.imported.extend(map(str, roots))
        step = ImportProgress(
            31,
            60,
            41_200_000,
            82_520_000,
            118,
            6_400_000,
            6.4,
            "/home/ada/.claude/projects/shop/3f2a91c0.jsonl",
        )
        progress(step)
        if self.import_gate is not None:
            await self.import_gate.wait()
        return self._outcome(cancelled=cancel.is_set())

    async def load_sample(self) -> ImportReport:
        self.live = {row.id: row for row in rows(6)}
        return self._outcome(cancelled=False)

    def _outcome(self, *, cancelled: bool) -> ImportReport:
        return ImportReport(
            files=60,
            executions=57,
            memories_added=231,
            memories_updated=3,
            calls={
                CallOutcome.OK: 1204,
                CallOutcome.FAILED: 61,
                CallOutcome.DENIED_BY_USER: 4,
            },
            recoveries=38,
            redactions=5,
            skipped=self.skipped,
            cancelled=cancelled,
        )


class FakeHost(LocalEngineHost):
    """Opens the fake desk at once, when ``gate`` is set, or never."""

    def __init__(
        self,
        desk: FakeDesk,
        *,
        gate: asyncio.Event | None = None,
        error: DomainError | None = None,
        shows_early: bool = False,
        management: StoreManagement | None = None,
    ) -> None:
        self.desk = desk
        self._management = management
        self.shows_early = shows_early
        self.gate = gate
        self.prepares: asyncio.Event | None = None
        self.error = error
        self.closed = 0
        self.withdrawn = 0
        self.read_only = ""
        self.failed: Callable[[DomainError], None] = lambda _: None
        self.waits: Callable[[DomainError], None] = lambda _: None
        self.indexes: Callable[[float | None], None] = lambda _: None
        self.works: Callable[[tuple[str, RunProgress] | None], None] = lambda _: None

    def listen(
        self,
        *,
        failed: Callable[[DomainError], None],
        waits: Callable[[DomainError], None],
        indexes: Callable[[float | None], None],
        works: Callable[[tuple[str, RunProgress] | None], None],
    ) -> None:
        self.failed, self.waits, self.indexes, self.works = failed, waits, indexes, works

    @property
    def management(self) -> StoreManagement:
        return self._management or StoreManagement(_no_engine, Path, lambda: 0, self.close)

    async def look(self) -> MemoryReader | None:
        return self.desk if self.shows_early else None

    async def open(self) -> EngineAdapter:
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        return self.desk

    async def prepare(self) -> None:
        if self.prepares is not None:
            await self.prepares.wait()

    async def owner_left(self) -> None:
        return

    def withdraw(self) -> None:
        self.withdrawn += 1

    async def close(self) -> None:
        self.closed += 1


def _no_engine() -> NoReturn:
    raise DomainError("there is no engine in this test")


class Seconds:
    """A monotonic clock that jumps ahead each time it is read, unless it is held."""

    def __init__(self) -> None:
        self.at = 0.0
        self.held = False

    def __call__(self) -> float:
        self.at += 0.0 if self.held else 10.0
        return self.at


def fake_app(
    desk: FakeDesk | None = None, *, seconds: Seconds | None = None, **host: object
) -> MemoryDeskApp:
    """The app over a fake desk, with fixed clocks and nothing on disk."""
    made = FakeHost(desk or FakeDesk(rows(40)), **host)  # type: ignore[arg-type]
    app = MemoryDeskApp(made, now=lambda: NOW, monotonic=seconds or Seconds())
    app.animation_level = "none"
    return app

"""What agents write is imported by itself: once, soon, and only what is new."""

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.core.errors import DiskFullError, DomainError
from synthorg_tui.core.events import Events
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.ingest import IngestConfig, following
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.following import FOLLOWED, FOLLOWING_FAILED, Following
from synthorg_tui.ingest.service import ImportReport, ImportService
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from tests.ingest.ingest_fakes import FakeBackend
from tests.ingest.stores_kit import OpenCodeDatabase
from tests.ingest.test_import_service import session
from tests.patience import PATIENCE, until


class Desk:
    """A store with a home beside it, and what its following told."""

    def __init__(self, home: Path, database: StoreDatabase, **config: Any) -> None:
        self.home, self.backend = home, FakeBackend()
        self.executions = ExecutionStore(database)
        self.imports = ImportService(
            backend=self.backend,
            executions=self.executions,
            clock=SystemClock(),
            home=home,
            environ={},
        )
        self.reports: list[ImportReport] = []
        self.errors: list[DomainError] = []
        events = Events()
        events.subscribe(self._hear)
        settings = IngestConfig(**config)
        self.following = Following(self.imports, database, settings, events)
        self.has_looked, self.asked_for_consent = asyncio.Event(), 0
        look, newest = self.following._first_look, self.following._newest_import

        async def first_look() -> list[TranscriptFile]:
            found = await look()
            self.has_looked.set()
            return found

        async def newest_import() -> datetime | None:
            self.asked_for_consent += 1
            return await newest()

        self.following._first_look = first_look  # type: ignore[method-assign]
        self.following._newest_import = newest_import  # type: ignore[method-assign]

    def _hear(self, topic: str, data: Any) -> None:
        told: dict[str, list[Any]] = {FOLLOWED: self.reports, FOLLOWING_FAILED: self.errors}
        told[topic].append(data)

    def project(self, number: int, *, days_old: int = 0, name: str = "spotter") -> Path:
        path = self.home / ".claude" / "projects" / name / f"{number}.jsonl"
        session(number).write(path)
        made = datetime.now(UTC) - timedelta(days=days_old)
        if days_old:
            os.utime(path, (made.timestamp(), made.timestamp()))
        return path

    async def sessions(self) -> set[int]:
        """The numbers of Claude Code's sessions that are stored."""
        names = [name for name in await self.executions.ids() if name.startswith("claude_code:")]
        return {int(name.rpartition(":")[2][:8]) for name in names}

    async def begun(self) -> None:
        """Wait until the folders are watched, and what was there before has been looked at."""
        async with asyncio.timeout(PATIENCE):
            await self.has_looked.wait()

    async def until(self, reached: Callable[[], Awaitable[bool]]) -> None:
        """Wait until what is stored is as told."""
        async with asyncio.timeout(PATIENCE):
            while not await reached():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def knows(self, *numbers: int) -> None:
        """Wait until these sessions are stored; what was due before them is, too."""
        await self.until(lambda: self._has(set(numbers)))

    async def _has(self, numbers: set[int]) -> bool:
        return numbers <= await self.sessions()

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Follow, once it has begun."""
        task = asyncio.create_task(self.following.run())
        await self.begun()
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[StoreDatabase]:
    (tmp_path / "store").mkdir()
    database = Database.in_dir(tmp_path / "store")
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def desk(tmp_path: Path, database: StoreDatabase) -> Desk:
    """A store whose person has imported one session."""
    desk = Desk(tmp_path / "home", database)
    desk.project(1, days_old=1)
    await desk.imports.run()
    return desk


async def test_a_session_written_line_by_line_comes_in_once(desk: Desk) -> None:
    text, before = session(2).write(desk.home / "draft").read_text(), len(desk.backend.drafts)
    async with desk.followed():
        with (desk.home / ".claude/projects/spotter/2.jsonl").open("a") as stream:
            for line in text.splitlines(keepends=True):
                stream.write(line)
                stream.flush()
                await asyncio.sleep(0.05)

        async def is_whole() -> bool:
            done = await desk.executions.get("claude_code:00000002-2222-4333-8444-555555555555")
            return done is not None and done.line_count == len(text.splitlines())

        async def is_reported() -> bool:
            return sum(report.memories_added for report in desk.reports) >= 4

        await desk.until(is_whole)
        desk.project(3)
        await desk.knows(3)
        assert len(desk.backend.drafts) == before + 4
        await desk.until(is_reported)
    done = await desk.executions.get("claude_code:00000002-2222-4333-8444-555555555555")
    assert done is not None
    assert sum(report.memories_added for report in desk.reports) == 4
    (project,) = {name for report in desk.reports for name in report.added_by_project}
    assert project == done.project


async def test_nothing_is_followed_before_the_person_has_imported(
    tmp_path: Path, database: StoreDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "LOOK_FOR_CONSENT", 0.05)
    desk = Desk(tmp_path / "home", database)
    desk.project(1, days_old=90)
    task = asyncio.create_task(desk.following.run())
    await until(lambda: desk.asked_for_consent > 1)
    desk.project(2)
    asked = desk.asked_for_consent
    await until(lambda: desk.asked_for_consent > asked + 2)
    assert await desk.sessions() == set()
    assert "no sessions were imported" in (await desk.following.status()).reason
    await desk.imports.run([desk.project(3)])
    await desk.begun()
    desk.project(4)
    await until(lambda: any("number 4" in each for each in desk.backend.contents))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert 1 not in await desk.sessions()


async def test_what_is_older_than_the_last_import_stays_the_persons_to_import(desk: Desk) -> None:
    desk.project(2, days_old=90)
    desk.project(3)
    async with desk.followed():
        await until(lambda: desk.reports)
        desk.project(4)
        await desk.knows(4)
    assert await desk.sessions() == {1, 3, 4}


async def test_an_old_session_that_goes_on_comes_in(desk: Desk) -> None:
    path = desk.project(2, days_old=90)
    async with desk.followed():
        with path.open("a") as stream:
            stream.write(json.dumps({"type": "progress"}) + "\n")
        await until(lambda: desk.reports)
    assert await desk.sessions() == {1, 2}


async def test_places_that_appear_later_are_found(desk: Desk) -> None:
    async with desk.followed():
        place = desk.home / ".codex" / "sessions" / "2026" / "01" / "02"
        session(5).write(place / "rollout-5.jsonl")
        await until(lambda: desk.reports)
        session(6).write(desk.home / ".claude" / "projects" / "other" / "deep" / "6.jsonl")
        await until(lambda: len(desk.reports) == 2)
    assert await desk.sessions() == {1, 5, 6}


async def test_a_row_in_the_log_of_a_database_comes_in(desk: Desk) -> None:
    place = desk.home / ".local" / "share" / "opencode" / "opencode.db"
    database = OpenCodeDatabase(place, wal=True).begin("ses_old").user("asked long ago")
    async with desk.followed():
        database.begin("ses_new").user("asked now").assistant("done")
        await until(lambda: desk.reports)
        desk.project(2)
        await desk.knows(2)
    assert "opencode:ses_new" in await desk.executions.ids()
    assert "opencode:ses_old" not in await desk.executions.ids()


async def test_a_link_to_a_folder_elsewhere_is_not_followed(desk: Desk, tmp_path: Path) -> None:
    session(7).write(tmp_path / "elsewhere" / "7.jsonl")
    (desk.home / ".claude" / "projects" / "link").symlink_to(tmp_path / "elsewhere")
    async with desk.followed():
        session(8).write(tmp_path / "elsewhere" / "8.jsonl")
        (desk.home / ".claude/projects/spotter/9.jsonl").symlink_to(tmp_path / "elsewhere/7.jsonl")
        desk.project(2)
        await desk.knows(2)
    assert await desk.sessions() == {1, 2}


async def test_a_hooks_import_and_the_following_never_do_the_same_twice(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[str] = []
    save = desk.executions.save

    async def noted(execution: Any, *stored: Any, **parts: Any) -> None:
        saved.append(execution.id)
        await save(execution, *stored, **parts)

    monkeypatch.setattr(desk.executions, "save", noted)
    paths = [desk.project(number) for number in range(2, 8)]
    reports = await asyncio.gather(
        desk.imports.run(paths), desk.imports.run(paths), desk.imports.run(paths)
    )
    assert sorted(saved) == sorted(set(saved))
    assert sum(report.memories_added for report in reports) == 12
    assert [report.executions + report.unchanged for report in reports] == [6, 6, 6]


async def test_a_full_disk_is_told_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = list[str]()

    async def full(*given: object, **_: object) -> None:
        tries.append(str(given))
        raise DiskFullError("the disk is full", remedy="Free some space.")

    async with desk.followed():
        monkeypatch.setattr(desk.backend, "store_many", full)
        desk.project(2)
        await until(lambda: desk.errors)
        desk.project(3)
        await until(lambda: len(tries) == 2)
        monkeypatch.undo()
        desk.project(4)
        await until(lambda: desk.reports)
        assert ["number 2" in each for each in tries] == [True, False]
        assert [error.remedy for error in desk.errors] == ["Free some space."]


async def test_it_can_be_turned_off(tmp_path: Path, database: StoreDatabase) -> None:
    desk = Desk(tmp_path / "home", database, follow=False)
    await asyncio.wait_for(desk.following.run(), PATIENCE)
    assert (await desk.following.status()).reason == "ingest.follow is off"


async def test_only_the_chosen_places_are_followed(tmp_path: Path, database: StoreDatabase) -> None:
    desk = Desk(tmp_path / "home", database, places=["codex", str(tmp_path / "own")])
    names = {place.name for place in desk.following.places()}
    assert names == {"sessions", "archived_sessions", "own"}


def test_a_place_is_an_agent_or_a_path() -> None:
    with pytest.raises(ValidationError, match="neither a path nor one of aider, amp, claude_code"):
        IngestConfig(places=("clod",))


async def test_a_cancelled_import_does_not_wait_for_the_file_it_reads(desk: Desk) -> None:
    cancel = threading.Event()
    task = asyncio.create_task(desk.imports.run([desk.project(2)], cancel=cancel))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not desk.imports.is_running


async def test_a_session_of_a_database_may_have_any_name(desk: Desk) -> None:
    place = desk.home / ".local" / "share" / "opencode" / "opencode.db"
    database = OpenCodeDatabase(place).begin("ses_1").user("one")
    await desk.imports.run([place])
    async with desk.followed():
        database.begin("x" * 400).user("asked under a long name")
        database.begin("../../odd #name").user("asked under an odd name")

        async def are_all_there() -> bool:
            return len([n for n in await desk.executions.ids() if "opencode" in n]) == 3

        await desk.until(are_all_there)
    assert not desk.errors

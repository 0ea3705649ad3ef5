"""The desk over the real engine: every act of the port on a store on disk."""

import asyncio
import os
import shutil
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import ConfigError, DomainError, StoreLockedError
from synthorg_tui.engine import Engine
from synthorg_tui.ingest.service import ImportProgress
from synthorg_tui.jobs.models import RunProgress
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.kinds import MemoryKind
from synthorg_tui.memory.listing import BrowseFilter
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.memory.strategies.service import InjectionRequest
from synthorg_tui.persistence import INDEX_DIR
from synthorg_tui.tui.engine_adapter import Change, Draft
from synthorg_tui.tui.engine_host import LocalEngineHost
from synthorg_tui.tui.memories.lines import report_lines
from tests.patience import PATIENCE, until
from tests.postgres_switch import files_only

DRAFT = Draft("codex", MemoryCategory.PROCEDURAL, "git push -u origin HEAD sets it", ("git",))


async def test_a_memory_lives_through_every_act_of_the_desk(tmp_path: Path) -> None:
    host = LocalEngineHost(data_dir=tmp_path)
    desk = await host.open()
    try:
        memory_id = await desk.add(DRAFT)
        page = await desk.browse(BrowseFilter(words=("push",)), sort="newest", offset=0, limit=10)
        assert [row.id for row in page.entries] == [memory_id]
        assert (await desk.facets()).agents == (("codex", 1),)
        hits = await desk.search("push without upstream", BrowseFilter(), limit=5)
        assert hits.hits[0].id == memory_id
        assert hits.hits[0].fused is not None
        assert not (await desk.search("push", BrowseFilter(without=("origin",)), limit=5)).hits
        edited = await desk.edit(memory_id, Change(tags=("git", "push")))
        assert (edited.content, edited.tags) == (DRAFT.content, ("git", "push"))
        assert await desk.remove([memory_id]) == 1
        gone = await desk.browse(BrowseFilter(deleted=True), sort="newest", offset=0, limit=10)
        assert gone.total == 1
        assert await desk.restore([memory_id]) == 1
        kinds = [revision.kind for revision in await desk.history(memory_id)]
        assert kinds == ["restored", "deleted", "edited", "added"]
        assert await desk.archive([memory_id]) == 1
        archive = BrowseFilter(states=("archived",))
        assert (await desk.search("push", archive, limit=5)).hits[0].id == memory_id
        assert not (await desk.search("push", BrowseFilter(), limit=5)).hits
        assert await desk.stands_for(memory_id) is None
        assert await desk.restore([memory_id]) == 1
    finally:
        await host.close()


async def test_what_a_person_adds_reaches_every_session_of_the_agent_as_the_operators(
    tmp_path: Path,
) -> None:
    host = LocalEngineHost(data_dir=tmp_path / "data")
    desk = await host.open()
    try:
        everywhere = await desk.add(DRAFT)
        here = await desk.add(replace(DRAFT, content="only here", project=str(tmp_path)))
        again = desk.add(DRAFT)
        with pytest.raises(DomainError, match="already stored"):
            await again
    finally:
        await host.close()
    async with Engine.open(data_dir=tmp_path / "data") as engine:
        inside, outside = (
            engine.injection.scoped(Visibility("s1", project))
            for project in (str(tmp_path), "/elsewhere")
        )
        assert await inside.get("codex", everywhere)
        assert await inside.get("codex", here)
        assert await outside.get("codex", everywhere)
        assert not await outside.get("codex", here)
        digest = await engine.injection.prepare(
            InjectionRequest("codex", DRAFT.content, 900, digest_v1=True)
        )
        assert "prov=operator" in digest.text


async def test_tags_taken_out_of_the_form_are_gone(tmp_path: Path) -> None:
    """The form shows all of them: unlike a list of new tags it leaves none out by accident."""
    host = LocalEngineHost(data_dir=tmp_path)
    desk = await host.open()
    try:
        tags = ("git", "fact:push", "sensitivity:sensitive")
        memory_id = await desk.add(Draft("codex", MemoryCategory.SEMANTIC, "with -u", tags))
        edited = await desk.edit(memory_id, Change(tags=("git", "fact:push")))
        assert edited.tags == ("git", "fact:push")
        assert (await desk.edit(memory_id, Change(tags=("git",)))).tags == ("git",)
    finally:
        await host.close()


async def test_the_store_is_looked_through_before_the_engine_opens_on_it(tmp_path: Path) -> None:
    first = LocalEngineHost(data_dir=tmp_path)
    memory_id = await (await first.open()).add(DRAFT)
    await first.close()
    host = LocalEngineHost(data_dir=tmp_path)
    try:
        shelf = await host.look()
        assert shelf is not None
        page = await shelf.browse(BrowseFilter(words=("PUSH",)), sort="newest", offset=0, limit=10)
        assert [(row.id, row.content, row.tags) for row in page.entries] == [
            (memory_id, DRAFT.content, DRAFT.tags)
        ]
        assert page.entries[0].created_at.utcoffset() is not None
        assert (await shelf.facets()).categories == ((MemoryCategory.PROCEDURAL, 1),)
        desk = await host.open()
        assert await desk.browse(BrowseFilter(), sort="newest", offset=0, limit=10) == page
        assert await desk.remove([memory_id]) == 1
        assert [each.kind for each in await shelf.history(memory_id)] == ["deleted", "added"]
    finally:
        await host.close()


@files_only
async def test_the_data_directory_of_the_settings_is_the_one_looked_through(tmp_path: Path) -> None:
    config = tmp_path / "company.yaml"
    config.write_text(f"memory: {{storage: {{data_dir: {tmp_path / 'theirs'}}}}}", encoding="utf-8")
    host = LocalEngineHost(config_path=config)
    try:
        assert await host.look() is not None
        assert (tmp_path / "theirs" / "memory.duckdb").exists()
    finally:
        await host.close()


async def test_another_backend_has_nothing_to_look_through(tmp_path: Path) -> None:
    config = tmp_path / "company.yaml"
    config.write_text("memory: {backend: inmemory}", encoding="utf-8")
    host = LocalEngineHost(data_dir=tmp_path / "data", config_path=config)
    assert await host.look() is None
    await host.close()


async def test_settings_that_are_invalid_are_told_before_anything_opens(tmp_path: Path) -> None:
    config = tmp_path / "company.yaml"
    config.write_text("memory: {level: high}", encoding="utf-8")
    host = LocalEngineHost(data_dir=tmp_path / "data", config_path=config)
    with pytest.raises(ConfigError, match=r"memory\.level"):
        await host.look()
    assert not (tmp_path / "data").exists()
    await host.close()


async def test_a_second_opener_is_told_who_owns_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synthorg_tui.host.opening.PATIENCE", 0.1)
    first, second = LocalEngineHost(data_dir=tmp_path), LocalEngineHost(data_dir=tmp_path)
    told: list[str] = []
    second.listen(
        failed=lambda _: None,
        waits=lambda error: told.append(error.message),
        indexes=lambda _: None,
        works=lambda _: None,
    )
    await first.look()
    try:
        assert await second.look() is None
        with pytest.raises(StoreLockedError) as refused:
            await second.open()
        assert set(told) == {refused.value.message}
    finally:
        await second.close()
        await first.close()


async def test_that_nobody_can_connect_is_told_and_the_desk_works_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synthorg_tui.tui.engine_host.WARM_UP_AFTER", 0)
    (tmp_path / "owner.sock").mkdir(parents=True)  # in the way of the socket
    told: asyncio.Queue[DomainError] = asyncio.Queue()
    host = LocalEngineHost(data_dir=tmp_path)
    host.listen(
        failed=told.put_nowait,
        waits=lambda _: None,
        indexes=lambda _: None,
        works=lambda _: None,
    )
    try:
        desk = await host.open()
        error = await asyncio.wait_for(told.get(), PATIENCE)
        assert (await desk.facets()).total == 0
        assert not desk.activity.is_open
    finally:
        await host.close()
    assert "can't connect" in error.message
    assert error.remedy


async def test_a_job_that_fails_is_told_once_and_which_one_runs_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: Maintenance, **__: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr(Maintenance, "back_up_daily", broken)
    for name in ("WARM_UP_AFTER", "LOAD_MODELS_AFTER"):
        monkeypatch.setattr(f"synthorg_tui.tui.engine_host.{name}", 0)
    monkeypatch.setattr("synthorg_tui.jobs.scheduler.FIRST_LOOK", 0.0)
    told: list[DomainError] = []
    shown: list[tuple[str, RunProgress] | None] = []
    host = LocalEngineHost(data_dir=tmp_path)
    host.listen(
        failed=told.append, waits=lambda _: None, indexes=lambda _: None, works=shown.append
    )
    try:
        await host.open()
        await until(lambda: ("packing" in [each[0] for each in shown if each]) and not shown[-1])
        await host.management.run_job("backup")
    finally:
        await host.close()
    assert [error.message for error in told] == ["The job backup failed: OSError"]
    assert told[0].remedy == "F9 shows all jobs."


async def test_how_far_a_rebuilt_index_has_come_is_told_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filling = LocalEngineHost(data_dir=tmp_path)
    desk = await filling.open()
    for number in range(8):
        await desk.add(replace(DRAFT, content=f"Number {number} is a number."))
    await filling.close()
    shutil.rmtree(tmp_path / INDEX_DIR)
    monkeypatch.setattr("synthorg_tui.tui.engine_host.WARM_UP_AFTER", 0)
    monkeypatch.setattr("synthorg_tui.tui.engine_host.PROGRESS_EVERY", 0)
    monkeypatch.setattr("synthorg_tui.memory.store.sync.REPLAY_BATCH", 2)
    monkeypatch.setattr("synthorg_tui.memory.store.sync.OPENING_BATCHES", 1)
    told: list[float | None] = []
    host = LocalEngineHost(data_dir=tmp_path)
    host.listen(
        failed=lambda _: None,
        waits=lambda _: None,
        indexes=told.append,
        works=lambda _: None,
    )
    try:
        await host.open()
        await until(lambda: told and told[-1] is None)
        shares = [each for each in told if each is not None]
        assert shares == sorted(shares)
        assert all(0 <= each <= 1 for each in shares)
        assert shares
    finally:
        await host.close()


async def test_an_imported_memory_leads_to_its_transcript_lines(
    tmp_path: Path, shared_dir: Path
) -> None:
    host = LocalEngineHost(data_dir=tmp_path)
    desk = await host.open()
    steps: list[ImportProgress] = []
    try:
        roots = [min((shared_dir / "data" / "transcripts").glob("*.jsonl"))]
        outcome = await desk.run_import(roots, progress=steps.append, cancel=threading.Event())
        assert outcome.memories_added > 0
        assert outcome.malformed_lines == 0
        assert steps
        sessions = BrowseFilter(kinds=(MemoryKind.SESSION,))
        page = await desk.browse(sessions, sort="newest", offset=0, limit=1)
        assert page.entries[0].source is not None
        session_id, _, lines = page.entries[0].source.partition("#L")
        conversation = await desk.sessions.conversation(session_id)
        assert conversation is not None
        entry = conversation.entries[conversation.entry_at(int(lines.partition("-")[0]))]
        assert await desk.sessions.body(session_id, entry)
        assert not await desk.sessions.has_grown(conversation)
    finally:
        await host.close()


@pytest.mark.skipif(sys.platform == "darwin", reason="names are UTF-8 there")
async def test_an_import_shows_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / os.fsdecode(b"b\xff.jsonl")).write_text("{}\n")
    host = LocalEngineHost(data_dir=tmp_path / "data")
    desk = await host.open()
    try:
        outcome = await desk.run_import([folder], progress=lambda _: None, cancel=threading.Event())
    finally:
        await host.close()
    shown = [row.plain for row in report_lines(outcome)]
    assert any("b\\xff.jsonl" in row and "isn't UTF-8" in row for row in shown)

"""The Sessions pane on a real store: what was imported is listed, read, exported, deleted."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from synthorg_tui.core.errors import DomainError
from synthorg_tui.executions.conversation import EntryKind
from synthorg_tui.memory.listing import BrowseFilter, MemoryPage
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.engine_host import LocalEngineHost


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the sample sessions, of which every test has a copy."""
    data_dir = tmp_path_factory.mktemp("sample")

    async def load() -> None:
        host = LocalEngineHost(data_dir=data_dir)
        await (await host.open()).load_sample()
        await host.close()

    asyncio.run(load())
    return data_dir


@pytest.fixture
async def desk(tmp_path: Path, sample: Path) -> AsyncIterator[EngineAdapter]:
    host = LocalEngineHost(data_dir=shutil.copytree(sample, tmp_path / "data"))
    yield await host.open()
    await host.close()


async def memories_of(desk: EngineAdapter, session_id: str) -> MemoryPage:
    what = BrowseFilter(sessions=(session_id,))
    return await desk.browse(what, sort="newest", offset=0, limit=100)


async def test_an_imported_session_is_read_and_leads_to_what_was_made_of_it(
    desk: EngineAdapter, tmp_path: Path
) -> None:
    port = desk.sessions
    listed = await port.list()
    assert listed
    for session in listed:
        assert session.title
        conversation = await port.conversation(session.id)
        assert conversation is not None
        assert not await port.has_grown(conversation)
        entry = next(e for e in conversation.entries if e.kind is EntryKind.CALL)
        assert await port.raw(session.id, entry)
        await port.body(session.id, entry)
        made = await port.made_of(session)
        drawn = await memories_of(desk, session.id)
        assert drawn.total <= made.memories
        assert all((row.source or "").startswith(session.id) for row in drawn.entries)
        assert bool(made.resume) != bool(made.resume_problem)
    session = listed[0]
    assert await port.find(session.id) == session
    await port.export(session, tmp_path / "one.md")
    assert session.title in (tmp_path / "one.md").read_text("utf-8")
    await port.export(session, tmp_path / "one.jsonl")
    lines = (tmp_path / "one.jsonl").read_text("utf-8").splitlines()
    assert len([json.loads(each) for each in lines]) == session.lines
    with pytest.raises(DomainError, match="exists"):
        await port.export(session, tmp_path / "one.md")


async def test_a_session_is_deleted_alone_or_with_its_memories(desk: EngineAdapter) -> None:
    port = desk.sessions
    stored = await port.list()
    first, second, *_ = [each for each in stored if (await memories_of(desk, each.id)).total]

    async def count() -> int:
        return (await desk.browse(BrowseFilter(), sort="newest", offset=0, limit=1)).total

    before = await count()
    assert await port.delete(first.id, keep_memories=True) == "Deleted 1 session"
    assert await count() == before
    assert await port.conversation(first.id) is None
    told = await port.delete(second.id, keep_memories=False)
    assert told.startswith("Deleted 1 session and ")
    assert await count() < before
    assert not {first.id, second.id} & {each.id for each in await port.list()}

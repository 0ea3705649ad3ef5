"""How far memories of the local backend reach, and for how long."""

from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.memory.errors import (
    MemoryStoreError,
)
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.store.policy import StorePolicy
from tests.conftest import FixedClock
from tests.memory.store.store_kit import AGENT, contents, opened, query, request
from tests.tables import rows


def at_level(level: str) -> StorePolicy:
    return StorePolicy(level=lambda _: MemoryLevel(level))


@rows(
    ("level", "same_session", "same_project"),
    [("persistent", True, True), ("project", False, True), ("session", True, False)],
)
async def test_a_memory_reaches_as_far_as_its_level(
    tmp_path: Path, level: str, same_session: bool, same_project: bool
) -> None:
    here = Visibility(session_id="s1", project=str(tmp_path / "p1"))
    other_project = Visibility(session_id="s1", project=str(tmp_path / "p2"))
    other_session = Visibility(session_id="s2", project=str(tmp_path / "p1"))
    nowhere = Visibility(session_id=None, project=None)
    async with opened(tmp_path, policy=at_level(level)) as backend:
        memory_id = await backend.scoped(here).store(AGENT, request("alpha"))
        for view, expected in (
            (here, True),
            (other_project, same_session),
            (other_session, same_project),
            (nowhere, level == "persistent"),
        ):
            scoped = backend.scoped(view)
            assert bool(await scoped.get(AGENT, memory_id)) == expected
            assert await scoped.count(AGENT) == int(expected)
            for text in (None, "alpha"):
                assert bool(await scoped.retrieve(AGENT, query(text))) == expected
        assert await backend.get(AGENT, memory_id)
        if level != "persistent":
            assert not await backend.scoped(nowhere).delete(AGENT, memory_id)
        assert await backend.scoped(here).delete(AGENT, memory_id)


@rows("level", ["project", "session"])
async def test_a_memory_that_names_no_project_or_session_is_seen_from_everywhere(
    tmp_path: Path, level: str
) -> None:
    async with opened(tmp_path, policy=at_level(level)) as backend:
        memory_id = await backend.store(AGENT, request("alpha"))
        for view in (Visibility("s1", str(tmp_path)), Visibility(None, None)):
            scoped = backend.scoped(view)
            assert await scoped.get(AGENT, memory_id)
            for text in (None, "alpha"):
                assert [hit.id for hit in await scoped.retrieve(AGENT, query(text))] == [memory_id]
        assert await backend.scoped(Visibility("s2", "/elsewhere")).delete(AGENT, memory_id)


async def test_a_project_is_the_same_by_whichever_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    async with opened(tmp_path / "data", policy=at_level("project")) as backend:
        real = Visibility(session_id=None, project=str(tmp_path / "real"))
        link = Visibility(session_id=None, project=f"{tmp_path}/./link/")
        await backend.scoped(real).store(AGENT, request("alpha"))
        assert await backend.scoped(link).retrieve(AGENT, query("alpha"))


async def test_an_agent_without_memory_stores_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, policy=at_level("none")) as backend:
        with pytest.raises(MemoryStoreError, match="level none"):
            await backend.store(AGENT, request("alpha"))
        with pytest.raises(MemoryStoreError, match="level none"):
            await backend.publish(AGENT, request("alpha"))
        assert await backend.count(AGENT) == 0


async def test_publications_reach_across_sessions_and_projects(tmp_path: Path) -> None:
    async with opened(tmp_path, policy=at_level("session")) as backend:
        await backend.scoped(Visibility("s1", None)).publish(AGENT, request("alpha"))
        assert await backend.scoped(Visibility("s2", "/p")).search_shared(query("alpha"))


async def test_retention_ends_a_memory_that_has_no_expiry_of_its_own(
    tmp_path: Path, clock: FixedClock
) -> None:
    policy = StorePolicy(retention_days=lambda *_: 1)
    async with opened(tmp_path, clock=clock, policy=policy) as backend:
        await backend.store(AGENT, request("kept a day"))
        await backend.store(
            AGENT, request("kept a week", expires_at=clock.now() + timedelta(days=7))
        )
        clock.advance(days=1)
        assert contents(await backend.retrieve(AGENT, query())) == ["kept a week"]

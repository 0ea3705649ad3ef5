"""Records of agents in a database that several apps write to."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synthorg_tui.agents.audit import AuditTrail
from synthorg_tui.agents.client_sessions import MAX_UNUSED
from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.agents.silenced import SilencedHints, SilencedKind
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.settings.root import RootConfig
from tests.agents.test_undo import record
from tests.conftest import FixedClock
from tests.memory.store.hash_embedder import HashEmbedder

Pair = tuple[StoreDatabase, StoreDatabase]
SETTINGS = RootConfig.model_validate({"memory": {"level": "session"}})
SESSION = Visibility(session_id="s1", project="/srv/a")
NOTE = MemoryStoreRequest(
    category=MemoryCategory.SEMANTIC,
    content="The lighthouse has seven lamps.",
    metadata=MemoryMetadata(tags=("non-inferable",)),
)


@pytest.fixture
async def pair(postgres_url: str, tmp_path: Path) -> AsyncIterator[Pair]:
    """The database as two apps have it open."""
    from synthorg_tui.persistence.postgres.database import PostgresDatabase

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first = PostgresDatabase(postgres_url, tmp_path / "a")
    second = PostgresDatabase(postgres_url, tmp_path / "b")
    await first.open()
    await second.open()
    yield first, second
    await first.close()
    await second.close()


async def test_calls_that_two_apps_record_have_numbers_of_their_own(pair: Pair) -> None:
    trails = [AuditTrail(database, keep=100) for database in pair]
    call = record("ada")._replace(wrote=False)
    added = await asyncio.gather(*(each.add(call) for _ in range(3) for each in trails))
    assert sorted(each.number for each in added) == [1, 2, 3, 4, 5, 6]
    assert len(await trails[0].calls(limit=10)) == 6


async def test_what_one_app_silences_another_silences_at_once(pair: Pair) -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    first, second = (SilencedHints(database, clock=clock) for database in pair)
    subjects: dict[SilencedKind, tuple[str, ...]] = {SilencedKind.COMMAND: ("make test",)}
    assert not await second.covers(subjects)
    await first.silence(SilencedKind.COMMAND, "make test", actor="person")
    assert await second.covers(subjects)
    await second.unsilence(SilencedKind.COMMAND, "make test")
    assert not await first.covers(subjects)


async def test_a_session_that_another_app_still_uses_is_not_swept(
    pair: Pair, tmp_path: Path
) -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    identity = AgentIdentity("ada", project="/srv/a", session_id="s1")
    other = AgentIdentity("bob", project="/srv/a", session_id="s2")
    first, second = pair
    async with (
        Engine.open(
            SETTINGS, data_dir=tmp_path / "a", database=first, clock=clock, embedder=HashEmbedder()
        ) as one,
        Engine.open(
            SETTINGS, data_dir=tmp_path / "b", database=second, clock=clock, embedder=HashEmbedder()
        ) as two,
    ):
        using = one.gateway.connect(identity)
        await two.gateway.connect(other).digest("hello")
        assert isinstance(one.memory, LocalMemoryBackend)
        assert isinstance(two.memory, LocalMemoryBackend)
        note = await one.memory.scoped(SESSION).store("ada", NOTE)
        clock.current += MAX_UNUSED
        await using.digest("hello")
        clock.current += timedelta(hours=2)
        await two.gateway.connect(other).digest("hello")
        assert await two.memory.scoped(SESSION).get("ada", note) is not None

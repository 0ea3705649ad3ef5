"""Apps on one database: what one writes another finds, by an index of its own or a common one."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.extensions import MemoryEdit
from synthorg_tui.memory.index.server import ServerIndex
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.shared_kit import app, indexed_ids, live_ids
from tests.memory.store.store_kit import AGENT, draft, query, request

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")

Pair = tuple[LocalMemoryBackend, LocalMemoryBackend]


@pytest.fixture
async def client() -> "AsyncIterator[AsyncQdrantClient]":
    """The client's in-process engine, which stands for one server."""
    from qdrant_client import AsyncQdrantClient

    made = AsyncQdrantClient(location=":memory:")
    yield made
    await made.close()


@pytest.fixture(params=["own", "common"])
async def pair(
    request: pytest.FixtureRequest,
    postgres_url: str,
    tmp_path: Path,
    client: "AsyncQdrantClient",
) -> AsyncIterator[Pair]:
    """Two apps, each with an index of its own, or both with one on a server."""

    def index() -> ServerIndex | None:
        is_common = request.param == "common"
        return ServerIndex(lambda: client, collection="memories") if is_common else None

    async with (
        app(postgres_url, tmp_path / "a", index=index()) as first,
        app(postgres_url, tmp_path / "b", index=index()) as second,
    ):
        yield first, second


async def contents(backend: LocalMemoryBackend, word: str) -> list[str]:
    return [entry.content for entry in await backend.retrieve(AGENT, query(word))]


async def test_what_another_app_stored_is_found_at_once(pair: Pair) -> None:
    first, second = pair
    for number in range(3):
        await first.store(AGENT, request(f"note first{number}"))
        await second.store(AGENT, request(f"note second{number}"))
        assert await contents(second, f"first{number}") == [f"note first{number}"]
        assert await contents(first, f"second{number}") == [f"note second{number}"]


async def test_no_revision_is_given_twice(pair: Pair) -> None:
    first = pair[0]
    await asyncio.gather(
        *(
            each.store(AGENT, request(f"{place} note {n}"))
            for n in range(5)
            for each, place in zip(pair, ("north", "south"), strict=True)
        )
    )
    count = "SELECT count(*), count(DISTINCT revision), max(revision) FROM memories"
    assert await first.core.read(lambda db: db.execute(count).fetchone()) == (10, 10, 10)


async def test_what_another_app_edited_or_deleted_is_found_so(pair: Pair) -> None:
    first, second = pair
    edited = await first.store(AGENT, request("note before"))
    deleted = await first.store(AGENT, request("note unwanted"))
    assert await contents(second, "before")
    await first.admin.edit(edited, MemoryEdit(content="note after"), actor="test")
    await first.delete(AGENT, deleted)
    assert await contents(second, "after") == ["note after"]
    assert await contents(second, "unwanted") == []
    assert await indexed_ids(second) == await live_ids(first)


async def test_changes_between_two_writes_of_one_app_are_not_skipped(pair: Pair) -> None:
    first, second = pair
    await first.store(AGENT, request("note one"))
    await second.store(AGENT, request("note two"))
    await first.store(AGENT, request("note three"))
    assert await indexed_ids(first) == await live_ids(first)
    assert await indexed_ids(second) == await live_ids(first)


async def test_many_changes_of_another_app_are_all_followed(pair: Pair) -> None:
    first, second = pair
    drafts = [draft(f"text {number}", f"key {number}") for number in range(700)]
    await first.store_many(AGENT, drafts, actor="test")
    assert len(await indexed_ids(second)) == 700


async def test_memories_that_another_app_stored_without_vectors_are_told_of(
    postgres_url: str, tmp_path: Path
) -> None:
    broken = HashEmbedder()
    async with (
        app(postgres_url, tmp_path / "a") as first,
        app(postgres_url, tmp_path / "b", embedder=broken) as second,
    ):
        assert await first.core.unembedded() == 0
        broken.broken = True
        await second.store(AGENT, request("note without"))
        broken.broken = False
        assert await contents(first, "without")
        assert await first.core.unembedded() == 1
        await Maintenance(second, data_dir=tmp_path / "b").reembed()
        assert await contents(first, "without")
        assert await first.core.unembedded() == 0


async def test_opening_beside_an_app_that_has_written_meanwhile_empties_nothing(
    postgres_url: str, tmp_path: Path, client: "AsyncQdrantClient"
) -> None:
    def index() -> ServerIndex:
        return ServerIndex(lambda: client, collection="memories")

    async with (
        app(postgres_url, tmp_path / "a", index=index()) as first,
        app(postgres_url, tmp_path / "b", index=index()) as second,
    ):
        await first.store(AGENT, request("note one"))  # the second has its index closed still
        assert not (await second.core.indexed()).was_empty
        assert await indexed_ids(second) == await live_ids(first)


async def test_an_index_that_one_app_builds_anew_answers_the_others_meanwhile(
    postgres_url: str, tmp_path: Path, client: "AsyncQdrantClient"
) -> None:
    def index() -> ServerIndex:
        return ServerIndex(lambda: client, collection="memories")

    async with (
        app(postgres_url, tmp_path / "a", index=index()) as first,
        app(postgres_url, tmp_path / "b", index=index()) as second,
    ):
        for number in range(4):
            await first.store(AGENT, request(f"note word{number}"))
        await first.core.start_index_over()
        assert await contents(second, "word3") == ["note word3"]
        await second.store(AGENT, request("note late"))
        await Maintenance(first, data_dir=tmp_path / "a").reindex()
        assert await indexed_ids(second) == await live_ids(first)


async def test_what_an_app_wrote_before_it_died_is_brought_in_by_another(
    postgres_url: str,
    tmp_path: Path,
    client: "AsyncQdrantClient",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def dies(*_: object, **__: object) -> None:
        raise VectorIndexError("killed")

    def index() -> ServerIndex:
        return ServerIndex(lambda: client, collection="memories")

    dying = index()
    async with (
        app(postgres_url, tmp_path / "a", index=dying) as first,
        app(postgres_url, tmp_path / "b", index=index()) as second,
    ):
        await first.core.indexed()
        monkeypatch.setattr(dying, "apply", dies)
        await first.store(AGENT, request("note last"))
        await second.store(AGENT, request("note next"))
        assert await contents(second, "last") == ["note last"]
        assert await indexed_ids(second) == await live_ids(second)


async def test_many_apps_at_once_leave_a_common_index_equal_to_the_records(
    postgres_url: str, tmp_path: Path, client: "AsyncQdrantClient"
) -> None:
    async def work(number: int) -> None:
        choose, mine = random.Random(number), list[str]()
        index = ServerIndex(lambda: client, collection="memories")
        async with app(postgres_url, tmp_path / str(number), index=index) as backend:
            for turn in range(15):
                if mine and choose.random() < 0.4:
                    await backend.delete(AGENT, mine.pop())
                elif mine and choose.random() < 0.5:
                    text = MemoryEdit(content=f"note {number}.{turn} again")
                    await backend.admin.edit(mine[0], text, actor="test")
                else:
                    mine.append(await backend.store(AGENT, request(f"note {number}.{turn}")))

    async def no_close(*_: object, **__: object) -> None:
        return None

    client.close = no_close  # type: ignore[method-assign]
    await asyncio.gather(*(work(number) for number in range(6)))
    last = ServerIndex(lambda: client, collection="memories")
    async with app(postgres_url, tmp_path / "last", index=last) as backend:
        assert await indexed_ids(backend) == await live_ids(backend)
        assert await backend.core.read(queries.last_revision) > 0

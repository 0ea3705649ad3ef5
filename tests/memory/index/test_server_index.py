"""What the server index does beyond the contract: its collections, and a server that's away."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.index.protocol import IndexPoint, SparseVector
from synthorg_tui.memory.index.server import ServerIndex, server_at

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")


POINT = IndexPoint(
    id="00000000-0000-0000-0000-000000000001",
    agent_id="ada",
    category=MemoryCategory.EPISODIC,
    namespace="default",
    tags=(),
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    expires_at=None,
    shared=False,
    level="persistent",
    session_id=None,
    project=None,
    dense=None,
    sparse=SparseVector((1,), (1.0,)),
)


@pytest.fixture
async def client() -> "AsyncIterator[AsyncQdrantClient]":
    """The client's in-process engine, which outlives the indexes on it."""
    from qdrant_client import AsyncQdrantClient

    made = AsyncQdrantClient(location=":memory:")
    yield made
    await made.close()


async def names(client: "AsyncQdrantClient") -> set[str]:
    return {found.name for found in (await client.get_collections()).collections}


async def test_the_point_that_holds_the_revision_is_no_memory(client: "AsyncQdrantClient") -> None:
    index = ServerIndex(lambda: client, collection="memories")
    await index.open(fingerprint="mini", dims=4)
    await index.apply([POINT], [], revision=3)
    assert await index.count() == 1
    assert [point_id async for point_id in index.ids()] == [POINT.id]


async def test_opening_drops_the_collections_of_earlier_embedders_only(
    client: "AsyncQdrantClient",
) -> None:
    await client.create_collection("memories_of_others", vectors_config={})
    await ServerIndex(lambda: client, collection="memories").open(fingerprint="old", dims=4)
    (old,) = await names(client) - {"memories_of_others"}
    await ServerIndex(lambda: client, collection="memories").open(fingerprint="new", dims=4)
    assert old not in await names(client)
    assert "memories_of_others" in await names(client)
    assert len(await names(client)) == 2


async def test_a_collection_whose_creation_was_cut_short_is_made_anew(
    client: "AsyncQdrantClient",
) -> None:
    await ServerIndex(lambda: client, collection="memories").open(fingerprint="mini", dims=4)
    (name,) = await names(client)
    await client.delete_collection(name)
    await client.create_collection(name, vectors_config={})
    index = ServerIndex(lambda: client, collection="memories")
    assert await index.open(fingerprint="mini", dims=4) == 0
    await index.apply([POINT], [], revision=1)
    assert await index.count() == 1


async def test_a_server_that_is_away_is_an_index_error() -> None:
    index = ServerIndex(server_at("http://127.0.0.1:9"), collection="memories")
    with pytest.raises(VectorIndexError, match="cannot open the index"):
        await index.open(fingerprint="mini", dims=4)
    with pytest.raises(VectorIndexError, match="not open"):
        await index.count()


async def test_a_server_rearranges_its_collections_by_itself(client: "AsyncQdrantClient") -> None:
    index = ServerIndex(lambda: client, collection="memories")
    await index.open(fingerprint="mini", dims=4)
    assert not await index.pack()
    with pytest.raises(VectorIndexError, match="no packed edition"):
        await index.switch()

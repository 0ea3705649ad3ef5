"""What the server index does beyond the contract: its collections, and a server that's away."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.index.protocol import IndexFilter, IndexPoint, SparseVector
from synthorg_tui.memory.index.server import UNUSED_AFTER, Placement, ServerIndex, server_at
from tests.conftest import FixedClock

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


OTHER = replace(POINT, id="00000000-0000-0000-0000-000000000002")


async def opened(
    client: "AsyncQdrantClient", *, fingerprint: str = "mini", clock: Clock | None = None
) -> ServerIndex:
    """An open index of one more app on the same server."""
    index = ServerIndex(lambda: client, collection="memories", clock=clock)
    await index.open(fingerprint=fingerprint, dims=4)
    return index


async def ids(index: ServerIndex) -> list[str]:
    return [point_id async for point_id in index.ids()]


async def names(client: "AsyncQdrantClient") -> set[str]:
    return {found.name for found in (await client.get_collections()).collections}


async def test_the_point_that_holds_the_revision_is_no_memory(client: "AsyncQdrantClient") -> None:
    index = ServerIndex(lambda: client, collection="memories")
    await index.open(fingerprint="mini", dims=4)
    await index.apply([POINT], [], revision=3)
    assert await index.count() == 1
    assert [point_id async for point_id in index.ids()] == [POINT.id]


async def test_opening_drops_the_collections_of_embedders_that_nobody_uses_any_more(
    client: "AsyncQdrantClient",
) -> None:
    await client.create_collection("memories_of_others", vectors_config={})
    clock = FixedClock()
    await opened(client, fingerprint="old", clock=clock)
    (old,) = await names(client) - {"memories_of_others"}
    clock.advance(seconds=UNUSED_AFTER.total_seconds() - 1)
    await opened(client, fingerprint="new", clock=clock)
    assert old in await names(client)
    clock.advance(seconds=1)
    await opened(client, fingerprint="new", clock=clock)
    assert old not in await names(client)
    assert "memories_of_others" in await names(client)
    assert len(await names(client)) == 2


async def test_a_collection_of_another_embedder_stays_while_an_app_opens_it(
    client: "AsyncQdrantClient",
) -> None:
    clock = FixedClock()
    await opened(client, fingerprint="old", clock=clock)
    clock.advance(seconds=UNUSED_AFTER.total_seconds())
    await opened(client, fingerprint="old", clock=clock)
    await opened(client, fingerprint="new", clock=clock)
    assert len(await names(client)) == 2


async def test_what_is_deleted_is_deleted_from_the_collections_of_other_embedders(
    client: "AsyncQdrantClient",
) -> None:
    old = await opened(client, fingerprint="old")
    await old.apply([POINT, OTHER], [], revision=2)
    new = await opened(client, fingerprint="new")
    await new.apply([], [POINT.id], revision=3)
    assert await ids(old) == [OTHER.id]


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


# -- several apps on one collection


async def test_a_second_app_opens_what_the_first_has_filled(client: "AsyncQdrantClient") -> None:
    first = await opened(client)
    await first.apply([POINT], [], revision=4)
    second = ServerIndex(lambda: client, collection="memories")
    assert await second.open(fingerprint="mini", dims=4) == 4
    assert await ids(second) == [POINT.id]


async def test_each_app_sees_the_revision_that_another_applied(
    client: "AsyncQdrantClient",
) -> None:
    first, second = await opened(client), await opened(client)
    await first.apply([POINT], [], revision=4)
    assert await second.applied() == 4


async def test_the_revision_never_goes_back(client: "AsyncQdrantClient") -> None:
    first, second = await opened(client), await opened(client)
    await first.apply([POINT], [], revision=4)
    await second.apply([OTHER], [], revision=3)
    assert await first.applied() == 4


async def has(index: ServerIndex, tag: str) -> bool:
    where = IndexFilter(now=POINT.created_at, tags=(tag,))
    found = await index.search(where, dense=None, sparse=POINT.sparse, limit=5)
    return bool(found.sparse)


async def test_a_late_writer_does_not_replace_what_is_newer(client: "AsyncQdrantClient") -> None:
    quick, late = await opened(client), await opened(client)
    await quick.apply([replace(POINT, tags=("new",))], [], revision=5)
    await late.apply([replace(POINT, tags=("old",))], [], revision=4)
    assert await has(quick, "new")
    await late.apply([replace(POINT, tags=("again",))], [], revision=5)
    assert await has(quick, "again")


async def test_a_late_writer_does_not_bring_back_what_was_deleted(
    client: "AsyncQdrantClient",
) -> None:
    quick, late = await opened(client), await opened(client)
    await quick.apply([], [POINT.id], revision=5)
    await late.apply([POINT], [], revision=4)
    assert await ids(quick) == []
    assert await quick.count() == 0
    await quick.apply([POINT], [], revision=6)
    assert await ids(late) == [POINT.id]


async def test_points_read_later_than_their_revision_replace_what_is_as_new(
    client: "AsyncQdrantClient",
) -> None:
    index = await opened(client)
    await index.apply([replace(POINT, tags=("old",))], [], revision=9)
    await index.apply([replace(POINT, tags=("new",))], [], revision=3, as_of=9)
    assert await has(index, "new")
    assert await index.applied() == 9


async def test_beginning_anew_keeps_points_for_the_searches_of_others(
    client: "AsyncQdrantClient",
) -> None:
    first, second = await opened(client), await opened(client)
    await first.apply([POINT, OTHER], [], revision=2)
    await first.clear(gradually=True)
    assert await second.applied() == 0
    assert await ids(second) == [POINT.id, OTHER.id]


async def test_what_was_read_before_the_index_was_begun_anew_is_refused(
    client: "AsyncQdrantClient",
) -> None:
    first, second = await opened(client), await opened(client)
    await first.apply([POINT], [], revision=2)
    await first.clear()
    with pytest.raises(VectorIndexError, match="begun anew by another process"):
        await second.apply([OTHER], [], revision=3, since=2)
    assert await second.applied() == 0


async def test_an_app_that_dies_while_it_applies_leaves_the_revision_behind(
    client: "AsyncQdrantClient", monkeypatch: pytest.MonkeyPatch
) -> None:
    index, other = await opened(client), await opened(client)
    await index.apply([POINT], [], revision=1)

    async def dies(*_: object, **__: object) -> None:
        raise ConnectionError("gone")

    with monkeypatch.context() as patched:
        patched.setattr(client, "set_payload", dies)
        with pytest.raises(VectorIndexError):
            await index.apply([OTHER], [], revision=2, since=1)
    assert await other.applied() == 1


async def test_a_collection_is_spread_as_the_settings_say(
    client: "AsyncQdrantClient", monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, object] = {}
    create = client.create_collection

    async def noted(*names: str, **settings: object) -> bool:
        asked.update(settings)
        return await create(*names, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(client, "create_collection", noted)
    placement = Placement(shards=6, replicas=2, written_to=2, read="majority")
    index = ServerIndex(lambda: client, collection="memories", placement=placement)
    await index.open(fingerprint="mini", dims=4)
    spread = ("shard_number", "replication_factor", "write_consistency_factor")
    assert [asked[name] for name in spread] == [6, 2, 2]


async def test_a_server_that_cannot_replace_on_a_condition_is_refused(
    client: "AsyncQdrantClient", monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await client.info()

    async def older() -> object:
        return found.model_copy(update={"version": "1.15.4"})

    monkeypatch.setattr(client, "info", older)
    with pytest.raises(VectorIndexError, match=r"server is version 1\.15\.4"):
        await opened(client)

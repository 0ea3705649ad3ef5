"""The vector index on a Qdrant server or cluster, for stores that outgrow one machine.

It answers as the embedded one does, point for point: both share ``layout`` and one contract test.
"""

import hashlib
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.index.layout import (
    DENSE,
    FORMAT_VERSION,
    KEYWORD_FIELDS,
    NUMBER_FIELDS,
    SPARSE,
    TENANT_FIELD,
    Absent,
    Between,
    Condition,
    FieldMatch,
    PayloadFilter,
    conditions,
    payload,
)
from synthorg_tui.memory.index.protocol import (
    IndexFilter,
    IndexHit,
    IndexHits,
    IndexPoint,
    SparseVector,
)
from synthorg_tui.providers.embedding.protocol import Vectors

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, models

_BATCH = 256
_PAGE = 1_000
_META_ID = str(uuid.UUID(int=0))
_REVISION = "applied_revision"

Connect = Callable[[], "AsyncQdrantClient"]


def server_at(url: str, *, api_key: str | None = None) -> Connect:
    """Return a function that creates a client for the server at ``url``, for ``ServerIndex``."""

    def connect() -> "AsyncQdrantClient":
        from qdrant_client import AsyncQdrantClient

        # Checking the version would call the server here, in the constructor and on the loop.
        return AsyncQdrantClient(url=url, api_key=api_key, check_compatibility=False)

    return connect


class ServerIndex:
    """``VectorIndex`` in a collection on a Qdrant server.

    The collection's name is ``collection`` followed by a hash that identifies the embedder. One
    store owns all collections with that prefix: opening the index for another embedder deletes the
    earlier ones, so that no memory purged later survives in them.

    The applied revision is stored in a point of the same collection, without vectors. The server
    writes it after the changes it refers to, so it is never ahead of them.

    Args:
        connect: Creates the client; called by ``open``.
        collection: Prefix of the collection's name.
    """

    def __init__(self, connect: Connect, *, collection: str) -> None:
        self._connect = connect
        self._prefix = collection
        self._client: AsyncQdrantClient | None = None
        self._collection = ""
        self._dims = 0
        self._applied = 0

    async def open(self, *, fingerprint: str, dims: int) -> int:
        """Connect, open or create the embedder's collection, and return its latest revision."""
        if self._client is not None:
            raise VectorIndexError("the index is open already")
        key = f"{FORMAT_VERSION}|{dims}|{fingerprint}".encode()
        self._collection = f"{self._prefix}_{hashlib.sha256(key).hexdigest()[:12]}"
        self._dims = dims
        try:
            with _server_errors("open the index"):
                self._client = self._connect()
                await self._drop_collections(keep=self._collection)
                self._applied = await self._open_collection()
        except BaseException:
            await self.close()
            raise
        return self._applied

    async def close(self) -> None:
        """Disconnect; all applied changes are on the server already."""
        client, self._client = self._client, None
        if client is not None:
            with _server_errors("close the index"):
                await client.close()

    async def rest(self) -> None:
        """Do nothing: the memory is the server's."""

    async def apply(
        self, upserts: Sequence[IndexPoint], deletes: Sequence[str], *, revision: int
    ) -> None:
        """Insert, replace and delete points; ids in both lists are deleted."""
        client = self._opened()
        with _server_errors("update the index"):
            for first in range(0, len(upserts), _BATCH):
                batch = [_point(point) for point in upserts[first : first + _BATCH]]
                await client.upsert(self._collection, batch, wait=True)
            if deletes:
                await client.delete(self._collection, list(deletes), wait=True)
            await self._write_revision(max(self._applied, revision))

    async def search(
        self,
        where: IndexFilter,
        *,
        dense: Vectors | None,
        sparse: SparseVector | None,
        limit: int,
    ) -> IndexHits:
        """Return the dense and the sparse ranking of one search; equal scores are ordered by id."""
        from qdrant_client import models

        client = self._opened()
        queries: dict[str, list[float] | models.SparseVector] = {}
        if dense is not None:
            queries[DENSE] = dense.tolist()
        if sparse is not None and not sparse.is_empty:
            queries[SPARSE] = _sparse(sparse)
        if not queries:
            return IndexHits()
        wanted = _filter(conditions(where))
        requests = [
            models.QueryRequest(query=query, using=using, filter=wanted, limit=limit)
            for using, query in queries.items()
        ]
        with _server_errors("search the index"):
            answers = await client.query_batch_points(self._collection, requests)
        found = {
            using: _hits(answer.points) for using, answer in zip(queries, answers, strict=True)
        }
        return IndexHits(dense=found.get(DENSE, ()), sparse=found.get(SPARSE, ()))

    async def count(self) -> int:
        """Return the number of points in the index."""
        client = self._opened()
        with _server_errors("count the index"):
            answer = await client.count(self._collection, count_filter=_memories(), exact=True)
        return answer.count

    async def ids(self) -> AsyncIterator[str]:
        """Yield the ids of all points, ascending; points added meanwhile may be missed."""
        client, offset = self._opened(), None
        while True:
            with _server_errors("list the index"):
                records, offset = await client.scroll(
                    self._collection,
                    scroll_filter=_memories(),
                    limit=_PAGE,
                    offset=offset,
                    with_payload=False,
                )
            for record in records:
                yield str(record.id)
            if offset is None:
                return

    async def clear(self) -> None:
        """Delete the collection and create an empty one."""
        client = self._opened()
        with _server_errors("clear the index"):
            await client.delete_collection(self._collection)
            self._applied = await self._open_collection()

    async def pack(self, *, erase: bool = False) -> bool:
        """Never: the server rearranges its collections by itself."""
        return False

    async def switch(self) -> int:
        """Refused: there is no packed edition."""
        raise VectorIndexError("an index on a server has no packed edition")

    async def _open_collection(self) -> int:
        client = self._opened()
        if await client.collection_exists(self._collection):
            meta = await client.retrieve(self._collection, [_META_ID])
            if meta and meta[0].payload and isinstance(meta[0].payload.get(_REVISION), int):
                return int(meta[0].payload[_REVISION])
            await client.delete_collection(self._collection)  # its creation was cut short
        await self._create_collection()
        return 0

    async def _create_collection(self) -> None:
        from qdrant_client import models

        client = self._opened()
        dense = models.VectorParams(
            size=self._dims,
            distance=models.Distance.COSINE,
            datatype=models.Datatype.FLOAT16,
        )
        await client.create_collection(
            self._collection,
            vectors_config={DENSE: dense},
            sparse_vectors_config={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
        schemas: dict[str, models.KeywordIndexParams | models.FloatIndexParams] = {
            field: models.KeywordIndexParams(
                type=models.KeywordIndexType.KEYWORD, is_tenant=field == TENANT_FIELD
            )
            for field in KEYWORD_FIELDS
        }
        number = models.FloatIndexParams(type=models.FloatIndexType.FLOAT)
        schemas |= dict.fromkeys(NUMBER_FIELDS, number)
        for field, schema in schemas.items():
            await client.create_payload_index(self._collection, field, schema)
        await self._write_revision(0)

    async def _write_revision(self, revision: int) -> None:
        from qdrant_client import models

        meta = models.PointStruct(id=_META_ID, vector={}, payload={_REVISION: revision})
        await self._opened().upsert(self._collection, [meta], wait=True)
        self._applied = revision

    async def _drop_collections(self, *, keep: str) -> None:
        client = self._opened()
        mine = re.compile(re.escape(self._prefix) + r"_[0-9a-f]{12}")
        for collection in (await client.get_collections()).collections:
            if mine.fullmatch(collection.name) and collection.name != keep:
                await client.delete_collection(collection.name)

    def _opened(self) -> "AsyncQdrantClient":
        if self._client is None:
            raise VectorIndexError("the index is not open")
        return self._client


@contextmanager
def _server_errors(action: str) -> Iterator[None]:
    """Turn what the client raises into ``VectorIndexError``."""
    try:
        yield
    except (VectorIndexError, MemoryError, RecursionError):
        raise
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise VectorIndexError(f"cannot {action}: {reason}") from error


def _memories() -> "models.Filter":
    """Every point but the one that holds the revision."""
    from qdrant_client import models

    return models.Filter(must_not=[models.HasIdCondition(has_id=[_META_ID])])


def _point(point: IndexPoint) -> "models.PointStruct":
    from qdrant_client import models

    vectors: dict[str, list[float] | models.SparseVector] = {}
    if point.dense is not None:
        vectors[DENSE] = point.dense.tolist()
    if not point.sparse.is_empty:
        vectors[SPARSE] = _sparse(point.sparse)
    return models.PointStruct(id=point.id, vector=vectors, payload=payload(point))


def _sparse(vector: SparseVector) -> "models.SparseVector":
    from qdrant_client import models

    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def _hits(points: "Sequence[models.ScoredPoint]") -> tuple[IndexHit, ...]:
    hits = [IndexHit(str(point.id), point.score) for point in points]
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id)))


def _filter(where: PayloadFilter) -> "models.Filter":
    from qdrant_client import models

    return models.Filter(
        must=[_condition(condition) for condition in where.must] or None,
        should=[_condition(condition) for condition in where.should] or None,
        must_not=[_condition(condition) for condition in where.must_not] or None,
    )


def _condition(
    condition: Condition,
) -> "models.FieldCondition | models.IsEmptyCondition | models.Filter":
    from qdrant_client import models

    match condition:
        case FieldMatch(field, values):
            return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))
        case Between(field, at_least, less_than, at_most):
            bounds = models.Range(gte=at_least, lt=less_than, lte=at_most)
            return models.FieldCondition(key=field, range=bounds)
        case Absent(field):
            return models.IsEmptyCondition(is_empty=models.PayloadField(key=field))
        case PayloadFilter():
            return _filter(condition)

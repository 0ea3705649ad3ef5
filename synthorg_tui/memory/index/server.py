"""The vector index on a Qdrant server or cluster, for stores that outgrow one machine.

It answers as the embedded one does, point for point: both share ``layout`` and one contract test.
Several processes may bring one collection up to date: each point carries the revision that it is as
of, and is only replaced by what is at least as new.
"""

import hashlib
import logging
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from synthorg_tui.core.clock import Clock, SystemClock
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
    ranking,
)
from synthorg_tui.memory.index.protocol import (
    IndexFilter,
    IndexHits,
    IndexPoint,
    SparseVector,
)
from synthorg_tui.providers.embedding.protocol import Vectors

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, models

_log = logging.getLogger(__name__)

UNUSED_AFTER: Final = timedelta(days=7)
"""How long no app must have used a collection of another embedder until it is dropped."""
OLDEST_SERVER: Final = (1, 16)
"""The version of Qdrant that can replace a point on a condition."""
_BATCH = 256
_PAGE = 1_000
_MARK_ID: Final = str(uuid.UUID(int=0))
_REVISION: Final = "applied_revision"
_EDITION: Final = "edition"
_USED: Final = "used_at"
_AS_OF: Final = "as_of"
_GONE: Final = "gone"

ReadConsistency: TypeAlias = int | Literal["majority", "quorum", "all"] | None
Connect = Callable[[], "AsyncQdrantClient"]


def server_at(url: str, *, api_key: str | None = None) -> Connect:
    """Return a function that creates a client for the server at ``url``, for ``ServerIndex``."""

    def connect() -> "AsyncQdrantClient":
        from qdrant_client import AsyncQdrantClient

        # Checking the version would call the server here, in the constructor and on the loop.
        return AsyncQdrantClient(url=url, api_key=api_key, check_compatibility=False)

    return connect


class Placement(NamedTuple):
    """How a cluster holds a collection; ``None`` is the server's own default.

    ``replicas`` copies of each of ``shards`` parts; a write is done once ``written_to`` copies have
    it; ``read`` is how many copies a search asks.
    """

    shards: int | None = None
    replicas: int | None = None
    written_to: int | None = None
    read: ReadConsistency = None


class Applied(NamedTuple):
    """The latest revision that an edition of a collection contains.

    An edition begins with each clearing: what was applied to the one before says nothing of it.
    """

    edition: str
    revision: int


class CollectionMark:
    """The point of a collection that says how far it is, for all processes that share it.

    Nothing of it is kept in the process: another one may have applied changes, or begun the index
    anew, since it was read. Its methods raise the client's errors.

    Args:
        client: Connected to the server.
        collection: Name of the collection, which exists.
        read: How many copies are asked; an older answer only means that more is applied again.
    """

    def __init__(
        self, client: "AsyncQdrantClient", collection: str, *, read: "ReadConsistency" = None
    ) -> None:
        self._client = client
        self._collection = collection
        self._read = read

    async def begin(self, now: datetime) -> int:
        """Note that the collection is used, and return its latest revision, 0 for a new one."""
        await self._put({_EDITION: _new_edition(), _REVISION: 0}, only_new=True)
        mark = await self.read()
        if not mark.edition:  # a version wrote it that knew no editions
            await self._set({_EDITION: _new_edition()})
        await self._set({_USED: now.timestamp()})
        return mark.revision

    async def read(self) -> Applied:
        """Return how far the collection is now."""
        fields = await self._fields()
        revision = fields.get(_REVISION)
        edition = str(fields.get(_EDITION, ""))
        return Applied(edition, revision if isinstance(revision, int) else 0)

    async def advance(self, since: Applied, revision: int) -> None:
        """Note that everything up to ``revision`` is applied to the edition that ``since`` is of.

        Does nothing when it is further already, or when the index was begun anew meanwhile.
        """
        from qdrant_client import models

        is_same = models.FieldCondition(key=_EDITION, match=models.MatchValue(value=since.edition))
        is_behind = models.FieldCondition(key=_REVISION, range=models.Range(lt=revision))
        await self._set({_REVISION: revision}, is_same, is_behind)

    async def restart(self) -> None:
        """Begin another edition, to which nothing is applied yet."""
        await self._put({**await self._fields(), _EDITION: _new_edition(), _REVISION: 0})

    async def unused_for(self, now: datetime) -> timedelta:
        """Return how long no app has opened the collection.

        One that an earlier version of the program left counts as used just now, and from now on.
        """
        used = (await self._fields()).get(_USED)
        if not isinstance(used, int | float):
            await self._set({_USED: now.timestamp()})
            return timedelta(0)
        return now - datetime.fromtimestamp(used, UTC)

    async def _fields(self) -> dict[str, object]:
        asked = _consistency_of(self._read)
        found = await self._client.retrieve(self._collection, [_MARK_ID], consistency=asked)
        return dict(found[0].payload or {}) if found else {}

    async def _put(self, fields: dict[str, object], *, only_new: bool = False) -> None:
        from qdrant_client import models

        never = models.Filter(must_not=[models.HasIdCondition(has_id=[_MARK_ID])])
        mark = models.PointStruct(id=_MARK_ID, vector={}, payload=fields)
        await self._client.upsert(
            self._collection, [mark], wait=True, update_filter=never if only_new else None
        )

    async def _set(self, fields: dict[str, object], *conditions: "models.FieldCondition") -> None:
        """Set fields of the point that is there, if the conditions hold for it."""
        from qdrant_client import models

        mark = models.Filter(must=[models.HasIdCondition(has_id=[_MARK_ID]), *conditions])
        await self._client.set_payload(self._collection, fields, points=mark, wait=True)


class ServerIndex:
    """``VectorIndex`` in a collection on a Qdrant server, which several processes may share.

    The collection's name is ``collection`` followed by a hash that identifies the embedder. Opening
    the index deletes collections with that prefix which no app has used for ``UNUSED_AFTER``, so
    that no memory purged later survives in them; until then what is deleted here is deleted there.

    What is deleted leaves a point without vectors and with nothing but its revision, so that a
    process that read it before can't bring it back. The applied revision is in a point of its own
    (``CollectionMark``), written after the changes it refers to.

    Args:
        connect: Creates the client; called by ``open``.
        collection: Prefix of the collection's name.
        placement: How a new collection is spread over a cluster, and how it is read.
        clock: Tells how long a collection wasn't used.
    """

    def __init__(
        self,
        connect: Connect,
        *,
        collection: str,
        placement: Placement | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._connect = connect
        self._prefix = collection
        self._placement = placement or Placement()
        self._clock = clock or SystemClock()
        self._client: AsyncQdrantClient | None = None
        self._collection = ""
        self._dims = 0
        self._others: list[str] = []

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
                await self._require_version()
                await self._open_collection()
                self._others = await self._collections_in_use()
                return await self._mark().begin(self._clock.now())
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Disconnect; all applied changes are on the server already."""
        client, self._client = self._client, None
        if client is not None:
            with _server_errors("close the index"):
                await client.close()

    async def rest(self) -> None:
        """Do nothing: the memory is the server's."""

    async def applied(self) -> int:
        """Return the latest revision that the collection contains, applied by any process."""
        with _server_errors("read the index's revision"):
            return (await self._mark().read()).revision

    async def apply(
        self,
        upserts: Sequence[IndexPoint],
        deletes: Sequence[str],
        *,
        revision: int,
        as_of: int | None = None,
        since: int = 0,
    ) -> None:
        """Insert, replace and delete points; ids in both lists are deleted."""
        from qdrant_client import models

        moment = revision if as_of is None else as_of
        with _server_errors("update the index"):
            gone = [
                models.PointStruct(id=key, vector={}, payload={_AS_OF: moment, _GONE: True})
                for key in deletes
            ]
            mark = await self._mark().read()
            if mark.revision < since:
                raise VectorIndexError("the index was begun anew by another process")
            await self._put([_point(point, moment) for point in upserts], moment)
            await self._put(gone, moment)
            for other in self._others if deletes else ():
                with suppress(Exception):  # its own apps delete it, too
                    await self._opened().delete(other, list(deletes), wait=False)
            await self._mark().advance(mark, revision)

    async def _put(self, points: "list[models.PointStruct]", moment: int) -> None:
        from qdrant_client import models

        is_older = models.Filter(
            should=[
                models.FieldCondition(key=_AS_OF, range=models.Range(lte=moment)),
                models.IsEmptyCondition(is_empty=models.PayloadField(key=_AS_OF)),
            ]
        )
        for first in range(0, len(points), _BATCH):
            await self._opened().upsert(
                self._collection,
                points[first : first + _BATCH],
                wait=True,
                update_filter=is_older,
            )

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
            answers = await client.query_batch_points(
                self._collection, requests, consistency=_consistency_of(self._placement.read)
            )
        found = {
            using: ranking(answer.points) for using, answer in zip(queries, answers, strict=True)
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

    async def clear(self, *, gradually: bool = False) -> None:
        """Begin anew: any revision may be applied next.

        What others apply meanwhile doesn't count, or it would make the index seem complete.
        """
        with _server_errors("clear the index"):
            await self._mark().restart()
            if not gradually:
                await self._opened().delete(self._collection, _all_but_mark(), wait=True)
                await self._mark().restart()

    async def pack(self, *, erase: bool = False) -> bool:
        """Never: the server rearranges its collections by itself."""
        return False

    async def switch(self) -> int:
        """Refused: there is no packed edition."""
        raise VectorIndexError("an index on a server has no packed edition")

    async def _require_version(self) -> None:
        version = (await self._opened().info()).version
        found = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        if found < OLDEST_SERVER:
            wanted = ".".join(map(str, OLDEST_SERVER))
            raise VectorIndexError(
                f"the Qdrant server is version {version}; {wanted} is the oldest that can be used",
                remedy="Update the server, or set memory.storage.vector_store to qdrant.",
            )

    async def _open_collection(self) -> None:
        client = self._opened()
        if await client.collection_exists(self._collection):
            params = (await client.get_collection(self._collection)).config.params
            if DENSE in (params.vectors or {}):
                self._tell_differences(params)
                return
            await client.delete_collection(self._collection)  # its creation was cut short
        try:
            await self._create_collection()
        except Exception:
            # Another app may have been quicker by a moment.
            if not await client.collection_exists(self._collection):
                raise

    def _tell_differences(self, params: "models.CollectionParams") -> None:
        placed = {
            "shards": (self._placement.shards, params.shard_number),
            "replication_factor": (self._placement.replicas, params.replication_factor),
            "write_consistency_factor": (
                self._placement.written_to,
                params.write_consistency_factor,
            ),
        }
        for name, (wanted, found) in placed.items():
            if None not in (wanted, found) and wanted != found:
                _log.warning(
                    "collection %s has %s %s, not %s: delete it on the server to have it made anew",
                    *(self._collection, name, found, wanted),
                )

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
            shard_number=self._placement.shards,
            replication_factor=self._placement.replicas,
            write_consistency_factor=self._placement.written_to,
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

    async def _collections_in_use(self) -> list[str]:
        """Drop unused collections of other embedders and return the names of the used ones."""
        client, kept = self._opened(), []
        mine = re.compile(re.escape(self._prefix) + r"_[0-9a-f]{12}")
        now = self._clock.now()
        for found in (await client.get_collections()).collections:
            if not mine.fullmatch(found.name) or found.name == self._collection:
                continue
            with suppress(Exception):  # another app may be dropping it
                if await CollectionMark(client, found.name).unused_for(now) < UNUSED_AFTER:
                    kept.append(found.name)
                else:
                    await client.delete_collection(found.name)
        return kept

    def _mark(self) -> CollectionMark:
        return CollectionMark(self._opened(), self._collection, read=self._placement.read)

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


def _consistency_of(read: ReadConsistency) -> "int | models.ReadConsistencyType | None":
    """Return how many copies are asked, as the client takes it."""
    from qdrant_client import models

    return models.ReadConsistencyType(read) if isinstance(read, str) else read


def _new_edition() -> str:
    return uuid.uuid4().hex


def _all_but_mark() -> "models.Filter":
    from qdrant_client import models

    return models.Filter(must_not=[models.HasIdCondition(has_id=[_MARK_ID])])


def _memories() -> "models.Filter":
    """Every point that stands for a memory."""
    from qdrant_client import models

    is_gone = models.FieldCondition(key=_GONE, match=models.MatchValue(value=True))
    return models.Filter(must_not=[models.HasIdCondition(has_id=[_MARK_ID]), is_gone])


def _point(point: IndexPoint, as_of: int) -> "models.PointStruct":
    from qdrant_client import models

    vectors: dict[str, list[float] | models.SparseVector] = {}
    if point.dense is not None:
        vectors[DENSE] = point.dense.tolist()
    if not point.sparse.is_empty:
        vectors[SPARSE] = _sparse(point.sparse)
    fields = {**payload(point), _AS_OF: as_of}
    return models.PointStruct(id=point.id, vector=vectors, payload=fields)


def _sparse(vector: SparseVector) -> "models.SparseVector":
    from qdrant_client import models

    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


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

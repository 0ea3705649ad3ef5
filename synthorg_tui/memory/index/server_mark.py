"""How far a collection on a server is, in a point of its own, for all processes that share it.

Nothing here is kept in the process: another one may have applied changes, or begun the index anew,
since it was read.
"""

import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, models

MARK_ID: Final = str(uuid.UUID(int=0))
_REVISION: Final = "applied_revision"
_EDITION: Final = "edition"
_USED: Final = "used_at"

ReadConsistency: TypeAlias = int | Literal["majority", "quorum", "all"] | None


class Applied(NamedTuple):
    """The latest revision that an edition of a collection contains.

    An edition begins with each clearing: what was applied to the one before says nothing of it.
    """

    edition: str
    revision: int


class CollectionMark:
    """The point of a collection that says how far it is; its methods raise what the client does.

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
        asked = consistency_of(self._read)
        found = await self._client.retrieve(self._collection, [MARK_ID], consistency=asked)
        return dict(found[0].payload or {}) if found else {}

    async def _put(self, fields: dict[str, object], *, only_new: bool = False) -> None:
        from qdrant_client import models

        never = models.Filter(must_not=[models.HasIdCondition(has_id=[MARK_ID])])
        mark = models.PointStruct(id=MARK_ID, vector={}, payload=fields)
        await self._client.upsert(
            self._collection, [mark], wait=True, update_filter=never if only_new else None
        )

    async def _set(self, fields: dict[str, object], *conditions: "models.FieldCondition") -> None:
        """Set fields of the point that is there, if the conditions hold for it."""
        from qdrant_client import models

        mark = models.Filter(must=[models.HasIdCondition(has_id=[MARK_ID]), *conditions])
        await self._client.set_payload(self._collection, fields, points=mark, wait=True)


def consistency_of(read: ReadConsistency) -> "int | models.ReadConsistencyType | None":
    """Return how many copies are asked, as the client takes it."""
    from qdrant_client import models

    return models.ReadConsistencyType(read) if isinstance(read, str) else read


def _new_edition() -> str:
    return uuid.uuid4().hex

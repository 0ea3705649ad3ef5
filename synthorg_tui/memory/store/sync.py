"""Keeps the vector index up to date with the database, by revision.

The database is right and the index follows: what failed is replayed, never the other way round.
"""

import logging
from collections.abc import Sequence
from datetime import UTC
from functools import partial
from typing import NamedTuple

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel, OrgFactCategory
from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.index.protocol import IndexPoint, VectorIndex
from synthorg_tui.memory.listing import ORG_NAMESPACE, ORG_OWNER
from synthorg_tui.memory.org.log import FactRow, rows_of_ids, tags_of
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.rows import StoredMemory
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import aware
from synthorg_tui.providers.embedding.protocol import Vectors

_log = logging.getLogger(__name__)

REPLAY_BATCH = 500
OPENING_BATCHES = 10
"""Batches that opening waits for, a second or two; an index that is built anew takes a minute."""


class _Missed(NamedTuple):
    """A batch of changes up to ``revision``, as points of a snapshot at revision ``as_of``."""

    size: int
    upserts: list[IndexPoint]
    deletes: list[str]
    revision: int
    as_of: int


class Projection:
    """The vector index as a projection of the database, updated in order of revisions.

    After a failed update it is behind, and the missed revisions are replayed from the database
    before it is used again.
    """

    def __init__(
        self, database: StoreDatabase, index: VectorIndex, tokenizer: BM25Tokenizer
    ) -> None:
        self._database = database
        self.index = index
        self._tokenizer = tokenizer
        self._fingerprint = ""
        self.applied = 0
        self.is_behind = False
        self.was_empty = False
        """Whether the index was new when it was opened."""
        self.lacks_vectors = False
        """Whether a memory or fact that was read for the index had no vector."""

    async def open(
        self, *, epoch: str, fingerprint: str, dims: int, revision: int, has_purged: bool = False
    ) -> None:
        """Open the index and replay changes up to ``revision``; raises ``VectorIndexError``.

        Where others write to the database, all of theirs are replayed, too. When there are many,
        only some are replayed and the index is behind afterwards. ``epoch`` identifies the database
        file, so that an index built from another one, such as before a restored backup, is
        discarded. With ``has_purged`` an index that starts anew leaves no damaged one beside it.
        """
        self._fingerprint = fingerprint
        self.applied = await self.index.open(fingerprint=f"{epoch}/{fingerprint}", dims=dims)
        if self._database.is_shared:
            # Read after the index: other apps may apply to it what they have just written.
            revision = await self._database.read(queries.last_revision)
        self.was_empty = self.applied == 0 or self.applied > revision
        if self.applied > revision or (self.was_empty and has_purged):
            await self.index.clear()
            self.applied = 0
        self.is_behind = self.applied < revision
        await self.catch_up(batches=OPENING_BATCHES)

    async def apply(
        self,
        points: Sequence[tuple[StoredMemory, Vectors | None]],
        touched: Sequence[str],
        *,
        since: int,
        revision: int,
    ) -> None:
        """Apply the changes of a committed transaction, from after ``since`` to ``revision``.

        ``points`` are complete; ``touched`` are ids to be looked up in the database. Where the
        index lacks what others wrote before, both are replayed. A failure is logged and leaves the
        index behind.
        """
        if self.is_behind or self.applied < since:
            was_behind, self.is_behind = self.is_behind, True
            await self.catch_up(batches=1 if was_behind else OPENING_BATCHES)
            return
        self.is_behind = True  # until proven otherwise: being cancelled halfway counts as failed
        try:
            upserts = [self._point(row, vector) for row, vector in points]
            deletes: list[str] = []
            if touched:
                loaded, deletes = await self._database.read(lambda db: self._load(db, touched))
                upserts += loaded
            await self.index.apply(upserts, deletes, revision=revision, since=since)
        except VectorIndexError as error:
            _log.warning("index is behind and will be replayed: %s", error)
            return
        self.applied, self.is_behind = revision, False

    async def catch_up(self, *, batches: int | None = None) -> None:
        """Replay missed revisions, at most ``batches`` batches; all by default.

        A failure leaves the rest for a later call.
        """
        done = 0
        while self.is_behind and done != batches:
            done += 1
            try:
                await self.step()
            except VectorIndexError as error:
                _log.warning("index is still behind: %s", error)
                return

    async def look(self, revision: int) -> None:
        """Find out whether the index contains ``revision``, which any process may have applied."""
        self.applied = await self.index.applied()
        self.is_behind = self.applied < revision

    async def step(self) -> int:
        """Replay one batch of missed changes and return its size; raises ``VectorIndexError``."""
        since = self.applied = await self.index.applied()
        missed = await self._database.read(lambda db: self._missed(db, since))
        if missed.size:
            await self.index.apply(
                missed.upserts,
                missed.deletes,
                revision=missed.revision,
                as_of=missed.as_of,
                since=since,
            )
            self.applied = missed.revision
        self.is_behind = missed.size == REPLAY_BATCH
        return missed.size

    def _missed(self, db: Connection, since: int) -> "_Missed":
        """The next batch of changes, with what they are of one snapshot."""
        changes = queries.changes_since(db, since, REPLAY_BATCH)
        if not changes:
            return _Missed(0, [], [], since, since)
        upserts, deletes = self._load(db, [memory_id for memory_id, _ in changes])
        as_of = queries.last_revision(db)
        return _Missed(len(changes), upserts, deletes, changes[-1][1], as_of)

    async def start_over(self) -> None:
        """Have everything replayed; the index is behind until then.

        Where others search it, too, they find meanwhile what was in it.
        """
        self.is_behind = True
        self.applied = 0
        await self.index.clear(gradually=True)

    async def switch(self) -> int:
        """Use the packed edition and replay what has changed since it was made.

        Return the revision at which it was made.
        """
        self.is_behind = True
        made_at = self.applied = await self.index.switch()
        self.is_behind = True  # a search meanwhile saw the edition before
        await self.catch_up()
        return made_at

    async def repair(self, ids: Sequence[str]) -> None:
        """Make the index points of these memories match the database."""
        for first in range(0, len(ids), REPLAY_BATCH):
            load = partial(self._present, ids=ids[first : first + REPLAY_BATCH])
            upserts, deletes, as_of = await self._database.read(load)
            await self.index.apply(upserts, deletes, revision=self.applied, as_of=as_of)

    def _present(
        self, db: Connection, ids: Sequence[str]
    ) -> tuple[list[IndexPoint], list[str], int]:
        """What ``_load`` returns, and the revision that it is as of."""
        return *self._load(db, ids), queries.last_revision(db)

    def _load(self, db: Connection, ids: Sequence[str]) -> tuple[list[IndexPoint], list[str]]:
        """The points of live memories and active facts, and the ids of all others."""
        import numpy as np

        rows = queries.rows_by_id(db, ids)
        live = {i: row for i, row in rows.items() if row.is_current}
        found = rows_of_ids(db, [i for i in ids if i not in rows])
        facts = {i: row for i, row in found.items() if row.is_active}
        known = [*live, *facts]
        blobs = queries.vectors_by_id(db, known, self._fingerprint) if known else {}
        vectors = {i: np.frombuffer(blob, np.float32) for i, blob in blobs.items()}
        self.lacks_vectors = self.lacks_vectors or len(vectors) < len(known)
        points = [self._point(row, vectors.get(i)) for i, row in live.items()]
        points += [self._fact_point(row, vectors.get(i)) for i, row in facts.items()]
        return points, [i for i in ids if i not in live and i not in facts]

    def _fact_point(self, row: FactRow, vector: Vectors | None) -> IndexPoint:
        """A fact under the reserved owner; its category and project are in the fields for them."""
        category = OrgFactCategory(row.category)
        is_procedure = category is OrgFactCategory.PROCEDURE
        tags = tags_of(row.tags)
        return IndexPoint(
            id=row.fact_id,
            agent_id=ORG_OWNER,
            category=MemoryCategory.PROCEDURAL if is_procedure else MemoryCategory.SEMANTIC,
            namespace=ORG_NAMESPACE,
            tags=(*tags, category.value),
            created_at=row.created_at.replace(tzinfo=UTC),
            expires_at=None,
            shared=False,
            level=MemoryLevel.PERSISTENT.value,
            session_id=None,
            project=OrgTraits.of(tags).project or None,
            dense=vector,
            sparse=self._tokenizer.encode_document(row.content),
        )

    def _point(self, row: StoredMemory, vector: Vectors | None) -> IndexPoint:
        return IndexPoint(
            id=row.id,
            agent_id=row.agent_id,
            category=MemoryCategory(row.category),
            namespace=row.namespace,
            tags=row.tags,
            created_at=row.created_at.replace(tzinfo=UTC),
            expires_at=aware(row.expires_at),
            shared=row.shared,
            level=row.level,
            session_id=row.session_id,
            project=row.project,
            dense=vector,
            sparse=self._tokenizer.encode_document(row.content),
        )

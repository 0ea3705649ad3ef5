"""The parts shared by the local store's modules: transactions, embedding, index, policy.

Changes pass through ``Core.change`` alone, which commits a transaction and brings the index up to
its revision as one step. The SQL that reads and writes is in ``queries`` and ``writes``.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from synthorg_tui.core.clock import Clock, SystemClock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.projects import use_projects
from synthorg_tui.memory.errors import (
    MemoryConnectionError,
    MemoryRetrievalError,
    MemoryStoreError,
    VectorIndexError,
    duckdb_error,
    translate_errors,
)
from synthorg_tui.memory.index.protocol import VectorIndex, Visibility
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.models import MemoryEntry, MemoryMetadata
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer, is_in_english
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.idle import IdleRelease
from synthorg_tui.memory.store.policy import AgeRules, LiveBound, StorePolicy
from synthorg_tui.memory.store.residue import ERASED_AFTER, ERASED_ON_CLOSE, Remains, Residue, Share
from synthorg_tui.memory.store.rows import StoredMemory, listed
from synthorg_tui.memory.store.sync import Projection
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.project_rows import load_projects
from synthorg_tui.persistence.values import naive_utc
from synthorg_tui.providers.embedding.config import MODEL_ID
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.protocol import Embedder, Vectors

if TYPE_CHECKING:
    from synthorg_tui.memory.store.writes import Changes


T = TypeVar("T")

_log = logging.getLogger(__name__)

FOLLOWED_BATCHES: Final = 3
"""Batches of other processes' changes that a search waits for, half a second."""


class Core:
    """Database, vector index, embedder, clock and policy of a store, opened and closed together.

    Args:
        database: Holds the memories; opened with the store unless it is open already.
        index: Vector index derived from the database; the store opens and closes it.
        embedder: Computes the vectors of contents and queries.
        clock: Current time, for creation times and expiry.
        policy: Visibility, retention and maximum number of an agent's memories.
        unload_after: How long nothing must be searched or changed until model and index leave
            memory; ``None`` keeps them there.
    """

    def __init__(
        self,
        *,
        database: StoreDatabase,
        index: VectorIndex,
        embedder: Embedder,
        clock: Clock | None = None,
        policy: StorePolicy | None = None,
        unload_after: timedelta | None = None,
    ) -> None:
        self.database = database
        self.embedder = embedder
        self.clock = clock or SystemClock()
        self.policy = policy or StorePolicy()
        self.ages = AgeRules.of(self.policy)
        self.live_bounds: dict[str, LiveBound] = {}
        self.moved = 0.0  # how much higher similarities are than with the base embedder
        self.tokenizer = BM25Tokenizer()
        self._projection = Projection(database, index, self.tokenizer)
        self.salt = ""
        self.is_open = False
        self._epoch = ""
        self._index_open = False
        self._opening = asyncio.Lock()
        self._opened_database = False
        self._revision = 0
        self._catching_up: asyncio.Task[None] | None = None
        self._unembedded: int | None = None
        self._counting = asyncio.Lock()
        self._residue = Residue(database)
        self._erasing: asyncio.Task[None] | None = None
        self._one_packing = asyncio.Lock()
        # A commit and its index update form one step, so that the index gets revisions in order.
        self._order = asyncio.Lock()
        self.idle = IdleRelease(
            self.clock,
            unload_after,
            is_busy=self._is_at_work,
            steps=(embedder.unload, index.rest, database.give_back_memory),
        )

    async def open(self) -> None:
        """Open the store's database; do nothing when open already.

        The index is opened when it is first needed, since listing memories doesn't use it.
        """
        if self.is_open:
            return
        self._opened_database = not self.database.is_open
        await self.database.open()
        try:
            await self.database.read(self._load)
            self.ages = await AgeRules.of_store(self.database, self.policy)
        except BaseException:
            await self._close_database()
            raise
        self._unembedded = None if self._revision else 0
        self.is_open = True

    def asks_by_meaning(self, text: str) -> bool:
        """Return whether the embedder knows the language of a query; the bundled one only English.

        Of other languages its similarities tell nothing: words decide, and nonsense finds nothing.
        """
        return MODEL_ID not in self.embedder.fingerprint or is_in_english(text)

    async def indexed(self, since: int | None = None) -> Projection:
        """Return the index, opened if necessary and updated with changes that it has missed.

        With ``since``, those after that revision are left to the caller. Raises
        ``VectorIndexError``, and ``EmbeddingError`` when the length of the embedder's vectors can't
        be determined.
        """
        self.check_open()
        self.idle.used()
        async with self._opening:
            if not self._index_open:
                await self._projection.open(
                    epoch=self._epoch,
                    fingerprint=self.embedder.fingerprint,
                    dims=self.embedder.dims,
                    has_purged=self.remains.index,
                    revision=self._revision if since is None else since,
                )
                self._index_open = True
                if self._projection.was_empty:  # it never had what was purged before
                    await self._residue.note_index_erased(self._revision)
                self._catch_up_soon()
        return self._projection

    async def close(self) -> None:
        """Close the index, and the database if it was opened by this object."""
        if not self.is_open:
            return
        await self.idle.close()
        if self._catching_up is not None:
            self._catching_up.cancel()
            await asyncio.gather(self._catching_up, return_exceptions=True)
            self._catching_up = None
        await self._erase_before_closing()
        async with self._order, self._opening:
            self.is_open = False
            try:
                if self._index_open:
                    self._index_open = False
                    await self._projection.index.close()
            finally:
                await self._close_database()

    def check_open(self) -> None:
        """Raise ``MemoryConnectionError`` unless the store is open."""
        if not self.is_open:
            raise MemoryConnectionError("the memory store is not connected")

    async def answers(self) -> bool:
        """Return whether the database can be queried; a failure is logged."""
        try:
            await self.read(queries.last_revision)
        except (DomainError, duckdb_error()) as error:
            _log.warning("the memory store doesn't answer: %s", error)
            return False
        return True

    async def read(self, work: Callable[[Connection], T], *, action: str = "") -> T:
        """Run ``work`` on a consistent snapshot of the database and return its result.

        With ``action``, such as ``searching``, errors of the database become
        ``MemoryRetrievalError`` and name it.
        """
        self.check_open()
        if not action:
            return await self.database.read(work)
        with translate_errors(MemoryRetrievalError, action):
            return await self.database.read(work)

    def live_where(
        self,
        *,
        agent: str | None = None,
        shared: bool | None = None,
        visibility: Visibility | None = None,
    ) -> queries.WhereClause:
        """Return conditions for memories that are live now, as in ``queries.live_where``."""
        return queries.live_where(
            now=self.clock.now(),
            ages=self.ages,
            agent=agent,
            shared=shared,
            visibility=visibility,
        )

    async def change(self, work: "Callable[[Changes], T]", *, action: str = "") -> T:
        """Run ``work`` in a transaction, then update the index; return the result of ``work``.

        Once begun it completes even if the caller is cancelled. Changes run one at a time. With
        ``action``, such as ``storing``, errors of the database become ``MemoryStoreError``.
        """
        self.check_open()
        if not action:
            return await asyncio.shield(asyncio.ensure_future(self._change(work)))
        with translate_errors(MemoryStoreError, action):
            return await self.change(work)

    async def with_index(self, work: Callable[[Projection], Awaitable[T]]) -> T:
        """Run ``work`` on the index while no memory is being changed, and return its result."""
        self.check_open()
        async with self._order:
            return await work(await self.indexed())

    @property
    def index_progress(self) -> float | None:
        """Share of all changes that the index contains, from 0 to 1, while it is catching up.

        ``None`` when the index is up to date, not open, or unable to catch up.
        """
        is_over = self._catching_up is not None and self._catching_up.done()
        if is_over or not self._projection.is_behind:
            return None
        return self._projection.applied / max(self._revision, 1)

    async def is_current(self) -> bool:
        """Return whether the index contains all that any process wrote before now.

        What it lacks is replayed, as far as that takes no longer than a search may; the rest
        follows in the background. Raises ``VectorIndexError`` when the index doesn't answer.
        """
        projection = await self.indexed()
        if self.database.is_shared:
            await self._follow(projection)
        if projection.is_behind:
            await self.catch_up()
        return not projection.is_behind

    async def _follow(self, projection: Projection) -> None:
        """Learn of other processes' writes and replay the first of them; rules may be new, too.

        Revisions are taken one after another: every revision lower than one that is seen was
        committed before it. A search waits for a change of its own process that is being written,
        since the index gets revisions in order.
        """
        revision, self.ages = await self.read(
            lambda db: (queries.last_revision(db), AgeRules.load(db))
        )
        await projection.look(revision)
        if projection.is_behind:
            await self.with_index(lambda each: each.catch_up(batches=FOLLOWED_BATCHES))
        await self.learn(revision)

    async def catch_up(self) -> None:
        """Apply one batch of missed changes to the index.

        Does nothing while a change is being written.
        """
        if not self._order.locked():
            await self.with_index(lambda projection: projection.catch_up(batches=1))

    async def learn(self, revision: int) -> None:
        """Note that other processes wrote to the database, up to ``revision``."""
        if revision <= self._revision:
            return
        self._revision = revision
        if self._unembedded:  # they may have embedded some
            self._unembedded = None
        await self.read(self._residue.look)
        if self.remains.index:  # what they purged is in files here, too
            self._erase_soon()
        self._catch_up_soon()

    def _catch_up_soon(self) -> None:
        if self._catching_up is None or self._catching_up.done():
            self._catching_up = asyncio.create_task(self._catch_up_beside())

    async def _catch_up_beside(self) -> None:
        """Replay the missed changes; results of searches meanwhile say that some may be missing."""
        projection, before = self._projection, -1
        while projection.is_behind and projection.applied > before:
            before = projection.applied
            await self.with_index(lambda projection: projection.catch_up(batches=1))

    async def pack(self) -> bool:
        """Pack the index for faster access if enough has changed; return whether it was packed.

        Raises ``VectorIndexError``; the index then stays as it is.
        """
        async with self._one_packing:
            projection = await self.indexed()
            if not await projection.index.pack():
                return False
            await self.with_index(lambda projection: projection.switch())
            return True

    async def embed(self, texts: Sequence[str]) -> list[Vectors | None]:
        """Return a vector for each text, in order.

        When the embedder fails, all are ``None``: the memories are stored without vectors, to be
        embedded later.
        """
        if not texts:
            return []
        self.idle.used()
        try:
            vectors = await self.embedder.embed(texts)
        except EmbeddingError as error:
            _log.warning("%d memories wait for re-embedding: %s", len(texts), error)
            return [None] * len(texts)
        return list(vectors)

    async def unembedded(self) -> int:
        """Return how many live memories have no vector from the current embedder."""
        async with self._counting:  # it looks at every memory: who asks meanwhile waits for it
            if self._unembedded is not None and not self._projection.lacks_vectors:
                return self._unembedded
            self._projection.lacks_vectors = False
            fingerprint, revision = self.embedder.fingerprint, self._revision
            count = await self.read(lambda db: queries.count_unembedded(db, fingerprint))
            if revision == self._revision:
                self._unembedded = count
            return count

    async def _change(self, work: "Callable[[Changes], T]") -> T:
        from synthorg_tui.memory.store.writes import Changes

        async with self._order:
            self.check_open()
            now, fingerprint = naive_utc(self.clock.now()), self.embedder.fingerprint
            started = self._revision

            def transaction(db: Connection) -> "tuple[T, Changes, int]":
                since = queries.last_revision(db) if self.database.is_shared else started
                changes = Changes(db, since, now, fingerprint, self.ages)
                result = work(changes)
                changes.finish()
                return result, changes, since

            try:
                result, changes, since = await self.database.write(transaction)
            except BaseException:
                await self._look_what_became_of_it(started)
                raise
            self._revision = changes.revision
            if changes.has_purged:
                self._residue.note_purge(changes.revision if changes.revision > since else None)
            if changes.unembedded or self._unembedded:
                self._unembedded = None
            if changes.revision > since:
                await self._project(changes, since)
            if changes.has_purged:
                self._erase_soon()
            return result

    async def _look_what_became_of_it(self, started: int) -> None:
        """Find out whether a write that failed was committed all the same.

        It was when the disk was full for the checkpoint after it; the next revision is then a
        higher one.
        """
        with suppress(DomainError, duckdb_error()):
            self._revision = await self.read(queries.last_revision)
        if self._revision != started:
            self._unembedded = None
            self._projection.is_behind = True

    async def _project(self, changes: "Changes", since: int) -> None:
        """Bring the index up to a committed change; where that fails it catches up later."""
        try:
            projection = await self.indexed(since)
        except (VectorIndexError, EmbeddingError) as error:
            _log.warning("index is not open and will be replayed: %s", error)
            return
        await projection.apply(
            changes.points, changes.touched, since=since, revision=changes.revision
        )

    def _load(self, db: Connection) -> None:
        self._revision = queries.last_revision(db)
        self.live_bounds.clear()
        facts = queries.meta(db)
        self.salt, self._epoch = facts.get("salt", ""), facts.get("epoch", "")
        self._residue.load(db, facts)
        use_projects(load_projects(db))

    @property
    def remains(self) -> Remains:
        """What of purged memories is still in the files of the store."""
        return self._residue.remains

    def _is_at_work(self) -> bool:
        packs = self._one_packing.locked() or self._order.locked()
        return packs or self.is_erasing or self._projection.is_behind

    @property
    def is_erasing(self) -> bool:
        """Whether an erasure has begun by itself, or will within seconds."""
        return self._erasing is not None and not self._erasing.done()

    async def start_index_over(self) -> None:
        """Empty the index, which is then behind until everything has been replayed."""
        await self.with_index(lambda projection: projection.start_over())
        await self._residue.note_index_erased(self._revision)

    async def erase(self, progress: Share | None = None) -> Remains:
        """Write the files anew that hold what was purged; return what remains, with the reason.

        Reads and searches go on; changes wait while the database is written. A failure is not
        raised, but stands in the result.
        """
        self.check_open()
        async with self._one_packing:
            await self._erase_index()
            await self._erase_database(progress)
        return self.remains

    async def _erase_database(self, progress: Share | None = None) -> None:
        async with self._order:
            await self._residue.erase_database(progress)

    async def _erase_index(self) -> None:
        if not self.remains.index:
            return
        try:
            projection = await self.indexed()
            while projection.is_behind:
                await self.with_index(lambda projection: projection.step())
            is_packed = await projection.index.pack(erase=True)
            # An index on a server rearranges its files by itself.
            erased = (
                await self.with_index(lambda each: each.switch())
                if is_packed
                else projection.applied
            )
        except (DomainError, OSError) as error:
            self._residue.note_failure("index", error)
        else:
            await self._residue.note_index_erased(erased)

    def _erase_soon(self) -> None:
        async def run() -> None:
            while not (self.remains.is_empty or self.remains.reason):
                await asyncio.sleep(ERASED_AFTER)
                await self.erase()

        if not self.is_erasing:
            self._erasing = asyncio.create_task(run())

    async def _erase_before_closing(self) -> None:
        """Finish an erasure that has begun, and catch up on one that hasn't, where it is quick."""
        async with self._one_packing:
            if self._erasing is not None:
                self._erasing.cancel()
                await asyncio.gather(self._erasing, return_exceptions=True)
            if not self.database.is_shared and self.database.path.stat().st_size > ERASED_ON_CLOSE:
                return
            if self._index_open:
                await self._erase_index()
            await self._erase_database()

    async def _close_database(self) -> None:
        if self._opened_database:
            await self.database.close()


def entry_of(memory: ListedMemory | StoredMemory) -> MemoryEntry:
    """Convert a memory to the model that agents get; a search score becomes its relevance."""
    if isinstance(memory, StoredMemory):
        return entry_of(listed(memory))
    return MemoryEntry(
        id=memory.id,
        agent_id=memory.agent_id,
        namespace=memory.namespace,
        category=memory.category,
        content=memory.content,
        metadata=MemoryMetadata(
            source=memory.source, confidence=memory.confidence, tags=memory.tags
        ),
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        expires_at=memory.expires_at,
        relevance_score=memory.fused,
        seen_times=memory.seen_times,
        last_seen=memory.last_seen,
    )

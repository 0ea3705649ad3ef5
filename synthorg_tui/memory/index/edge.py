"""The vector index on Qdrant Edge: the Qdrant engine in this process, on one directory.

Every call into the engine is made here, on one thread. What of a directory is durable is in
``edge_files``, the engine's types are in ``edge_types``.
"""

import asyncio
import logging
import shutil
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.index.edge_files import (
    FIRST_SHARD,
    EdgeState,
    allocate_for_closing,
    make_room,
    pack_in_child,
    read_state,
    remove_broken,
    set_aside,
    sync_files,
    write_state,
)
from synthorg_tui.memory.index.edge_types import (
    FIELD_POINTS,
    create_field_indexes,
    edge_filter,
    edge_point,
    edge_sparse,
    engine_errors,
    shard_config,
)
from synthorg_tui.memory.index.layout import DENSE, SPARSE, conditions, ranking
from synthorg_tui.memory.index.protocol import IndexFilter, IndexHits, IndexPoint, SparseVector
from synthorg_tui.providers.embedding.protocol import Vectors

if TYPE_CHECKING:
    import qdrant_edge as edge

T = TypeVar("T")
_log = logging.getLogger(__name__)

CHECKPOINT_CHANGES = 1_000
CHECKPOINT_SECONDS = 10.0
FLUSH_CHANGES = 5_000
PACK_CHANGES = 20_000
_BATCH = 100  # one call holds the interpreter: about 15 ms, one frame
_PAGE = 1_000


class EdgeIndex:
    """``VectorIndex`` on Qdrant Edge, in a directory that this process owns.

    All calls into the engine run in sequence on one thread, except ``optimize``: it would block the
    whole interpreter for seconds and runs in a child process.

    Args:
        path: Directory of the index; created when missing.
        checkpoint_changes: Number of changed points after which the applied revision is made
            durable.
        checkpoint_seconds: Time after which it is made durable, checked when a change is applied.
        pack_changes: Revisions after the last packing that make another one worthwhile.
        field_points: Number of points with which the payload fields get indexes.
    """

    def __init__(
        self,
        path: Path,
        *,
        checkpoint_changes: int = CHECKPOINT_CHANGES,
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
        pack_changes: int = PACK_CHANGES,
        field_points: int = FIELD_POINTS,
    ) -> None:
        self._path = path
        self._state_file = path / "state.json"
        self._pack_changes = pack_changes
        self._checkpoint_changes = checkpoint_changes
        self._checkpoint_seconds = checkpoint_seconds
        self._field_points = field_points
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="vector-index")
        self._shard: edge.EdgeShard | None = None
        self._state = EdgeState(fingerprint="", dims=0)
        self._packed: EdgeState | None = None
        self._is_open = self._is_emptied = self._is_resting = False
        self._applied = self._changes = self._unflushed = self._most_points = 0
        self._checkpointed = 0.0

    async def open(self, *, fingerprint: str, dims: int) -> int:
        """Open or create the index and return its latest revision; see ``VectorIndex.open``.

        Raises ``VectorIndexError`` when another process has it open. An unreadable index is moved
        to ``<name>.broken-<n>`` beside it, replacing any earlier one.
        """
        if self._is_open:
            raise VectorIndexError("the index is open already")
        self._is_open = True
        try:
            return await self._run("open the index", lambda: self._open(fingerprint, dims))
        except BaseException:
            self._stop()
            raise

    async def close(self) -> None:
        """Save the latest applied revision and close the index; do nothing when closed."""
        if not self._is_open:
            return
        try:
            await self._run("close the index", self._close)
        finally:
            self._stop()

    async def rest(self) -> None:
        """Close the engine, and with it its files in memory; the next call loads it again."""
        if self._is_open:
            await self._run("put the index to rest", self._rest)

    async def applied(self) -> int:
        return self._applied

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
        await self._run("update the index", lambda: self._apply(upserts, deletes, revision))

    async def search(
        self,
        where: IndexFilter,
        *,
        dense: Vectors | None,
        sparse: SparseVector | None,
        limit: int,
    ) -> IndexHits:
        """Return the dense and the sparse ranking of one search; equal scores are ordered by id."""
        return await self._run(
            "search the index", lambda: self._search(where, dense, sparse, limit)
        )

    async def count(self) -> int:
        """Return the number of points in the index."""
        return await self._run("count the index", lambda: self._count(self._opened()))

    async def ids(self) -> AsyncIterator[str]:
        """Yield the ids of all points, ascending; points added meanwhile may be missed."""
        offset: object = None
        while True:
            page, offset = await self._run("list the index", partial(self._page, offset))
            for point_id in page:
                yield point_id
            if offset is None:
                return

    async def clear(self, *, gradually: bool = False) -> None:
        """Replace the index by an empty one, and delete an earlier broken one."""
        await self._run("clear the index", self._clear)

    async def pack(self, *, erase: bool = False) -> bool:
        """Pack a copy, when that is worth it or with ``erase``; see ``VectorIndex.pack``."""
        copied = await self._run("copy the index", lambda: self._copy(always=erase))
        if copied is None:
            return False
        try:
            await pack_in_child(self._path / copied.shard, anew=copied.dims if erase else None)
        except BaseException:
            shutil.rmtree(self._path / copied.shard, ignore_errors=True)
            raise
        self._packed = copied
        return True

    async def switch(self) -> int:
        """Use the packed copy; see ``VectorIndex.switch``."""
        return await self._run("switch to the packed index", self._switch)

    # Everything below runs on the index's own thread.

    async def _run(self, action: str, work: Callable[[], T]) -> T:
        if not self._is_open:
            raise VectorIndexError(f"cannot {action}: it is not open")

        def translated() -> T:
            with engine_errors(action):
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._thread, translated)

    def _stop(self) -> None:
        self._is_open = False
        self._thread.submit(self._release)  # an opening that was cancelled halfway

    def _open(self, fingerprint: str, dims: int) -> int:
        make_room(self._path)
        state = read_state(self._state_file)
        self._state = EdgeState(
            fingerprint, dims, shard=state.shard if state else self._any_shard()
        )
        if self._shard_dir.exists():
            self._load(state)
            self._remove_others()
        if self._shard is None:
            self._create()
        allocate_for_closing(self._shard_dir, self._state.revision)
        self._applied = self._state.revision
        self._changes = self._unflushed = 0
        self._checkpointed = time.monotonic()
        return self._applied

    def _load(self, state: EdgeState | None) -> None:
        """Load the shard; drop another embedder's, set a damaged one aside."""
        import qdrant_edge as edge

        try:
            with engine_errors("load the index"):
                shard = edge.EdgeShard.load(str(self._shard_dir))
        except VectorIndexError as error:
            if "WouldBlock" in error.message:
                raise VectorIndexError(
                    f"the index in {self._path} is in use by another process"
                ) from error
            set_aside(self._path)
            return
        if state is not None and not state.fits(self._state.fingerprint, self._state.dims):
            shard.close()
            self._drop()
        # The engine loads a shard that lost its segments without complaint, as an empty one.
        elif state is None or state.points not in (None, self._count(shard)):
            shard.close()
            set_aside(self._path)
        else:
            self._shard, self._state = shard, state
            self._most_points = self._count(shard)

    def _create(self) -> None:
        import qdrant_edge as edge

        make_room(self._path)
        self._shard_dir.mkdir(parents=True, exist_ok=True)
        shard = edge.EdgeShard.create(str(self._shard_dir), shard_config(self._state.dims))
        make_room(self._path)
        allocate_for_closing(self._shard_dir, 0)
        self._is_emptied = False
        self._most_points = 0
        self._shard = shard
        self._state = replace(self._state.at(0, 0), packed=0)
        write_state(self._state_file, self._state, durable=False)

    def _close(self) -> None:
        try:
            self._save()
        except (VectorIndexError, OSError) as error:
            _log.warning("the latest changes of the index will be replayed: %s", error)
        finally:
            self._release()

    def _rest(self) -> None:
        if self._shard is not None:
            self._save()
            self._release()
            self._is_resting = True

    def _save(self) -> None:
        is_changed = self._changes or self._applied != self._state.revision
        if self._shard is not None and is_changed:
            self._checkpoint()

    def _wake(self) -> None:
        self._is_resting = False
        self._load(self._state)
        if self._shard is None:
            raise VectorIndexError(
                f"the index in {self._path} was damaged while it was at rest",
                remedy="Start the program again: it builds the index anew.",
            )

    def _release(self) -> None:
        if self._shard is not None:
            self._shard.close()
            self._shard = None

    def _apply(self, upserts: Sequence[IndexPoint], deletes: Sequence[str], revision: int) -> None:
        import qdrant_edge as edge

        shard = self._opened()
        make_room(self._path)
        if self._state.points is not None:
            self._state = self._state.at(self._state.revision, None)
            write_state(self._state_file, self._state, durable=False)
        self._changes += len(upserts) + len(deletes)
        self._unflushed += len(upserts) + len(deletes)
        if self._most_points < self._field_points <= self._most_points + len(upserts):
            create_field_indexes(shard)
            make_room(self._path)
            allocate_for_closing(self._shard_dir, self._applied)
        self._most_points += len(upserts)
        for first in range(0, len(upserts), _BATCH):
            batch = [edge_point(point) for point in upserts[first : first + _BATCH]]
            make_room(self._path)
            shard.update(edge.UpdateOperation.upsert_points(batch))
        if deletes:
            shard.update(edge.UpdateOperation.delete_points(list(deletes)))
        self._applied = max(self._applied, revision)
        waited = time.monotonic() - self._checkpointed
        if self._changes >= self._checkpoint_changes or waited >= self._checkpoint_seconds:
            self._checkpoint()

    def _checkpoint(self) -> None:
        """Make the applied revision durable: the changes first, then the claim about them.

        The engine's log survives a killed process but isn't synced on each write. Syncing its
        files here takes milliseconds and lets other threads run; the engine's own ``flush`` does
        neither, so it is only called to keep the replay of the log at the next opening short.
        """
        shard = self._opened()
        make_room(self._path)
        allocate_for_closing(self._shard_dir, self._applied)
        if self._unflushed >= FLUSH_CHANGES:
            shard.flush()
            self._unflushed = 0
        else:
            sync_files(self._shard_dir / "wal")
        self._state = self._state.at(self._applied, self._count(shard))
        write_state(self._state_file, self._state, durable=True)
        self._changes = 0
        self._checkpointed = time.monotonic()

    def _search(
        self,
        where: IndexFilter,
        dense: Vectors | None,
        sparse: SparseVector | None,
        limit: int,
    ) -> IndexHits:
        import qdrant_edge as edge

        wanted = edge_filter(conditions(where))
        nearest: list[edge.Query] = []
        if dense is not None:
            nearest.append(edge.Query.Nearest(dense.tolist(), DENSE))
        has_terms = sparse is not None and not sparse.is_empty
        if has_terms and sparse is not None:
            nearest.append(edge.Query.Nearest(edge_sparse(sparse), SPARSE))
        if not nearest:
            return IndexHits()
        # IDF over all points rather than over those that pass the filter (``IdfParams(corpus=)``):
        # as good (LoCoMo R@10 .604 against .598), half the time, and the scores of a term don't
        # depend on the filter, which the relevance cutoff on raw scores relies on.
        requests = [edge.QueryRequest(limit=limit, query=q, filter=wanted) for q in nearest]
        answers = self._opened().query_batch(edge.QueryBatchRequest(requests))
        rankings = [ranking(answer) for answer in answers]
        return IndexHits(
            dense=rankings[0] if dense is not None else (),
            sparse=rankings[-1] if has_terms else (),
        )

    def _count(self, shard: "edge.EdgeShard") -> int:
        import qdrant_edge as edge

        return shard.count(edge.CountRequest(exact=True))

    def _page(self, offset: object) -> tuple[list[str], object]:
        import qdrant_edge as edge

        request = edge.ScrollRequest(
            offset=offset,  # type: ignore[arg-type]  # what the engine gave for the last page
            limit=_PAGE,
            with_payload=False,
            with_vector=False,
        )
        records, following = self._opened().scroll(request)
        return [str(record.id) for record in records], following

    def _copy(self, *, always: bool) -> EdgeState | None:
        """A copy of the shard, and its state once packed; ``None`` when it isn't worth it."""
        shard = self._opened()
        if not always and self._applied - self._state.packed < self._pack_changes:
            return None
        self._packed = None
        self._remove_others()
        make_room(self._path, copies=self._shard_dir)
        shard.flush()
        self._unflushed = 0
        copied = replace(
            self._state.at(self._applied, self._count(shard)),
            shard=self._state.next_shard,
            packed=self._applied,
        )
        shutil.copytree(self._shard_dir, self._path / copied.shard)
        return copied

    def _switch(self) -> int:
        """Load the packed copy in place of the shard, which one write makes the one in use."""
        if self._packed is None:
            raise VectorIndexError("no packed copy of the index is there")
        packed, self._packed = self._packed, None
        write_state(self._state_file, packed, durable=True)
        self._release()
        self._is_resting = False
        self._state = replace(self._state, shard=packed.shard)
        self._load(packed)
        if self._shard is None:
            self._create()
        self._remove_others()
        remove_broken(self._path)
        self._applied = self._state.revision
        self._changes = self._unflushed = 0
        return self._applied

    def _any_shard(self) -> str:
        """A shard without a state: it is damage, to be set aside with what is there."""
        names = (path.name for path in self._path.glob(f"{FIRST_SHARD}*"))
        return min(names, default=FIRST_SHARD)

    def _remove_others(self) -> None:
        """Remove copies that a killed process left, and the shard that was given up."""
        for path in self._path.glob(f"{FIRST_SHARD}*"):
            if path.name != self._state.shard:
                shutil.rmtree(path, ignore_errors=True)

    def _clear(self) -> None:
        make_room(self._path)
        self._release()
        self._is_emptied, self._is_resting = True, False
        self._applied = self._changes = self._unflushed = 0
        self._drop()
        self._create()

    def _drop(self) -> None:
        """Remove the index; the sidecar goes first, so that a crash leaves no stale claim."""
        self._state_file.unlink(missing_ok=True)
        shutil.rmtree(self._path, ignore_errors=True)
        remove_broken(self._path)

    def _opened(self) -> "edge.EdgeShard":
        if self._shard is None and self._is_emptied:  # there was no room for the new one
            self._drop()
            self._create()
        if self._shard is None and self._is_resting:
            self._wake()
        if self._shard is None:
            raise VectorIndexError("the index is not open")
        return self._shard

    @property
    def _shard_dir(self) -> Path:
        return self._path / self._state.shard

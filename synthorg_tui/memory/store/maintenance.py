"""Keeps a store healthy: examines and repairs, rebuilds the index, embeds anew, backs up.

Long jobs that can be stopped and go on where they were. What works on a closed store, restoring
among it, is in ``persistence.backups``.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from synthorg_tui.core.disk_space import WRITE_ROOM, need_room
from synthorg_tui.core.errors import CancelledByUserError, DomainError
from synthorg_tui.core.files import ensure_private_dir
from synthorg_tui.core.pauses import pause_point
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.copies import (
    StoreCopy,
    copies_holding,
    delete_copies,
    purged_ids,
)
from synthorg_tui.memory.store.doctor import Doctor, DoctorReport
from synthorg_tui.memory.store.policy import AgeRules
from synthorg_tui.memory.store.residue import Remains
from synthorg_tui.memory.store.writes import Changes
from synthorg_tui.persistence import BACKUP_DIR
from synthorg_tui.persistence.backups import (
    Backup,
    backup_name,
    backups_in,
    verify_copy,
)
from synthorg_tui.persistence.config import POSTGRES
from synthorg_tui.persistence.export import DataExport, DataExporter, ExportFormat
from synthorg_tui.persistence.integrity import ReadProgress
from synthorg_tui.providers.embedding.errors import EmbeddingError

_log = logging.getLogger(__name__)

EMBED_BATCH = 16
"""Memories embedded in one step, half a second: an agent, or who cancels, waits for one at most."""

Progress: TypeAlias = Callable[[int, int], None]
"""Told how many are done, of how many."""
_REPAIRS: Final[Mapping[str, Callable[[Changes], None]]] = {
    "archive": Changes.repair_states,
    "organisation": Changes.rebuild_facts,
}
"""Checks whose repair is a transaction of its own."""


class Maintenance:
    """Long-running maintenance jobs on an open store, which stays usable meanwhile.

    A cancelled job raises ``CancelledByUserError``. Its completed work is preserved, and the next
    run continues from there.
    """

    def __init__(self, backend: LocalMemoryBackend, *, data_dir: Path) -> None:
        self._core = backend.core
        self._data_dir = data_dir
        self._doctor = Doctor(self._core, data_dir)

    @property
    def has_model(self) -> bool:
        """Whether the embedding model is loaded now; it is freed while nothing needs it."""
        return self._core.embedder.is_loaded

    @property
    def remains(self) -> Remains:
        """Purged content that is still to be erased from the files."""
        return self._core.remains

    async def pack(self) -> bool:
        """Pack the index for a quicker start if enough has changed; return whether it was packed.

        Raises ``VectorIndexError``.
        """
        return await self._core.pack()

    async def doctor(
        self,
        *,
        fix: bool = False,
        progress: ReadProgress | None = None,
        cancel: threading.Event | None = None,
    ) -> DoctorReport:
        """Examine the store, reading all of it, and return the report.

        With ``fix``, repair the problems found and examine the store again.
        """
        if fix:
            await self.compact()
        report = await self._doctor.examine(progress=progress, cancel=cancel)
        if report.ok or not fix:
            return report
        await self._repair({check.name for check in report.checks if not check.ok})
        return await self._doctor.examine(progress=progress, cancel=cancel)

    async def take_retention(self) -> str:
        """Have the rules of this program's settings hold for the store; return them in words.

        Where several programs share it, the others go by them from their next search on.
        """
        own = AgeRules.of(self._core.policy)
        await self._core.database.write(own.note)
        self._core.ages = own
        return own.told()

    async def reindex(
        self, *, progress: Progress | None = None, cancel: threading.Event | None = None
    ) -> int:
        """Embed memories without a vector, rebuild the index, and return its number of points.

        If the embedder fails, the index is rebuilt from the stored vectors. Meanwhile searches
        return what has been indexed so far and say so, and writes proceed between batches. Setting
        ``cancel`` stops the job.
        """
        try:
            await self.reembed(progress=progress, cancel=cancel)
        except EmbeddingError as error:
            _log.warning("rebuilding without new vectors: %s", error)
        await self._core.start_index_over()
        total = await self._core.read(queries.count_changed)
        done = 0
        projection = await self._core.indexed()
        while projection.is_behind:
            done += await self._core.with_index(lambda projection: projection.step())
            if progress is not None:
                # Searches catch up too, and what they did isn't counted here.
                progress(done if projection.is_behind else total, total)
            _check_cancelled(cancel, f"reindexing stopped at {done} of {total}")
        return await projection.index.count()

    async def reembed(
        self, *, progress: Progress | None = None, cancel: threading.Event | None = None
    ) -> int:
        """Embed all memories that lack a vector from the current embedder; return how many.

        The work left is derived from the database, so an interrupted job can be continued at any
        time, even after a restart. Meanwhile keyword search finds all memories. Setting ``cancel``
        stops the job. Raises ``EmbeddingError``.
        """
        fingerprint = self._core.embedder.fingerprint
        total, done = await self._core.unembedded(), 0
        while batch := await self._core.read(
            lambda db: queries.unembedded(db, fingerprint, EMBED_BATCH)
        ):
            vectors = await self._core.embedder.embed([content for _, content in batch])
            embedded = list(zip(batch, vectors, strict=True))
            done += await self._core.change(partial(Changes.embed, vectors=embedded))
            if progress is not None:
                progress(done, max(done, total))
            _check_cancelled(cancel, f"re-embedding stopped at {done} of {total}")
            await pause_point()
        return done

    async def compact(self, *, progress: Progress | None = None) -> Remains:
        """Write the files anew that hold purged content; return what is still in them, and why.

        Takes about 20 seconds at 100,000 memories; changes wait for most of it. ``progress`` counts
        megabytes of the database.
        """
        size = await self._core.database.size() // 1024**2

        def told(share: float) -> None:
            if progress is not None:
                progress(round(share * size), size)

        return await self._core.erase(told)

    async def copies(
        self, memory_ids: Sequence[str] = (), session_ids: Sequence[str] = ()
    ) -> tuple[StoreCopy, ...]:
        """Return the copies of the database that hold what was purged, or these to be purged."""
        purged = await self._core.read(lambda db: purged_ids(db, memory_ids, session_ids))
        return await asyncio.to_thread(copies_holding, self._data_dir, purged)

    async def delete_copies(self, *, backups: bool) -> tuple[StoreCopy, ...]:
        """Delete the databases set aside that hold what was purged, with ``backups`` these, too.

        Return those that are deleted, which can't be undone.
        """
        chosen = [copy for copy in await self.copies() if backups or not copy.is_backup]
        return await asyncio.to_thread(delete_copies, chosen)

    async def backup(
        self,
        target: Path | None = None,
        *,
        progress: ReadProgress | None = None,
        cancel: threading.Event | None = None,
    ) -> Path:
        """Write a consistent copy of the database, read all of it, and return its path.

        By default it is written to the data directory's backup folder. Memories purged later remain
        in the backup. Raises ``StoreCorruptError`` when the store, and so the copy, isn't whole,
        and ``DomainError`` when ``target`` exists or can't be written; then there is no copy.
        """
        need_room(self._data_dir, WRITE_ROOM)
        if target is None:
            folder = ensure_private_dir(self._data_dir / BACKUP_DIR)
            target = backup_name(folder, self._core.clock.now())
        return await self._back_up(target, progress, cancel or threading.Event())

    async def export(
        self,
        target: Path,
        *,
        format: ExportFormat = ExportFormat.PARQUET,
        tables: tuple[str, ...] = (),
        progress: Progress | None = None,
        cancel: threading.Event | None = None,
    ) -> DataExport:
        """Write memories and operational data as files to a folder; see ``DataExporter.write``."""
        exporter = DataExporter(self._core.database)
        return await exporter.write(
            target, format=format, tables=tables, progress=progress, cancel=cancel
        )

    async def back_up_daily(
        self,
        *,
        keep: int,
        progress: ReadProgress | None = None,
        cancel: threading.Event | None = None,
    ) -> Path | None:
        """Back up if the newest backup is a day old and the store changed since; return its path.

        Of the backups made so, ``keep`` stay; those that a person made aren't touched. With 0 none
        is made. The errors are those of ``backup``.
        """
        newest = next(iter(await asyncio.to_thread(backups_in, self._data_dir)), None)
        if self._core.database.kind == POSTGRES:
            return None  # there is no file: who administers the server backs it up
        if keep == 0 or not await self._is_due(newest):
            return None
        folder = ensure_private_dir(self._data_dir / BACKUP_DIR)
        target = backup_name(folder, self._core.clock.now(), daily=True)
        made = await self._back_up(target, progress, cancel or threading.Event())
        daily = [backup for backup in backups_in(self._data_dir) if backup.is_daily]
        for backup in daily[keep:]:
            backup.path.unlink(missing_ok=True)
        return made

    async def _is_due(self, newest: Backup | None) -> bool:
        if newest is None:
            return await self._core.read(queries.last_revision) > 0
        age = self._core.clock.now() - newest.made_at
        if timedelta(0) <= age < timedelta(days=1):
            return False
        database = self._core.database.path
        changes = [database, database.with_name(database.name + ".wal")]
        changed_at = max(path.stat().st_mtime_ns for path in changes if path.exists())
        return changed_at > newest.path.stat().st_mtime_ns

    async def _back_up(
        self, target: Path, progress: ReadProgress | None, cancel: threading.Event
    ) -> Path:
        database = self._core.database.path
        _require_place(target, database.stat().st_size)
        draft = target.with_name(f".{target.name}.part")
        draft.unlink(missing_ok=True)
        verify = partial(
            verify_copy, draft, called=f"the copy of {database}", progress=progress, cancel=cancel
        )
        try:
            await _to_its_end(self._core.database.copy_to(draft, cancel=cancel), cancel)
            await _to_its_end(asyncio.to_thread(verify), cancel)
            draft.rename(target)
        finally:
            draft.unlink(missing_ok=True)
        return target

    async def _repair(self, failed: Collection[str]) -> None:
        """Repair what these checks found."""
        if "file" in failed and "database" not in failed:
            await self._core.database.rewrite()  # all tables are whole, and a new file holds them
        if "permissions" in failed:
            for path, mode in self._doctor.loose_paths():
                path.chmod(mode)
        if "vectors" in failed:
            await self.reembed()
        for name, repair in _REPAIRS.items():
            if name in failed:
                await self._core.change(repair)
        if "search" in failed or "organisation" in failed:
            await self.reindex()
        elif "index" in failed:
            await self._repair_index()

    async def _repair_index(self) -> None:
        missing, unknown = await self._doctor.index_difference()
        await self._core.with_index(lambda projection: projection.catch_up())
        await self._core.with_index(lambda projection: projection.repair([*missing, *unknown]))


def _require_place(target: Path, size: int) -> None:
    if target.exists():
        raise DomainError(f"{target} exists already", remedy="Choose another name.")
    if not target.parent.is_dir():
        raise DomainError(
            f"there is no folder {target.parent}", remedy="Make it, or choose another one."
        )
    need_room(target, size + WRITE_ROOM)


async def _to_its_end(work: Coroutine[None, None, object], cancel: threading.Event) -> None:
    """Await work on a thread; a cancelled caller has it end early, and waits until it has."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        cancel.set()
        await asyncio.gather(task, return_exceptions=True)
        raise


def _check_cancelled(cancel: threading.Event | None, message: str) -> None:
    if cancel is not None and cancel.is_set():
        raise CancelledByUserError(message)

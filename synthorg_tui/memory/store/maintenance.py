"""Keeps a store healthy: examines and repairs, rebuilds the index, embeds anew, backs up, restores.

Long jobs that can be stopped and go on where they were. Restoring works on a closed store.
"""

import asyncio
import logging
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias

from synthorg_tui.core.errors import CancelledByUserError, DomainError, StoreCorruptError
from synthorg_tui.core.files import ensure_private_dir, make_private
from synthorg_tui.memory.errors import duckdb_error
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.copies import (
    StoreCopy,
    copies_holding,
    delete_copies,
    purged_ids,
)
from synthorg_tui.memory.store.doctor import Doctor, DoctorReport
from synthorg_tui.memory.store.residue import Remains
from synthorg_tui.memory.store.writes import Changes
from synthorg_tui.persistence import BACKUP_DIR, DATABASE_FILE
from synthorg_tui.persistence.database import connect_file, copy_in_child
from synthorg_tui.persistence.leftovers import REPLACED, RESTORED, remove_leftovers
from synthorg_tui.persistence.lock import DataDirLock
from synthorg_tui.persistence.migrations import schema_version
from synthorg_tui.providers.embedding.errors import EmbeddingError

_log = logging.getLogger(__name__)

EMBED_BATCH = 128

Progress: TypeAlias = Callable[[int, int], None]
"""Told how many are done, of how many."""


class Maintenance:
    """Long-running maintenance jobs on an open store, which stays usable meanwhile.

    A cancelled job raises ``CancelledByUserError``. Its completed work is preserved, and the next
    run continues from there.
    """

    def __init__(self, backend: LocalMemoryBackend, *, data_dir: Path) -> None:
        self._core = backend.core
        self._data_dir = data_dir
        self._doctor = Doctor(self._core, data_dir)

    async def doctor(self, *, fix: bool = False) -> DoctorReport:
        """Examine the store and return the report.

        With ``fix``, repair the problems found and examine the store again.
        """
        if fix:
            await self.compact()
        report = await self._doctor.examine()
        if report.ok or not fix:
            return report
        failed = {check.name for check in report.checks if not check.ok}
        if "permissions" in failed:
            for path, mode in self._doctor.loose_paths():
                path.chmod(mode)
        if "vectors" in failed:
            await self.reembed()
        if "search" in failed:
            await self.reindex()
        elif "index" in failed:
            await self._repair_index()
        return await self._doctor.examine()

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
        return done

    async def compact(self, *, progress: Progress | None = None) -> Remains:
        """Write the files anew that hold what was purged; return what is still in them, and why.

        Takes about 20 seconds at 100,000 memories; changes wait for most of it. ``progress`` is
        told megabytes of the database.
        """
        size = self._core.database.path.stat().st_size // 1024**2

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

    async def backup(self, target: Path | None = None) -> Path:
        """Write a consistent, verified copy of the database and return its path.

        By default it is written to the data directory's backup folder. Memories purged later remain
        in the backup. Raises ``DomainError`` when ``target`` exists or can't be written.
        """
        if target is None:
            folder = ensure_private_dir(self._data_dir / BACKUP_DIR)
            target = _free_name(folder, self._core.clock.now())
        if target.exists():
            raise DomainError(f"{target} exists already", remedy="Choose another name.")
        if not target.parent.is_dir():
            raise DomainError(
                f"there is no folder {target.parent}", remedy="Make it, or choose another one."
            )
        draft = target.with_name(f".{target.name}.part")
        draft.unlink(missing_ok=True)
        try:
            await self._core.database.copy_to(draft)
            await asyncio.to_thread(_verify, draft)
            draft.rename(target)
        finally:
            draft.unlink(missing_ok=True)
        return target

    async def _repair_index(self) -> None:
        missing, unknown = await self._doctor.index_difference()
        await self._core.with_index(lambda projection: projection.catch_up())
        await self._core.with_index(lambda projection: projection.repair([*missing, *unknown]))


def restore_backup(data_dir: Path, backup: Path | None = None) -> Path:
    """Replace the database of a closed store by a backup; return the backup's path.

    By default the newest backup is used. The replaced file is preserved beside it as
    ``memory.duckdb.replaced-<time>``, and the index is rebuilt at the next start. Raises
    ``StoreLockedError`` while the store is open, ``DomainError`` when there is no backup and
    ``StoreCorruptError`` when it is damaged; in these cases nothing has changed.
    """
    chosen = backup or _newest(data_dir / BACKUP_DIR)
    if not chosen.is_file():
        raise DomainError(f"there is no backup {chosen}")
    with DataDirLock(data_dir):
        present = data_dir / DATABASE_FILE
        fresh = present.with_name(present.name + RESTORED)
        remove_leftovers(data_dir)
        try:
            copy_in_child(chosen, fresh)
            _verify(fresh, start_new_epoch=True)
            _set_aside(present)
            fresh.replace(present)
        finally:
            remove_leftovers(data_dir)
    return chosen


def _set_aside(present: Path) -> None:
    """Keep the present file under another name; it stays in place until it is replaced."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    aside = present.with_name(f"{present.name}{REPLACED}{stamp}")
    if present.exists():
        try:
            os.link(present, aside)
        except OSError:
            shutil.copy2(present, aside)
    log = present.with_name(present.name + ".wal")
    if log.exists():
        log.rename(aside.with_name(aside.name + ".wal"))


def _verify(path: Path, *, start_new_epoch: bool = False) -> None:
    """Open a copy as a store; raises ``StoreCorruptError``.

    A new epoch makes sure that no index built from another state of the store is used with it.
    """
    try:
        connection = connect_file(path)
        try:
            schema_version(connection)
            if start_new_epoch:
                epoch = secrets.token_hex(8)
                connection.execute("UPDATE meta SET value = ? WHERE name = 'epoch'", [epoch])
                make_private(path.with_name(path.name + ".wal"))
        finally:
            connection.close()
    except duckdb_error() as error:
        reason = str(error).splitlines()[0]
        raise StoreCorruptError(f"the backup can't be read: {reason}") from error


def _newest(folder: Path) -> Path:
    backups = sorted(folder.glob("*.duckdb")) if folder.is_dir() else []
    if not backups:
        raise DomainError(
            f"there is no backup in {folder}", remedy="Name one, or make one with `backup`."
        )
    return backups[-1]


def _free_name(folder: Path, now: datetime) -> Path:
    stamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%S")
    taken = len(list(folder.glob(f"{stamp}*.duckdb")))
    return folder / f"{stamp}-{taken:03d}.duckdb"


def _check_cancelled(cancel: threading.Event | None, message: str) -> None:
    if cancel is not None and cancel.is_set():
        raise CancelledByUserError(message)

"""Backups of a store: what they are called, which there are, what vouches for one, restoring one.

A file counts as a backup only once it was read whole, and nothing of a store is touched before the
file that replaces it was. Backups lie in the data directory's folder of backups as
``<time>-<number>.duckdb``, those of each day as ``<time>-daily.duckdb``. Making one needs the open
database and is in ``memory.store.maintenance``; what is in here works on files at rest.
"""

import asyncio
import os
import re
import secrets
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from synthorg_tui.core.disk_space import WRITE_ROOM, need_room
from synthorg_tui.core.errors import DomainError, StoreCorruptError
from synthorg_tui.core.files import make_private
from synthorg_tui.core.text import is_utf8
from synthorg_tui.persistence import BACKUP_DIR, DATABASE_FILE
from synthorg_tui.persistence.database_file import LOGS, connect_file, copy_in_child, remove_file
from synthorg_tui.persistence.integrity import (
    LOG_ENTRY,
    ReadProgress,
    TablesRead,
    check_complete,
    damaged_blocks,
    log_cut_at,
    read_tables,
)
from synthorg_tui.persistence.leftovers import REPLACED, RESTORED, remove_leftovers
from synthorg_tui.persistence.lock import DataDirLock
from synthorg_tui.persistence.migrations import RESTORE_REMEDY, SCHEMA_VERSION

_STAMP: Final = "%Y%m%dT%H%M%S"
_NAME: Final = re.compile(r"(\d{8}T\d{6})-(\d{3,}|daily)\.duckdb")
_PLACE: Final = re.compile(r"entry at byte position (\d+)")


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup on disk; ``size`` is in bytes, ``is_daily`` that the program made it unasked."""

    path: Path
    made_at: datetime
    size: int
    is_daily: bool


def backups_in(data_dir: Path) -> tuple[Backup, ...]:
    """Return the backups of a data directory, newest first.

    What is no plain file, or has a name that isn't UTF-8, is none.
    """
    try:
        entries = list(os.scandir(data_dir / BACKUP_DIR))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    found = [backup for entry in entries if (backup := _backup(entry)) is not None]
    return tuple(sorted(found, key=lambda backup: (backup.made_at, backup.path), reverse=True))


def _backup(entry: "os.DirEntry[str]") -> Backup | None:
    if not entry.name.endswith(".duckdb") or entry.name[0] == "." or not is_utf8(entry.name):
        return None
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    named = _NAME.fullmatch(entry.name)
    made_at = datetime.fromtimestamp(status.st_mtime, UTC)
    if named is not None:
        try:
            made_at = datetime.strptime(named[1], _STAMP).replace(tzinfo=UTC)
        except ValueError:  # digits that are no time
            named = None
    is_daily = named is not None and named[2] == "daily"
    return Backup(Path(entry.path), made_at, status.st_size, is_daily)


def newest_backup(data_dir: Path) -> Backup:
    """Return the newest backup of a data directory; raises ``DomainError`` when there is none."""
    backups = backups_in(data_dir)
    if not backups:
        raise DomainError(
            f"there is no backup in {data_dir / BACKUP_DIR}",
            remedy="Name one, or make one with `backup`.",
        )
    return backups[0]


def backup_name(folder: Path, now: datetime, *, daily: bool = False) -> Path:
    """Return the path of a backup made now; one made by a person never takes a name in use."""
    stamp = now.astimezone(UTC).strftime(_STAMP)
    if daily:
        return folder / f"{stamp}-daily.duckdb"
    taken = len(list(folder.glob(f"{stamp}*.duckdb")))
    return folder / f"{stamp}-{taken:03d}.duckdb"


def verify_copy(
    path: Path,
    *,
    called: str,
    progress: ReadProgress | None = None,
    cancel: threading.Event | None = None,
) -> TablesRead:
    """Read a database file that nobody has open, every column and block of it.

    ``called`` names it in errors. Raises ``StoreCorruptError`` when it isn't whole, ``DomainError``
    when a newer version of this program wrote it, and ``CancelledByUserError``.
    """
    with _naming(called):
        connection = connect_file(path, read_only=True)
        try:
            check_complete(connection, path)
            read = read_tables(connection, progress=progress, cancel=cancel)
        finally:
            connection.close()
    if read.version > SCHEMA_VERSION:
        raise DomainError(
            f"{called} has schema version {read.version}; this program reads up to "
            f"{SCHEMA_VERSION}",
            remedy="Update synthorg-tui, or choose an older backup.",
        )
    if read.damaged:
        raise StoreCorruptError(f"{called} is damaged: {read.problem}", remedy=_OTHER)
    if damaged := damaged_blocks(path, cancel=cancel):
        raise StoreCorruptError(
            f"{called} is damaged: {damaged} of its blocks can't be read", remedy=_OTHER
        )
    return read


_OTHER: Final = "`synthorg-tui doctor` checks the store, `restore --list` names the backups."


@contextmanager
def _naming(called: str) -> Iterator[None]:
    """Tell what DuckDB says of a file under the name that the person knows."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise StoreCorruptError(f"{called} can't be read: {reason}", remedy=_OTHER) from error
    except StoreCorruptError as error:
        raise StoreCorruptError(f"{called}: {error.message}", remedy=_OTHER) from error


async def restore_backup(
    data_dir: Path,
    backup: Path,
    *,
    lock: DataDirLock | None = None,
    meanwhile: AbstractAsyncContextManager[None] | None = None,
    progress: ReadProgress | None = None,
    cancel: threading.Event | None = None,
) -> None:
    """Replace the database of a store by a backup.

    ``lock`` is the directory's, if the caller has it. ``meanwhile`` may have the database open, if
    there is one, while the backup is copied and read. The replaced file is preserved beside it as
    ``memory.duckdb.replaced-<time>``, and the index is rebuilt at the next start. Raises
    ``StoreLockedError`` while another process has the store, ``DomainError`` when there is no
    backup, no room or it is a newer version's, and ``StoreCorruptError`` when it isn't whole; in
    these cases nothing has changed and nothing is left.
    """
    present = data_dir / DATABASE_FILE
    if not backup.is_file() or (present.exists() and backup.samefile(present)):  # noqa: ASYNC240
        raise DomainError(f"there is no backup {backup}")
    fresh = present.with_name(present.name + RESTORED)
    with lock or DataDirLock(data_dir):
        remove_leftovers(data_dir)
        try:
            async with (present.exists() and meanwhile) or nullcontext():
                await asyncio.to_thread(_copy_verified, backup, fresh, progress, cancel)
            _set_aside(present)
            fresh.replace(present)
        finally:
            remove_file(fresh)


def _copy_verified(
    backup: Path, fresh: Path, progress: ReadProgress | None, cancel: threading.Event | None
) -> None:
    """Make a backup's copy that is whole and may become the database."""
    log = backup.with_name(backup.name + ".wal")
    parts = [(backup, fresh)]
    if log.is_file():  # of a store that was copied, or replaced, with its log
        parts.append((log, fresh.with_name(fresh.name + ".wal")))
    need_room(fresh, 2 * sum(source.stat().st_size for source, _ in parts) + WRITE_ROOM)
    for source, target in parts:
        copy_in_child(source, target, cancel=cancel)
    called = f"the backup {backup}"
    if len(parts) > 1:
        _start_new_epoch(fresh, called)
    verify_copy(fresh, called=called, progress=progress, cancel=cancel)
    _start_new_epoch(fresh, called)


def set_log_aside(data_dir: Path) -> Path:
    """Let a closed store do without its damaged log, which is kept; return where it is now.

    What the log has up to its damage is kept in the store. At most what changed since the last
    checkpoint, which is the time of the file, is lost. Raises ``StoreLockedError`` while the store
    is open, and ``StoreCorruptError`` when its file isn't whole either; then nothing has changed.
    """
    with DataDirLock(data_dir):
        present = data_dir / DATABASE_FILE
        moved = _logs_aside(present, _aside(present))
        if not moved:
            raise DomainError(f"{present} has no log")
        try:
            verify_copy(present, called=str(present))
            _replay_start(present, moved[0][1])
            _start_new_epoch(present, str(present))
        except BaseException as error:
            for log, aside in moved:
                aside.replace(log)
            if isinstance(error, StoreCorruptError):
                raise StoreCorruptError(error.message, remedy=RESTORE_REMEDY) from error
            raise
    return moved[0][1]


def _replay_start(present: Path, kept: Path) -> None:
    """Take what a damaged log has before its damage into the file, and leave no log."""
    import duckdb

    log = present.with_name(f"{present.name}.wal")
    if kept.suffix != log.suffix:
        return
    _copy_whole(kept, log)
    end = log_cut_at(log)
    for _ in range(2):
        if end is not None:
            os.truncate(log, end)
        try:
            with closing(connect_file(present)) as connection:
                connection.execute("CHECKPOINT")
            break
        except duckdb.Error as error:
            found = _PLACE.search(str(error))
            if found is None:
                break
            end = max(0, int(found[1]) - LOG_ENTRY)
    remove_file(present, LOGS)


def _start_new_epoch(path: Path, called: str) -> None:
    """Make sure that no index built from another state of the store is used with this one."""
    with _naming(called):
        connection = connect_file(path)
        try:
            epoch = secrets.token_hex(8)
            connection.execute("UPDATE meta SET value = ? WHERE name = 'epoch'", [epoch])
            make_private(path.with_name(path.name + ".wal"))
            connection.execute("CHECKPOINT")
        finally:
            connection.close()


def _aside(present: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    return present.with_name(f"{present.name}{REPLACED}{stamp}")


def _set_aside(present: Path) -> None:
    """Keep the present file under another name; it stays in place until it is replaced."""
    aside = _aside(present)
    if present.exists():
        try:
            os.link(present, aside)
        except OSError:
            _copy_whole(present, aside)
    _logs_aside(present, aside)


def _copy_whole(source: Path, target: Path) -> None:
    try:
        shutil.copy2(source, target)
    except OSError:
        target.unlink(missing_ok=True)
        raise


def _logs_aside(present: Path, aside: Path) -> list[tuple[Path, Path]]:
    """Rename the logs of a file; returns from what to what."""
    moved = []
    for suffix in LOGS:
        log = present.with_name(present.name + suffix)
        if log.exists():
            moved.append((log, log.rename(aside.with_name(aside.name + suffix))))
            make_private(moved[-1][1])
    return moved

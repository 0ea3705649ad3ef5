"""The file of a store's database: connecting to it, making and copying it, and what errors mean.

The one place that turns what DuckDB says of a locked, damaged or full file into an error with a
remedy. It works on files and connections that are handed to it; which connection a store has open
is in ``database``.
"""

import errno
import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.core.disk_space import WRITE_ROOM, need_room
from synthorg_tui.core.errors import (
    CancelledByUserError,
    DamagedLogError,
    DiskFullError,
    DomainError,
    StoreCorruptError,
    StoreLockedError,
)
from synthorg_tui.core.files import make_private
from synthorg_tui.persistence import BACKUP_DIR, INDEX_DIR, SERVER_FILE
from synthorg_tui.persistence.migrations import RESTORE_REMEDY, create_schema

if TYPE_CHECKING:
    import duckdb

MIN_MEMORY = 128
"""Megabytes that DuckDB may use for its buffers. A checkpoint needs about twice 2,048 rows of each
table, so a file with large rows gets more: half of its size, and twice as much after a failure."""
_LOOK_EVERY = 0.1
"""Seconds after which a copy under way looks whether it is still wanted."""
LOGS = (".wal", ".wal.checkpoint", ".wal.recovery")
SUFFIXES = ("", *LOGS)
_CORRUPT_SIGNS = (
    "corrupt",
    "checksum",
    "not a valid duckdb",
    "failed to deserialize",
    "could not read",
)
_LOG_SIGN = "replaying wal"
_CORRUPT_KINDS = ("FatalException", "InternalException", "SerializationException")
_FULL_SIGNS = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
MEMORY_SIGNS = ("could not allocate block", "failed to pin block", "Out of Memory")


class NeedsMemoryError(DomainError):
    """DuckDB needs more memory for this than it is allowed; nothing was changed."""


def connect_file(
    path: Path, *, read_only: bool = False, memory: int = MIN_MEMORY
) -> "duckdb.DuckDBPyConnection":
    """Connect to a DuckDB file with access to all other files disabled.

    ``memory`` is in megabytes. Errors of DuckDB are raised unchanged.
    """
    import duckdb

    connection = duckdb.connect(
        str(path),
        read_only=read_only,
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "checkpoint_threshold": "1TB",
            "memory_limit": f"{memory}MB",
            "preserve_insertion_order": "false",
            # A second one gains no list of 50,000 anything, and costs each small insert .3 ms.
            "threads": "1",
        },
    )
    # The one other file it may touch is its own next edition; see ``Database.rewrite``.
    fresh = str(fresh_edition(path)).replace("'", "''")
    allowed = ", ".join(f"'{fresh}{suffix}'" for suffix in SUFFIXES)
    connection.execute(f"SET allowed_paths = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    make_private(path)
    return connection


def fresh_edition(path: Path) -> Path:
    """Return where the next edition of a file is written."""
    return path.with_name(path.name + ".fresh")


def log_of(path: Path) -> Path:
    """Return the path of the log beside a database file."""
    return path.with_name(path.name + ".wal")


def remove_file(path: Path, suffixes: Sequence[str] = SUFFIXES) -> None:
    """Remove a database file with its logs; ``suffixes`` name those of them that are to go."""
    for suffix in suffixes:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def require_new(path: Path) -> None:
    """Where a store has left traces, its database is missing: a new one would hide that.

    What is beside the note of a server is of the store that is there.
    """
    folder = path.parent
    if (folder / SERVER_FILE).exists():
        return
    traces = [
        *folder.glob(f"{INDEX_DIR}/*"),
        *folder.glob(f"{BACKUP_DIR}/*.duckdb"),
        *folder.glob(f"{path.name}.wal"),
        *folder.glob(f"{path.name}.replaced-*"),
    ]
    if not traces:
        return
    raise StoreCorruptError(
        f"{path} is missing, but {traces[0].relative_to(folder)} beside it is of a store",
        remedy="Put it back, or bring back a backup with `synthorg-tui restore`. To start with an "
        f"empty store, move what else is in {folder} away.",
    )


def create_file(path: Path) -> None:
    """Make an empty database under another name first: a crash leaves no half-made one."""
    draft = path.with_name(path.name + ".new")
    remove_file(draft)
    connection = connect_file(draft)
    try:
        create_schema(connection)
    finally:
        connection.close()
    draft.rename(path)


def copy_live(connection: "duckdb.DuckDBPyConnection", fresh: Path) -> None:
    """Copy all tables into a new database file; raises when a table isn't whole."""
    quoted = str(fresh).replace("'", "''")
    connection.execute("CHECKPOINT")
    present = connection.execute("SELECT current_database()").fetchone()
    connection.execute(f"ATTACH '{quoted}' AS fresh")
    try:
        connection.execute(f'COPY FROM DATABASE "{present[0] if present else ""}" TO fresh')
        for (table,) in connection.execute("SHOW TABLES").fetchall():
            counts = [
                connection.execute(f"SELECT count(*) FROM {name}").fetchone()
                for name in (table, f"fresh.{table}")
            ]
            if counts[0] != counts[1]:
                raise DomainError(f"copying {table} failed; nothing was changed")
    finally:
        connection.execute("DETACH fresh")


def explained(error: BaseException, path: Path) -> BaseException:
    """The error as a person should read it; the same one when there is nothing to add."""
    import duckdb

    if not isinstance(error, duckdb.Error):
        return error
    text = str(error)
    if any(sign in text for sign in _FULL_SIGNS):
        return DiskFullError("The disk is full.", remedy="Free some space.")
    if "lock on file" in text.lower():
        owner = re.search(r"PID (\d+)", text)
        return StoreLockedError(
            f"{path} is open in another program" + (f" (process {owner[1]})" if owner else ""),
            owner_pid=int(owner[1]) if owner else None,
            remedy="Close it and try again.",
        )
    if any(sign in text for sign in MEMORY_SIGNS):
        return NeedsMemoryError(f"{path} needs more memory than allowed", remedy="Try again.")
    return _damage(error, path) or error


def _damage(error: "duckdb.Error", path: Path) -> StoreCorruptError | None:
    """What an error says of damage to the file or its log; ``None`` when it says nothing of it."""
    text = str(error)
    if _LOG_SIGN in text.lower():
        return damaged_log(path, text.splitlines()[0])
    if type(error).__name__ in _CORRUPT_KINDS or any(s in text.lower() for s in _CORRUPT_SIGNS):
        return StoreCorruptError(
            f"{path} is damaged: {text.splitlines()[0]}", remedy=RESTORE_REMEDY
        )
    return None


def damaged_log(path: Path, reason: str) -> DamagedLogError:
    """Return the error for a log that can't be replayed."""
    return DamagedLogError(
        f"the log of {path} is damaged: {reason}",
        remedy="`synthorg-tui doctor --fix` opens the store without it, after asking.",
    )


_COPY = """
import os, shutil, sys
with open(sys.argv[1], "rb") as source:
    with open(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
        target.flush()
        os.fsync(target.fileno())
"""


def copy_in_child(source: Path, target: Path, *, cancel: threading.Event | None = None) -> None:
    """Copy a file in a child process and wait for it.

    Closing the source in this process would release the file locks that this process holds on it.
    Raises ``DiskFullError`` when there is no room for it, ``DomainError`` when the target exists or
    can't be written, and ``CancelledByUserError`` once ``cancel`` is set, with a part of the target
    left.
    """
    need_room(target, source.stat().st_size + WRITE_ROOM)
    command = [sys.executable, "-I", "-S", "-c", _COPY, str(source), str(target)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as copying:
        try:
            told = _told(copying, cancel)
        except BaseException:
            copying.kill()
            raise
    if copying.returncode and cancel is not None and cancel.is_set():
        raise CancelledByUserError(f"stopped copying to {target}")
    if copying.returncode:
        reason = (told.strip().splitlines() or ["unknown reason"])[-1]
        raise DomainError(f"could not write {target}: {reason}")


def _told(copying: "subprocess.Popen[str]", cancel: threading.Event | None) -> str:
    """What a copying child says at its end; it is ended once ``cancel`` is set."""
    while True:
        try:
            return copying.communicate(timeout=_LOOK_EVERY)[1]
        except subprocess.TimeoutExpired:
            if cancel is not None and cancel.is_set():
                copying.kill()

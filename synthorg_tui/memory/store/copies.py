"""Copies of the database beside it: backups, and what restores have set aside.

A purge doesn't reach into a copy, so each is asked whether it holds what was, or is about to be,
purged. A copy that can't be read is taken to hold it.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synthorg_tui.memory.errors import duckdb_error
from synthorg_tui.memory.org.log import ERASED
from synthorg_tui.memory.store import queries
from synthorg_tui.persistence import BACKUP_DIR, DATABASE_FILE
from synthorg_tui.persistence.database_file import MIN_MEMORY
from synthorg_tui.persistence.leftovers import REPLACED
from synthorg_tui.persistence.port import Connection

_log = logging.getLogger(__name__)

_LOG: Final = ".wal"
_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": f"{MIN_MEMORY}MB",
    "threads": "1",
}


@dataclass(frozen=True, slots=True)
class StoreCopy:
    """A copy of the database that holds what was purged.

    ``is_backup`` is false for a database that a restore has set aside.
    """

    path: Path
    is_backup: bool


@dataclass(frozen=True, slots=True)
class PurgedIds:
    """What to look for in copies: ids of memories and facts, salted hashes of session ids."""

    memories: tuple[str, ...]
    sessions: tuple[str, ...]
    salt: str
    facts: tuple[str, ...] = ()


def purged_ids(
    db: Connection, memory_ids: Sequence[str] = (), session_ids: Sequence[str] = ()
) -> PurgedIds:
    """Return what was purged from this database, and what else is about to be."""
    salt = queries.meta(db).get("salt", "")
    tombs = db.execute("SELECT memory_id::VARCHAR FROM tombstones").fetchall()
    marks = db.execute(
        "SELECT mark FROM forgotten_sessions "
        "UNION SELECT sha256(? || '/' || id) FROM (SELECT unnest(?::VARCHAR[]) AS id)",
        [salt, list(session_ids)],
    ).fetchall()
    facts = db.execute("SELECT fact_id::VARCHAR FROM org_facts WHERE content = ?", [ERASED])
    return PurgedIds(
        memories=(*(row[0] for row in tombs), *queries.known_ids(memory_ids)),
        sessions=tuple(row[0] for row in marks),
        salt=salt,
        facts=tuple(row[0] for row in facts.fetchall()),
    )


def copies_holding(data_dir: Path, purged: PurgedIds) -> tuple[StoreCopy, ...]:
    """Return the copies in a data directory that hold any of this, the oldest first."""
    backups = sorted((data_dir / BACKUP_DIR).glob("*.duckdb"))
    aside = sorted(data_dir.glob(f"{DATABASE_FILE}{REPLACED}*"))
    replaced = [path for path in aside if not path.name.endswith(_LOG)]
    present = data_dir / DATABASE_FILE
    # Closing the database's own file here would drop the lock on it.
    others = [path for path in replaced if not (present.exists() and path.samefile(present))]
    found = [StoreCopy(path, is_backup=True) for path in backups if _holds(path, purged)]
    return (*(StoreCopy(path, is_backup=False) for path in others if _holds(path, purged)), *found)


def delete_copies(copies: Sequence[StoreCopy]) -> tuple[StoreCopy, ...]:
    """Delete copies with their logs and return those that are gone; a failure is logged."""
    gone = []
    for copy in copies:
        try:
            copy.path.with_name(copy.path.name + _LOG).unlink(missing_ok=True)
            copy.path.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("%s stays: %s", copy.path, error)
        else:
            gone.append(copy)
    return tuple(gone)


def _holds(path: Path, purged: PurgedIds) -> bool:
    import duckdb

    try:
        with duckdb.connect(str(path), read_only=True, config=_CONFIG) as db:
            db.execute("SET enable_external_access = false")
            return _asked(db, purged)
    except (duckdb_error(), OSError) as error:
        _log.warning("%s can't be read: %s", path, error)
        return True


def _asked(db: Connection, purged: PurgedIds) -> bool:
    if queries.meta(db).get(queries.HAS_PURGED):  # its free blocks hold what was purged before it
        return True
    found = db.execute(
        "SELECT 1 FROM memories WHERE id IN (SELECT unnest(?::UUID[])) "
        "UNION ALL SELECT 1 FROM executions "
        "WHERE sha256(? || '/' || id) IN (SELECT unnest(?::VARCHAR[])) LIMIT 1",
        [list(purged.memories), purged.salt, list(purged.sessions)],
    ).fetchone()
    return found is not None or _has_facts(db, purged.facts)


def _has_facts(db: Connection, ids: Sequence[str]) -> bool:
    """Whether a copy, which may be older than facts are, has the texts of any of these."""
    tables = "SELECT 1 FROM duckdb_tables() WHERE table_name = 'org_operations'"
    if not ids or not db.execute(tables).fetchone():
        return False
    said = (
        "SELECT 1 FROM org_operations WHERE fact_id IN (SELECT unnest(?::UUID[])) "
        "AND content IS NOT NULL AND content <> ? LIMIT 1"
    )
    return db.execute(said, [list(ids), ERASED]).fetchone() is not None

"""Operational data and memories as files for other programs: Parquet or CSV, one a table.

The rows of one moment are copied, as they are stored: what was redacted stays so. A folder is
written whole or not at all, and only its owner may read it. Times are UTC; in CSV a null is an
empty field, an empty text ``""``, and a list is JSON.
"""

import json
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from synthorg_tui.core.disk_space import WRITE_ROOM, need_room
from synthorg_tui.core.errors import CancelledByUserError, DomainError
from synthorg_tui.core.files import PRIVATE_FILE, make_private, write_atomically
from synthorg_tui.core.text import safe_text
from synthorg_tui.core.types import FrozenModel
from synthorg_tui.persistence import entities
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.repositories.trail import AUDIT
from synthorg_tui.persistence.repositories.work import ARTIFACTS, PROJECTS, STATES
from synthorg_tui.persistence.values import insert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

MEMORIES: Final = "memories"
CONTENTS: Final = "export.json"
"""Tells what a folder has, and that an export wrote it."""
_BATCH: Final = 2048
_ROWS: Final = "rows.duckdb"
_ENTITIES: Final[Mapping[str, tuple[type[FrozenModel], str]]] = {
    "tasks": (entities.Task, "tasks"),
    "cost_records": (entities.CostRecord, "cost_records"),
    "messages": (entities.Message, "messages"),
    "lifecycle_events": (entities.LifecycleEvent, "lifecycle_events"),
    "task_metrics": (entities.TaskMetric, "task_metrics"),
    "collaboration_metrics": (entities.CollaborationMetric, "collaboration_metrics"),
    "parked_contexts": (entities.ParkedContext, "parked_contexts"),
    "audit_entries": (entities.AuditEntry, f"({AUDIT})"),
    "users": (entities.User, "users"),
    "api_keys": (entities.ApiKey, "api_keys"),
    "checkpoints": (entities.Checkpoint, "checkpoints"),
    "heartbeats": (entities.Heartbeat, "heartbeats"),
    "agent_states": (entities.AgentRuntimeState, f"({STATES})"),
    "settings": (entities.Setting, "settings"),
    "artifacts": (entities.Artifact, f"({ARTIFACTS})"),
    "projects": (entities.Project, f"({PROJECTS})"),
    "custom_presets": (entities.CustomPreset, "custom_presets"),
}
TABLES: Final = (MEMORIES, *_ENTITIES)
"""What can be exported: memories that aren't deleted, and the entities of every repository."""

ExportProgress: TypeAlias = Callable[[int, int], None]
"""Told how many rows are written, of how many."""


class ExportFormat(StrEnum):
    """Format of the files, and the end of their names."""

    PARQUET = "parquet"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class DataExport:
    """What an export wrote: the folder, and how many rows of each table."""

    path: Path
    format: ExportFormat
    rows: Mapping[str, int]


class DataExporter:
    """Writes tables of a store to folders."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(
        self,
        target: Path,
        *,
        format: ExportFormat = ExportFormat.PARQUET,
        tables: Sequence[str] = (),
        progress: ExportProgress | None = None,
        cancel: threading.Event | None = None,
    ) -> DataExport:
        """Write ``tables`` (all, if none is named) to the folder ``target``.

        The folder is new, empty, or that of an earlier export, whose files are replaced. Raises
        ``DomainError`` when it is anything else or there is no such table, ``DiskFullError``, and
        ``CancelledByUserError`` once ``cancel`` is set; then nothing is written.
        """
        unknown = sorted(set(tables) - set(TABLES))
        if unknown:
            remedy = f"There are: {', '.join(TABLES)}."
            raise DomainError(f"there is no table {safe_text(unknown[0])!r}", remedy=remedy)
        names = tuple(name for name in TABLES if not tables or name in tables)
        copying = _Copying(names, format, progress, cancel or threading.Event())
        return await self._database.read(lambda db: copying.run(db, target.absolute()))


class _Copying:
    """One export's way through the tables; a database beside the files holds a table at a time."""

    def __init__(
        self,
        names: Sequence[str],
        format: ExportFormat,
        progress: ExportProgress | None,
        cancel: threading.Event,
    ) -> None:
        self._names = names
        self._format = format
        self._progress = progress or (lambda _, __: None)
        self._cancel = cancel
        self._done = 0
        self._total = 0

    def run(self, db: "Connection", target: Path) -> DataExport:
        """Write all tables to the folder, within one snapshot."""
        _require_ours(target)
        self._done, self._total = 0, sum(_count(db, name) for name in self._names)
        with _drafted(target) as draft:
            with _connected(draft / _ROWS) as between:
                rows = {name: self._copy(db, between, name, draft) for name in self._names}
            (draft / _ROWS).unlink()
            text = json.dumps({"format": self._format.value, "tables": rows}, indent=2) + "\n"
            write_atomically(draft / CONTENTS, text.encode(), mode=PRIVATE_FILE)
        return DataExport(target, self._format, rows)

    def _copy(self, db: "Connection", between: "Connection", name: str, draft: Path) -> int:
        columns = [(c, kind) for c, kind, *_ in db.execute(f"DESCRIBE {_query(name)}").fetchall()]
        made = ", ".join(f'"{column}" {kind}' for column, kind in columns)
        between.execute(f'CREATE TABLE "{name}" ({made})')
        copied = 0
        rows = db.execute(_query(name))
        while batch := rows.fetchmany(_BATCH):
            if self._cancel.is_set():
                raise CancelledByUserError("the export was cancelled; nothing was written")
            insert(between, f'"{name}"', [kind for _, kind in columns], batch)
            copied += len(batch)
            self._progress(self._done + copied, self._total)
        self._done += copied
        path = draft / f"{name}.{self._format}"
        quoted = str(path).replace("'", "''")
        between.execute(f"COPY ({self._selected(name, columns)}) TO '{quoted}' ({self._options})")
        between.execute(f'DROP TABLE "{name}"')
        make_private(path)
        return copied

    def _selected(self, name: str, columns: Sequence[tuple[str, str]]) -> str:
        if self._format is ExportFormat.PARQUET:
            return f'SELECT * FROM "{name}"'
        told = (
            f'to_json("{column}")::VARCHAR AS "{column}"' if kind.endswith("[]") else f'"{column}"'
            for column, kind in columns
        )
        return f'SELECT {", ".join(told)} FROM "{name}"'

    @property
    def _options(self) -> str:
        if self._format is ExportFormat.PARQUET:
            return "FORMAT parquet, COMPRESSION zstd"
        return "FORMAT csv, HEADER, FORCE_QUOTE *"


def _query(name: str) -> str:
    if name == MEMORIES:
        return "SELECT * FROM memories WHERE deleted_at IS NULL"
    entity, source = _ENTITIES[name]
    names = ", ".join(f'"{name}"' for name in entity.model_fields)
    return f"SELECT {names} FROM {source}"


def _count(db: "Connection", name: str) -> int:
    row = db.execute(f"SELECT count(*) FROM ({_query(name)})").fetchone()
    return int(row[0]) if row else 0


@contextmanager
def _connected(path: Path) -> "Iterator[Connection]":
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "memory_limit": "256MB",
        "threads": "1",
    }
    connection = duckdb.connect(str(path), config=config)
    try:
        yield connection
    finally:
        connection.close()


def _is_of_export(name: str) -> bool:
    known = {f"{table}.{end}" for table in TABLES for end in ExportFormat}
    return name in known or name in (CONTENTS, _ROWS, f"{_ROWS}.wal")


def _require_ours(target: Path) -> None:
    """Refuse a folder that has anything but an earlier export."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise DomainError(f"{target} is no folder", remedy="Name a new one.")
    present = [entry.name for entry in target.iterdir()] if target.exists() else []
    others = sorted(name for name in present if not _is_of_export(name))
    if others or (present and CONTENTS not in present):
        found = safe_text((others or sorted(present))[0])
        remedy = "Name a new folder, or that of an earlier export."
        raise DomainError(f"{target} has something else in it: {found}", remedy=remedy)


@contextmanager
def _drafted(target: Path) -> Iterator[Path]:
    """A private folder beside the target that takes its place at the end, or goes."""
    draft = target.with_name(f".{target.name}.export-draft")
    former = target.with_name(f".{target.name}.export-former")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        need_room(target.parent, WRITE_ROOM)
        for left in (draft, former):
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)  # of an export that was killed
        draft.mkdir(mode=0o700)
        yield draft
        if target.exists():
            target.rename(former)
        draft.rename(target)
        shutil.rmtree(former, ignore_errors=True)
    except OSError as error:
        raise DomainError(f"{target} can't be written: {error.strerror}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)

"""Examines a store: database, revisions, index, vectors, files.

Nothing here changes anything; what a check finds is repaired in ``maintenance``.
"""

import asyncio
import fcntl
import json
import os
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import PRIVATE_DIR, PRIVATE_FILE
from synthorg_tui.memory.errors import duckdb_error
from synthorg_tui.memory.index.protocol import IndexFilter
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.copies import copies_holding, purged_ids
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.rows import STORED, StoredMemory
from synthorg_tui.persistence import LOCK_FILE
from synthorg_tui.persistence.migrations import schema_version
from synthorg_tui.persistence.values import aware

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MIN_FREE_BYTES = 200 * 1024 * 1024
_SAMPLE = 20
_TABLES = ("memories", "vectors", "tombstones", "history", "executions", "execution_lines")


@dataclass(frozen=True, slots=True)
class Check:
    """Result of one check; ``detail`` describes in words what was found."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """Results of all checks of a store; ``ok`` when every check passed."""

    ok: bool
    checks: tuple[Check, ...]

    def as_json(self) -> dict[str, object]:
        """Return the report as plain data that can be written as JSON."""
        return {"ok": self.ok, "checks": [asdict(check) for check in self.checks]}


class Doctor:
    """Checks an open store for problems, without changing anything."""

    def __init__(self, core: Core, data_dir: Path) -> None:
        self._core = core
        self._data_dir = data_dir

    async def examine(self) -> DoctorReport:
        """Run every check and return the report; a check that raises is reported as failed."""
        checks = [
            await self._run("database", self._database),
            await self._run("revisions", self._revisions),
            await self._run("index", self._index),
            await self._run("vectors", self._vectors),
            await self._run("search", self._search),
            await self._run("erased", self._erased),
            await self._run("copies", self._copies),
            await self._run("sessions", self._sessions),
            await self._run("lock", self._lock),
            await self._run("permissions", self._permissions),
            await self._run("disk space", self._space),
        ]
        return DoctorReport(ok=all(check.ok for check in checks), checks=tuple(checks))

    async def index_difference(self) -> tuple[list[str], list[str]]:
        """Compare index and database, and return two sorted lists of ids.

        The first are live memories missing from the index; the second are points in the index
        without a live memory.
        """
        live = set(await self._core.read(_live_ids))
        index = (await self._core.indexed()).index
        indexed = {point_id async for point_id in index.ids()}
        return sorted(live - indexed), sorted(indexed - live)

    def loose_paths(self) -> list[tuple[Path, int]]:
        """Return paths in the data directory that other users can access, with proper modes."""
        wanted = [(self._data_dir, PRIVATE_DIR)]
        wanted += [(p, PRIVATE_FILE) for p in self._data_dir.iterdir() if p.is_file()]
        return [(path, mode) for path, mode in wanted if path.stat().st_mode & 0o077]

    async def _run(self, name: str, check: Callable[[], Awaitable[tuple[bool, str]]]) -> Check:
        try:
            ok, detail = await check()
        except (DomainError, duckdb_error(), OSError) as error:
            return Check(name, ok=False, detail=str(error).splitlines()[0])
        return Check(name, ok, detail)

    async def _database(self) -> tuple[bool, str]:
        version, rows = await self._core.read(_read_everything)
        return True, f"schema version {version}, {rows} rows read without damage"

    async def _revisions(self) -> tuple[bool, str]:
        wrong, last = await self._core.read(_wrong_revisions)
        detail = f"{wrong} memories disagree with their history" if wrong else f"last is {last}"
        return not wrong, detail

    async def _index(self) -> tuple[bool, str]:
        missing, unknown = await self.index_difference()
        projection = await self._core.indexed()
        count, behind = await projection.index.count(), projection.is_behind
        if missing or unknown or behind:
            late = ", behind the database" if behind else ""
            return False, f"{len(missing)} memories missing, {len(unknown)} points unknown{late}"
        return True, f"{count} points, the same as live memories"

    async def _vectors(self) -> tuple[bool, str]:
        fingerprint = self._core.embedder.fingerprint
        waiting = await self._core.read(lambda db: queries.count_unembedded(db, fingerprint))
        if waiting:
            return False, f"{waiting} memories wait for embedding by {fingerprint}"
        return True, f"every memory has a vector of {fingerprint}"

    async def _search(self) -> tuple[bool, str]:
        """A sample must be found by its own words; the index has no way to look points up."""
        where = queries.live_where(now=self._core.clock.now())
        rows = await self._core.read(
            lambda db: queries.listing(db, where, STORED, order="m.content_hash", limit=_SAMPLE)
        )
        lost = [row.id for row in rows if not await self._is_found(row)]
        if lost:
            return False, f"{len(lost)} of {len(rows)} tried aren't found by their own words"
        return True, f"{len(rows)} of {len(rows)} tried are found by their own words"

    async def _is_found(self, row: StoredMemory) -> bool:
        sparse = self._core.tokenizer.encode(row.content)
        if sparse.is_empty:
            return True
        where = IndexFilter(
            now=self._core.clock.now(),
            agents=frozenset({row.agent_id}),
            since=aware(row.created_at),
            shared=row.shared,
        )
        index = (await self._core.indexed()).index
        hits = await index.search(where, dense=None, sparse=sparse, limit=200)
        return len(hits.sparse) == 200 or any(hit.id == row.id for hit in hits.sparse)

    async def _erased(self) -> tuple[bool, str]:
        """No fault while nothing failed: it is erased soon, and at the latest on closing."""
        remains = self._core.remains
        return not remains.reason, remains.told

    async def _copies(self) -> tuple[bool, str]:
        """Not a fault: a person may want a copy although it holds what was purged since."""
        purged = await self._core.read(purged_ids)
        copies = await asyncio.to_thread(copies_holding, self._data_dir, purged)
        if not copies:
            return True, "no copy of the database holds what was purged"
        names = ", ".join(str(copy.path.relative_to(self._data_dir)) for copy in copies)
        return True, f"still holding what was purged: {names}"

    async def _sessions(self) -> tuple[bool, str]:
        count, size = await self._core.read(_sessions_size)
        return True, f"{count} with {size / 1e6:.1f} MB of records and transcript lines"

    async def _lock(self) -> tuple[bool, str]:
        path = self._data_dir / LOCK_FILE
        if not path.exists():
            return True, "not locked"
        owner = _owner(path)
        if owner in (None, os.getpid()):
            return True, "held by this process" if owner else "not locked"
        return False, f"held by process {owner}"

    async def _permissions(self) -> tuple[bool, str]:
        loose = self.loose_paths()
        if loose:
            return False, f"others may read {', '.join(path.name for path, _ in loose)}"
        return True, "directory and files are for their owner only"

    async def _space(self) -> tuple[bool, str]:
        free = shutil.disk_usage(self._data_dir).free
        needed = max(MIN_FREE_BYTES, self._core.database.path.stat().st_size)
        return free >= needed, f"{free // 1024**2} MB free, {needed // 1024**2} MB needed"


def _owner(path: Path) -> int | None:
    """The pid in a lock file that is locked; ``None`` when nobody holds it."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(json.loads(file.read())["pid"])
        return None


def _read_everything(db: "DuckDBPyConnection") -> tuple[int, int]:
    """Reading each value makes DuckDB verify the checksum of each block."""
    rows = 0
    for table in _TABLES:
        row = db.execute(f"SELECT count(*), sum(hash(t)::HUGEINT) FROM {table} t").fetchone()
        rows += int(row[0]) if row else 0
    return schema_version(db), rows


def _sessions_size(db: "DuckDBPyConnection") -> tuple[int, int]:
    row = db.execute(
        "SELECT (SELECT count(*) FROM executions), "
        "coalesce((SELECT sum(octet_length(record)) FROM executions), 0) "
        "+ coalesce((SELECT sum(octet_length(lines)) FROM execution_lines), 0)"
    ).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def _wrong_revisions(db: "DuckDBPyConnection") -> tuple[int, int]:
    row = db.execute(
        "SELECT count(*) FROM (SELECT id, revision FROM memories "
        "UNION ALL SELECT memory_id, revision FROM tombstones) m LEFT JOIN "
        "(SELECT memory_id, max(revision) AS last FROM history GROUP BY 1) h "
        "ON h.memory_id = m.id WHERE h.last IS DISTINCT FROM m.revision"
    ).fetchone()
    return (int(row[0]) if row else 0), queries.last_revision(db)


def _live_ids(db: "DuckDBPyConnection") -> list[str]:
    rows = db.execute(f"SELECT m.id::VARCHAR FROM memories m WHERE {queries.LIVE}").fetchall()
    return [row[0] for row in rows]

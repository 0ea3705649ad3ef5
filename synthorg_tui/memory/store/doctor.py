"""Examines a store: database, revisions, index, vectors, files.

Nothing here changes anything; what a check finds is repaired in ``maintenance``.
"""

import asyncio
import fcntl
import json
import os
import shutil
import stat
import threading
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from synthorg_tui.core.disk_space import LOW_SPACE
from synthorg_tui.core.errors import CancelledByUserError, DomainError
from synthorg_tui.core.files import PRIVATE_DIR, PRIVATE_FILE
from synthorg_tui.core.text import counted, size
from synthorg_tui.executions.forgotten import aged_in
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.memory.errors import duckdb_error
from synthorg_tui.memory.index.protocol import IndexFilter
from synthorg_tui.memory.listing import ORG_NAMESPACE, ORG_OWNER
from synthorg_tui.memory.org.log import FactRow, disagreeing, rows_with
from synthorg_tui.memory.store import edges, queries
from synthorg_tui.memory.store.copies import copies_holding, purged_ids
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.policy import AgeRules
from synthorg_tui.memory.store.rows import STORED, StoredMemory
from synthorg_tui.persistence import DATABASE_FILE, LOCK_FILE, OWN_FILES
from synthorg_tui.persistence.backups import backups_in
from synthorg_tui.persistence.config import POSTGRES
from synthorg_tui.persistence.integrity import ReadProgress, read_tables
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import aware

_SAMPLE = 20
_NAMED = 5
_MAX_KINDS = 10


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


async def with_sessions(report: DoctorReport, executions: ExecutionStore) -> DoctorReport:
    """Add what concerns the imported sessions and is no fault of the store.

    That is which of them were not learnt from yet, and the records that no reader knew.
    """
    if not report.ok:  # of a damaged database only what is damaged is asked
        return report
    kinds = await executions.unknown_kinds()
    words = ", ".join(f"{each.reader} {each.kind} ×{each.count:,}" for each in kinds[:_MAX_KINDS])
    more = f" and {len(kinds) - _MAX_KINDS} kinds more" if len(kinds) > _MAX_KINDS else ""
    detail = f"records of unknown types: {words}{more}" if kinds else "every record type was known"
    left = len(await executions.unlearnt())
    learnt = "every session was learnt from"
    if left:
        remedy = "`synthorg-tui learn` does it, as does the next import"
        learnt = f"{counted(left, 'session')} not yet learnt from; {remedy}"
    checks = (Check("learning", True, learnt), Check("readers", True, detail))
    return replace(report, checks=(*report.checks, *checks))


class Doctor:
    """Checks an open store for problems, without changing anything."""

    def __init__(self, core: Core, data_dir: Path) -> None:
        self._core = core
        self._data_dir = data_dir

    async def examine(
        self,
        *,
        progress: ReadProgress | None = None,
        cancel: threading.Event | None = None,
    ) -> DoctorReport:
        """Run every check and return the report; a check that raises is reported as failed.

        Raises ``CancelledByUserError`` once ``cancel`` is set while the tables are read.
        """
        checks = [
            await self._run("database", partial(self._database, progress, cancel)),
            await self._run("file", self._file),
            await self._run("revisions", self._revisions),
            await self._run("index", self._index),
            await self._run("vectors", self._vectors),
            await self._run("search", self._search),
            await self._run("erased", self._erased),
            await self._run("copies", self._copies),
            await self._run("archive", self._archive),
            await self._run("organisation", self._organisation),
            await self._run("sessions", self._sessions),
            await self._run("approvals", self._approvals),
            await self._run("lock", self._lock),
            await self._run("permissions", self._permissions),
            await self._run("disk space", self._space),
            await self._run("backups", self._backups),
        ]
        if self._core.database.is_shared:
            checks.append(await self._run("retention", self._retention))
        return DoctorReport(ok=all(check.ok for check in checks), checks=tuple(checks))

    async def index_difference(self) -> tuple[list[str], list[str]]:
        """Compare index and database, and return two sorted lists of ids.

        The first are live memories and facts missing from the index; the second are points in the
        index without one.
        """
        live = set(await self._core.read(_live_ids))
        index = (await self._core.indexed()).index
        indexed = {point_id async for point_id in index.ids()}
        return sorted(live - indexed), sorted(indexed - live)

    def loose_paths(self) -> list[tuple[Path, int]]:
        """Return our paths in the data directory that other users can access, with proper modes.

        The directory may be one that a person has other files in: those, and links, aren't ours.
        """
        wanted = [(self._data_dir, PRIVATE_DIR)]
        wanted += [(path, PRIVATE_FILE) for path in self._data_dir.iterdir() if _is_own(path)]
        return [(path, mode) for path, mode in wanted if path.stat().st_mode & 0o077]

    async def _run(self, name: str, check: Callable[[], Awaitable[tuple[bool, str]]]) -> Check:
        try:
            ok, detail = await check()
        except CancelledByUserError:
            raise
        except (DomainError, duckdb_error(), OSError) as error:
            return Check(name, ok=False, detail=str(error).splitlines()[0])
        return Check(name, ok, detail)

    async def _database(
        self, progress: ReadProgress | None, cancel: threading.Event | None
    ) -> tuple[bool, str]:
        read = await self._core.read(lambda db: read_tables(db, progress=progress, cancel=cancel))
        if read.damaged:
            return False, f"{read.problem}; `synthorg-tui restore` brings back the last backup"
        return True, f"schema version {read.version}, {read.rows} rows read without damage"

    async def _file(self) -> tuple[bool, str]:
        damaged = await self._core.database.damaged_blocks()
        if damaged is None:
            return True, "its files are the server's, which looks after them (pg_amcheck)"
        if damaged:
            what = "block" if damaged == 1 else "blocks"
            remedy = "where all tables are whole, `doctor --fix` makes the file anew from them"
            return False, f"{damaged} {what} of the file can't be read; {remedy}"
        return True, "every block in use has its checksum"

    async def _backups(self) -> tuple[bool, str]:
        if self._core.database.kind == POSTGRES:
            return True, "made on the server (pg_dump), not by this program"
        backups = await asyncio.to_thread(backups_in, self._data_dir)
        if not backups:
            return True, "none yet"
        made_at = backups[0].made_at.isoformat(sep=" ", timespec="minutes")
        daily = sum(backup.is_daily for backup in backups)
        return True, f"{len(backups)}, {daily} of them daily; the newest is of {made_at}"

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
        where = self._core.live_where()
        rows = await self._core.read(
            lambda db: queries.listing(db, where, STORED, order="m.content_hash", limit=_SAMPLE)
        )
        facts = await self._core.read(lambda db: rows_with(db, None, None, _SAMPLE))
        tried = [(row.id, row.content, self._where(row)) for row in rows]
        tried += [(fact.fact_id, fact.content, self._where_fact(fact)) for fact in facts]
        lost = [each for each in tried if not await self._is_found(*each)]
        if lost:
            return False, f"{len(lost)} of {len(tried)} tried aren't found by their own words"
        return True, f"{len(tried)} of {len(tried)} tried are found by their own words"

    def _where(self, row: StoredMemory) -> IndexFilter:
        return IndexFilter(
            now=self._core.clock.now(),
            agents=frozenset({row.agent_id}),
            since=aware(row.created_at),
            shared=row.shared,
        )

    def _where_fact(self, row: FactRow) -> IndexFilter:
        return IndexFilter(
            now=self._core.clock.now(),
            namespaces=frozenset({ORG_NAMESPACE}),
            agents=frozenset({ORG_OWNER}),
            since=aware(row.created_at),
        )

    async def _is_found(self, key: str, content: str, where: IndexFilter) -> bool:
        sparse = self._core.tokenizer.encode(content)
        if sparse.is_empty:
            return True
        index = (await self._core.indexed()).index
        hits = await index.search(where, dense=None, sparse=sparse, limit=200)
        return len(hits.sparse) == 200 or any(hit.id == key for hit in hits.sparse)

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

    async def _archive(self) -> tuple[bool, str]:
        archived, unclear, loose = await self._core.read(_archive_state)
        if unclear or loose:
            return False, f"{unclear} without a clear reason, {loose} links to no memory"
        return True, f"{archived} archived, each with its reason"

    async def _organisation(self) -> tuple[bool, str]:
        count, wrong = await self._core.read(disagreeing)
        if wrong:
            named = ", ".join(wrong[:_NAMED]) + (", ..." if len(wrong) > _NAMED else "")
            return False, f"{len(wrong)} facts aren't what their log says: {named}"
        return True, f"{count} facts, each as its log says"

    async def _sessions(self) -> tuple[bool, str]:
        count, stored_bytes = await self._core.read(_sessions_size)
        stored = f"{count} with {size(stored_bytes)} of records and transcript lines"
        aged = await self._core.read(aged_in)
        if aged.latest is None:
            return True, stored
        return True, f"{stored}; {aged.count} deleted by age, the last on {aged.latest:%Y-%m-%d}"

    async def _approvals(self) -> tuple[bool, str]:
        approved, unknown = await self._core.read(_approved_by_nobody)
        if unknown:
            named = ", ".join(unknown[:_NAMED]) + (", ..." if len(unknown) > _NAMED else "")
            return False, f"{len(unknown)} marked approved that nobody approved: {named}"
        return True, f"{approved} approved, each with its decision in the trail"

    async def _retention(self) -> tuple[bool, str]:
        own, held = AgeRules.of(self._core.policy), await self._core.read(AgeRules.load)
        told = f"for all programs: {held.told()}"
        if own == held or not own.rules:
            return True, told
        return False, f"{told}; in the settings here: {own.told()}"

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
        needed = max(LOW_SPACE, self._core.database.path.stat().st_size)
        return free >= needed, f"{free // 1024**2} MB free, {needed // 1024**2} MB needed"


def _owner(path: Path) -> int | None:
    """The pid in a lock file that is locked; ``None`` when nobody holds it."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = file.read()
            # On a full disk it isn't written; who examines an open store is its owner.
            return int(json.loads(owner)["pid"]) if owner else os.getpid()
        return None


def _is_own(path: Path) -> bool:
    is_ours = path.name in OWN_FILES or path.name.startswith(f"{DATABASE_FILE}.")
    return is_ours and stat.S_ISREG(path.lstat().st_mode)


def _sessions_size(db: Connection) -> tuple[int, int]:
    count, stored = queries.numbers(
        db,
        "SELECT (SELECT count(*) FROM executions), "
        "coalesce((SELECT sum(octet_length(record)) FROM executions), 0) "
        "+ coalesce((SELECT sum(octet_length(lines)) FROM execution_lines), 0)",
    )
    return count, stored


def _wrong_revisions(db: Connection) -> tuple[int, int]:
    (wrong,) = queries.numbers(
        db,
        "SELECT count(*) FROM (SELECT id, revision FROM memories "
        "UNION ALL SELECT memory_id, revision FROM tombstones) m LEFT JOIN "
        "(SELECT memory_id, max(revision) AS last FROM history GROUP BY 1) h "
        "ON h.memory_id = m.id WHERE h.last IS DISTINCT FROM m.revision",
    )
    return wrong, queries.last_revision(db)


def _archive_state(db: Connection) -> tuple[int, int, int]:
    """How many memories are archived, are half so, and how many edges end at no memory."""
    archived, unclear, loose = queries.numbers(
        db,
        "SELECT count(archived_at), count(*) FILTER "
        f"(WHERE {queries.HALF_ARCHIVED}), (SELECT count(*) FROM memory_edges e "
        f"WHERE {edges.IS_LOOSE}) FROM memories m",
    )
    return archived, unclear, loose


def _approved_by_nobody(db: Connection) -> tuple[int, list[str]]:
    """How many items are approved, and those whose last decision in the trail is another one."""
    rows = db.execute(
        "SELECT a.id, last.kind IS NOT DISTINCT FROM 'approved' FROM approvals a LEFT JOIN "
        "(SELECT item_id, arg_max(kind, number) AS kind FROM approval_events "
        "WHERE kind IN ('approved', 'rejected', 'reopened') GROUP BY 1) last "
        "ON last.item_id = a.id WHERE a.status = 'approved' ORDER BY a.id"
    ).fetchall()
    return len(rows), [item_id for item_id, known in rows if not known]


def _live_ids(db: Connection) -> list[str]:
    return queries.column(
        db,
        f"SELECT m.id::VARCHAR FROM memories m WHERE {queries.LIVE} "
        "UNION ALL SELECT fact_id::VARCHAR FROM org_facts WHERE retracted_at IS NULL",
    )

"""The stored record of every agent's calls, and of the rights that a person took from agents.

Rows are append-only and read by older and newer versions: their columns and bytes are fixed. What
is recorded, and how it is cut and redacted, is decided in ``agents.session``.
"""

import asyncio
import json
from collections import deque
from contextlib import suppress
from typing import Any, Final

from synthorg_tui.agents.models import AgentRights, CallKind, CallRecord
from synthorg_tui.core.errors import DomainError
from synthorg_tui.persistence.call_log import ERASED
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import aware, insert, naive_utc

FLUSH_SECONDS: Final = 0.25
"""Seconds after which calls that only read are written together: a commit outlasts a search."""
_TYPES: Final = {
    "number": "BIGINT",
    "called_at": "TIMESTAMP",
    "agent_id": "VARCHAR",
    "client": "VARCHAR",
    "project": "VARCHAR",
    "kind": "VARCHAR",
    "name": "VARCHAR",
    "arguments": "VARCHAR",
    "is_error": "BOOLEAN",
    "tokens": "BIGINT",
    "milliseconds": "DOUBLE",
    "memory_ids": "VARCHAR[]",
    "wrote": "BOOLEAN",
    "texts": "BLOB",
}
_COLUMNS: Final = ", ".join(_TYPES)
_EVENTS: Final = (("resumed", "paused"), ("made_writable", "made_read_only"))
"""Events of an agent for each of its rights, by whether that is taken."""


class AuditTrail:
    """Stores the calls of agents in the database, and the rights taken from agents.

    About the newest ``keep`` calls are stored: the oldest beyond that number are deleted, a
    hundredth of ``keep`` at a time. Call ``close`` last, or calls not yet written are lost.
    """

    def __init__(self, database: StoreDatabase, *, keep: int) -> None:
        self._database = database
        self._keep = keep
        self._waiting: deque[CallRecord] = deque()
        self._numbers = asyncio.Lock()
        self._writing = asyncio.Lock()
        self._last: int | None = None
        self._dropped_next = 1
        self._flushing: asyncio.Task[None] | None = None

    async def add(self, record: CallRecord) -> CallRecord:
        """Record a call and return it with its number, which counts up from 1.

        A call that changed the store is on disk when this returns; one that only read is written
        within ``FLUSH_SECONDS``, or at once where other apps write to the database, too.
        """
        if self._database.is_shared:  # other apps give numbers, too
            return await self._database.write(lambda db: self._add_at_once(db, record))
        async with self._numbers:
            if self._last is None:
                self._last = await self._database.read(_last_number)
            self._last += 1
            numbered = record._replace(number=self._last)
            self._waiting.append(numbered)
        if record.wrote:
            await self.flush()
        elif self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush_later())
        return numbered

    async def flush(self) -> None:
        """Write all calls that are not on disk yet, and wait for a write that is under way.

        Once begun it runs to its end even when the caller is cancelled; otherwise calls that are
        written already would be written again.
        """
        if self._waiting:
            await asyncio.shield(asyncio.ensure_future(self._write()))

    async def _write(self) -> None:
        async with self._writing:
            records = list(self._waiting)
            if not records:
                return
            rows = await asyncio.to_thread(lambda: [_row(record) for record in records])
            await self._database.write(lambda db: self._insert(db, rows))
            for _ in records:
                self._waiting.popleft()

    def _add_at_once(self, db: Connection, record: CallRecord) -> CallRecord:
        numbered = record._replace(number=_last_number(db) + 1)
        self._insert(db, [_row(numbered)])
        return numbered

    def _insert(self, db: Connection, rows: list[tuple[Any, ...]]) -> None:
        insert(db, "agent_calls", tuple(_TYPES.values()), rows)
        beyond = rows[-1][0] - self._keep
        if beyond >= self._dropped_next:
            db.execute("DELETE FROM agent_calls WHERE number <= ?", [beyond])
            self._dropped_next = beyond + max(self._keep // 100, 1)

    async def close(self) -> None:
        """Write the calls that are not on disk yet; nothing may be added afterwards."""
        if self._flushing is not None:
            self._flushing.cancel()
            await asyncio.gather(self._flushing, return_exceptions=True)
        await self.flush()

    async def calls(
        self, *, limit: int, agent: str | None = None, text: str | None = None
    ) -> tuple[CallRecord, ...]:
        """Return at most ``limit`` recorded calls, newest first.

        ``agent`` limits them to one agent's id; ``text`` must occur in the tool's name or the
        arguments, in upper or lower case.
        """
        await self.flush()
        conditions, values = ["true"], list[Any]()
        if agent is not None:
            conditions.append("agent_id = ?")
            values.append(agent)
        if text:
            conditions.append("contains(lower(name || ' ' || arguments), lower(?))")
            values.append(text)
        sql = (
            f"SELECT {_COLUMNS} FROM agent_calls WHERE {' AND '.join(conditions)} "
            "ORDER BY number DESC LIMIT ?"
        )
        rows = await self._database.read(lambda db: db.execute(sql, [*values, limit]).fetchall())
        return await asyncio.to_thread(lambda: tuple(map(_record, rows)))

    async def call(self, number: int) -> CallRecord | None:
        """Return the call with this number; ``None`` if it never existed or has been deleted."""
        await self.flush()
        sql = f"SELECT {_COLUMNS} FROM agent_calls WHERE number = ?"
        row = await self._database.read(lambda db: db.execute(sql, [number]).fetchone())
        return await asyncio.to_thread(_record, row) if row is not None else None

    async def rights(self) -> dict[str, AgentRights]:
        """Return the stored rights by agent id; agents that were never restricted are missing."""
        rows = await self._database.read(
            lambda db: db.execute("SELECT agent_id, paused, read_only FROM agent_rights").fetchall()
        )
        return {agent: AgentRights(paused, read_only) for agent, paused, read_only in rows}

    async def set_rights(self, agent_id: str, rights: AgentRights) -> None:
        """Store the rights of an agent; what changes by that is an event of it."""
        await self._database.write(lambda db: _set_rights(db, agent_id, rights))

    async def _flush_later(self) -> None:
        await asyncio.sleep(FLUSH_SECONDS)
        with suppress(DomainError):  # the store is being closed: nothing can be recorded any more
            await self.flush()


def _set_rights(db: Connection, agent_id: str, rights: AgentRights) -> None:
    sql = "SELECT paused, read_only FROM agent_rights WHERE agent_id = ?"
    before = AgentRights(*(db.execute(sql, [agent_id]).fetchone() or ()))
    db.execute("INSERT OR REPLACE INTO agent_rights VALUES (?, ?, ?)", [agent_id, *rights])
    changed = zip(_EVENTS, before, rights, strict=True)
    for event in (words[now] for words, was, now in changed if was != now):
        db.execute(
            "INSERT INTO lifecycle_events VALUES "
            "(uuid()::VARCHAR, ?, ?, make_timestamp(epoch_us(now())), 'person', '')",
            [agent_id, event],
        )


def _last_number(db: Connection) -> int:
    row = db.execute("SELECT coalesce(max(number), 0) FROM agent_calls").fetchone()
    return int(row[0]) if row else 0


def _row(record: CallRecord) -> tuple[Any, ...]:
    import zstandard

    texts = json.dumps([record.reply, record.explanation]).encode()
    return (
        record.number,
        naive_utc(record.at),
        record.agent_id,
        record.client,
        record.project,
        record.kind.value,
        record.name,
        record.arguments,
        record.is_error,
        record.tokens,
        record.milliseconds,
        list(record.memory_ids),
        record.wrote,
        zstandard.ZstdCompressor().compress(texts),
    )


def _record(row: tuple[Any, ...]) -> CallRecord:
    import zstandard

    at = aware(row[1])
    assert at is not None
    reply, explanation = "(erased)", ""  # with a memory that was purged
    if row[13] != ERASED:
        reply, explanation = json.loads(zstandard.ZstdDecompressor().decompress(row[13]))
    return CallRecord(
        number=row[0],
        at=at,
        agent_id=row[2],
        client=row[3],
        project=row[4],
        kind=CallKind(row[5]),
        name=row[6],
        arguments=row[7],
        reply=reply,
        is_error=row[8],
        tokens=row[9],
        milliseconds=row[10],
        memory_ids=tuple(row[11]),
        wrote=row[12],
        explanation=explanation,
    )

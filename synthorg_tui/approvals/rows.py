"""Approvals and their audit trail as the database keeps them; run inside a transaction.

Erasing what items of the queue say; run inside a transaction.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from synthorg_tui.approvals import rows
from synthorg_tui.approvals.models import (
    ApprovalEvent,
    ApprovalEventKind,
    ApprovalItem,
    ApprovalNotFoundError,
    ApprovalStatus,
)
from synthorg_tui.persistence.values import aware, naive_utc

if TYPE_CHECKING:
    import duckdb


_COLUMNS = tuple(ApprovalItem.model_fields)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM approvals"
_DUE = "WHERE status = 'pending' AND expires_at <= ?"
_INSERT = (
    f"INSERT INTO approvals ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' for _ in _COLUMNS)})"
)
_UPDATE = f"UPDATE approvals SET {', '.join(f'{n} = ?' for n in _COLUMNS[1:])} WHERE id = ?"


def payload_hash(item: ApprovalItem) -> str:
    """SHA-256 (hex) of what the item would have approved, however its JSON is laid out."""
    try:
        text = json.dumps(json.loads(item.payload), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        text = item.payload
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def find(db: "duckdb.DuckDBPyConnection", item_id: str) -> ApprovalItem | None:
    """The item, or ``None``."""
    found = select(db, "WHERE id = ?", [item_id])
    return found[0] if found else None


def known(db: "duckdb.DuckDBPyConnection", item_id: str) -> ApprovalItem:
    """The item; raises ``ApprovalNotFoundError``."""
    item = find(db, item_id)
    if item is None:
        raise ApprovalNotFoundError(f"there is no proposal {item_id!r}")
    return item


def select(
    db: "duckdb.DuckDBPyConnection", clause: str, values: Sequence[object]
) -> tuple[ApprovalItem, ...]:
    """The items that ``clause`` (``WHERE`` and what follows) picks."""
    rows = db.execute(f"{_SELECT} {clause}", list(values)).fetchall()
    return tuple(_item(row) for row in rows)


def due(db: "duckdb.DuckDBPyConnection", now: datetime) -> tuple[ApprovalItem, ...]:
    """Pending items whose time is up, earliest first."""
    return select(db, f"{_DUE} ORDER BY expires_at, id", [naive_utc(now)])


def is_any_due(db: "duckdb.DuckDBPyConnection", now: datetime) -> bool:
    """Whether there is a pending item whose time is up."""
    found = db.execute(f"SELECT 1 FROM approvals {_DUE} LIMIT 1", [naive_utc(now)]).fetchone()
    return found is not None


def insert(db: "duckdb.DuckDBPyConnection", item: ApprovalItem) -> None:
    """Keep an item that isn't there yet."""
    db.execute(_INSERT, _values(item))


def update(db: "duckdb.DuckDBPyConnection", item: ApprovalItem) -> None:
    """Replace the item of this id."""
    item_id, *rest = _values(item)
    db.execute(_UPDATE, [*rest, item_id])


def append_event(
    db: "duckdb.DuckDBPyConnection",
    item: ApprovalItem,
    kind: ApprovalEventKind,
    *,
    at: datetime,
    actor: str,
    reason: str = "",
) -> None:
    """Add a line to the audit trail; ``item`` is as it is after the event."""
    db.execute(
        "INSERT INTO approval_events SELECT coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ? "
        "FROM approval_events",
        [item.id, naive_utc(at), kind.value, actor, reason, payload_hash(item)],
    )


def erase_reasons(db: "duckdb.DuckDBPyConnection", item_id: str) -> None:
    """Erase what the item's audit trail quotes; who did what, and when, stays."""
    db.execute("UPDATE approval_events SET reason = '' WHERE item_id = ?", [item_id])


def events(db: "duckdb.DuckDBPyConnection", item_id: str) -> tuple[ApprovalEvent, ...]:
    """The item's audit trail, oldest first."""
    rows = db.execute(
        "SELECT number, item_id, happened_at, kind, actor, reason, payload_hash "
        "FROM approval_events WHERE item_id = ? ORDER BY number",
        [item_id],
    ).fetchall()
    return tuple(
        ApprovalEvent(number, owner, at.replace(tzinfo=UTC), ApprovalEventKind(kind), *rest)
        for number, owner, at, kind, *rest in rows
    )


def count_by_status(
    db: "duckdb.DuckDBPyConnection", now: datetime
) -> dict[tuple[ApprovalStatus, bool], int]:
    """How many items there are of each status, and whether they are snoozed."""
    rows = db.execute(
        "SELECT status, status = 'pending' AND coalesce(snoozed_until > ?, false), count(*) "
        "FROM approvals GROUP BY ALL",
        [naive_utc(now)],
    ).fetchall()
    return {(ApprovalStatus(status), bool(snoozed)): int(n) for status, snoozed, n in rows}


def _values(item: ApprovalItem) -> list[object]:
    return [_kept(getattr(item, name)) for name in _COLUMNS]


def _kept(value: object) -> object:
    if isinstance(value, datetime):
        return naive_utc(value)
    if isinstance(value, StrEnum):
        return value.value
    return json.dumps(value) if isinstance(value, dict) else value


def _item(row: Sequence[object]) -> ApprovalItem:
    named = {
        name: aware(value) if isinstance(value, datetime) else value
        for name, value in zip(_COLUMNS, row, strict=True)
    }
    named["metadata"] = json.loads(str(named["metadata"]))
    return ApprovalItem.model_validate(named)


ERASED: Final = "(erased)"
"""Stands where words were."""

_UNDECIDED: Final = frozenset({ApprovalStatus.PENDING, ApprovalStatus.EXPIRED})


def erase_in(
    db: "duckdb.DuckDBPyConnection",
    item_id: str,
    *,
    actor: str,
    at: datetime,
    left: tuple[str, str] | None = None,
) -> None:
    """Erase what an item says; that it was there, and who did what to it, stays.

    An item of which nothing is left can't wait: it is rejected, so that it isn't proposed again.

    Args:
        db: The writer's connection, inside ``Database.write``.
        item_id: Which item; one that isn't known is passed over.
        actor: Who erases it.
        at: When that is.
        left: Description and payload that it may keep; nothing when missing.
    """
    before = rows.find(db, item_id)
    if before is None:
        return
    description, payload = left or ("", "")
    changes: dict[str, object] = {"description": description, "payload": payload}
    if left is None:
        changes |= {"title": ERASED, "metadata": {}, "task_id": None, "source": None}
        changes |= {"decision_reason": before.decision_reason and ERASED}
        if before.status in _UNDECIDED:
            changes |= {
                "status": ApprovalStatus.REJECTED,
                "decided_at": at,
                "decided_by": actor,
                "decision_reason": ERASED,
                "snoozed_until": None,
            }
        rows.erase_reasons(db, item_id)
    item = ApprovalItem.model_validate({**dict(before), **changes})
    rows.update(db, item)
    rows.append_event(db, item, ApprovalEventKind.REVISED, at=at, actor=actor, reason=ERASED)

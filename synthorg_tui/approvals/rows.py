"""Database rows of the approval queue's items and of their audit trail.

Every function takes a connection and runs inside the caller's transaction, so that a decision can
be whole. They check nothing: who may change what is for ``ApprovalQueue``.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from synthorg_tui.approvals.models import (
    ApprovalEvent,
    ApprovalEventKind,
    ApprovalItem,
    ApprovalNotFoundError,
    ApprovalStatus,
)
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import aware, naive_utc

_COLUMNS = tuple(ApprovalItem.model_fields)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM approvals"
_DUE = "WHERE status = 'pending' AND expires_at <= ?"
_INSERT = (
    f"INSERT INTO approvals ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' for _ in _COLUMNS)})"
)
_UPDATE = f"UPDATE approvals SET {', '.join(f'{n} = ?' for n in _COLUMNS[1:])} WHERE id = ?"


def payload_hash(item: ApprovalItem) -> str:
    """Return the SHA-256 (hex) of an item's payload, independent of how its JSON is laid out."""
    try:
        text = json.dumps(json.loads(item.payload), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        text = item.payload
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def find(db: Connection, item_id: str) -> ApprovalItem | None:
    """Return the item with this id, or ``None``."""
    items = select(db, "WHERE id = ?", [item_id])
    return items[0] if items else None


def known(db: Connection, item_id: str) -> ApprovalItem:
    """Return the item with this id; raises ``ApprovalNotFoundError`` when there is none."""
    item = find(db, item_id)
    if item is None:
        raise ApprovalNotFoundError(f"there is no proposal {item_id!r}")
    return item


def select(db: Connection, clause: str, values: Sequence[object]) -> tuple[ApprovalItem, ...]:
    """Return the items that an SQL ``clause`` (``WHERE`` and what follows) selects.

    ``values`` fill its placeholders.
    """
    rows = db.execute(f"{_SELECT} {clause}", list(values)).fetchall()
    return tuple(_item(row) for row in rows)


def due(db: Connection, now: datetime) -> tuple[ApprovalItem, ...]:
    """Return the pending items whose ``expires_at`` has passed, earliest first."""
    return select(db, f"{_DUE} ORDER BY expires_at, id", [naive_utc(now)])


def is_any_due(db: Connection, now: datetime) -> bool:
    """Tell whether there is a pending item whose ``expires_at`` has passed."""
    row = db.execute(f"SELECT 1 FROM approvals {_DUE} LIMIT 1", [naive_utc(now)]).fetchone()
    return row is not None


def insert(db: Connection, item: ApprovalItem) -> None:
    """Insert a new item; its id must not be in the table yet."""
    db.execute(_INSERT, _values(item))


def update(db: Connection, item: ApprovalItem) -> None:
    """Overwrite the stored item that has the same id."""
    item_id, *rest = _values(item)
    db.execute(_UPDATE, [*rest, item_id])


def append_event(
    db: Connection,
    item: ApprovalItem,
    kind: ApprovalEventKind,
    *,
    at: datetime,
    actor: str,
    reason: str = "",
) -> None:
    """Add an entry to an item's audit trail; ``item`` is its state after the event."""
    db.execute(
        "INSERT INTO approval_events SELECT coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ? "
        "FROM approval_events",
        [item.id, naive_utc(at), kind.value, actor, reason, payload_hash(item)],
    )


def record_redaction(db: Connection, item_ids: Sequence[str], *, at: datetime, actor: str) -> None:
    """Add to the trails of items that secrets were taken out of them: their hash is another now."""
    for item_id in item_ids:
        item, kind = known(db, item_id), ApprovalEventKind.REVISED
        append_event(db, item, kind, at=at, actor=actor, reason="secrets redacted")


def events(db: Connection, item_id: str) -> tuple[ApprovalEvent, ...]:
    """Return an item's audit trail, oldest entry first."""
    rows = db.execute(
        "SELECT number, item_id, happened_at, kind, actor, reason, payload_hash "
        "FROM approval_events WHERE item_id = ? ORDER BY number",
        [item_id],
    ).fetchall()
    return tuple(
        ApprovalEvent(number, owner, at.replace(tzinfo=UTC), ApprovalEventKind(kind), *rest)
        for number, owner, at, kind, *rest in rows
    )


def count_by_status(db: Connection, now: datetime) -> dict[tuple[ApprovalStatus, bool], int]:
    """Return the number of items by status and by whether they are snoozed at ``now``."""
    rows = db.execute(
        "SELECT status, status = 'pending' AND coalesce(snoozed_until > ?, false), count(*) "
        "FROM approvals GROUP BY ALL",
        [naive_utc(now)],
    ).fetchall()
    return {(ApprovalStatus(status), bool(snoozed)): int(n) for status, snoozed, n in rows}


def count_pending(db: Connection, requested_by: str) -> int:
    """Return the number of pending items of one requester, snoozed ones included."""
    row = db.execute(
        "SELECT count(*) FROM approvals WHERE status = 'pending' AND requested_by = ?",
        [requested_by],
    ).fetchone()
    return int(row[0]) if row else 0


def _values(item: ApprovalItem) -> list[object]:
    return [_stored(getattr(item, name)) for name in _COLUMNS]


def _stored(value: object) -> object:
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
"""Replaces words that were erased."""

_UNDECIDED: Final = frozenset({ApprovalStatus.PENDING, ApprovalStatus.EXPIRED})


def erase_in(
    db: Connection,
    item_id: str,
    *,
    actor: str,
    at: datetime,
    left: tuple[str, str] | None = None,
) -> None:
    """Erase the texts of an item; its id and the audit trail of who did what stay.

    An undecided item of which no text is left is rejected, so that it isn't proposed again.

    Args:
        db: The writer's connection, inside ``Database.write``.
        item_id: Which item; an unknown one is ignored.
        actor: Who erases it.
        at: When that is.
        left: Its description and payload from now on; ``None`` leaves both empty.
    """
    before = find(db, item_id)
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
        db.execute("UPDATE approval_events SET reason = '' WHERE item_id = ?", [item_id])
    item = ApprovalItem.model_validate({**dict(before), **changes})
    update(db, item)
    append_event(db, item, ApprovalEventKind.REVISED, at=at, actor=actor, reason=ERASED)
    db.execute("DELETE FROM skill_evaluations WHERE item_id = ?", [item_id])

"""Erasing what items of the queue say; run inside a transaction."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

from synthorg_tui.approvals import rows
from synthorg_tui.approvals.models import ApprovalEventKind, ApprovalItem, ApprovalStatus

if TYPE_CHECKING:
    import duckdb

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

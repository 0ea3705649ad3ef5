"""Items, decisions and a queue to try them on."""

import pytest

from synthorg_tui.approvals.models import (
    ApprovalEventKind,
    ApprovalItem,
    ApprovalStatus,
)
from synthorg_tui.approvals.person import Person, Policy
from synthorg_tui.approvals.queue import ApprovalQueue, payload_hash
from synthorg_tui.persistence.port import Connection, StoreDatabase
from tests.conftest import FixedClock

PERSON = Person("terminal", "eva")
PENDING, APPROVED = ApprovalStatus.PENDING, ApprovalStatus.APPROVED
REJECTED, EXPIRED = ApprovalStatus.REJECTED, ApprovalStatus.EXPIRED
FEW = 8
"""How many proposals of an agent may wait in tests that fill up what there is."""


def item(item_id: str = "lesson-1", **fields: object) -> ApprovalItem:
    given = {
        "id": item_id,
        "action_type": "procedural:lesson",
        "title": "Push with -u",
        "requested_by": "learn",
        "created_at": FixedClock().now(),
        "payload": '{"type": "lesson"}',
    }
    return ApprovalItem.model_validate(given | fields)


async def decide(
    queue: ApprovalQueue,
    database: StoreDatabase,
    item_id: str = "lesson-1",
    status: ApprovalStatus = APPROVED,
    person: Person | Policy = PERSON,
    reason: str | None = "because",
    shown: str | None = None,
    payload: str | None = None,
) -> ApprovalItem:
    def work(db: Connection) -> ApprovalItem:
        return queue.decide_in(
            db,
            item_id,
            status=status,
            person=person,
            reason=reason,
            payload_hash=shown or payload_hash(item(item_id)),
            payload=payload,
        )

    return await database.write(work)


async def kinds(queue: ApprovalQueue, item_id: str = "lesson-1") -> list[ApprovalEventKind]:
    return [event.kind for event in await queue.events(item_id)]


def let_few_wait(patch: pytest.MonkeyPatch) -> None:
    """Refuse an agent's proposals when ``FEW`` of them wait, which are filled up sooner."""
    for module in ("queue", "proposals"):
        patch.setattr(f"synthorg_tui.approvals.{module}.MAX_PENDING", FEW)

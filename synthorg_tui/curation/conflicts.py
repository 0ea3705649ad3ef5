"""Asks a person about memories that seem to contradict each other; nothing is decided here.

Approving an item removes the older memory, rejecting it keeps both, and says so once and for all:
the same pair isn't asked about again, nor marked for agents. A removed memory can be restored.
"""

import hashlib
from contextlib import suppress
from typing import Final, NamedTuple

from synthorg_tui.approvals.models import ApprovalConflictError, ApprovalItem, RiskLevel
from synthorg_tui.approvals.proposals import ProposalBox
from synthorg_tui.core.clock import Clock
from synthorg_tui.curation.models import PrunePayload
from synthorg_tui.curation.review import CONFLICT_ACTION
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.rows import StoredMemory
from synthorg_tui.memory.store.statements import contradicting

ACTOR: Final = "consolidation"
MAX_ASKED: Final = 20
"""Pairs that a person is asked about by one search: more than are looked at in one go."""
_MAX_TEXT: Final = 600
_MAX_TITLE: Final = 120


class Conflict(NamedTuple):
    """Two live memories that disagree, the newer one first."""

    newer: StoredMemory
    older: StoredMemory


async def find_conflicts(core: Core, queue: ProposalBox) -> int:
    """Ask about pairs that contradict each other and weren't asked about; return how many.

    What contradicts what was noted when the memories were written; see ``store.statements`` and
    ``store.facts``. Of more than ``MAX_ASKED`` pairs the newest are asked about, the others by
    later searches.
    """
    asked = 0
    for pair in await core.read(contradicting):
        if asked < MAX_ASKED and await _ask(queue, core.clock, Conflict(*pair)):
            asked += 1
    return asked


def paired(item: ApprovalItem) -> tuple[str, ...]:
    """Return the ids of the two memories that an item asks about; empty for an older item."""
    pruned = PrunePayload.model_validate_json(item.payload)
    newer = item.metadata.get("newer")
    return (newer, *pruned.memory_ids) if newer else ()


async def _ask(queue: ProposalBox, clock: Clock, pair: Conflict) -> bool:
    """Add the item of a pair; false when there is or was one."""
    named = "\n".join((pair.older.id, pair.older.content, pair.newer.id, pair.newer.content))
    item_id = f"conflict-{hashlib.sha256(named.encode()).hexdigest()[:12]}"
    if await queue.get(item_id) is not None:
        return False
    with suppress(ApprovalConflictError):
        await queue.add(_item(item_id, pair, clock))
    return True


def _item(item_id: str, pair: Conflict, clock: Clock) -> ApprovalItem:
    older, newer = (one_line(m.content, _MAX_TEXT) for m in (pair.older, pair.newer))
    reason = (
        f"It says: {older} ({pair.older.created_at:%Y-%m-%d}) \u2014 the newer memory "
        f"{pair.newer.id} says: {newer} ({pair.newer.created_at:%Y-%m-%d})."
    )
    payload = PrunePayload(
        agent_id=pair.older.agent_id,
        memory_ids=(pair.older.id,),
        reasons={pair.older.id: reason},
    )
    about = f" about {pair.older.fact_key}" if pair.older.fact_key else ""
    return ApprovalItem(
        id=item_id,
        action_type=CONFLICT_ACTION,
        title=one_line(f"Two memories seem to disagree{about}: {older}", _MAX_TITLE),
        description=(
            f"Older: {older}\nNewer: {newer}\n"
            "Approve and the newer one replaces the older, which can be restored. Reject and both "
            "are kept, and it isn't asked again. To keep only the older one, reject, and delete "
            f"the newer: synthorg-tui memories delete {pair.newer.id[:8]}"
        ),
        requested_by=ACTOR,
        risk_level=RiskLevel.MEDIUM,
        created_at=clock.now(),
        metadata={"kind": "conflict", "agent": pair.older.agent_id, "newer": pair.newer.id},
        payload=payload.model_dump_json(),
    )

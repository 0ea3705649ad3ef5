"""Asks a person about memories that seem to contradict each other; nothing is decided here.

Approving an item removes the older memory, rejecting it keeps both, and says so once and for all:
the same pair isn't asked about again. A removed memory can be restored.
"""

import asyncio
import hashlib
from contextlib import suppress
from typing import Final

from synthorg_tui.approvals.models import ApprovalConflictError, ApprovalItem, RiskLevel
from synthorg_tui.approvals.proposals import ProposalBox
from synthorg_tui.core.actors import PERSON_SUFFIXES
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.curation.models import PrunePayload
from synthorg_tui.curation.review import CONFLICT_ACTION
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.memory.consolidation.contradictions import Conflict, conflicts_of
from synthorg_tui.memory.consolidation.duplicates import Comparable
from synthorg_tui.memory.enums import EdgeKind
from synthorg_tui.memory.extensions import MemoryBundle
from synthorg_tui.memory.kinds import MemoryKind
from synthorg_tui.memory.listing import BrowseFilter, ListedMemory
from synthorg_tui.memory.retrieval.tags import parse_tags
from synthorg_tui.memory.store.admin import StoreAdmin
from synthorg_tui.memory.store.edges import MemoryEdge, add_edges
from synthorg_tui.persistence.values import naive_utc

ACTOR: Final = "consolidation"
MAX_LOOKED_AT: Final = 20_000
"""Memories that are compared: the newest."""
MAX_ASKED: Final = 20
"""Pairs that a person is asked about by one search: more than are looked at in one go."""
_PAGE: Final = 1_000
_STATING: Final = (MemoryCategory.SEMANTIC, MemoryCategory.SOCIAL, MemoryCategory.WORKING)
_MAX_TEXT: Final = 600
_MAX_TITLE: Final = 120


async def find_conflicts(store: StoreAdmin, queue: ProposalBox, clock: Clock) -> int:
    """Ask about pairs that seem to disagree and weren't asked about; return how many.

    It looks at what states something (facts, notes, what was said), never at the diary of
    sessions, and at most at ``MAX_LOOKED_AT`` memories. Of more than ``MAX_ASKED`` pairs the newest
    are asked about, the others by later searches.
    """
    memories = await _stating(store)
    authors = await store.authors([memory.id for memory in memories if memory.is_fact])
    stated = [_comparable(memory, authors.get(memory.id, "")) for memory in memories]
    asked: list[Conflict] = []
    for pair in await asyncio.to_thread(conflicts_of, stated):
        if len(asked) < MAX_ASKED and await _ask(queue, clock, pair):
            asked.append(pair)
    edges = [MemoryEdge(pair.newer.id, pair.older.id, EdgeKind.CONTRADICTS) for pair in asked]
    if edges:
        now = naive_utc(clock.now())
        await store.change_together(
            MemoryBundle(),
            lambda db, _: add_edges(db, edges, made_at=now, made_by=ACTOR),
            actor=ACTOR,
        )
    return len(asked)


async def _stating(store: StoreAdmin) -> list[ListedMemory]:
    what = BrowseFilter(categories=_STATING)
    found: list[ListedMemory] = []
    while len(found) < MAX_LOOKED_AT:
        page = await store.browse(what, offset=len(found), limit=_PAGE)
        found += page.entries
        if not page.entries or len(found) >= page.total:
            break
    return [memory for memory in found if memory.kind is not MemoryKind.KNOWLEDGE]


def _comparable(memory: ListedMemory, author: str) -> Comparable:
    return Comparable(
        id=memory.id,
        content=memory.content,
        created_at=memory.valid_from or memory.created_at,
        category=memory.category.value,
        agent_id=memory.agent_id,
        project=memory.project,
        key=parse_tags(memory.tags).fact_key,
        by_person=author == "person" or author.endswith(PERSON_SUFFIXES),
    )


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
    about = f" about {pair.key}" if pair.key else ""
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
        metadata={"kind": "conflict", "agent": pair.older.agent_id},
        payload=payload.model_dump_json(),
    )

"""Finds what a strategy would merge, for a plan: who wrote each text, and what it is made of.

A strategy sees memories without knowing who is given them. So it is only ever shown memories that
the same agents are given in the same projects, and the text inherits that. Nothing is stored here.
"""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.failsafe import surviving
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import counted, estimate_tokens
from synthorg_tui.memory.consolidation.eviction import is_protected
from synthorg_tui.memory.consolidation.plan import (
    GroupKind,
    GroupMember,
    MemberRole,
    MergedText,
    PlannedGroup,
)
from synthorg_tui.memory.consolidation.planner import (
    PLACE_SQL,
    Look,
    PlanDraft,
    families,
    rows_of,
    watched,
)
from synthorg_tui.memory.consolidation.strategy import (
    LEAST_GROUP_THRESHOLD,
    ConsolidationProposal,
    ProposingStrategy,
    TextAuthor,
)
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import Core, entry_of
from synthorg_tui.memory.store.plans import mark_of
from synthorg_tui.memory.store.rows import StoredMemory

MAX_MERGED: Final = 25
"""Memories that one text may stand for: more, and it says next to nothing of each."""

_LOOKED_AT: Final = 200


class MergeFinder:
    """Finds groups of kind ``MERGED``: memories of one category that a strategy puts into a text.

    Args:
        core: The store that is read.
        strategy: Says what would stand for memories; it may ask a model.
        min_age: Younger memories are left alone.
    """

    def __init__(self, core: Core, strategy: ProposingStrategy, min_age: timedelta) -> None:
        self._core = core
        self._strategy = strategy
        self._min_age = min_age

    async def __call__(self, draft: PlanDraft, look: Look) -> None:
        """Add to a draft what would be merged, the oldest first, as far as the cap goes."""
        now = self._core.clock.now()
        where = self._core.live_where(agent=draft.agent_id)
        queries.add_times(where, None, now - self._min_age)
        key = f"{PLACE_SQL}, m.category"
        found = await self._core.read(
            partial(families, where=where, key=key, order="m.created_at, m.id")
        )
        for family in found:
            ids = draft.may_leave(family)
            while draft.room >= LEAST_GROUP_THRESHOLD and ids:
                rows, ids = await self._next(ids, min(draft.room + 1, MAX_MERGED), look)
                if len(rows) > LEAST_GROUP_THRESHOLD:
                    await self._propose(draft, look, rows)
        look.step(draft.live)

    async def _next(
        self, ids: list[str], count: int, look: Look
    ) -> tuple[list[StoredMemory], list[str]]:
        """The next rows that may be merged, and the ids after them."""
        rows: list[StoredMemory] = []
        while ids and len(rows) < count:
            looked_at, ids = ids[:_LOOKED_AT], ids[_LOOKED_AT:]
            for at, row in enumerate(await rows_of(self._core, looked_at, look)):
                if not is_protected(MemoryCategory(row.category), row.tags, row.content):
                    rows.append(row)
                if len(rows) == count:
                    return rows, looked_at[at + 1 :] + ids
        return rows, ids

    async def _propose(self, draft: PlanDraft, look: Look, rows: Sequence[StoredMemory]) -> None:
        entries = tuple(entry_of(row) for row in rows)
        with surviving("proposing what to merge"):
            asked = self._strategy.propose(entries, draft.agent_id)
            for proposal in await watched(asked, look):
                group = _group(draft.agent_id, proposal, rows)
                if group is not None and group.texts <= draft.room:
                    draft.take(group)


def _group(
    agent_id: str, proposal: ConsolidationProposal, rows: Sequence[StoredMemory]
) -> PlannedGroup | None:
    """The proposal as a group; ``None`` when it archives nothing or spares no token."""
    by_id = {row.id: row for row in rows}
    leaving = [by_id[key] for key in proposal.replaces if key in by_id]
    sources = [by_id[key] for key in proposal.sources if key in by_id]
    content = redact_text(proposal.summary, RedactionTally())
    before = sum(estimate_tokens(row.content) for row in leaving)
    after = estimate_tokens(content)
    if proposal.keeps_originals or not leaving or after >= before:
        return None
    also = [row for row in sources if row not in leaving]
    by = "a model" if proposal.written_by is TextAuthor.MODEL else "the program"
    what = f"{proposal.category.value} memory", f"{proposal.category.value} memories"
    return PlannedGroup(
        number=0,
        kind=GroupKind.MERGED,
        agent_id=agent_id,
        members=(
            *(GroupMember(row.id, MemberRole.ARCHIVED, mark_of(row)) for row in leaving),
            *(GroupMember(row.id, MemberRole.SOURCE, mark_of(row)) for row in also),
        ),
        reason=f"one text, written by {by}, for {counted(len(leaving), *what)}",
        texts=len(leaving),
        tokens_before=before,
        tokens_after=after,
        text=_merged_text(proposal, content, rows[0]),
    )


def _merged_text(proposal: ConsolidationProposal, content: str, place: StoredMemory) -> MergedText:
    """What would be stored, to be seen by those who see ``place``."""
    return MergedText(
        content=content,
        category=proposal.category.value,
        namespace=proposal.namespace,
        tags=proposal.tags,
        source=proposal.source,
        confidence=proposal.confidence,
        level=place.level,
        project=place.project,
        session_id=place.session_id,
        shared=place.shared,
        expires_at=proposal.expires_at,
        mode=proposal.mode.value,
        written_by=proposal.written_by,
        note=proposal.note,
    )

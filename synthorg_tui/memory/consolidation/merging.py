"""Finds what a strategy would merge, for a plan: who wrote each text, and what it is made of.

A strategy sees memories without knowing who is given them. So it is only ever shown memories that
the same agents are given in the same projects, and the text inherits that. Nothing is stored here.
"""

from collections.abc import Sequence
from dataclasses import replace
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
    PlannedGroup,
    TextAuthor,
)
from synthorg_tui.memory.consolidation.planner import (
    PLACE_SQL,
    Look,
    PlanDraft,
    families,
    rows_of,
    watched,
)
from synthorg_tui.memory.consolidation.similarity import words_of
from synthorg_tui.memory.consolidation.strategy import (
    LEAST_GROUP_THRESHOLD,
    ConsolidationProposal,
    ProposingStrategy,
)
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import Core, entry_of
from synthorg_tui.memory.store.plans import mark_of
from synthorg_tui.memory.store.rows import StoredMemory

MAX_MERGED: Final = 25
"""Memories that one text may stand for: more, and it says next to nothing of each."""

LEAST_WORDS_KEPT: Final = 0.9
"""Share of a memory's different words that have to be in what stands for it."""

MOST_TOKENS_LEFT: Final = 0.75
"""Share of the tokens that such a text may have: where little is said twice, it only makes each
of many things harder to find."""

_LOOKED_AT: Final = 200


class MergeFinder:
    """Finds groups of kind ``MERGED``: memories of one category that a strategy puts into a text.

    Args:
        core: The store that is read.
        strategy: Says what would stand for memories; it may ask a model.
        min_age: Younger memories are left alone.
        keeps_words: Propose a text of the program only where it keeps the words of what it stands
            for and spares a quarter of them.
    """

    def __init__(
        self,
        core: Core,
        strategy: ProposingStrategy,
        min_age: timedelta,
        *,
        keeps_words: bool = False,
    ) -> None:
        self._core = core
        self._strategy = strategy
        self._min_age = min_age
        self._keeps_words = keeps_words

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
            for proposal in await watched(self._strategy.propose(entries, draft.agent_id), look):
                lost = _losing(proposal, rows) if self._keeps_words else frozenset()
                group = _group(draft.agent_id, proposal, rows)
                rest = [row for row in rows if row.id not in lost]
                if lost and len(rest) > LEAST_GROUP_THRESHOLD:
                    await self._propose(draft, look, rest)
                if not lost and group is not None and self._is_wanted(group, draft.room):
                    draft.take(group)

    def _is_wanted(self, group: PlannedGroup, room: int) -> bool:
        """Whether it is within the cap and says the same shorter, not many things in one place."""
        is_short = group.tokens_after <= MOST_TOKENS_LEFT * group.tokens_before
        is_judged = self._keeps_words and not group.is_by_model
        return group.texts <= room and (is_short or not is_judged)


def _losing(proposal: ConsolidationProposal, rows: Sequence[StoredMemory]) -> frozenset[str]:
    """The memories of which words would be in neither the text nor what stays of the rows.

    Agents find memories by what they say: merged by their beginnings, they would be lost to them.
    A model's text isn't judged so; a person reads it before it stands for anything.
    """
    if proposal.text.written_by is TextAuthor.MODEL:
        return frozenset()
    staying = [row.content for row in rows if row.id not in proposal.replaces]
    said = set().union(*map(_different_words, (proposal.text.content, *staying)))
    leaving = {row.id: _different_words(row.content) for row in rows if row.id in proposal.replaces}
    return frozenset(
        key for key, own in leaving.items() if len(own & said) < LEAST_WORDS_KEPT * len(own)
    )


def _different_words(text: str) -> set[str]:
    return {word.lower() for word in words_of(text)}


def _group(
    agent_id: str, proposal: ConsolidationProposal, rows: Sequence[StoredMemory]
) -> PlannedGroup | None:
    """The proposal as a group; ``None`` when it archives nothing or spares no token.

    Its text would be seen by those who see the rows, which all are of one place.
    """
    place = rows[0]
    by_id = {row.id: row for row in rows}
    leaving = [by_id[key] for key in proposal.replaces if key in by_id]
    content = redact_text(proposal.text.content, RedactionTally())
    before = sum(estimate_tokens(row.content) for row in leaving)
    after = estimate_tokens(content)
    if not leaving or after >= before:
        return None
    by = "a model" if proposal.text.written_by is TextAuthor.MODEL else "the program"
    what = f"{proposal.text.category} memory", f"{proposal.text.category} memories"
    return PlannedGroup(
        number=0,
        kind=GroupKind.MERGED,
        agent_id=agent_id,
        members=tuple(GroupMember(row.id, MemberRole.ARCHIVED, mark_of(row)) for row in leaving),
        reason=f"one text, written by {by}, for {counted(len(leaving), *what)}",
        texts=len(leaving),
        tokens_before=before,
        tokens_after=after,
        text=replace(
            proposal.text,
            content=content,
            level=place.level,
            project=place.project,
            session_id=place.session_id,
            shared=place.shared,
        ),
    )

"""Consolidation in two steps: what would be merged into what, and doing it.

A strategy is a selector, which forms groups, and an operation, which says what would stand for a
group. Saying so (``propose``) changes nothing, so it can be shown to a person first; ``carry_out``
does it through the ten members of ``MemoryBackend``, the archive before anything is deleted.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Protocol, runtime_checkable

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.failsafe import first_error, surviving, together
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.consolidation.archival import Departures
from synthorg_tui.memory.consolidation.eviction import is_protected
from synthorg_tui.memory.consolidation.models import (
    COMPRESSED_TAG,
    DETAILED_TAG,
    ArchivalMode,
    ArchivalModeAssignment,
    ConsolidationResult,
)
from synthorg_tui.memory.consolidation.plan import MergedText, TextAuthor
from synthorg_tui.memory.enums import Sensitivity
from synthorg_tui.memory.models import DEFAULT_NAMESPACE, MemoryEntry, MemoryMetadata
from synthorg_tui.memory.models import MemoryStoreRequest as StoreRequest
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.tags import parse_tags, tags_with

DEFAULT_GROUP_THRESHOLD: Final = 3
LEAST_GROUP_THRESHOLD: Final = 2
CONSOLIDATED_TAG: Final = "consolidated"
CONSOLIDATION_SOURCE: Final = "consolidation"
_SETTLED: Final = frozenset({CONSOLIDATED_TAG, DETAILED_TAG, COMPRESSED_TAG})


@dataclass(frozen=True, slots=True)
class ConsolidationGroup:
    """Memories of one agent and category that are consolidated together.

    ``kept`` stays as it is; ``others`` are what a summary would stand for, in the order given.
    """

    agent_id: str
    category: MemoryCategory
    kept: MemoryEntry
    others: tuple[MemoryEntry, ...]


@dataclass(frozen=True, slots=True)
class ConsolidationProposal:
    """A text that would stand for several memories; nothing has been changed for it.

    ``replaces`` are the ids of the memories that would leave, whose text is in ``text``, in order.
    ``is_routed`` says that its mode was decided by their density: then only memories whose deletion
    is confirmed count as removed.
    """

    agent_id: str
    text: MergedText
    replaces: tuple[str, ...]
    is_routed: bool = False


def request_of(text: MergedText) -> StoreRequest:
    """Return what is stored of a text that stands for memories."""
    return StoreRequest(
        category=MemoryCategory(text.category),
        namespace=text.namespace,
        content=text.content,
        metadata=MemoryMetadata(source=text.source, confidence=text.confidence, tags=text.tags),
        expires_at=text.expires_at,
    )


def proposal_for(
    group: ConsolidationGroup,
    summary: str,
    of: Sequence[MemoryEntry],
    tags: tuple[str, ...],
    *,
    source: str = CONSOLIDATION_SOURCE,
    mode: ArchivalMode = ArchivalMode.EXTRACTIVE,
    written_by: TextAuthor = TextAuthor.CODE,
    note: str = "",
) -> ConsolidationProposal:
    """Return a proposal by which ``summary`` stands for the memories ``of`` that it is made of.

    It inherits from them: it has their strictest sensitivity and their least confidence, and it
    expires when the last of them does. ``note`` tells a person why a model's text was not used.
    """
    namespaces = {entry.namespace for entry in of}
    strictest = max(
        (parse_tags(entry.metadata.tags).sensitivity for entry in of),
        key=tuple(Sensitivity).index,
        default=Sensitivity.PRIVATE,
    )
    ends = [entry.expires_at for entry in of if entry.expires_at is not None]
    text = MergedText(
        content=summary,
        category=group.category.value,
        namespace=namespaces.pop() if len(namespaces) == 1 else DEFAULT_NAMESPACE,
        tags=tags_with(tags, sensitivity=strictest),
        source=source,
        confidence=min((entry.metadata.confidence for entry in of), default=1.0),
        expires_at=max(ends) if of and len(ends) == len(of) else None,
        mode=mode.value,
        written_by=written_by,
        note=note,
    )
    return ConsolidationProposal(group.agent_id, text, tuple(entry.id for entry in of))


@runtime_checkable
class ConsolidationStrategy(Protocol):
    """A way of consolidating memories."""

    async def consolidate(
        self, entries: tuple[MemoryEntry, ...], agent_id: NotBlankStr
    ) -> ConsolidationResult:
        """Consolidate the agent's memories and return what was stored and removed."""


class ProposingStrategy(ABC):
    """``ConsolidationStrategy`` that can say beforehand what it would do.

    Args:
        backend: Where memories are stored and deleted.
    """

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend

    @abstractmethod
    async def propose(
        self, entries: tuple[MemoryEntry, ...], agent_id: NotBlankStr
    ) -> tuple[ConsolidationProposal, ...]:
        """Return what consolidating these memories would do, in order; change nothing."""

    async def consolidate(
        self,
        entries: tuple[MemoryEntry, ...],
        agent_id: NotBlankStr,
        departures: Departures | None = None,
    ) -> ConsolidationResult:
        """Store each proposed text, then delete what it replaces; see ``carry_out``."""
        proposals = await self.propose(entries, agent_id)
        return await carry_out(proposals, entries, departures or Departures(self._backend))


class ConsolidationOp(ABC):
    """What stands for a group of memories."""

    async def prepare(self, agent_id: NotBlankStr) -> str:
        """Return what all proposals of one run are made with; empty when there is nothing."""
        return ""

    @abstractmethod
    async def propose(self, group: ConsolidationGroup, context: str = "") -> ConsolidationProposal:
        """Return what would stand for the group; ``context`` is what ``prepare`` returned."""


class HighestRelevanceSelector:
    """Forms groups by category and keeps the most relevant memory of each, then the newest.

    Summaries, raw records, and memories that are never merged (``is_protected``) are in no group:
    a summary of summaries would lose what its sources say.

    Args:
        group_threshold: Least size of a group, at least 2; smaller ones are left alone.

    Raises:
        ValueError: The threshold is below 2.
    """

    def __init__(self, group_threshold: int = DEFAULT_GROUP_THRESHOLD) -> None:
        if group_threshold < LEAST_GROUP_THRESHOLD:
            raise ValueError(f"group_threshold must be >= {LEAST_GROUP_THRESHOLD}")
        self._threshold = group_threshold

    def groups(
        self, entries: Sequence[MemoryEntry], agent_id: NotBlankStr
    ) -> tuple[ConsolidationGroup, ...]:
        """Return the groups in the order of their categories' names."""
        free = [
            entry
            for entry in entries
            if _SETTLED.isdisjoint(tags := entry.metadata.tags)
            and not is_protected(entry.category, tags, entry.content)
        ]
        ordered = sorted(free, key=lambda entry: entry.category.value)
        formed = []
        for category, members in groupby(ordered, key=lambda entry: entry.category):
            group = tuple(members)
            if len(group) < self._threshold:
                continue
            kept = max(group, key=lambda entry: (entry.relevance_score or 0.0, entry.created_at))
            others = tuple(entry for entry in group if entry is not kept)
            formed.append(ConsolidationGroup(agent_id, category, kept, others))
        return tuple(formed)


class Composite(ProposingStrategy):
    """Strategy of a selector and an operation.

    Args:
        selector: Forms the groups.
        op: Says what stands for a group.
        backend: Where memories are stored and deleted.
        parallel: Whether groups are proposed at the same time, for operations that wait.
    """

    def __init__(
        self,
        selector: HighestRelevanceSelector,
        op: ConsolidationOp,
        backend: MemoryBackend,
        *,
        parallel: bool = False,
    ) -> None:
        super().__init__(backend)
        self._selector = selector
        self._op = op
        self._parallel = parallel

    async def propose(
        self, entries: tuple[MemoryEntry, ...], agent_id: NotBlankStr
    ) -> tuple[ConsolidationProposal, ...]:
        """Return one proposal for each group, in the groups' order; change nothing.

        Raises what the operation raises, the first error unwrapped when groups run in parallel.
        """
        groups = self._selector.groups(entries, agent_id)
        if not groups:
            return ()
        context = await self._op.prepare(agent_id)
        if not self._parallel:
            return tuple([await self._op.propose(group, context) for group in groups])
        try:
            return tuple(await together(*(self._op.propose(group, context) for group in groups)))
        except BaseExceptionGroup as failures:
            raise first_error(failures) from failures


async def carry_out(
    proposals: Sequence[ConsolidationProposal],
    entries: Sequence[MemoryEntry],
    departures: Departures,
) -> ConsolidationResult:
    """Carry out proposals one after the other: archive, store the summary, delete.

    A memory that couldn't be archived stays, and a deletion that fails is logged and skipped: such
    memories are not among the removed. Nothing is stored when no memory of a proposal can leave.

    Args:
        proposals: What to do, made of ``entries``.
        entries: The memories as they were read.
        departures: Takes them out of their backend.
    """
    by_id = {entry.id: entry for entry in entries}
    removed: list[str] = []
    summaries: list[str] = []
    modes: list[ArchivalModeAssignment] = []
    for proposal in proposals:
        mode = ArchivalMode(proposal.text.mode)
        known = (by_id[one] for one in proposal.replaces if one in by_id)
        leaving = [entry for entry in known if await departures.archived(entry, mode)]
        if not leaving:
            continue
        summaries.append(
            await departures.backend.store(proposal.agent_id, request_of(proposal.text))
        )
        gone = [entry.id for entry in leaving if await _is_removed(proposal, entry, departures)]
        removed += gone
        if proposal.is_routed:
            modes += [ArchivalModeAssignment(original_id=i, mode=mode) for i in gone]
    return departures.told(
        ConsolidationResult(
            removed_ids=tuple(removed), summary_ids=tuple(summaries), mode_assignments=tuple(modes)
        )
    )


async def _is_removed(
    proposal: ConsolidationProposal, entry: MemoryEntry, departures: Departures
) -> bool:
    """Delete a memory and return whether it counts as removed."""
    with surviving(f"deleting the consolidated memory {entry.id}"):
        deleted = await departures.backend.delete(entry.agent_id, entry.id)
        return deleted or not proposal.is_routed
    return False

"""Consolidation in two steps: what would be merged into what, and doing it.

A strategy is a selector, which forms groups, and an operation, which says what would stand for a
group. Saying so (``propose``) changes nothing, so it can be shown to a person first; ``carry_out``
does it through the ten members of ``MemoryBackend``, the archive before anything is deleted.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from typing import Final, Protocol, TypeAlias, runtime_checkable

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.failsafe import first_error, surviving, together
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.consolidation.eviction import is_protected
from synthorg_tui.memory.consolidation.models import (
    COMPRESSED_TAG,
    DETAILED_TAG,
    ArchivalMode,
    ArchivalModeAssignment,
    ConsolidationResult,
)
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


class TextAuthor(StrEnum):
    """Who wrote the text of a proposal; a model's text waits for a person."""

    CODE = "code"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class ConsolidationGroup:
    """Memories of one agent and category that are consolidated together.

    ``kept`` stays as it is; ``others`` are what a summary would stand for, in the order given.
    """

    agent_id: str
    category: MemoryCategory
    kept: MemoryEntry
    others: tuple[MemoryEntry, ...]

    @property
    def entries(self) -> tuple[MemoryEntry, ...]:
        """All memories of the group, the kept one first."""
        return (self.kept, *self.others)


@dataclass(frozen=True, slots=True)
class ConsolidationProposal:
    """A text that would stand for several memories; nothing has been changed for it.

    ``replaces`` are the ids of the memories that would leave, and ``sources`` of those whose text
    is in ``summary``, in order. ``tags`` contain the strictest sensitivity of the sources,
    ``confidence`` is their least, and it expires when the last of them does. ``is_mode_chosen``
    says that ``mode`` was decided by the texts' density. With ``needs_deletion`` only memories
    whose deletion is confirmed count as removed; with ``keeps_originals`` the replaced ones are
    listed as removed but stay. ``note`` tells a person why a model's text was not used.
    """

    agent_id: str
    category: MemoryCategory
    summary: str
    tags: tuple[str, ...]
    source: str
    replaces: tuple[str, ...]
    sources: tuple[str, ...]
    namespace: str = DEFAULT_NAMESPACE
    confidence: float = 1.0
    expires_at: datetime | None = None
    mode: ArchivalMode = ArchivalMode.EXTRACTIVE
    is_mode_chosen: bool = False
    written_by: TextAuthor = TextAuthor.CODE
    needs_deletion: bool = False
    keeps_originals: bool = False
    note: str = ""

    def request(self) -> StoreRequest:
        """Return what is stored when the proposal is carried out."""
        return StoreRequest(
            category=self.category,
            namespace=self.namespace,
            content=self.summary,
            metadata=MemoryMetadata(source=self.source, confidence=self.confidence, tags=self.tags),
            expires_at=self.expires_at,
        )


def proposal_for(
    group: ConsolidationGroup,
    summary: str,
    *,
    of: Sequence[MemoryEntry],
    replaces: Sequence[MemoryEntry],
    tags: tuple[str, ...],
    source: str = CONSOLIDATION_SOURCE,
) -> ConsolidationProposal:
    """Return a proposal by which ``summary``, made of the texts ``of``, ``replaces`` memories.

    What the summary inherits is taken from the memories it is made of, so that it is no less
    sensitive, no more certain and no longer-lived than they are.
    """
    namespaces = {entry.namespace for entry in of}
    strictest = max(
        (parse_tags(entry.metadata.tags).sensitivity for entry in of),
        key=tuple(Sensitivity).index,
        default=Sensitivity.PRIVATE,
    )
    ends = [entry.expires_at for entry in of if entry.expires_at is not None]
    return ConsolidationProposal(
        agent_id=group.agent_id,
        category=group.category,
        summary=summary,
        tags=tags_with(tags, sensitivity=strictest),
        source=source,
        replaces=tuple(entry.id for entry in replaces),
        sources=tuple(entry.id for entry in of),
        namespace=namespaces.pop() if len(namespaces) == 1 else DEFAULT_NAMESPACE,
        confidence=min((entry.metadata.confidence for entry in of), default=1.0),
        expires_at=max(ends) if of and len(ends) == len(of) else None,
    )


Archiver: TypeAlias = Callable[[MemoryEntry, ArchivalMode], Awaitable[bool]]
"""Archives a memory that is about to be deleted; ``False`` when that failed, and it must stay."""


@runtime_checkable
class ConsolidationStrategy(Protocol):
    """A way of consolidating memories."""

    async def consolidate(
        self, entries: tuple[MemoryEntry, ...], agent_id: NotBlankStr
    ) -> ConsolidationResult:
        """Consolidate the agent's memories and return what was stored and removed."""
        ...


@runtime_checkable
class ProposingStrategy(ConsolidationStrategy, Protocol):
    """A strategy that can say beforehand what it would do."""

    async def propose(
        self, entries: tuple[MemoryEntry, ...], agent_id: NotBlankStr
    ) -> tuple[ConsolidationProposal, ...]:
        """Return what consolidating these memories would do, in order; change nothing."""
        ...


class ConsolidationOp(Protocol):
    """What stands for a group of memories."""

    async def prepare(self, agent_id: NotBlankStr) -> str:
        """Return what all proposals of one run are made with; empty when there is nothing."""
        ...

    async def propose(self, group: ConsolidationGroup, context: str = "") -> ConsolidationProposal:
        """Return what would stand for the group; ``context`` is what ``prepare`` returned."""
        ...


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
        free = [entry for entry in entries if not _is_settled(entry)]
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


class Composite:
    """``ProposingStrategy`` of a selector and an operation.

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
        self._selector = selector
        self._op = op
        self._backend = backend
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

    async def consolidate(
        self, entries: tuple[MemoryEntry, ...], agent_id: NotBlankStr
    ) -> ConsolidationResult:
        """Store what stands for each group, then delete what it replaces."""
        proposals = await self.propose(entries, agent_id)
        return await carry_out(proposals, entries, backend=self._backend)


async def carry_out(
    proposals: Sequence[ConsolidationProposal],
    entries: Sequence[MemoryEntry],
    *,
    backend: MemoryBackend,
    archiver: Archiver | None = None,
) -> ConsolidationResult:
    """Carry out proposals one after the other: archive, store the summary, delete.

    A memory that couldn't be archived stays, and a deletion that fails is logged and skipped: such
    memories are not among the removed. Nothing is stored when no memory of a proposal can leave.

    Args:
        proposals: What to do, made of ``entries``.
        entries: The memories as they were read.
        backend: Where they are stored.
        archiver: Archives each memory before it is deleted; without one nothing is archived.
    """
    by_id = {entry.id: entry for entry in entries}
    removed: list[str] = []
    summaries: list[str] = []
    modes: list[ArchivalModeAssignment] = []
    for proposal in proposals:
        leaving = [by_id[one] for one in proposal.replaces if one in by_id]
        if archiver is not None and not proposal.keeps_originals:
            leaving = [entry for entry in leaving if await archiver(entry, proposal.mode)]
        if not leaving:
            continue
        summaries.append(await backend.store(proposal.agent_id, proposal.request()))
        gone = [entry.id for entry in leaving if await _leaves(proposal, entry, backend)]
        removed += gone
        if proposal.is_mode_chosen:
            modes += [ArchivalModeAssignment(original_id=i, mode=proposal.mode) for i in gone]
    return ConsolidationResult(
        removed_ids=tuple(removed), summary_ids=tuple(summaries), mode_assignments=tuple(modes)
    )


async def deleted(entry: MemoryEntry, backend: MemoryBackend) -> bool:
    """Delete a memory, if it is there, and return whether it is gone for a fact.

    An archive that shares its rows with the backend has taken the memory out before: then nothing
    is left to delete.
    """
    return await backend.delete(entry.agent_id, entry.id) or (
        await backend.get(entry.agent_id, entry.id) is None
    )


async def _leaves(
    proposal: ConsolidationProposal, entry: MemoryEntry, backend: MemoryBackend
) -> bool:
    """Whether the memory counts as removed, which it is made to be unless the proposal keeps it."""
    if proposal.keeps_originals:
        return True
    with surviving(f"deleting the consolidated memory {entry.id}"):
        return await deleted(entry, backend) or not proposal.needs_deletion
    return False


def _is_settled(entry: MemoryEntry) -> bool:
    tags = entry.metadata.tags
    return not _SETTLED.isdisjoint(tags) or is_protected(entry.category, tags, entry.content)

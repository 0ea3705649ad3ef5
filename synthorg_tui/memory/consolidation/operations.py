"""What stands for a group of memories: a list of their beginnings, or texts by their density."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.consolidation.abstractive import AbstractiveSummarizer, beginning
from synthorg_tui.memory.consolidation.density import DensityClassifier
from synthorg_tui.memory.consolidation.extractive import ExtractivePreserver
from synthorg_tui.memory.consolidation.models import ArchivalMode, ContentDensity
from synthorg_tui.memory.consolidation.strategy import (
    CONSOLIDATED_TAG,
    ConsolidationGroup,
    ConsolidationProposal,
    TextAuthor,
    proposal_for,
)
from synthorg_tui.memory.models import MemoryEntry

CUT_AT: Final = 200
"""Characters of each memory in a list of beginnings."""

_BETWEEN: Final = "\n---\n"


class ConcatenationOp:
    """Lists the beginnings of the memories; no model is asked."""

    async def prepare(self, agent_id: NotBlankStr) -> str:
        """Return nothing: the list needs no more than its group."""
        return ""

    async def propose(self, group: ConsolidationGroup, context: str = "") -> ConsolidationProposal:
        """Return the list that would stand for the group."""
        return proposal_for(
            group,
            concatenated(group, CUT_AT),
            of=group.others,
            replaces=group.others,
            tags=(CONSOLIDATED_TAG,),
        )


class DensityRoutingOp:
    """Quotes dense groups and summarises sparse ones.

    A group is dense when more than half of its memories are, the kept one counted.

    Args:
        classifier: Decides what is dense.
        preserver: Quotes dense texts.
        summarizer: Summarises sparse texts; without one each is cut to its beginning.
    """

    def __init__(
        self,
        classifier: DensityClassifier,
        preserver: ExtractivePreserver,
        summarizer: AbstractiveSummarizer | None = None,
    ) -> None:
        self._classifier = classifier
        self._preserver = preserver
        self._summarizer = summarizer

    async def prepare(self, agent_id: NotBlankStr) -> str:
        """Return nothing: each text is treated by itself."""
        return ""

    async def propose(self, group: ConsolidationGroup, context: str = "") -> ConsolidationProposal:
        """Return the texts that would stand for the group, one for each memory that leaves.

        Raises what the summarizer raises.
        """
        mode = self._mode(group.entries)
        if mode is ArchivalMode.EXTRACTIVE:
            texts = [self._preserver.extract(entry.content) for entry in group.others]
        else:
            texts = await self._summaries(group.others)
        plain = [beginning(entry.content) for entry in group.others]
        is_models = mode is ArchivalMode.ABSTRACTIVE and texts != plain
        proposed = proposal_for(
            group,
            _BETWEEN.join(texts),
            of=group.others,
            replaces=group.others,
            tags=(CONSOLIDATED_TAG, f"mode:{mode.value}"),
        )
        return replace(
            proposed,
            mode=mode,
            is_mode_chosen=True,
            needs_deletion=True,
            written_by=TextAuthor.MODEL if is_models else TextAuthor.CODE,
        )

    def _mode(self, entries: Sequence[MemoryEntry]) -> ArchivalMode:
        densities = [density for _, density in self._classifier.classify_batch(entries)]
        is_dense = densities.count(ContentDensity.DENSE) * 2 > len(densities)
        return ArchivalMode.EXTRACTIVE if is_dense else ArchivalMode.ABSTRACTIVE

    async def _summaries(self, entries: Sequence[MemoryEntry]) -> list[str]:
        if self._summarizer is None:
            return [beginning(entry.content) for entry in entries]
        return [text for _, text in await self._summarizer.summarize_batch(entries)]


def concatenated(group: ConsolidationGroup, length: int) -> str:
    """Return a list of the first ``length`` characters of each memory that would leave."""
    bullets = (f"- {beginning(entry.content, length)}" for entry in group.others)
    return "\n".join((f"Consolidated {group.category.value} memories:", *bullets))

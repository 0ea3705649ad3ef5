"""What stands for a group of memories: a list of their beginnings, or texts by their density."""

from dataclasses import replace
from typing import Final

from synthorg_tui.memory.consolidation.abstractive import AbstractiveSummarizer, beginning
from synthorg_tui.memory.consolidation.density import DensityClassifier
from synthorg_tui.memory.consolidation.extractive import ExtractivePreserver
from synthorg_tui.memory.consolidation.models import ArchivalMode, ContentDensity
from synthorg_tui.memory.consolidation.plan import TextAuthor
from synthorg_tui.memory.consolidation.strategy import (
    CONSOLIDATED_TAG,
    ConsolidationGroup,
    ConsolidationOp,
    ConsolidationProposal,
    proposal_for,
)

CUT_AT: Final = 200
"""Characters of each memory in a list of beginnings."""


class ConcatenationOp(ConsolidationOp):
    """Lists the beginnings of the memories; no model is asked."""

    async def propose(self, group: ConsolidationGroup, context: str = "") -> ConsolidationProposal:
        """Return the list that would stand for the group."""
        return proposal_for(
            group, concatenated(group, CUT_AT), group.others, tags=(CONSOLIDATED_TAG,)
        )


class DensityRoutingOp(ConsolidationOp):
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

    async def propose(self, group: ConsolidationGroup, context: str = "") -> ConsolidationProposal:
        """Return the texts that would stand for the group, one for each memory that leaves.

        Raises what the summarizer raises.
        """
        densities = [
            found for _, found in self._classifier.classify_batch((group.kept, *group.others))
        ]
        is_dense = densities.count(ContentDensity.DENSE) * 2 > len(densities)
        mode = ArchivalMode.EXTRACTIVE if is_dense else ArchivalMode.ABSTRACTIVE
        plain = [beginning(entry.content) for entry in group.others]
        texts = plain
        if is_dense:
            texts = [self._preserver.extract(entry.content) for entry in group.others]
        elif self._summarizer is not None:
            texts = [text for _, text in await self._summarizer.summarize_batch(group.others)]
        is_models = not is_dense and texts != plain
        proposed = proposal_for(
            group,
            "\n---\n".join(texts),
            group.others,
            (CONSOLIDATED_TAG, f"mode:{mode.value}"),
            mode=mode,
            written_by=TextAuthor.MODEL if is_models else TextAuthor.CODE,
        )
        return replace(proposed, is_routed=True)


def concatenated(group: ConsolidationGroup, length: int) -> str:
    """Return a list of the first ``length`` characters of each memory that would leave."""
    bullets = (f"- {beginning(entry.content, length)}" for entry in group.others)
    return "\n".join((f"Consolidated {group.category.value} memories:", *bullets))

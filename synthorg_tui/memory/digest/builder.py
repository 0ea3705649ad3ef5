"""The memory digest: found, chosen and written the same way every time.

What is found comes from ``search``, what fits is decided in ``packing``, how an item reads in
``lines``. A failure gives the fixed text for it and never raises.
"""

import logging
from collections.abc import Callable, Collection
from dataclasses import replace

from synthorg_tui.core.failsafe import surviving
from synthorg_tui.memory.digest import models
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.digest.lines import tokens_of
from synthorg_tui.memory.digest.models import DigestResult, DigestSource, fenced
from synthorg_tui.memory.digest.packing import Packed, Packer
from synthorg_tui.memory.digest.search import DigestMatch, DigestMatches, DigestSearch, is_command
from synthorg_tui.memory.retrieval.explanation import Candidate, Verdict
from synthorg_tui.memory.retrieval.sensitivity import SensitivityFilter

_log = logging.getLogger(__name__)


class MemoryDigest:
    """Builds the digest of an agent's memories: a text that fits a token budget.

    Args:
        source: Source of the agent's memories.
        config: Lookups, searches and budgets.
        count: Returns the number of tokens of a line; by default one for every four characters.
    """

    def __init__(
        self,
        source: DigestSource,
        config: MemoryV1Config,
        *,
        count: Callable[[str], int] = tokens_of,
    ) -> None:
        self._source = source
        self._config = config
        self._count = count
        self._clearance = SensitivityFilter(config.allow_sensitivities)

    async def build(
        self,
        agent_id: str,
        query: str,
        *,
        token_budget: int | None = None,
        pinned: Collection[str] = (),
        excluded: Collection[str] = (),
    ) -> DigestResult:
        """Build the digest for an agent's task, or a text that says why there is none.

        Failures give such a text too: only the builtin ``MemoryError`` and ``RecursionError`` are
        raised.

        Args:
            agent_id: The agent whose memories are used.
            query: Text of the agent's turn; no memories are given for a slash command.
            token_budget: Limit for the whole prompt part, title and fence included, in addition to
                the configured budgets.
            pinned: Ids of memories that come first, as far as budgets and sensitivity allow.
            excluded: Ids of memories that are never included.
        """
        most_tokens = self._most_tokens(token_budget)
        reason = self._nothing_because(query, most_tokens)
        if reason:
            return DigestResult(reason)
        with surviving("the memory digest", _log) as failure:
            matches = await DigestSearch(self._source, self._config).gather(agent_id, query, pinned)
            return self._written(matches, most_tokens, frozenset(pinned), frozenset(excluded))
        degraded = f"the memory digest failed: {failure.reason}"
        return DigestResult(models.UNAVAILABLE, degraded=degraded)

    def _most_tokens(self, token_budget: int | None) -> int | None:
        """What all lines together may count."""
        budgets = self._config.budgets
        if token_budget is None:
            return budgets.max_total_tokens
        # Newlines between lines are no line's, and four of them may make a token.
        around = self._count(fenced("")) + tokens_of("\n" * budgets.max_total_items)
        room = max(0, token_budget - around)
        return room if budgets.max_total_tokens is None else min(room, budgets.max_total_tokens)

    def _nothing_because(self, query: str, most_tokens: int | None) -> str:
        """The text for when there is no need to look; else empty."""
        budgets = self._config.budgets
        if not self._config.enabled:
            return models.DISABLED
        if is_command(query):
            return models.COMMAND_TURN
        if not self._config.allow_sensitivities:
            return models.NO_SENSITIVITIES
        if not budgets.max_total_items or not budgets.max_total_chars:
            return models.EMPTY
        return models.NO_TOKENS if most_tokens == 0 else ""

    def _written(
        self,
        found: DigestMatches,
        most_tokens: int | None,
        pinned: frozenset[str],
        excluded: frozenset[str],
    ) -> DigestResult:
        refused = {
            key: refusal
            for key, match in found.by_id.items()
            if (refusal := self._refusal(match, excluded)) is not None
        }
        packer = Packer(self._config.budgets, most_tokens, self._count)
        offered = [match.item for key, match in found.by_id.items() if key not in refused]
        packed = {known.item.entry.id: known for known in packer.pack(offered)}
        lines = [known.line for known in packed.values() if known.line is not None]
        candidates = [
            refused.get(key) or _candidate(match, packed[key], key in pinned)
            for key, match in found.by_id.items()
        ]
        candidates = [replace(candidate, rank=rank) for rank, candidate in enumerate(candidates, 1)]
        candidates.sort(key=lambda candidate: not candidate.verdict.is_in)
        included = tuple(candidate for candidate in candidates if candidate.verdict.is_in)
        return DigestResult(
            text="\n".join(lines) or models.NOTHING_FOUND,
            included_ids=tuple(candidate.entry.id for candidate in included),
            structured_hits=found.structured,
            keyword_hits=found.keyword,
            semantic_hits=found.semantic,
            candidates=tuple(candidates),
            tokens=sum(known.tokens for known in packed.values()),
            degraded="; ".join(found.notes),
        )

    def _refusal(self, match: DigestMatch, excluded: frozenset[str]) -> Candidate | None:
        """Why an item isn't even offered."""
        entry = match.item.entry
        if entry.id in excluded:
            return _out(match, Verdict.EXCLUDED, "excluded by hand")
        refusal = self._clearance.refusal(entry)
        return _out(match, Verdict.SENSITIVE, refusal) if refusal else None


def _candidate(match: DigestMatch, packed: Packed, is_pinned: bool) -> Candidate:
    if packed.line is None:
        return _out(match, Verdict.OVER_BUDGET, packed.reason)
    return Candidate(
        entry=match.item.entry.listed(),
        verdict=Verdict.PINNED if is_pinned else Verdict.INCLUDED,
        reason="; ".join(match.found_by),
        dense=match.dense,
        tokens=packed.tokens,
    )


def _out(match: DigestMatch, verdict: Verdict, why: str) -> Candidate:
    reason = f"{why} (found by: {'; '.join(match.found_by)})"
    return Candidate(match.item.entry.listed(), verdict, reason, dense=match.dense)

"""One text by a model for a group of memories, or a list of their beginnings where none comes.

Every memory is a fence of its own, so that one that gives orders can't speak for the others. What
doesn't fit into the prompt is not replaced by a text that doesn't know it.
"""

from collections.abc import Sequence
from typing import Final

from synthorg_tui.core.failsafe import surviving
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.core.untrusted import untrusted_content_directive, wrap_untrusted
from synthorg_tui.memory.consolidation.abstractive import answered
from synthorg_tui.memory.consolidation.config import LLMConsolidationConfig
from synthorg_tui.memory.consolidation.distillation import DISTILLATION_TAG
from synthorg_tui.memory.consolidation.grounding import is_grounded
from synthorg_tui.memory.consolidation.operations import concatenated
from synthorg_tui.memory.consolidation.plan import TextAuthor
from synthorg_tui.memory.consolidation.strategy import (
    CONSOLIDATED_TAG,
    ConsolidationGroup,
    ConsolidationOp,
    ConsolidationProposal,
    proposal_for,
)
from synthorg_tui.memory.models import MAX_QUERY_LIMIT, MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.providers.completion.errors import PromptTooLongError
from synthorg_tui.providers.completion.protocol import CompletionOptions, CompletionProvider
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage

_ENTRY_TAG: Final = "memory-entry"
_CONTEXT_TAG: Final = "task-data"
_ROLE: Final = "You shorten the notes of a coding agent."
_INSTRUCTION: Final = (
    "Write one short text in place of these notes: what was done, what was decided and why, each "
    "fact once, with names, numbers, paths and commands exactly as they stand. Where notes "
    "disagree, say both. Report only what they say, and nothing about them. Write only the text."
)
_CONTEXT_HEADING: Final = "What the agent did lately, for understanding only:"
_NO_ROOM: Final = "no memory fits into the prompt"


class LLMSynthesisOp(ConsolidationOp):
    """Lets a model write what stands for a group.

    Args:
        backend: Where the agent's latest distillation entries are read, for understanding.
        provider: The model; without one the list is used, and the proposal says so.
        config: Bounds of prompt and answer.
    """

    def __init__(
        self,
        backend: MemoryBackend,
        provider: CompletionProvider | None,
        config: LLMConsolidationConfig | None = None,
    ) -> None:
        self._backend = backend
        self._provider = provider
        self._config = config or LLMConsolidationConfig()

    async def prepare(self, agent_id: NotBlankStr) -> str:
        """Return the agent's latest distillation entries, fenced; empty when they can't be read."""
        config = self._config
        if self._provider is None or not config.include_distillation_context:
            return ""
        most = config.max_trajectory_context_entries
        found: Sequence[MemoryEntry] = ()
        with surviving("reading distillation entries"):
            limit = min(4 * most, MAX_QUERY_LIMIT)
            query = MemoryQuery(tags=(DISTILLATION_TAG,), limit=limit)
            found = await self._backend.retrieve(agent_id, query)
        latest = sorted(found, key=lambda entry: (entry.created_at, entry.id), reverse=True)[:most]
        cut = config.max_trajectory_chars_per_entry
        return "\n".join(wrap_untrusted(_CONTEXT_TAG, entry.content[:cut]) for entry in latest)

    async def propose(self, group: ConsolidationGroup, context: str = "") -> ConsolidationProposal:
        """Return what would stand for the group: the model's text, or the list.

        The model's text replaces the memories that it was shown, the list all of them.

        Raises:
            CompletionError: The model refused in a way that asking again won't change.
        """
        shown, blocks = self._shown(group.others)
        if self._provider is None:
            return self._listed(group, "no language model is configured")
        if not shown:
            return self._listed(group, _NO_ROOM)
        try:
            text, shown = await self._written(self._provider, shown, blocks, context)
        except PromptTooLongError:
            return self._listed(group, _NO_ROOM)
        if not text:
            return self._listed(group, "the model gave no text")
        if not is_grounded(text, [entry.content for entry in shown]):
            return self._listed(group, "the model's text says what the memories don't")
        tags = (CONSOLIDATED_TAG, "llm-synthesized")
        return proposal_for(group, text, shown, tags, written_by=TextAuthor.MODEL)

    async def _written(
        self,
        provider: CompletionProvider,
        shown: list[MemoryEntry],
        blocks: list[str],
        context: str,
    ) -> tuple[str, list[MemoryEntry]]:
        """The model's text, empty when it gave none, and the memories that it was shown.

        A model that reads less at once than the prompt is shown half of it, as often as needed.
        """
        options = CompletionOptions(
            max_tokens=self._config.max_summary_tokens,
            temperature=self._config.temperature,
            repeat_penalty=1.1,
        )
        while True:
            try:
                answer = await answered(provider, self._messages(blocks, context), options)
            except PromptTooLongError:
                if len(blocks) < 2:
                    raise
                half = len(blocks) // 2
                shown, blocks = shown[:half], blocks[:half]
                continue
            return (answer.text if answer is not None else ""), shown

    def _shown(self, entries: Sequence[MemoryEntry]) -> tuple[list[MemoryEntry], list[str]]:
        """The memories before the first that would pass the prompt's bound, and their blocks."""
        left = self._config.max_total_user_content_chars
        shown, blocks = [], []
        for entry in entries:
            text = entry.content[: self._config.max_entry_input_chars]
            block = wrap_untrusted(_ENTRY_TAG, f"category: {entry.category.value}\n{text}")
            left -= len(block) + 1
            if left < 0:
                break
            shown.append(entry)
            blocks.append(block)
        return shown, blocks

    def _messages(self, blocks: Sequence[str], context: str) -> tuple[ChatMessage, ...]:
        text = "\n".join(blocks)
        explained = f"{text}\n\n{_CONTEXT_HEADING}\n{context}"
        tags = [_ENTRY_TAG]
        if context and len(explained) <= self._config.max_total_user_content_chars:
            text = explained
            tags.append(_CONTEXT_TAG)
        directive = untrusted_content_directive(tags)
        return (
            ChatMessage(role=MessageRole.SYSTEM, content=f"{_ROLE} {directive}"),
            # The question comes last: a small model answers what it read last.
            ChatMessage(role=MessageRole.USER, content=f"{text}\n\n{_INSTRUCTION}"),
        )

    def _listed(self, group: ConsolidationGroup, note: str) -> ConsolidationProposal:
        text = concatenated(group, self._config.fallback_truncate_length)
        tags = (CONSOLIDATED_TAG, "concat-fallback")
        return proposal_for(group, text, group.others, tags, note=note)

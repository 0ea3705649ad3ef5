"""Injection of memories into an agent's prompt: the strategy protocol and token estimators."""

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.enums import InjectionPoint, InjectionStrategy
from synthorg_tui.memory.retrieval.explanation import PreparedMessages
from synthorg_tui.providers.models import ChatMessage, ToolDefinition

__all__ = [
    "DefaultTokenEstimator",
    "ExplainingStrategy",
    "InjectionPoint",
    "InjectionStrategy",
    "MemoryInjectionStrategy",
    "TokenEstimator",
]


@runtime_checkable
class TokenEstimator(Protocol):
    """Counts the tokens of a text, exactly or approximately."""

    def estimate_tokens(self, text: str) -> int:
        """Return the number of tokens in ``text``; never negative."""


class DefaultTokenEstimator:
    """Estimates one token for every four characters, for when no tokenizer is available."""

    def estimate_tokens(self, text: str) -> int:
        """Return the estimate: 0 for an empty text, else at least 1."""
        return estimate_tokens(text)


@runtime_checkable
class MemoryInjectionStrategy(Protocol):
    """Makes memories available to an agent, by chat messages, tools, or both."""

    async def prepare_messages(
        self, agent_id: NotBlankStr, query_text: NotBlankStr, token_budget: int
    ) -> tuple[ChatMessage, ...]:
        """Return the messages to insert between an agent's system prompt and its task.

        ``query_text`` describes what the agent is about to do; ``token_budget`` limits the size of
        the memories in tokens. Return ``()`` when there is nothing to insert.
        """

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the tools to offer to the agent; ``()`` when the strategy has none."""

    @property
    def strategy_name(self) -> str:
        """Name of the strategy, for explanations and logs."""


@runtime_checkable
class ExplainingStrategy(MemoryInjectionStrategy, Protocol):
    """Injection strategy that can also explain which memories it chose, and why."""

    async def prepare(
        self,
        agent_id: NotBlankStr,
        query_text: NotBlankStr,
        token_budget: int,
        *,
        pinned: Collection[str] = (),
        excluded: Collection[str] = (),
    ) -> PreparedMessages:
        """Return the messages of ``prepare_messages`` together with an explanation of them.

        ``pinned`` and ``excluded`` are ids of memories to prefer and to leave out. Without them the
        messages are byte for byte those of ``prepare_messages``.
        """

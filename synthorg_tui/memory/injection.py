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
    """Counts tokens, exactly or about."""

    def estimate_tokens(self, text: str) -> int:
        """Estimate the tokens of ``text``; never negative."""
        ...


class DefaultTokenEstimator:
    """A quarter of the characters, for when no tokenizer is at hand."""

    def estimate_tokens(self, text: str) -> int:
        """0 for an empty text, else at least 1."""
        return estimate_tokens(text)


@runtime_checkable
class MemoryInjectionStrategy(Protocol):
    """Makes memories available to an agent: by messages, by tools, or both."""

    async def prepare_messages(
        self, agent_id: NotBlankStr, query_text: NotBlankStr, token_budget: int
    ) -> tuple[ChatMessage, ...]:
        """Messages to put between system prompt and task; ``()`` when there is nothing."""
        ...

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """Tools the agent gets; ``()`` when the strategy has none."""
        ...

    @property
    def strategy_name(self) -> str:
        """The name of the strategy."""
        ...


@runtime_checkable
class ExplainingStrategy(MemoryInjectionStrategy, Protocol):
    """A strategy that explains why it gives what it gives."""

    async def prepare(
        self,
        agent_id: NotBlankStr,
        query_text: NotBlankStr,
        token_budget: int,
        *,
        pinned: Collection[str] = (),
        excluded: Collection[str] = (),
    ) -> PreparedMessages:
        """The messages of ``prepare_messages``, byte for byte, and their explanation."""
        ...

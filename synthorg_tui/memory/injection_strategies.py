"""The injection strategies by name, and how each one is made for a request."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.memory.enums import InjectionStrategy, Sensitivity
from synthorg_tui.memory.injection import (
    ExplainingStrategy,
    TokenEstimator,
)
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.reformulation import LLMQueryReformulator, LLMSufficiencyChecker
from synthorg_tui.memory.retrieval.hierarchical.retriever import SupervisedRetriever
from synthorg_tui.memory.retrieval.rerank import LLMReranker, RerankCache
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.retriever import ContextInjectionStrategy
from synthorg_tui.memory.self_editing import SelfEditingMemoryStrategy
from synthorg_tui.memory.self_editing_config import SelfEditingMemoryConfig
from synthorg_tui.memory.shared import SharedKnowledgeStore
from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy
from synthorg_tui.providers.completion.protocol import CompletionProvider


@dataclass(frozen=True, slots=True)
class StrategyParts:
    """What strategies are made of, for one request; ``provider`` is a model, if there is one.

    ``sensitivities`` are those of memories that may be given to the agent or to a model.
    """

    backend: MemoryBackend
    shared_store: SharedKnowledgeStore | None
    config: MemoryRetrievalConfig
    self_editing: SelfEditingMemoryConfig
    estimator: TokenEstimator
    clock: Clock
    provider: CompletionProvider | None
    rerank_cache: RerankCache
    sensitivities: Collection[Sensitivity]


def context_strategy(parts: StrategyParts) -> ContextInjectionStrategy:
    """Memories put into the messages."""
    retriever = SupervisedRetriever(
        backend=parts.backend,
        config=parts.config,
        provider=parts.provider,
        shared_store=parts.shared_store,
        clock=parts.clock,
        sensitivities=parts.sensitivities,
    )
    return ContextInjectionStrategy(
        backend=parts.backend,
        config=parts.config,
        shared_store=parts.shared_store,
        token_estimator=parts.estimator,
        hierarchical_retriever=retriever,
        reranker=LLMReranker(parts.provider, cache=parts.rerank_cache),
        clock=parts.clock,
        sensitivities=parts.sensitivities,
    )


def tool_strategy(parts: StrategyParts) -> ToolBasedInjectionStrategy:
    """Memories that the agent searches itself; without a model it searches once each time."""
    if parts.provider is None:
        wanted = parts.config.query_reformulation_enabled
        return ToolBasedInjectionStrategy(
            backend=parts.backend,
            config=parts.config.model_copy(update={"query_reformulation_enabled": False}),
            notice="there is no model: searches are not reformulated" if wanted else "",
            sensitivities=parts.sensitivities,
        )
    return ToolBasedInjectionStrategy(
        backend=parts.backend,
        config=parts.config,
        reformulator=LLMQueryReformulator(parts.provider),
        sufficiency_checker=LLMSufficiencyChecker(parts.provider),
        sensitivities=parts.sensitivities,
    )


def self_editing_strategy(parts: StrategyParts) -> SelfEditingMemoryStrategy:
    """Memories that the agent keeps itself."""
    return SelfEditingMemoryStrategy(
        backend=parts.backend,
        config=parts.self_editing,
        token_estimator=parts.estimator,
        sensitivities=parts.sensitivities,
    )


STRATEGIES: Final[Mapping[InjectionStrategy, Callable[[StrategyParts], ExplainingStrategy]]] = {
    InjectionStrategy.CONTEXT: context_strategy,
    InjectionStrategy.TOOL_BASED: tool_strategy,
    InjectionStrategy.SELF_EDITING: self_editing_strategy,
}

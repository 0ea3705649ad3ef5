"""The injection strategies by name, and how each one is made for a request.

Each loads what it is made of when it is first asked for: an agent that waits for its memories
needs neither the tools nor the model of the others.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from synthorg_tui.core.clock import Clock
from synthorg_tui.memory.enums import InjectionStrategy, Sensitivity
from synthorg_tui.memory.injection import ExplainingStrategy, TokenEstimator
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.rerank_cache import RerankCache
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.shared import SharedKnowledgeStore
from synthorg_tui.memory.strategies.config import SelfEditingMemoryConfig

if TYPE_CHECKING:
    from synthorg_tui.providers.completion.protocol import CompletionProvider


class StrategyParts(NamedTuple):
    """What strategies are made of, for one request; ``model`` gives a model, if there is one.

    ``sensitivities`` are those of memories that may be given to the agent or to a model.
    """

    backend: MemoryBackend
    shared_store: SharedKnowledgeStore | None
    config: MemoryRetrievalConfig
    self_editing: SelfEditingMemoryConfig
    estimator: TokenEstimator
    clock: Clock
    model: "Callable[[], CompletionProvider | None]"
    rerank_cache: RerankCache
    sensitivities: Collection[Sensitivity]
    core_writes: asyncio.Lock


def context_strategy(parts: StrategyParts) -> ExplainingStrategy:
    """Memories put into the messages."""
    from synthorg_tui.memory.retriever import ContextInjectionStrategy

    retriever = reranker = None
    if parts.config.retriever == "hierarchical":
        from synthorg_tui.memory.retrieval.hierarchical.retriever import SupervisedRetriever

        retriever = SupervisedRetriever(
            backend=parts.backend,
            config=parts.config,
            provider=parts.model(),
            shared_store=parts.shared_store,
            clock=parts.clock,
            sensitivities=parts.sensitivities,
        )
    if parts.config.query_specific_rerank_enabled:
        from synthorg_tui.memory.retrieval.rerank import LLMReranker

        reranker = LLMReranker(parts.model(), cache=parts.rerank_cache)
    return ContextInjectionStrategy(
        backend=parts.backend,
        config=parts.config,
        shared_store=parts.shared_store,
        token_estimator=parts.estimator,
        hierarchical_retriever=retriever,
        reranker=reranker,
        clock=parts.clock,
        sensitivities=parts.sensitivities,
    )


def tool_strategy(parts: StrategyParts) -> ExplainingStrategy:
    """Memories that the agent searches itself; without a model it searches once each time."""
    from synthorg_tui.memory.strategies.search_and_ask import (
        LLMQueryReformulator,
        LLMSufficiencyChecker,
    )
    from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy

    wanted = parts.config.query_reformulation_enabled
    provider = parts.model() if wanted else None
    if provider is None:
        return ToolBasedInjectionStrategy(
            backend=parts.backend,
            config=parts.config.model_copy(update={"query_reformulation_enabled": False}),
            notice="there is no model: searches are not reformulated" if wanted else "",
            sensitivities=parts.sensitivities,
        )
    return ToolBasedInjectionStrategy(
        backend=parts.backend,
        config=parts.config,
        reformulator=LLMQueryReformulator(provider),
        sufficiency_checker=LLMSufficiencyChecker(provider),
        sensitivities=parts.sensitivities,
    )


def self_editing_strategy(parts: StrategyParts) -> ExplainingStrategy:
    """Memories that the agent keeps itself."""
    from synthorg_tui.memory.strategies.self_editing import SelfEditingMemoryStrategy

    return SelfEditingMemoryStrategy(
        backend=parts.backend,
        config=parts.self_editing,
        token_estimator=parts.estimator,
        sensitivities=parts.sensitivities,
        core_writes=parts.core_writes,
    )


STRATEGIES: Final[Mapping[InjectionStrategy, Callable[[StrategyParts], ExplainingStrategy]]] = {
    InjectionStrategy.CONTEXT: context_strategy,
    InjectionStrategy.TOOL_BASED: tool_strategy,
    InjectionStrategy.SELF_EDITING: self_editing_strategy,
}

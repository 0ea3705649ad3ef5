"""The injection strategies by name, and how each one is made for a request."""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.enums import InjectionStrategy
from synthorg_tui.memory.explanation import Candidate, Explanation, Prepared, Verdict, text_of
from synthorg_tui.memory.extensions import SearchHit
from synthorg_tui.memory.formatter import Packing, messages_for
from synthorg_tui.memory.injection import (
    ExplainingStrategy,
    MemoryInjectionStrategy,
    TokenEstimator,
)
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.reformulation import LLMQueryReformulator, LLMSufficiencyChecker
from synthorg_tui.memory.retrieval.hierarchical.retriever import SupervisedRetriever
from synthorg_tui.memory.retrieval.ledger import Ledger
from synthorg_tui.memory.retrieval.rerank import LLMReranker, RerankCache
from synthorg_tui.memory.retrieval.safety import FATAL, raise_fatal
from synthorg_tui.memory.retrieval.stopwatch import Stopwatch
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.retriever import ContextInjectionStrategy
from synthorg_tui.memory.self_editing import SelfEditingMemoryStrategy
from synthorg_tui.memory.self_editing_config import SelfEditingMemoryConfig
from synthorg_tui.memory.shared import SharedKnowledgeStore
from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy
from synthorg_tui.providers.completion.protocol import CompletionProvider
from synthorg_tui.providers.models import ChatMessage, ToolDefinition

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StrategyParts:
    """What strategies are made of, for one request; ``provider`` is a model, if there is one."""

    backend: MemoryBackend
    shared_store: SharedKnowledgeStore | None
    config: MemoryRetrievalConfig
    self_editing: SelfEditingMemoryConfig
    estimator: TokenEstimator
    clock: Clock
    provider: CompletionProvider | None
    rerank_cache: RerankCache


def context_strategy(parts: StrategyParts) -> ContextInjectionStrategy:
    """Memories put into the messages."""
    retriever = SupervisedRetriever(
        backend=parts.backend,
        config=parts.config,
        provider=parts.provider,
        shared_store=parts.shared_store,
        clock=parts.clock,
    )
    return ContextInjectionStrategy(
        backend=parts.backend,
        config=parts.config,
        shared_store=parts.shared_store,
        token_estimator=parts.estimator,
        hierarchical_retriever=retriever,
        reranker=LLMReranker(parts.provider, cache=parts.rerank_cache),
        clock=parts.clock,
    )


def tool_strategy(parts: StrategyParts) -> ToolBasedInjectionStrategy:
    """Memories that the agent searches itself; without a model it searches once each time."""
    if parts.provider is None:
        plain = parts.config.model_copy(update={"query_reformulation_enabled": False})
        return ToolBasedInjectionStrategy(backend=parts.backend, config=plain)
    return ToolBasedInjectionStrategy(
        backend=parts.backend,
        config=parts.config,
        reformulator=LLMQueryReformulator(parts.provider),
        sufficiency_checker=LLMSufficiencyChecker(parts.provider),
    )


def self_editing_strategy(parts: StrategyParts) -> SelfEditingMemoryStrategy:
    """Memories that the agent keeps itself."""
    return SelfEditingMemoryStrategy(
        backend=parts.backend, config=parts.self_editing, token_estimator=parts.estimator
    )


class _Explained:
    """A strategy whose prompt doesn't depend on a search, with an explanation of what is there."""

    def __init__(self, strategy: MemoryInjectionStrategy, *, degraded: str = "") -> None:
        self._strategy = strategy
        self._degraded = degraded

    @property
    def strategy_name(self) -> str:
        return self._strategy.strategy_name

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        return self._strategy.get_tool_definitions()

    async def prepare_messages(
        self, agent_id: NotBlankStr, query_text: NotBlankStr, token_budget: int
    ) -> tuple[ChatMessage, ...]:
        return (await self.prepare(agent_id, query_text, token_budget)).messages

    async def prepare(
        self,
        agent_id: NotBlankStr,
        query_text: NotBlankStr,
        token_budget: int,
        *,
        pinned: Collection[str] = (),
        excluded: Collection[str] = (),
    ) -> Prepared:
        """The agent searches or keeps these memories itself: there is nothing to pin or exclude."""
        watch = Stopwatch()
        explanation = Explanation(
            strategy=self.strategy_name,
            agent_id=agent_id,
            query=query_text,
            token_budget=token_budget,
            tokens_used=0,
            text="",
            candidates=(),
            degraded=self._degraded,
        )
        with watch.stage("prompt"):
            messages, explanation = await self._prompt(explanation)
        explanation = replace(explanation, text=text_of(messages), stages=watch.stages)
        return Prepared(messages, explanation)

    async def _prompt(self, about: Explanation) -> tuple[tuple[ChatMessage, ...], Explanation]:
        messages = await self._strategy.prepare_messages(
            about.agent_id, about.query, about.token_budget
        )
        return messages, about


class _ExplainedCore(_Explained):
    """Self-editing memory: the core memories are what there is to explain."""

    def __init__(self, strategy: SelfEditingMemoryStrategy) -> None:
        super().__init__(strategy)
        self._core = strategy

    async def _prompt(self, about: Explanation) -> tuple[tuple[ChatMessage, ...], Explanation]:
        try:
            packing = await self._core.core_block(about.agent_id, about.token_budget)
            messages = messages_for(packing)
        except FATAL:
            raise
        except Exception as error:
            raise_fatal(error)
            _log.warning("core memories of %s are missing: %s", about.agent_id, error)
            said = error.message if isinstance(error, DomainError) else type(error).__name__
            return (), replace(about, degraded=f"the core memories can't be read: {said}")
        return messages, replace(
            about, tokens_used=packing.tokens_used, candidates=_core_candidates(packing)
        )


def _core_candidates(packing: Packing) -> tuple[Candidate, ...]:
    memories = tuple(each.memory for each in packing.packed)
    ledger = Ledger(SearchHit(memory.entry, None, None, 1.0) for memory in memories)
    ledger.ranked(memories, boost=0.0)
    for each in packing.packed:
        ledger.costs(each.memory.entry.id, each.tokens)
        if each.fits:
            ledger.judge(each.memory.entry.id, Verdict.INCLUDED, "a core memory")
        else:
            reason = f"needs {each.tokens} tokens, {each.room} were left"
            ledger.judge(each.memory.entry.id, Verdict.OVER_BUDGET, reason)
    return ledger.candidates([each.memory.entry.id for each in packing.packed if each.fits])


def _explained_tools(parts: StrategyParts) -> ExplainingStrategy:
    silent = parts.config.query_reformulation_enabled and parts.provider is None
    note = "there is no model: searches are not reformulated" if silent else ""
    return _Explained(tool_strategy(parts), degraded=note)


def _explained_core(parts: StrategyParts) -> ExplainingStrategy:
    return _ExplainedCore(self_editing_strategy(parts))


STRATEGIES: Final[Mapping[InjectionStrategy, Callable[[StrategyParts], ExplainingStrategy]]] = {
    InjectionStrategy.CONTEXT: context_strategy,
    InjectionStrategy.TOOL_BASED: _explained_tools,
    InjectionStrategy.SELF_EDITING: _explained_core,
}

"""What an agent is given: the one place that programs, command line and screens ask."""

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from synthorg_tui.core.clock import Clock, SystemClock
from synthorg_tui.core.failsafe import surviving
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.enums import InjectionStrategy
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.injection import (
    DefaultTokenEstimator,
    ExplainingStrategy,
    TokenEstimator,
)
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.explanation import Explanation, text_of
from synthorg_tui.memory.retrieval.hits import ScopedViews
from synthorg_tui.memory.retrieval.rerank_cache import RerankCache
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.shared import SharedKnowledgeStore
from synthorg_tui.memory.strategies.builders import STRATEGIES, StrategyParts
from synthorg_tui.memory.strategies.config import SelfEditingMemoryConfig
from synthorg_tui.providers.models import ChatMessage, ToolDefinition

if TYPE_CHECKING:
    from synthorg_tui.providers.completion.protocol import CompletionProvider

_LOG = logging.getLogger(__name__)


class ApplicationLog(Protocol):
    """Counts how often an agent was given what it learnt."""

    async def applied(self, memory_ids: Collection[str], at: datetime) -> int:
        """Note that an agent was given these memories; returns how many of them count."""
        ...


@dataclass(frozen=True, slots=True)
class InjectionRequest:
    """Who asks, what for, and how much may be given; ``None`` is as configured.

    ``visibility`` ``None`` is the person at the desk, who sees all sessions and projects.
    ``pinned`` and ``excluded`` are ids of memories to give in any case, or in none.
    ``digest_v1`` is whether the digest is given, and whatever the strategy nothing else;
    ``digest`` is how, and how sensitive a memory may be with other strategies too.
    """

    agent_id: str
    query: str
    token_budget: int
    strategy: InjectionStrategy | None = None
    retrieval: MemoryRetrievalConfig | None = None
    visibility: Visibility | None = None
    pinned: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    digest_v1: bool | None = None
    digest: MemoryV1Config | None = None


@dataclass(frozen=True, slots=True)
class Injection:
    """What goes between system prompt and task, the tools that come with it, and why."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolDefinition, ...]
    explanation: Explanation

    @property
    def text(self) -> str:
        """Exactly what the agent reads: the messages, a blank line between them."""
        return text_of(self.messages)


@dataclass(frozen=True)
class InjectionService:
    """Prepares what an agent is given, the same way for whoever asks.

    ``shares`` tells whether agents see each other's publications, where the backend can.
    While ``digest`` is enabled, it takes the place of every strategy; how sensitive a memory may
    be to be given is what it says in any case.
    ``model`` gives a model for what the configuration lets one do; each such step does without
    when there is none, and says so. ``applications`` is told what agents were really given.
    """

    memory: MemoryBackend
    retrieval: MemoryRetrievalConfig
    shares: bool = True
    digest: MemoryV1Config = field(default_factory=lambda: MemoryV1Config(enabled=False))
    self_editing: SelfEditingMemoryConfig = field(default_factory=SelfEditingMemoryConfig)
    estimator: TokenEstimator = field(default_factory=DefaultTokenEstimator)
    clock: Clock = field(default_factory=SystemClock)
    model: "Callable[[], CompletionProvider | None]" = field(default=lambda: None)
    rerank_cache: RerankCache = field(default_factory=RerankCache)
    core_writes: asyncio.Lock = field(default_factory=asyncio.Lock)
    applications: ApplicationLog | None = None

    async def prepare(self, request: InjectionRequest) -> Injection:
        """Messages, tools and explanation for a request; memories that fail to come leave ``()``.

        Policies of the organisation, once there are any, are messages before these.
        """
        strategy = self.strategy(request)
        prepared = await strategy.prepare(
            request.agent_id,
            request.query,
            request.token_budget,
            pinned=request.pinned,
            excluded=request.excluded,
        )
        return Injection(prepared.messages, strategy.get_tool_definitions(), prepared.explanation)

    async def serve(self, request: InjectionRequest) -> Injection:
        """As ``prepare``, for an agent that is really given it: what it is given is counted.

        Counting that fails is logged and costs the agent nothing.
        """
        injection = await self.prepare(request)
        if self.applications is None:
            return injection
        given = [each.entry.id for each in injection.explanation.included]
        with surviving("counting what was given", _LOG):
            await self.applications.applied(given, self.clock.now())
        return injection

    def strategy(self, request: InjectionRequest) -> ExplainingStrategy:
        """How a request is answered: as configured, or as the request wants it."""
        config = request.retrieval or self.retrieval
        memory = self.memory
        if request.visibility is not None and isinstance(memory, ScopedViews):
            memory = memory.scoped(request.visibility)
        digest = request.digest or self.digest
        if digest.enabled if request.digest_v1 is None else request.digest_v1:
            from synthorg_tui.memory.digest.strategy import DigestInjection

            digest = digest.model_copy(update={"enabled": True})
            return DigestInjection(memory, digest, config.injection_point, self.estimator)
        wanted = request.strategy or config.strategy
        shared = memory if self.shares and isinstance(memory, SharedKnowledgeStore) else None
        parts = StrategyParts(
            backend=memory,
            shared_store=shared,
            config=config,
            self_editing=self.self_editing,
            estimator=self.estimator,
            clock=self.clock,
            model=self.model,
            rerank_cache=self.rerank_cache,
            sensitivities=digest.allow_sensitivities,
            core_writes=self.core_writes,
        )
        return STRATEGIES[wanted](parts)

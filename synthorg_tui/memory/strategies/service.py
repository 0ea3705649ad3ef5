"""Selection and construction of the strategy that gives an agent its memories.

The one entry point for programs, command line and screens: which strategy answers a request is
decided here, and all are built of the same parts. A strategy's modules are imported when it is
first needed: an agent that waits for its memories needs neither the tools nor the model of the
others. How memories are found, ranked and packed belongs to the strategies.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from synthorg_tui.core.clock import Clock, StoppedClock, SystemClock
from synthorg_tui.core.failsafe import surviving
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.enums import InjectionStrategy, Sensitivity
from synthorg_tui.memory.errors import MemoryCapabilityError
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.injection import (
    DefaultTokenEstimator,
    ExplainingStrategy,
    TokenEstimator,
)
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.explanation import Explanation, PreparedMessages, text_of
from synthorg_tui.memory.retrieval.hits import ScopedViews
from synthorg_tui.memory.retrieval.rerank_cache import RerankCache
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig, SelfEditingMemoryConfig
from synthorg_tui.memory.shared import SharedKnowledgeStore
from synthorg_tui.providers.models import ChatMessage, ToolDefinition

if TYPE_CHECKING:
    from synthorg_tui.memory.config import CompanyMemoryConfig
    from synthorg_tui.memory.strategies.organisation import OrgBriefing
    from synthorg_tui.memory.strategies.replies import WriteMemory
    from synthorg_tui.memory.strategies.self_editing import SelfEditingMemoryStrategy
    from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy
    from synthorg_tui.providers.completion.protocol import CompletionProvider
    from synthorg_tui.providers.reranking.cross_encoder import CrossEncoder

_log = logging.getLogger(__name__)

BY_QUERY: Final = frozenset({"context_injection", "memory_digest"})
"""Names of the strategies that put into the prompt what fits the query."""
SWITCHED_OFF: Final = "memory.injection_enabled is off: agents are given no memories"
"""What an explanation says while nothing is given."""
_PLAIN: Final = {"retriever": "flat", "query_specific_rerank_enabled": False}
MAX_QUERY: Final = 8_000
"""Characters of a query that are looked at."""


class UseKind(StrEnum):
    """The way in which an agent was given a lesson: a digest, a hint, or a skill that it read.

    A hint comes ``BEFORE`` a call that is known to fail, or ``AFTER`` one that failed.
    """

    DIGEST = "digest"
    BEFORE = "before"
    AFTER = "after"
    READ = "read"


@dataclass(frozen=True, slots=True)
class Use:
    """One time that an agent was given memories; ``session_id`` is that of its program."""

    how: UseKind
    agent_id: str
    project: str | None = None
    session_id: str | None = None


class ApplicationLog(Protocol):
    """Counts how often agents were given the memories of learned skills.

    A protocol although there is one implementer: the package that manages skills has the count,
    depends on the memory package and must not be imported by it.
    """

    async def applied(
        self, memory_ids: Collection[str], at: datetime, use: Use | None = None
    ) -> int:
        """Record that an agent was given these memories at ``at``; return how many were counted.

        ``use`` says how and in which session.
        """


@dataclass(frozen=True, slots=True)
class InjectionRequest:
    """Request for the memories relevant to an agent's task; ``None`` means as configured.

    ``visibility`` ``None`` means a person, who sees all sessions and projects. ``pinned`` and
    ``excluded`` are ids of memories to give with preference, or never. ``digest_v1`` turns the
    digest on or off; when on, it replaces any strategy. ``digest`` configures it; its allowed
    sensitivities apply to other strategies too. ``handed`` are the marks of what the session was
    handed before, which isn't given again. With ``as_of`` the answer is what the store would have
    given then by today's settings and the context strategy, for a person who looks back.
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
    handed: frozenset[str] = frozenset()
    as_of: datetime | None = None


def agents_request(
    agent_id: str,
    query: str,
    token_budget: int,
    *,
    project: str | None,
    session_id: str | None,
) -> InjectionRequest:
    """Return the request of an agent that is about to do something in a project and a session.

    Every way to a digest makes its request here, so that a person is shown what agents are given.
    A query is taken up to ``MAX_QUERY`` characters.
    """
    return InjectionRequest(
        agent_id,
        query.strip()[:MAX_QUERY],
        max(0, token_budget),
        visibility=Visibility(session_id, project),
    )


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """The settings that hold for one agent; ``named`` are those that aren't the company's."""

    memory: "CompanyMemoryConfig"
    named: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Injection:
    """Messages to insert after the system prompt, tools to offer, and the explanation of both."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolDefinition, ...]
    explanation: Explanation

    @property
    def text(self) -> str:
        """Exactly what the agent reads: the messages, separated by blank lines."""
        return text_of(self.messages)


@dataclass(eq=False)
class InjectionService:
    """Prepares memories for agents; the common entry point of programs, commands and screens.

    ``shares`` is whether agents see each other's published memories, if the backend supports it.
    While ``digest`` is enabled it replaces every strategy; its allowed sensitivities always apply.
    ``model`` returns the language model for optional steps, or ``None``, in which case they are
    skipped and the explanation says so; ``cross_encoder`` reorders in its place. ``applications``
    is notified of memories actually given to agents. ``agents`` has the settings of those that have
    some of their own; they hold for them wherever a request names no others. ``organisation`` tells
    what stands before all memories: policies, and facts that fit. ``enabled`` false gives no
    memories, whatever is asked.
    """

    memory: MemoryBackend
    retrieval: MemoryRetrievalConfig
    shares: bool = True
    digest: MemoryV1Config = field(default_factory=lambda: MemoryV1Config(enabled=False))
    self_editing: SelfEditingMemoryConfig = field(default_factory=SelfEditingMemoryConfig)
    estimator: TokenEstimator = field(default_factory=DefaultTokenEstimator)
    clock: Clock = field(default_factory=SystemClock)
    model: "Callable[[], CompletionProvider | None]" = field(default=lambda: None)
    cross_encoder: "CrossEncoder | None" = None
    rerank_cache: RerankCache = field(default_factory=RerankCache)
    core_writes: asyncio.Lock = field(default_factory=asyncio.Lock)
    applications: ApplicationLog | None = None
    organisation: "OrgBriefing | None" = None
    agents: Mapping[str, OwnSettings] = field(default_factory=dict)
    enabled: bool = True

    def mirror(self, memory: "CompanyMemoryConfig", agents: Mapping[str, OwnSettings]) -> None:
        """Answer by these settings from now on; a request that is being answered isn't touched."""
        self.retrieval, self.digest = memory.retrieval, memory.v1
        self.self_editing, self.enabled = memory.self_editing, memory.injection_enabled
        self.shares, self.agents = memory.options.shared_knowledge_base, agents

    async def prepare(self, request: InjectionRequest) -> Injection:
        """Return messages, tools and explanation for a request, without recording anything.

        The organisation's policies stand first. If memories can't be read, there are no messages
        for them; nor is there any for a text that the session was handed before as it is.
        """
        from synthorg_tui.memory.retrieval.wording import only_news
        from synthorg_tui.memory.strategies.organisation import OrgPart, prepare_within

        strategy = self.strategy(request)

        async def memories(token_budget: int) -> PreparedMessages:
            if not self.enabled:
                return _switched_off(strategy, request, token_budget)
            prepared = await strategy.prepare(
                request.agent_id,
                request.query,
                token_budget,
                pinned=request.pinned,
                excluded=request.excluded,
            )
            return only_news(prepared, request.handed)

        part = OrgPart()
        if self.organisation is not None:
            part = await self.organisation.prepare(
                request.token_budget,
                self.estimator,
                view=request.visibility,
                query=self._asks_facts(request, strategy),
                passage_tokens=self.retrieval_for(request).max_passage_tokens,
                handed=request.handed,
                at=request.as_of,
            )
        prepared = await prepare_within(part, request.token_budget, self.estimator, memories)
        explanation = prepared.explanation
        if (own := self.agents.get(request.agent_id)) is not None:
            explanation = replace(explanation, own_settings=own.named)
        return Injection(prepared.messages, strategy.get_tool_definitions(), explanation)

    async def serve(self, request: InjectionRequest) -> Injection:
        """Prepare a request of a real agent and record which memories it is given.

        A failure to record is logged and doesn't affect the result.
        """
        injection = await self.prepare(request)
        if self.applications is None:
            return injection
        given = [memory.entry.id for memory in injection.explanation.included]
        view = request.visibility or Visibility(None, None)
        use = Use(UseKind.DIGEST, request.agent_id, view.project, view.session_id)
        with surviving("counting what was given", _log):
            await self.applications.applied(given, self.clock.now(), use)
        return injection

    def _asks_facts(self, request: InjectionRequest, strategy: ExplainingStrategy) -> str:
        """The query, where memories are chosen by it; else empty: who has tools asks itself."""
        from synthorg_tui.memory.digest.search import is_command

        chosen = strategy.strategy_name in BY_QUERY and request.as_of is None
        return request.query if chosen and not is_command(request.query) else ""

    def strategy(self, request: InjectionRequest) -> ExplainingStrategy:
        """Return the strategy for a request: the one that it names, else the configured one."""
        if request.as_of is not None:
            return self._looking_back(request, request.as_of)
        config = self.retrieval_for(request)
        memory = self.memory if request.visibility is None else self.scoped(request.visibility)
        if (digest := self.digest_for(request)).enabled:
            from synthorg_tui.memory.digest.strategy import DigestInjection

            return DigestInjection(memory, digest, config.injection_point, self.estimator)
        match request.strategy or config.strategy:
            case InjectionStrategy.CONTEXT:
                return self._context(memory, config, digest.allow_sensitivities, request.handed)
            case InjectionStrategy.TOOL_BASED:
                return self._tool_based(memory, config, digest.allow_sensitivities)
            case InjectionStrategy.SELF_EDITING:
                own = self._self_edited_by(request.agent_id)
                return self._self_editing(memory, own, digest.allow_sensitivities)

    def _looking_back(self, request: InjectionRequest, at: datetime) -> ExplainingStrategy:
        from synthorg_tui.memory.retriever import ContextInjectionStrategy
        from synthorg_tui.memory.store.backend import LocalMemoryBackend

        if not isinstance(self.memory, LocalMemoryBackend):
            raise MemoryCapabilityError("this backend doesn't know what was known at a time")
        memory = self.memory.as_of(at, request.visibility)
        return ContextInjectionStrategy(
            backend=memory,
            config=self.retrieval_for(request).model_copy(update=_PLAIN),
            shared_store=memory if isinstance(memory, SharedKnowledgeStore) else None,
            token_estimator=self.estimator,
            clock=StoppedClock(at),
            sensitivities=self.digest_for(request).allow_sensitivities,
        )

    def retrieval_for(self, request: InjectionRequest) -> MemoryRetrievalConfig:
        """Return the settings of retrieval for a request: its own, the agent's or the company's."""
        own = self.agents.get(request.agent_id)
        return request.retrieval or (own.memory.retrieval if own else self.retrieval)

    def _self_edited_by(self, agent_id: str) -> SelfEditingMemoryConfig:
        own = self.agents.get(agent_id)
        return own.memory.self_editing if own else self.self_editing

    def digest_for(self, request: InjectionRequest) -> MemoryV1Config:
        """Return the configuration of a request's digest; while enabled, it answers the request."""
        own = self.agents.get(request.agent_id)
        digest = request.digest or (own.memory.v1 if own else self.digest)
        if request.digest_v1 is None:
            return digest
        return digest.model_copy(update={"enabled": request.digest_v1})

    def gives_shared(self, request: InjectionRequest) -> bool:
        """Tell whether a request may be answered with what other agents published, too."""
        config = self.retrieval_for(request)
        in_context = (request.strategy or config.strategy) is InjectionStrategy.CONTEXT
        is_digest = self.digest_for(request).enabled
        return self.shares and config.include_shared and in_context and not is_digest

    def tools(
        self, agent_id: str, visibility: Visibility, write: "WriteMemory"
    ) -> "ToolBasedInjectionStrategy | SelfEditingMemoryStrategy":
        """Return the strategy that answers an agent's tool calls; it writes only through ``write``.

        Agents configured only to receive memories get the search tools.
        """
        asked = InjectionRequest(agent_id, "", 0)
        config, sensitivities = (
            self.retrieval_for(asked),
            self.digest_for(asked).allow_sensitivities,
        )
        memory = self.scoped(visibility)
        if config.strategy is InjectionStrategy.SELF_EDITING:
            own = self._self_edited_by(agent_id)
            return self._self_editing(memory, own, sensitivities, write=write)
        return self._tool_based(memory, config, sensitivities)

    def scoped(self, visibility: Visibility) -> MemoryBackend:
        """Return the memory as seen from a session and project, if the backend supports that."""
        memory = self.memory
        return memory.scoped(visibility) if isinstance(memory, ScopedViews) else memory

    def _context(
        self,
        memory: MemoryBackend,
        config: MemoryRetrievalConfig,
        sensitivities: Collection[Sensitivity],
        handed: Collection[str],
    ) -> ExplainingStrategy:
        """Memories put into the messages."""
        from synthorg_tui.memory.retriever import ContextInjectionStrategy

        shared = memory if self.shares and isinstance(memory, SharedKnowledgeStore) else None
        retriever = reranker = None
        if config.retriever == "hierarchical":
            from synthorg_tui.memory.retrieval.hierarchical.retriever import SupervisedRetriever

            retriever = SupervisedRetriever(
                backend=memory,
                config=config,
                provider=self.model(),
                shared_store=shared,
                clock=self.clock,
                sensitivities=sensitivities,
            )
        if config.query_specific_rerank_enabled:
            from synthorg_tui.memory.retrieval.rerank import Reranker

            reranker = Reranker(self.cross_encoder, self.model, cache=self.rerank_cache)
        return ContextInjectionStrategy(
            backend=memory,
            config=config,
            shared_store=shared,
            token_estimator=self.estimator,
            hierarchical_retriever=retriever,
            reranker=reranker,
            clock=self.clock,
            sensitivities=sensitivities,
            handed=handed,
        )

    def _tool_based(
        self,
        memory: MemoryBackend,
        config: MemoryRetrievalConfig,
        sensitivities: Collection[Sensitivity],
    ) -> "ToolBasedInjectionStrategy":
        """Memories that the agent searches itself; without a model it searches once each time."""
        from synthorg_tui.memory.strategies.search_and_ask import (
            LLMQueryReformulator,
            LLMSufficiencyChecker,
        )
        from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy

        wanted = config.query_reformulation_enabled
        provider = self.model() if wanted else None
        if provider is None:
            strategy = ToolBasedInjectionStrategy(
                backend=memory,
                config=config.model_copy(update={"query_reformulation_enabled": False}),
                token_estimator=self.estimator,
                sensitivities=sensitivities,
            )
            strategy.notice = "there is no model: searches are not reformulated" if wanted else ""
            return strategy
        return ToolBasedInjectionStrategy(
            backend=memory,
            config=config,
            reformulator=LLMQueryReformulator(provider),
            sufficiency_checker=LLMSufficiencyChecker(provider),
            token_estimator=self.estimator,
            sensitivities=sensitivities,
        )

    def _self_editing(
        self,
        memory: MemoryBackend,
        config: SelfEditingMemoryConfig,
        sensitivities: Collection[Sensitivity],
        write: "WriteMemory | None" = None,
    ) -> "SelfEditingMemoryStrategy":
        """Memories that the agent reads and writes itself."""
        from synthorg_tui.memory.strategies.self_editing import SelfEditingMemoryStrategy

        return SelfEditingMemoryStrategy(
            backend=memory,
            config=config,
            token_estimator=self.estimator,
            sensitivities=sensitivities,
            core_writes=self.core_writes,
            write=write,
        )


def _switched_off(
    strategy: ExplainingStrategy, request: InjectionRequest, token_budget: int
) -> PreparedMessages:
    """No memories, and why."""
    told = Explanation(
        strategy=strategy.strategy_name,
        agent_id=request.agent_id,
        query=request.query,
        token_budget=token_budget,
        tokens_used=0,
        text="",
        candidates=(),
        degraded=SWITCHED_OFF,
    )
    return PreparedMessages((), told)

"""Context injection: finds memories before the agent starts and puts them into its messages.

The public strategy and the order of its stages. What a stage does is in ``retrieval``: finding in
``candidates``, scores in ``relevance``, verdicts in ``selection``; only fusion and ranking decide
the order, so nothing may be dropped here.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from synthorg_tui.core.clock import Clock, SystemClock
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.failsafe import safely, surviving
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.enums import GIVEN_BY_DEFAULT, Sensitivity
from synthorg_tui.memory.filter import MemoryFilterStrategy, TagBasedMemoryFilter
from synthorg_tui.memory.formatter import (
    MemoryWording,
    Packing,
    frame_tokens,
    memory_block,
    messages_for,
    pack_memories,
)
from synthorg_tui.memory.injection import DefaultTokenEstimator, TokenEstimator
from synthorg_tui.memory.models import MAX_QUERY_LIMIT, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.candidates import CandidateSearch, CandidateSet, CandidateTrace
from synthorg_tui.memory.retrieval.explanation import (
    Candidate,
    Explanation,
    PreparedMessages,
    Stopwatch,
    text_of,
    too_small,
)
from synthorg_tui.memory.retrieval.hits import (
    HierarchicalRetriever,
    QuerySpecificReranker,
    SearchHit,
)
from synthorg_tui.memory.retrieval.neighbours import lend
from synthorg_tui.memory.retrieval.relevance import judge_hits, moved_cutoff, pool_size, rank_hits
from synthorg_tui.memory.retrieval.selection import Selection
from synthorg_tui.memory.retrieval.sensitivity import SensitivityFilter
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer
from synthorg_tui.memory.retrieval.wording import Worder, marks_of
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.shared import SharedKnowledgeStore
from synthorg_tui.providers.models import ChatMessage, ToolDefinition

_log = logging.getLogger(__name__)

STRATEGY_NAME = "context_injection"


class ContextInjectionStrategy:
    """Injection strategy that searches memories and puts the best ones into the prompt.

    It finds, ranks, filters, diversifies and packs memories and explains each decision. The first
    seven parameters are a documented signature, which is why there are so many.

    Args:
        backend: Holds the agent's own memories. If it is a ``CandidateSource``, one search returns
            all candidates with raw scores, by which irrelevant questions are detected.
        config: Settings of ranking and selection.
        shared_store: Holds memories shared by other agents; ``None`` for none.
        token_estimator: Counts tokens; by default one for every four characters.
        memory_filter: Decides which memories may be given. By default the ``non-inferable`` tag is
            required when ``config.non_inferable_only``, else all pass. If it raises, none pass.
        hierarchical_retriever: Finds and ranks when ``config.retriever`` is ``hierarchical``.
        reranker: Reorders the results when ``config.query_specific_rerank_enabled``.
        clock: Current time, for recency.
        sensitivities: Sensitivities of memories that may be given.
        handed: Marks of the blocks that the session was handed before; they aren't given again.

    Raises:
        ValueError: The configuration requires a retriever or reranker that wasn't passed.
    """

    def __init__(
        self,
        *,
        backend: MemoryBackend,
        config: MemoryRetrievalConfig,
        shared_store: SharedKnowledgeStore | None = None,
        token_estimator: TokenEstimator | None = None,
        memory_filter: MemoryFilterStrategy | None = None,
        hierarchical_retriever: HierarchicalRetriever | None = None,
        reranker: QuerySpecificReranker | None = None,
        clock: Clock | None = None,
        sensitivities: Collection[Sensitivity] = GIVEN_BY_DEFAULT,
        handed: Collection[str] = (),
    ) -> None:
        if config.retriever == "hierarchical" and hierarchical_retriever is None:
            raise ValueError("retriever 'hierarchical' needs a hierarchical_retriever")
        if config.query_specific_rerank_enabled and reranker is None:
            raise ValueError("query_specific_rerank_enabled needs a reranker")
        if memory_filter is None and config.non_inferable_only:
            memory_filter = TagBasedMemoryFilter()
        self._backend = backend
        self._config = config
        self._search = CandidateSearch(backend, shared_store, config)
        self._estimator = token_estimator or DefaultTokenEstimator()
        self._filter = memory_filter
        hierarchical = config.retriever == "hierarchical"
        self._hierarchical = hierarchical_retriever if hierarchical else None
        self._reranker = reranker if config.query_specific_rerank_enabled else None
        self._clock = clock or SystemClock()
        self._sensitivity = SensitivityFilter(sensitivities)
        self._handed = frozenset(handed)
        self._tokenizer = BM25Tokenizer()

    @property
    def strategy_name(self) -> str:
        return STRATEGY_NAME

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """Return ``()``: this strategy offers no tools."""
        return ()

    async def prepare_messages(
        self,
        agent_id: NotBlankStr,
        query_text: NotBlankStr,
        token_budget: int,
        categories: frozenset[MemoryCategory] | None = None,
    ) -> tuple[ChatMessage, ...]:
        """Return the messages with the selected memories; ``()`` when there are none or on failure.

        Args:
            agent_id: The agent whose memories are searched.
            query_text: What the agent is about to do.
            token_budget: Maximum tokens of all messages together.
            categories: Memory categories to search; all if ``None``.
        """
        prepared = await self.prepare(agent_id, query_text, token_budget, categories=categories)
        return prepared.messages

    async def prepare(
        self,
        agent_id: NotBlankStr,
        query_text: NotBlankStr,
        token_budget: int,
        *,
        categories: frozenset[MemoryCategory] | None = None,
        pinned: Collection[str] = (),
        excluded: Collection[str] = (),
    ) -> PreparedMessages:
        """Return the messages of ``prepare_messages`` together with the explanation.

        Memories in ``pinned`` come first regardless of relevance, if sensitivity, filter and budget
        allow; those in ``excluded`` are never given.
        """
        run = _Run(agent_id, query_text, token_budget, Stopwatch())
        if token_budget <= 0:
            return run.nothing("")
        query = MemoryQuery(
            text=query_text,
            categories=categories,
            limit=min(MAX_QUERY_LIMIT, pool_size(self._config)),
        )
        with surviving("preparing memories", _log) as failure:
            return await self._prepare(run, query, tuple(pinned), frozenset(excluded))
        return run.nothing(failure.note)

    async def _prepare(
        self, run: "_Run", query: MemoryQuery, pinned: Sequence[str], excluded: frozenset[str]
    ) -> PreparedMessages:
        with run.watch.stage("search"):
            gathered, ranked = await self._find(run, query)
            hits = await self._with_pinned(run, gathered.hits, pinned)
        small = too_small(run.token_budget, frame_tokens(self._estimator) + 1)
        run.notes.extend(note for note in (gathered.degraded, small) if note)
        trace = CandidateTrace(hits)
        selection = Selection(
            trace, self._config, pinned=frozenset(pinned), sensitivity=self._sensitivity
        )
        if ranked is None:
            with run.watch.stage("relevance"):
                relevant = self._relevant(gathered, query, selection)
            with run.watch.stage("ranking"):
                alone = rank_hits(relevant, config=self._config, now=self._clock.now())
                selection.unranked(relevant, alone)
                factor = self._config.neighbour_factor
                ranked, loans = lend(
                    alone, selection.lenders, gathered.found.neighbours, factor=factor
                )
                for key, loan in loans.items():
                    trace.note(key, lent=loan.amount, beside=loan.lender)
        chosen = selection.ranked(ranked, hits, excluded)
        if self._reranker is not None:
            with run.watch.stage("reranking"):
                chosen = await self._reranked(run, query, chosen, trace)
        with run.watch.stage("filter"):
            chosen = self._filtered(run, chosen, selection)
        with run.watch.stage("diversity"):
            chosen = selection.clustered(chosen, gathered.found, now=self._clock.now())
            chosen = selection.first(chosen)
        return self._told(run, chosen, selection, trace)

    def _told(
        self,
        run: "_Run",
        chosen: tuple[ScoredMemory, ...],
        selection: Selection,
        trace: CandidateTrace,
    ) -> PreparedMessages:
        """The memories in words that fit the budget: of a long one the passage that answers."""
        with run.watch.stage("packing"):
            worder = Worder(run.query_text, self._config.max_passage_tokens)
            passages = worder.wordings(chosen, selection.seen)
            news = selection.news(chosen, passages, self._handed)
            room = run.token_budget - frame_tokens(self._estimator)
            told = worder.filling(news, passages, room, self._size)
            pack = partial(
                pack_memories, news, estimator=self._estimator, token_budget=run.token_budget
            )
            packing = pack(wordings=told)
            if not packing.text:  # a tokenizer that counts the whole higher than its parts
                told, packing = passages, pack(wordings=passages)
            selection.packed(packing)
        with run.watch.stage("formatting"):
            messages = messages_for(packing, injection_point=self._config.injection_point)
        given = [packed.memory for packed in packing.packed if packed.fits]
        prepared = run.finished(messages, packing, trace)
        marked = replace(prepared.explanation, marks=marks_of(given, passages, told))
        return prepared._replace(explanation=marked)

    def _size(self, memory: ScoredMemory, wording: MemoryWording) -> int:
        """Tokens of a memory as it is worded, with what separates it from the next."""
        return self._estimator.estimate_tokens(f"{memory_block(memory, wording)}\n") + 1

    async def _find(
        self, run: "_Run", query: MemoryQuery
    ) -> tuple[CandidateSet, tuple[ScoredMemory, ...] | None]:
        """Candidates, and their ranking where the hierarchical retriever made one."""
        text = query.text or ""
        if self._hierarchical is not None:
            call = self._hierarchical.find_ranked(
                run.agent_id, text, categories=query.categories, limit=query.limit
            )
            found = await safely(call, what="the hierarchical search", notes=run.notes)
            if found is not None:
                hits = tuple(
                    SearchHit(m.entry, None, None, m.relevance_score, m.is_shared)
                    for m in found.memories
                )
                return CandidateSet(hits, False, found.degraded), found.memories
            run.notes.append("searched flat instead")
        return await self._search.gather(run.agent_id, query), None

    async def _with_pinned(
        self, run: "_Run", hits: tuple[SearchHit, ...], pinned: Sequence[str]
    ) -> tuple[SearchHit, ...]:
        known = {hit.entry.id for hit in hits}
        more = []
        for memory_id in dict.fromkeys(pinned):
            if memory_id in known:
                continue
            call = self._backend.get(run.agent_id, memory_id)
            entry = await safely(call, what="reading a pinned memory", notes=run.notes)
            if entry is None:
                run.notes.append(f"the pinned memory {memory_id} was not found")
            else:
                more.append(SearchHit(entry, None, None, 0.0))
        return (*hits, *more)

    def _relevant(
        self,
        gathered: CandidateSet,
        query: MemoryQuery,
        selection: Selection,
    ) -> tuple[SearchHit, ...]:
        """What raw scores say is about the query; nothing at all for a query about nothing."""
        if not gathered.has_raw_scores:
            return gathered.hits
        terms = frozenset(self._tokenizer.tokenize(query.text or ""))
        judgement = judge_hits(
            gathered.hits,
            coverage=lambda hit: self._tokenizer.coverage(terms, hit.entry.content),
            cutoff=moved_cutoff(gathered.found.moved),
        )
        return selection.relevant(gathered.hits, judgement, gathered.found.neighbours)

    async def _reranked(
        self,
        run: "_Run",
        query: MemoryQuery,
        memories: tuple[ScoredMemory, ...],
        trace: CandidateTrace,
    ) -> tuple[ScoredMemory, ...]:
        if self._reranker is None:
            return memories
        first, rest = memories[: query.limit], memories[query.limit :]
        call = self._reranker.rerank(query.text or "", first)
        answer = await safely(call, what="reranking", notes=run.notes)
        if answer is None:
            return memories
        run.notes.extend([answer.degraded] if answer.degraded else [])
        before, after = ([m.entry.id for m in order] for order in (first, answer.memories))
        if sorted(before) != sorted(after):
            return memories
        if before != after:
            trace.reordered(first, answer.memories)
        return (*answer.memories, *rest)

    def _filtered(
        self, run: "_Run", memories: tuple[ScoredMemory, ...], selection: Selection
    ) -> tuple[ScoredMemory, ...]:
        """What the filter lets pass; nothing when it fails."""
        if self._filter is None:
            return memories
        with surviving("the memory filter", _log):
            passed = tuple(self._filter.filter_for_injection(memories))
            name = self._filter.strategy_name
            return selection.filtered(memories, passed, f"held back by the filter {name}")
        run.notes.append("the filter failed, so no memory is given")
        return selection.filtered(memories, (), "the filter failed and lets nothing pass")


class _Run:
    """One call of ``prepare``."""

    def __init__(self, agent_id: str, query_text: str, token_budget: int, watch: Stopwatch) -> None:
        self.agent_id = agent_id
        self.query_text = query_text
        self.token_budget = token_budget
        self.watch = watch
        self.notes: list[str] = []

    def nothing(self, degraded: str) -> PreparedMessages:
        """No messages, for a reason that isn't about single memories."""
        return PreparedMessages((), self._explanation((), Packing((), 0), (), degraded))

    def finished(
        self,
        messages: tuple[ChatMessage, ...],
        packing: Packing,
        trace: CandidateTrace,
    ) -> PreparedMessages:
        """The messages and their explanation."""
        given = [packed.memory.entry.id for packed in packing.packed if packed.fits]
        with self.watch.stage("explaining"):
            candidates = trace.candidates(given)
        degraded = "; ".join(dict.fromkeys(self.notes))
        return PreparedMessages(
            messages, self._explanation(messages, packing, candidates, degraded)
        )

    def _explanation(
        self,
        messages: tuple[ChatMessage, ...],
        packing: Packing,
        candidates: tuple[Candidate, ...],
        degraded: str,
    ) -> Explanation:
        return Explanation(
            strategy=STRATEGY_NAME,
            agent_id=self.agent_id,
            query=self.query_text,
            token_budget=self.token_budget,
            tokens_used=packing.tokens_used,
            frame_tokens=packing.frame_tokens,
            text=text_of(messages),
            candidates=candidates,
            stages=self.watch.stages,
            degraded=degraded,
        )

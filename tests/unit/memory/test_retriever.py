"""Context injection over backends of every ability, failures included."""

import builtins
import logging
from collections.abc import Sequence

import pytest
from conftest import FixedClock
from memory_kit import NOW, entry

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.enums import InjectionPoint, Sensitivity
from synthorg_tui.memory.errors import MemoryRetrievalError
from synthorg_tui.memory.explanation import Candidate, Explanation, Verdict
from synthorg_tui.memory.extensions import CandidateSource, SearchHit, SearchResult
from synthorg_tui.memory.filter import MemoryFilterStrategy, PassthroughMemoryFilter
from synthorg_tui.memory.injection import ExplainingStrategy, MemoryInjectionStrategy
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.ranking import ScoredMemory, rank_memories
from synthorg_tui.memory.retrieval.hooks import RankedMemories
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.retriever import ContextInjectionStrategy

PLENTY = 10_000


class Backend(InMemoryBackend):
    """A backend with just the ten members, whose answers are given beforehand."""

    def __init__(self, *found: MemoryEntry, error: BaseException | None = None) -> None:
        super().__init__()
        self.found = found
        self.error = error
        self.queries: list[MemoryQuery] = []

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        self.queries.append(query)
        if self.error is not None:
            raise self.error
        return self.found[: query.limit]

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        kept = [entry("kept", "Kept for later.")]
        return next((each for each in kept if each.id == memory_id), None)


class KeywordBackend(Backend):
    """One that can also search by keywords."""

    def __init__(self, dense: Sequence[MemoryEntry], sparse: Sequence[MemoryEntry]) -> None:
        super().__init__(*dense)
        self.sparse = tuple(sparse)

    async def retrieve_sparse(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        return self.sparse


class Source(Backend):
    """One that gives raw scores."""

    def __init__(self, *hits: SearchHit, degraded: str = "") -> None:
        super().__init__()
        self.hits = hits
        self.degraded = degraded

    async def candidates(
        self, agent_id: str, query: MemoryQuery, *, include_shared: bool
    ) -> SearchResult:
        self.queries.append(query)
        if self.error is not None:
            raise self.error
        return SearchResult(self.hits, self.degraded)


class Shared:
    """A shared store whose answers are given beforehand."""

    def __init__(self, *found: MemoryEntry, error: BaseException | None = None) -> None:
        self.found = found
        self.error = error
        self.excluded: list[str | None] = []

    async def publish(self, agent_id: str, request: MemoryStoreRequest) -> str:
        raise NotImplementedError

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: str | None = None
    ) -> tuple[MemoryEntry, ...]:
        self.excluded.append(exclude_agent)
        if self.error is not None:
            raise self.error
        return self.found

    async def retract(self, agent_id: str, memory_id: str) -> bool:
        raise NotImplementedError


def config(**changes: object) -> MemoryRetrievalConfig:
    return MemoryRetrievalConfig.model_validate(changes)


def strategy(backend: Backend, **parts: object) -> ContextInjectionStrategy:
    settings = parts.pop("config", config())
    assert isinstance(settings, MemoryRetrievalConfig)
    return ContextInjectionStrategy(
        backend=backend,
        config=settings,
        clock=FixedClock(NOW),
        **parts,  # type: ignore[arg-type]
    )


async def explained(subject: ContextInjectionStrategy, budget: int = PLENTY) -> Explanation:
    return (await subject.prepare("ada", "open ports", budget)).explanation


def given(explanation: Explanation) -> list[str]:
    return [candidate.entry.id for candidate in explanation.included]


def verdicts(explanation: Explanation) -> dict[str, Verdict]:
    return {candidate.entry.id: candidate.verdict for candidate in explanation.candidates}


def candidate(explanation: Explanation, key: str) -> Candidate:
    return next(each for each in explanation.candidates if each.entry.id == key)


def hit(
    key: str,
    dense: float | None = 0.8,
    sparse: float | None = None,
    *,
    content: str = "text",
    is_shared: bool = False,
    fused: float = 0.0,
) -> SearchHit:
    return SearchHit(entry(key, content), dense, sparse, fused or dense or 0.0, is_shared)


class TestContract:
    def test_it_is_a_strategy_with_a_name_and_without_tools(self) -> None:
        subject = strategy(Backend())
        assert isinstance(subject, MemoryInjectionStrategy)
        assert isinstance(subject, ExplainingStrategy)
        assert subject.strategy_name == "context_injection"
        assert subject.get_tool_definitions() == ()

    def test_hierarchical_without_a_retriever_is_refused(self) -> None:
        with pytest.raises(ValueError, match="hierarchical"):
            strategy(Backend(), config=config(retriever="hierarchical"))

    def test_reranking_without_a_reranker_is_refused(self) -> None:
        with pytest.raises(ValueError, match="reranker"):
            strategy(Backend(), config=config(query_specific_rerank_enabled=True))

    @pytest.mark.parametrize("budget", [0, -1])
    async def test_without_a_budget_nothing_is_even_searched(self, budget: int) -> None:
        backend = Backend(entry(relevance=1.0))
        prepared = await strategy(backend).prepare("ada", "ports", budget)
        assert prepared.messages == ()
        assert prepared.explanation.candidates == ()
        assert backend.queries == []

    async def test_messages_and_explanation_are_the_same_bytes(self) -> None:
        subject = strategy(Backend(entry("a", "Port 1.", relevance=1.0)))
        messages = await subject.prepare_messages("ada", "ports", PLENTY)
        explanation = await explained(subject)
        assert "\n\n".join(message.content for message in messages) == explanation.text

    async def test_the_query_has_the_text_the_categories_and_the_limit(self) -> None:
        backend = Backend()
        wanted = frozenset({MemoryCategory.SOCIAL})
        await strategy(backend).prepare_messages("ada", "ports", PLENTY, wanted)
        assert backend.queries == [MemoryQuery(text="ports", categories=wanted, limit=20)]

    @pytest.mark.parametrize(("multiplier", "limit"), [(3, 60), (1, 20)])
    async def test_diversity_fetches_more_than_is_given(self, multiplier: int, limit: int) -> None:
        backend = Backend()
        wanted = config(diversity_penalty_enabled=True, candidate_pool_multiplier=multiplier)
        await explained(strategy(backend, config=wanted))
        assert backend.queries[0].limit == limit

    async def test_every_stage_is_timed(self) -> None:
        explanation = await explained(strategy(Backend(entry(relevance=1.0))))
        assert [stage.name for stage in explanation.stages] == [
            "search",
            "relevance",
            "ranking",
            "filter",
            "diversity",
            "packing",
            "formatting",
            "explaining",
        ]
        assert all(stage.milliseconds >= 0 for stage in explanation.stages)


class TestRanking:
    async def test_linear_ranks_as_rank_memories_does(self) -> None:
        own = (entry("a", relevance=0.5, hours=1), entry("b", relevance=0.9, hours=500), entry("c"))
        shared = (entry("s", relevance=0.6, agent="bob"), entry("t", relevance=0.1, hours=900))
        explanation = await explained(strategy(Backend(*own), shared_store=Shared(*shared)))
        expected = rank_memories(own, shared_entries=shared, config=config(), now=NOW)
        assert given(explanation) == [memory.entry.id for memory in expected]
        for memory in expected:
            told = candidate(explanation, memory.entry.id)
            assert (told.relevance, told.recency, told.combined, told.is_shared) == (
                memory.relevance_score,
                memory.recency_score,
                memory.combined_score,
                memory.is_shared,
            )
            assert told.boost == (0.0 if memory.is_shared else 0.1)

    async def test_what_scores_below_the_minimum_is_out_and_what_equals_it_is_in(self) -> None:
        wanted = config(relevance_weight=1.0, recency_weight=0.0, personal_boost=0.0)
        found = (entry("a", relevance=0.3), entry("b", relevance=0.29))
        explanation = await explained(strategy(Backend(*found), config=wanted))
        assert verdicts(explanation) == {"a": Verdict.INCLUDED, "b": Verdict.BELOW_MINIMUM}
        assert candidate(explanation, "b").reason == "score 0.29 is below the minimum 0.30"

    async def test_no_more_than_the_maximum_are_given(self) -> None:
        found = [entry(str(n), relevance=0.9 - n / 10) for n in range(4)]
        wanted = config(max_memories=3, fusion_strategy="score")
        source = Source(*(hit(each.id, each.relevance_score) for each in found))
        explanation = await explained(strategy(source, config=wanted))
        assert given(explanation) == ["0", "1", "2"]
        assert candidate(explanation, "3").reason == "place 4 by score; at most 3 are given"

    async def test_rrf_ranks_by_both_lists_and_loses_the_last_hit(self) -> None:
        a, b, c = (entry(key, relevance=0.9) for key in "abc")
        backend = KeywordBackend(dense=[a, b], sparse=[b, c])
        wanted = config(fusion_strategy="rrf", min_relevance=0.001)
        explanation = await explained(strategy(backend, config=wanted))
        assert given(explanation) == ["b", "a"]
        last = candidate(explanation, "c")
        assert (last.verdict, last.combined) == (Verdict.BELOW_MINIMUM, 0.0)
        assert all(each.recency == 0.0 and each.boost == 0.0 for each in explanation.candidates)

    async def test_rrf_without_keyword_hits_ranks_linearly(self) -> None:
        found = (entry("a", relevance=0.9), entry("b", relevance=0.8))
        for backend in (KeywordBackend(found, []), Backend(*found)):
            explanation = await explained(strategy(backend, config=config(fusion_strategy="rrf")))
            assert given(explanation) == ["a", "b"]
            assert candidate(explanation, "a").boost == 0.1

    @pytest.mark.parametrize("fusion", ["linear", "rrf", "score"])
    async def test_shared_memories_stay_marked_in_every_fusion(self, fusion: str) -> None:
        source = Source(
            hit("own", 0.9, 3.0, content="open ports"),
            hit("theirs", 0.8, 2.0, content="open ports", is_shared=True),
            hit("last", 0.7, 1.0, content="open ports"),
        )
        explanation = await explained(strategy(source, config=config(fusion_strategy=fusion)))
        assert candidate(explanation, "theirs").is_shared
        assert "[shared] [semantic" in explanation.text
        assert not candidate(explanation, "own").is_shared

    async def test_score_fusion_keeps_different_scores_apart_despite_the_boost(self) -> None:
        source = Source(hit("a", 1.0), hit("b", 0.95))
        explanation = await explained(strategy(source, config=config(fusion_strategy="score")))
        a, b = explanation.candidates
        assert 1.0 >= a.combined > b.combined

    async def test_own_memories_come_before_equal_shared_ones(self) -> None:
        source = Source(hit("s", 0.8, is_shared=True), hit("a", 0.8))
        explanation = await explained(strategy(source, config=config(fusion_strategy="score")))
        assert given(explanation) == ["a", "s"]

    async def test_linear_reads_the_dense_ranking_only(self) -> None:
        source = Source(hit("a", 0.8), hit("b", None, 2.0, content="open ports", fused=0.9))
        explanation = await explained(strategy(source))
        assert verdicts(explanation) == {"a": Verdict.INCLUDED, "b": Verdict.BEYOND_MAXIMUM}
        assert "linear fusion doesn't read" in candidate(explanation, "b").reason

    async def test_without_a_dense_ranking_linear_reads_what_there_is(self) -> None:
        source = Source(hit("b", None, 2.0, content="open ports", fused=0.9), degraded="no model")
        explanation = await explained(strategy(source))
        assert given(explanation) == ["b"]
        assert explanation.degraded == "no model"


class TestRelevance:
    async def test_a_query_about_nothing_gets_nothing(self) -> None:
        prepared = await strategy(Source(hit("a", 0.3), hit("b", 0.2))).prepare("ada", "x", PLENTY)
        assert prepared.messages == ()
        assert set(verdicts(prepared.explanation).values()) == {Verdict.NOT_RELEVANT}
        assert "best evidence 0.30 of 0.55" in prepared.explanation.candidates[0].reason

    async def test_once_answered_only_what_lacks_evidence_is_out(self) -> None:
        explanation = await explained(strategy(Source(hit("a", 0.6), hit("b", 0.2), hit("c", 0.3))))
        assert verdicts(explanation)["b"] is Verdict.NOT_RELEVANT
        assert given(explanation) == ["a", "c"]
        assert "evidence 0.20 of 0.30" in candidate(explanation, "b").reason

    async def test_words_of_the_query_in_the_text_are_evidence(self) -> None:
        subject = strategy(Source(hit("a", 0.1, 1.5, content="Open ports!")))
        assert given(await explained(subject)) == ["a"]

    async def test_without_raw_scores_nothing_can_be_judged(self) -> None:
        assert given(await explained(strategy(Backend(entry("a", relevance=0.2))))) == ["a"]


class TestFailures:
    async def test_an_expected_failure_is_a_warning_and_gives_nothing(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        subject = strategy(Backend(error=MemoryRetrievalError("disk gone")))
        explanation = await explained(subject)
        assert (explanation.text, explanation.candidates) == ("", ())
        assert explanation.degraded == "the search failed: disk gone"
        assert [record.levelno for record in caplog.records] == [logging.WARNING]

    async def test_an_unexpected_failure_is_an_error_and_gives_nothing(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        explanation = await explained(strategy(Backend(error=KeyError("x"))))
        assert explanation.text == ""
        assert "unexpectedly" in explanation.degraded
        assert [record.levelno for record in caplog.records] == [logging.ERROR]

    @pytest.mark.parametrize("kind", [builtins.MemoryError, RecursionError])
    @pytest.mark.parametrize("grouped", [False, True])
    async def test_builtin_exhaustion_is_raised_bare(
        self, kind: type[Exception], grouped: bool
    ) -> None:
        error: Exception = kind("out")
        if grouped:
            error = ExceptionGroup("many", [ValueError("x"), ExceptionGroup("inner", [error])])
        for backend in (Backend(error=error), Source()):
            backend.error = error
            with pytest.raises(kind):
                await strategy(backend, shared_store=Shared()).prepare("ada", "x", PLENTY)

    async def test_a_failing_shared_store_leaves_the_personal_memories(self) -> None:
        shared = Shared(error=MemoryRetrievalError("no network"))
        explanation = await explained(strategy(Backend(entry(relevance=1.0)), shared_store=shared))
        assert given(explanation) == ["a"]
        assert explanation.degraded == "the search of shared memories failed: no network"

    async def test_failing_personal_memories_leave_the_shared_ones(self) -> None:
        backend = Backend(error=MemoryRetrievalError("disk gone"))
        shared = Shared(entry("s", relevance=1.0))
        assert given(await explained(strategy(backend, shared_store=shared))) == ["s"]

    async def test_the_own_publications_are_not_asked_for(self) -> None:
        shared = Shared()
        await explained(strategy(Backend(), shared_store=shared))
        assert shared.excluded == ["ada"]

    async def test_shared_memories_are_not_asked_for_when_switched_off(self) -> None:
        shared = Shared(entry("s", relevance=1.0))
        subject = strategy(Backend(), shared_store=shared, config=config(include_shared=False))
        assert given(await explained(subject)) == []
        assert shared.excluded == []

    async def test_a_failing_token_count_gives_nothing(self) -> None:
        class Broken:
            def estimate_tokens(self, text: str) -> int:
                raise ValueError("no tokenizer")

        subject = strategy(Backend(entry(relevance=1.0)), token_estimator=Broken())
        explanation = await explained(subject)
        assert explanation.text == ""
        assert explanation.degraded


class Raising(PassthroughMemoryFilter):
    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        raise ValueError("cannot tell")


class Smuggling(PassthroughMemoryFilter):
    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        foreign = memories[0].model_copy(update={"entry": entry("foreign")})
        censored = memories[0].entry.model_copy(update={"content": "(censored)"})
        return (foreign, memories[0].model_copy(update={"entry": censored}))


class TestFilter:
    FOUND = (
        entry("a", relevance=0.9, tags=("non-inferable",)),
        entry("b", relevance=0.8),
        entry("c", relevance=0.7, tags=("non-inferable",)),
    )

    async def test_only_what_can_not_be_inferred_when_configured(self) -> None:
        subject = strategy(Backend(*self.FOUND), config=config(non_inferable_only=True))
        explanation = await explained(subject)
        assert given(explanation) == ["a", "c"]
        held = candidate(explanation, "b")
        assert (held.verdict, held.reason) == (
            Verdict.FILTERED,
            "held back by the filter tag_based",
        )

    async def test_without_a_filter_everything_passes(self) -> None:
        assert len(given(await explained(strategy(Backend(*self.FOUND))))) == 3

    async def test_an_explicit_filter_wins_over_the_configuration(self) -> None:
        subject = strategy(
            Backend(*self.FOUND),
            config=config(non_inferable_only=True),
            memory_filter=PassthroughMemoryFilter(),
        )
        assert len(given(await explained(subject))) == 3

    async def test_a_filter_that_raises_lets_nothing_pass(self) -> None:
        explanation = await explained(strategy(Backend(*self.FOUND), memory_filter=Raising()))
        assert explanation.text == ""
        assert set(verdicts(explanation).values()) == {Verdict.FILTERED}
        assert "filter failed" in explanation.degraded

    async def test_what_a_filter_rewrites_is_given_rewritten_and_nothing_is_smuggled_in(
        self,
    ) -> None:
        explanation = await explained(strategy(Backend(*self.FOUND), memory_filter=Smuggling()))
        assert "(censored)" in explanation.text
        assert given(explanation) == ["a"]

    async def test_what_the_filter_holds_back_does_not_count_towards_the_maximum(self) -> None:
        filtering: MemoryFilterStrategy = PassthroughMemoryFilter()
        assert filtering.strategy_name == "passthrough"
        hits = (hit("b", 0.9), *(SearchHit(each, 0.8, None, 0.8) for each in self.FOUND[::2]))
        wanted = config(non_inferable_only=True, max_memories=2)
        assert given(await explained(strategy(Source(*hits), config=wanted))) == ["a", "c"]


class TestDiversity:
    TWINS = (
        entry("a", "the staging port is 6543 today", relevance=0.9),
        entry("b", "the staging port is 6543 now", relevance=0.89),
        entry("c", "nobody may deploy on fridays", relevance=0.7),
    )

    @pytest.mark.parametrize(("enabled", "chosen"), [(False, ["a", "b"]), (True, ["a", "c"])])
    async def test_variety_promotes_from_below_the_cut(
        self, enabled: bool, chosen: list[str]
    ) -> None:
        wanted = config(max_memories=2, diversity_penalty_enabled=enabled)
        source = Source(*(SearchHit(e, e.relevance_score, None, 0.5) for e in self.TWINS))
        explanation = await explained(strategy(source, config=wanted))
        assert given(explanation) == chosen
        if enabled:
            assert (
                candidate(explanation, "c").reason == "place 3 by score, promoted to 2 for variety"
            )
            twin = candidate(explanation, "b")
            assert (twin.verdict, twin.similar_to) == (Verdict.TOO_SIMILAR, "a")
            assert twin.similarity == pytest.approx(4 / 6)

    async def test_what_is_filtered_out_does_not_push_others_down(self) -> None:
        a, b, c = self.TWINS
        tagged = [each.model_copy(update={"metadata": entry(tags=("non-inferable",)).metadata})
                  for each in (b, c)]  # fmt: skip
        source = Source(*(SearchHit(e, e.relevance_score, None, 0.5) for e in (a, *tagged)))
        wanted = config(max_memories=1, diversity_penalty_enabled=True, non_inferable_only=True)
        explanation = await explained(strategy(source, config=wanted))
        assert given(explanation) == ["b"]
        assert candidate(explanation, "b").similarity == 0.0


class TestByHand:
    FOUND = (hit("a", 0.9), hit("b", 0.8), hit("weak", 0.1))

    async def test_an_excluded_memory_is_out(self) -> None:
        prepared = await strategy(Source(*self.FOUND)).prepare("ada", "x", PLENTY, excluded=["a"])
        assert given(prepared.explanation) == ["b"]
        assert verdicts(prepared.explanation)["a"] is Verdict.EXCLUDED

    async def test_a_pinned_memory_comes_first_however_irrelevant(self) -> None:
        prepared = await strategy(Source(*self.FOUND)).prepare("ada", "x", PLENTY, pinned=["weak"])
        assert given(prepared.explanation) == ["weak", "a", "b"]
        assert verdicts(prepared.explanation)["weak"] is Verdict.PINNED

    async def test_a_pinned_memory_that_was_not_found_is_looked_up(self) -> None:
        subject = strategy(Source(*self.FOUND))
        prepared = await subject.prepare("ada", "x", PLENTY, pinned=["kept", "nowhere"])
        assert given(prepared.explanation) == ["kept", "a", "b"]
        assert prepared.explanation.degraded == "the pinned memory nowhere was not found"

    async def test_the_filter_and_the_budget_hold_for_pinned_memories_too(self) -> None:
        filtered = strategy(Source(*self.FOUND), memory_filter=Raising())
        prepared = await filtered.prepare("ada", "x", PLENTY, pinned=["weak"])
        assert verdicts(prepared.explanation)["weak"] is Verdict.FILTERED
        prepared = await strategy(Source(*self.FOUND)).prepare("ada", "x", 5, pinned=["weak"])
        assert verdicts(prepared.explanation)["weak"] is Verdict.OVER_BUDGET

    async def test_excluding_wins_over_pinning(self) -> None:
        prepared = await strategy(Source(*self.FOUND)).prepare(
            "ada", "x", PLENTY, pinned=["weak"], excluded=["weak"]
        )
        assert given(prepared.explanation) == ["a", "b"]


class TestSensitivity:
    FOUND = (
        SearchHit(entry("open", tags=("sensitivity:public",)), 0.9, None, 0.9),
        SearchHit(entry("secret", tags=("sensitivity:sensitive",)), 0.8, None, 0.8),
        SearchHit(entry("plain"), 0.7, None, 0.7),
    )

    async def test_what_may_not_be_given_is_out_even_when_pinned(self) -> None:
        subject = strategy(Source(*self.FOUND))
        prepared = await subject.prepare("ada", "x", PLENTY, pinned=["secret"])
        assert given(prepared.explanation) == ["open", "plain"]
        secret = candidate(prepared.explanation, "secret")
        assert (secret.verdict, secret.reason) == (
            Verdict.SENSITIVE,
            "it is sensitive, which is not given to agents",
        )

    async def test_sensitive_memories_are_given_where_that_is_allowed(self) -> None:
        subject = strategy(Source(*self.FOUND), sensitivities=tuple(Sensitivity))
        assert given(await explained(subject)) == ["open", "secret", "plain"]


class Reranker:
    def __init__(self, error: Exception | None = None, keep: int | None = None) -> None:
        self.error = error
        self.keep = keep

    async def rerank(self, query_text: str, memories: tuple[ScoredMemory, ...]) -> RankedMemories:
        if self.error is not None:
            raise self.error
        return RankedMemories(memories[::-1][: self.keep], "reranked")


class Hierarchical:
    def __init__(self, *found: ScoredMemory, fails: bool = False) -> None:
        self.found = found
        self.fails = fails

    async def find_ranked(
        self,
        agent_id: str,
        query_text: str,
        *,
        categories: frozenset[MemoryCategory] | None,
        limit: int,
    ) -> RankedMemories | None:
        return None if self.fails else RankedMemories(self.found, "one worker failed")


class TestHooks:
    FOUND = (hit("a", 0.9), hit("b", 0.8))

    async def test_a_reranker_changes_the_order_only(self) -> None:
        wanted = config(query_specific_rerank_enabled=True)
        subject = strategy(Source(*self.FOUND), config=wanted, reranker=Reranker())
        explanation = await explained(subject)
        assert given(explanation) == ["b", "a"]
        assert candidate(explanation, "a").rank == 1
        assert explanation.degraded == "reranked"

    @pytest.mark.parametrize("reranker", [Reranker(ValueError("x")), Reranker(keep=1)])
    async def test_a_reranker_that_fails_or_loses_one_leaves_the_order(
        self, reranker: Reranker
    ) -> None:
        wanted = config(query_specific_rerank_enabled=True)
        subject = strategy(Source(*self.FOUND), config=wanted, reranker=reranker)
        assert given(await explained(subject)) == ["a", "b"]

    async def test_a_reranker_is_not_asked_unless_configured(self) -> None:
        subject = strategy(Source(*self.FOUND), reranker=Reranker())
        assert given(await explained(subject)) == ["a", "b"]

    async def test_the_hierarchical_retriever_takes_the_place_of_the_search(self) -> None:
        found = ScoredMemory(
            entry=entry("h"), relevance_score=0.9, recency_score=0.0, combined_score=0.9
        )
        subject = strategy(
            Source(*self.FOUND),
            config=config(retriever="hierarchical"),
            hierarchical_retriever=Hierarchical(found),
        )
        explanation = await explained(subject)
        assert given(explanation) == ["h"]
        assert explanation.degraded == "one worker failed"

    async def test_without_the_hierarchical_retriever_the_search_is_flat_and_says_so(self) -> None:
        subject = strategy(
            Source(*self.FOUND),
            config=config(retriever="hierarchical"),
            hierarchical_retriever=Hierarchical(fails=True),
        )
        explanation = await explained(subject)
        assert given(explanation) == ["a", "b"]
        assert explanation.degraded == "searched flat instead"


class TestPacking:
    async def test_what_does_not_fit_says_what_it_needs(self) -> None:
        source = Source(hit("big", 0.9, content="x" * 400), hit("small", 0.8))
        explanation = await explained(strategy(source), 40)
        big = candidate(explanation, "big")
        assert (big.verdict, big.reason) == (
            Verdict.OVER_BUDGET,
            f"needs {big.tokens} tokens, 40 were left",
        )
        assert given(explanation) == ["small"]
        assert explanation.tokens_used == candidate(explanation, "small").tokens <= 40

    async def test_the_memories_come_in_the_configured_role(self) -> None:
        subject = strategy(Source(hit("a")), config=config(injection_point=InjectionPoint.USER))
        messages = await subject.prepare_messages("ada", "x", PLENTY)
        assert [message.role.value for message in messages] == ["system", "user"]

    def test_the_fakes_are_what_they_stand_for(self) -> None:
        assert isinstance(Source(), CandidateSource)
        assert not isinstance(Backend(), CandidateSource)

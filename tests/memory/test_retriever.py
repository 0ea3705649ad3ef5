"""Context injection over backends of every ability, failures included."""

import builtins
import logging

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.errors import MemoryRetrievalError
from synthorg_tui.memory.injection import ExplainingStrategy, MemoryInjectionStrategy
from synthorg_tui.memory.models import MemoryQuery
from synthorg_tui.memory.ranking import rank_memories
from synthorg_tui.memory.retrieval.explanation import Verdict
from tests.memory.memory_kit import NOW, entry
from tests.memory.retriever_kit import (
    PLENTY,
    Backend,
    KeywordBackend,
    Shared,
    Source,
    candidate,
    config,
    explained,
    given,
    hit,
    strategy,
    verdicts,
)
from tests.tables import rows


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

    @rows("budget", [0, -1])
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

    @rows(("multiplier", "limit"), [(3, 60), (1, 20)])
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

    @rows("fusion", ["linear", "rrf", "score"])
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

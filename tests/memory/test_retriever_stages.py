"""What becomes of an injection's candidates: filters, diversity, a person's choice, packing."""

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.enums import InjectionPoint, Sensitivity
from synthorg_tui.memory.extensions import CandidateSource, SearchHit
from synthorg_tui.memory.filter import MemoryFilterStrategy, PassthroughMemoryFilter
from synthorg_tui.memory.formatter import frame_tokens
from synthorg_tui.memory.injection import DefaultTokenEstimator
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.memory.retrieval.hits import RankedMemories
from tests.memory.memory_kit import entry
from tests.memory.retriever_kit import (
    PLENTY,
    Backend,
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

    @rows(("enabled", "chosen"), [(False, ["a", "b"]), (True, ["a", "c"])])
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
        assert candidate(explanation, "a").reordered == 2
        assert candidate(explanation, "a").reason == "place 1 by score, 2 by reranking"
        assert explanation.degraded == "reranked"

    async def test_an_order_that_stays_is_not_told(self) -> None:
        wanted = config(query_specific_rerank_enabled=True)
        subject = strategy(Source(hit("a", 0.9)), config=wanted, reranker=Reranker())
        explanation = await explained(subject)
        assert candidate(explanation, "a").reordered == 0
        assert candidate(explanation, "a").reason == "place 1 by score"

    @rows("reranker", [Reranker(ValueError("x")), Reranker(keep=1)])
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
        frame = frame_tokens(DefaultTokenEstimator())
        explanation = await explained(strategy(source), 40 + frame)
        big = candidate(explanation, "big")
        assert (big.verdict, big.reason) == (
            Verdict.OVER_BUDGET,
            f"needs {big.tokens} tokens, 40 were left",
        )
        assert given(explanation) == ["small"]
        assert explanation.frame_tokens == frame
        assert explanation.tokens_used - frame == candidate(explanation, "small").tokens <= 40

    async def test_a_budget_without_room_for_the_frame_gives_nothing_and_says_why(self) -> None:
        frame = frame_tokens(DefaultTokenEstimator())
        explanation = await explained(strategy(Source(hit("a", 0.9))), frame)
        assert (explanation.text, explanation.tokens_used, explanation.frame_tokens) == ("", 0, 0)
        assert explanation.degraded == (
            f"a budget of {frame} tokens is too small: at least {frame + 1} are needed"
        )

    async def test_the_memories_come_in_the_configured_role(self) -> None:
        subject = strategy(Source(hit("a")), config=config(injection_point=InjectionPoint.USER))
        messages = await subject.prepare_messages("ada", "x", PLENTY)
        assert [message.role.value for message in messages] == ["system", "user"]

    def test_the_fakes_are_what_they_stand_for(self) -> None:
        assert isinstance(Source(), CandidateSource)
        assert not isinstance(Backend(), CandidateSource)

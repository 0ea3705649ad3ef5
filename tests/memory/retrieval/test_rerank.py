"""A model orders what was found; its answers are checked and remembered."""

import json

import pytest

from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.hits import QuerySpecificReranker, RankedMemories
from synthorg_tui.memory.retrieval.rerank import LLMReranker
from synthorg_tui.memory.retrieval.rerank_cache import RerankCache
from tests.conftest import FixedClock
from tests.hostile import HOSTILE
from tests.memory.memory_kit import ids, scored
from tests.scripted import BUSY, REFUSED, ScriptedProvider

FOUND = (scored("a", score=0.9), scored("b", score=0.5), scored("c", score=0.1))


def order(*places: object) -> str:
    return json.dumps({"ranking": places})


def reranker(*answers: str | Exception, cache: RerankCache | None = None) -> LLMReranker:
    return LLMReranker(ScriptedProvider(*answers), cache=cache or RerankCache())


async def rerank(
    *answers: str | Exception, memories: tuple[ScoredMemory, ...] = FOUND
) -> RankedMemories:
    return await reranker(*answers).rerank("why", memories)


class TestOrder:
    async def test_the_models_order_is_taken_and_scores_stay(self) -> None:
        answer = await rerank(order(2, 0, 1))
        assert answer == RankedMemories((FOUND[2], FOUND[0], FOUND[1]))

    @pytest.mark.parametrize("words", ["```json\n{}\n```", "Sure: {} Done.", " {}", "{}\n"])
    async def test_words_around_the_answer_are_ignored(self, words: str) -> None:
        answer = words.replace("{}", order(1, 0, 2))
        assert ids((await rerank(answer)).memories) == ["b", "a", "c"]

    @pytest.mark.parametrize(
        "answer",
        [
            order(0, 1),
            order(0, 1, 2, 3),
            order(0, 0, 1),
            order(1, 2, 3),
            order("0", 1, 2),
            order(False, True, 2),
            order(0.0, 1, 2),
            '{"ranking": 3}',
            "{}",
            "[2, 1, 0]",
            "no idea",
            "",
            "[" * 100_000,
            "{" * 100_000 + "}",
            '{"ranking": [0, 1, 2]} {"ranking": [2, 1, 0]}',
            BUSY,
            REFUSED,
            RuntimeError("bug"),
        ],
    )
    async def test_whatever_is_no_permutation_leaves_the_order_and_says_so(
        self, answer: str | Exception
    ) -> None:
        result = await rerank(answer)
        assert result.memories == FOUND
        assert result.degraded.startswith("reranking failed")

    async def test_without_a_model_the_order_stays_and_the_result_says_so(self) -> None:
        result = await LLMReranker(None, cache=RerankCache()).rerank("why", FOUND)
        assert result.memories == FOUND
        assert result.degraded == "reranking failed: no language model is configured"

    @pytest.mark.parametrize("count", [0, 1])
    async def test_fewer_than_two_need_no_model(self, count: int) -> None:
        assert await rerank(memories=FOUND[:count]) == RankedMemories(FOUND[:count])

    async def test_exhausted_memory_is_not_swallowed(self) -> None:
        with pytest.raises(MemoryError):
            await rerank(MemoryError())

    async def test_it_is_what_the_context_strategy_asks_for(self) -> None:
        assert isinstance(reranker(), QuerySpecificReranker)


class TestPrompt:
    async def prompt(self, content: str) -> str:
        provider = ScriptedProvider(order(0, 1))
        memories = (scored("a", content), scored("b"))
        await LLMReranker(provider, cache=RerankCache()).rerank("why", memories)
        return provider.prompts[0]

    async def test_memories_are_numbered_from_zero_and_shown_to_500_characters(self) -> None:
        prompt = await self.prompt("x" * 500 + "HIDDEN")
        assert "\n0: xxx" in prompt
        assert "\n1: text\n" in prompt
        assert "HIDDEN" not in prompt

    async def test_no_memory_leaves_its_line_or_fence(self) -> None:
        for text in HOSTILE:
            shown = (await self.prompt(text)).split("Memories:\n<memory-entry>\n")[1].split("\n")
            assert [line[:3] for line in shown] == ["0: ", "1: ", "</m"]


class TestCache:
    async def test_the_same_question_about_the_same_memories_is_asked_once(self) -> None:
        cached = reranker(order(2, 0, 1))
        first = await cached.rerank("why", FOUND)
        again = await cached.rerank("why", FOUND[::-1])
        assert ids(again.memories) == ids(first.memories) == ["c", "a", "b"]

    async def test_the_order_is_remembered_and_not_the_memories(self) -> None:
        cached = reranker(order(1, 0, 2))
        await cached.rerank("why", FOUND)
        edited = tuple(scored(m.entry.id, "new", score=0.7) for m in FOUND)
        again = await cached.rerank("why", edited)
        assert {memory.entry.content for memory in again.memories} == {"new"}

    async def test_another_question_or_other_memories_are_asked_about(self) -> None:
        cached = reranker(order(2, 0, 1), order(1, 0, 2), order(1, 0))
        await cached.rerank("why", FOUND)
        assert ids((await cached.rerank("how", FOUND)).memories) == ["b", "a", "c"]
        assert ids((await cached.rerank("why", FOUND[:2])).memories) == ["b", "a"]

    async def test_failures_are_not_remembered(self) -> None:
        cached = reranker(BUSY, order(2, 1, 0))
        await cached.rerank("why", FOUND)
        assert ids((await cached.rerank("why", FOUND)).memories) == ["c", "b", "a"]

    async def test_repeated_ids_are_ordered_and_not_remembered(self) -> None:
        twice = (scored("a"), scored("a"))
        cached = reranker(order(1, 0), order(0, 1))
        await cached.rerank("why", twice)
        await cached.rerank("why", twice)

    async def test_an_order_holds_for_its_time(self, clock: FixedClock) -> None:
        cached = reranker(
            order(2, 1, 0), order(0, 1, 2), cache=RerankCache(ttl_seconds=60, clock=clock)
        )
        await cached.rerank("why", FOUND)
        clock.advance(seconds=59.9)
        assert ids((await cached.rerank("why", FOUND)).memories) == ["c", "b", "a"]
        clock.advance(seconds=0.1)
        assert ids((await cached.rerank("why", FOUND)).memories) == ["a", "b", "c"]

    def test_the_least_recently_used_order_goes_first(self) -> None:
        cache = RerankCache(size=2)
        cache.put("a", ("1",))
        cache.put("b", ("2",))
        cache.get("a")
        cache.put("c", ("3",))
        assert [cache.get(key) for key in "abc"] == [("1",), None, ("3",)]

    @pytest.mark.parametrize(("ttl", "size"), [(0, 1), (-1, 1), (1, 0), (1, -1)])
    def test_time_and_size_are_positive(self, ttl: float, size: int) -> None:
        with pytest.raises(ValueError, match="positive"):
            RerankCache(ttl_seconds=ttl, size=size)

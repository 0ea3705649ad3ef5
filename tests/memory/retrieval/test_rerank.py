"""A model orders what was found; its answers are checked and remembered."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.hits import QuerySpecificReranker, RankedMemories
from synthorg_tui.memory.retrieval.rerank import Reranker
from synthorg_tui.memory.retrieval.rerank_cache import RerankCache
from synthorg_tui.providers.embedding.protocol import Vectors
from synthorg_tui.providers.reranking.config import OnnxRerankerConfig
from synthorg_tui.providers.reranking.cross_encoder import CrossEncoder
from tests.conftest import FixedClock
from tests.hostile import HOSTILE
from tests.memory.memory_kit import ids, scored
from tests.scripted import BUSY, REFUSED, ScriptedProvider
from tests.tables import rows

FOUND = (scored("a", score=0.9), scored("b", score=0.5), scored("c", score=0.1))


def order(*places: object) -> str:
    return json.dumps({"ranking": places})


def reranker(*answers: str | Exception, cache: RerankCache | None = None) -> Reranker:
    provider = ScriptedProvider(*answers)
    return Reranker(None, lambda: provider, cache=cache or RerankCache())


async def rerank(
    *answers: str | Exception, memories: tuple[ScoredMemory, ...] = FOUND
) -> RankedMemories:
    return await reranker(*answers).rerank("why", memories)


class TestOrder:
    async def test_the_models_order_is_taken_and_scores_stay(self) -> None:
        answer = await rerank(order(2, 0, 1))
        assert answer == RankedMemories((FOUND[2], FOUND[0], FOUND[1]))

    @rows("words", ["```json\n{}\n```", "Sure: {} Done.", " {}", "{}\n"])
    async def test_words_around_the_answer_are_ignored(self, words: str) -> None:
        answer = words.replace("{}", order(1, 0, 2))
        assert ids((await rerank(answer)).memories) == ["b", "a", "c"]

    @rows(
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
        result = await Reranker(None, lambda: None, cache=RerankCache()).rerank("why", FOUND)
        assert result.memories == FOUND
        assert result.degraded == "reranking failed: no language model is configured"

    @rows("count", [0, 1])
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
        await Reranker(None, lambda: provider, cache=RerankCache()).rerank("why", memories)
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

    @rows(("ttl", "size"), [(0, 1), (-1, 1), (1, 0), (1, -1)])
    def test_time_and_size_are_positive(self, ttl: float, size: int) -> None:
        with pytest.raises(ValueError, match="positive"):
            RerankCache(ttl_seconds=ttl, size=size)


class Scorer(CrossEncoder):
    """Scores texts by what they are mapped to; counts what it was asked."""

    def __init__(self, scores: Mapping[str, float], name: str = "scorer") -> None:
        super().__init__(OnnxRerankerConfig(type="onnx", path=Path(name)))
        self._scores = scores
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    async def scores(self, question: str, texts: Sequence[str]) -> Vectors:
        self.asked.append((question, tuple(texts)))
        return np.array([self._scores[text] for text in texts], dtype=np.float32)


def contents(scores: Sequence[float]) -> tuple[tuple[ScoredMemory, ...], Scorer]:
    """Memories named by their place, and what scores them so."""
    memories = tuple(scored(str(place), str(place)) for place in range(len(scores)))
    return memories, Scorer({str(place): score for place, score in enumerate(scores)})


class TestCrossEncoder:
    @given(st.lists(st.integers(-3, 3), max_size=25))
    async def test_the_same_memories_come_back_best_first_and_ties_as_they_were(
        self, scores: list[int]
    ) -> None:
        memories, encoder = contents(scores)
        answer = await Reranker(encoder, lambda: None, cache=RerankCache()).rerank("why", memories)
        places = [int(memory.entry.id) for memory in answer.memories]
        assert answer.degraded == ""
        assert places == sorted(range(len(scores)), key=lambda place: (-scores[place], place))
        assert set(answer.memories) == set(memories)

    async def test_scores_stay_and_the_whole_text_is_read(self) -> None:
        long = scored("b", "x" * 5_000, score=0.1)
        encoder = Scorer({"text": 0.0, long.entry.content: 1.0})
        reranker = Reranker(encoder, lambda: None, cache=RerankCache())
        assert isinstance(reranker, QuerySpecificReranker)
        answer = await reranker.rerank("why", (FOUND[0], long))
        assert answer == RankedMemories((long, FOUND[0]))
        assert encoder.asked == [("why", ("text", long.entry.content))]

    async def test_a_failure_leaves_the_order_and_says_so(self, tmp_path: Path) -> None:
        config = OnnxRerankerConfig(type="onnx", path=tmp_path / "lost.onnx")
        encoder = CrossEncoder(config)
        answer = await Reranker(encoder, lambda: None, cache=RerankCache()).rerank("why", FOUND)
        assert answer.memories == FOUND
        assert answer.degraded.startswith("reranking failed: The re-ranker ")
        await encoder.close()

    async def test_orders_are_remembered_for_each_model(self) -> None:
        cache = RerankCache()
        memories, up = contents([1, 2])
        down = Scorer({"0": 2.0, "1": 1.0}, name="other")
        for _ in range(2):
            for encoder, order in ((up, ["1", "0"]), (down, ["0", "1"])):
                answer = await Reranker(encoder, lambda: None, cache=cache).rerank("why", memories)
                assert ids(answer.memories) == order
        assert len(up.asked) == len(down.asked) == 1

    async def test_it_takes_the_place_of_the_language_model(self) -> None:
        memories, encoder = contents([1, 2])

        def unasked() -> None:
            raise AssertionError("no language model is wanted")

        reranker = Reranker(encoder, unasked, cache=RerankCache())
        assert ids((await reranker.rerank("why", memories)).memories) == ["1", "0"]
        without = Reranker(None, lambda: None, cache=RerankCache())
        assert "no language model" in (await without.rerank("why", memories)).degraded

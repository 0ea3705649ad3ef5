"""A supervisor routes a query to searches and retries what is poor."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.retrieval.hierarchical.retriever import (
    SupervisedRetriever,
    merge_scored,
)
from synthorg_tui.memory.retrieval.hierarchical.supervisor import Attempt, Supervisor
from synthorg_tui.memory.retrieval.hierarchical.workers import (
    RetrievalQuery,
    RetrievalResult,
    WorkerName,
)
from synthorg_tui.memory.retrieval.hits import HierarchicalRetriever
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.providers.completion.errors import CompletionError
from tests.conftest import FixedClock
from tests.hostile import HOSTILE
from tests.memory.memory_kit import NOW, entry, scored
from tests.memory.strategies.tool_kit import BROKEN, FakeBackend
from tests.scripted import BUSY, REFUSED, ScriptedProvider
from tests.tables import rows

QUERY = RetrievalQuery(agent_id="ada", text="why")
CONFIG = MemoryRetrievalConfig(retriever="hierarchical", relevance_weight=1, recency_weight=0)
SEMANTIC, EPISODIC, PROCEDURAL = WorkerName


def route(*workers: object) -> str:
    return json.dumps({"workers": workers, "reason": "so"})


def reflection(
    retry: object = True, query: object = "how", strategy: object = "semantic_only"
) -> str:
    fields = {"retry": retry, "corrected_query": query, "alternative_strategy": strategy}
    return json.dumps({**fields, "reason": "so"})


def build(backend: FakeBackend, *answers: str | Exception, **settings: Any) -> SupervisedRetriever:
    return SupervisedRetriever(
        backend=backend,
        config=CONFIG.model_copy(update={"personal_boost": 0.0, **settings}),
        provider=ScriptedProvider(*answers),
        clock=FixedClock(NOW),
    )


async def retrieve(
    backend: FakeBackend, *answers: str | Exception, query: RetrievalQuery = QUERY, **settings: Any
) -> RetrievalResult:
    return await build(backend, *answers, **settings).retrieve(query)


def found(result: RetrievalResult) -> list[tuple[str, float]]:
    return [(m.entry.id, round(m.combined_score, 3)) for m in result.candidates]


class TestRouting:
    async def routed(self, answer: str | Exception, most: int = 2) -> tuple[WorkerName, ...]:
        supervisor = Supervisor(ScriptedProvider(answer), max_workers=most)
        return (await supervisor.route(QUERY)).workers

    async def test_the_named_workers_are_taken_once_each_and_in_order(self) -> None:
        assert await self.routed(route("procedural", "semantic")) == (PROCEDURAL, SEMANTIC)
        assert await self.routed(route("episodic", "episodic")) == (EPISODIC,)

    async def test_unknown_names_are_dropped(self) -> None:
        assert await self.routed(route("magic", 3, None, "episodic")) == (EPISODIC,)

    @rows("most", [1, 2, 3])
    async def test_no_more_than_allowed(self, most: int) -> None:
        named = await self.routed(route("episodic", "semantic", "procedural"), most)
        assert named == (EPISODIC, SEMANTIC, PROCEDURAL)[:most]

    @rows("answer", [route(), route("magic"), "{}", '{"workers": "episodic"}'])
    async def test_the_semantic_worker_when_none_is_named(self, answer: str) -> None:
        assert await self.routed(answer) == (SEMANTIC,)

    @rows("answer", ["", "semantic", "[1]", BUSY, REFUSED])
    async def test_a_failing_model_hands_over_to_the_flat_search(
        self, answer: str | Exception
    ) -> None:
        with pytest.raises(CompletionError):
            await retrieve(FakeBackend(), answer)

    async def test_no_model_hands_over_to_the_flat_search(self) -> None:
        retriever = SupervisedRetriever(backend=FakeBackend(), config=CONFIG, provider=None)
        assert isinstance(retriever, HierarchicalRetriever)
        with pytest.raises(CompletionError, match="no language model is configured"):
            await retriever.find_ranked("ada", "why", categories=None, limit=5)

    async def test_the_model_is_asked_at_temperature_zero(self) -> None:
        provider = ScriptedProvider(route("semantic"))
        await Supervisor(provider, max_workers=1).route(QUERY)
        assert provider.asked[0][1].temperature == 0


class TestWorkers:
    async def test_semantic_ranks_as_configured(self) -> None:
        backend = FakeBackend(entry("a", relevance=0.5), entry("b", relevance=0.9))
        result = await retrieve(backend, route("semantic"))
        assert found(result) == [("b", 0.9), ("a", 0.5)]
        (query,) = backend.queries
        assert (query.text, query.categories, query.limit) == ("why", None, 20)

    async def test_episodic_looks_at_the_episodes_of_three_days(self) -> None:
        backend = FakeBackend()
        await retrieve(backend, route("episodic"), reflective_retry_enabled=False)
        (query,) = backend.queries
        assert query.categories == frozenset({MemoryCategory.EPISODIC})
        assert query.since is not None
        assert (NOW - query.since).total_seconds() == 72 * 3600
        assert query.limit == 80

    async def test_episodic_prefers_what_is_recent(self) -> None:
        backend = FakeBackend(
            episode("new", 0, relevance=0.5),
            episode("half", 36, relevance=1.0),
            episode("old", 72, relevance=1.0),
            episode("future", -5, relevance=0.0),
        )
        assert found(await retrieve(backend, route("episodic"))) == [
            ("new", 0.8),
            ("half", 0.7),
            ("future", 0.6),
            ("old", 0.4),
        ]

    async def test_procedural_ranks_by_relevance_alone(self) -> None:
        backend = FakeBackend(
            entry("a", relevance=0.4, category=MemoryCategory.PROCEDURAL),
            entry("b", relevance=0.8, hours=9999, category=MemoryCategory.PROCEDURAL),
        )
        assert found(await retrieve(backend, route("procedural"))) == [("b", 0.8), ("a", 0.4)]
        assert backend.queries[0].categories == frozenset({MemoryCategory.PROCEDURAL})

    @rows("worker", ["episodic", "procedural"])
    async def test_a_memory_without_a_score_has_the_default_relevance(self, worker: str) -> None:
        result = await retrieve(FakeBackend(entry("a")), route(worker), default_relevance=0.75)
        assert result.candidates[0].relevance_score == 0.75

    @rows("worker", ["episodic", "procedural"])
    async def test_a_worker_is_skipped_when_its_category_is_excluded(self, worker: str) -> None:
        backend = FakeBackend(entry("a"))
        query = QUERY.model_copy(update={"categories": frozenset({MemoryCategory.SOCIAL})})
        result = await retrieve(backend, route(worker), query=query, reflective_retry_enabled=False)
        assert (result.candidates, backend.queries) == ((), [])

    async def test_a_failing_worker_leaves_the_others_and_is_reported(self) -> None:
        class HalfBroken(FakeBackend):
            async def retrieve(self, agent_id: str, query: Any) -> tuple[MemoryEntry, ...]:
                if query.categories:
                    raise BROKEN
                return await super().retrieve(agent_id, query)

        result = await retrieve(
            HalfBroken(entry("a", relevance=0.9)), route("semantic", "episodic")
        )
        assert found(result) == [("a", 0.9)]
        assert result.degraded == "the episodic search failed: the index is gone"

    async def test_no_more_results_than_asked_for(self) -> None:
        backend = FakeBackend(*(entry(f"{n}", relevance=0.5) for n in range(9)))
        query = QUERY.model_copy(update={"max_results": 3})
        result = await retrieve(backend, route("semantic", "procedural"), query=query)
        assert len(result.candidates) == 3


def episode(key: str, hours: float, *, relevance: float) -> MemoryEntry:
    return entry(key, relevance=relevance, hours=hours, category=MemoryCategory.EPISODIC)


class TestRetry:
    def poor(self, **by_text: MemoryEntry) -> FakeBackend:
        return FakeBackend(
            entry("poor", relevance=0.1), by_text={k: (v,) for k, v in by_text.items()}
        )

    async def test_good_results_are_kept_without_asking(self) -> None:
        result = await retrieve(FakeBackend(entry("a", relevance=0.3)), route("semantic"))
        assert result.retries_performed == 0

    async def test_nothing_found_tries_the_semantic_worker_without_asking(self) -> None:
        backend = FakeBackend()
        result = await retrieve(backend, route("episodic"))
        assert result.retries_performed == 1
        assert [query.categories for query in backend.queries] == [
            frozenset({MemoryCategory.EPISODIC}),
            None,
        ]

    async def test_a_corrected_question_adds_to_what_was_found(self) -> None:
        backend = self.poor(how=entry("good", relevance=0.9))
        result = await retrieve(backend, route("semantic"), reflection())
        assert found(result) == [("good", 0.9), ("poor", 0.1)]
        assert result.retries_performed == 1

    @rows(
        ("strategy", "category"),
        [("semantic_only", None), ("episodic_only", MemoryCategory.EPISODIC)],
    )
    async def test_the_alternative_names_the_worker(
        self, strategy: str, category: MemoryCategory | None
    ) -> None:
        backend = self.poor(how=entry("good", relevance=0.9))
        await retrieve(backend, route("procedural"), reflection(strategy=strategy))
        assert backend.queries[1].categories == (frozenset({category}) if category else None)

    @rows(
        "answer",
        [
            reflection(False),
            reflection("true"),
            reflection(strategy="skip"),
            reflection(query="why"),
            reflection(query="  "),
            reflection(query=None),
        ],
    )
    async def test_no_retry_without_something_new(self, answer: str) -> None:
        result = await retrieve(self.poor(), route("semantic"), answer)
        assert (result.retries_performed, result.degraded) == (0, "")

    @rows("answer", ["no idea", BUSY, REFUSED, RuntimeError("bug")])
    async def test_a_failing_model_ends_the_retries_and_is_reported(
        self, answer: str | Exception
    ) -> None:
        result = await retrieve(self.poor(), route("semantic"), answer)
        assert found(result) == [("poor", 0.1)]
        assert "the second look at the results failed" in result.degraded

    @rows("most", [0, 1, 2])
    async def test_retries_are_bounded(self, most: int) -> None:
        answers = [reflection(query=f"q{n}") for n in range(most)]
        result = await retrieve(self.poor(), route("semantic"), *answers, max_retry_count=most)
        assert result.retries_performed == most

    async def test_retries_can_be_switched_off(self) -> None:
        result = await retrieve(self.poor(), route("semantic"), reflective_retry_enabled=False)
        assert result.retries_performed == 0

    async def test_what_was_tried_is_not_tried_again(self) -> None:
        answers = [reflection(query="q1"), reflection(query="why")]
        result = await retrieve(self.poor(), route("semantic"), *answers)
        assert result.retries_performed == 1

    async def test_shown_memories_stay_in_their_fence(self) -> None:
        for text in HOSTILE:
            provider = ScriptedProvider("{}")
            last = Attempt("why", (SEMANTIC,))
            await Supervisor(provider, max_workers=1).reflect(last, (scored("a", text, score=0),))
            lines = provider.prompts[0].split("Memories:\n<memory-entry>\n")[1].split("\n")
            assert len(lines) == 2
            assert lines[1] == "</memory-entry>"


class TestMerging:
    def test_the_higher_score_of_a_memory_is_kept(self) -> None:
        low, high = scored("a", score=0.1), scored("a", score=0.2)
        assert merge_scored((low,), (high,), limit=9) == (high,)
        assert merge_scored((high,), (low,), limit=9) == (high,)

    def test_best_first_equals_as_first_seen_and_cut(self) -> None:
        a, b, c = scored("a", score=0.1), scored("b", score=0.1), scored("c", score=0.9)
        assert merge_scored((a,), (b, c), limit=9) == (c, a, b)
        assert merge_scored((a,), (b, c), limit=2) == (c, a)


@rows(("most", "valid"), [(0, False), (1, True), (100, True), (101, False)])
def test_a_query_asks_for_one_to_a_hundred_results(most: int, valid: bool) -> None:
    if valid:
        RetrievalQuery(agent_id="a", text="x", max_results=most)
    else:
        with pytest.raises(ValidationError):
            RetrievalQuery(agent_id="a", text="x", max_results=most)


async def test_a_larger_limit_is_cut_to_a_hundred() -> None:
    backend = FakeBackend(entry("a", relevance=0.9))
    retriever = build(backend, route("semantic"))
    ranked = await retriever.find_ranked("ada", "why", categories=None, limit=600)
    assert ranked is not None
    assert [memory.entry.id for memory in ranked.memories] == ["a"]
    assert backend.queries[0].limit == 100


async def test_the_model_reads_no_sensitive_memory() -> None:
    secret = entry("a", "s3cret", relevance=0.1, tags=("sensitivity:sensitive",))
    provider = ScriptedProvider(route("semantic"), reflection(retry=False))
    retriever = SupervisedRetriever(
        backend=FakeBackend(secret, entry("b", "harmless", relevance=0.1)),
        config=CONFIG,
        provider=provider,
        clock=FixedClock(NOW),
    )
    await retriever.retrieve(QUERY)
    assert "harmless" in provider.prompts[1]
    assert "s3cret" not in provider.prompts[1]

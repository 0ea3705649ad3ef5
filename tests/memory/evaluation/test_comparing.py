"""Embedders side by side on the memories of a store, which stays as it is."""

import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.evaluation.comparing import (
    LEAST_MEMORIES,
    ComparisonParts,
    ComparisonPlan,
    EmbedderComparison,
)
from synthorg_tui.memory.evaluation.questions import EvalQuestion, QuestionSource, RecallTask
from synthorg_tui.memory.evaluation.recorded import OpenedHits
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.strategies.service import InjectionService
from synthorg_tui.providers.embedding.adapted import AdaptedEmbedder, QueryAdapter
from synthorg_tui.providers.embedding.config import EmbeddingConfig, GgufConfig, MiniLMConfig
from synthorg_tui.providers.embedding.protocol import Vectors
from synthorg_tui.providers.reranking.config import (
    NO_RERANKER,
    OnnxRerankerConfig,
    RerankingConfig,
)
from synthorg_tui.providers.reranking.cross_encoder import CrossEncoder
from synthorg_tui.providers.reranking.errors import RerankingError
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.store_kit import AGENT, opened, request

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOPICS = ("cables", "lenses", "gears", "valves", "hinges", "springs")
COLOURS = ("red", "green", "blue", "black", "white")
FEW = ComparisonPlan(questions=8)
"""Enough to see a difference by, and too few for advice."""


class LostEmbedder(HashEmbedder):
    """Finds nothing by meaning: all texts are alike. Counts how often it was closed."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await super().embed(["the same"] * len(texts))

    async def embed_query(self, text: str) -> Vectors:
        return await super().embed_query("the same")


@dataclass
class Bench:
    """A store with what was asked about it, and the embedders that were made for it."""

    backend: LocalMemoryBackend
    questions: list[EvalQuestion]
    folder: Path
    made: list[HashEmbedder]
    comparison: EmbedderComparison

    async def rows(self) -> list[tuple[object, ...]]:
        return await self.backend.core.read(
            lambda db: db.execute(
                "SELECT id, revision, content, (SELECT count(*) FROM history), "
                "(SELECT count(*) FROM vectors) FROM memories ORDER BY id"
            ).fetchall()
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    folder = tmp_path_factory.mktemp("comparing")
    made: list[HashEmbedder] = []

    def make(config: EmbeddingConfig) -> HashEmbedder:
        lost = isinstance(config, GgufConfig)
        embedder = LostEmbedder(fingerprint="lost") if lost else HashEmbedder()
        embedder.broken = lost and config.path.name == "broken.gguf"  # type: ignore[union-attr]
        made.append(embedder)
        return embedder

    async with opened(folder / "store") as backend:
        questions = []
        for topic in TOPICS:
            for colour in COLOURS:
                key = await backend.store(
                    AGENT, request(f"The {colour} {topic} are kept in drawer {topic[0]}{colour}")
                )
                questions.append(asked(f"where are the {colour} {topic} kept", key))
        injection = InjectionService(memory=backend, retrieval=MemoryRetrievalConfig())

        async def recorded() -> list[EvalQuestion]:
            return questions

        parts = ComparisonParts(
            core=backend.core,
            injection=injection,
            opened=OpenedHits(backend.core.database, backend.core.clock),
            active=MiniLMConfig(),
            sources=(recorded,),
            folder=folder / "scratch",
            make=make,
        )
        yield Bench(backend, questions, folder / "scratch", made, EmbedderComparison(parts))


async def test_the_active_one_is_tried_with_the_checkpoint_that_is_deployed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = bench.backend.core.embedder
    deployed = AdaptedEmbedder(used)
    turned = np.roll(np.eye(used.dims, dtype=np.float32), 1, axis=0)
    deployed.use(QueryAdapter(used.fingerprint, turned))
    before = await bench.comparison.run(FEW)
    monkeypatch.setattr(bench.backend.core, "embedder", deployed)
    after = await bench.comparison.run(FEW)
    found = [each.embedders[0].sets[0].overall.dense.recall_10.mean for each in (before, after)]
    assert found[0] == 1.0
    assert found[1] < 0.8


def asked(text: str, *relevant: str, agent: str = AGENT) -> EvalQuestion:
    return EvalQuestion(
        text, agent, frozenset(relevant), RecallTask.EPISODIC, QuestionSource.SEARCH
    )


async def test_a_worse_embedder_is_seen_beside_the_active_one(bench: Bench) -> None:
    before = await bench.rows()
    report = await bench.comparison.run(ComparisonPlan(embedders=("gguf:path=/m/lost.gguf",)))
    active, lost = report.embedders
    (one,), (other,) = active.sets, lost.sets
    assert active.is_active
    assert one.overall.questions == 30
    assert one.overall.dense.recall_10.mean == 1.0
    assert other.overall.dense.recall_10.mean < 0.6
    assert one.gain is None
    assert other.gain is not None
    assert not other.gain.ndcg_10.excludes_zero  # words make up for it
    assert [task.task for task in one.tasks] == [None, RecallTask.SEMANTIC]
    assert "keep minilm" in report.advice[1]
    assert await bench.rows() == before
    assert list(bench.folder.iterdir()) == []


async def test_vectors_that_are_known_are_not_made_again(bench: Bench) -> None:
    bench.made.clear()
    await bench.comparison.run(FEW)
    measured, tried = bench.made
    assert sum(measured.calls) > 30
    assert tried.calls == []


async def test_one_that_does_not_work_has_its_reason(bench: Bench) -> None:
    report = await bench.comparison.run(
        ComparisonPlan(embedders=("gguf:path=/m/broken.gguf",), questions=8)
    )
    active, broken = report.embedders
    assert active.sets
    assert broken.problem == "the model is missing"
    assert broken.sets == ()


async def test_a_stop_gives_back_what_is_done(bench: Bench) -> None:
    cancel = threading.Event()

    def told(done: int, _total: int, _what: str) -> None:
        if done >= 600:
            cancel.set()

    report = await bench.comparison.run(
        ComparisonPlan(embedders=("gguf:path=/m/lost.gguf",)), progress=told, cancel=cancel
    )
    active, lost = report.embedders
    assert not report.is_complete
    assert active.sets
    assert lost.sets == ()
    assert report.advice == ()
    assert list(bench.folder.iterdir()) == []


async def test_samples_keep_every_answer_and_are_told(bench: Bench) -> None:
    report = await bench.comparison.run(ComparisonPlan(questions=5, memories=12))
    (own,) = report.sets
    assert (own.questions, own.questions_found) == (5, 30)
    assert (own.memories, own.memories_total) == (12, 30)
    assert report.embedders[0].sets[0].overall.dense.recall_10.mean == 1.0
    assert any("a sample of 12 of 30 memories" in note for note in report.notes)
    assert any("5 of 30 questions that are needed" in note for note in report.notes)
    assert "too few" in report.advice[1]


async def test_an_answer_that_is_gone_is_counted_and_not_asked_for(bench: Bench) -> None:
    key = await bench.backend.store(AGENT, request("The spare fuse lies on the shelf"))
    question = asked("where is the spare fuse", key)
    bench.questions.append(question)
    await bench.backend.delete(AGENT, key)
    try:
        report = await bench.comparison.run(ComparisonPlan())
    finally:
        bench.questions.remove(question)
    assert report.sets[0].gone == 1
    assert report.sets[0].questions == 30


async def test_with_nothing_recorded_nothing_is_advised(bench: Bench) -> None:
    kept = bench.questions[:]
    bench.questions.clear()
    try:
        report = await bench.comparison.run(ComparisonPlan())
    finally:
        bench.questions.extend(kept)
    assert report.sets[0].questions == 0
    assert "no question yet" in report.advice[1]
    assert report.embedders[0].problem == ""


async def test_a_slow_embedder_gets_fewer_memories_but_never_too_few(bench: Bench) -> None:
    report = await bench.comparison.run(ComparisonPlan(minutes=0.0001, questions=8))
    assert report.sets[0].memories == min(30, LEAST_MEMORIES)


async def test_two_runs_at_once_are_refused(bench: Bench) -> None:
    refused: list[DomainError] = []

    async def again() -> list[EvalQuestion]:
        try:
            await comparison.run(ComparisonPlan())
        except DomainError as error:
            refused.append(error)
        return []

    core = bench.backend.core
    injection = InjectionService(memory=bench.backend, retrieval=MemoryRetrievalConfig())
    comparison = EmbedderComparison(
        ComparisonParts(
            core=core,
            injection=injection,
            opened=OpenedHits(core.database, core.clock),
            active=MiniLMConfig(),
            sources=(again,),
            folder=bench.folder,
            make=hashed,
        )
    )
    await comparison.run(ComparisonPlan())
    assert "running already" in refused[0].message


def hashed(_config: EmbeddingConfig) -> HashEmbedder:
    return HashEmbedder()


async def test_what_a_person_opened_after_a_search_is_asked_again(bench: Bench) -> None:
    comparison, core = bench.comparison, bench.backend.core
    (key,) = bench.questions[0].relevant
    await comparison.note_opened("which  drawer has them", key)
    await comparison.note_opened("which drawer has them", key)
    asked_again = [each for each in await comparison.questions() if "which" in each.text]
    assert [each.relevant for each in asked_again] == [{key}]
    assert asked_again[0].agent_id == AGENT
    await core.change(lambda changes: changes.purge([key], actor="test"))
    assert not [each for each in await comparison.questions() if "which" in each.text]


async def test_secrets_in_what_was_searched_for_are_not_kept(bench: Bench) -> None:
    (key,) = bench.questions[1].relevant
    await bench.comparison.note_opened(f"the token ghp_{'a1B2' * 9}", key)
    (found,) = [each for each in await bench.comparison.questions() if "token" in each.text]
    assert "ghp_" not in found.text


async def test_a_shared_memory_is_no_answer_for_its_publisher(bench: Bench) -> None:
    key = await bench.backend.publish(AGENT, request("Lunch is at noon"))
    before = len(await bench.comparison.questions())
    await bench.comparison.note_opened("when is lunch", key)
    assert len(await bench.comparison.questions()) == before


class Guide(CrossEncoder):
    """A re-ranker that knows the drawers' colours, or puts the best last; counts its uses."""

    used = 0
    closed = 0

    async def scores(self, question: str, texts: Sequence[str]) -> Vectors:
        Guide.used += 1
        name = self._config.path.name
        if name == "broken.onnx":
            raise RerankingError("it is no cross-encoder")
        words = set(question.split())
        shared = [float(len(words & set(text.split()))) for text in texts]
        return np.array(shared, dtype=np.float32) * (-1 if name == "worst.onnx" else 1)

    async def close(self) -> None:
        Guide.closed += 1
        await super().close()


def guide(config: RerankingConfig) -> CrossEncoder | None:
    return Guide(config) if isinstance(config, OnnxRerankerConfig) else None


def with_guide(bench: Bench, reranking: RerankingConfig = NO_RERANKER) -> EmbedderComparison:
    parts = replace(bench.comparison._parts, reranking=reranking, make_reranker=guide)
    return EmbedderComparison(parts)


async def test_a_reranker_is_seen_beside_the_active_embedder(bench: Bench) -> None:
    plan = ComparisonPlan(rerankers=("onnx:path=/m/best.onnx", "onnx:path=/m/worst.onnx"))
    bench.made.clear()
    Guide.closed = 0
    report = await with_guide(bench).run(plan)
    plain, best, worst = report.embedders
    assert [each.name for each in report.embedders] == [
        "minilm",
        "minilm + onnx /m/best.onnx",
        "minilm + onnx /m/worst.onnx",
    ]
    assert (plain.reranker, plain.pairs_per_second) == ("", 0.0)
    assert best.pairs_per_second > 0
    assert best.sets[0].gain is not None
    assert worst.sets[0].gain is not None
    assert worst.sets[0].gain.mrr.high < 0
    assert worst.sets[0].overall.fused.recall_20 == plain.sets[0].overall.fused.recall_20
    assert best.sets[0].overall.fused.mrr.mean > worst.sets[0].overall.fused.mrr.mean
    assert "leave the re-ranker out" in report.advice[1]
    assert all(made.calls == [] for made in bench.made[3:])  # vectors that are known are taken
    assert Guide.closed == 4


async def test_one_that_is_switched_on_is_compared_with_none(bench: Bench) -> None:
    on = OnnxRerankerConfig(type="onnx", path=Path("/m/worst.onnx"))
    report = await with_guide(bench, on).run(ComparisonPlan())
    active, without = report.embedders
    assert (active.name, active.is_active) == ("minilm + onnx /m/worst.onnx", True)
    assert active.sets[0].gain is None
    assert without.sets[0].gain is not None
    assert without.sets[0].gain.mrr.low > 0
    assert "choose minilm:" in report.advice[1]


async def test_a_reranker_that_does_not_work_has_its_reason(bench: Bench) -> None:
    plan = ComparisonPlan(rerankers=("onnx:path=/m/broken.onnx",), questions=8)
    plain, broken = (await with_guide(bench).run(plan)).embedders
    assert plain.sets
    assert broken.problem == "it is no cross-encoder"
    assert broken.sets == ()

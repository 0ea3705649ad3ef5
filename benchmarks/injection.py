"""How long it takes from a task to the messages for an agent, and what explaining them costs.

    python -m benchmarks.injection --memories 10000 [--data-dir DIR]

Stored vectors are synthetic, queries use the real model. "Unexplained" is the same search, ranking
and packing of nothing but what is given: no candidates below the cutoff, no verdicts.
"""

import asyncio
import statistics
import tempfile
from pathlib import Path

from benchmarks.scale import AGENT, milliseconds, p50, p95, questions
from benchmarks.synthetic import SyntheticVectors, ensure_filled, opened, real_embedder
from benchmarks.table import Limit, Report, Row, command_line, print_report
from synthorg_tui.core.clock import SystemClock
from synthorg_tui.memory.formatter import format_memory_context_with_directive
from synthorg_tui.memory.injection import DefaultTokenEstimator
from synthorg_tui.memory.models import MemoryQuery
from synthorg_tui.memory.ranking import rank_memories
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.strategies.service import InjectionRequest, InjectionService
from synthorg_tui.settings.loader import shipped_settings

QUERIES = 80
BUDGET = 2_000


async def unexplained(backend: LocalMemoryBackend, text: str) -> None:
    """Retrieve, rank and format memories for a text, as a strategy without explanations would.

    The searches run one after another, so that the query is embedded only once.
    """
    config = shipped_settings().memory.retrieval
    query = MemoryQuery(text=text, limit=config.max_memories)
    own = await backend.retrieve(AGENT, query)
    assert not await backend.search_shared(query, exclude_agent=AGENT)
    ranked = rank_memories(own, config=config, now=SystemClock().now())
    format_memory_context_with_directive(
        ranked, estimator=DefaultTokenEstimator(), token_budget=BUDGET
    )


async def injection(backend: LocalMemoryBackend) -> list[Row]:
    """Time digests with and without an explanation, and return rows with the results.

    Both ways take turns, so that noise affects them alike; no query is in the model's cache.
    """
    embedder = backend.core.embedder
    shipped = shipped_settings().memory.retrieval
    diverse = shipped.model_copy(update={"diversity_penalty_enabled": True})

    def prepared(config: MemoryRetrievalConfig) -> InjectionService:
        return InjectionService(memory=backend, retrieval=config)

    async def embed(text: str) -> None:
        await embedder.embed_query(text)

    async def inject(text: str) -> None:
        await prepared(shipped).prepare(InjectionRequest(AGENT, text, BUDGET))

    async def inject_diverse(text: str) -> None:
        await prepared(diverse).prepare(InjectionRequest(AGENT, text, BUDGET))

    async def plain(text: str) -> None:
        await unexplained(backend, text)

    works = (embed, inject, plain, inject_diverse)
    asked = [questions(QUERIES, seed=seed + 11) for seed in range(len(works))]
    for texts, work in zip(asked, works, strict=True):
        await work("warm " + texts[0])
    durations: list[list[float]] = [[] for _ in works]
    for number in range(QUERIES):
        for texts, work, times in zip(asked, works, durations, strict=True):

            async def once(_: int, text: str = texts[number], run: object = work) -> None:
                await run(text)  # type: ignore[operator]

            times += await milliseconds(1, once)
    return rows(*durations)


def rows(
    embed: list[float], inject: list[float], plain: list[float], diverse: list[float]
) -> list[Row]:
    slowest = Limit("<=", 2 * p50(embed) + 10)
    spread = Limit("<=", 3 * p50(inject))
    cost = 100 * (statistics.median(inject) / statistics.median(plain) - 1)
    return [
        Row("embedding the query, p50", p50(embed), "ms", digits=1),
        Row("task to messages, explained, p50", p50(inject), "ms", slowest, digits=1),
        Row("task to messages, explained, p95", p95(inject), "ms", spread, digits=1),
        Row("task to messages, unexplained, p50", p50(plain), "ms", digits=1),
        Row("the explanation adds", cost, "%", Limit("<", 20)),
        Row("explained and diversified, p50", p50(diverse), "ms", digits=1),
    ]


async def measure(data_dir: Path, memories: int) -> list[Row]:
    await ensure_filled(data_dir, memories)
    async with opened(data_dir, SyntheticVectors(real_embedder())) as backend:
        return await injection(backend)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--data-dir", type=Path, help="keep the store here and reuse it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        measured = asyncio.run(measure(options.data_dir or Path(scratch), options.memories))
    report = Report("injection", {"memories": options.memories}, measured)
    print_report(report, as_json=options.json)


if __name__ == "__main__":
    main()

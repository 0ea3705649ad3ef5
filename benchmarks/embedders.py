"""Embedding models side by side: what agents are given with each, on a file in LoCoMo's format.

    python -m benchmarks.embedders --data FILE --embedding '{"type": "onnx", "path": "m.onnx"}' ...

``--embedding`` is what ``providers.embedding`` would be, as JSON, and may be given several times;
without one the bundled model is measured. ``--reranking`` is what ``providers.reranking`` would be,
likewise; each embedder is measured without any and with each. Everything else is as shipped. What
stands behind a figure is how far it may be off (95 %, bootstrap over the questions).
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter, ValidationError

from benchmarks.pipeline_quality import filled
from benchmarks.retrieval_quality import CUTS, Data, load, quality, rejection
from benchmarks.table import Grid, Report, command_line
from synthorg_tui.providers.embedding.config import EmbeddingConfig
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.reranking.config import NO_RERANKER, RerankingConfig
from synthorg_tui.settings.loader import shipped_settings
from synthorg_tui.settings.root import RootConfig

SAMPLES = 2_000
QUERIES = 60
COLUMNS = (
    *(f"R@{cut}" for cut in CUTS),
    "MRR",
    "R@10 +-",
    "MRR +-",
    "nonsense",
    "texts/s",
    "query ms",
    "MB",
    "digest ms",
)


def settings_with(embedding: EmbeddingConfig, reranking: RerankingConfig) -> RootConfig:
    """Return the shipped settings with another embedder, and with what reorders."""
    shipped = shipped_settings()
    models = {"embedding": embedding, "reranking": reranking}
    is_on = {"query_specific_rerank_enabled": reranking != NO_RERANKER}
    retrieval = shipped.memory.retrieval.model_copy(update=is_on)
    return shipped.model_copy(
        update={
            "providers": shipped.providers.model_copy(update=models),
            "memory": shipped.memory.model_copy(update={"retrieval": retrieval}),
        }
    )


def spread(values: Sequence[float]) -> float:
    """Return half the width of the middle 95 % of the means of resampled values."""
    known = np.asarray(values)
    drawn = np.random.default_rng(7).integers(0, len(known), (SAMPLES, len(known)))
    low, high = np.quantile(known[drawn].mean(axis=1), (0.025, 0.975))
    return float(high - low) / 2


def resident() -> float:
    """Return this process's memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


async def speed(embedding: EmbeddingConfig, data: Data) -> list[float]:
    """Return texts a second, milliseconds of a query (p50) and the memory of a loaded model."""
    before = resident()
    embedder = create_embedder(embedding)
    await embedder.embed_query("load the model")
    texts = [content for _, _, content in data.memories][: 8 * QUERIES]
    started = time.perf_counter()
    await embedder.embed(texts)
    rate = len(texts) / (time.perf_counter() - started)
    taken = []
    for question in data.questions[:QUERIES]:
        started = time.perf_counter()
        await embedder.embed_query(question.text)
        taken.append((time.perf_counter() - started) * 1_000)
    after = resident()
    await embedder.close()
    return [rate, statistics.median(taken), after - before]


async def measured(
    embedding: EmbeddingConfig, reranking: RerankingConfig, data: Data
) -> list[float]:
    """Return the figures of one embedder, in the order of ``COLUMNS``."""
    quick = await speed(embedding, data)
    answers, taken = [], []
    async with filled(data.dated_memories(), settings_with(embedding, reranking)) as pipeline:
        for question in data.questions:
            started = time.perf_counter()
            answers.append((question, await pipeline.given(question.agent, question.text)))
            taken.append((time.perf_counter() - started) * 1_000)
        rejected = (await rejection(pipeline, data)).value
    each = [quality([answer]) for answer in answers]
    spreads = [spread([one[place] for one in each]) for place in (1, 3)]
    return [*quality(answers), *spreads, rejected, *quick, statistics.median(taken)]


async def run(
    embeddings: Sequence[EmbeddingConfig], rerankings: Sequence[RerankingConfig], data: Data
) -> Grid:
    """Measure the embedders one after another, and return a table."""
    lines = {}
    for embedding in embeddings:
        name = getattr(embedding, "path", None) or getattr(embedding, "model", "bundled")
        for reranking in (NO_RERANKER, *rerankings):
            reorders = "" if reranking == NO_RERANKER else f" + {getattr(reranking, 'path', '')}"
            figures = await measured(embedding, reranking, data)
            lines[f"{embedding.type} {name}{reorders}"] = figures
    return Grid("embedder", COLUMNS, lines)


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a file in LoCoMo's format")
    parser.add_argument("--embedding", action="append", metavar="JSON", help="settings of one")
    parser.add_argument("--reranking", action="append", metavar="JSON", help="what reorders")
    parser.add_argument("--limit-conversations", type=int, metavar="N", help="only the first N")
    options = parser.parse_args()
    parse = TypeAdapter[EmbeddingConfig](EmbeddingConfig).validate_python
    try:
        embeddings = [parse(json.loads(text)) for text in options.embedding or ["{}"]]
        ordering = TypeAdapter[RerankingConfig](RerankingConfig).validate_python
        rerankings = [ordering(json.loads(text)) for text in options.reranking or []]
        data = load(options.data, options.limit_conversations)
    except (OSError, ValidationError, ValueError, KeyError, TypeError) as error:
        print(error, file=sys.stderr)
        return 2
    grid = asyncio.run(run(embeddings, rerankings, data))
    parameters = {"data": options.data.name, "conversations": options.limit_conversations}
    report = Report("embedders", parameters, grid.as_rows())
    print(report.as_json() if options.json else grid.as_table())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

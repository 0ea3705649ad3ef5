"""The models that are tried together: made for a contender, measured, and freed again.

What they find is for ``trial``; here is only what they take.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.process_setup import give_back_memory, resident_memory
from synthorg_tui.memory.evaluation.contenders import Contender
from synthorg_tui.memory.evaluation.report import EmbedderFigures
from synthorg_tui.providers.embedding.protocol import Embedder
from synthorg_tui.providers.reranking.cross_encoder import CrossEncoder

_ASKED: Final = "What did they say about it, and when was that?"
"""The question that the speed of a re-ranker is measured with."""


@asynccontextmanager
async def models_of(contender: Contender) -> AsyncIterator[tuple[Embedder, CrossEncoder | None]]:
    """Make an embedder and what reorders what it finds; both are freed with the ``async with``.

    Neither is loaded yet.
    """
    embedder, encoder = contender.make(), contender.make_reranker()
    try:
        yield embedder, encoder
    finally:
        await embedder.close()
        if encoder is not None:
            await encoder.close()
        await asyncio.to_thread(give_back_memory)


async def measure(contender: Contender, texts: Sequence[str]) -> EmbedderFigures:
    """Return the speed and memory of a contender, or its problem; it is unloaded afterwards."""
    figures = EmbedderFigures(
        name=contender.name, is_active=contender.is_active, reranker=contender.reranker
    )
    await asyncio.to_thread(give_back_memory)
    before = resident_memory()
    try:
        async with models_of(contender) as (embedder, encoder):
            loaded, rate = await _speed(embedder.embed, texts)
            read = 0.0
            if encoder is not None:
                more, read = await _speed(partial(encoder.scores, _ASKED), texts)
                loaded += more
            memory = max(0, resident_memory() - before) if contender.runs_here else None
            found = {
                "fingerprint": embedder.fingerprint,
                "dims": embedder.dims,
                "load_seconds": loaded,
                "texts_per_second": rate,
                "pairs_per_second": read,
                "memory": memory,
            }
    except DomainError as error:
        found = {"problem": error.message}
    return figures.model_copy(update=found)


async def _speed(
    work: Callable[[Sequence[str]], Awaitable[object]], texts: Sequence[str]
) -> tuple[float, float]:
    """The seconds until a model has read its first text, and how many it then reads a second."""
    started = time.perf_counter()
    await work(texts[:1] or ["a text"])
    loaded = time.perf_counter()
    if texts:
        await work(texts)
    return loaded - started, len(texts) / (time.perf_counter() - loaded)

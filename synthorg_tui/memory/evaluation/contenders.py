"""The embedders that are compared: the active one first, the bundled one, and those that are named.

An embedder is named as in the settings, on one line: its type, and after a colon its fields, as
``gguf:path=~/models/some.gguf,pooling=cls``. Whatever type the settings know can be named so, and
so can re-rankers, which are tried with the active embedder.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias, TypeVar
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.process_setup import give_back_memory, resident_memory
from synthorg_tui.core.text import safe_text
from synthorg_tui.memory.evaluation.report import EmbedderFigures
from synthorg_tui.providers.embedding.config import EmbeddingConfig, MiniLMConfig
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.embedding.protocol import Embedder
from synthorg_tui.providers.reranking.config import NO_RERANKER, RerankingConfig
from synthorg_tui.providers.reranking.cross_encoder import CrossEncoder, create_cross_encoder

T = TypeVar("T")

MAX_EMBEDDERS: Final = 8
"""Embedders that are tried at once, and re-rankers."""
RERANKER_WORD: Final = "reranker "
"""What stands before a re-ranker where embedders can be named, too."""
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_REMEDY: Final = (
    "Name it as in the settings, such as `minilm`, `gguf:path=FILE,pooling=cls` or "
    "`openai:base_url=http://localhost:11434/v1,model=NAME,dims=768`."
)
_RERANKER_REMEDY: Final = "Name it as in the settings, such as `onnx:path=FILE`."

MakeEmbedder: TypeAlias = Callable[[EmbeddingConfig], Embedder]
MakeCrossEncoder: TypeAlias = Callable[[RerankingConfig], CrossEncoder | None]


class EmbedderNameError(DomainError):
    """A text names no embedder or re-ranker; the message says what is wrong with it."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Contender:
    """An embedder to be tried, alone or with a re-ranker, neither made yet.

    ``named`` is as a person named it, empty for what is always tried; ``reranker`` is the name of
    the re-ranker, mostly empty. ``runs_here`` is whether the model takes this process's memory, and
    ``embeds_as_active`` whether the embedder is the active one, with a re-ranker or without.
    """

    name: str
    named: str
    is_active: bool
    runs_here: bool
    embeds_as_active: bool
    reranker: str
    make: Callable[[], Embedder]
    make_reranker: Callable[[], CrossEncoder | None]


def parse_embedder(text: str) -> EmbeddingConfig:
    """Return the configuration that a line names; raises ``EmbedderNameError``."""
    return _parsed(text, TypeAdapter[EmbeddingConfig](EmbeddingConfig), "embedder", _REMEDY)


def parse_reranker(text: str) -> RerankingConfig:
    """Return the configuration of a re-ranker by its line; raises ``EmbedderNameError``."""
    adapter = TypeAdapter[RerankingConfig](RerankingConfig)
    return _parsed(text, adapter, "re-ranker", _RERANKER_REMEDY)


def _parsed(text: str, adapter: TypeAdapter[T], what: str, remedy: str) -> T:
    kind, _, fields = text.partition(":")
    values: dict[str, str] = {"type": kind.strip()}
    for part in (part for part in fields.split(",") if part.strip()):
        name, given, value = part.partition("=")
        if not given:
            raise EmbedderNameError(f"{safe_text(part)!r} isn't NAME=VALUE", remedy=remedy)
        values[name.strip()] = value  # blanks at its end may be meant, as those of a prefix
    try:
        return adapter.validate_python(values)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"][1:]))
        told = f"{place}: {first['msg']}" if place else first["msg"]
        raise EmbedderNameError(
            f"{safe_text(text)!r} names no {what}: {safe_text(told)}", remedy=remedy
        ) from error


def name_of(config: EmbeddingConfig | RerankingConfig) -> str:
    """Return a configuration as a person tells it from others: what it is, and what was chosen.

    What is as by default is left out, and so are keys.
    """
    chosen = config.model_dump(mode="json", exclude_defaults=True)
    chosen.pop("type", None)
    chosen.pop("api_key_env", None)
    told = [short_path(str(v)) if name == "path" else str(v) for name, v in chosen.items()]
    return safe_text(" ".join([config.type, *told]))


def sends_to(config: EmbeddingConfig) -> str:
    """Return the other machine that texts are sent to with a configuration; mostly empty."""
    url = getattr(config, "base_url", None)
    host = urlsplit(str(url)).hostname if url else None
    return "" if host is None or host in _LOCAL else host


@dataclass(frozen=True, slots=True)
class _Pair:
    """An embedder with what reorders; equal to another whoever named it."""

    embedding: EmbeddingConfig
    reranking: RerankingConfig
    named: str = field(default="", compare=False)


def contenders(
    active: EmbeddingConfig,
    named: Sequence[str],
    make: MakeEmbedder = create_embedder,
    *,
    reranking: RerankingConfig = NO_RERANKER,
    rerankers: Sequence[str] = (),
    make_reranker: MakeCrossEncoder = create_cross_encoder,
) -> tuple[Contender, ...]:
    """Return the active embedder, the bundled one and those that are named, each once.

    ``reranking`` is the re-ranker that is switched on: all have it, and the active one is tried
    without it, too. Then comes the active one with each of ``rerankers``. ``make`` and
    ``make_reranker`` make what a configuration describes. Raises ``EmbedderNameError``, also when
    there are more than ``MAX_EMBEDDERS`` of a kind.
    """
    pairs = [
        _Pair(active, reranking),
        _Pair(active, NO_RERANKER),
        _Pair(MiniLMConfig(), reranking),
        *(_Pair(parse_embedder(text), reranking, text) for text in named),
        *(_Pair(active, parse_reranker(text), RERANKER_WORD + text) for text in rerankers),
    ]
    known = list(dict.fromkeys(pairs))
    embeddings = {pair.embedding for pair in known}
    for count, what in ((len(embeddings), "embedders"), (len(set(rerankers)), "re-rankers")):
        if count > MAX_EMBEDDERS:
            remedy = f"Name fewer than {MAX_EMBEDDERS}."
            raise EmbedderNameError(f"{count} {what} are too many at once", remedy=remedy)
    return tuple(_contender(pair, known[0], make, make_reranker) for pair in known)


def _contender(
    pair: _Pair, first: _Pair, make: MakeEmbedder, make_reranker: MakeCrossEncoder
) -> Contender:
    reranker = "" if pair.reranking == NO_RERANKER else name_of(pair.reranking)
    name = name_of(pair.embedding)
    return Contender(
        name=f"{name} + {reranker}" if reranker else name,
        named=pair.named,
        is_active=pair == first,
        runs_here=not hasattr(pair.embedding, "base_url"),
        embeds_as_active=pair.embedding == first.embedding,
        reranker=reranker,
        make=partial(make, pair.embedding),
        make_reranker=partial(make_reranker, pair.reranking),
    )


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

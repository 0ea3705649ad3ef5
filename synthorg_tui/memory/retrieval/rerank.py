"""Lets a model put found memories into an order made for the query.

Which model is decided by the settings: a cross-encoder, or without one the language model.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from synthorg_tui.core.failsafe import safely
from synthorg_tui.core.text import safe_text
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.hits import RankedMemories
from synthorg_tui.memory.retrieval.json_answer import ask_for_json
from synthorg_tui.memory.retrieval.rerank_cache import RerankCache
from synthorg_tui.providers.completion.protocol import CompletionProvider

if TYPE_CHECKING:
    from synthorg_tui.providers.reranking.cross_encoder import CrossEncoder

_TOKENS_PER_PLACE = 6
_INSTRUCTION = (
    "Order the memories by how well they help with the question, the best first. Answer with "
    'their numbers, each exactly once, as JSON: {"ranking": [2, 0, 1]}'
)


class Reranker:
    """``QuerySpecificReranker`` that remembers orders, and keeps the given one on failure.

    Memories that a cross-encoder scores the same keep their order.

    Args:
        encoder: The model that reads the question with each memory; it goes before a language
            model.
        provider: Returns the language model, asked where there is no encoder. Without any model the
            order is unchanged, and the result says so.
        cache: Cache of the orders that were found.
    """

    def __init__(
        self,
        encoder: "CrossEncoder | None",
        provider: Callable[[], CompletionProvider | None],
        *,
        cache: RerankCache,
    ) -> None:
        self._encoder = encoder
        self._provider = provider
        self._cache = cache

    async def rerank(
        self, query_text: NotBlankStr, memories: tuple[ScoredMemory, ...]
    ) -> RankedMemories:
        """Return the memories in the model's order.

        The order is unchanged when the model fails or omits a memory.
        """
        if len(memories) < 2:
            return RankedMemories(memories)
        ids = tuple(memory.entry.id for memory in memories)
        key = self._key(query_text, ids) if len(set(ids)) == len(ids) else None
        order = self._cache.get(key) if key else None
        if order is not None:
            by_id = {memory.entry.id: memory for memory in memories}
            return RankedMemories(tuple(by_id[memory_id] for memory_id in order))
        notes: list[str] = []
        places = await safely(self._places(query_text, memories), what="reranking", notes=notes)
        if places is None:
            return RankedMemories(memories, notes[0])
        if sorted(places) != list(range(len(memories))):
            return RankedMemories(memories, "reranking failed: the model's order isn't complete")
        ranked = tuple(memories[place] for place in places)
        if key:
            self._cache.put(key, tuple(memory.entry.id for memory in ranked))
        return RankedMemories(ranked)

    async def _places(self, query_text: str, memories: tuple[ScoredMemory, ...]) -> Sequence[int]:
        """The places of the memories in their new order, or nothing that sorts into all of them."""
        if self._encoder is not None:
            texts = [memory.entry.content for memory in memories]
            scores = (await self._encoder.scores(query_text, texts)).tolist()
            return sorted(range(len(scores)), key=lambda place: -scores[place])
        shown = "\n".join(
            f"{place}: {safe_text(memory.entry.content[:500])}"
            for place, memory in enumerate(memories)
        )
        answer = await ask_for_json(
            self._provider(),
            _INSTRUCTION,
            {"Question": ("task-data", query_text), "Memories": ("memory-entry", shown)},
            schema=_schema(len(memories)),
            max_tokens=32 + _TOKENS_PER_PLACE * len(memories),
        )
        ranking = answer.get("ranking")
        if not isinstance(ranking, list) or not all(type(place) is int for place in ranking):
            return []
        return ranking

    def _key(self, query_text: str, ids: tuple[str, ...]) -> str:
        """What an order is remembered by: the encoder, the question and the memories."""
        model = (self._encoder.fingerprint,) if self._encoder is not None else ()
        joined = "|".join((*model, query_text, *sorted(ids)))
        return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()


def _schema(count: int) -> dict[str, Any]:
    place = {"type": "integer", "minimum": 0, "maximum": count - 1}
    return {
        "type": "object",
        "properties": {
            "ranking": {"type": "array", "items": place, "minItems": count, "maxItems": count}
        },
        "required": ["ranking"],
        "additionalProperties": False,
    }

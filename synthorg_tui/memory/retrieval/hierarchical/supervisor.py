"""Decides, with a model, which searches a query goes to and whether to try again."""

from dataclasses import dataclass
from typing import Any, Final

from synthorg_tui.core.text import safe_text
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.hierarchical.workers import RetrievalQuery, WorkerName
from synthorg_tui.memory.retrieval.json_answer import ask_for_json
from synthorg_tui.providers.completion.protocol import CompletionProvider

GOOD_ENOUGH: Final = 0.3
"""Mean score from which results are not tried to be improved."""

_TAG_QUERY: Final = "task-data"

_ROUTE = (
    "Choose the searches for a question. semantic: facts and meaning. episodic: what happened in "
    "the last days. procedural: how something is done. Name the one or two that suit best, as "
    'JSON: {"workers": ["semantic"], "reason": "..."}'
)
_REFLECT = (
    "The memories found for a question are poor. Decide whether another search could do better, "
    'as JSON: {"retry": true, "corrected_query": "...", "alternative_strategy": "...", '
    '"reason": "..."}. alternative_strategy is semantic_only, episodic_only or skip.'
)


_SKIP: Final = "skip"
_ALTERNATIVES: Final = {
    "semantic_only": (WorkerName.SEMANTIC,),
    "episodic_only": (WorkerName.EPISODIC,),
}
"""The searches of another attempt, by the strategy that the model names."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Query text and the searches that it is sent to."""

    text: str
    workers: tuple[WorkerName, ...]


class Supervisor:
    """Chooses searches with a language model; methods raise ``CompletionError`` when it fails."""

    def __init__(self, provider: CompletionProvider | None, *, max_workers: int) -> None:
        self._provider = provider
        self._max_workers = max_workers

    async def route(self, query: RetrievalQuery) -> Attempt:
        """Return the first attempt; semantic search alone if the model names no known search."""
        answer = await ask_for_json(
            self._provider,
            _ROUTE,
            {"Question": (_TAG_QUERY, query.text)},
            schema=_ROUTE_SCHEMA,
            max_tokens=96,
        )
        named = answer.get("workers")
        texts = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
        known = [WorkerName(name) for name in dict.fromkeys(texts) if name in set(WorkerName)]
        workers = tuple(known[: self._max_workers]) or (WorkerName.SEMANTIC,)
        return Attempt(query.text, workers)

    async def reflect(self, last: Attempt, found: tuple[ScoredMemory, ...]) -> Attempt | None:
        """Return the next attempt, or ``None`` when the results are good or can't be improved."""
        if not found:
            return Attempt(last.text, (WorkerName.SEMANTIC,))
        if sum(memory.combined_score for memory in found) / len(found) >= GOOD_ENOUGH:
            return None
        answer = await ask_for_json(
            self._provider,
            _REFLECT,
            {"Question": (_TAG_QUERY, last.text), "Memories": ("memory-entry", _shown(found))},
            schema=_REFLECT_SCHEMA,
            max_tokens=128,
        )
        strategy = answer.get("alternative_strategy")
        if answer.get("retry") is not True or strategy == _SKIP:
            return None
        corrected = answer.get("corrected_query")
        text = corrected.strip() if isinstance(corrected, str) else ""
        known = strategy if isinstance(strategy, str) else ""
        return Attempt(text or last.text, _ALTERNATIVES.get(known, last.workers))


def _shown(found: tuple[ScoredMemory, ...]) -> str:
    return "\n".join(
        f"[{memory.entry.category} | score: {memory.combined_score:.2f}] "
        f"{safe_text(memory.entry.content[:200])}"
        for memory in found[:5]
    )


# Reasons are left out of the shapes: small models ramble on in them until the answer is cut off.
_ROUTE_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "workers": {
            "type": "array",
            "items": {"type": "string", "enum": [name.value for name in WorkerName]},
            "minItems": 1,
            "maxItems": len(WorkerName),
        }
    },
    "required": ["workers"],
    "additionalProperties": False,
}
_REFLECT_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "retry": {"type": "boolean"},
        "alternative_strategy": {
            "type": "string",
            "enum": [*_ALTERNATIVES, _SKIP],
        },
        "corrected_query": {"type": "string"},
    },
    "required": ["retry", "alternative_strategy", "corrected_query"],
    "additionalProperties": False,
}

"""Which of several conversations about one subject stands first in an answer.

The later one does, unless its score is much lower; before both what says that it amends what was
decided, which names what no longer holds. About one subject are two that are near each other, and
nearly as near as anything else is to either: what is near depends on how much alike a project's
conversations are. Only memories of sessions and tasks are looked at, by the vectors that a search
read.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import Final

from synthorg_tui.memory.kinds import MemoryKind
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.hits import HitPlace
from synthorg_tui.memory.retrieval.wording import kind_of_memory

_NEAR: Final = 0.6
"""Cosine similarity below which two conversations are about different things."""
_NEARLY: Final = 0.06
"""How much less than the nearest of either two of one subject may be."""
_ENOUGH: Final = 0.75
"""Share of the score of an earlier one from which on a later one stands before it."""
_ENOUGH_TO_AMEND: Final = 0.4
_COMPARED: Final = 30
"""Memories that are compared, best first."""
_CONVERSATIONS: Final = frozenset({MemoryKind.SESSION, MemoryKind.TASK})
_AMENDS: Final = re.compile(
    r"\b(?:amend(?:s|ed|ing|ments?)?|supersed(?:es?|ed|ing)|overrul(?:es?|ed|ing)"
    r"|(?:updates?|changes?|corrections?) to (?:the|our|that)(?: \S+)? (?:rule|policy|decision|plan"
    r"|agreement|convention|limit|default)s?"
    r"|(?:revis|chang|updat|new|correct)(?:e?d|ing)? (?:rule|policy|decision|convention)"
    r"|(?:replac(?:es?|ed|ing)|instead of) (?:the|our) (?:old|former|previous|earlier|original))\b",
    re.IGNORECASE,
)


def latest_first(
    memories: Sequence[ScoredMemory], places: Mapping[str, HitPlace], *, now: datetime, moved: float
) -> tuple[list[ScoredMemory], dict[str, str]]:
    """Return the memories with the latest of a subject before the others.

    Also returns the id of what it was put before, by the id of each that was. Times ahead of
    ``now`` count as now; ``moved`` is how much higher similarities are than with the base embedder.
    """
    links = _links(memories[:_COMPARED], places, _NEAR + moved)
    order = [memory.entry.id for memory in memories]
    before: dict[str, str] = {}
    for memory in memories[:_COMPARED]:
        key = memory.entry.id
        others = [each.entry.id for each in links.get(key, ()) if _precedes(memory, each, now)]
        first = min(others, key=order.index, default=key)
        if order.index(first) < order.index(key):
            before[key] = first
            order.remove(key)
            order.insert(order.index(first), key)
    by_id = {memory.entry.id: memory for memory in memories}
    return [by_id[key] for key in order], before


def _precedes(memory: ScoredMemory, other: ScoredMemory, now: datetime) -> bool:
    amends, amended = (_AMENDS.search(each.entry.content) is not None for each in (memory, other))
    at, before = (min(each.entry.created_at, now) for each in (memory, other))
    enough = _ENOUGH if amends == amended else _ENOUGH_TO_AMEND
    is_last = at > before if amends == amended else amends
    return is_last and memory.combined_score >= enough * other.combined_score


def _links(
    memories: Sequence[ScoredMemory], places: Mapping[str, HitPlace], near: float
) -> dict[str, list[ScoredMemory]]:
    """The conversations about the same subject as each, by id."""
    vectors = {
        memory.entry.id: place.vector
        for memory in memories
        if kind_of_memory(memory) in _CONVERSATIONS
        and (place := places.get(memory.entry.id)) is not None
        and place.vector is not None
    }
    known = [memory for memory in memories if memory.entry.id in vectors]
    alike: list[tuple[float, ScoredMemory, ScoredMemory]] = []
    nearest: dict[str, float] = {}
    for one, other in combinations(known, 2):
        if _run_of(one) == _run_of(other):
            continue
        cosine = float(vectors[one.entry.id] @ vectors[other.entry.id])
        alike.append((cosine, one, other))
        for memory in (one, other):
            nearest[memory.entry.id] = max(cosine, nearest.get(memory.entry.id, near))
    links: dict[str, list[ScoredMemory]] = {}
    for cosine, one, other in alike:
        if cosine >= max(nearest[one.entry.id], nearest[other.entry.id]) - _NEARLY:
            links.setdefault(one.entry.id, []).append(other)
            links.setdefault(other.entry.id, []).append(one)
    return links


def _run_of(memory: ScoredMemory) -> str:
    """What a memory was drawn from; its own id where that isn't known."""
    return (memory.entry.metadata.source or memory.entry.id).partition("#")[0]

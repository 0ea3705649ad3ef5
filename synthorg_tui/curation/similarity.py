"""Lessons in force that say nearly the same as a proposal, or contradict it."""

import logging
import re
from collections.abc import Iterable, Sequence
from typing import Final

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.text import jaccard
from synthorg_tui.curation.models import Lesson, ProceduralMemoryProposal
from synthorg_tui.curation.registry import RegisteredSkill
from synthorg_tui.curation.rendering import stored_text
from synthorg_tui.curation.review import NearSkill
from synthorg_tui.curation.supersession import ExistingSkill, SupersessionVerdict, compare
from synthorg_tui.memory.errors import MemoryRetrievalError
from synthorg_tui.memory.extensions import ListedMemory, MemoryAdmin
from synthorg_tui.memory.models import MemoryQuery

NEAR: Final = 0.75
"""Cosine similarity of two lessons from which on a person should look at both.

With the bundled model one lesson in other words is at 0.76 to 0.84, another lesson about the same
command at 0.63 to 0.77.
"""

_log = logging.getLogger(__name__)
_LOOKED_AT: Final = 12
_WORD = re.compile(r"\w+")


async def near_skills(
    desk: MemoryAdmin, lesson: Lesson, records: Sequence[RegisteredSkill]
) -> tuple[NearSkill, ...]:
    """What is alike, most alike first, among procedural memories; each skill once.

    What would be replaced or contradicted is there however little it resembles; what was drawn
    from the same lesson isn't.
    """
    proposal = lesson.proposal
    by_memory = {memory_id: each for each in records for memory_id in each.memory_ids}
    query = MemoryQuery(
        text=stored_text(proposal),
        categories=frozenset({MemoryCategory.PROCEDURAL}),
        limit=_LOOKED_AT,
    )
    try:
        hits = {hit.id: hit for hit in (await desk.find(query)).hits}
    except MemoryRetrievalError as error:
        _log.warning("compared by words only: %s", error)
        hits = {}
    found = [_near(proposal, record, _similarity_of(proposal, record, hits)) for record in records]
    found += [
        NearSkill(hit.id, "", _first_line(hit.content), _similarity(proposal, hit), "partial")
        for hit in hits.values()
        if hit.id not in by_memory
    ]
    worth = (
        each
        for each in found
        if each.similarity >= NEAR or each.verdict != SupersessionVerdict.PARTIAL
    )
    return tuple(sorted(worth, key=lambda each: (-each.similarity, each.memory_id)))


def replaced_fully(
    proposal: ProceduralMemoryProposal, records: Iterable[RegisteredSkill]
) -> tuple[RegisteredSkill, ...]:
    """The skills whose place the proposal takes because it says all that they say."""
    return tuple(
        record
        for record in records
        if compare(proposal, _existing(record)).verdict is SupersessionVerdict.FULL
    )


def word_similarity(first: str, second: str) -> float:
    """Jaccard similarity of the words of two texts, in [0, 1]."""
    return jaccard(*(frozenset(_WORD.findall(text.lower())) for text in (first, second)))


def _near(
    proposal: ProceduralMemoryProposal, record: RegisteredSkill, similarity: float
) -> NearSkill:
    existing = _existing(record)
    return NearSkill(
        memory_id=existing.id,
        name=record.name,
        discovery=record.proposal.discovery,
        similarity=similarity,
        verdict=compare(proposal, existing).verdict.value,
    )


def _existing(record: RegisteredSkill) -> ExistingSkill:
    return ExistingSkill(next(iter(record.memory_ids), record.path), record.proposal)


def _similarity_of(
    proposal: ProceduralMemoryProposal, record: RegisteredSkill, hits: dict[str, ListedMemory]
) -> float:
    hit = next((hits[each] for each in record.memory_ids if each in hits), None)
    if hit is not None:
        return _similarity(proposal, hit)
    return word_similarity(stored_text(proposal), stored_text(record.proposal))


def _similarity(proposal: ProceduralMemoryProposal, hit: ListedMemory) -> float:
    """The cosine; that of the words when the embedder is away."""
    if hit.dense is None:
        return word_similarity(stored_text(proposal), hit.content)
    return min(1.0, max(0.0, hit.dense))


def _first_line(content: str) -> str:
    return content.partition("\n")[0].removeprefix("[DISCOVERY] ")

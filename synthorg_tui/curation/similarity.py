"""Active skills that say nearly the same as a proposal, or contradict it.

Two measures meet here: the embedding finds what is worth showing, the words decide (in
``supersession``) what a proposal replaces. Nothing here changes a skill.
"""

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
_MAX_HITS: Final = 12
_WORD = re.compile(r"\w+")


async def near_skills(
    store: MemoryAdmin, lesson: Lesson, records: Sequence[RegisteredSkill]
) -> tuple[NearSkill, ...]:
    """Return the skills and procedural memories that resemble a lesson, most similar first.

    ``records`` are the skills to compare with; each is returned at most once. One that the lesson
    would replace or contradict is included however little it resembles. Memories without a skill
    are searched for in ``store``.
    """
    proposal = lesson.proposal
    hits = await _hits(store, proposal)
    of_skills = {memory_id for record in records for memory_id in record.memory_ids}
    near = [_near(proposal, record, _similarity_of(proposal, record, hits)) for record in records]
    near += [
        NearSkill(
            memory_id=hit.id,
            name="",
            discovery=hit.content.partition("\n")[0].removeprefix("[DISCOVERY] "),
            similarity=_similarity(proposal, hit),
            verdict="partial",
        )
        for hit in hits.values()
        if hit.id not in of_skills
    ]
    shown = (
        skill
        for skill in near
        if skill.similarity >= NEAR or skill.verdict != SupersessionVerdict.PARTIAL
    )
    return tuple(sorted(shown, key=lambda skill: (-skill.similarity, skill.memory_id)))


async def _hits(store: MemoryAdmin, proposal: ProceduralMemoryProposal) -> dict[str, ListedMemory]:
    query = MemoryQuery(
        text=stored_text(proposal),
        categories=frozenset({MemoryCategory.PROCEDURAL}),
        limit=_MAX_HITS,
    )
    try:
        return {hit.id: hit for hit in (await store.find(query)).hits}
    except MemoryRetrievalError as error:
        _log.warning("compared by words only: %s", error)
        return {}


def replaced_fully(
    proposal: ProceduralMemoryProposal, records: Iterable[RegisteredSkill]
) -> tuple[RegisteredSkill, ...]:
    """Return the skills that the proposal replaces because it says all that they say."""
    return tuple(
        record
        for record in records
        if compare(proposal, _existing(record)).verdict is SupersessionVerdict.FULL
    )


def word_similarity(first: str, second: str) -> float:
    """Return the Jaccard similarity of the words of two texts, in [0, 1]."""
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
    hit = next((hits[key] for key in record.memory_ids if key in hits), None)
    if hit is not None:
        return _similarity(proposal, hit)
    return word_similarity(stored_text(proposal), stored_text(record.proposal))


def _similarity(proposal: ProceduralMemoryProposal, hit: ListedMemory) -> float:
    """The cosine similarity, or that of the words without an embedder."""
    if hit.dense is None:
        return word_similarity(stored_text(proposal), hit.content)
    return min(1.0, max(0.0, hit.dense))

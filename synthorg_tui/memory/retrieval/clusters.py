"""Memories that say the same as one line of an answer: how often they were seen, and when last.

What is alike is decided where merging is planned, so that an answer and a plan agree. The one with
the best score stands for its cluster. All are members of the explanation, and can be asked for by
their ids. Which of several facts of one key holds is decided where they are read, not here.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from synthorg_tui.core.text import counted
from synthorg_tui.memory.consolidation.duplicates import Comparable, clusters_of
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.hits import CopiesOf, HitPlace
from synthorg_tui.memory.retrieval.tags import parse_tags

MAX_COMPARED: Final = 100
"""Memories of an answer that are compared, best first."""


class OneLine(NamedTuple):
    """The memories of an answer without those that another stands for.

    ``stands_for`` has the ids of all that a memory stands for, its own excepted, and ``seen`` how
    often they were seen, in words; ``in_place_of`` is the id of what stands for a memory that is
    left out.
    """

    memories: tuple[ScoredMemory, ...]
    stands_for: Mapping[str, tuple[str, ...]]
    seen: Mapping[str, str]
    in_place_of: Mapping[str, str]


def lessons_alone(
    memories: Sequence[ScoredMemory], made_of: Mapping[str, Collection[str]]
) -> tuple[list[ScoredMemory], dict[str, str]]:
    """Return the memories without those that a lesson among them was made of.

    The lesson comes at the place of the best one of them, if that is better than its own: what one
    of them would have told is told. ``made_of`` is by the lesson's id. Also returns the id of the
    lesson by the ids of those that it replaces; a lesson only replaces what is as sensitive.
    """
    known = {memory.entry.id: memory for memory in memories}
    replaced: dict[str, str] = {}
    for lesson in (key for key in known if key in made_of):
        mark = parse_tags(known[lesson].entry.metadata.tags).sensitivity.value
        for key in made_of[lesson]:
            if (
                key in known
                and key not in made_of
                and parse_tags(known[key].entry.metadata.tags).sensitivity.value == mark
            ):
                replaced.setdefault(key, lesson)
    heads = dict.fromkeys(replaced.get(key, key) for key in known)
    return [known[key] for key in heads], replaced


def one_line_each(
    memories: Sequence[ScoredMemory],
    copies: Mapping[str, CopiesOf],
    *,
    now: datetime,
    places: Mapping[str, HitPlace] = MappingProxyType({}),
) -> OneLine:
    """Return one memory for each cluster, at the place of its best one.

    ``copies`` are those that a search left out already, by the id of the one that it returned.
    ``places`` are of the memories; those without a vector are alike only by their words.
    """
    first = {memory.entry.id: memory for memory in memories[:MAX_COMPARED]}
    rank = {key: number for number, key in enumerate(first)}
    stands_for = {key: copies[key].ids for key in first if key in copies}
    last = {key: copies[key].last for key in stands_for}
    in_place_of: dict[str, str] = {}
    compared = [_comparable(each, places.get(key, HitPlace())) for key, each in first.items()]
    for cluster in clusters_of(compared):
        best = min(cluster.members, key=rank.__getitem__)
        others = [key for key in cluster.members if key != best]
        more = [key for member in cluster.members for key in stands_for.pop(member, ())]
        stands_for[best] = (*others, *more)
        last[best] = max([cluster.last, *(last[key] for key in cluster.members if key in last)])
        in_place_of.update(dict.fromkeys(others, best))
    left = [memory for key, memory in first.items() if key not in in_place_of]
    last = {key: max(last[key], first[key].entry.created_at) for key in stands_for}
    seen = {key: seen_words(len(ids) + 1, last[key], now) for key, ids in stands_for.items()}
    return OneLine((*left, *memories[MAX_COMPARED:]), stands_for, seen, in_place_of)


def lines_of(
    entries: Sequence[MemoryEntry],
    places: Mapping[str, HitPlace],
    made_of: Mapping[str, Collection[str]],
    *,
    now: datetime,
) -> tuple[MemoryEntry, ...]:
    """Return the memories of an answer, best first, one for each line that it should have.

    Each knows how often it was seen, the copies included that a search left out already.
    """
    scored = [
        ScoredMemory(entry=entry, relevance_score=s, recency_score=0, combined_score=s)
        for entry, s in ((entry, 1.0 / place) for place, entry in enumerate(entries, 1))
    ]
    by_id = {entry.id: entry for entry in entries}
    alone, _ = lessons_alone(scored, made_of)
    lines = one_line_each(alone, {}, now=now, places=places)
    found = []
    for memory in lines.memories:
        same = [by_id[key] for key in (memory.entry.id, *lines.stands_for.get(memory.entry.id, ()))]
        times = sum(entry.seen_times for entry in same)
        last = max(entry.last_seen or entry.created_at for entry in same) if times > 1 else None
        found.append(memory.entry.model_copy(update={"seen_times": times, "last_seen": last}))
    return tuple(found)


def seen_words(times: int, last: datetime | None, now: datetime | None = None) -> str:
    """Return how often and when last: ``seen 4 times, last on 12 Feb``; empty for once.

    The year is left out if it is that of ``now``.
    """
    if times < 2 or last is None:
        return ""
    day = f"{last.day} {last:%b}" + ("" if now and last.year == now.year else f" {last.year}")
    return f"seen {counted(times, 'time')}, last on {day}"


def _comparable(memory: ScoredMemory, place: HitPlace) -> Comparable:
    entry: MemoryEntry = memory.entry
    tags = parse_tags(entry.metadata.tags)
    # Facts are one line where they say the same; of others of one key all that hold are told.
    key = f"{tags.fact_key}\n{entry.content}" if tags.fact_key is not None else None
    return Comparable(
        id=entry.id,
        content=entry.content,
        created_at=entry.created_at,
        category=entry.category,
        agent_id=entry.agent_id,
        project=place.project,
        audience=f"{tags.sensitivity} {entry.namespace} {memory.is_shared}",
        key=key,
        confidence=entry.metadata.confidence,
        vector=place.vector,
    )

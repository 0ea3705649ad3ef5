"""Memories that say the same as one line of an answer: how often they were seen, and when last.

What is alike is decided where merging is planned, so that an answer and a plan agree. The one with
the best score stands for its cluster, unless of facts with one key a newer one says otherwise. All
are members of the explanation, and can be asked for by their ids.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from synthorg_tui.core.text import counted
from synthorg_tui.memory.consolidation.duplicates import (
    ClusterKind,
    Comparable,
    clusters_of,
)
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.hits import CopiesOf
from synthorg_tui.memory.retrieval.tags import parse_tags

MAX_COMPARED: Final = 100
"""Memories of an answer that are compared, best first."""


class OneLine(NamedTuple):
    """The memories of an answer without those that another stands for.

    ``stands_for`` has the ids of all that a memory stands for, its own excepted, and ``seen`` how
    often they were seen, in words; ``in_place_of`` is the id of what stands for a memory that is
    left out, with how the two are alike.
    """

    memories: tuple[ScoredMemory, ...]
    stands_for: Mapping[str, tuple[str, ...]]
    seen: Mapping[str, str]
    in_place_of: Mapping[str, tuple[str, ClusterKind]]


def one_line_each(
    memories: Sequence[ScoredMemory], copies: Mapping[str, CopiesOf], *, now: datetime
) -> OneLine:
    """Return one memory for each cluster, at the place of its best one.

    ``copies`` are those that a search left out already, by the id of the one that it returned.
    """
    first = memories[:MAX_COMPARED]
    by_id = {memory.entry.id: memory for memory in first}
    place = {key: number for number, key in enumerate(by_id)}
    heads: dict[str, ScoredMemory] = {}
    stands_for = {key: copies[key].ids for key in by_id if key in copies}
    last = {key: copies[key].last for key in stands_for}
    in_place_of: dict[str, tuple[str, ClusterKind]] = {}
    for cluster in clusters_of([_comparable(memory) for memory in first]):
        best = min(cluster.members, key=place.__getitem__)
        kept = cluster.kept if cluster.kind is ClusterKind.SAME_KEY else best
        heads[best] = by_id[kept]
        others = [key for key in cluster.members if key != kept]
        more = [key for member in cluster.members for key in stands_for.pop(member, ())]
        stands_for[kept] = (*others, *more)
        last[kept] = max([cluster.last, *(last[key] for key in cluster.members if key in last)])
        in_place_of.update(dict.fromkeys(others, (kept, cluster.kind)))
    chosen = [heads.get(key, memory) for key, memory in by_id.items()]
    left = [m for m in chosen if m.entry.id not in in_place_of or m in heads.values()]
    seen = {
        key: _seen(len(ids) + 1, max(last[key], by_id[key].entry.created_at), now)
        for key, ids in stands_for.items()
    }
    return OneLine((*_once(left), *memories[MAX_COMPARED:]), stands_for, seen, in_place_of)


def _once(memories: Sequence[ScoredMemory]) -> list[ScoredMemory]:
    return list({memory.entry.id: memory for memory in memories}.values())


def _comparable(memory: ScoredMemory) -> Comparable:
    entry: MemoryEntry = memory.entry
    tags = parse_tags(entry.metadata.tags)
    audience = f"{tags.sensitivity} {entry.namespace} {memory.is_shared}"
    return Comparable(
        id=entry.id,
        content=entry.content,
        created_at=entry.created_at,
        category=entry.category,
        agent_id=entry.agent_id,
        audience=audience,
        key=tags.fact_key,
        confidence=entry.metadata.confidence,
    )


def _seen(times: int, last: datetime, now: datetime) -> str:
    """How often and when last: ``seen 4 times, last on 12 Feb``, with the year if it is another."""
    day = f"{last.day} {last:%b}" + ("" if last.year == now.year else f" {last.year}")
    return f"seen {counted(times, 'time')}, last on {day}"

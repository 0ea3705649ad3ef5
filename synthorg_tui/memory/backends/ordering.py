"""The orders in which backends return memories, total so that paging and tests can rely on them."""

from collections.abc import Iterable

from synthorg_tui.memory.models import MemoryEntry


def newest_first(entries: Iterable[MemoryEntry]) -> tuple[MemoryEntry, ...]:
    """By creation time, latest first; ties by id."""
    by_id = sorted(entries, key=lambda entry: entry.id)
    return tuple(sorted(by_id, key=lambda entry: entry.created_at, reverse=True))


def by_relevance(entries: Iterable[MemoryEntry], *, default: float) -> tuple[MemoryEntry, ...]:
    """By score, best first, where no score counts as ``default``; ties newest first."""

    def relevance(entry: MemoryEntry) -> float:
        return default if entry.relevance_score is None else entry.relevance_score

    return tuple(sorted(newest_first(entries), key=relevance, reverse=True))

"""Rows of the database as the memories of the contract."""

from datetime import UTC

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.backends.local.rows import FoundRow, MemoryRow
from synthorg_tui.memory.models import MemoryEntry, MemoryMetadata
from synthorg_tui.persistence.times import aware


def entry_from_row(row: MemoryRow | FoundRow, *, relevance: float | None = None) -> MemoryEntry:
    """The memory as the rest of the program sees it."""
    return MemoryEntry(
        id=row.id,
        agent_id=row.agent_id,
        namespace=row.namespace,
        category=MemoryCategory(row.category),
        content=row.content,
        metadata=MemoryMetadata(source=row.source, confidence=row.confidence, tags=row.tags),
        created_at=row.created_at.replace(tzinfo=UTC),
        updated_at=aware(row.updated_at),
        expires_at=aware(row.expires_at),
        relevance_score=relevance,
    )

"""How a memory is written in Mem0 and read back; what other programs wrote there is read, too.

Everything that Mem0 has no field for is metadata under keys of our own. What is missing or makes no
sense is replaced, never refused: a memory that somebody else wrote badly is still a memory.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.memory.backends.kept import KeptMemory
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.listing import SHARED_OWNER, ChangeKind, MemoryRevision
from synthorg_tui.memory.models import DEFAULT_NAMESPACE, MemoryEntry, MemoryMetadata

_PREFIX: Final = "_synthorg_"
CATEGORY: Final = f"{_PREFIX}category"
CONFIDENCE: Final = f"{_PREFIX}confidence"
SOURCE: Final = f"{_PREFIX}source"
TAGS: Final = f"{_PREFIX}tags"
EXPIRES_AT: Final = f"{_PREFIX}expires_at"
PUBLISHER: Final = f"{_PREFIX}publisher"
NAMESPACE: Final = f"{_PREFIX}namespace"
LEVEL: Final = f"{_PREFIX}level"
SESSION: Final = f"{_PREFIX}session"
PROJECT: Final = f"{_PREFIX}project"
SOURCE_KIND: Final = f"{_PREFIX}source_kind"
KEY: Final = f"{_PREFIX}key"

_CHANGES: Final = {
    "ADD": ChangeKind.ADDED,
    "UPDATE": ChangeKind.EDITED,
    "DELETE": ChangeKind.DELETED,
}

BAD_CONFIDENCE: Final = 0.5
NO_CONFIDENCE: Final = 1.0

E = TypeVar("E", bound=StrEnum)

_NOT_ALLOWED: Final = re.compile(r"[\s%]")
"""What Mem0 refuses in a user's id, and the sign that stands for it."""


def user_of(agent_id: str) -> str:
    """Return the id of Mem0's user that stands for an agent."""
    return _NOT_ALLOWED.sub(lambda found: quote(found.group()), agent_id)


def metadata_of(memory: KeptMemory) -> dict[str, object]:
    """Return a memory's metadata in Mem0; what is empty or unset has no key."""
    entry, about = memory.entry, memory.entry.metadata
    values: dict[str, object] = {
        CATEGORY: entry.category.value,
        CONFIDENCE: about.confidence,
        SOURCE: about.source,
        TAGS: list(about.tags),
        EXPIRES_AT: entry.expires_at.isoformat() if entry.expires_at else None,
        PUBLISHER: entry.agent_id if memory.shared else None,
        NAMESPACE: entry.namespace,
        LEVEL: memory.level.value,
        SESSION: memory.session_id,
        PROJECT: memory.project,
        SOURCE_KIND: memory.source_kind.value,
        KEY: memory.key,
        "created_at": entry.created_at.isoformat(),
    }
    return {key: value for key, value in values.items() if value not in (None, [])}


def memory_of(item: Mapping[str, Any], now: datetime) -> KeptMemory | None:
    """Return the memory that an item of Mem0 is; ``None`` for one without a text or owner.

    ``now`` is when a memory was created that says nothing of it.
    """
    about = item.get("metadata") or {}
    owner = next((str(item[k]) for k in ("user_id", "agent_id", "run_id") if item.get(k)), "")
    owner = unquote(owner)
    shared = owner == SHARED_OWNER
    agent = str(about.get(PUBLISHER) or owner) if shared else owner
    text = item.get("memory")
    if not agent.strip() or not isinstance(text, str) or not text.strip():
        return None
    created, updated, expires = _times(item, about, now)
    entry = MemoryEntry(
        id=str(item["id"]),
        agent_id=agent,
        namespace=_words(about.get(NAMESPACE)) or DEFAULT_NAMESPACE,
        category=_one_of(MemoryCategory, about.get(CATEGORY), MemoryCategory.WORKING),
        content=text,
        metadata=MemoryMetadata(
            source=_words(about.get(SOURCE)),
            confidence=confidence_of(about.get(CONFIDENCE)),
            tags=tags_of(about.get(TAGS)),
        ),
        created_at=created,
        updated_at=updated,
        expires_at=expires,
    )
    return KeptMemory(
        entry,
        shared=shared,
        level=_one_of(MemoryLevel, about.get(LEVEL), MemoryLevel.PERSISTENT),
        session_id=_words(about.get(SESSION)),
        project=_words(about.get(PROJECT)),
        source_kind=_one_of(SourceKind, about.get(SOURCE_KIND), SourceKind.TOOL),
        key=_words(about.get(KEY)),
    )


def revision_of(row: Mapping[str, Any], number: int, now: datetime) -> MemoryRevision:
    """Return a line of Mem0's history as a revision; ``now`` is when one without a time was."""
    kind = _CHANGES.get(str(row.get("event")), ChangeKind.EDITED)
    times = (row.get("created_at"), row.get("updated_at"))
    at = time_of(times[0] if kind is ChangeKind.ADDED else times[1]) or time_of(times[0]) or now
    before, after = row.get("old_memory"), row.get("new_memory")
    return MemoryRevision(
        revision=number,
        memory_id=str(row.get("memory_id")),
        at=at,
        actor=_words(row.get("actor_id")) or "mem0",
        kind=kind,
        before={} if before is None else {"content": before},
        after={} if after is None else {"content": after},
    )


def confidence_of(value: object) -> float:
    """Return a confidence in [0, 1]; one that is no number is 0.5, a missing one 1."""
    if value is None:
        return NO_CONFIDENCE
    try:
        number = float(str(value))
    except ValueError:
        return BAD_CONFIDENCE
    return BAD_CONFIDENCE if math.isnan(number) else min(1.0, max(0.0, number))


def score_of(value: object) -> float | None:
    """Return a score in [0, 1]; ``None`` for what is no number."""
    if not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value):
        return None
    return min(1.0, max(0.0, float(value)))


def tags_of(value: object) -> tuple[str, ...]:
    """Return the tags in a list of whatever somebody wrote there."""
    tags = value if isinstance(value, list | tuple) else ()
    return tuple(dict.fromkeys(tag for tag in tags if isinstance(tag, str) and tag.strip()))


def time_of(value: object) -> datetime | None:
    """Return a time in UTC, which one without a zone is in; ``None`` for what is none."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _times(
    item: Mapping[str, Any], about: Mapping[str, Any], now: datetime
) -> tuple[datetime, datetime | None, datetime | None]:
    """When a memory was created, changed and ends; a missing creation is as early as it must be."""
    updated, expires = time_of(item.get("updated_at")), time_of(about.get(EXPIRES_AT))
    known = [at for at in (updated, expires) if at is not None]
    created = time_of(item.get("created_at")) or min(known, default=now)
    is_changed = updated is not None and updated > created
    is_after = expires is not None and expires >= created
    return created, updated if is_changed else None, expires if is_after else None


def _words(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _one_of(kind: type[E], value: object, default: E) -> E:
    try:
        return kind(str(value))
    except ValueError:
        return default

"""A memory as the database keeps it, and what is made from it."""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from synthorg_tui.memory.retrieval.tags import parse_tags

if TYPE_CHECKING:  # rows are listed before the models are loaded
    from synthorg_tui.memory.extensions import MemoryDraft

HISTORY_FIELDS = (
    "content",
    "category",
    "namespace",
    "tags",
    "confidence",
    "source",
    "level",
    "session_id",
    "project",
)
"""Fields whose change a person can look up."""


class MemoryRow(NamedTuple):
    """One row of ``memories``, columns in table order; times are UTC without a zone."""

    id: str
    revision: int
    agent_id: str
    shared: bool
    namespace: str
    category: str
    content: str
    source: str | None
    confidence: float
    tags: tuple[str, ...]
    level: str
    session_id: str | None
    project: str | None
    import_key: str | None
    draft_hash: str | None
    content_hash: str
    edited: bool
    created_at: datetime
    updated_at: datetime | None
    expires_at: datetime | None
    deleted_at: datetime | None
    fact_key: str | None
    sensitivity: str
    source_kind: str


class FoundRow(NamedTuple):
    """What of a row makes an entry; each column that isn't read saves a search some time."""

    id: str
    agent_id: str
    namespace: str
    category: str
    content: str
    source: str | None
    confidence: float
    tags: tuple[str, ...]
    created_at: datetime
    updated_at: datetime | None
    expires_at: datetime | None
    deleted_at: datetime | None


def _selected(names: Sequence[str]) -> str:
    return ", ".join(f"m.{'id::VARCHAR' if name == 'id' else name}" for name in names)


COLUMNS = MemoryRow._fields
SELECTED = _selected(COLUMNS)
FOUND = _selected(FoundRow._fields)


def row_from_sql(values: tuple[object, ...]) -> MemoryRow:
    """The row that a ``SELECT`` of ``SELECTED`` gave."""
    named = dict(zip(COLUMNS, values, strict=True))
    tags = named["tags"]
    named["tags"] = tuple(tags) if isinstance(tags, list) else ()
    return MemoryRow(**named)  # type: ignore[arg-type]


def found_from_sql(values: tuple[object, ...]) -> FoundRow:
    """The row that a ``SELECT`` of ``FOUND`` gave."""
    row = FoundRow._make(values)
    return row._replace(tags=tuple(row.tags))


def with_tags(row: MemoryRow, tags: Sequence[str]) -> MemoryRow:
    """The row with these tags and what they say."""
    traits = parse_tags(tags)
    return row._replace(
        tags=tuple(tags),
        fact_key=traits.fact_key,
        sensitivity=traits.sensitivity.value,
    )


def history_fields(row: MemoryRow) -> dict[str, object]:
    """What a history entry may show of a row."""
    known = row._asdict()
    shown = {name: known[name] for name in HISTORY_FIELDS}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in shown.items()}


def content_hash(content: str, salt: str) -> str:
    """Identifies a content inside this store; the salt keeps it from being guessed elsewhere."""
    return hashlib.blake2b(
        content.strip().encode(), key=bytes.fromhex(salt), digest_size=16
    ).hexdigest()


def draft_hash(draft: "MemoryDraft", salt: str) -> str:
    """Identifies everything an import says about a memory.

    Stores hold these: a field that is new to drafts must not change them.
    """
    said = draft.model_dump_json(exclude={"key", "source_kind"})
    return content_hash(said, salt)


def canonical_project(project: str | None) -> str | None:
    """A project path in the one form in which projects are compared."""
    return None if project is None else str(Path(project).expanduser().resolve())


def to_json(values: dict[str, object]) -> str:
    """Compact JSON of history fields."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))

"""A memory as the database stores it, and how rows are read from it.

Imported before the first list is on the screen: nothing here may need pydantic.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.paths import in_place
from synthorg_tui.core.projects import canonical_folder
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.retrieval.tags import parse_tags

if TYPE_CHECKING:  # rows are listed before the models are loaded
    from synthorg_tui.memory.extensions import MemoryDraft

MAX_MEMORY_CHARS = 4_000_000
"""Characters that one memory may have."""
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
STATE_FIELDS = ("expires_at", "deleted_at", "archived_at", "archived_why", "archived_mode")
"""Fields that say whether a memory is live, archived or deleted, and until when."""


class StoredMemory(NamedTuple):
    """One row of the ``memories`` table, in column order; times are naive UTC."""

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
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    recorded_at: datetime | None = None
    archived_at: datetime | None = None
    archived_why: str | None = None
    archived_mode: str | None = None

    @property
    def is_current(self) -> bool:
        """Whether it is neither deleted nor archived; it may have expired."""
        return self.deleted_at is None and self.archived_at is None

    @property
    def is_archived(self) -> bool:
        """Whether it is in the archive; what is deleted from there isn't."""
        return self.archived_at is not None and self.deleted_at is None

    def is_live(self, now: datetime) -> bool:
        """Return whether it is current and, at the (naive UTC) time ``now``, not expired."""
        return self.is_current and (self.expires_at is None or self.expires_at > now)


COLUMNS = StoredMemory._fields
_NOT_STORED = frozenset(
    {"dense", "sparse", "fused", "stands_on_replaced", "seen_times", "last_seen"}
)
_LISTED_COLUMNS = [field.name for field in fields(ListedMemory) if field.name not in _NOT_STORED]
_TRUE_TIMES = ("valid_from", "valid_to")
_PERHAPS_TIMES = (
    *("updated_at", "expires_at", "deleted_at", "archived_at", "recorded_at"),
    *_TRUE_TIMES,
)
_CATEGORIES = {category.value: category for category in MemoryCategory}
RowT = TypeVar("RowT", StoredMemory, ListedMemory)


class RowShape(NamedTuple, Generic[RowT]):
    """Columns that a query selects from ``memories m``, and the function that converts a row."""

    columns: str
    make: Callable[[tuple[Any, ...]], RowT]


def _columns(names: Sequence[str]) -> str:
    return ", ".join(f"m.{'id::VARCHAR' if name == 'id' else name}" for name in names)


def _stored(values: tuple[Any, ...]) -> StoredMemory:
    row = StoredMemory._make(values)
    return row._replace(tags=tuple(row.tags))


def _listed(values: tuple[Any, ...]) -> ListedMemory:
    made = dict(zip(_LISTED_COLUMNS, values, strict=True))
    made["category"] = _CATEGORIES[made["category"]]
    made["tags"] = tuple(made["tags"])
    made["created_at"] = made["created_at"].replace(tzinfo=UTC)
    for name in _PERHAPS_TIMES:
        if made[name] is not None:
            made[name] = made[name].replace(tzinfo=UTC)
    return ListedMemory(**made)


STORED = RowShape(_columns(COLUMNS), _stored)
LISTED = RowShape(_columns(_LISTED_COLUMNS), _listed)
"""Half the columns: each that isn't read saves a search some time."""


def listed(row: StoredMemory) -> ListedMemory:
    """Convert a database row to the plain data shown to a person."""
    known = row._asdict()
    return _listed(tuple(known[name] for name in _LISTED_COLUMNS))


def with_tags(row: StoredMemory, tags: Sequence[str]) -> StoredMemory:
    """Return the row with these tags, and with fact key and sensitivity derived from them."""
    traits = parse_tags(tags)
    return row._replace(
        tags=tuple(tags),
        fact_key=traits.fact_key,
        sensitivity=traits.sensitivity.value,
    )


def history_fields(row: StoredMemory) -> dict[str, object]:
    """Return the fields of a row that the history may record."""
    known = row._asdict()
    shown = {name: known[name] for name in HISTORY_FIELDS}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in shown.items()}


def state_changes(
    before: StoredMemory, after: StoredMemory
) -> tuple[dict[str, object], dict[str, object]]:
    """Return what the history records of a change of state: the fields before and after.

    Of what was only deleted, or only restored from that, nothing; times are in ISO 8601.
    """
    names = [name for name in STATE_FIELDS if getattr(before, name) != getattr(after, name)]
    if names == ["deleted_at"]:
        return {}, {}
    told = [{name: _plain(getattr(row, name)) for name in names} for row in (before, after)]
    return told[0], told[1]


def with_state(row: StoredMemory, fields: Mapping[str, Any]) -> StoredMemory:
    """Return the row with the state that ``state_changes`` recorded."""
    told = {name: fields[name] for name in STATE_FIELDS if name in fields}
    for name in ("expires_at", "deleted_at", "archived_at"):
        if told.get(name) is not None:
            told[name] = datetime.fromisoformat(told[name])
    return row._replace(**told)


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def true_times(row: StoredMemory) -> dict[str, object]:
    """Return from when until when a fact is true, as the history of a change records it."""
    known = row._asdict()
    return {name: known[name] and known[name].isoformat() for name in _TRUE_TIMES}


def with_true_times(row: StoredMemory, recorded: dict[str, Any]) -> StoredMemory:
    """Return the row with the times among the recorded fields of a change."""
    given = {name: recorded[name] for name in _TRUE_TIMES if name in recorded}
    times: dict[str, Any] = {name: at and datetime.fromisoformat(at) for name, at in given.items()}
    return row._replace(**times)


def require_length(content: str) -> None:
    """Raise ``MemoryStoreError`` for a text that is too long for one memory."""
    if len(content) > MAX_MEMORY_CHARS:
        raise MemoryStoreError(
            f"one memory holds {MAX_MEMORY_CHARS:,} characters at most; this text has "
            f"{len(content):,}",
            remedy="Store it in parts, or store the path of a file that has it.",
        )


def content_hash(content: str, salt: str) -> str:
    """Return a keyed hash that identifies a content within this store.

    The store's secret salt prevents others from confirming a guessed content by its hash.
    """
    return hashlib.blake2b(
        content.strip().encode(), key=bytes.fromhex(salt), digest_size=16
    ).hexdigest()


def draft_hash(draft: "MemoryDraft", salt: str) -> str:
    """Return a keyed hash of all fields of an imported draft, to detect changes.

    These hashes are stored, so a new field of drafts must not change them.
    """
    text = draft.model_dump_json(exclude={"key", "source_kind", *_TRUE_TIMES})
    return content_hash(text, salt)


def canonical_project(project: str | None) -> str | None:
    """Return a project path in canonical form (absolute, links resolved); ``None`` for ``None``.

    A copy that a run works in is the project that it is a copy of.
    """
    return None if project is None else in_place(canonical_folder(project))


def to_json(values: dict[str, object]) -> str:
    """Return history fields as compact JSON."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))

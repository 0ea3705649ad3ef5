"""Memories of an existing Mem0 store, with what each said before; its owner needn't be installed.

The store is a stranger's. Its vectors lie in pickles, which may run anything when they are loaded:
here a pickle can make nothing but plain values. Nothing is written there, and a store in use can be
read. What stands in metadata under our own keys is believed for what it says of the memory, never
for what would give it weight with agents.
"""

import io
import pickle
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.ingest import databases
from synthorg_tui.memory.backends.mem0.mapping import CATEGORY, memory_of, time_of
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.extensions import BatchStore, MemoryAdmin
from synthorg_tui.memory.listing import ORG_OWNER, SHARED_OWNER, BrowseFilter
from synthorg_tui.memory.models import MemoryDraft, MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.store.rows import MAX_MEMORY_CHARS

ACTOR: Final = "import"
BATCH: Final = 64
KEY: Final = "mem0:"
"""What keys and sources of these memories begin with; the id in Mem0 follows."""
MAX_AGENT_CHARS: Final = 200
MAX_TAG_CHARS: Final = 100
MAX_NODES: Final = 100_000
MAX_CHARS: Final = 16 * 1024 * 1024
MAX_DEPTH: Final = 32
"""Most that a memory's payload may hold: values, characters in them, and levels."""
NO_OWNER: Final = "it names no agent or user; --agent says whose it is to be"

_POINTS: Final = "storage.sqlite"
_HISTORY: Final = "history.db"
_POINT_CLASS: Final = ("qdrant_client.http.models.models", "PointStruct")
_OTHERS: Final = ("mem0migrations",)
_ENTITIES: Final = "_entities"
_WEIGHTY: Final = frozenset({"non-inferable", "core"})


class Mem0ReadError(DomainError):
    """A folder holds no Mem0 store that can be read."""

    exit_code = 2


class OldVersion(NamedTuple):
    """What a memory said once, and since when."""

    text: str
    at: datetime | None


@dataclass(slots=True)
class Mem0Store:
    """What was read: memories as Mem0 returns them, their former texts by id, and what wasn't.

    ``deleted`` is how many memories only the history still has; ``unreadable`` counts rows.
    """

    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    former: dict[str, list[OldVersion]] = field(default_factory=dict)
    deleted: int = 0
    unreadable: int = 0


@dataclass(slots=True)
class Mem0Report:
    """What an import of a Mem0 store did, or with ``dry_run`` would do.

    ``versions`` are former texts that were stored as history. ``agents`` counts the memories of
    each agent, ``skipped`` pairs ids with reasons.
    """

    dry_run: bool = False
    memories: int = 0
    added: int = 0
    updated: int = 0
    known: int = 0
    versions: int = 0
    deleted: int = 0
    unreadable: int = 0
    redactions: int = 0
    cancelled: bool = False
    agents: Counter[str] = field(default_factory=Counter)
    skipped: list[tuple[str, str]] = field(default_factory=list)


class _Plain:
    """In the place of a point of Qdrant: holds its fields, and does nothing."""

    def __new__(cls, *args: object, **kwargs: object) -> "_Plain":
        return super().__new__(cls)

    def __setstate__(self, state: object) -> None:
        fields = state.get("__dict__", {}) if isinstance(state, dict) else {}
        payload = fields.get("payload") if isinstance(fields, dict) else None
        self.payload = payload if isinstance(payload, dict) else {}
        self.id = fields.get("id") if isinstance(fields, dict) else None


class _PlainUnpickler(pickle._Unpickler):
    """The one in Python: that in C makes room for as many objects as a pickle says it has."""

    def find_class(self, module: str, name: str) -> type:
        if (module, name) == _POINT_CLASS:
            return _Plain
        raise pickle.UnpicklingError(f"{module}.{name} is no point")


def read_store(path: Path, history: Path | None = None) -> Mem0Store:
    """Read a Mem0 store: its folder, that of its embedded Qdrant, or its ``history.db`` alone.

    ``history`` names a ``history.db`` that lies elsewhere. Without a Qdrant the memories are those
    that the history says are there, which name no owner. Raises ``Mem0ReadError``.
    """
    found = Mem0Store()
    points = [] if path.is_file() else list(_collections(path))
    log = history or _history_beside(path)
    if not points and log is None:
        raise Mem0ReadError(
            f"{path}: no Mem0 store",
            remedy="Name the folder that holds its qdrant folder, or its history.db.",
        )
    try:
        for file in points:
            _read_points(file, found)
        if log is not None:
            _read_history(log, found, is_all=not points)
    except (OSError, ValueError) as error:
        raise Mem0ReadError(f"{path}: {error}") from error
    return found


class Mem0Import:
    """Stores the memories of a Mem0 store, each under its id there, so that it is stored once.

    Args:
        store: Where they are stored; must know keys, as the local backend does.
        desk: Tells which are there already.
        clock: When a memory was made that says nothing of it.
        agent: Whose all of them become; ``None`` leaves each to the agent or user it names.
    """

    def __init__(
        self, store: BatchStore, desk: MemoryAdmin, clock: Clock, agent: str | None = None
    ) -> None:
        self._store, self._desk, self._clock, self._agent = store, desk, clock, agent
        self._tally = RedactionTally()

    async def run(
        self,
        source: Mem0Store,
        *,
        dry_run: bool = False,
        progress: Callable[[Mem0Report], None] = lambda _: None,
        cancel: threading.Event | None = None,
    ) -> Mem0Report:
        """Store what is new or changed, former texts first; what is done before a stop is kept."""
        report = Mem0Report(dry_run, deleted=source.deleted, unreadable=source.unreadable)
        by_agent: dict[str, list[tuple[MemoryDraft, list[MemoryDraft]]]] = {}
        for memory_id, item in source.items.items():
            self._sort_in(memory_id, item, source.former.get(memory_id, []), by_agent, report)
        report.redactions = self._tally.total
        for agent, drafts in by_agent.items():
            for start in range(0, len(drafts), BATCH):
                if cancel is not None and cancel.is_set():
                    report.cancelled = True
                    return report
                await self._store_batch(agent, drafts[start : start + BATCH], report)
                progress(report)
        return report

    def _sort_in(
        self,
        memory_id: str,
        item: Mapping[str, Any],
        former: Sequence[OldVersion],
        by_agent: dict[str, list[tuple[MemoryDraft, list[MemoryDraft]]]],
        report: Mem0Report,
    ) -> None:
        report.memories += 1
        agent, draft = self._draft(memory_id, item)
        if draft is None:
            report.skipped.append((memory_id, agent))
            return
        report.agents[agent] += 1
        old = [self._said(draft, version) for version in former if _fits(version.text)]
        by_agent.setdefault(agent, []).append((draft, old))

    async def _store_batch(
        self,
        agent: str,
        drafts: Sequence[tuple[MemoryDraft, list[MemoryDraft]]],
        report: Mem0Report,
    ) -> None:
        there = await self._there([draft for draft, _ in drafts])
        fresh = [(draft, old) for draft, old in drafts if draft.key not in there]
        if report.dry_run:
            report.known += len(drafts) - len(fresh)
            report.added += len(fresh)
            report.versions += sum(len(old) for _, old in fresh)
            return
        added = dict[str, None]()
        for number in range(max((len(old) for _, old in fresh), default=0)):
            versions = [old[number] for _, old in fresh if number < len(old)]
            outcome = await self._store.store_many(agent, versions, actor=ACTOR)
            added |= dict.fromkeys(outcome.added)
            report.versions += len(outcome.added) + len(outcome.updated)
        last = [draft for draft, _ in drafts]
        outcome = await self._store.store_many(agent, last, actor=ACTOR)
        added |= dict.fromkeys(outcome.added)
        report.added += len(added)
        report.updated += sum(memory_id not in added for memory_id in outcome.updated)
        for key, reason in outcome.skipped:
            if reason in {"unchanged", "already stored"}:
                report.known += key in there or reason == "already stored"
            else:
                report.skipped.append(((key or "").removeprefix(KEY), reason))

    async def _there(self, drafts: Sequence[MemoryDraft]) -> frozenset[str | None]:
        """The keys of those that are stored already."""
        ids = tuple((draft.key or "").removeprefix(KEY) for draft in drafts)
        page = await self._desk.browse(BrowseFilter(sessions=ids), limit=2 * BATCH)
        return frozenset(entry.source for entry in page.entries)

    def _draft(self, memory_id: str, item: Mapping[str, Any]) -> tuple[str, MemoryDraft | None]:
        """The agent and what is to be stored, or why nothing is."""
        named = item if self._agent is None else {**item, "user_id": self._agent}
        kept = memory_of(named, self._clock.now())
        if kept is None:
            return (NO_OWNER if str(item.get("memory") or "").strip() else "it has no text"), None
        own_agent = item.get("agent_id") if self._agent is None and not kept.shared else None
        agent = str(own_agent or kept.entry.agent_id)
        if agent in (SHARED_OWNER, ORG_OWNER) or len(agent) > MAX_AGENT_CHARS:
            return "no agent can be called so", None
        if not _fits(kept.entry.content):
            return f"longer than {MAX_MEMORY_CHARS:,} characters", None
        is_ours = CATEGORY in (item.get("metadata") or {})
        request = MemoryStoreRequest(
            category=kept.entry.category if is_ours else MemoryCategory.SEMANTIC,
            content=redact_text(kept.entry.content, self._tally),
            metadata=MemoryMetadata(
                source=f"{KEY}{memory_id}",
                confidence=kept.entry.metadata.confidence,
                tags=tuple(filter(_is_plain, kept.entry.metadata.tags)),
            ),
            expires_at=kept.entry.expires_at or _end(item, kept.entry.created_at),
        )
        run = item.get("run_id")
        return agent, MemoryDraft(
            request=request,
            key=f"{KEY}{memory_id}",
            created_at=kept.entry.created_at,
            level=kept.level,
            session_id=kept.session_id or (str(run)[:MAX_AGENT_CHARS] if run else None),
            project=kept.project,
            source_kind=SourceKind.IMPORT,
        )

    def _said(self, draft: MemoryDraft, version: OldVersion) -> MemoryDraft:
        content = redact_text(version.text, self._tally)
        return draft.model_copy(
            update={"request": draft.request.model_copy(update={"content": content})}
        )


def _collections(path: Path) -> Iterator[Path]:
    """The files of the collections of memories in a folder, or in its Qdrant's."""
    for folder in (path / "qdrant" / "collection", path / "collection", path):
        files = sorted(folder.glob(f"*/{_POINTS}")) if folder.is_dir() else []
        for file in files:
            name = file.parent.name
            if name not in _OTHERS and not name.endswith(_ENTITIES):
                yield file
        if files:
            return


def _history_beside(path: Path) -> Path | None:
    if path.is_file():
        return path
    known = (path / _HISTORY, path.parent / _HISTORY)
    return next((file for file in known if file.is_file()), None)


def _read_points(file: Path, found: Mem0Store) -> None:
    with databases.opened(file) as db:
        if not {"id", "point"} <= databases.columns(db, "points"):
            raise ValueError("no collection of an embedded Qdrant")
        for key in databases.keys(db, "SELECT rowid FROM points"):
            try:
                row = db.execute("SELECT point FROM points WHERE rowid = ?", (key,)).fetchone()
                point = _PlainUnpickler(io.BytesIO(row[0])).load()
                memory_id = _id_of(point)
                _require_small(point.payload)
            except Exception:  # whatever a broken or hostile pickle raises
                found.unreadable += 1
                continue
            found.items[memory_id] = _item_of(memory_id, point.payload)


def _id_of(point: object) -> str:
    if not isinstance(point, _Plain) or not isinstance(point.id, str):
        raise ValueError("no point")
    return point.id


def _require_small(payload: object) -> None:
    """Raise ``ValueError`` for values that are large when they are written out.

    What is referred to from several places counts each time: a few lists of each other, nested,
    are as large as all memory.
    """
    nodes, chars, waiting = 0, 0, [(payload, 0)]
    while waiting:
        value, depth = waiting.pop()
        inside: Collection[Any] = value if isinstance(value, list | tuple | set | frozenset) else ()
        if isinstance(value, dict):
            inside = (*value, *value.values())
        elif isinstance(value, str | bytes | bytearray):
            chars += len(value)
        elif isinstance(value, int):
            chars += value.bit_length() ** 2  # so much work it is to write it
        nodes += 1 + len(inside)
        if nodes > MAX_NODES or chars > MAX_CHARS or depth > MAX_DEPTH:
            raise ValueError("the values are too large")
        waiting.extend((each, depth + 1) for each in inside)


def _item_of(memory_id: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    about = {name: value for name, value in payload.items() if isinstance(name, str)}
    return {**about, "id": memory_id, "memory": payload.get("data"), "metadata": about}


def _read_history(file: Path, found: Mem0Store, *, is_all: bool) -> None:
    """Former texts of memories that are there; with ``is_all`` these themselves, too."""
    wanted = {"memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at"}
    lines: dict[str, list[tuple[Any, ...]]] = {}
    with databases.opened(file) as db:
        if not wanted <= databases.columns(db, "history"):
            raise ValueError("no history of Mem0")
        for key in databases.keys(db, "SELECT rowid FROM history ORDER BY rowid"):
            row = db.execute(
                "SELECT memory_id, event, new_memory, created_at, updated_at FROM history "
                "WHERE rowid = ?",
                (key,),
            ).fetchone()
            if row is not None:
                lines.setdefault(str(row[0]), []).append(row)
    for memory_id, rows in lines.items():
        texts = [OldVersion(r[2], time_of(r[4]) or time_of(r[3])) for r in rows if _is_text(r[2])]
        is_gone = rows[-1][1] == "DELETE"
        if is_all and texts and not is_gone:
            first = time_of(rows[0][3]) or datetime.now(UTC)
            item = {"memory": texts[-1].text, "created_at": first.isoformat()}
            found.items[memory_id] = {"id": memory_id, "metadata": {}, **item}
        elif is_gone:
            found.deleted += 1
        if memory_id in found.items:
            now = found.items[memory_id]["memory"]
            found.former[memory_id] = texts[:-1] if texts and texts[-1].text == now else texts


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _fits(text: str) -> bool:
    return len(text) <= MAX_MEMORY_CHARS


def _is_plain(tag: str) -> bool:
    """Whether a tag means nothing to us: others say how a memory is handled."""
    return ":" not in tag and tag not in _WEIGHTY and len(tag) <= MAX_TAG_CHARS


def _end(item: Mapping[str, Any], created: datetime) -> datetime | None:
    """When a memory ends by Mem0's own date, if that is after it was made."""
    end = time_of(item.get("expiration_date"))
    return end if end is not None and end > created else None

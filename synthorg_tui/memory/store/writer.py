"""Stores memories: one, a batch of an import, or several changes in one transaction.

Decides what is stored, from the policy, from what an import brought before and from what was
deleted. How rows, vectors and history are written is in ``writes``.
"""

import logging
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.memory.enums import ArchiveReason, EdgeKind, SourceKind
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.memory.extensions import Archiving, BundleOutcome, MemoryBundle, NewMemory
from synthorg_tui.memory.filter import NON_INFERABLE_TAG
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import AGENT_IS_FULL, BatchOutcome, MemoryDraft, MemoryStoreRequest
from synthorg_tui.memory.org.erasing import erase_facts
from synthorg_tui.memory.org.store import OrgAct, OrgStore, carry_out
from synthorg_tui.memory.retrieval.tags import parse_tags
from synthorg_tui.memory.shared import require_namespace
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.edges import MemoryEdge, add_edges
from synthorg_tui.memory.store.facts import require_fact
from synthorg_tui.memory.store.policy import AgeRules
from synthorg_tui.memory.store.room import Room
from synthorg_tui.memory.store.rows import (
    StoredMemory,
    canonical_project,
    content_hash,
    draft_hash,
    listed,
    require_length,
)
from synthorg_tui.memory.store.writes import Changes
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive, naive_utc
from synthorg_tui.providers.embedding.protocol import Vectors

_log = logging.getLogger(__name__)

T = TypeVar("T")


class MemoryWriter:
    """Stores single memories of agents, batches of imports, and bundles of a person's changes."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def store(
        self,
        agent_id: str,
        request: MemoryStoreRequest,
        *,
        shared: bool = False,
        visibility: Visibility | None = None,
    ) -> str:
        """Store one memory and return its id; raises ``MemoryStoreError``.

        ``visibility`` is the session and project that the memory belongs to.
        """
        level = self._required_level(agent_id)
        _advise(request)
        draft = MemoryDraft(
            request=request,
            level=MemoryLevel.PERSISTENT if shared else level,
            session_id=visibility.session_id if visibility else None,
            project=visibility.project if visibility else None,
            source_kind=SourceKind.TOOL,
        )
        row = self._row(agent_id, draft, self._core.clock.now(), shared=shared)
        if row.expires_at is not None and row.expires_at < row.created_at:
            raise MemoryStoreError(f"the memory has expired already ({request.expires_at})")
        (vector,) = await self._core.embed([row.content])

        def work(changes: Changes) -> None:
            if not shared:
                Room(changes, self._core, agent_id, [row]).require()
            changes.add([(row, vector)], actor=agent_id)

        await self._core.change(work)
        return row.id

    async def change_together(
        self,
        bundle: MemoryBundle,
        within: Callable[[Connection, BundleOutcome], T],
        *,
        actor: str,
    ) -> T:
        """Apply a bundle, run ``within`` in the same transaction, and return its result.

        Raises ``MemoryStoreError`` when the policy doesn't let an agent store memories, or no more
        of them, and what ``OrgStore.change`` does.
        """
        rows = self._rows_of(bundle.add)
        vectors = await self._core.embed([row.content for row in rows])
        fact_vectors = await OrgStore(self._core).vectors(bundle.org)

        def work(changes: Changes) -> T:
            removed = changes.remove(bundle.remove, actor=actor)
            if bundle.archive is not None:
                removed += _archive(changes, bundle.archive, rows, actor=actor)
            self._check_room(changes, rows)
            changes.add(list(zip(rows, vectors, strict=True)), actor=actor)
            restored = changes.restore(bundle.restore, actor=actor)
            purged = changes.purge(bundle.purge, actor=actor)
            erased = erase_facts(changes, bundle.purge, actor=actor)
            act = OrgAct(actor, is_decision=True)
            written = carry_out(changes, bundle.org, fact_vectors, act=act)
            if bundle.erases:
                changes.note_erased()
            outcome = BundleOutcome(
                added=tuple(row.id for row in rows),
                removed=tuple(map(listed, removed)),
                restored=tuple(map(listed, restored)),
                purged=(*(row.id for row in purged), *erased),
                org=written,
            )
            return within(changes.db, outcome)

        return await self._core.change(work)

    def _rows_of(self, memories: Sequence[NewMemory]) -> list[StoredMemory]:
        """Rows of memories that a person decided on; raises ``MemoryStoreError``."""
        _advise(*(memory.draft.request for memory in memories))
        now = self._core.clock.now()
        for memory in memories:
            self._required_level(memory.agent_id)
        return [
            self._row(memory.agent_id, memory.draft, now, shared=memory.shared)
            for memory in memories
        ]

    def _required_level(self, agent_id: str) -> MemoryLevel:
        level = self._core.policy.level(agent_id)
        if level is MemoryLevel.NONE:
            raise MemoryStoreError(f"agent {agent_id} has memory level none: nothing is stored")
        return level

    def _check_room(self, changes: Changes, rows: Sequence[StoredMemory]) -> None:
        """Make room for the rows of each agent; raises ``MemoryStoreError`` where there is none."""
        own = [row for row in rows if not row.shared]
        for agent_id in dict.fromkeys(row.agent_id for row in own):
            newcomers = [row for row in own if row.agent_id == agent_id]
            Room(changes, self._core, agent_id, newcomers).require()

    async def store_many(
        self,
        agent_id: str,
        drafts: Sequence[MemoryDraft],
        *,
        actor: str,
        shared: bool = False,
    ) -> BatchOutcome:
        """Store a batch of drafts, all or nothing; return what was added, updated and skipped.

        ``shared`` ones are read by all agents, and no agent's bound counts them.
        """
        _advise(*(draft.request for draft in drafts))
        now = self._core.clock.now()
        rows = [self._row(agent_id, draft, now, shared=shared) for draft in drafts]
        plan = await self._core.read(
            lambda db: ImportPlan(rows, naive_utc(now), self._core.ages).check(
                _Known.load(db, agent_id, rows)
            )
        )
        texts = list(dict.fromkeys(plan.contents()))
        vectors = dict(zip(texts, await self._core.embed(texts), strict=True))

        def work(changes: Changes) -> BatchOutcome:
            # Again, since others may have written while the batch was being embedded.
            known = _Known.load(changes.db, agent_id, rows)
            room = Room(changes, self._core, agent_id, rows)
            ages = self._core.ages
            settled = ImportPlan(rows, changes.now, ages, room=room.possible()).check(known)
            outcome = settled.carry_out(changes, vectors, actor)
            room.settle(settled.added)
            return outcome

        return await self._core.change(work)

    def _row(
        self, agent_id: str, draft: MemoryDraft, now: datetime, *, shared: bool
    ) -> StoredMemory:
        row = self._as_drafted(agent_id, draft, now, shared=shared)
        require_fact(row)
        return row

    def _as_drafted(
        self, agent_id: str, draft: MemoryDraft, now: datetime, *, shared: bool
    ) -> StoredMemory:
        require_length(draft.request.content)
        require_namespace(draft.request.namespace)
        request = _redacted(draft.request)
        created = draft.created_at or now
        traits = parse_tags(request.metadata.tags)
        level = self._core.policy.level(agent_id)
        return StoredMemory(
            id=str(uuid.uuid4()),
            revision=0,
            agent_id=agent_id,
            shared=shared,
            namespace=request.namespace,
            category=request.category.value,
            content=request.content,
            source=request.metadata.source,
            confidence=request.metadata.confidence,
            tags=request.metadata.tags,
            level=(level if level is MemoryLevel.NONE else draft.level or level).value,
            session_id=draft.session_id,
            project=canonical_project(draft.project),
            import_key=draft.key,
            draft_hash=draft_hash(draft, self._core.salt) if draft.key else None,
            content_hash=content_hash(request.content, self._core.salt),
            edited=False,
            created_at=naive_utc(created),
            updated_at=None,
            expires_at=naive(request.expires_at),
            deleted_at=None,
            fact_key=traits.fact_key,
            sensitivity=traits.sensitivity.value,
            source_kind=draft.source_kind.value,
            valid_from=naive(draft.valid_from),
            valid_to=naive(draft.valid_to),
            recorded_at=naive_utc(now),
        )


@dataclass(frozen=True, slots=True)
class _Known:
    """What the store holds of an agent under the keys and contents of a batch."""

    by_key: dict[str, StoredMemory]
    by_content: dict[str, StoredMemory]
    purged: frozenset[str]

    @classmethod
    def load(cls, db: Connection, agent_id: str, rows: Sequence[StoredMemory]) -> "_Known":
        keys = [row.import_key for row in rows if row.import_key]
        hashes = [row.content_hash for row in rows]
        shared = any(row.shared for row in rows)
        found = queries.imported(db, agent_id, keys, hashes, shared=shared)
        return cls(
            by_key={row.import_key: row for row in found if row.import_key},
            by_content={row.content_hash: row for row in found},
            purged=frozenset(queries.purged(db, agent_id, keys, hashes)),
        )


@dataclass(slots=True)
class ImportPlan:
    """Decision for each row of an imported batch: added, updated or skipped.

    ``room`` is how many more memories the agent may store; ``None`` for no limit. ``ages`` say when
    those end that have no expiry of their own.
    """

    rows: Sequence[StoredMemory]
    now: datetime
    ages: AgeRules
    room: int | None = None
    added: list[StoredMemory] = field(default_factory=list)
    updated: list[tuple[StoredMemory, StoredMemory]] = field(default_factory=list)
    skipped: list[tuple[str | None, str]] = field(default_factory=list)

    def check(self, known: _Known) -> "ImportPlan":
        """Decide on each row by comparing it with stored and purged memories; return this plan."""
        keys: set[str] = set()
        contents: set[str] = set()
        for row in self.rows:
            before = known.by_key.get(row.import_key) if row.import_key else None
            reason = self._unfit(row, keys, contents) or _refusal(row, before, known)
            if not reason and before is None and self.room is not None:
                reason = "" if len(self.added) < self.room else AGENT_IS_FULL
            if reason:
                self.skipped.append((row.import_key, reason))
                continue
            contents.add(row.content_hash)
            if row.import_key:
                keys.add(row.import_key)
            if before is None:
                self.added.append(row)
            else:
                self.updated.append((before, _updated(before, row)))
        return self

    def _unfit(self, row: StoredMemory, keys: set[str], contents: set[str]) -> str:
        if row.level == MemoryLevel.NONE.value:
            return "memory level is none"
        ends = self.ages.end_of(row.agent_id, row.category, row.created_at, row.expires_at)
        if ends is not None and ends <= max(self.now, row.created_at):
            return "expired"
        if row.import_key in keys or row.content_hash in contents:
            return "repeated in the batch"
        return ""

    def contents(self) -> Iterable[str]:
        """Yield the new or changed contents, which need a vector."""
        yield from (row.content for row in self.added)
        yield from (after.content for old, after in self.updated if old.content != after.content)

    def carry_out(
        self, changes: Changes, vectors: dict[str, Vectors | None], actor: str
    ) -> BatchOutcome:
        """Write the planned changes within a transaction and return the outcome."""
        changes.add([(row, vectors.get(row.content)) for row in self.added], actor=actor)
        for before, after in self.updated:
            changes.edit(before, after, vectors.get(after.content), actor=actor)
        return BatchOutcome(
            added=tuple(row.id for row in self.added),
            updated=tuple(after.id for _, after in self.updated),
            skipped=tuple(self.skipped),
        )


def _refusal(row: StoredMemory, before: StoredMemory | None, known: _Known) -> str:
    """Why a row isn't stored; empty when it is."""
    if known.purged & {row.import_key, row.content_hash}:
        return "purged"
    same = before or known.by_content.get(row.content_hash)
    if same is None:
        return ""
    if not same.is_current:
        return "deleted" if same.deleted_at is not None else "archived"
    if before is None:
        return "already stored"
    if before.draft_hash == row.draft_hash:
        return "unchanged"
    return "edited by hand" if before.edited else ""


def _updated(before: StoredMemory, row: StoredMemory) -> StoredMemory:
    return row._replace(
        id=before.id,
        created_at=min(before.created_at, row.created_at),
        valid_from=before.valid_from,
        valid_to=before.valid_to,
        recorded_at=before.recorded_at,
    )


def _redacted(request: MemoryStoreRequest) -> MemoryStoreRequest:
    """The request without secrets, for every author; most have none."""
    tally = RedactionTally()
    content = redact_text(request.content, tally)
    tags = tuple(redact_text(tag, tally) for tag in request.metadata.tags)
    if not tally.total:
        return request
    metadata = request.metadata.model_copy(update={"tags": tags})
    return request.model_copy(update={"content": content, "metadata": metadata})


def _archive(
    changes: Changes, what: Archiving, new: Sequence[StoredMemory], *, actor: str
) -> list[StoredMemory]:
    """Archive memories, with edges to what stands for them; returns them as they were before."""
    added = new[0].id if new else None
    known = queries.rows_by_id(changes.db, what.ids).values()
    rows = [row for row in known if row.is_current]
    changes.archive(rows, why=what.why, mode=what.mode, actor=actor)
    found = [MemoryEdge(added, one, EdgeKind.DERIVED_FROM) for one in what.derived if added]
    if what.kept and what.why is ArchiveReason.SUPERSEDED:
        found += [MemoryEdge(what.kept, row.id, EdgeKind.SUPERSEDES) for row in rows]
    elif what.kept:
        found += [MemoryEdge(row.id, what.kept, EdgeKind.DUPLICATE_OF) for row in rows]
    add_edges(changes.db, found, made_at=changes.now, made_by=what.made_by or actor)
    return rows


def _advise(*requests: MemoryStoreRequest) -> None:
    """The store guard: one hint in the log, never a refusal."""
    untagged = [r for r in requests if NON_INFERABLE_TAG not in r.metadata.tags]
    if untagged:
        _log.warning(
            "%d memories stored without the tag %s: category %s, %d characters",
            len(untagged),
            NON_INFERABLE_TAG,
            ", ".join(sorted({r.category.value for r in untagged})),
            sum(len(r.content) for r in untagged),
        )

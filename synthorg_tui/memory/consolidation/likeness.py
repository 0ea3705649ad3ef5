"""Finds memories that say the same, and older values of facts, for a plan.

Which memories are alike is ``duplicates``' to say; here the store's rows are put before it, and its
clusters become groups as far as the cap of a run lets them leave.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.text import counted, estimate_tokens
from synthorg_tui.memory.consolidation.duplicates import (
    Cluster,
    ClusterKind,
    Comparable,
    clusters_of,
)
from synthorg_tui.memory.consolidation.plan import (
    GroupKind,
    GroupMember,
    MemberRole,
    PlannedGroup,
)
from synthorg_tui.memory.consolidation.planner import (
    Draft,
    Look,
    ids_of,
    is_pinned,
    rows_of,
    watched,
)
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.plans import mark_of
from synthorg_tui.memory.store.rows import StoredMemory
from synthorg_tui.providers.embedding.protocol import Vectors

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

MAX_COMPARED: Final = 10_000
"""Memories whose texts and vectors are held at once; the next are compared among themselves."""

_BATCH: Final = 1000


class LikenessFinder:
    """Finds groups of kinds ``DUPLICATE``, other than copies to the letter, and ``SUPERSEDED``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def __call__(self, draft: Draft, look: Look) -> None:
        """Add to a draft what may leave because another says it, the newest compared first."""
        where = queries.live_where(now=self._core.clock.now(), agent=draft.agent_id)
        found = await self._core.read(partial(ids_of, where=where, order="m.created_at DESC, m.id"))
        ids = [key for key in found if key not in draft.taken]
        for start in range(0, len(ids), MAX_COMPARED):
            compared = await self._comparables(ids[start : start + MAX_COMPARED], look)
            clusters = await watched(asyncio.to_thread(clusters_of, compared), look)
            del compared
            for cluster in clusters:
                await self._take(draft, cluster, look)
        look.step(max(0, draft.live - len(ids)))

    async def _comparables(self, ids: Sequence[str], look: Look) -> list[Comparable]:
        compared: list[Comparable] = []
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            rows = await rows_of(self._core, batch, look)
            vectors = await self._core.read(partial(self._vectors, ids=batch))
            compared += [_comparable(row, vectors.get(row.id)) for row in rows]
            look.step(len(batch))
        return compared

    def _vectors(self, db: "Connection", ids: Sequence[str]) -> dict[str, Vectors]:
        import numpy as np

        blobs = queries.vectors_by_id(db, ids, self._core.embedder.fingerprint)
        return {key: np.frombuffer(blob, np.float32) for key, blob in blobs.items()}

    async def _take(self, draft: Draft, cluster: Cluster, look: Look) -> None:
        """Plan that the members of a cluster leave for the one that stands for all."""
        rows = await rows_of(self._core, cluster.members, look)
        first, others = rows[0], rows[1:]
        may = set(draft.may_leave(row.id for row in others if not is_pinned(row.tags)))
        leaving = [row for row in others if row.id in may]
        draft.held_back += max(0, len(leaving) - draft.room)
        leaving = leaving[: max(0, draft.room)]
        if not leaving or first.id in draft.taken:
            return
        kind = GroupKind.DUPLICATE
        if cluster.kind is ClusterKind.SAME_KEY:
            kind = GroupKind.SUPERSEDED
        draft.take(
            PlannedGroup(
                number=0,
                kind=kind,
                agent_id=draft.agent_id,
                members=(
                    GroupMember(first.id, MemberRole.KEPT, mark_of(first)),
                    *(GroupMember(r.id, MemberRole.ARCHIVED, mark_of(r)) for r in leaving),
                ),
                reason=_reason(cluster),
                texts=len(leaving),
                tokens_before=sum(estimate_tokens(row.content) for row in leaving),
                tokens_after=0,
            )
        )


def _comparable(row: StoredMemory, vector: Vectors | None) -> Comparable:
    session = row.session_id if row.level == "session" else None
    audience = f"{row.level} {session} {row.shared} {row.sensitivity} {row.namespace}"
    return Comparable(
        id=row.id,
        content=row.content,
        created_at=row.created_at.replace(tzinfo=UTC),
        category=row.category,
        agent_id=row.agent_id,
        project=row.project,
        audience=audience,
        key=row.fact_key,
        confidence=row.confidence,
        pinned=is_pinned(row.tags),
        by_person=row.source_kind == SourceKind.OPERATOR,
        vector=vector,
    )


def _reason(cluster: Cluster) -> str:
    count = cluster.count
    return {
        ClusterKind.EXACT: f"the same text {counted(count, 'time')}, tagged differently",
        ClusterKind.SAME_KEY: f"the newest of {counted(count, 'value')} of one fact stays",
        ClusterKind.SAME_FAILURE: f"one failure put right the same way {counted(count, 'time')}",
        ClusterKind.NEAR: f"nearly the same words {counted(count, 'time')}",
    }[cluster.kind]

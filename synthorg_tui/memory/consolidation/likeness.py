"""Finds memories that say the same, and older values of facts, for a plan.

Which memories are alike is ``duplicates``' to say; here the store's rows are put before it, and its
clusters become groups as far as the cap of a run lets them leave.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC
from functools import partial
from typing import Any, Final

from synthorg_tui.core.text import counted
from synthorg_tui.memory.consolidation.duplicates import (
    Cluster,
    ClusterKind,
    Comparable,
    clusters_of,
)
from synthorg_tui.memory.consolidation.plan import GroupKind
from synthorg_tui.memory.consolidation.planner import (
    Brief,
    Look,
    PlanDraft,
    briefs_of,
    group_of,
    is_pinned,
    watched,
)
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import Core
from synthorg_tui.persistence.port import Connection

MAX_COMPARED: Final = 10_000
"""Memories whose texts and vectors are held at once; the next are compared among themselves."""


async def find_alike(core: Core, draft: PlanDraft, look: Look) -> None:
    """Add to a draft what may leave because another says it, the newest compared first.

    These are groups of kinds ``DUPLICATE``, other than copies to the letter, and ``SUPERSEDED``.
    """
    where = core.live_where(agent=draft.agent_id)
    where.values.insert(0, core.embedder.fingerprint)
    for start in range(0, draft.live, MAX_COMPARED):
        look.step()
        compared = await core.read(partial(_comparables, where=where, start=start))
        compared = [memory for memory in compared if memory.id not in draft.taken]
        look.step(len(compared))
        clusters = await watched(asyncio.to_thread(clusters_of, compared), look)
        del compared
        members = (key for cluster in clusters for key in cluster.members)
        briefs = await briefs_of(core, members, look)
        for cluster in clusters:
            _take(draft, cluster, briefs)
    look.step(draft.live)


def _take(draft: PlanDraft, cluster: Cluster, briefs: Mapping[str, Brief]) -> None:
    """Plan that the members of a cluster leave for the one that stands for all."""
    may = draft.may_leave(cluster.members[1:])
    leaving = [key for key in may if key in briefs and not briefs[key].is_pinned]
    draft.held_back += max(0, len(leaving) - draft.room)
    leaving = leaving[: max(0, draft.room)]
    if not leaving or cluster.kept in draft.taken or cluster.kept not in briefs:
        return
    is_fact = cluster.kind is ClusterKind.SAME_KEY
    kind = GroupKind.SUPERSEDED if is_fact else GroupKind.DUPLICATE
    count = cluster.count
    reason = {
        ClusterKind.EXACT: f"the same text {counted(count, 'time')}, tagged differently",
        ClusterKind.SAME_KEY: f"the newest of {counted(count, 'value')} of one fact stays",
        ClusterKind.SAME_FAILURE: f"one failure put right the same way {counted(count, 'time')}",
        ClusterKind.NEAR: f"nearly the same words {counted(count, 'time')}",
    }[cluster.kind]
    draft.take(group_of(draft, kind, leaving, briefs, kept=cluster.kept, reason=reason))


def _comparables(db: Connection, where: queries.WhereClause, start: int) -> list[Comparable]:
    """The next memories to compare, the newest first; the first value is of the vectors."""
    rows = db.execute(
        "SELECT m.id::VARCHAR, m.content, m.created_at, m.category, m.agent_id, m.project, "
        "concat_ws(' ', m.level, CASE WHEN m.level = 'session' THEN m.session_id END, m.shared, "
        "m.sensitivity, m.namespace), m.fact_key, m.confidence, m.tags, m.source_kind, v.vector "
        "FROM memories m LEFT JOIN vectors v ON v.memory_id = m.id AND v.fingerprint = ? "
        f"WHERE {where} ORDER BY m.created_at DESC, m.id LIMIT {MAX_COMPARED} OFFSET {start:d}",
        where.values,
    )
    found: list[Comparable] = []
    while batch := rows.fetchmany(1000):
        found += map(_comparable, batch)
    return found


def _comparable(row: tuple[Any, ...]) -> Comparable:
    import numpy as np

    *fields, created_at, category, agent, project, audience, key, confidence, tags, kind, blob = row
    memory_id, content = fields
    return Comparable(
        id=memory_id,
        content=content,
        created_at=created_at.replace(tzinfo=UTC),
        category=category,
        agent_id=agent,
        project=project,
        audience=audience,
        key=key,
        confidence=confidence,
        pinned=is_pinned(tags),
        by_person=kind == SourceKind.OPERATOR,
        vector=None if blob is None else np.frombuffer(blob, np.float32),
    )

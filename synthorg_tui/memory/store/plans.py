"""The tables of consolidation plans: stored, read, brought forward, and erased with memories.

Plain functions on a connection, so that the state of a group changes in the transaction that
carries it out. What a plan means is in ``memory.consolidation``.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, Final

from synthorg_tui.memory.consolidation.plan import (
    ConsolidationPlan,
    GroupKind,
    GroupMember,
    GroupState,
    MemberRole,
    MergedText,
    PlannedGroup,
    TextAuthor,
)
from synthorg_tui.memory.consolidation.strategy import CONSOLIDATION_SOURCE
from synthorg_tui.memory.enums import ArchiveReason
from synthorg_tui.memory.store.queries import column, numbers
from synthorg_tui.memory.store.rows import StoredMemory
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import insert, naive_utc

_MERGED: Final = (ArchiveReason.DUPLICATE.value, ArchiveReason.CONSOLIDATED.value)
PROGRAM: Final = "consolidation"
"""Maker of the plans that the program makes by itself, and actor of all plans in the history."""

_GROUP_TYPES: Final = (
    *("BIGINT", "BIGINT", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "BIGINT", "BIGINT"),
    *("BIGINT", "BOOLEAN", "VARCHAR", "UUID", "VARCHAR", "VARCHAR", "VARCHAR"),
)
_MEMBER_TYPES: Final = ("BIGINT", "BIGINT", "UUID", "VARCHAR", "VARCHAR", "BIGINT")
_UNDECIDED: Final = f"('{GroupState.PROPOSED}', '{GroupState.LEFT}', '{GroupState.DROPPED}')"


def mark_of(row: StoredMemory) -> str:
    """Return a hash of what a plan depends on of a memory; ``content_hash`` in it is keyed."""
    parts = (
        *(row.content_hash, row.category, row.namespace, sorted(row.tags), row.agent_id),
        *(row.shared, row.level, row.project, row.session_id, str(row.expires_at)),
    )
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def put_plan(db: Connection, plan: ConsolidationPlan) -> ConsolidationPlan:
    """Store a plan and return it with its number."""
    (last,) = numbers(db, "SELECT max(number) FROM consolidation_plans")
    plan = replace(plan, number=last + 1)
    db.execute(
        "INSERT INTO consolidation_plans VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            *(plan.number, plan.agent_id, naive_utc(plan.made_at), plan.made_by),
            *(plan.memories_before, plan.tokens_before, plan.held_back),
        ],
    )
    groups = [_group_row(plan.number, group) for group in plan.groups]
    insert(db, "consolidation_groups", _GROUP_TYPES, groups)
    members = [
        (plan.number, group.number, one.id, one.role.value, one.mark, None)
        for group in plan.groups
        for one in group.members
    ]
    insert(db, "consolidation_members", _MEMBER_TYPES, members)
    return plan


def plans(
    db: Connection, numbers: Sequence[int] | None = None, *, limit: int = 1000
) -> tuple[ConsolidationPlan, ...]:
    """Return the plans with these numbers, or the latest ``limit``, newest first."""
    found = db.execute(
        "SELECT number, agent_id, made_at, made_by, memories, tokens, held_back "
        "FROM consolidation_plans WHERE ? OR number IN (SELECT unnest(?::BIGINT[])) "
        "ORDER BY number DESC LIMIT ?",
        [numbers is None, list(numbers or ()), limit],
    ).fetchall()
    groups = _groups(db, [row[0] for row in found])
    return tuple(
        ConsolidationPlan(
            number=number,
            agent_id=agent,
            made_at=made_at.replace(tzinfo=UTC),
            made_by=made_by,
            memories_before=memories,
            tokens_before=tokens,
            held_back=held_back,
            groups=tuple(groups.get(number, ())),
        )
        for number, agent, made_at, made_by, memories, tokens, held_back in found
    )


def numbers_with(db: Connection, state: GroupState) -> tuple[int, ...]:
    """Return the numbers of the plans that have a group in a state, oldest first."""
    sql = "SELECT DISTINCT plan FROM consolidation_groups WHERE state = ? ORDER BY 1"
    return tuple(column(db, sql, [state.value]))


def set_state(
    db: Connection,
    plan: int,
    groups: Iterable[int],
    state: GroupState,
    *,
    note: str = "",
    by: str | None = None,
    added: str | None = None,
) -> None:
    """Set the state of groups; a text that was stored, or is dropped, stays nowhere else."""
    is_over = state in (GroupState.APPLIED, GroupState.DROPPED, GroupState.UNDONE)
    db.execute(
        "UPDATE consolidation_groups SET state = ?, note = ?, "
        "decided_by = coalesce(?, decided_by), added = coalesce(?::UUID, added), "
        "text = CASE WHEN ? THEN NULL ELSE text END "
        "WHERE plan = ? AND number IN (SELECT unnest(?::BIGINT[]))",
        [state.value, note, by, added, is_over, plan, list(groups)],
    )


def note_revisions(db: Connection, plan: int, group: int) -> None:
    """Note the revisions that the archived memories of a group have in this transaction."""
    db.execute(
        "UPDATE consolidation_members SET revision = m.revision FROM memories m "
        "WHERE m.id = memory_id AND plan = ? AND number = ? AND role = ?",
        [plan, group, MemberRole.ARCHIVED.value],
    )


def revisions_of(db: Connection, plan: int, group: int) -> dict[str, int]:
    """Return the noted revisions of a group's archived memories, by id."""
    return dict(
        db.execute(
            "SELECT memory_id::VARCHAR, revision FROM consolidation_members "
            "WHERE plan = ? AND number = ? AND revision IS NOT NULL ORDER BY memory_id",
            [plan, group],
        ).fetchall()
    )


def texts_applied(db: Connection, plan: int, agent_id: str) -> tuple[int, int]:
    """Return how many texts of an agent left by a plan, and how many memories."""
    texts, memories = numbers(
        db,
        "WITH g AS (SELECT number, texts FROM consolidation_groups "
        "WHERE plan = $plan AND agent_id = $agent AND state = $state) "
        "SELECT coalesce(sum(texts), 0), (SELECT count(*) FROM consolidation_members "
        "WHERE plan = $plan AND revision IS NOT NULL AND number IN (SELECT number FROM g)) FROM g",
        {"plan": plan, "agent": agent_id, "state": GroupState.APPLIED.value},
    )
    return texts, memories


def merged_since(db: Connection, moment: datetime | None) -> int:
    """Count archived memories that another stands for, of those archived after ``moment``."""
    sql = (
        "SELECT count(*) FROM memories WHERE archived_at > coalesce(?, TIMESTAMP '-infinity') "
        "AND list_contains(?, archived_why)"
    )
    return numbers(db, sql, [naive_utc(moment) if moment else None, list(_MERGED)])[0]


def brought_back(db: Connection) -> frozenset[str]:
    """Return the ids of memories that a plan archived before and that are live again.

    They were restored on purpose: plans that the program makes by itself leave them alone.
    """
    sql = (
        "SELECT DISTINCT e.memory_id::VARCHAR FROM consolidation_members e "
        "JOIN memories m ON m.id = e.memory_id "
        "WHERE e.revision IS NOT NULL AND m.archived_at IS NULL AND m.deleted_at IS NULL"
    )
    return frozenset(column(db, sql))


def drop_undecided(db: Connection, agent_id: str | None, *, by_program: bool) -> None:
    """Delete the undecided groups of plans for one agent, or for all: a new plan replaces them.

    With ``by_program`` those of plans that the program made by itself, otherwise those of a
    person's plans. Plans without any group left are deleted.
    """
    whose = "agent_id IS NOT DISTINCT FROM $agent AND (made_by = $program) = $by_program"
    values = {"agent": agent_id, "program": PROGRAM, "by_program": by_program}
    plans_of = f"SELECT number FROM consolidation_plans WHERE {whose}"
    where = f"FROM consolidation_groups WHERE plan IN ({plans_of}) AND state IN {_UNDECIDED}"
    gone = f"SELECT plan, number {where}"
    db.execute(f"DELETE FROM consolidation_members WHERE (plan, number) IN ({gone})", values)
    db.execute(f"DELETE {where}", values)
    db.execute(
        f"DELETE FROM consolidation_plans WHERE {whose} "
        "AND number NOT IN (SELECT plan FROM consolidation_groups)",
        values,
    )


def erase_from_plans(db: Connection, ids: Sequence[str]) -> None:
    """Erase every stored text that is made of these memories, and the memories from all groups.

    A group that has one of them can't be carried out any more.
    """
    listed = "(SELECT unnest(?::UUID[]))"
    db.execute(
        "UPDATE consolidation_groups SET text = NULL, "
        "state = CASE WHEN state IN ('applied', 'undone') THEN state ELSE 'dropped' END "
        "WHERE (plan, number) IN "
        f"(SELECT plan, number FROM consolidation_members WHERE memory_id IN {listed})",
        [list(ids)],
    )
    db.execute(f"DELETE FROM consolidation_members WHERE memory_id IN {listed}", [list(ids)])


def made_of(db: Connection, ids: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the memories that repeat these, and what else they stand for and is archived.

    Purging one of these purges the first, which say the same: merged texts, and archived copies to
    the letter, which no list of live memories shows. It restores the second.
    """
    copies = column(
        db,
        "SELECT DISTINCT e.from_id::VARCHAR FROM memory_edges e "
        "JOIN memories copy ON copy.id = e.from_id JOIN memories m ON m.id = e.to_id "
        "WHERE e.kind = 'duplicate_of' AND copy.archived_why = 'duplicate' "
        "AND copy.content_hash = m.content_hash AND e.to_id IN (SELECT unnest(?::UUID[]))",
        [list(ids)],
    )
    merged = column(
        db,
        "SELECT DISTINCT e.from_id::VARCHAR FROM memory_edges e "
        "JOIN memories m ON m.id = e.from_id WHERE e.kind = 'derived_from' AND m.source = ? "
        "AND e.to_id IN (SELECT unnest(?::UUID[]))",
        [CONSOLIDATION_SOURCE, list(ids)],
    )
    others = column(
        db,
        "SELECT DISTINCT e.to_id::VARCHAR FROM memory_edges e JOIN memories m ON m.id = e.to_id "
        "WHERE e.kind = 'derived_from' AND m.archived_why = 'consolidated' "
        "AND e.from_id IN (SELECT unnest(?::UUID[])) AND e.to_id NOT IN (SELECT unnest(?::UUID[]))",
        [merged, list(ids)],
    )
    return [*merged, *copies], others


def _group_row(plan: int, group: PlannedGroup) -> tuple[object, ...]:
    text = None if group.text is None else json.dumps(asdict(group.text), default=str)
    return (
        *(plan, group.number, group.kind.value, group.agent_id, group.state.value, group.reason),
        *(group.texts, group.tokens_before, group.tokens_after, group.is_exact, text),
        *(group.added, group.item_id, group.note, group.decided_by),
    )


def _groups(db: Connection, numbers: Sequence[int]) -> dict[int, list[PlannedGroup]]:
    members: dict[tuple[int, int], list[GroupMember]] = {}
    for plan, number, memory_id, role, mark in db.execute(
        "SELECT plan, number, memory_id::VARCHAR, role, mark FROM consolidation_members "
        "WHERE plan IN (SELECT unnest(?::BIGINT[])) ORDER BY rowid",
        [list(numbers)],
    ).fetchall():
        one = GroupMember(memory_id, MemberRole(role), mark)
        members.setdefault((plan, number), []).append(one)
    found: dict[int, list[PlannedGroup]] = {}
    for row in db.execute(
        "SELECT plan, number, kind, agent_id, state, reason, texts, tokens_before, tokens_after, "
        "is_exact, text, added::VARCHAR, item_id, note, decided_by FROM consolidation_groups "
        "WHERE plan IN (SELECT unnest(?::BIGINT[])) ORDER BY plan, number",
        [list(numbers)],
    ).fetchall():
        found.setdefault(row[0], []).append(_group(row, tuple(members.get(row[:2], ()))))
    return found


def _group(row: tuple[Any, ...], members: tuple[GroupMember, ...]) -> PlannedGroup:
    _, number, kind, agent_id, state, reason, texts, before, after, is_exact, text, *rest = row
    added, item_id, note, decided_by = rest
    return PlannedGroup(
        number=number,
        kind=GroupKind(kind),
        agent_id=agent_id,
        members=members,
        reason=reason,
        texts=texts,
        tokens_before=before,
        tokens_after=after,
        is_exact=is_exact,
        text=None if text is None else _merged_text(json.loads(text)),
        state=GroupState(state),
        added=added,
        item_id=item_id,
        note=note,
        decided_by=decided_by,
    )


def _merged_text(fields: dict[str, Any]) -> MergedText:
    ends = fields["expires_at"]
    fields["expires_at"] = datetime.fromisoformat(ends) if ends else None
    fields["tags"] = tuple(fields["tags"])
    fields["written_by"] = TextAuthor(fields["written_by"])
    return MergedText(**fields)

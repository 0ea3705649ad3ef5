"""The one list of what the organisation knows, gathered from where each part of it is kept.

Facts are written here; core policies are in the settings, approved lessons in the registry, and
published memories among the memories: they are listed, never copied, so that each is told once. A
call of an agent is on record with the ids of all that it was handed, so it can be asked of each.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from synthorg_tui.core.enums import MemoryCategory, OrgFactCategory
from synthorg_tui.memory.kinds import KIND_SQL, MemoryKind
from synthorg_tui.memory.listing import MemoryUse
from synthorg_tui.memory.org.log import FactRow, all_rows, author_of, rows_at, tags_of
from synthorg_tui.memory.org.models import OrgFact
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.memory.store import queries
from synthorg_tui.organisation.models import OrgEntry, OrgOrigin
from synthorg_tui.persistence.call_log import RecordedCall, calls_given
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import aware, naive_utc

MAX_RECORDED: Final = 1_000
"""Calls that are looked through for a policy of the settings, whose id says where it stands."""
_NO_TRAITS: Final = OrgTraits()
_SKILLS: Final = "WHERE scope = 'org' AND adopted_at <= ? AND (status = 'active' OR updated_at > ?)"


def list_entries(
    db: Connection, policies: Sequence[str], at: datetime | None, now: datetime
) -> list[OrgEntry]:
    """Return all entries by category, of each the settings' first, then facts, then the others.

    Facts are newest first, retracted ones included. Settings have no history, so their policies
    stand in the past, too; of lessons the present text is shown.
    """
    rows = all_rows(db, retracted=True) if at is None else rows_at(db, at)
    rows.sort(key=lambda row: (row.created_at, row.fact_id), reverse=True)
    found = [*of_settings(policies, now), *map(fact_entry, rows), *from_elsewhere(db, at or now)]
    return sorted(found, key=lambda entry: _PLACES[entry.category])


def from_elsewhere(db: Connection, at: datetime) -> Iterable[OrgEntry]:
    """Return the approved lessons and the published memories that were in force at a time."""
    yield from _lessons(db, at)
    yield from _published(db, at)


def of_settings(policies: Sequence[str], now: datetime) -> Iterable[OrgEntry]:
    """Return the core policies of the settings; they are of no time but the present."""
    for number, content in enumerate(policies):
        yield OrgEntry(
            id=f"core-policy-{number}",
            origin=OrgOrigin.SETTINGS,
            category=OrgFactCategory.CORE_POLICY,
            content=content,
            traits=_NO_TRAITS,
            author="the settings",
            created_at=now,
            changed_at=now,
            version=0,
        )


def fact_entry(row: FactRow) -> OrgEntry:
    """Return a fact as it is listed; made ten thousand times when a list is drawn."""
    created_at = row.created_at.replace(tzinfo=UTC)
    is_first = row.changed_at == row.created_at
    return OrgEntry(
        row.fact_id,
        OrgOrigin.FACT,
        _CATEGORIES[row.category],
        row.content,
        _traits(row.tags),
        author_words(row[5:9]),
        created_at,
        created_at if is_first else row.changed_at.replace(tzinfo=UTC),
        row.version,
        aware(row.retracted_at),
    )


_CATEGORIES: Final = {category.value: category for category in OrgFactCategory}
_PLACES: Final = {category: place for place, category in enumerate(OrgFactCategory)}


@lru_cache(maxsize=32_768)
def _traits(stored: str) -> OrgTraits:
    return OrgTraits.of(tags_of(stored)) if stored != "[]" else _NO_TRAITS


@lru_cache(maxsize=256)
def author_words(values: Collection[object]) -> str:
    """Return who four columns of a row stand for in words, an agent with its seniority then."""
    author = author_of(tuple(values))
    if author.is_human:
        return "a person"
    return f"agent {author.agent_id} ({author.seniority})"


def _lessons(db: Connection, at: datetime) -> Iterable[OrgEntry]:
    """The approved lessons for the whole organisation that were in force at a time."""
    from synthorg_tui.curation import registry  # here: an agent waits for its first digest

    then = naive_utc(at)
    for skill in registry.select(db, f"{_SKILLS} ORDER BY path", [then, then]):
        from synthorg_tui.curation.rendering import stored_text

        yield OrgEntry(
            id=skill.name,
            origin=OrgOrigin.SKILL,
            category=OrgFactCategory.PROCEDURE,
            content=stored_text(skill.proposal),
            traits=OrgTraits(title=skill.proposal.discovery, source=skill.path),
            author=f"agent {skill.agent_id}",
            created_at=skill.adopted_at,
            changed_at=min(skill.updated_at, at),
            version=skill.version,
        )


def _published(db: Connection, at: datetime) -> Iterable[OrgEntry]:
    """Memories that were published to all agents; not what lessons and projects' pages say."""
    then, where = naive_utc(at), queries.WhereClause(f"m.shared AND {KIND_SQL} <> ?")
    where.values.append(MemoryKind.KNOWLEDGE)
    where.add("coalesce(m.recorded_at, m.created_at) <= ?", then)
    for gone in ("archived_at", "deleted_at", "expires_at"):
        where.add(f"(m.{gone} IS NULL OR m.{gone} > ?)", then)
    rows = db.execute(
        "SELECT m.id::VARCHAR, m.category, m.content, m.project, m.source, m.tags, m.agent_id, "
        f"m.created_at, m.updated_at FROM memories m WHERE {where} "
        "ORDER BY m.created_at DESC, m.id",
        where.values,
    ).fetchall()
    from synthorg_tui.curation.registry import memories_of_skills

    of_skills = memories_of_skills(db) if rows else frozenset()
    for key, category, content, project, source, tags, agent_id, created, updated in rows:
        if key in of_skills:
            continue
        yield OrgEntry(
            id=key,
            origin=OrgOrigin.SHARED,
            category=(
                OrgFactCategory.PROCEDURE
                if category == MemoryCategory.PROCEDURAL
                else OrgFactCategory.CONVENTION
            ),
            content=content,
            traits=OrgTraits(project=project or "", source=source or "", others=tuple(tags)),
            author=f"agent {agent_id}",
            created_at=created.replace(tzinfo=UTC),
            changed_at=min((updated or created).replace(tzinfo=UTC), at),
            version=0,
        )


def written_policies(db: Connection, at: datetime) -> tuple[OrgFact, ...]:
    """Return the written policies that were in force at a time, the newest first."""
    policy = OrgFactCategory.CORE_POLICY.value
    rows = [row for row in rows_at(db, at) if row.is_active and row.category == policy]
    facts = sorted((row.fact() for row in rows), key=lambda fact: fact.id)
    return tuple(sorted(facts, key=lambda fact: fact.created_at, reverse=True))


def _memories_of(db: Connection, entry: OrgEntry) -> tuple[str, ...]:
    """The memories that agents are handed of an approved lesson; none of other entries."""
    if entry.origin is not OrgOrigin.SKILL:
        return ()
    from synthorg_tui.curation import registry  # here: an agent waits for its first digest

    found = registry.select(db, "WHERE path = ?", [entry.traits.source])
    return tuple(key for skill in found for key in skill.memory_ids)


def uses_of(db: Connection, entry: OrgEntry, *, limit: int) -> tuple[MemoryUse, ...]:
    """Return the recorded calls of agents that carried an entry, newest first, at most ``limit``.

    A lesson is carried as the memories that say it. A policy of the settings is one by its words:
    its id says only where it stands among them.
    """
    from synthorg_tui.memory.store.reader import use_of  # here: as above

    if entry.origin is OrgOrigin.SETTINGS:
        calls = calls_given(db, entry.id, limit=MAX_RECORDED)
        calls = tuple(call for call in calls if _said(call, entry))[:limit]
        return tuple(use_of(entry.id, call) for call in calls)
    found: dict[int, MemoryUse] = {}
    for key in _memories_of(db, entry) or (entry.id,):
        for call in calls_given(db, key, limit=limit):
            found.setdefault(call.number, use_of(key, call))
    return tuple(found[number] for number in sorted(found, reverse=True)[:limit])


def _said(call: RecordedCall, entry: OrgEntry) -> bool:
    explained: dict[str, Any] = json.loads(call.explanation) if call.explanation else {}
    policies = explained.get("policies", ())
    return any(each["id"] == entry.id and each["content"] == entry.content for each in policies)

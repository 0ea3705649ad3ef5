"""What agents are told of the organisation's knowledge before their memories, and which were.

How it is told is in ``memory.strategies.organisation``: here is where it comes from. A call of an
agent is on record with the ids of all that it was handed, so that it can be asked of each.
"""

import json
from datetime import datetime
from typing import Any, Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.listing import MemoryUse
from synthorg_tui.memory.org.log import rows_at
from synthorg_tui.memory.org.models import OrgFact
from synthorg_tui.organisation.models import OrgEntry, OrgOrigin
from synthorg_tui.persistence.call_log import RecordedCall, calls_given
from synthorg_tui.persistence.port import Connection

MAX_RECORDED: Final = 1_000
"""Calls that are looked through for a policy of the settings, whose id says where it stands."""


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

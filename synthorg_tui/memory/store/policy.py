"""The rules of a store: how many memories an agent may have, who sees them, when they end.

A memory without an expiry of its own ends by its age, as the rules say at the time of reading: a
changed rule changes at once which memories have expired, and nothing is written. The rules of the
owner are stored in the database, for readers without the settings. Where several programs share
it, the stored rules hold for all of them, whatever their settings say.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.memory.index.protocol import EndedByAge
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.persistence.port import Connection, StoreDatabase

_DAY: Final = 86_400
_NOTED: Final = "retention"
"""Name of the rules in the table ``meta``."""


class StorePolicy(NamedTuple):
    """Rules on how many memories an agent may store and for how long; consulted on every store.

    Args:
        max_memories_per_agent: Maximum number of an agent's private memories; ``None`` is no limit.
        makes_room: Whether a full memory archives what is least useful, instead of refusing more.
        level: Returns the visibility of an agent's memories; ``NONE`` forbids storing any.
        retention_days: Returns after how many days an agent's memories of a category end where they
            have no expiry time; ``None`` for never.
        agents_with_own_retention: Those for which ``retention_days`` may differ from all others.
    """

    max_memories_per_agent: int | None = None
    makes_room: bool = True
    level: Callable[[str], MemoryLevel] = lambda _: MemoryLevel.PERSISTENT
    retention_days: Callable[[str, MemoryCategory], int | None] = lambda *_: None
    agents_with_own_retention: Collection[str] = ()


class AgeRule(NamedTuple):
    """The age at which memories of some categories end, in seconds.

    It is for the memories of ``agents``, or with ``is_for_others`` for those of all but them.
    """

    agents: tuple[str, ...]
    is_for_others: bool
    categories: tuple[str, ...]
    seconds: float

    def cutoff(self, now: datetime) -> datetime | None:
        """Return the latest creation time of what has ended at ``now``; ``None`` for nothing."""
        try:
            return now - timedelta(seconds=self.seconds)
        except OverflowError:
            return None

    def condition(self) -> tuple[str, list[object]]:
        """Return the SQL condition that the rule is for a memory ``m``, with its values."""
        condition, values = "list_contains(?::VARCHAR[], m.category)", [list(self.categories)]
        if self.agents:
            is_one = "list_contains(?::VARCHAR[], m.agent_id)"
            condition += f" AND NOT {is_one}" if self.is_for_others else f" AND {is_one}"
            values.append(list(self.agents))
        return condition, list[object](values)

    def applies(self, agent_id: str, category: str) -> bool:
        """Return whether the rule is for an agent's memories of a category."""
        return category in self.categories and (agent_id in self.agents) is not self.is_for_others


class LiveBound(NamedTuple):
    """How many live memories an agent had, counted at a revision and a (naive UTC) time.

    Each change of a memory takes a revision, and time only lets memories end: so ever after there
    are at most as many more as revisions were taken.
    """

    live: int
    revision: int
    counted_at: datetime

    def at_most(self, revision: int, now: datetime) -> int | None:
        """Return the upper bound at a revision; ``None`` when the clock was set back since."""
        return None if now < self.counted_at else self.live + revision - self.revision


class AgeRules(NamedTuple):
    """When memories end that have no expiry of their own; no two rules are for the same memory."""

    rules: tuple[AgeRule, ...] = ()

    @classmethod
    def of(cls, policy: StorePolicy) -> "AgeRules":
        """Work out the rules of a policy, once: they cost nothing where nothing ends by age."""
        own = tuple(sorted(policy.agents_with_own_retention))
        rules = [
            *_rules_for("", own, policy, is_for_others=True),
            *(rule for agent in own for rule in _rules_for(agent, (agent,), policy)),
        ]
        return cls(tuple(rules))

    @classmethod
    async def of_store(cls, database: StoreDatabase, policy: StorePolicy) -> "AgeRules":
        """Return the rules that hold for a store that was just opened, and note them in it.

        They are those of the policy. Where several programs share the store they are the stored
        ones, of the first program that opened it or of the last that changed them; a program with
        other settings gets a warning.
        """
        own = cls.of(policy)
        if database.is_shared:
            held = await database.read(cls.noted)
            held = held if held is not None else await database.write(own.note_first)
            if held != own and own.rules:
                from synthorg_tui.core.types import warn  # loads what a list has no use for

                warn("retention", own.told(), f"the store's rules hold for all: {held.told()}")
            return held
        if await database.read(cls.load) != own:
            await database.write(own.note)
        return own

    @classmethod
    def load(cls, db: Connection) -> "AgeRules":
        """Return the rules stored in the database; no rules where none are stored."""
        return cls.noted(db) or cls()

    @classmethod
    def noted(cls, db: Connection) -> "AgeRules | None":
        """Return the rules that are noted, which may be none at all; ``None`` for no note."""
        row = db.execute("SELECT value FROM meta WHERE name = ?", [_NOTED]).fetchone()
        if row is None:
            return None
        return cls(
            tuple(
                AgeRule(tuple(agents), others, tuple(categories), seconds)
                for agents, others, categories, seconds in json.loads(row[0])
            )
        )

    def note(self, db: Connection) -> None:
        """Write the rules into the database, for readers without the settings."""
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [_NOTED, json.dumps(self.rules)])

    def note_first(self, db: Connection) -> "AgeRules":
        """Write the rules into the database unless there are some; return those that hold now."""
        found = self.noted(db)
        if found is None:
            self.note(db)
        return self if found is None else found

    def told(self) -> str:
        """Return the rules in words."""
        parts = []
        for rule in self.rules:
            agents = ", ".join(rule.agents)
            whose = f" of {'all but ' * rule.is_for_others}{agents}" if agents else ""
            parts.append(f"{', '.join(rule.categories)}{whose} after {rule.seconds / _DAY:g} days")
        return "; ".join(parts) or "nothing ends by its age"

    def ended(self, now: datetime) -> tuple[str, list[object]]:
        """Return the SQL condition that a memory ``m`` has expired, with the values it takes.

        ``now`` is naive UTC.
        """
        by_age, values = self.ended_by_age(now)
        return f"(m.expires_at <= ? OR {by_age})", [now, *values]

    def ended_by_age(self, now: datetime) -> tuple[str, list[object]]:
        """Return the SQL condition that a memory without an expiry of its own has expired."""
        found: list[str] = []
        values: list[object] = []
        for rule in self.rules:
            if (cutoff := rule.cutoff(now)) is None:
                continue
            condition, values_of_rule = rule.condition()
            found.append(f"({condition} AND m.created_at <= ?)")
            values += [*values_of_rule, cutoff]
        if not found:
            return "false", values
        return f"(m.expires_at IS NULL AND ({' OR '.join(found)}))", values

    def ended_points(self, now: datetime) -> tuple[EndedByAge, ...]:
        """Return what the index has to leave out since it has ended by its age."""
        cutoffs = [(rule, rule.cutoff(now)) for rule in self.rules]
        return tuple(
            EndedByAge(rule.agents, rule.is_for_others, rule.categories, cutoff)
            for rule, cutoff in cutoffs
            if cutoff is not None
        )

    def ending(self) -> tuple[str, list[object]]:
        """Return the SQL condition that a memory ``m`` expires at some time, with its values."""
        found = [rule.condition() for rule in self.rules]
        conditions = " OR ".join(["m.expires_at IS NOT NULL", *(sql for sql, _ in found)])
        return f"({conditions})", [value for _, values in found for value in values]

    def age_of(self, agent_id: str, category: str) -> timedelta | None:
        """Return the age at which an agent's memories of a category end; ``None`` is never."""
        for rule in self.rules:
            if rule.applies(agent_id, category):
                return timedelta(seconds=rule.seconds)
        return None

    def end_of(
        self, agent_id: str, category: str, created_at: datetime, expires_at: datetime | None
    ) -> datetime | None:
        """Return when a memory expires, by its own time or by its age; ``None`` is never."""
        if expires_at is not None or not self.rules:
            return expires_at
        age = self.age_of(agent_id, category)
        try:
            return None if age is None else created_at + age
        except OverflowError:
            return None

    def shown(self, memory: ListedMemory) -> ListedMemory:
        """Return the memory with the time at which it expires, also where that is by its age."""
        ends = self.end_of(memory.agent_id, memory.category, memory.created_at, memory.expires_at)
        return memory if ends == memory.expires_at else replace(memory, expires_at=ends)


def _rules_for(
    agent_id: str, agents: tuple[str, ...], policy: StorePolicy, *, is_for_others: bool = False
) -> list[AgeRule]:
    by_days: dict[int, list[str]] = {}
    for category in MemoryCategory:
        days = policy.retention_days(agent_id, category)
        if days is not None:
            by_days.setdefault(days, []).append(category.value)
    return [
        AgeRule(agents, is_for_others, tuple(categories), float(days * _DAY))
        for days, categories in by_days.items()
    ]

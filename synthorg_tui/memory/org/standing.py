"""Which facts stand: what replaced which, what was given up, and for which project each one is.

Told from the tags of active facts alone (``OrgTraits``), so that it holds for every backend.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.projects import same_project
from synthorg_tui.memory.org.log import facts_stamp, known_id, tag_rows, tags_of
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.persistence.port import Connection

GIVEN_UP: Final = ("superseded", "deprecated", "rejected", "withdrawn", "retired", "obsolete")
"""Statuses of decisions that don't hold, as ADRs begin them: "Superseded by ADR-9"."""


@dataclass(frozen=True, slots=True)
class FactStanding:
    """What is known of an active fact without its text."""

    category: OrgFactCategory
    project: str = ""
    is_given_up: bool = False


def is_given_up(status: str) -> bool:
    """Return whether an ADR's own word for its status says that it doesn't hold any more."""
    return status.strip().casefold().startswith(GIVEN_UP)


def is_for(fact_project: str, project: str | None) -> bool:
    """Return whether a fact about a project is for who asks from another one, or from none.

    A fact without a project is for all. One about a repository is for its folders and worktrees
    too. ``None`` asks for every project's, and an empty text is a place that is in no project.
    """
    if not fact_project or project is None:
        return True
    return same_project(fact_project, project)


@dataclass(frozen=True, slots=True)
class Standings:
    """All active facts at one state of organisation memory, which ``stamp`` tells from others."""

    stamp: tuple[int, int]
    facts: Mapping[str, FactStanding] = field(default_factory=dict)
    replaced_by: Mapping[str, str] = field(default_factory=dict)
    """The fact that replaced another, by the other's id; both are active."""

    @classmethod
    def load(cls, db: Connection, known: "Standings | None" = None) -> "Standings":
        """Read them; returns ``known`` when nothing has changed since."""
        stamp = facts_stamp(db)
        if known is not None and known.stamp == stamp:
            return known
        facts: dict[str, FactStanding] = {}
        replaced_by: dict[str, str] = {}
        for fact_id, category, stored in tag_rows(db):
            traits = OrgTraits.of(tags_of(stored))
            facts[fact_id] = FactStanding(
                OrgFactCategory(category), traits.project, is_given_up(traits.status)
            )
            for named in traits.supersedes:
                former = known_id(named)
                if former is not None and former != fact_id:
                    replaced_by.setdefault(former, fact_id)
        replaced_by = {old: new for old, new in replaced_by.items() if old in facts}
        return cls(stamp, facts, replaced_by)

    def has_any(self, categories: Collection[OrgFactCategory] | None) -> bool:
        """Return whether there is any fact of some categories, so that searching may find one."""
        return any(
            categories is None or each.category in categories for each in self.facts.values()
        )

    def standing(self, fact_id: str, project: str | None = None) -> str | None:
        """Return the fact that stands in place of an active one: itself, or its last successor.

        ``None`` if there is none: the fact isn't active, is for another project, or was given up
        and nothing replaced it. What one project replaced still stands in others. Of facts that
        replace each other in a circle each stands for itself.
        """
        if fact_id not in self.facts or not self._is_for(fact_id, project):
            return None
        passed = {fact_id}
        last = fact_id
        while (following := self.replaced_by.get(last)) is not None:
            if not self._is_for(following, project):
                break
            if following in passed:
                last = fact_id
                break
            passed.add(following)
            last = following
        return None if self.facts[last].is_given_up else last

    def answer(
        self,
        fact_id: str,
        project: str | None,
        categories: Collection[OrgFactCategory] | None,
    ) -> str | None:
        """Return the fact to give for one that matches, if it is of one of the categories."""
        stands = self.standing(fact_id, project)
        if stands is None or categories is None:
            return stands
        return stands if self.facts[stands].category in categories else None

    def _is_for(self, fact_id: str, project: str | None) -> bool:
        return is_for(self.facts[fact_id].project, project)

    def former(self, fact_id: str) -> tuple[str, ...]:
        """Return the active facts that a fact replaced, directly or not, the latest first."""
        found: list[str] = []
        wanted = [fact_id]
        while wanted:
            newer = wanted.pop(0)
            older = [old for old, new in self.replaced_by.items() if new == newer]
            older = [old for old in older if old not in found and old != fact_id]
            found += older
            wanted += older
        return tuple(found)

"""Organisation memory as a person sees it: one list, whatever its entries come from.

Plain data for the command line and the screens; it loads no pydantic, database or model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.org.tags import OrgTraits


class OrgOrigin(StrEnum):
    """Where an entry comes from; only ``FACT`` ones are written and retracted here.

    ``SETTINGS`` are the core policies of the configuration, ``SKILL`` the approved lessons whose
    scope is the organisation, ``SHARED`` the memories that were published to all agents.
    """

    SETTINGS = "settings"
    FACT = "fact"
    SKILL = "skill"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class OrgEntry:
    """One line of the list: a policy, ADR, procedure or convention, as it is or was at a moment.

    ``id`` is a fact's, ``core-policy-<i>`` of the settings, a skill's name, or a memory's id.
    ``author`` is in words. ``version`` counts a fact's writes; 0 where there is none to count.
    ``retracted_at`` is ``None`` while it is active.
    """

    id: str
    origin: OrgOrigin
    category: OrgFactCategory
    content: str
    traits: OrgTraits
    author: str
    created_at: datetime
    changed_at: datetime
    version: int
    retracted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class OrgVersion:
    """One line of a fact's history: what was written, when, by whom; a retraction has no text."""

    version: int
    at: datetime
    author: str
    content: str | None
    category: OrgFactCategory
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntryCriteria:
    """Which entries are listed; what is empty is no condition.

    Of ``categories``, ``origins`` and ``projects`` one must fit; a project by a part of its path.
    Words are looked for in text and tags, whatever their case. With ``retracted`` those that were
    retracted are listed instead of those in force, with ``superseded`` only those that another one
    replaces. ``ids`` names facts.
    """

    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    categories: tuple[OrgFactCategory, ...] = ()
    origins: tuple[OrgOrigin, ...] = ()
    projects: tuple[str, ...] = ()
    retracted: bool = False
    superseded: bool = False
    ids: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Some entries in order, from ``offset`` on, with the numbers of all that the filter lists.

    ``counts`` has the number of each category that is there, in their order. ``superseded`` maps
    entries to what replaces them, both by id. ``stored`` and ``retracted`` are the numbers of
    entries in force and of retracted ones without the filter, ``changes`` that of the lines of the
    log up to then.
    """

    entries: tuple[OrgEntry, ...] = ()
    offset: int = 0
    counts: tuple[tuple[OrgFactCategory, int], ...] = ()
    superseded: Mapping[str, str] = field(default_factory=dict)
    stored: int = 0
    retracted: int = 0
    changes: int = 0

    @property
    def total(self) -> int:
        """The number of entries that the filter lists."""
        return sum(count for _, count in self.counts)

"""Organisation memory as a person sees it: one list, whatever its entries come from.

Plain data for the command line and the screens; it loads no pydantic, database or model.
"""

from dataclasses import dataclass
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
class UndoneOrgEntry(OrgEntry):
    """An entry as it is after something was taken back; ``told`` says in words what that was."""

    told: str = ""

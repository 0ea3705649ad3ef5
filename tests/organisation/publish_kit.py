"""Entries as a test wants them, for what is published and checked."""

from datetime import UTC, datetime
from typing import Any

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.organisation.models import OrgEntry, OrgOrigin

WRITTEN = datetime(2026, 3, 1, 12, tzinfo=UTC)
POLICY, ADR = OrgFactCategory.CORE_POLICY, OrgFactCategory.ADR
CONVENTION = OrgFactCategory.CONVENTION


def entry(content: str, category: OrgFactCategory = POLICY, **fields: Any) -> OrgEntry:
    """A fact that a person wrote; its traits are among the fields."""
    traits = {name: fields.pop(name) for name in tuple(fields) if name in OrgTraits.__slots__}
    said: dict[str, Any] = {
        "id": content,
        "origin": OrgOrigin.FACT,
        "author": "a person",
        "created_at": WRITTEN,
        "changed_at": WRITTEN,
        "version": 1,
    }
    return OrgEntry(
        category=category, content=content, traits=OrgTraits(**traits), **(said | fields)
    )

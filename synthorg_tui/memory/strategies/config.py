"""Configuration of self-editing memory."""

from typing import Final

from pydantic import Field, field_validator

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject

_SEARCHABLE: Final = frozenset(MemoryCategory) - {MemoryCategory.WORKING}


class SelfEditingMemoryConfig(FrozenModel):
    """What an agent that edits its own memory may do.

    Core memories are always in the prompt, within ``core_memory_token_budget`` tokens;
    ``allow_core_writes`` off makes them read-only. ``write_auto_tag`` marks what the agent wrote
    elsewhere.
    """

    core_memory_token_budget: int = Field(default=1024, ge=256, le=8192)
    core_memory_tag: NotBlankStr = "core"
    allow_core_writes: bool = True
    core_max_entries: int = Field(default=20, ge=1, le=200)
    archival_search_limit: int = Field(default=10, ge=1, le=50)
    archival_categories: frozenset[MemoryCategory] = _SEARCHABLE
    write_auto_tag: bool = True

    @field_validator("archival_categories")
    @classmethod
    def _validate_categories(
        cls, categories: frozenset[MemoryCategory]
    ) -> frozenset[MemoryCategory]:
        if not categories:
            reject("archival_categories", [], "needs at least one category")
        if MemoryCategory.WORKING in categories:
            reason = "'working' is not archival: it ends with the work"
            reject("archival_categories", sorted(categories), reason)
        return categories

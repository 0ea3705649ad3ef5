"""Memories on their way in, many at a time."""

from dataclasses import dataclass

from pydantic import AwareDatetime

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.models import MemoryStoreRequest


class MemoryDraft(FrozenModel):
    """A memory on its way in from an import.

    ``key`` names the same piece of experience across imports: storing it again is skipped
    when nothing changed, updates the memory when the content did, and is refused when a person
    deleted it. ``created_at`` is when it happened; now when missing. ``level`` is the agent's
    when missing. ``project`` is a canonical path. ``source_kind`` is who it comes from.
    """

    request: MemoryStoreRequest
    key: NotBlankStr | None = None
    created_at: AwareDatetime | None = None
    level: MemoryLevel | None = None
    session_id: NotBlankStr | None = None
    project: NotBlankStr | None = None
    source_kind: SourceKind = SourceKind.IMPORT


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """What became of each draft of a batch; ``skipped`` pairs the key with the reason.

    ``waiting`` are ids of approval items: what waits there isn't stored.
    """

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    skipped: tuple[tuple[str | None, str], ...] = ()
    waiting: tuple[str, ...] = ()

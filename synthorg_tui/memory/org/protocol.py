"""What every backend of organisation memory offers.

``hybrid``, ``temporal`` and ``graph`` implement it on the same log; what a person does with facts
beyond it is in ``organisation``.
"""

from typing import Protocol, runtime_checkable

from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.org.models import (
    OrgFact,
    OrgFactAuthor,
    OrgFactWriteRequest,
    OrgMemoryQuery,
)


@runtime_checkable
class OrgMemoryBackend(Protocol):
    """Organisation-wide knowledge: write, find, and the policies that every agent is told.

    All but the lifecycle raises ``OrgMemoryConnectionError`` before ``connect``.
    """

    @property
    def is_connected(self) -> bool:
        """Whether ``connect`` was called, and ``disconnect`` wasn't since."""

    @property
    def backend_name(self) -> NotBlankStr:
        """The name by which the settings select it."""

    async def connect(self) -> None:
        """Make the backend ready; raises ``OrgMemoryConnectionError``."""

    async def disconnect(self) -> None:
        """Release what it holds; does nothing when it isn't connected."""

    async def health_check(self) -> bool:
        """Return whether it is connected and answers."""

    async def query(self, query: OrgMemoryQuery) -> tuple[OrgFact, ...]:
        """Return matching facts, the most relevant first; raises ``OrgMemoryQueryError``."""

    async def write(self, request: OrgFactWriteRequest, *, author: OrgFactAuthor) -> NotBlankStr:
        """Write a new fact and return its id.

        Raises ``OrgMemoryAccessDeniedError`` and ``OrgMemoryWriteError``; nothing has changed then.
        """

    async def list_policies(
        self, *, limit: int | None = None, offset: int = 0
    ) -> tuple[OrgFact, ...]:
        """Return core policies: those of the settings first, then written ones, newest first.

        ``limit`` and ``offset`` cut this list; negative ones are 0, ``None`` is all.
        """

    async def count_policies(self) -> int:
        """Return how many ``list_policies`` lists without a limit."""

"""The port of the Skills pane: what it asks of the engine.

Skills, findings and versions are the engine's own plain data. Only the protocol belongs here; it
loads nothing of the engine.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from synthorg_tui.curation.overview import SkillDetail, SkillOverviewState


class SkillsDesk(Protocol):
    """The skills on disk and in memory, for a person. Failures are ``DomainError``.

    The program has one implementation; it is a protocol so that the pane is tested without a store
    and without folders of skills. What a change did is said in a line.
    """

    async def overview(self) -> "SkillOverviewState":
        """Read the roots again."""
        ...

    async def skill(self, path: str) -> "SkillDetail":
        """One skill in full."""
        ...

    async def sync(self) -> int:
        """Put what changed on disk up for review; how many items that adds."""
        ...

    async def offer(self, path: str) -> str:
        """Put up for review what was here before us or is shipped; the item's id, or empty."""
        ...

    async def restore(self, path: str) -> str:
        """Write our own version of the file back."""
        ...

    async def retire(self, path: str) -> str:
        """Take a skill out of use, file and memory; ``undo`` brings it back."""
        ...

    async def undo(self) -> str | None:
        """Take back the last decision; ``None`` when there is none."""
        ...

    def watch(self, changed: Callable[[int], None]) -> None:
        """Call ``changed`` at every change in the roots, with how many items it added.

        Does nothing when it is watching already or the settings don't want it; ends with the store.
        """
        ...

"""What the Skills pane asks of the engine: each method is one call of it.

The app starts without the engine, so what loads it is imported inside.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.approvals.adapter import person

if TYPE_CHECKING:
    from synthorg_tui.curation.effects import LessonEffect
    from synthorg_tui.curation.overview import SkillDetail, SkillOverviewState
    from synthorg_tui.engine import Engine
    from synthorg_tui.evaluation.models import SkillEvaluation
    from synthorg_tui.memory.listing import ListedMemory


class EngineSkills:
    """The skills of an open engine; decisions are those of the person at the screen.

    What a change did is said in a line. Failures are ``DomainError``.
    """

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._watching: asyncio.Task[None] | None = None

    async def overview(self) -> "SkillOverviewState":
        """Read the roots again."""
        return await self._engine.skills.overview()

    async def skill(self, path: str) -> "SkillDetail":
        """One skill in full."""
        return await self._engine.skills.skill(path)

    async def effects(self) -> "dict[str, LessonEffect]":
        """What came of each active skill, by path; sessions not looked at yet are read first."""
        return await self._engine.pruning.effects()

    async def evaluation(self, path: str, *, anew: bool = False) -> "tuple[SkillEvaluation, ...]":
        """What is known of whether a skill helps; looks where nothing is known yet, or anew."""
        return await self._engine.evaluation.look(path, anew=anew)

    async def memory(self, memory_id: str) -> "ListedMemory | None":
        """A memory of a skill as it is listed; ``None`` when it is deleted."""
        found = await self._engine.desk.lookup(memory_id, limit=1)
        return found[0] if found else None

    async def sync(self) -> int:
        """Put what changed on disk up for review; how many items that adds."""
        return len((await self._engine.skills.sync()).added)

    async def offer(self, path: str) -> str:
        """Put a shipped skill, or one that was here before us, up for review.

        Returns the id of the item, empty when there is nothing to decide.
        """
        return await self._engine.skills.offer(path)

    async def restore(self, path: str) -> str:
        """Write our own version of the file back."""
        from synthorg_tui.tui.approvals.lines import decision_line

        decision = await self._engine.reviews.restore_file(path, person())
        return decision_line("Wrote our version back", decision)

    async def retire(self, path: str) -> str:
        """Take a skill out of use, file and memory; ``undo`` brings it back."""
        decision = await self._engine.reviews.retire(path, person())
        return f"Retired {decision.title} · {key_of('skills.undo')} brings it back"

    async def undo(self) -> str | None:
        """Take back the last decision; ``None`` when there is none."""
        from synthorg_tui.tui.approvals.lines import undo_line

        decision = await self._engine.reviews.undo(person())
        return undo_line(decision) if decision else None

    def watch(self, changed: Callable[[int], None]) -> None:
        """Call ``changed`` at every change in the roots, with how many items it added.

        Does nothing when it is watching already or the settings don't want it; ends with the store.
        """
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(changed))

    async def close(self) -> None:
        """Stop watching."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch(self, changed: Callable[[int], None]) -> None:
        is_first = True
        async with aclosing(self._engine.skills.watch(asyncio.Event())) as reports:
            async for report in reports:
                if report.added or report.withdrawn or not is_first:
                    changed(len(report.added))
                is_first = False

"""The engine behind the skills port."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from synthorg_tui.tui.approvals.adapter import person
from synthorg_tui.tui.skills.ports import Problem, Root, Shelf, Skill, SkillRow, Version

if TYPE_CHECKING:
    from synthorg_tui.curation.overview import SkillOverviewRow
    from synthorg_tui.curation.registry import SkillVersion
    from synthorg_tui.engine import Engine

_EVENTS: Final = {
    "written": "written",
    "accepted": "accepted from disk",
    "set_aside": "set aside on disk",
    "removed": "removed",
    "not_written": "in force, not on disk",
}


class EngineSkills:
    """The skills port over an open engine."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._watching: asyncio.Task[None] | None = None

    async def shelf(self) -> Shelf:
        """The roots as they are now."""
        state = await self._engine.skills.overview()
        rows = tuple(map(_row, state.rows))
        roots = [
            Root(str(each.root.path), each.root.scope.value, each.problem) for each in state.roots
        ]
        known = {root.path for root in roots}
        former = dict.fromkeys(row.root for row in rows if row.root not in known)
        return Shelf((*roots, *(Root(path, "former") for path in former)), rows)

    async def skill(self, path: str) -> Skill:
        """One skill in full."""
        found = await self._engine.skills.skill(path)
        return Skill(
            _row(found.row),
            found.text,
            memory_ids=found.memory_ids,
            versions=tuple(map(_version, found.versions)),
            taught_by=found.evidence,
        )

    async def sync(self) -> int:
        """Put what changed on disk up for review."""
        return len((await self._engine.skills.sync()).added)

    async def offer(self, path: str) -> str:
        """Put a skill that was here before us up for review."""
        return await self._engine.skills.offer(path)

    async def restore(self, path: str) -> str:
        """Write our own version back."""
        from synthorg_tui.tui.approvals.lines import decision_line

        decision = await self._engine.reviews.restore_file(path, person())
        return decision_line("Wrote our version back", decision)

    async def retire(self, path: str) -> str:
        """Take a skill out of use."""
        decision = await self._engine.reviews.retire(path, person())
        return f"Retired {decision.title} · u brings it back"

    async def undo(self) -> str | None:
        """Take back the last decision."""
        from synthorg_tui.tui.approvals.lines import undo_line

        decision = await self._engine.reviews.undo(person())
        return undo_line(decision) if decision else None

    def watch(self, changed: Callable[[int], None]) -> None:
        """Tell of every change in the roots."""
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


def _row(row: "SkillOverviewRow") -> SkillRow:
    return SkillRow(
        path=row.path,
        name=row.name,
        root=row.root,
        state=row.state.value,
        description=row.description,
        problems=tuple(
            Problem(each.line, each.severity.value == "error", each.message, each.remedy)
            for each in row.findings
        ),
        shadowed_by=row.shadowed_by,
        waiting=row.waiting,
        applied=row.applied,
        applied_at=row.applied_at,
    )


def _version(version: "SkillVersion") -> Version:
    event = _EVENTS.get(version.event.value, version.event.value)
    return Version(version.at, f"v{version.version} {event} by {version.actor}", version.text)

"""The skills in force, for those who only look."""

from typing import Protocol

from synthorg_tui.memory.procedural.ledger import SkillRecord


class ActiveSkills(Protocol):
    """Tells which skills are in force."""

    async def active(self) -> tuple[SkillRecord, ...]:
        """The skills that count."""
        ...

"""The skills that agents may read, from the files of approved ones."""

import asyncio
from collections.abc import Callable, Iterable

from synthorg_tui.agents.errors import SkillNotFoundError
from synthorg_tui.agents.models import SkillCard
from synthorg_tui.skills.models import SkillFile


class FolderShelf:
    """Reads the files anew each time: a retired skill is gone at once.

    ``scan`` gives the files of approved skills; those that can't be used or are shadowed by
    another of the same name aren't on the shelf.
    """

    def __init__(self, scan: Callable[[], Iterable[SkillFile]]) -> None:
        self._scan = scan

    async def cards(self) -> tuple[SkillCard, ...]:
        """What there is, by name."""
        found = await asyncio.to_thread(self._usable)
        return tuple(
            SkillCard(each.name, each.document.description, each.root.scope.value)
            for each in sorted(found, key=lambda file: file.name)
            if each.document is not None
        )

    async def text(self, name: str) -> str:
        """The SKILL.md of that name; raises ``SkillNotFoundError``."""
        found = await asyncio.to_thread(self._usable)
        for each in found:
            if each.name == name:
                return each.text
        raise SkillNotFoundError("no skill has this name", remedy="list_skills names them.")

    def _usable(self) -> list[SkillFile]:
        return [
            each for each in self._scan() if each.document is not None and each.shadowed_by is None
        ]

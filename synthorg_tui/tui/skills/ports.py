"""What the Skills pane asks of the engine, in plain data: no engine type crosses this line."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from synthorg_tui.curation.models import Evidence


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that holds skills; ``scope`` is project, user or own: the first one wins.

    Or it is former, no longer looked at. ``problem`` says why not all of it was read.
    """

    path: str
    scope: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a file: 1-based line, whether it makes it unusable, what to do."""

    line: int
    is_error: bool
    says: str
    remedy: str


@dataclass(frozen=True, slots=True)
class SkillRow:
    """A skill as listed, by the path of its file.

    ``state`` is valid, warnings, invalid, changed (on disk), found (here before us, not
    reviewed), new (not in memory), shadowed, gone (from disk), or retired. ``waiting`` is the
    item that would take over what is on disk.
    """

    path: str
    name: str
    root: str
    state: str
    description: str = ""
    problems: tuple[Problem, ...] = ()
    shadowed_by: str = ""
    waiting: str = ""
    applied: int = 0
    applied_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """A text the skill had, and since when."""

    at: datetime
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill in full. ``versions`` are newest first; ``taught_by`` is what it was learnt from."""

    row: SkillRow
    text: str
    memory_ids: tuple[str, ...] = ()
    versions: tuple[Version, ...] = ()
    taught_by: "tuple[Evidence, ...]" = ()


@dataclass(frozen=True, slots=True)
class Shelf:
    """All roots in order of precedence, and all skills."""

    roots: tuple[Root, ...] = ()
    rows: tuple[SkillRow, ...] = ()


class SkillsDesk(Protocol):
    """The skills on disk and in memory, for a person. Failures are ``DomainError``."""

    async def shelf(self) -> Shelf:
        """Read the roots again."""
        ...

    async def skill(self, path: str) -> Skill:
        """One skill in full."""
        ...

    async def sync(self) -> int:
        """Put what changed on disk up for review; how many items that made."""
        ...

    async def offer(self, path: str) -> str:
        """Put a skill that was here before us up for review; the item's id, or empty."""
        ...

    async def restore(self, path: str) -> str:
        """Write our own version of the file back; what was done, in a line."""
        ...

    async def retire(self, path: str) -> str:
        """Take a skill out of use, file and memory; ``undo`` brings it back."""
        ...

    async def undo(self) -> str | None:
        """Take back the last decision; ``None`` when there is none."""
        ...

    def watch(self, changed: Callable[[int], None]) -> None:
        """Tell of every change in the roots, with how many items it made, until the store closes.

        Does nothing when it is watching already or the settings don't want it.
        """
        ...

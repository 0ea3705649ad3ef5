"""The project and the agent that a command is asked about, as a person names them or leaves out."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from synthorg_tui.cli.errors import UsageError
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.projects import (
    ProjectMap,
    UnknownProjectError,
    find_project,
    project_name,
    projects_in_use,
    repository_of,
    use_projects,
)

if TYPE_CHECKING:
    from synthorg_tui.cli.context import AnyEngine

T = TypeVar("T")
_MAX_NAMED: Final = 10


def the_only(
    found: Sequence[T],
    start: str,
    none: DomainError,
    *,
    id_of: Callable[[T], str] = attrgetter("id"),
) -> T:
    """Return the only one of those found by the start of an id, or the one with just this id.

    Raises ``none`` when nothing was found, and ``UsageError`` for several.
    """
    exact = [each for each in found if id_of(each) == start] or found
    if not exact:
        raise none
    if len(exact) > 1:
        names = ", ".join(map(id_of, exact[:_MAX_NAMED]))
        raise UsageError(f"several ids start with {start!r}: {names}")
    return exact[0]


async def known_projects(engine: "AnyEngine") -> tuple[str, ...]:
    """Return the projects that the store names, and have this process tell them as it does."""
    from synthorg_tui.memory.errors import MemoryCapabilityError

    try:
        known = await engine.knowledge.known()
    except MemoryCapabilityError:  # another backend: folders by their names alone
        return tuple(path for path, _ in (await engine.desk.facets()).projects)
    current = projects_in_use()
    if current.edits != known.edits or any(x.folder not in current.seen for x in known.seen):
        use_projects(ProjectMap(known.seen, known.edits))
    return known.projects


async def project_named(engine: "AnyEngine", named: str, *more: str, is_new: bool = False) -> str:
    """Return the project that ``--project`` names, as in ``find_project``.

    ``more`` are projects that are known besides those of sessions and memories. Raises
    ``UsageError`` with the nearest names for an unknown one.
    """
    known = {*await known_projects(engine), *map(repository_of, filter(None, more))}
    try:
        return find_project(named, sorted(known), str(Path.cwd()), is_new=is_new)
    except UnknownProjectError as error:
        raise UsageError(str(error), remedy=error.remedy) from error


async def agent_named(engine: "AnyEngine", named: str | None, project: str | None) -> str:
    """Return the agent that ``--agent`` names; else the only one, or the last of the project.

    Raises ``UsageError`` when that doesn't tell it.
    """
    from synthorg_tui.memory.listing import project_of

    if named:
        return named
    known = [agent.id for agent in await engine.agents() if "/" not in agent.id]
    if len(known) == 1:
        return known[0]
    here = Path.cwd()
    place = project or project_of(here, await known_projects(engine)) or repository_of(str(here))
    if last := await engine.knowledge.agent_in(place, known):
        return last
    raise UsageError(
        f"--agent is needed: none worked in {project_name(place)} last",
        remedy=f"One of {', '.join(known)}." if known else "`synthorg-tui import` brings agents.",
    )

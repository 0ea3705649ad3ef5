"""What a person says of projects: that two are one, that one is two, what one is called.

An edit is planned first, which says what would move, and made as planned. Rows stay as they are, so
an edit is undone by marking it (``core.projects`` tells what holds).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.checkouts import FolderSeen
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.projects import (
    ProjectEdit,
    ProjectMap,
    folders_of,
    project_name,
    projects_in_use,
    repository_of,
    spelling,
    use_projects,
)
from synthorg_tui.core.text import counted, safe_text
from synthorg_tui.executions.drawn import word_all_in
from synthorg_tui.persistence.values import naive, number_of

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection

_MAX_NAME: Final = 60


class ProjectEditError(DomainError):
    """What a person wants of projects can't be done."""


@dataclass(frozen=True, slots=True)
class PlannedEdit:
    """An edit with what it moves: folders, with their memories and sessions, from ``source``.

    ``target`` is where they go: a project, or what one is to be called.
    """

    edit: ProjectEdit
    source: str
    target: str
    moved: tuple[str, ...]
    memories: int
    sessions: int

    def __str__(self) -> str:
        """What happens, in one sentence."""
        if self.edit.kind == "rename":
            return f"{self.source} is called {self.target}"
        held = (
            f"{counted(self.memories, 'memory', 'memories')}, {counted(self.sessions, 'session')}"
        )
        verb = "becomes part of" if self.edit.kind == "merge" else "loses"
        return f"{self.source} {verb} {self.target}: {held} of {counted(len(self.moved), 'folder')}"


def plan_merge(db: "Connection", into: str, other: str) -> PlannedEdit:
    """Plan that a project becomes part of another one."""
    if into == other:
        raise ProjectEditError(f"{project_name(into)} is one project already")
    moved = folders_of(other)
    edit = ProjectEdit("merge", (into, *moved), project_name(into))
    return _planned(db, edit, project_name(other), project_name(into), moved)


def plan_split(db: "Connection", project: str, folder: str) -> PlannedEdit:
    """Plan that a folder, with all below it, becomes a project of its own."""
    wanted, known = spelling(folder), projects_in_use().seen
    moved = tuple(
        each
        for each in folders_of(project)
        if wanted in map(spelling, _places(known.get(each) or FolderSeen(each)))
    )
    if not moved:
        names = ", ".join(folders_of(project)[:4])
        raise ProjectEditError(
            f"{folder} is no folder of {project_name(project)}", remedy=f"Its folders: {names}."
        )
    if len(moved) == len(folders_of(project)):
        raise ProjectEditError(f"{project_name(project)} has no folder but this one")
    return _planned(db, ProjectEdit("split", (folder,)), project_name(project), folder, moved)


def plan_rename(db: "Connection", project: str, name: str, known: Sequence[str]) -> PlannedEdit:
    """Plan that a project is called otherwise."""
    name = " ".join(safe_text(name).split())
    if not name or len(name) > _MAX_NAME or "/" in name or "\\" in name:
        raise ProjectEditError(f"a name has 1 to {_MAX_NAME} characters, none of them / or \\")
    if any(project_name(x).casefold() == name.casefold() for x in known if x != project):
        raise ProjectEditError(
            f"another project is called {name}", remedy="Merge them, or choose another name."
        )
    edit = ProjectEdit("rename", (project,), name)
    return _planned(db, edit, project_name(project), name, folders_of(project))


def make_edit(db: "Connection", edit: ProjectEdit, actor: str, now: datetime) -> set[str]:
    """Store an edit, have it hold, and return the projects of its folders before and after.

    Runs in the caller's transaction.
    """
    number = 1 + number_of(db, "SELECT coalesce(max(number), 0) FROM project_edits")
    db.execute(
        "INSERT INTO project_edits VALUES (?, ?, ?, ?, ?, ?, NULL)",
        [number, edit.kind, list(edit.folders), edit.name, naive(now), actor],
    )
    return _hold(db, (*projects_in_use().edits, edit), edit)


def undo_edit(db: "Connection", now: datetime) -> "tuple[ProjectEdit, set[str]] | None":
    """Undo the edit that was made last; return it with the projects of its folders.

    ``None`` when there is none left. Runs in the caller's transaction.
    """
    row = db.execute(
        "SELECT number, kind, folders, name FROM project_edits WHERE undone_at IS NULL "
        "ORDER BY number DESC LIMIT 1"
    ).fetchone()
    if row is None:
        return None
    db.execute("UPDATE project_edits SET undone_at = ? WHERE number = ?", [naive(now), row[0]])
    edit = ProjectEdit(row[1], tuple(row[2]), row[3])
    return edit, _hold(db, projects_in_use().edits[:-1], edit)


def looks_renamed(known: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return pairs of a project whose folder is gone and one that it may be called now.

    A name that is part of the other one, in the same folder above, is a sign; nothing is proof.
    """
    seen = projects_in_use().seen
    gone = [each for each in known if (row := seen.get(each)) is not None and not row.exists]
    here = [each for each in known if (row := seen.get(each)) is not None and row.exists]
    pairs = []
    for old in gone:
        near = [new for new in here if _are_alike(old, new)]
        if len(near) == 1:
            pairs.append((old, near[0]))
    return tuple(pairs)


def _are_alike(old: str, new: str) -> bool:
    above, _, first = spelling(old).rpartition("/")
    beside, _, second = spelling(new).rpartition("/")
    names = [each.casefold() for each in (first, second)]
    if names[0] == names[1]:
        return True
    least = min(map(len, names))
    return above == beside and least > 3 and (names[0] in names[1] or names[1] in names[0])


def _places(seen: FolderSeen) -> tuple[str, ...]:
    return tuple(filter(None, (seen.folder, seen.checkout, seen.root)))


def _planned(
    db: "Connection", edit: ProjectEdit, source: str, target: str, moved: tuple[str, ...]
) -> PlannedEdit:
    named = "project IN (SELECT unnest(?::VARCHAR[]))"
    memories = number_of(
        db,
        "SELECT count(*) FROM memories WHERE deleted_at IS NULL AND archived_at IS NULL "
        f"AND {named}",
        [list(moved)],
    )
    sessions = number_of(
        db, f"SELECT count(*) FROM executions WHERE parent_id IS NULL AND {named}", [list(moved)]
    )
    return PlannedEdit(edit, source, target, moved, memories, sessions)


def _hold(db: "Connection", edits: tuple[ProjectEdit, ...], edit: ProjectEdit) -> set[str]:
    before = set(map(repository_of, edit.folders))
    use_projects(ProjectMap(projects_in_use().seen.values(), edits))
    word_all_in(db)  # unless what is worded now is worded to the end
    return before | set(map(repository_of, edit.folders))

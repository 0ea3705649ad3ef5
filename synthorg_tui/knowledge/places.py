"""Where a session worked: the worktree of its branch, and paths as the project has them."""

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from synthorg_tui.core.projects import worktree_root
from synthorg_tui.executions.models import Execution
from synthorg_tui.knowledge.facts import Fact

_ONE_BRANCH: Final = 0.5


def place_facts(execution: Execution) -> Iterator[Fact]:
    """Yield the worktree that a session worked in, if it did so by itself."""
    if execution.parent_id is not None:
        return
    project = (execution.project or "").replace("\\", "/").rstrip("/")
    if project and worktree_root(project) != project:
        above, _, folder = project.rpartition("/")
        shown = "<branch>" if folder == execution.branch else "<name>"
        place = f"{posixpath.basename(above)}/{shown}"
        yield Fact("worktree", place, certainty=_ONE_BRANCH, at=execution.started_at)


def inside(execution: Execution, path: str, directory: str = "") -> str:
    """Return a path relative to the project; empty for one that isn't inside of it."""
    project = (execution.project or "").replace("\\", "/").rstrip("/")
    path, directory = path.replace("\\", "/"), directory.replace("\\", "/")
    is_whole = re.match(r"[A-Za-z]:/", path) is not None
    whole = posixpath.normpath(path if is_whole else posixpath.join(project, directory, path))
    start = f"{project}/"
    return whole[len(start) :] if project and whole.startswith(start) else ""

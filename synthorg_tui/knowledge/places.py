"""Where a session worked: the files it changed, those it took away, its worktree and branches.

Paths are relative to the project, so that those of several checkouts are the same. What lies
outside of the project says nothing of it.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.projects import worktree_root
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.knowledge.facts import Fact

_ONE_BRANCH: Final = 0.5
_CHANGES: Final = re.compile(r"(?:edit|write) (?P<paths>.+)", re.DOTALL)
_REMOVES: Final = frozenset({"rm", "mv", "git rm", "git mv"})
_BRANCH: Final = re.compile(r"[A-Za-z0-9][\w./-]{1,60}")
_STARTS: Final = {("git", "checkout", "-b"), ("git", "switch", "-c"), ("git", "checkout", "-B")}
_TRUNKS: Final = frozenset({"main", "master", "trunk", "develop", "HEAD"})


def place_facts(execution: Execution) -> Iterator[Fact]:
    """Yield the files that a session changed or removed, and the branches it worked on."""
    edited = dict(_edited(execution))
    for path, calls in edited.items():
        good = sum(call.outcome is CallOutcome.OK for call in calls)
        yield Fact(
            "file",
            path,
            good=good,
            bad=len(calls) - good,
            at=calls[-1].at,
            lines=(calls[0].call_line, calls[-1].last_line),
        )
    for path, call in _removed(execution):
        last = max((each.call_line for each in edited.get(path, ())), default=0)
        if call.call_line > last:
            yield Fact("gone", path, at=call.at, lines=(call.call_line, call.last_line))
    yield from _branches(execution)


def inside(execution: Execution, path: str, directory: str = "") -> str:
    """Return a path relative to the project; empty for one that isn't inside of it."""
    project = (execution.project or "").replace("\\", "/").rstrip("/")
    path, directory = path.replace("\\", "/"), directory.replace("\\", "/")
    is_whole = re.match(r"[A-Za-z]:/", path) is not None
    whole = posixpath.normpath(path if is_whole else posixpath.join(project, directory, path))
    start = f"{project}/"
    return whole[len(start) :] if project and whole.startswith(start) else ""


def _edited(execution: Execution) -> Iterator[tuple[str, list[ToolCall]]]:
    calls: dict[str, list[ToolCall]] = {}
    for call in execution.calls:
        match = None if call.is_shell else _CHANGES.fullmatch(call.intent)
        if match and call.outcome in {CallOutcome.OK, CallOutcome.FAILED}:
            for named in match["paths"].split(", "):
                path = inside(execution, named)
                if path and not path.startswith((".git/", "node_modules/")):
                    calls.setdefault(path, []).append(call)
    yield from calls.items()


def _removed(execution: Execution) -> Iterator[tuple[str, ToolCall]]:
    """What was deleted or moved away, each the last time."""
    found: dict[str, ToolCall] = {}
    for call in execution.calls:
        if call.is_shell and call.outcome is CallOutcome.OK:
            for step in command_steps(call.arguments):
                for named in _taken(step):
                    if path := inside(execution, named, step.directory):
                        found[path] = call
    yield from found.items()


def _taken(step: Step) -> list[str]:
    """The files that a step removes by name; of a move all but where they go."""
    if step.intent not in _REMOVES:
        return []
    words = [word for word in step.words[len(step.intent.split()) :] if word[:1] != "-"]
    plain = [word for word in words if not re.search(r"[*?$`{]", word)]
    return plain[:-1] if step.intent.endswith("mv") else plain


def _branches(execution: Execution) -> Iterator[Fact]:
    if execution.parent_id is not None:
        return
    names: dict[str, tuple[int, int]] = {}
    if execution.branch:
        names[execution.branch] = (1, 1)
    for call in execution.calls:
        if call.is_shell and call.outcome is CallOutcome.OK:
            for step in command_steps(call.arguments):
                if step.words[:3] in _STARTS and len(step.words) > 3:
                    names[step.words[3]] = (call.call_line, call.last_line)
    for name, lines in names.items():
        if _BRANCH.fullmatch(name) and name not in _TRUNKS:
            yield Fact("branch", name, at=execution.started_at, lines=lines)
    project = (execution.project or "").replace("\\", "/").rstrip("/")
    if project and worktree_root(project) != project:
        above, _, folder = project.rpartition("/")
        shown = "<branch>" if folder == execution.branch else "<name>"
        place = f"{posixpath.basename(above)}/{shown}"
        yield Fact("worktree", place, certainty=_ONE_BRANCH, at=execution.started_at)

"""Which stored sessions changed a file, and which of them wrote a certain line of it.

Records name the files that calls changed, so only the sessions of a file are unpacked, and of their
lines only those of the calls in question. Files that shell commands wrote (redirections, ``sed
-i``, formatters) aren't recorded by name, and so are in no answer.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.text import safe_text
from synthorg_tui.executions.facts import fill_missing
from synthorg_tui.executions.models import Execution, SourceRef, ToolCall
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.executions.titles import session_title
from synthorg_tui.executions.written import ChangedLines, written_in
from synthorg_tui.persistence.port import StoreDatabase

MAX_SESSIONS: Final = 200
"""Sessions of one file that are looked at, the latest ones."""
_REQUEST: Final = 300
"""Characters of a request that are shown."""
_NO_CALL: Final = "changed it, by no call on record"
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_NO_TIME: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class FileTouch:
    """One call that changed the file.

    ``line`` is the call's in the transcript, ``request`` what it was asked for, ``path`` the file
    as the session named it. ``elsewhere`` is true when the session had it in another folder, such
    as another checkout or one that was renamed since. ``wrote_line`` marks the call that the line
    asked about is from.
    """

    session_id: str
    agent_id: str
    title: str
    line: int
    call: str
    request: str
    path: str
    at: datetime | None = None
    elsewhere: bool = False
    wrote_line: bool = False


@dataclass(frozen=True, slots=True)
class Blame:
    """The calls that changed a file: the one that wrote the line first, then the latest first.

    ``unseen`` is the number of earlier sessions that changed it and were not looked at.
    """

    touches: tuple[FileTouch, ...] = ()
    unseen: int = 0

    @property
    def author(self) -> FileTouch | None:
        """The call that wrote the line asked about; ``None`` when no stored one did."""
        return next((touch for touch in self.touches if touch.wrote_line), None)


async def blame_of(
    database: StoreDatabase, executions: ExecutionStore, path: str, text: str | None = None
) -> Blame:
    """Return the calls that changed the file at this absolute path.

    With ``text``, a line of the file as it is now, the call that wrote that line comes first.
    """
    await fill_missing(database)
    ids = await _sessions_of(database, Path(path).name)
    touches: list[FileTouch] = []
    for execution_id in reversed(ids[:MAX_SESSIONS]):
        execution = await executions.get(execution_id)
        if execution is not None:
            touches += _touches(execution, path)
    touches.sort(key=lambda touch: touch.at or _NO_TIME)
    if text is not None and text.strip():
        touches = await _with_author(executions, touches, text.strip())
    touches.reverse()
    touches.sort(key=lambda touch: not touch.wrote_line)
    return Blame(tuple(touches), max(0, len(ids) - MAX_SESSIONS))


async def _sessions_of(database: StoreDatabase, name: str) -> list[str]:
    """The sessions that changed a file of this name, the latest first."""
    rows = await database.read(
        lambda db: db.execute(
            "SELECT id FROM executions WHERE len(list_filter(files, lambda f: "
            "ends_with('/' || replace(f, chr(92), '/'), '/' || ?))) > 0 "
            "ORDER BY coalesce(ended_at, started_at) DESC NULLS LAST, id",
            [name],
        ).fetchall()
    )
    return [row[0] for row in rows]


async def _with_author(
    executions: ExecutionStore, touches: Sequence[FileTouch], text: str
) -> list[FileTouch]:
    """Follow the line through all changes, the earliest first, and mark the last one to write it.

    A line that was removed again and is there all the same was in another place or checkout, too.
    """
    author: int | None = None
    was_author: int | None = None
    for number, touch in enumerate(touches):
        changed = await _changed(executions, touch)
        if text in changed.added and not (changed.is_whole and author is not None):
            author = was_author = number
        elif text in changed.removed or (changed.is_whole and text not in changed.added):
            author = None
    author = was_author if author is None else author
    return [replace(each, wrote_line=i == author) for i, each in enumerate(touches)]


async def _changed(executions: ExecutionStore, touch: FileTouch) -> ChangedLines:
    ref = SourceRef(execution_id=touch.session_id, first_line=touch.line, last_line=touch.line)
    excerpt = await executions.excerpt(ref)
    if excerpt is None:
        return ChangedLines()
    return written_in(excerpt.lines[0][1], touch.path)


def _touches(execution: Execution, path: str) -> Iterator[FileTouch]:
    """The calls of a session that changed the file; without one, the session as a whole."""
    base = FileTouch(
        session_id=execution.id,
        agent_id=execution.agent_id,
        title=session_title(execution),
        line=1,
        call=_NO_CALL,
        request=safe_text(one_line(execution.task, _REQUEST)),
        path="",
        at=execution.ended_at or execution.started_at,
    )
    known: dict[str, bool | None] = {}
    is_found = False
    for call in execution.calls:
        for named in _paths_of(call):
            if named not in known:
                known[named] = is_elsewhere(named, execution.project or "", path)
            elsewhere = known[named]
            if elsewhere is not None:
                is_found = True
                yield replace(
                    base,
                    line=call.call_line,
                    call=safe_text(one_line(f"{call.tool} {execution.relative(named)}")),
                    request=_request(execution, call),
                    path=named,
                    at=call.at or base.at,
                    elsewhere=elsewhere,
                )
    for named in () if is_found else execution.files_touched:
        elsewhere = is_elsewhere(named, execution.project or "", path)
        if elsewhere is not None:
            yield replace(base, path=named, elsewhere=elsewhere)


def _paths_of(call: ToolCall) -> Sequence[str]:
    """The files that a call changed, also by a patch that it gave to a shell."""
    if call.changed_path:
        return call.changed_path.split(", ")
    is_patch = call.is_shell and call.outcome is CallOutcome.OK
    return _PATCHED.findall(call.arguments) if is_patch else ()


def _request(execution: Execution, call: ToolCall) -> str:
    """What a person, or the agent that started this one, had said last before the call."""
    said = [
        turn
        for turn in execution.turns
        if turn.role != "assistant" and turn.first_line <= call.call_line
    ]
    return safe_text(one_line(said[-1].text if said else execution.task, _REQUEST))


def is_elsewhere(named: str, project: str, path: str) -> bool | None:
    """Return whether a file that a session named is the one at ``path``, but in another folder.

    ``None`` means another file. The same place in another checkout of the project is the same file,
    and so it is in a folder that isn't there any more, as after renaming the project.
    """
    named = named.replace("\\", "/")
    if os.path.realpath(Path(project or "/", named)) == os.path.realpath(path):
        return False
    if PurePosixPath(named).name != PurePosixPath(path).name:
        return None
    inside = PurePosixPath(os.path.normpath(named.removeprefix(f"{project}/" if project else "")))
    target = PurePosixPath(os.path.realpath(path))
    parts = inside.parts
    if not project or inside.is_absolute() or target.parts[-len(parts) :] != parts:
        return None
    root = target.parents[len(parts) - 1]
    if Path(project).is_dir():
        repository = _repository(project)
        same = bool(repository) and repository == _repository(str(root))
    else:
        same = len(parts) > 1 or root.name == PurePosixPath(project).name
    return True if same else None


def _repository(folder: str) -> str:
    """The Git directory that all checkouts of a repository share; empty without one."""
    git = Path(folder, ".git")
    try:
        if git.is_dir():
            return os.path.realpath(git)
        named = git.read_text(encoding="utf-8").strip().removeprefix("gitdir: ")
    except (OSError, UnicodeDecodeError):
        return ""
    return os.path.realpath(Path(folder, named, "..", ".."))

"""Tools for files of the workspace: read, list, search, write, edit.

Their names and arguments are those of known coding agents, from which the intents of recorded calls
are read. ``core.confined`` keeps paths inside the workspace; a search runs in a process of its own.
"""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from synthorg_tui.core.confined import (
    MAX_PATH,
    ConfinedFolder,
    ConfinedPathError,
    as_text,
    with_replacement,
)
from synthorg_tui.core.enums import ToolAccessLevel, ToolCategory
from synthorg_tui.core.redaction import marks_in
from synthorg_tui.core.text import counted
from synthorg_tui.memory.tools import BaseTool, ToolResult
from synthorg_tui.providers.models import ToolDefinition
from synthorg_tui.runtime.tools import tree_search
from synthorg_tui.runtime.tools.processes import run_process, tool_environment

READ_FILE: Final = "read_file"
LIST_FILES: Final = "list_files"
SEARCH_FILES: Final = "search_files"
WRITE_FILE: Final = "write_file"
EDIT_FILE: Final = "edit_file"

MAX_READ_BYTES: Final = 10_000_000
MAX_WRITE_CHARS: Final = 2_000_000
MAX_PATTERN: Final = 1_000
MAX_RESULTS: Final = 500
SEARCH_SECONDS: Final = 20.0
_LINES: Final = 2_000
_SHOWN_HIDDEN: Final = re.compile(r"‹U\+[0-9A-F]{4,6}›|[\u2400-\u2421]")
"""How hidden characters are shown to a model, which would write the marks instead of them."""


Work: TypeAlias = Callable[[ConfinedFolder, Mapping[str, Any]], Awaitable[ToolResult]]
"""Does what a tool is called for; raises ``ConfinedPathError``."""


class FileTool(BaseTool):
    """A tool on the files of one folder.

    Args:
        folder: Where the files are.
        access: What calls of it may change.
        work: Is given the folder and the arguments of a call.
        definition: What the model is told of it.
    """

    def __init__(
        self,
        folder: ConfinedFolder,
        access: ToolAccessLevel,
        work: Work,
        definition: ToolDefinition,
    ) -> None:
        super().__init__(definition, category=ToolCategory.FILE_SYSTEM, access=access)
        self._folder = folder
        self._work = work

    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        """Return what the call came to; raises ``ConfinedPathError``."""
        return await self._work(self._folder, arguments)


async def _read(folder: ConfinedFolder, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the text of a file, whole or a range of its lines."""
    path = arguments["path"]
    content = await asyncio.to_thread(folder.read, path, limit=MAX_READ_BYTES)
    lines = as_text(content, path).splitlines(keepends=True)
    first = int(arguments.get("offset") or 1)
    last = first + int(arguments.get("limit") or _LINES) - 1
    if not lines:
        return ToolResult(content="(the file is empty)")
    if first > len(lines):
        problem = f"the file has {counted(len(lines), 'line')}; {first:,} is behind its end"
        return ToolResult(content=problem, is_error=True)
    text = "".join(lines[first - 1 : last])
    if last < len(lines):
        text += f"\n[lines {first:,} to {last:,} of {len(lines):,}: go on with offset {last + 1}]"
    return ToolResult(content=text)


async def _list(folder: ConfinedFolder, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the paths of files, one a line."""
    return await _search(folder, arguments, str(arguments.get("pattern") or ""), "")


async def _find(folder: ConfinedFolder, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the lines that a regular expression matches."""
    return await _search(folder, arguments, str(arguments.get("glob") or ""), arguments["pattern"])


async def _search(
    folder: ConfinedFolder, arguments: Mapping[str, Any], glob: str, regex: str
) -> ToolResult:
    """Look through a tree of files, in a process of its own."""
    path = str(arguments.get("path") or ".")
    await asyncio.to_thread(folder.require_folder, path)
    start = "/".join(folder.parts(path))
    program = (sys.executable, "-I", str(Path(tree_search.__file__)))
    result = await run_process(
        (*program, str(folder.root), start, glob, regex, str(MAX_RESULTS)),
        cwd=folder.root,
        seconds=SEARCH_SECONDS,
        most=MAX_RESULTS * tree_search.MAX_LINE,
        environ=tool_environment({}),
    )
    if result.timed_out:
        text = f"{result.output}\n[stopped after {SEARCH_SECONDS:g} s: narrow the search]"
        return ToolResult(content=text, is_error=True)
    if result.exit_code:
        return ToolResult(content=f"Error: {result.output.strip()[-500:]}", is_error=True)
    return ToolResult(content=result.output.rstrip("\n") or "Nothing was found.")


async def _write(folder: ConfinedFolder, arguments: Mapping[str, Any]) -> ToolResult:
    """Write a file as a whole, new or over the one that is there."""
    content = arguments["content"]
    return await asyncio.to_thread(_changed, folder, arguments["path"], lambda before: content)


async def _edit(folder: ConfinedFolder, arguments: Mapping[str, Any]) -> ToolResult:
    """Replace one exact text of a file."""

    def edited(before: str | None) -> str:
        if before is None:
            raise ConfinedPathError("there is no such file", remedy="write_file makes one.")
        old, new = arguments["old_string"], arguments["new_string"]
        everywhere = bool(arguments.get("replace_all"))
        return with_replacement(before, old, new, everywhere=everywhere)

    return await asyncio.to_thread(_changed, folder, arguments["path"], edited)


def _changed(folder: ConfinedFolder, path: str, change: Callable[[str | None], str]) -> ToolResult:
    """Write what a change makes of a file's text, which is ``None`` of a new one."""
    content = folder.read_if_there(path, limit=MAX_READ_BYTES)
    before = None if content is None else as_text(content, path)
    after = change(before)
    _require_no_marks(before, after)
    folder.write(path, after.encode())
    did = "made" if before is None else "written"
    lines = counted(len(after.splitlines()), "line")
    return ToolResult(content=f"{folder.shown(path)} is {did}: {lines}.")


def _require_no_marks(before: str | None, after: str) -> None:
    """Refuse marks that stand for what a model isn't shown: they would take its place."""
    is_secret = marks_in(after).keys() - marks_in(before or "").keys()
    known = _SHOWN_HIDDEN.findall(after if before is None else before)
    is_hidden = set(_SHOWN_HIDDEN.findall(after)) - set(known)
    if is_secret or is_hidden:
        what = "a secret" if is_secret else "a hidden character"
        raise ConfinedPathError(
            f"the new text has a mark that stands for {what}, not what it stands for",
            remedy="Change only the lines around it, with edit_file.",
        )


def object_schema(properties: dict[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of a tool's arguments, which has no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def path_schema(words: str) -> dict[str, Any]:
    """Return the schema of a path."""
    return {"type": "string", "minLength": 1, "maxLength": MAX_PATH, "description": words}


_TEXT: Final = {"type": "string", "maxLength": MAX_WRITE_CHARS}
_PATTERN: Final = {"type": "string", "maxLength": MAX_PATTERN}
FILE_TOOLS: Final[tuple[tuple[ToolAccessLevel, Work, ToolDefinition], ...]] = (
    (
        ToolAccessLevel.SANDBOXED,
        _read,
        ToolDefinition(
            name=READ_FILE,
            description=(
                f"Read a text file of the workspace, at most {_LINES:,} lines at a time; secrets "
                "in it are left out."
            ),
            parameters=object_schema(
                {
                    "path": path_schema("the file, relative to the workspace"),
                    "offset": {
                        "type": "integer",
                        "minimum": 1,
                        "description": "the first line to read, from 1",
                    },
                    "limit": {"type": "integer", "minimum": 1, "maximum": 100_000},
                },
                ("path",),
            ),
        ),
    ),
    (
        ToolAccessLevel.SANDBOXED,
        _list,
        ToolDefinition(
            name=LIST_FILES,
            description=(
                f"List files of the workspace by path, at most {MAX_RESULTS}. Folders of version "
                "control and of installed packages are left out."
            ),
            parameters=object_schema(
                {
                    "path": path_schema("the folder, the workspace itself if left out"),
                    "pattern": {**_PATTERN, "description": "a glob such as *.py or src/**/*.ts"},
                },
                (),
            ),
        ),
    ),
    (
        ToolAccessLevel.SANDBOXED,
        _find,
        ToolDefinition(
            name=SEARCH_FILES,
            description=(
                "Find lines of the workspace's text files by a regular expression (Python's), as "
                f"path:line:text, at most {MAX_RESULTS}."
            ),
            parameters=object_schema(
                {
                    "pattern": {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN},
                    "path": path_schema("the folder, the workspace itself if left out"),
                    "glob": {**_PATTERN, "description": "only files with such a path, as *.py"},
                },
                ("pattern",),
            ),
        ),
    ),
    (
        ToolAccessLevel.STANDARD,
        _write,
        ToolDefinition(
            name=WRITE_FILE,
            description="Write a whole text file of the workspace, over what is there.",
            parameters=object_schema(
                {
                    "path": path_schema("the file, relative to the workspace"),
                    "content": _TEXT,
                },
                ("path", "content"),
            ),
        ),
    ),
    (
        ToolAccessLevel.STANDARD,
        _edit,
        ToolDefinition(
            name=EDIT_FILE,
            description=(
                "Replace a text in a file of the workspace. old_string must be in the file exactly "
                "as given, and once only unless replace_all is true."
            ),
            parameters=object_schema(
                {
                    "path": path_schema("the file, relative to the workspace"),
                    "old_string": {**_TEXT, "minLength": 1},
                    "new_string": _TEXT,
                    "replace_all": {"type": "boolean"},
                },
                ("path", "old_string", "new_string"),
            ),
        ),
    ),
)
"""The tools in the order in which a model is offered them."""

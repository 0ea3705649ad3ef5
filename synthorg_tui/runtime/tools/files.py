"""Tools for files of the workspace: read, list, search, write, edit.

Their names and arguments are those that coding agents know, and that intents of recorded calls are
read from. How a path is kept inside is in ``core.confined``; a search is a program of its own.
"""

import asyncio
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

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


class _FileTool(BaseTool):
    """A tool on files of one folder."""

    def __init__(
        self, folder: ConfinedFolder, definition: ToolDefinition, access: ToolAccessLevel
    ) -> None:
        super().__init__(definition, category=ToolCategory.FILE_SYSTEM, access=access)
        self._folder = folder


class ReadFileTool(_FileTool):
    """The ``read_file`` tool: text of a file, whole or a range of its lines."""

    def __init__(self, folder: ConfinedFolder) -> None:
        definition = ToolDefinition(
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
        )
        super().__init__(folder, definition, ToolAccessLevel.SANDBOXED)

    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        """Return the lines; raises ``ConfinedPathError``."""
        path = arguments["path"]
        content = await asyncio.to_thread(self._folder.read, path, limit=MAX_READ_BYTES)
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
            text += (
                f"\n[lines {first:,} to {last:,} of {len(lines):,}: go on with offset {last + 1}]"
            )
        return ToolResult(content=text)


class _SearchTool(_FileTool):
    """A tool that looks through a tree of files, in a process of its own."""

    async def _search(self, arguments: Mapping[str, Any], glob: str, regex: str) -> ToolResult:
        path = str(arguments.get("path") or ".")
        await asyncio.to_thread(self._folder.require_folder, path)
        start = "/".join(self._folder.parts(path))
        program = (sys.executable, "-I", str(Path(tree_search.__file__)))
        result = await run_process(
            (*program, str(self._folder.root), start, glob, regex, str(MAX_RESULTS)),
            cwd=self._folder.root,
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


class ListFilesTool(_SearchTool):
    """The ``list_files`` tool: paths of files, all or those that a glob names."""

    def __init__(self, folder: ConfinedFolder) -> None:
        definition = ToolDefinition(
            name=LIST_FILES,
            description=(
                f"List files of the workspace by path, at most {MAX_RESULTS}. Folders of version "
                "control and of installed packages are left out."
            ),
            parameters=object_schema(
                {
                    "path": path_schema("the folder, the workspace itself if left out"),
                    "pattern": {
                        "type": "string",
                        "maxLength": MAX_PATTERN,
                        "description": "a glob such as *.py or src/**/*.ts",
                    },
                },
                (),
            ),
        )
        super().__init__(folder, definition, ToolAccessLevel.SANDBOXED)

    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        """Return the paths, one a line; raises ``ConfinedPathError``."""
        return await self._search(arguments, str(arguments.get("pattern") or ""), "")


class SearchFilesTool(_SearchTool):
    """The ``search_files`` tool: lines that a regular expression matches."""

    def __init__(self, folder: ConfinedFolder) -> None:
        definition = ToolDefinition(
            name=SEARCH_FILES,
            description=(
                "Find lines of the workspace's text files by a regular expression (Python's), as "
                f"path:line:text, at most {MAX_RESULTS}."
            ),
            parameters=object_schema(
                {
                    "pattern": {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN},
                    "path": path_schema("the folder, the workspace itself if left out"),
                    "glob": {
                        "type": "string",
                        "maxLength": MAX_PATTERN,
                        "description": "only files with such a path, as *.py",
                    },
                },
                ("pattern",),
            ),
        )
        super().__init__(folder, definition, ToolAccessLevel.SANDBOXED)

    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        """Return the lines; raises ``ConfinedPathError``."""
        return await self._search(arguments, str(arguments.get("glob") or ""), arguments["pattern"])


class WriteFileTool(_FileTool):
    """The ``write_file`` tool: a file as a whole, new or over the one that is there."""

    def __init__(self, folder: ConfinedFolder) -> None:
        definition = ToolDefinition(
            name=WRITE_FILE,
            description="Write a whole text file of the workspace, over what is there.",
            parameters=object_schema(
                {
                    "path": path_schema("the file, relative to the workspace"),
                    "content": {"type": "string", "maxLength": MAX_WRITE_CHARS},
                },
                ("path", "content"),
            ),
        )
        super().__init__(folder, definition, ToolAccessLevel.STANDARD)

    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        """Write the file; raises ``ConfinedPathError``."""
        path, content = arguments["path"], arguments["content"]
        return await asyncio.to_thread(_changed, self._folder, path, lambda before: content)


class EditFileTool(_FileTool):
    """The ``edit_file`` tool: one exact text of a file replaced by another."""

    def __init__(self, folder: ConfinedFolder) -> None:
        text = {"type": "string", "maxLength": MAX_WRITE_CHARS}
        definition = ToolDefinition(
            name=EDIT_FILE,
            description=(
                "Replace a text in a file of the workspace. old_string must be in the file exactly "
                "as given, and once only unless replace_all is true."
            ),
            parameters=object_schema(
                {
                    "path": path_schema("the file, relative to the workspace"),
                    "old_string": {**text, "minLength": 1},
                    "new_string": text,
                    "replace_all": {"type": "boolean"},
                },
                ("path", "old_string", "new_string"),
            ),
        )
        super().__init__(folder, definition, ToolAccessLevel.STANDARD)

    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        """Change the file; raises ``ConfinedPathError``."""

        def edited(before: str | None) -> str:
            if before is None:
                raise ConfinedPathError("there is no such file", remedy="write_file makes one.")
            old, new = arguments["old_string"], arguments["new_string"]
            everywhere = bool(arguments.get("replace_all"))
            return with_replacement(before, old, new, everywhere=everywhere)

        return await asyncio.to_thread(_changed, self._folder, arguments["path"], edited)


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

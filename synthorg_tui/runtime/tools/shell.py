"""The shell of an agent that runs here: one command at a time, in its workspace.

A command can do what the person's account can do: there is no wall around it. What keeps it to the
task is that it is asked for (``interceptors``), what it gets of the environment, and that it ends
with its time. Records of other agents call this tool ``bash``, and so does ours.
"""

import os
import shutil
from collections.abc import Mapping
from typing import Any, Final

from synthorg_tui.core.confined import ConfinedFolder
from synthorg_tui.core.enums import ToolAccessLevel, ToolCategory
from synthorg_tui.memory.tools import BaseTool, ToolResult
from synthorg_tui.providers.models import ToolDefinition
from synthorg_tui.runtime.tools.files import object_schema
from synthorg_tui.runtime.tools.processes import ProcessResult, run_process, tool_environment

BASH: Final = "bash"
MAX_COMMAND: Final = 20_000
MAX_SECONDS: Final = 600
DEFAULT_SECONDS: Final = 120
MAX_OUTPUT: Final = 1_000_000
"""Bytes of output that are held, of which the invoker shows less."""


class ShellTool(BaseTool):
    """The ``bash`` tool: a shell command, with what it wrote and how it ended.

    Args:
        folder: Where commands run.
        environ: The variables to give to commands; those of this process if left out. Secrets and
            what tells of coding agents are left out in any case.
    """

    def __init__(self, folder: ConfinedFolder, *, environ: Mapping[str, str] | None = None) -> None:
        definition = ToolDefinition(
            name=BASH,
            description=(
                "Run a shell command in the workspace. It has no input and no terminal; each call "
                "begins in the workspace anew. What is left in the background is ended with it."
            ),
            parameters=object_schema(
                {
                    "command": {"type": "string", "minLength": 1, "maxLength": MAX_COMMAND},
                    "timeout": {
                        "type": "number",
                        "minimum": 1,
                        "maximum": MAX_SECONDS,
                        "description": f"seconds; {DEFAULT_SECONDS} if left out",
                    },
                },
                ("command",),
            ),
        )
        category, access = ToolCategory.TERMINAL, ToolAccessLevel.ELEVATED
        super().__init__(definition, category=category, access=access)
        self._folder = folder
        self._environ = environ

    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        """Run the command; one that fails or takes too long is an error."""
        command = arguments["command"]
        if "\0" in command:
            return ToolResult(content="Error: a command has no NUL character", is_error=True)
        seconds = float(arguments.get("timeout") or DEFAULT_SECONDS)
        try:
            result = await run_process(
                (shutil.which("bash") or "/bin/sh", "-c", command),
                cwd=self._folder.root,
                seconds=seconds,
                most=MAX_OUTPUT,
                environ=tool_environment(os.environ if self._environ is None else self._environ),
            )
        except OSError as error:
            problem = f"Error: the command can't be started: {error.strerror}"
            return ToolResult(content=problem, is_error=True)
        return ToolResult(
            content=_told(result, seconds),
            is_error=result.timed_out or result.exit_code != 0,
            exit_code=result.exit_code,
        )


def _told(result: ProcessResult, seconds: float) -> str:
    """The output with how the command ended, where that isn't plainly well."""
    notes = []
    if result.timed_out:
        notes.append(f"[it took more than {seconds:g} s and was ended]")
    elif result.exit_code < 0:
        notes.append(f"[ended by signal {-result.exit_code}]")
    elif result.exit_code:
        notes.append(f"[exit code {result.exit_code}]")
    if result.left_running:
        notes.append("[what it left running in the background was ended]")
    output = result.output.rstrip("\n") or ("" if notes else "(no output)")
    return "\n".join(filter(None, (output, *notes)))

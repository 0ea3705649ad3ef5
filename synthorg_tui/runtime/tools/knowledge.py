"""What people approved or decided, as tools of a run: skills, and what the organisation knows.

They are those that connected agents have, through the session of the run's agent: its rights hold,
and its calls are recorded. What is known about a call comes from there, too. Memory tools are the
strategy's and don't belong here.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from synthorg_tui.agents.session import AgentSession
from synthorg_tui.agents.tools import (
    LIST_SKILLS,
    ORG_POLICIES,
    ORG_SEARCH,
    READ_SKILL,
    definitions,
)
from synthorg_tui.core.enums import ToolAccessLevel, ToolCategory
from synthorg_tui.learning.actions import AgentAction
from synthorg_tui.memory.strategies.service import UseKind
from synthorg_tui.memory.tools import BaseTool, ToolResult
from synthorg_tui.providers.models import ToolDefinition, ToolUse
from synthorg_tui.runtime.interceptors import command_of
from synthorg_tui.runtime.invoker import CallHint

_OFFERED: Final = (LIST_SKILLS, READ_SKILL, ORG_SEARCH, ORG_POLICIES)
_FENCED: Final = frozenset({READ_SKILL, ORG_SEARCH, ORG_POLICIES})
"""Their replies fence what they quote."""


class SessionTool(BaseTool):
    """A tool that the session of an agent answers; it changes nothing."""

    def __init__(self, definition: ToolDefinition, session: AgentSession) -> None:
        category, access = ToolCategory.MEMORY, ToolAccessLevel.SANDBOXED
        super().__init__(definition, category=category, access=access)
        self._session = session

    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        """Return the session's reply; what it refuses is an error."""
        reply = await self._session.call(self.name, dict(arguments))
        is_fenced = self.name in _FENCED and not reply.is_error
        return ToolResult(content=reply.content, is_error=reply.is_error, is_fenced=is_fenced)


def knowledge_tools(session: AgentSession) -> tuple[BaseTool, ...]:
    """Return the tools for approved skills and organisation memory, bound to an agent's session."""
    known = {definition.name: definition for definition in definitions()}
    return tuple(SessionTool(known[name], session) for name in _OFFERED)


def hints_of(session: AgentSession, workspace: Path) -> CallHint:
    """Return what tells the agent of a session what is known about a call that it makes.

    As hooks of connected agents do: a lesson about a command or a file, mostly nothing.
    """
    folder = str(workspace)

    async def hint(use: ToolUse) -> str:
        command, path = command_of(use), use.arguments.get("path")
        if not command and not (isinstance(path, str) and path):
            return ""
        file = "" if command or not isinstance(path, str) else path
        action = AgentAction(use.name, command=command, file=file, cwd=folder, project=folder)
        served = await session.hint(UseKind.BEFORE, action)
        await session.acknowledge(served.receipt)
        return served.text

    return hint

"""Calls of tools as a model makes them, for tests."""

from collections.abc import Mapping
from itertools import count
from typing import Any

from synthorg_tui.core.enums import ToolAccessLevel, ToolCategory
from synthorg_tui.memory.tools import BaseTool, ToolResult
from synthorg_tui.providers.models import ToolDefinition, ToolUse

_NUMBERS = count(1)


def use(name: str, /, **arguments: Any) -> ToolUse:
    """A call with an id of its own."""
    return ToolUse(id=f"use-{next(_NUMBERS)}", name=name, arguments=arguments)


class OddTool(BaseTool):
    """A tool that answers with a text, or raises; ``calls`` are the arguments it was given."""

    def __init__(
        self,
        name: str = "odd",
        reply: str | BaseException = "done",
        *,
        access: ToolAccessLevel = ToolAccessLevel.SANDBOXED,
        category: ToolCategory = ToolCategory.OTHER,
        schema: Mapping[str, Any] | None = None,
    ) -> None:
        parameters = schema or {"type": "object", "properties": {}}
        definition = ToolDefinition(name=name, description="Odd.", parameters=parameters)
        super().__init__(definition, category=category, access=access)
        self._reply = reply
        self.calls: list[Mapping[str, Any]] = []

    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        self.calls.append(arguments)
        if isinstance(self._reply, BaseException):
            raise self._reply
        return ToolResult(content=self._reply)

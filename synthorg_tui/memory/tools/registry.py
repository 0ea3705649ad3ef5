"""The tools of one agent, by name."""

from collections.abc import Iterable

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.tools.base import BaseTool
from synthorg_tui.providers.models import ToolDefinition


class ToolNotFoundError(DomainError):
    """No tool has the given name."""


class ToolRegistry:
    """An immutable set of tools with unique names.

    Raises:
        ValueError: Two tools have the same name.
    """

    def __init__(self, tools: Iterable[BaseTool] = ()) -> None:
        self._tools: dict[str, BaseTool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"there are two tools named {tool.name!r}")
            self._tools[tool.name] = tool

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> BaseTool:
        """The tool with this name; raises ``ToolNotFoundError``."""
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(self.list_tools()) or "none"
            raise ToolNotFoundError(f"there is no tool {name!r}; there are: {known}")
        return tool

    def list_tools(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted(self._tools))

    def all_tools(self) -> tuple[BaseTool, ...]:
        """All tools, in the order in which they were given."""
        return tuple(self._tools.values())

    def to_definitions(self) -> tuple[ToolDefinition, ...]:
        """What a model is told of the tools, by name."""
        return tuple(self._tools[name].definition for name in self.list_tools())

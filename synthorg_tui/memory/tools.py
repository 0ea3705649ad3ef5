"""The tools of an agent by name, with those of its memory strategy.

The documented contract for programs that embed the memory and run the agents themselves: they put
``registry_with_memory_tools`` into their own tool loop. Agents that connect from outside don't use
it: ``agents.toolbox`` must also know which memories a reply is about and what waits for a person,
which a ``ToolResult`` doesn't carry. Nothing of the latter moves in here.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Final

from synthorg_tui.core.enums import ToolAccessLevel, ToolCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import raise_fatal
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.injection import MemoryInjectionStrategy
from synthorg_tui.memory.strategies.schemas import MemoryTool
from synthorg_tui.memory.strategies.self_editing import SelfEditingMemoryStrategy
from synthorg_tui.memory.tool_retriever import (
    RECALL_MEMORY,
    SEARCH_MEMORY,
    ToolBasedInjectionStrategy,
)
from synthorg_tui.providers.models import ToolDefinition

_log = logging.getLogger(__name__)


class ToolResult(FrozenModel):
    """Reply of a tool, as text for the model; ``is_error`` when the tool failed.

    ``is_fenced`` when ``content`` is fenced as data already. ``exit_code`` is that of a command.
    """

    content: str
    is_error: bool = False
    is_fenced: bool = False
    exit_code: int | None = None


class BaseTool(ABC):
    """A tool that a model can call by name with JSON arguments.

    ``access`` is how far it reaches: ``SANDBOXED`` only reads, ``RESTRICTED`` changes what is the
    agent's own, ``STANDARD`` changes files of the workspace, ``ELEVATED`` runs programs. What a
    ``CUSTOM`` one reaches isn't known.
    """

    def __init__(
        self,
        definition: ToolDefinition,
        *,
        category: ToolCategory,
        access: ToolAccessLevel = ToolAccessLevel.CUSTOM,
    ) -> None:
        self.definition = definition
        self.category = category
        self.access = access

    @property
    def name(self) -> str:
        """Name by which the model calls the tool."""
        return self.definition.name

    @abstractmethod
    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        """Run the tool and return its reply.

        ``arguments`` are as the model wrote them and may not match the tool's schema.
        """


class ToolNotFoundError(DomainError):
    """No tool has the given name."""


class ToolRegistry:
    """Immutable collection of tools with unique names.

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
        """Return the tool with this name; raises ``ToolNotFoundError``."""
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(self.list_tools()) or "none"
            raise ToolNotFoundError(f"there is no tool {name!r}; there are: {known}")
        return tool

    def list_tools(self) -> tuple[str, ...]:
        """Return the names of all tools, sorted."""
        return tuple(sorted(self._tools))

    def all_tools(self) -> tuple[BaseTool, ...]:
        """Return all tools in the order in which they were passed to the constructor."""
        return tuple(self._tools.values())

    def to_definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the definitions of all tools to offer to a model, sorted by name."""
        return tuple(self._tools[name].definition for name in self.list_tools())


ToolStrategy = ToolBasedInjectionStrategy | SelfEditingMemoryStrategy

_READING: Final = frozenset(
    {
        SEARCH_MEMORY,
        RECALL_MEMORY,
        MemoryTool.CORE_READ,
        MemoryTool.ARCHIVAL_SEARCH,
        MemoryTool.RECALL_READ,
    }
)
"""The tools of all strategies that change nothing."""


class MemoryStrategyTool(BaseTool):
    """One tool of an injection strategy, bound to the agent that calls it.

    Replies that quote memories are fenced in ``<tool-result>``, since their text is untrusted.
    """

    def __init__(
        self, definition: ToolDefinition, *, strategy: ToolStrategy, agent_id: NotBlankStr
    ) -> None:
        only_reads = definition.name in _READING
        access = ToolAccessLevel.SANDBOXED if only_reads else ToolAccessLevel.RESTRICTED
        super().__init__(definition, category=ToolCategory.MEMORY, access=access)
        self._strategy = strategy
        self._agent_id = agent_id

    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        """Let the strategy answer the call; stored text in the reply is fenced as data."""
        reply = await self._strategy.answer(self.name, arguments, self._agent_id)
        return ToolResult(
            content=reply.fenced, is_error=reply.is_error, is_fenced=reply.has_stored_text
        )


class SearchMemoryTool(MemoryStrategyTool):
    """The ``search_memory`` tool: finds memories that match a question."""

    def __init__(self, *, strategy: ToolBasedInjectionStrategy, agent_id: NotBlankStr) -> None:
        definition = _named(strategy, SEARCH_MEMORY)
        super().__init__(definition, strategy=strategy, agent_id=agent_id)


class RecallMemoryTool(MemoryStrategyTool):
    """The ``recall_memory`` tool: reads one memory by its id."""

    def __init__(self, *, strategy: ToolBasedInjectionStrategy, agent_id: NotBlankStr) -> None:
        definition = _named(strategy, RECALL_MEMORY)
        super().__init__(definition, strategy=strategy, agent_id=agent_id)


def registry_with_memory_tools(
    registry: ToolRegistry, strategy: MemoryInjectionStrategy | None, agent_id: NotBlankStr
) -> ToolRegistry:
    """Return a registry with the strategy's tools added, or ``registry`` itself if it has none.

    Failures other than a name conflict are logged and leave the agent without memory tools.

    Raises:
        ValueError: A tool of the same name is registered already.
    """
    try:
        tools = _tools_of(strategy, agent_id)
        return ToolRegistry((*registry.all_tools(), *tools)) if tools else registry
    except ValueError:
        raise
    except Exception as error:  # an agent without memory tools is better than none
        raise_fatal(error)
        _log.error("the memory tools of %s are missing", agent_id, exc_info=error)
        return registry


def _tools_of(strategy: MemoryInjectionStrategy | None, agent_id: str) -> tuple[BaseTool, ...]:
    if isinstance(strategy, ToolBasedInjectionStrategy):
        return (
            SearchMemoryTool(strategy=strategy, agent_id=agent_id),
            RecallMemoryTool(strategy=strategy, agent_id=agent_id),
        )
    if isinstance(strategy, SelfEditingMemoryStrategy):
        return tuple(
            MemoryStrategyTool(definition, strategy=strategy, agent_id=agent_id)
            for definition in strategy.get_tool_definitions()
        )
    return ()


def _named(strategy: ToolBasedInjectionStrategy, name: str) -> ToolDefinition:
    return next(tool for tool in strategy.get_tool_definitions() if tool.name == name)

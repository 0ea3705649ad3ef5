"""What a tool is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from synthorg_tui.core.enums import ToolCategory
from synthorg_tui.core.types import FrozenModel
from synthorg_tui.providers.models import ToolDefinition


class ToolResult(FrozenModel):
    """What the model is told; ``is_error`` when the tool didn't do what was asked."""

    content: str
    is_error: bool = False


class BaseTool(ABC):
    """Something that a model can call by name with JSON arguments."""

    def __init__(self, definition: ToolDefinition, *, category: ToolCategory) -> None:
        self.definition = definition
        self.category = category

    @property
    def name(self) -> str:
        """The name it is called by."""
        return self.definition.name

    @abstractmethod
    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        """Run with arguments as the model wrote them, which may not fit the schema."""

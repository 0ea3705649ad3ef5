"""Messages and tools, as every model provider understands them."""

from collections.abc import Mapping
from typing import Any

from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.providers.enums import MessageRole


class ChatMessage(FrozenModel):
    """One message of a conversation with a language model."""

    role: MessageRole
    content: str


class ToolDefinition(FrozenModel):
    """A tool offered to a language model.

    ``parameters`` is the JSON schema of the tool's arguments, an object.
    """

    name: NotBlankStr
    description: NotBlankStr
    parameters: Mapping[str, Any]

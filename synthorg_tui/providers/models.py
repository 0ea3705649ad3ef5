"""Messages and tools, as every model provider understands them."""

from collections.abc import Mapping
from typing import Any

from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.providers.enums import MessageRole


class ToolUse(FrozenModel):
    """A model's wish to call a tool.

    ``id`` pairs it with the message that answers it. ``arguments`` are as the model wrote them and
    may not match the tool's schema.
    """

    id: NotBlankStr
    name: NotBlankStr
    arguments: Mapping[str, Any]


class ChatMessage(FrozenModel):
    """One message of a conversation with a language model.

    ``tool_uses`` are the calls that a message of the ``ASSISTANT`` asks for. A message of a
    ``TOOL`` has its output as content and in ``tool_use_id`` the id of the call it answers.
    """

    role: MessageRole
    content: str
    tool_uses: tuple[ToolUse, ...] = ()
    tool_use_id: str = ""


class ToolDefinition(FrozenModel):
    """A tool offered to a language model.

    ``parameters`` is the JSON schema of the tool's arguments, an object.
    """

    name: NotBlankStr
    description: NotBlankStr
    parameters: Mapping[str, Any]

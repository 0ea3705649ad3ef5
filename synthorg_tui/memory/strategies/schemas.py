"""The tools of self-editing memory and what they accept."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from pydantic import Field, ValidationError, field_validator

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.text import safe_text
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.strategies.replies import CAUTION
from synthorg_tui.providers.models import ToolDefinition

MAX_CONTENT_CHARS: Final = 50_000
MAX_ID_CHARS: Final = 256
MAX_SEARCH_LIMIT: Final = 1000
_SHOWN_PROBLEM_CHARS = 200


class MemoryTool(StrEnum):
    """The six tools."""

    CORE_READ = "core_memory_read"
    CORE_WRITE = "core_memory_write"
    ARCHIVAL_SEARCH = "archival_memory_search"
    ARCHIVAL_WRITE = "archival_memory_write"
    RECALL_READ = "recall_memory_read"
    RECALL_WRITE = "recall_memory_write"


def _not_working(category: MemoryCategory | None) -> MemoryCategory | None:
    if category is MemoryCategory.WORKING:
        raise ValueError("'working' is not archival")
    return category


class CoreRead(FrozenModel):
    """Nothing to say."""


class CoreWrite(FrozenModel):
    """What to keep in sight."""

    content: NotBlankStr = Field(max_length=MAX_CONTENT_CHARS)


class ArchivalSearch(FrozenModel):
    """What to look for; all archival categories when none is named."""

    query: NotBlankStr
    category: MemoryCategory | None = None
    limit: int | None = Field(default=None, ge=1, le=MAX_SEARCH_LIMIT)

    _category = field_validator("category")(_not_working)


class ArchivalWrite(FrozenModel):
    """What to keep, as what."""

    content: NotBlankStr = Field(max_length=MAX_CONTENT_CHARS)
    category: MemoryCategory

    _category = field_validator("category")(_not_working)


class RecallRead(FrozenModel):
    """Which memory to read."""

    memory_id: NotBlankStr = Field(max_length=MAX_ID_CHARS)


class RecallWrite(FrozenModel):
    """What happened."""

    content: NotBlankStr = Field(max_length=MAX_CONTENT_CHARS)


_TOOLS: Final[dict[MemoryTool, tuple[type[FrozenModel], str]]] = {
    MemoryTool.CORE_READ: (CoreRead, f"Read your core memories. {CAUTION}"),
    MemoryTool.CORE_WRITE: (
        CoreWrite,
        "Keep a fact in your core memory, which is in your prompt from the next task on. Be brief.",
    ),
    MemoryTool.ARCHIVAL_SEARCH: (
        ArchivalSearch,
        f"Find what you archived that matches a question. {CAUTION}",
    ),
    MemoryTool.ARCHIVAL_WRITE: (ArchivalWrite, "Archive knowledge that may be needed later."),
    MemoryTool.RECALL_READ: (RecallRead, f"Read one memory by its id. {CAUTION}"),
    MemoryTool.RECALL_WRITE: (RecallWrite, "Record something that happened, as an episode."),
}
_CATEGORIES = [each.value for each in MemoryCategory if each is not MemoryCategory.WORKING]
_CONTENT = {"type": "string", "minLength": 1, "maxLength": MAX_CONTENT_CHARS}
_CATEGORY = {"type": "string", "enum": _CATEGORIES}
_PROPERTIES: Final[dict[MemoryTool, dict[str, dict[str, Any]]]] = {
    MemoryTool.CORE_READ: {},
    MemoryTool.CORE_WRITE: {"content": _CONTENT},
    MemoryTool.ARCHIVAL_SEARCH: {
        "query": {"type": "string", "minLength": 1},
        "category": _CATEGORY,
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_SEARCH_LIMIT},
    },
    MemoryTool.ARCHIVAL_WRITE: {"content": _CONTENT, "category": _CATEGORY},
    MemoryTool.RECALL_READ: {
        "memory_id": {"type": "string", "minLength": 1, "maxLength": MAX_ID_CHARS}
    },
    MemoryTool.RECALL_WRITE: {"content": _CONTENT},
}


def definitions() -> tuple[ToolDefinition, ...]:
    """The six tools; every call makes schemas of its own."""
    return tuple(
        ToolDefinition(name=tool.value, description=words, parameters=_schema(tool, model))
        for tool, (model, words) in _TOOLS.items()
    )


def parse(tool: MemoryTool, arguments: Mapping[str, Any]) -> FrozenModel:
    """The arguments of a call; raises ``ValidationError``.

    Models repeat the tool's name as an argument ``tool``; the name they called it by holds.
    """
    model, _ = _TOOLS[tool]
    return model.model_validate({key: arguments[key] for key in arguments if key != "tool"})


def problems(error: ValidationError) -> str:
    """What is wrong with the arguments, without repeating what they hold."""
    told = (
        f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}"
        for each in error.errors()
    )
    return "; ".join(safe_text(each[:_SHOWN_PROBLEM_CHARS]) for each in told)


def _schema(tool: MemoryTool, model: type[FrozenModel]) -> dict[str, Any]:
    fields = model.model_fields.items()
    return {
        "type": "object",
        "properties": {
            name: {key: _copied(value) for key, value in schema.items()}
            for name, schema in _PROPERTIES[tool].items()
        },
        "required": [name for name, field in fields if field.is_required()],
        "additionalProperties": False,
    }


def _copied(value: object) -> object:
    return list(value) if isinstance(value, list) else value

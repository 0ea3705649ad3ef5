"""The tools of self-editing memory and the arguments they accept.

A tool's arguments are a model: the JSON schema that agents are given is made of it, so that what is
announced and what is checked can't differ. What a tool does is the strategy's.
"""

from collections.abc import Mapping
from copy import deepcopy
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, ValidationError, WithJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, SkipJsonSchema

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.text import safe_text
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.strategies.replies import CAUTION
from synthorg_tui.providers.models import ToolDefinition

WORTH_WRITING: Final = (
    "Write what nobody could find out from the project and its tools: decisions and their reasons, "
    "what the person wants, what failed and what put it right, what surprised you. Leave out what "
    "code, documents, history or a command say by themselves."
)
"""What agents are told of what belongs into memory, wherever they can write."""
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


def _not_working(category: MemoryCategory) -> MemoryCategory:
    if category is MemoryCategory.WORKING:
        raise ValueError("'working' is not archival")
    return category


_ARCHIVAL: Final = [category for category in MemoryCategory if category != MemoryCategory.WORKING]
ArchivalCategory = Annotated[
    MemoryCategory,
    AfterValidator(_not_working),
    WithJsonSchema({"type": "string", "enum": [category.value for category in _ARCHIVAL]}),
]
Content = Annotated[NotBlankStr, Field(max_length=MAX_CONTENT_CHARS)]
NonInferable = Annotated[
    bool,
    Field(
        description="true when neither the project nor a command tells it; where only such "
        "memories are given, the others stay out of digests"
    ),
]


class CoreRead(FrozenModel):
    """No arguments."""


class CoreWrite(FrozenModel):
    """A fact for the core memory."""

    content: Content
    non_inferable: NonInferable = False


class ArchivalSearch(FrozenModel):
    """A question for the archive; all archival categories when none is named."""

    query: NotBlankStr
    category: ArchivalCategory | SkipJsonSchema[None] = None
    limit: Annotated[int, Field(ge=1, le=MAX_SEARCH_LIMIT)] | SkipJsonSchema[None] = None


class ArchivalWrite(FrozenModel):
    """Knowledge for the archive, and its category."""

    content: Content
    category: ArchivalCategory
    non_inferable: NonInferable = False


class RecallRead(FrozenModel):
    """The id of the memory to read."""

    memory_id: NotBlankStr = Field(max_length=MAX_ID_CHARS)


class RecallWrite(FrozenModel):
    """An episode to record."""

    content: Content
    non_inferable: NonInferable = False


_TOOLS: Final[dict[MemoryTool, tuple[type[FrozenModel], str]]] = {
    MemoryTool.CORE_READ: (CoreRead, f"Read your core memories. {CAUTION}"),
    MemoryTool.CORE_WRITE: (
        CoreWrite,
        "Keep a fact in your core memory, which is in your prompt from the next task on. Be brief. "
        f"{WORTH_WRITING}",
    ),
    MemoryTool.ARCHIVAL_SEARCH: (
        ArchivalSearch,
        f"Find what you archived that matches a question. {CAUTION}",
    ),
    MemoryTool.ARCHIVAL_WRITE: (
        ArchivalWrite,
        f"Archive knowledge that may be needed later. {WORTH_WRITING}",
    ),
    MemoryTool.RECALL_READ: (RecallRead, f"Read one memory by its id. {CAUTION}"),
    MemoryTool.RECALL_WRITE: (
        RecallWrite,
        f"Record something that happened, as an episode. {WORTH_WRITING}",
    ),
}
_KEYWORDS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}, "required": []}
"""Keywords of every schema, in this order; ``additionalProperties`` is the model's own."""


class _PlainSchema(GenerateJsonSchema):
    """Says what fits and nothing else: no titles, no defaults, in the order of the model."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        return value


def definitions() -> tuple[ToolDefinition, ...]:
    """The six tools; every call makes schemas of its own."""
    return tuple(
        ToolDefinition(name=tool.value, description=words, parameters=schema_of(model))
        for tool, (model, words) in _TOOLS.items()
    )


def parse(tool: MemoryTool, arguments: Mapping[str, Any]) -> FrozenModel:
    """The arguments of a call; raises ``ValidationError``.

    Models repeat the tool's name as an argument ``tool``; the name they called it by holds.
    """
    model, _ = _TOOLS[tool]
    return model.model_validate({key: arguments[key] for key in arguments if key != "tool"})


def problems(error: ValidationError) -> str:
    """Describe what is wrong with arguments, without repeating what they hold."""
    problems = (
        f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}"
        for problem in error.errors()
    )
    return "; ".join(safe_text(problem[:_SHOWN_PROBLEM_CHARS]) for problem in problems)


def schema_of(model: type[FrozenModel]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments; each call makes one of its own."""
    generated = model.model_json_schema(schema_generator=_PlainSchema)
    given = {key: generated.get(key, default) for key, default in _KEYWORDS.items()}
    return {**deepcopy(given), "additionalProperties": generated["additionalProperties"]}

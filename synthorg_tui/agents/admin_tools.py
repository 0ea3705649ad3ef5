"""The tools of administration: their names, arguments and replies beyond those of other tools.

Only the agent that the settings name as the administrator is offered them. What they do is in
``agents.administration``.
"""

import json
import logging
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from synthorg_tui.agents import tools
from synthorg_tui.agents.models import CallReply
from synthorg_tui.agents.tools import AdminTool, RefusalCode
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.strategies.schemas import schema_of
from synthorg_tui.providers.models import ToolDefinition

_log = logging.getLogger(__name__)

MAX_ID: Final = 128
MAX_REASON: Final = 500
MAX_PAGE: Final = 50
NOT_FOR_AGENTS: Final = frozenset(
    {"source_dir", "output_dir", "base_model", "resume_run_id", "trainer", "execution"}
)
"""Parts of a plan that only a person chooses: what is read and written where, by what program."""

MCP_HANDLER_NOT_IMPLEMENTED: Final = "mcp.handler.not_implemented"
MCP_HANDLER_CAPABILITY_GAP: Final = "mcp.handler.capability_gap"
MCP_HANDLER_SERVICE_FALLBACK: Final = "mcp.handler.service_fallback"
_LEVELS: Final = {
    MCP_HANDLER_NOT_IMPLEMENTED: logging.WARNING,
    MCP_HANDLER_CAPABILITY_GAP: logging.INFO,
    MCP_HANDLER_SERVICE_FALLBACK: logging.WARNING,
}


class TuningWish(FrozenModel):
    """How a run trains; what isn't named is the trainer's own.

    The bounds are narrower than a person's: an agent that names huge values would keep a machine
    busy for hours.
    """

    epochs: Annotated[int, Field(ge=1, le=500)] | SkipJsonSchema[None] = None
    learning_rate: Annotated[float, Field(gt=0.0, le=1.0)] | SkipJsonSchema[None] = None
    temperature: Annotated[float, Field(gt=0.0, le=10.0)] | SkipJsonSchema[None] = None
    top_k: Annotated[int, Field(ge=1, le=64)] | SkipJsonSchema[None] = None
    batch_size: Annotated[int, Field(ge=1, le=4096)] | SkipJsonSchema[None] = None
    validation_split: Annotated[float, Field(gt=0.0, lt=1.0)] | SkipJsonSchema[None] = None


class RunName(FrozenModel):
    """The id of a run."""

    run_id: NotBlankStr = Field(max_length=MAX_ID)


class MaybeRun(FrozenModel):
    """The id of a run; the active one when none is named."""

    run_id: Annotated[NotBlankStr, Field(max_length=MAX_ID)] | SkipJsonSchema[None] = None


class ListPage(FrozenModel):
    """A page of a list."""

    limit: int = Field(default=20, ge=1, le=MAX_PAGE)
    offset: int = Field(default=0, ge=0, le=1_000_000)


class NoArguments(FrozenModel):
    """No arguments."""


class DeployWish(FrozenModel):
    """The checkpoint to deploy, and why."""

    checkpoint_id: NotBlankStr = Field(max_length=MAX_ID)
    reason: str = Field(default="", max_length=MAX_REASON)


class Guarded(FrozenModel):
    """What a destructive call needs besides its target."""

    confirm: Literal[True]
    reason: NotBlankStr = Field(max_length=MAX_REASON)


class GuardedCheckpoint(Guarded):
    """The checkpoint that a destructive call is about."""

    checkpoint_id: NotBlankStr = Field(max_length=MAX_ID)


_WAITS: Final = (
    "A person decides: the reply names the item that waits, and nothing changes before. Asking "
    "again changes nothing."
)
_GUARDED: Final = "Needs confirm: true and a reason."
MODELS: Final[dict[AdminTool, tuple[type[FrozenModel], str]]] = {
    AdminTool.START: (
        TuningWish,
        "Train the embedder on the store's own memories, in the background: it makes a checkpoint "
        "and changes nothing else. One run at a time.",
    ),
    AdminTool.RESUME: (
        RunName,
        "Go on with a run that broke off. With one that you didn't begin, a person decides.",
    ),
    AdminTool.STATUS: (
        MaybeRun,
        "How a run stands, and what became of what you asked a person for.",
    ),
    AdminTool.CANCEL: (
        Guarded,
        f"Stop the active run; it can be resumed. {_GUARDED} About one that you didn't begin, a "
        "person decides.",
    ),
    AdminTool.PREFLIGHT: (TuningWish, "Look at what a run would need, without changing anything."),
    AdminTool.CHECKPOINTS: (ListPage, "List the checkpoints with their figures, newest first."),
    AdminTool.DEPLOY: (DeployWish, f"Ask to have searches use a checkpoint. {_WAITS}"),
    AdminTool.ROLL_BACK: (
        GuardedCheckpoint,
        f"Ask to take the active checkpoint back. {_GUARDED} {_WAITS}",
    ),
    AdminTool.DELETE: (
        GuardedCheckpoint,
        f"Ask to delete a checkpoint for good. {_GUARDED} {_WAITS}",
    ),
    AdminTool.RUNS: (ListPage, "List the runs of fine-tuning, newest first."),
    AdminTool.ACTIVE: (NoArguments, "Which embedder is in force, and the checkpoint on top of it."),
}
"""The arguments of each tool, and what an agent is told of it."""


def definitions() -> tuple[ToolDefinition, ...]:
    """Return new definitions of the tools."""
    return tuple(
        ToolDefinition(name=name.value, description=words, parameters=schema_of(model))
        for name, (model, words) in MODELS.items()
    )


def listed(data: Sequence[Any], *, total: int, page: ListPage) -> CallReply:
    """Return a page of a list with where it is in the whole."""
    pagination = {"total": total, "offset": page.offset, "limit": page.limit}
    reply = {"status": "ok", "data": list(data), "pagination": pagination}
    return CallReply(json.dumps(reply, ensure_ascii=False))


def not_offered(tool: str) -> CallReply:
    """Return the reply to an agent that doesn't administer."""
    reason = "this agent doesn't administer; agent_access.administrator names the one that does"
    return not_supported(MCP_HANDLER_CAPABILITY_GAP, tool, reason)


def not_supported(event: str, tool: str, reason: str) -> CallReply:
    """Return and log that a tool can't do this here.

    ``event`` says why: a part of the store that isn't there (not implemented), something that this
    agent isn't given (capability gap), or a store that has no such service at all (fallback).
    """
    details = {"event": event, "tool": tool, "reason": reason}
    _log.log(_LEVELS[event], "%s %s: %s", event, tool, reason, extra=details)
    return tools.error("NotSupportedInMCP", reason, RefusalCode.NOT_SUPPORTED)

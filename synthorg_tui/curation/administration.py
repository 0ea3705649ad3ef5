"""Acts of administration that an agent asks for: what one is, and doing it once it is approved.

An agent that may administer still changes nothing of a person's: deploying, rolling back and
deleting checkpoints, and stopping or resuming what others began, wait in the inbox. The approval is
a decision like any other; its act is a last step of it, as files are, and after a crash it is done
with the next start. So an act must come to the same when it is done twice: each looks first whether
it is in effect already.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import raise_fatal
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.fine_tune.errors import CheckpointNotFoundError
from synthorg_tui.memory.fine_tune.models import FineTuneStage
from synthorg_tui.memory.service import MemoryService

_log = logging.getLogger(__name__)

MCP_ADMIN_OP_EXECUTED: Final = "mcp.admin_op.executed"
"""Event that something an agent asked for was done; with ``actor``, ``reason``, ``target_id``."""


class AdminAction(StrEnum):
    """What an agent can ask for."""

    DEPLOY = "deploy"
    ROLL_BACK = "roll_back"
    DELETE = "delete"
    CANCEL = "cancel"
    RESUME = "resume"


class AdminPayload(FrozenModel):
    """An act that waits for a person.

    ``target_id`` is the checkpoint, or for ``cancel`` and ``resume`` the run. ``reason`` is the
    agent's own, without secrets; ``figures`` says in words of ours what was measured, empty where
    nothing was.
    """

    type: Literal["admin"] = "admin"
    action: AdminAction
    target_id: NotBlankStr
    agent_id: NotBlankStr
    reason: str = ""
    figures: str = ""


def log_executed(actor: str, reason: str, target_id: str) -> None:
    """Log that something an agent asked for was done."""
    details = {
        "event": MCP_ADMIN_OP_EXECUTED,
        "actor": actor,
        "reason": reason,
        "target_id": target_id,
    }
    _log.info("%s %s for %s", MCP_ADMIN_OP_EXECUTED, target_id, actor, extra=details)


class AdminActs:
    """Does what a person approved. ``service`` returns what it is done with, or raises."""

    def __init__(self, service: Callable[[], MemoryService]) -> None:
        self._service = service

    async def perform(self, act: AdminPayload, actor: str) -> str:
        """Do an act, or nothing when it is in effect already; return why it can't be done.

        ``actor`` is who approved it. Empty means that it is done. It never raises: a decision must
        not stay open for ever because of what it is about.
        """
        try:
            await _ACTS[act.action](self._service(), act.target_id, actor)
        except DomainError as error:
            _log.warning("%s %s: %s", act.action, act.target_id, error.message)
            return f"{error.message}. {error.remedy}" if error.remedy else error.message
        except Exception as error:
            raise_fatal(error)
            _log.exception("%s %s failed", act.action, act.target_id)
            return f"unexpected {type(error).__name__}"
        log_executed(act.agent_id, act.reason, act.target_id)
        return ""


async def _deploy(service: MemoryService, checkpoint_id: str, actor: str) -> None:
    if not (await service.get_checkpoint(checkpoint_id)).is_active:
        await service.deploy_checkpoint(checkpoint_id, actor=actor)


async def _roll_back(service: MemoryService, checkpoint_id: str, actor: str) -> None:
    if (await service.get_checkpoint(checkpoint_id)).is_active:
        await service.rollback_checkpoint(checkpoint_id, actor=actor)


async def _delete(service: MemoryService, checkpoint_id: str, _: str) -> None:
    try:
        await service.delete_checkpoint(checkpoint_id)
    except CheckpointNotFoundError:
        _log.info("checkpoint %s is gone already", checkpoint_id)


async def _cancel(service: MemoryService, run_id: str, _: str) -> None:
    if (await service.get_fine_tune_status()).run_id == run_id:
        await service.cancel_fine_tune()


async def _resume(service: MemoryService, run_id: str, _: str) -> None:
    run = await service.get_run(run_id)
    if not run.stage.is_active and run.stage is not FineTuneStage.COMPLETE:
        await service.resume_fine_tune(run_id)


_ACTS: Final[Mapping[AdminAction, Callable[[MemoryService, str, str], Awaitable[None]]]] = (
    MappingProxyType(
        {
            AdminAction.DEPLOY: _deploy,
            AdminAction.ROLL_BACK: _roll_back,
            AdminAction.DELETE: _delete,
            AdminAction.CANCEL: _cancel,
            AdminAction.RESUME: _resume,
        }
    )
)

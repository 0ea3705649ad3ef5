"""Fine-tuning and its checkpoints for the agent that administers: reading, starting, asking.

Reading answers at once. Starting computes and makes a checkpoint that nothing uses yet, so that
it needs nobody's leave; what an agent began itself, it may stop and resume. Whatever changes how
searches are answered, destroys something, or touches a run of somebody else becomes one item for
each target in the approvals: a call in a loop finds the item that waits, and what a person rejected
stays rejected. Nothing here can decide.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from synthorg_tui.agents import tools
from synthorg_tui.agents.guarded import WriteAllowance
from synthorg_tui.agents.models import AgentIdentity, CallReply
from synthorg_tui.agents.pending import PendingWrites
from synthorg_tui.agents.tools import (
    AdminTool,
    DeployWish,
    Guarded,
    GuardedCheckpoint,
    ListPage,
    MaybeRun,
    NoArguments,
    RefusalCode,
    RunName,
    TuningWish,
)
from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalItem,
    ApprovalStatus,
    RiskLevel,
)
from synthorg_tui.approvals.proposals import ProposalBox, ask_once, asked_by
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import size
from synthorg_tui.curation.administration import AdminAction, AdminPayload, log_executed
from synthorg_tui.curation.review import ADMIN_ACTION, entry_of
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.memory.errors import MemoryCapabilityError, WriteRefusedError
from synthorg_tui.memory.fine_tune.errors import (
    BackendUnsupportedError,
    CheckpointActiveError,
    CheckpointRefusedError,
    CheckpointRollbackUnavailableError,
    FineTuneDependencyError,
    FineTuneError,
    FineTuneRunNotResumableError,
)
from synthorg_tui.memory.fine_tune.models import (
    CheckpointRecord,
    FineTunePlan,
    FineTuneRun,
    FineTuneStage,
)
from synthorg_tui.memory.service import MemoryService
from synthorg_tui.memory.strategies.schemas import problems

MAX_REQUESTS: Final = 10
"""Requests of an agent that the status tells of, the newest ones."""
_NO_MEASURE: Final = "Nothing was measured of it."
_TITLES: Final = {
    AdminAction.DEPLOY: "Deploy checkpoint",
    AdminAction.ROLL_BACK: "Roll back checkpoint",
    AdminAction.DELETE: "Delete checkpoint",
    AdminAction.CANCEL: "Stop run",
    AdminAction.RESUME: "Resume run",
}
_WOULD: Final = {
    AdminAction.DEPLOY: (
        "Every search would then read questions with this checkpoint. Nothing is embedded again, "
        "and rolling it back brings back what is in force now."
    ),
    AdminAction.ROLL_BACK: (
        "Searches would then be answered as before this checkpoint was deployed. It is kept, and "
        "can be deployed again."
    ),
    AdminAction.DELETE: (
        "The checkpoint and its file would be gone for good; another run can make one like it."
    ),
    AdminAction.CANCEL: (
        "The run, which this agent didn't begin, would stop. What is done is kept, and it can be "
        "gone on with."
    ),
    AdminAction.RESUME: (
        "The run, which this agent didn't begin, would go on where it broke off. It makes a "
        "checkpoint and changes nothing else."
    ),
}
_RISKS: Final = {AdminAction.CANCEL: RiskLevel.MEDIUM, AdminAction.RESUME: RiskLevel.LOW}


@dataclass(frozen=True, slots=True)
class AdminServices:
    """The services that the administrator's tools use.

    ``service`` returns the service of fine-tuning, or raises ``MemoryCapabilityError``.
    ``source_dir`` is the data directory: the store's own questions are what agents train on.
    ``begun`` are the runs that agents began, by their ids: those of this process only, so that
    after a restart a person is asked.
    """

    service: Callable[[], MemoryService]
    queue: ProposalBox
    clock: Clock
    source_dir: str
    pending: PendingWrites
    begun: dict[str, str] = field(default_factory=dict)


class AdminTools:
    """The tools of administration of one agent; rights and pauses are checked before."""

    def __init__(
        self, identity: AgentIdentity, services: AdminServices, allowance: WriteAllowance
    ) -> None:
        self._agent_id = identity.agent_id
        self._services = services
        self._allowance = allowance
        self._handlers: Mapping[AdminTool, Callable[[Any], Awaitable[CallReply]]] = {
            AdminTool.START: self._start,
            AdminTool.RESUME: self._resume,
            AdminTool.STATUS: self._status,
            AdminTool.CANCEL: self._cancel,
            AdminTool.PREFLIGHT: self._preflight,
            AdminTool.CHECKPOINTS: self._checkpoints,
            AdminTool.DEPLOY: self._deploy,
            AdminTool.ROLL_BACK: self._roll_back,
            AdminTool.DELETE: self._delete,
            AdminTool.RUNS: self._runs,
            AdminTool.ACTIVE: self._active,
        }

    async def answer(self, name: str, arguments: Mapping[str, Any]) -> CallReply:
        """Call one of the tools and return its reply."""
        tool = AdminTool(name)
        refused = None
        if name in tools.DESTRUCTIVE:
            refused = tools.guardrail(arguments, actor=self._agent_id)
        elif tool in (AdminTool.START, AdminTool.PREFLIGHT):
            refused = _for_a_person(tool, arguments)
        if refused is not None:
            return refused
        try:
            return await self._handlers[tool](tools.parse(tool, arguments))
        except ValidationError as error:
            return tools.error("InvalidArgument", problems(error), RefusalCode.INVALID_ARGUMENT)
        except DomainError as error:
            return _refused(error, name)

    # Reading

    async def _status(self, asked: MaybeRun) -> CallReply:
        status = await self._service.get_fine_tune_status(asked.run_id)
        data = status.model_dump(mode="json")
        if status.run_id is not None:
            data["run"] = _run(await self._service.get_run(status.run_id))
        return tools.ok({**data, "requests": await self._requests()})

    async def _preflight(self, wish: TuningWish) -> CallReply:
        found = await self._service.run_preflight(self._plan(wish))
        return tools.ok(found.model_dump(mode="json"))

    async def _checkpoints(self, page: ListPage) -> CallReply:
        found, total = await self._service.list_checkpoints(limit=page.limit, offset=page.offset)
        return tools.listed([_checkpoint(each) for each in found], total=total, page=page)

    async def _runs(self, page: ListPage) -> CallReply:
        found, total = await self._service.list_runs(limit=page.limit, offset=page.offset)
        return tools.listed([_run(each) for each in found], total=total, page=page)

    async def _active(self, _: NoArguments) -> CallReply:
        return tools.ok((await self._service.get_active_embedder()).model_dump(mode="json"))

    # What an agent may do by itself

    async def _start(self, wish: TuningWish) -> CallReply:
        plan = self._plan(wish)
        self._allowance.take()
        run = await self._service.start_fine_tune(plan)
        self._services.begun[run.id] = self._agent_id
        return tools.ok(_run(run))

    async def _resume(self, asked: RunName) -> CallReply:
        run = await self._service.get_run(asked.run_id)
        if run.stage.is_active:
            return tools.ok({**_run(run), "note": "it goes on already"})
        if run.stage is FineTuneStage.COMPLETE:
            raise FineTuneRunNotResumableError("the run is complete")
        if not self._began(run.id):
            return await self._ask(AdminAction.RESUME, run.id, "", run.error or "")
        self._allowance.take()
        return tools.ok(_run(await self._service.resume_fine_tune(run.id)))

    async def _cancel(self, asked: Guarded) -> CallReply:
        active = (await self._service.get_fine_tune_status()).run_id
        if active is None:
            return tools.ok({"cancelled": None})
        if not self._began(active):
            return await self._ask(AdminAction.CANCEL, active, asked.reason)
        cancelled = await self._service.cancel_fine_tune()
        if cancelled is not None:
            log_executed(self._agent_id, _clean(asked.reason), cancelled)
        return tools.ok({"cancelled": cancelled})

    # What a person decides

    async def _deploy(self, asked: DeployWish) -> CallReply:
        checkpoint = await self._service.get_checkpoint(asked.checkpoint_id)
        if checkpoint.is_active:
            return tools.ok({**_checkpoint(checkpoint), "note": "it is in force already"})
        metrics = checkpoint.eval_metrics
        if metrics is None or not metrics.is_surely_better:
            words = metrics.words if metrics is not None else _NO_MEASURE
            raise CheckpointRefusedError(f"it isn't surely better than the base: {words}")
        return await self._ask_about(AdminAction.DEPLOY, checkpoint, asked.reason)

    async def _roll_back(self, asked: GuardedCheckpoint) -> CallReply:
        checkpoint = await self._service.get_checkpoint(asked.checkpoint_id)
        if not checkpoint.is_active:
            raise CheckpointRollbackUnavailableError("the checkpoint isn't in force")
        return await self._ask_about(AdminAction.ROLL_BACK, checkpoint, asked.reason)

    async def _delete(self, asked: GuardedCheckpoint) -> CallReply:
        checkpoint = await self._service.get_checkpoint(asked.checkpoint_id)
        if checkpoint.is_active:
            raise CheckpointActiveError("the checkpoint is in force")
        return await self._ask_about(AdminAction.DELETE, checkpoint, asked.reason)

    async def _ask_about(
        self, action: AdminAction, checkpoint: CheckpointRecord, reason: str
    ) -> CallReply:
        measured = checkpoint.eval_metrics.words if checkpoint.eval_metrics else _NO_MEASURE
        facts = f"{checkpoint.doc_count:,} memories trained on, {size(checkpoint.size_bytes)}"
        return await self._ask(action, checkpoint.id, reason, f"{measured} ({facts})")

    async def _ask(
        self, action: AdminAction, target_id: str, reason: str, figures: str = ""
    ) -> CallReply:
        """Have a person asked, once for each act and target, whichever agent wants it."""
        self._allowance.take()
        payload = AdminPayload(
            action=action,
            target_id=target_id,
            agent_id=self._agent_id,
            reason=_clean(reason),
            figures=figures,
        )
        wording = ("admin", action.value, target_id)
        try:
            item = await ask_once(self._services.queue, self._item(payload), wording)
        except ApprovalConflictError as error:
            raise WriteRefusedError(await self._refusal(payload) or error.message) from error
        return tools.waits(item.id)

    def _item(self, asked: AdminPayload) -> ApprovalItem:
        who = self._agent_id
        lines = [
            f"{who} asks for this: {_TITLES[asked.action].lower()} {asked.target_id}.",
            _WOULD[asked.action],
            *([f"Measured: {asked.figures}"] if asked.figures else []),
            f"Its reason: {asked.reason}" if asked.reason else "It gave no reason.",
        ]
        return ApprovalItem(
            id="admin",
            action_type=ADMIN_ACTION,
            title=f"{_TITLES[asked.action]} {asked.target_id}",
            description="\n".join(lines),
            requested_by=asked_by(who),
            risk_level=_RISKS.get(asked.action, RiskLevel.HIGH),
            created_at=self._services.clock.now(),
            metadata={"kind": "admin", "agent": who},
            payload=asked.model_dump_json(),
        )

    async def _asked(self) -> list[tuple[ApprovalItem, AdminPayload]]:
        """Return all requests of agents with their payloads, newest first."""
        items = await self._services.queue.list(action_type=ADMIN_ACTION, snoozed=True)
        pairs = [(item, entry_of(item).subject) for item in items]
        return [(item, subject) for item, subject in pairs if isinstance(subject, AdminPayload)]

    async def _refusal(self, asked: AdminPayload) -> str:
        """Return the person's reason for rejecting the same request, or ""."""
        same = (asked.action, asked.target_id)
        return next(
            (
                f"a person rejected this: {item.decision_reason}"
                for item, each in await self._asked()
                if (each.action, each.target_id) == same and item.status is ApprovalStatus.REJECTED
            ),
            "",
        )

    async def _requests(self) -> list[dict[str, object]]:
        """Return the status and the decision of this agent's latest requests."""
        own = [pair for pair in await self._asked() if pair[1].agent_id == self._agent_id]
        return [
            {
                "item": item.id,
                "action": each.action.value,
                "target_id": each.target_id,
                "status": item.status.value,
                "reason": item.decision_reason,
            }
            for item, each in own[:MAX_REQUESTS]
        ]

    def _plan(self, wish: TuningWish) -> FineTunePlan:
        """The plan of a run, which trains on the store's own memories."""
        given = wish.model_dump(exclude_none=True)
        return FineTunePlan.model_validate({"source_dir": self._services.source_dir, **given})

    def _began(self, run_id: str) -> bool:
        return self._services.begun.get(run_id) == self._agent_id

    @property
    def _service(self) -> MemoryService:
        return self._services.service()


def _for_a_person(tool: str, arguments: Mapping[str, Any]) -> CallReply | None:
    """Return the refusal of arguments that only a person chooses, or ``None`` without any."""
    named = sorted(tools.NOT_FOR_AGENTS & arguments.keys())
    if not named:
        return None
    reason = f"only a person chooses {', '.join(named)}: agents train on the store's own "
    reason += "memories, and what they train stays there"
    return tools.not_supported(tools.MCP_HANDLER_CAPABILITY_GAP, tool, reason)


def _refused(error: DomainError, tool: str) -> CallReply:
    """The reply that a refusal of the service or of the queue becomes."""
    if isinstance(error, BackendUnsupportedError | FineTuneDependencyError):
        return tools.not_supported(tools.MCP_HANDLER_NOT_IMPLEMENTED, tool, error.message)
    if isinstance(error, MemoryCapabilityError):
        return tools.not_supported(tools.MCP_HANDLER_SERVICE_FALLBACK, tool, error.message)
    code = error.domain_code if isinstance(error, FineTuneError) else RefusalCode.CONFLICT
    kind = type(error).__name__.removesuffix("Error")
    return tools.error(kind, error.with_remedy, RefusalCode(code))


def _clean(reason: str) -> str:
    """Return a reason as it is stored: on one line, secrets redacted."""
    return one_line(redact_text(reason, RedactionTally()), tools.MAX_REASON)


def _run(run: FineTuneRun) -> dict[str, Any]:
    """Return a run for an agent: without paths, and with the last point of its curve only."""
    told = run.model_dump(mode="json", exclude={"request", "curve"})
    last = run.curve[-1].model_dump(mode="json") if run.curve else None
    return {**told, "trainer": run.request.trainer.value, "last_point": last}


def _checkpoint(checkpoint: CheckpointRecord) -> dict[str, Any]:
    """Return a checkpoint for an agent: without its path and settings."""
    return checkpoint.model_dump(mode="json", exclude={"model_path", "backup_config_json"})

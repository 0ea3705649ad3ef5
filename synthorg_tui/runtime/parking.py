"""Parked calls: approval items for calls that a run may not make by itself, and their decisions.

The run goes on once a person has decided on the item. Nothing here decides or runs anything. The id
of an item is a hash of the call, so that a run that was killed between adding the item and storing
its step doesn't add a second one.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalItem,
    ApprovalStatus,
    RiskLevel,
)
from synthorg_tui.approvals.proposals import ProposalBox, asked_by
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.redaction import RedactionTally, redact_text, redact_value
from synthorg_tui.core.text import is_utf8
from synthorg_tui.core.untrusted import defused
from synthorg_tui.curation.review import RUN_ACTION, RunCallPayload
from synthorg_tui.curation.run_calls import call_mark
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.providers.models import ToolUse
from synthorg_tui.runtime.interceptors import command_of
from synthorg_tui.runtime.loop import ParkedDecision

_MAX_TITLE: Final = 120
_MAX_WHY: Final = 1_000
_REJECTED: Final = "A person rejected this call; it was not run. Don't try it again."
_NOT_ALLOWED: Final = "Nobody allowed this call, and nobody is asked any more; it was not run."


class CallParking:
    """Asks a person about the calls of runs.

    Args:
        queue: The proposals.
        clock: Gives the time at which one is made.
    """

    def __init__(self, queue: ProposalBox, clock: Clock) -> None:
        self._queue = queue
        self._clock = clock

    async def park(
        self, run_id: str, agent_id: str, use: ToolUse, *, workspace: Path, why: str, turn: int
    ) -> str:
        """Ask a person to allow a call, and return the id of the item; the same for the same call.

        ``turn`` is the turn of the run in which it was asked for: a model may ask for the same
        again. Raises ``QueueFullError`` when too much of the agent waits.
        """
        mark = call_mark(use.name, use.arguments)
        digest = hashlib.sha256(json.dumps([run_id, turn, use.id, mark]).encode()).hexdigest()
        item = self._item(f"run-{digest[:12]}", agent_id, use, why)
        payload = RunCallPayload(
            run_id=run_id,
            agent_id=agent_id,
            tool=use.name,
            arguments=_clean(use.arguments),
            workspace=str(workspace),
            why=one_line(why, _MAX_WHY),
            command=redact_text(str(_storable(command_of(use))), RedactionTally()),
            mark=mark,
        )
        with suppress(ApprovalConflictError):  # asked for before the run was killed
            await self._queue.add(
                item.model_copy(
                    update={
                        "payload": payload.model_dump_json(),
                        "task_id": run_id,
                        "metadata": {**item.metadata, "project": str(workspace), "run": run_id},
                    }
                )
            )
        return item.id

    async def decided(self, item_id: str, use: ToolUse) -> ParkedDecision | None:
        """Return what was decided about a call, ``None`` while the item waits for a person.

        An approval of another call than ``use`` doesn't allow it, and neither does an item that
        expired or is missing. Nothing is changed: before the run acts on a decision, it calls
        ``used``.
        """
        item = await self._queue.get(item_id)
        if item is None or item.action_type != RUN_ACTION:
            return ParkedDecision(approved=False, reason=_NOT_ALLOWED)
        if item.status is ApprovalStatus.PENDING:
            return None
        if item.status is ApprovalStatus.REJECTED:
            said = f" They said: {defused(item.decision_reason)}" if item.decision_reason else ""
            return ParkedDecision(approved=False, reason=f"{_REJECTED}{said}")
        if item.status is ApprovalStatus.APPROVED:
            asked = RunCallPayload.model_validate_json(item.payload)
            if asked.mark == call_mark(use.name, use.arguments):
                return ParkedDecision(approved=True)
        return ParkedDecision(approved=False, reason=_NOT_ALLOWED)

    async def used(self, item_id: str) -> None:
        """Record that the run acts on a decision, which can't be undone from then on.

        Raises ``ApprovalConflictError`` when it isn't decided, as when it was taken back meanwhile.
        """
        await self._queue.use(item_id)

    async def expire(self, item_id: str) -> None:
        """Expire the item of a run that was cancelled or goes on without it."""
        item = await self._queue.get(item_id)
        if item is None or item.action_type != RUN_ACTION:
            return
        if item.status is ApprovalStatus.PENDING:
            expired = {"status": ApprovalStatus.EXPIRED, "snoozed_until": None}
            await self._queue.save(item.model_copy(update=expired))
        elif item.status is not ApprovalStatus.EXPIRED:
            await self._queue.use(item_id)

    def _item(self, item_id: str, agent_id: str, use: ToolUse, why: str) -> ApprovalItem:
        runs = command_of(use)
        about = runs or str(use.arguments.get("path") or "")
        verb = "Run" if runs else use.name
        return ApprovalItem(
            id=item_id,
            action_type=RUN_ACTION,
            title=one_line(
                f"{verb}: {redact_text(str(_storable(about)), RedactionTally())}", _MAX_TITLE
            ),
            description=f"A run of {agent_id} waits with this call: {one_line(why, _MAX_WHY)}.",
            requested_by=asked_by(agent_id),
            risk_level=RiskLevel.HIGH if runs else RiskLevel.MEDIUM,
            created_at=self._clock.now(),
            source="parked_context",
            metadata={"kind": "run", "agent": agent_id},
        )


def _clean(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as they are stored: without secrets, and without what can't be stored."""
    clean = redact_value(_storable(dict(arguments)), RedactionTally())
    return clean if isinstance(clean, dict) else {}


def _storable(value: object) -> object:
    if isinstance(value, str):
        return value if is_utf8(value) else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {str(_storable(str(name))): _storable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(each) for each in value]
    return value

"""Puts an agent's writes and deletions into the queue of proposals, where a person decides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from synthorg_tui.agents.guarded import known_memory
from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalItem,
    QueueFullError,
    RiskLevel,
)
from synthorg_tui.approvals.proposals import ProposalBox, ask_once, asked_by
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.curation.models import PrunePayload
from synthorg_tui.curation.review import DELETE_ACTION, WRITE_ACTION, WritePayload
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.memory.errors import MemoryStoreError, WriteRefusedError
from synthorg_tui.memory.extensions import BatchOutcome, MemoryDraft
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.protocol import MemoryBackend

_MAX_TITLE: Final = 120
_MAX_REASON: Final = 500


class PendingWrites:
    """Turns the writes and deletions of agents into proposals that a person decides on.

    A change that is proposed already is not proposed twice, and one that a person rejected is
    refused.

    Args:
        queue: Stores the proposals.
        clock: Gives the time at which a proposal is made.
        level: Returns the memory level of an agent, given its id.
    """

    def __init__(
        self, queue: ProposalBox, *, clock: Clock, level: Callable[[str], MemoryLevel]
    ) -> None:
        self._queue = queue
        self._clock = clock
        self._level = level

    async def write(self, agent_id: str, draft: MemoryDraft) -> str:
        """Propose to store a memory; return the id of the new or already waiting proposal.

        Raises ``WriteRefusedError`` when a person rejected the same memory before or too many of
        the agent's proposals wait, and ``MemoryStoreError`` when its level allows it no memories.
        """
        if self._level(agent_id) is MemoryLevel.NONE:
            raise MemoryStoreError(f"agent {agent_id} has memory level none: nothing is stored")
        now, request = self._clock.now(), draft.request
        dated = draft.model_copy(update={"key": None, "created_at": draft.created_at or now})
        wording = (
            agent_id,
            draft.project,
            request.category,
            request.metadata.tags,
            request.content,
        )
        item = ApprovalItem(
            id="write",
            action_type=WRITE_ACTION,
            title=one_line(request.content, _MAX_TITLE) or "(nothing that can be shown)",
            description=f"{agent_id} wants this kept as a {request.category} memory of its own.",
            requested_by=asked_by(agent_id),
            risk_level=RiskLevel.LOW,
            created_at=now,
            metadata={"kind": "write", "agent": agent_id, "project": draft.project or ""},
            payload=WritePayload(agent_id=agent_id, draft=dated).model_dump_json(),
        )
        return await self._ask(item, wording)

    async def delete(self, entry: MemoryEntry | ListedMemory, reason: str) -> str:
        """Propose to delete a memory; return the id of the new or already waiting proposal.

        Raises ``WriteRefusedError`` when a person rejected the same deletion before, or too many
        of the agent's proposals wait.
        """
        clean = redact_text(reason, RedactionTally())
        shown = one_line(clean, _MAX_REASON) or "no reason that can be shown"
        payload = PrunePayload(
            agent_id=entry.agent_id, memory_ids=(entry.id,), reasons={entry.id: shown}
        )
        item = ApprovalItem(
            id="delete",
            action_type=DELETE_ACTION,
            title=one_line(f"Delete: {entry.content}", _MAX_TITLE),
            description=f"{entry.agent_id} wants this memory of its own deleted: {shown}",
            requested_by=asked_by(entry.agent_id),
            risk_level=RiskLevel.MEDIUM,
            created_at=self._clock.now(),
            metadata={"kind": "delete", "agent": entry.agent_id},
            payload=payload.model_dump_json(),
        )
        return await self._ask(item, (entry.agent_id, entry.id))

    async def _ask(self, item: ApprovalItem, wording: Sequence[object]) -> str:
        """Queue an item once for the same wording; ``item.id`` is how its id begins."""
        try:
            return (await ask_once(self._queue, item, wording)).id
        except (ApprovalConflictError, QueueFullError) as error:
            raise WriteRefusedError(error.message, remedy=error.remedy) from error


@dataclass(frozen=True, slots=True)
class PendingWriteStore:
    """Store of a report's memories while writes need approval: it proposes all new ones."""

    pending: PendingWrites
    memory: MemoryBackend

    async def store_many(
        self, agent_id: str, drafts: Sequence[MemoryDraft], *, actor: str
    ) -> BatchOutcome:
        """Propose each draft and store nothing; raises the errors of ``PendingWrites.write``."""
        waiting, skipped = list[str](), list[tuple[str | None, str]]()
        for draft in drafts:
            if await known_memory(self.memory, agent_id, draft.request):
                skipped.append((draft.key, "already stored"))
                continue
            try:
                waiting.append(await self.pending.write(agent_id, draft))
            except WriteRefusedError as error:
                skipped.append((draft.key, error.message))
        return BatchOutcome(skipped=tuple(skipped), waiting=tuple(dict.fromkeys(waiting)))

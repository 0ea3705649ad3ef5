"""Changes an agent's own memories by the commands that the agent runs.

The commands of a person reach the memories of all agents. Run by an agent they come here instead:
its own memory only, within its allowance, as proposals where the settings want approval. Its rights
are checked in ``agents.session``; how its tools write is in ``agents.guarded``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from synthorg_tui.agents.guarded import ORIGIN_TAG, WriteAllowance, of_agent
from synthorg_tui.agents.models import AgentIdentity, AgentRefusedError, CallReply
from synthorg_tui.agents.pending import PendingWrites
from synthorg_tui.core.actors import Actor, ActorKind
from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.errors import WriteRefusedError
from synthorg_tui.memory.extensions import BatchStore, MemoryAdmin, MemoryDraft, MemoryEdit
from synthorg_tui.memory.listing import ChangeKind, ListedMemory
from synthorg_tui.memory.strategies.schemas import MAX_CONTENT_CHARS

_ASK: Final = "Ask the person to do it in the app."
_ITS_OWN: Final = (ActorKind.AGENT, ActorKind.ENVIRONMENT)


@dataclass(frozen=True, slots=True)
class OwnStores:
    """The stores that an agent's commands change, each looked up when it is used.

    With ``pending`` writes and deletions become proposals. ``level`` returns the memory level of an
    agent, given its id.
    """

    desk: Callable[[], MemoryAdmin]
    batches: Callable[[], BatchStore]
    level: Callable[[str], MemoryLevel]
    pending: PendingWrites | None = None


class OwnMemories:
    """The memories of one agent, as far as it wrote them itself.

    All methods return what to tell the agent, and raise ``AgentRefusedError`` for a memory that
    isn't its own, ``WriteRefusedError`` when its allowance is used up or the same was rejected
    before, and the errors of the store.
    """

    def __init__(
        self, identity: AgentIdentity, stores: OwnStores, allowance: WriteAllowance
    ) -> None:
        self._identity = identity
        self._stores = stores
        self._allowance = allowance
        self._actor = str(Actor(ActorKind.ENVIRONMENT, identity.agent_id))

    async def add(self, draft: MemoryDraft) -> CallReply:
        """Store a memory as one that the agent wrote, or propose it to a person."""
        content = draft.request.content
        if not content.strip() or len(content) > MAX_CONTENT_CHARS:
            raise AgentRefusedError(f"the text must have 1 to {MAX_CONTENT_CHARS:,} characters")
        self._allowance.take()
        agent_id = self._identity.agent_id
        level = self._stores.level(agent_id)
        careful = MemoryDraft(
            request=of_agent(draft.request, self._identity.client),
            level=MemoryLevel.PROJECT if draft.project and level is not MemoryLevel.NONE else level,
            project=draft.project,
            source_kind=SourceKind.TOOL,
        )
        outcome = await self._stores.batches().store_many(agent_id, [careful], actor=self._actor)
        if outcome.skipped:
            raise WriteRefusedError(f"the memory was not stored: {outcome.skipped[0][1]}")
        return CallReply("stored", memory_ids=outcome.added, waiting=outcome.waiting)

    async def edit(self, memory_id: str, change: MemoryEdit) -> CallReply:
        """Change a memory that the agent wrote and nobody else changed since."""
        entry = await self._own(memory_id)
        await self._require_untouched(memory_id)
        if self._stores.pending is not None:
            raise AgentRefusedError(
                "what an agent writes here needs approval, and an edit can't be proposed",
                remedy="Add the new text and delete the old memory: both are proposed.",
            )
        self._allowance.take()
        if change.tags is not None:
            tags = tuple(dict.fromkeys((*change.tags, ORIGIN_TAG)))
            change = change.model_copy(update={"tags": tags})
        await self._stores.desk().edit(entry.id, change, actor=self._actor)
        return CallReply("changed", memory_ids=(entry.id,))

    async def delete(self, memory_ids: Sequence[str]) -> CallReply:
        """Delete memories that the agent wrote, or propose to delete them; all or none."""
        entries = [await self._own(memory_id) for memory_id in memory_ids]
        pending = self._stores.pending
        for _ in entries:
            self._allowance.take()
        if pending is not None:
            reason = "deleted by a command that the agent ran"
            waiting = [await pending.delete(entry, reason) for entry in entries]
            return CallReply("proposed", waiting=tuple(waiting))
        ids = tuple(entry.id for entry in entries)
        await self._stores.desk().remove(ids, actor=self._actor)
        return CallReply("deleted", memory_ids=ids)

    async def restore(self, memory_ids: Sequence[str]) -> CallReply:
        """Bring back memories that the agent wrote and itself deleted; all or none."""
        for memory_id in memory_ids:
            await self._own(memory_id, deleted=True)
            deleted = next(
                each
                for each in await self._stores.desk().history(memory_id)
                if each.kind is ChangeKind.DELETED
            )
            if not self._is_by_it(deleted.actor):
                who = Actor.parse(deleted.actor).words
                raise AgentRefusedError(f"{memory_id} was deleted by {who}", remedy=_ASK)
        if self._stores.pending is not None:
            raise AgentRefusedError(
                "what an agent writes here needs approval", remedy="Add the text again."
            )
        for _ in memory_ids:
            self._allowance.take()
        await self._stores.desk().restore(memory_ids, actor=self._actor)
        return CallReply("restored", memory_ids=tuple(memory_ids))

    async def _own(self, memory_id: str, *, deleted: bool = False) -> ListedMemory:
        """The memory, if the agent wrote it; else ``AgentRefusedError`` says why it may not."""
        found = await self._stores.desk().entries([memory_id], deleted=deleted)
        if not found or (found[0].deleted_at is not None) is not deleted:
            raise AgentRefusedError(f"there is no such memory: {memory_id}")
        (entry,) = found
        if entry.agent_id != self._identity.agent_id:
            raise AgentRefusedError(
                f"{memory_id} is a memory of {entry.agent_id}, not of {self._identity.agent_id}",
                remedy=_ASK,
            )
        if ORIGIN_TAG not in entry.tags:
            raise AgentRefusedError(
                f"{memory_id} was not written by {self._identity.agent_id} itself", remedy=_ASK
            )
        return entry

    async def _require_untouched(self, memory_id: str) -> None:
        """Raise ``AgentRefusedError`` when somebody else stored or changed the memory."""
        for revision in await self._stores.desk().history(memory_id):
            writes = revision.kind in (ChangeKind.ADDED, ChangeKind.EDITED)
            actor = Actor.parse(revision.actor)
            if writes and actor.kind is not ActorKind.PROGRAM and not self._is_by_it(str(actor)):
                raise AgentRefusedError(
                    f"{memory_id} was {revision.kind} by {actor.words} and is theirs now",
                    remedy=_ASK,
                )

    def _is_by_it(self, recorded: str) -> bool:
        actor = Actor.parse(recorded)
        return actor.kind in _ITS_OWN and actor.name == self._identity.agent_id

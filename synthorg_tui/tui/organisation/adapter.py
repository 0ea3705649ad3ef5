"""What the Organisation pane asks of the engine: each method is one call of it.

The app starts without the engine, so what loads it is imported inside. Changes are those of the
person at the screen; where a coding agent runs the app there is none.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.organisation.models import EntryCriteria, EntryPage, OrgOrigin
from synthorg_tui.tui.approvals.adapter import person

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine
    from synthorg_tui.memory.listing import ListedMemory, MemoryUse
    from synthorg_tui.memory.org.models import OrgFact
    from synthorg_tui.organisation.models import OrgEntry, OrgVersion

MAX_FOUND: Final = 100
"""Entries that a search finds at most."""
MAX_REFUSED: Final = 50
"""Refused writes that are read at most."""
_PROPOSING: Final = "org_propose"
"""The tool by which agents write."""


@dataclass(frozen=True, slots=True)
class EntryText:
    """What a person wrote: a new entry, or of an edit all its fields; ``project`` is a folder."""

    category: OrgFactCategory
    content: str
    project: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptRoom:
    """Which policies stand in every prompt: ``tokens`` of the ``budget`` are taken.

    ``told`` maps those in it to the tokens of each, ``omitted`` are those without room, by id.
    """

    budget: int = 0
    tokens: int = 0
    told: Mapping[str, int] = field(default_factory=dict)
    omitted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RefusedWrite:
    """A write of an agent that was refused: what it wanted written, and why it wasn't."""

    at: datetime
    agent: str
    wanted: str
    why: str


class EngineOrganisation:
    """What the organisation knows, of an open engine. Failures are ``DomainError``."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    async def page(
        self, what: EntryCriteria, *, at: datetime | None, offset: int, limit: int
    ) -> EntryPage:
        """Return entries in the order of the list, as they are or were at a moment."""
        return await self._engine.organisation.page(what, at=at, offset=offset, limit=limit)

    async def moments(self) -> tuple[datetime, ...]:
        """Return when something changed, the first moment first."""
        return await self._engine.organisation.moments()

    async def history(self, fact_id: str) -> "tuple[OrgVersion, ...]":
        """Return all versions of a fact, in any order."""
        return await self._engine.organisation.history(fact_id)

    async def named(self, ids: Sequence[str]) -> "dict[str, OrgEntry]":
        """Return facts by id, retracted ones too; those that are gone are missing."""
        found: dict[str, OrgEntry] = {}
        for retracted in (False, True):
            what = EntryCriteria(ids=tuple(ids), retracted=retracted)
            page = await self.page(what, at=None, offset=0, limit=len(ids))
            found |= {entry.id: entry for entry in page.entries}
        return found

    async def search(self, text: str) -> "tuple[OrgEntry, ...]":
        """Return the facts in force that are about a text, the most relevant first."""
        from synthorg_tui.memory.org.models import OrgMemoryQuery

        facts = await self._engine.org.query(OrgMemoryQuery(context=text, limit=MAX_FOUND))
        entries = await self.named([fact.id for fact in facts])
        return tuple(entries[fact.id] for fact in facts if fact.id in entries)

    async def uses(self, entry: "OrgEntry", *, limit: int) -> "tuple[MemoryUse, ...]":
        """Return at most ``limit`` of the agents' calls that carried it, newest first."""
        if entry.origin in (OrgOrigin.FACT, OrgOrigin.SHARED):  # calls are on record with its id
            return await self._engine.desk.uses(entry.id, limit=limit)
        return await self._engine.organisation.uses(entry.id, limit=limit)

    async def memory(self, memory_id: str) -> "ListedMemory | None":
        """Return a shared memory as it is listed; ``None`` when it is deleted."""
        found = await self._engine.desk.lookup(memory_id, limit=1)
        return found[0] if found else None

    async def room(self) -> PromptRoom:
        """Return which policies fit into every prompt."""
        policies = await self._engine.organisation.policies()
        return await asyncio.to_thread(
            _room, policies, self._engine.settings.org_memory.policy_tokens
        )

    async def refused(self) -> tuple[RefusedWrite, ...]:
        """Return the latest writes of agents that were refused, newest first."""
        calls = await self._engine.gateway.calls(limit=10 * MAX_REFUSED, text=_PROPOSING)
        refused = [call for call in calls if call.is_error and call.name == _PROPOSING]
        return tuple(
            RefusedWrite(call.at, call.agent_id, _wanted(call.arguments), call.reply)
            for call in refused[:MAX_REFUSED]
        )

    async def add(self, new: EntryText) -> "OrgEntry":
        """Write a new fact."""
        from synthorg_tui.memory.org.models import OrgFactWriteRequest
        from synthorg_tui.memory.org.tags import OrgTraits

        tags = OrgTraits(project=new.project, others=new.tags).tags
        request = OrgFactWriteRequest(content=new.content, category=new.category, tags=tags)
        return await self._engine.organisation.add(request, actor=str(person()))

    async def edit(self, entry: "OrgEntry", new: EntryText) -> "OrgEntry":
        """Write a new version of a fact; what its tags say beside project and labels stays."""
        from dataclasses import replace

        tags = replace(entry.traits, project=new.project, others=new.tags).tags
        return await self._engine.organisation.edit(
            entry.id,
            content=new.content if new.content != entry.content else None,
            category=new.category if new.category is not entry.category else None,
            tags=tags if tags != entry.traits.tags else None,
            actor=str(person()),
        )

    async def retract(self, fact_id: str) -> "OrgEntry":
        """Take a fact out of force."""
        return await self._engine.organisation.retract(fact_id, actor=str(person()))

    async def revive(self, fact_id: str) -> "OrgEntry":
        """Put a retracted fact in force again."""
        return await self._engine.organisation.revive(fact_id, actor=str(person()))

    async def undo(self) -> "tuple[str, OrgEntry]":
        """Take back the person's last change; return what was done, and what it was about."""
        return await self._engine.organisation.undo(actor=str(person()))


def _wanted(arguments: str) -> str:
    """The text that a call wanted written; all its arguments where none is called so."""
    try:
        content = json.loads(arguments).get("content")
    except (ValueError, AttributeError):
        content = None
    return content if isinstance(content, str) else arguments


def _room(policies: "Sequence[OrgFact]", budget: int) -> PromptRoom:
    from synthorg_tui.memory.injection import DefaultTokenEstimator
    from synthorg_tui.memory.org.policies import policy_block, policy_line

    estimator = DefaultTokenEstimator()
    block = policy_block(policies, budget, estimator)
    in_it = frozenset(block.told)
    told = {
        policy.id: estimator.estimate_tokens(policy_line(policy.content))
        for policy in policies
        if policy.id in in_it
    }
    return PromptRoom(budget, block.tokens, told, frozenset(block.omitted))

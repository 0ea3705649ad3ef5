"""What the tools of a connected agent do: its memory's, reports, skills.

Loaded with the first of them: an agent that is only given a digest has no use for it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from synthorg_tui.agents import tools
from synthorg_tui.agents import tools as envelopes
from synthorg_tui.agents.guarded import ORIGIN_TAG, GuardedMemory, WriteAllowance
from synthorg_tui.agents.models import (
    AgentIdentity,
    AgentRefusedError,
    SkillCard,
    SkillNotFoundError,
    ToolReply,
)
from synthorg_tui.agents.reports import Reports
from synthorg_tui.agents.tools import ErrorCode
from synthorg_tui.core.text import safe_text
from synthorg_tui.core.untrusted import wrap_untrusted
from synthorg_tui.memory.enums import InjectionStrategy, SourceKind
from synthorg_tui.memory.errors import WriteRefusedError
from synthorg_tui.memory.extensions import MemoryDraft, ScopedViews
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryEntry, MemoryStoreRequest
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.strategies import replies
from synthorg_tui.memory.strategies.self_editing import SelfEditingMemoryStrategy
from synthorg_tui.memory.strategies.service import InjectionRequest, InjectionService
from synthorg_tui.memory.tool_retriever import (
    RECALL_MEMORY,
    SEARCH_MEMORY,
    Found,
    ToolBasedInjectionStrategy,
)
from synthorg_tui.providers.models import ToolDefinition

if TYPE_CHECKING:
    from synthorg_tui.agents.pending import PendingWrites

TAG_SKILL: Final = "skill"
_STORED_ID: Final = re.compile(r"\(id=([0-9a-f-]{36})[,)]")
_WAITING_ID: Final = re.compile(r"\(item=([a-z]+-[0-9a-f]{12})\)")


class SkillReader(Protocol):
    """The skills that agents may read: those a person approved."""

    async def cards(self, agent_id: str) -> tuple[SkillCard, ...]:
        """What there is for the agent, by name."""
        ...

    async def text(self, agent_id: str, name: str) -> str:
        """The SKILL.md of that name; raises ``SkillNotFoundError``."""
        ...


@dataclass(frozen=True, slots=True)
class ToolServices:
    """What tools work with.

    With ``waiting`` nothing that agents write counts before a person approved it there.
    """

    injection: InjectionService
    reports: Reports
    shelf: SkillReader
    waiting: "PendingWrites | None" = None


class Toolbox:
    """The tools of one agent. What it may do at all has been looked at before."""

    def __init__(
        self,
        identity: AgentIdentity,
        services: ToolServices,
        allowance: WriteAllowance,
        visibility: Visibility,
    ) -> None:
        self._identity = identity
        self._services = services
        self._visibility = visibility
        self._allowance = allowance
        ask = self._ask if services.waiting is not None else None
        self._guarded = GuardedMemory(self._scoped(), allowance, identity.client, ask=ask)

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """Those of the configured memory strategy, and what every agent has."""
        return (*self._strategy().get_tool_definitions(), *tools.definitions())

    async def skill_cards(self) -> tuple[SkillCard, ...]:
        """What there is for the agent, by name."""
        return await self._services.shelf.cards(self._identity.agent_id)

    async def skill_text(self, name: str) -> str:
        """A skill's text, fenced; raises ``SkillNotFoundError``."""
        text = await self._services.shelf.text(self._identity.agent_id, name)
        return wrap_untrusted(TAG_SKILL, text)

    async def answer(self, name: str, arguments: dict[str, Any]) -> ToolReply:
        """What a tool replies; raises ``AgentRefusedError`` for one that there isn't."""
        if name == tools.REPORT_OUTCOME:
            self._allowance.take()
            return await self._services.reports.take(self._identity, arguments)
        if name == tools.LIST_SKILLS:
            cards = await self.skill_cards()
            listed = [{"name": each.name, "description": each.description} for each in cards]
            return envelopes.ok({"skills": listed})
        if name == tools.READ_SKILL:
            return await self._skill(arguments.get("name"))
        if name == tools.DELETE_ENTRY:
            return await self._delete(arguments)
        strategy = self._strategy()
        known = {each.name for each in strategy.get_tool_definitions()}
        if name not in known:
            raise AgentRefusedError(f"there is no tool {name[:64]!r}")
        if isinstance(strategy, ToolBasedInjectionStrategy) and name == SEARCH_MEMORY:
            return _with_ids(await strategy.search(arguments, self._identity.agent_id))
        said = await strategy.handle_tool_call(name, arguments, self._identity.agent_id)
        writes = name in tools.WRITING  # then all that is said are words of ours
        return ToolReply(
            replies.fenced(said),
            replies.is_error(said),
            memory_ids=tuple(_STORED_ID.findall(said)) if writes else (),
            waiting=tuple(_WAITING_ID.findall(said)) if writes else (),
        )

    async def _skill(self, name: object) -> ToolReply:
        if not isinstance(name, str) or not 0 < len(name) <= tools.MAX_SKILL_NAME:
            told = f"name must be a text of 1 to {tools.MAX_SKILL_NAME} characters"
            return envelopes.error("InvalidArgument", told, ErrorCode.INVALID_ARGUMENT)
        try:
            return ToolReply(await self.skill_text(name))
        except SkillNotFoundError as error:
            return envelopes.error("SkillNotFound", error.message, ErrorCode.NOT_FOUND)

    async def _delete(self, arguments: Mapping[str, Any]) -> ToolReply:
        refused = envelopes.guardrail(arguments, actor=self._identity.agent_id)
        if refused is not None:
            return refused
        memory_id = arguments.get("memory_id")
        entry = (
            await self._guarded.get(self._identity.agent_id, memory_id)
            if isinstance(memory_id, str) and memory_id
            else None
        )
        if entry is None or ORIGIN_TAG not in entry.metadata.tags:
            told = "no memory that you wrote has this id"
            return envelopes.error("MemoryNotFound", told, ErrorCode.NOT_FOUND)
        if self._services.waiting is not None:
            return await self._ask_to_delete(entry, str(arguments["reason"]))
        await self._guarded.delete(self._identity.agent_id, entry.id)
        return replace(envelopes.ok({"deleted": entry.id}), memory_ids=(entry.id,))

    async def _ask_to_delete(self, entry: MemoryEntry, reason: str) -> ToolReply:
        assert self._services.waiting is not None
        try:
            return envelopes.waits(await self._services.waiting.delete(entry, reason))
        except WriteRefusedError as error:
            return envelopes.error("WriteRefused", error.message, ErrorCode.CONFLICT)

    async def _ask(self, agent_id: str, request: MemoryStoreRequest) -> str:
        """Have a person asked whether this is to be kept."""
        assert self._services.waiting is not None
        draft = MemoryDraft(
            request=request,
            session_id=self._identity.session_id,
            project=self._identity.project,
            source_kind=SourceKind.TOOL,
        )
        return await self._services.waiting.write(agent_id, draft)

    def _strategy(self) -> ToolBasedInjectionStrategy | SelfEditingMemoryStrategy:
        """The strategy whose tools the agent has; who is only given memories may search, too."""
        configured = self._services.injection.retrieval.strategy
        edits = configured is InjectionStrategy.SELF_EDITING
        wanted = InjectionStrategy.SELF_EDITING if edits else InjectionStrategy.TOOL_BASED
        memory: MemoryBackend = self._guarded if edits else self._scoped()
        request = InjectionRequest(
            self._identity.agent_id, "-", 0, strategy=wanted, digest_v1=False
        )
        strategy = replace(self._services.injection, memory=memory).strategy(request)
        assert isinstance(strategy, ToolBasedInjectionStrategy | SelfEditingMemoryStrategy)
        return strategy

    def _scoped(self) -> MemoryBackend:
        memory = self._services.injection.memory
        return memory.scoped(self._visibility) if isinstance(memory, ScopedViews) else memory


def _with_ids(found: Found) -> ToolReply:
    """A search's reply with the ids that reading one takes, outside of what memories say."""
    content = replies.fenced(found.reply)
    if found.memory_ids:
        ids = ", ".join(map(safe_text, found.memory_ids))
        content += f"\nIn this order, for {RECALL_MEMORY}: {ids}"
    return ToolReply(content, replies.is_error(found.reply), memory_ids=found.memory_ids)

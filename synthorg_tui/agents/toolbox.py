"""The tools of one agent: its memory, the skills a person approved, and reports.

Loaded with the first tool that is called: an agent that is only given a digest has no use for it.
The agent's rights are checked in ``agents.session``, and what it writes in ``agents.guarded``;
neither belongs here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.agents import tools
from synthorg_tui.agents.guarded import ORIGIN_TAG, GuardedWrites, WriteAllowance
from synthorg_tui.agents.models import (
    NO_TOOL,
    AgentIdentity,
    AgentRefusedError,
    CallReply,
    SkillCard,
    SkillNotFoundError,
)
from synthorg_tui.agents.own_memories import OwnMemories, OwnStores
from synthorg_tui.agents.reports import Reports
from synthorg_tui.agents.tools import RefusalCode
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import safe_text
from synthorg_tui.core.untrusted import wrap_untrusted
from synthorg_tui.curation.administration import log_executed
from synthorg_tui.curation.registry import readable_by
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.errors import WriteRefusedError
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryEntry, MemoryStoreRequest
from synthorg_tui.memory.strategies.self_editing import SelfEditingMemoryStrategy
from synthorg_tui.memory.strategies.service import InjectionService
from synthorg_tui.memory.tool_retriever import (
    RECALL_MEMORY,
    SEARCH_MEMORY,
    ToolBasedInjectionStrategy,
)
from synthorg_tui.providers.models import ToolDefinition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from synthorg_tui.agents.administration import AdminServices, AdminTools
    from synthorg_tui.agents.organisation import OrgServices, OrgTools
    from synthorg_tui.agents.pending import PendingWrites
    from synthorg_tui.agents.recall import Recall
    from synthorg_tui.curation.registry import RegisteredSkill, SkillRegistry

TAG_SKILL: Final = "skill"


class ApprovedSkills:
    """The skills that agents may read: those a person approved, word for word as approved.

    They come from the registry, never from disk: a file that somebody changed or dropped into the
    folder is read by agents only once a person approved it. An agent's skills are its own and the
    shared ones, but not those of another agent's scope.
    """

    def __init__(self, registry: "SkillRegistry") -> None:
        self._registry = registry

    async def cards(self, agent_id: str) -> tuple[SkillCard, ...]:
        """Return the skills that the agent may read, sorted by name."""
        readable = await self._readable(agent_id)
        return tuple([await self._card(readable[name]) for name in sorted(readable)])

    async def read(self, agent_id: str, name: str) -> CallReply:
        """Return the text of a skill's SKILL.md, and the id of the memory that says the same.

        Raises ``SkillNotFoundError`` when the agent may read no skill of this name.
        """
        skill = (await self._readable(agent_id)).get(name)
        if skill is None:
            raise SkillNotFoundError("no skill has this name", remedy="list_skills names them.")
        # Of its memories the first is its owner's; the others are copies of other agents.
        return CallReply(await self._registry.text(skill), memory_ids=skill.memory_ids[:1])

    async def _card(self, skill: "RegisteredSkill") -> SkillCard:
        from synthorg_tui.skills.validate import parse

        document, _ = parse(await self._registry.text(skill), name=skill.name)
        description = document.description if document else skill.proposal.discovery
        return SkillCard(skill.name, description, skill.proposal.scope.value, skill.sha256)

    async def _readable(self, agent_id: str) -> "dict[str, RegisteredSkill]":
        return readable_by(await self._registry.active(), agent_id)


@dataclass(frozen=True, slots=True)
class ToolServices:
    """The services that tools call.

    With ``pending`` agents' writes become proposals and are stored only when a person approves.
    ``own`` is what commands that an agent runs change, ``recall`` what hints come from, ``org``
    returns what the whole organisation knows, ``admin`` what the tools of the agent
    named by ``administrator`` stand on.
    """

    injection: InjectionService
    reports: Reports
    skills: ApprovedSkills
    own: OwnStores
    recall: "Recall"
    org: "Callable[[], OrgServices]"
    admin: "Callable[[], AdminServices]"
    administrator: "Callable[[], str | None]"
    pending: "PendingWrites | None" = None


class Toolbox:
    """The tools of one agent: their definitions, and ``answer`` to call one.

    It checks no rights, except that an agent may delete only memories that it wrote itself.
    """

    def __init__(
        self,
        identity: AgentIdentity,
        services: ToolServices,
        allowance: WriteAllowance,
        visibility: Visibility,
    ) -> None:
        self._identity = identity
        self._services = services
        self.visibility = visibility
        self._allowance = allowance
        self._memory = services.injection.scoped(visibility)

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the tools of the configured memory strategy and those that every agent has.

        The one that administers gets those of administration, too.
        """
        offered = (*self._strategy.get_tool_definitions(), *tools.definitions())
        if not self._administers:
            return offered
        return (*offered, *tools.definitions(administrator=True))

    async def skill_cards(self) -> tuple[SkillCard, ...]:
        """Return the skills that the agent may read, sorted by name."""
        return await self._services.skills.cards(self._identity.agent_id)

    async def skill(self, name: str) -> CallReply:
        """Return a skill's text, in tags that mark it as data; raises ``SkillNotFoundError``."""
        reply = await self._services.skills.read(self._identity.agent_id, name)
        return replace(reply, content=wrap_untrusted(TAG_SKILL, reply.content))

    async def answer(self, name: str, arguments: dict[str, Any]) -> CallReply:
        """Call a tool and return its reply; raises ``AgentRefusedError`` for an unknown name."""
        if name in self._own_tools:
            return await self._own_tools[name](arguments)
        if name in tools.ADMINISTRATION:
            if not self._administers:
                return tools.not_offered(name)
            return await self._admin.answer(name, arguments)
        if name in tools.ORGANISATION:
            return await self._org.answer(name, arguments)
        if name not in self._memory_tools:
            raise AgentRefusedError(f"{NO_TOOL} {name[:64]!r}")
        return await self._ask_memory(name, arguments)

    @cached_property
    def _own_tools(self) -> "Mapping[str, Callable[[dict[str, Any]], Awaitable[CallReply]]]":
        return {
            tools.REPORT_OUTCOME: self._report,
            tools.LIST_SKILLS: self._list_skills,
            tools.READ_SKILL: self._skill,
            tools.DELETE_ENTRY: self._delete,
        }

    @cached_property
    def _org(self) -> "OrgTools":
        from synthorg_tui.agents.organisation import OrgTools

        return OrgTools(self._identity, self._services.org(), self._allowance)

    @cached_property
    def _admin(self) -> "AdminTools":
        from synthorg_tui.agents.administration import AdminTools

        return AdminTools(self._identity, self._services.admin(), self._allowance)

    @property
    def _administers(self) -> bool:
        return self._services.administrator() == self._identity.agent_id

    @cached_property
    def own(self) -> OwnMemories:
        """The memories that the agent wrote itself, for the commands that it runs."""
        return OwnMemories(self._identity, self._services.own, self._allowance)

    async def _ask_memory(self, name: str, arguments: dict[str, Any]) -> CallReply:
        """A reply of the memory strategy; stored text in a fence."""
        reply = await self._strategy.answer(name, arguments, self._identity.agent_id)
        content = reply.fenced
        if name == SEARCH_MEMORY and reply.ids:  # ours, so outside of what memories say
            ids = ", ".join(map(safe_text, reply.ids))
            content += f"\nIn this order, for {RECALL_MEMORY}: {ids}"
        return CallReply(content, reply.is_error, memory_ids=reply.ids, waiting=reply.waiting)

    async def _report(self, arguments: Mapping[str, Any]) -> CallReply:
        return await self._services.reports.take(self._identity, arguments, self._allowance)

    async def _list_skills(self, _: Mapping[str, Any]) -> CallReply:
        cards = await self.skill_cards()
        listed = [{"name": card.name, "description": card.description} for card in cards]
        return tools.ok({"skills": listed})

    async def _skill(self, arguments: Mapping[str, Any]) -> CallReply:
        name = arguments.get("name")
        if not isinstance(name, str) or not 0 < len(name) <= tools.MAX_SKILL_NAME:
            problem = f"name must be a text of 1 to {tools.MAX_SKILL_NAME} characters"
            return tools.error("InvalidArgument", problem, RefusalCode.INVALID_ARGUMENT)
        try:
            return await self.skill(name)
        except SkillNotFoundError as error:
            return tools.error("SkillNotFound", error.message, RefusalCode.NOT_FOUND)

    async def _delete(self, arguments: Mapping[str, Any]) -> CallReply:
        refused = tools.guardrail(arguments, actor=self._identity.agent_id)
        if refused is not None:
            return refused
        memory_id = arguments.get("memory_id")
        entry = (
            await self._memory.get(self._identity.agent_id, memory_id)
            if isinstance(memory_id, str) and memory_id
            else None
        )
        is_own = entry is not None and ORIGIN_TAG in entry.metadata.tags
        if entry is None or not (is_own or self._administers):
            problem = "no memory that you wrote has this id"
            return tools.error("MemoryNotFound", problem, RefusalCode.NOT_FOUND)
        pending = self._services.pending
        if not is_own:
            pending = self._services.admin().pending
        reason = str(arguments["reason"])
        if pending is not None:
            return await self._propose_deletion(pending, entry, reason)
        await self._memory.delete(self._identity.agent_id, entry.id)
        log_executed(self._identity.agent_id, redact_text(reason, RedactionTally()), entry.id)
        return replace(tools.ok({"deleted": entry.id}), memory_ids=(entry.id,))

    async def _propose_deletion(
        self, pending: "PendingWrites", entry: MemoryEntry, reason: str
    ) -> CallReply:
        try:
            return tools.waits(await pending.delete(entry, reason))
        except WriteRefusedError as error:
            return tools.error("WriteRefused", error.message, RefusalCode.CONFLICT)

    async def _propose(self, agent_id: str, request: MemoryStoreRequest) -> str:
        """Have a person asked whether this may be stored."""
        assert self._services.pending is not None
        draft = MemoryDraft(
            request=request,
            session_id=self.visibility.session_id,
            project=self._identity.project,
            source_kind=SourceKind.TOOL,
        )
        return await self._services.pending.write(agent_id, draft)

    @cached_property
    def writes(self) -> GuardedWrites:
        """The way in which the agent's tools write memories."""
        ask = self._propose if self._services.pending is not None else None
        return GuardedWrites(self._memory, self._allowance, self._identity.client, ask=ask)

    @cached_property
    def _strategy(self) -> ToolBasedInjectionStrategy | SelfEditingMemoryStrategy:
        agent_id = self._identity.agent_id
        return self._services.injection.tools(agent_id, self.visibility, self.writes.write)

    @cached_property
    def _memory_tools(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self._strategy.get_tool_definitions())

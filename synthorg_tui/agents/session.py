"""One client acting as one agent of one project: all it can do, and each act on the record."""

import asyncio
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from pydantic import TypeAdapter

from synthorg_tui.agents import envelopes, tools
from synthorg_tui.agents.audit import AuditTrail
from synthorg_tui.agents.config import AgentAccessConfig
from synthorg_tui.agents.envelopes import ErrorCode
from synthorg_tui.agents.errors import AgentRefusedError, SkillNotFoundError
from synthorg_tui.agents.guarded import ORIGIN_TAG, GuardedMemory, WriteAllowance
from synthorg_tui.agents.models import (
    AgentIdentity,
    AgentRights,
    CallKind,
    CallRecord,
    ServedDigest,
    SkillCard,
    ToolReply,
)
from synthorg_tui.agents.reports import Reports
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.events import Events
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import safe_text
from synthorg_tui.core.tokens import estimate_tokens
from synthorg_tui.core.untrusted import wrap_untrusted
from synthorg_tui.memory import tool_replies
from synthorg_tui.memory.enums import InjectionStrategy, SourceKind
from synthorg_tui.memory.errors import WriteRefusedError
from synthorg_tui.memory.explanation import Explanation
from synthorg_tui.memory.extensions import MemoryDraft, ScopedViews
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.injection_service import Injection, InjectionRequest, InjectionService
from synthorg_tui.memory.models import MemoryEntry, MemoryStoreRequest
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.safety import raise_fatal
from synthorg_tui.memory.self_editing import SelfEditingMemoryStrategy
from synthorg_tui.memory.tool_retriever import (
    RECALL_MEMORY,
    SEARCH_MEMORY,
    Found,
    ToolBasedInjectionStrategy,
)
from synthorg_tui.providers.models import ToolDefinition

if TYPE_CHECKING:  # it isn't needed unless writes wait
    from synthorg_tui.agents.waiting import WaitingRoom

_LOG = logging.getLogger(__name__)

ACTIVITY: Final = "activity"
"""Topic of the event that carries a ``CallRecord``."""
WROTE: Final = "changed"
MAX_ARGUMENTS: Final = 2_000
MAX_REPLY: Final = 8_000
MAX_QUERY: Final = 8_000
TAG_SKILL: Final = "skill"
_STORED_ID: Final = re.compile(r"\(id=([0-9a-f-]{36})[,)]")
_WAITING_ID: Final = re.compile(r"\(item=([a-z]+-[0-9a-f]{12})\)")


class SkillShelf(Protocol):
    """The skills that agents may read: those a person approved."""

    async def cards(self, agent_id: str) -> tuple[SkillCard, ...]:
        """What there is for the agent, by name."""
        ...

    async def text(self, agent_id: str, name: str) -> str:
        """The SKILL.md of that name; raises ``SkillNotFoundError``."""
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """What sessions work with; ``prepare`` gives a digest and counts what it applied.

    With ``waiting`` nothing that agents write counts before a person approved it there.
    """

    config: AgentAccessConfig
    injection: InjectionService
    prepare: Callable[[InjectionRequest], Awaitable[Injection]]
    reports: Reports
    shelf: SkillShelf
    audit: AuditTrail
    events: Events
    clock: Clock
    waiting: "WaitingRoom | None" = None
    rights: Callable[[str], AgentRights] = field(default=lambda _: AgentRights())


class AgentSession:
    """Tools, digests and skills for one agent; a refusal is told to it, never raised at it."""

    def __init__(
        self, identity: AgentIdentity, services: Services, allowance: WriteAllowance
    ) -> None:
        self.identity = identity
        self._services = services
        self._visibility = Visibility(identity.session_id, identity.project)
        self._allowance = allowance
        ask = self._ask if services.waiting is not None else None
        self._guarded = GuardedMemory(self._scoped(), allowance, identity.client, ask=ask)
        self.connected_at = services.clock.now()

    async def tools(self) -> tuple[ToolDefinition, ...]:
        """Those of the configured memory strategy, and what every agent has."""
        strategy = self._strategy()
        offered = (*strategy.get_tool_definitions(), *tools.definitions())
        if self._may_write():
            return offered
        return tuple(each for each in offered if each.name not in tools.WRITING)

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolReply:
        """What the tool replies; whatever goes wrong is a reply, too."""
        started = time.perf_counter()
        try:
            self._require(writing=name in tools.WRITING)
            reply = await self._answer(name, arguments)
        except DomainError as error:
            reply = _refusal(error)
        except Exception as error:  # an agent's run must survive whatever it asked for
            raise_fatal(error)
            _LOG.exception("the tool %s failed", name[:64])
            reply = ToolReply(tool_replies.error("unexpected error"), is_error=True)
        accepted = name in tools.WRITING and not reply.is_error
        wrote = accepted and not reply.waiting
        await self._record(CallKind.TOOL, name, arguments, reply, started, wrote=wrote)
        if accepted:
            self._services.events.emit(WROTE, f"agents.{name}")
        return reply

    async def digest(self, query: str, token_budget: int | None = None) -> ServedDigest:
        """What the agent is given for what it is about to do.

        Raises ``AgentRefusedError`` while the agent is paused, for a blank query and for one that
        is too long.
        """
        started = time.perf_counter()
        default = self._services.config.digest_token_budget
        budget = default if token_budget is None else max(0, token_budget)
        asked = {"query": query, "token_budget": budget}
        async with self._recording_refusal(CallKind.DIGEST, "digest", asked, started):
            self._require(writing=False)
            if not query.strip() or len(query) > MAX_QUERY:
                raise AgentRefusedError(f"the query must have 1 to {MAX_QUERY} characters")
        request = InjectionRequest(
            self.identity.agent_id, query, budget, visibility=self._visibility
        )
        injection = await self._services.prepare(request)
        explanation = injection.explanation
        served = ServedDigest(
            text=injection.text,
            tokens=explanation.tokens_used,
            included=tuple(each.entry.id for each in explanation.included),
            degraded=explanation.degraded,
        )
        told = await asyncio.to_thread(_EXPLANATION.dump_json, explanation)
        await self._record(
            CallKind.DIGEST,
            "digest",
            asked,
            ToolReply(served.text, memory_ids=served.included),
            started,
            explanation=told.decode(),
        )
        return served

    async def skills(self) -> tuple[SkillCard, ...]:
        """The skills a person approved; raises ``AgentRefusedError`` while paused."""
        self._require(writing=False)
        return await self._services.shelf.cards(self.identity.agent_id)

    async def read_skill(self, name: str) -> str:
        """A skill's text, fenced; raises ``SkillNotFoundError`` and ``AgentRefusedError``."""
        started = time.perf_counter()
        asked = {"name": name}
        async with self._recording_refusal(CallKind.SKILL, "read_skill", asked, started):
            self._require(writing=False)
            text = wrap_untrusted(
                TAG_SKILL, await self._services.shelf.text(self.identity.agent_id, name)
            )
        await self._record(CallKind.SKILL, "read_skill", asked, ToolReply(text), started)
        return text

    async def _answer(self, name: str, arguments: dict[str, Any]) -> ToolReply:
        if name == tools.REPORT_OUTCOME:
            self._allowance.take()
            return await self._services.reports.take(self.identity, arguments)
        if name == tools.LIST_SKILLS:
            cards = await self._services.shelf.cards(self.identity.agent_id)
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
            return _with_ids(await strategy.search(arguments, self.identity.agent_id))
        said = await strategy.handle_tool_call(name, arguments, self.identity.agent_id)
        writes = name in tools.WRITING  # then all that is said are words of ours
        return ToolReply(
            tool_replies.fenced(said),
            tool_replies.is_error(said),
            memory_ids=tuple(_STORED_ID.findall(said)) if writes else (),
            waiting=tuple(_WAITING_ID.findall(said)) if writes else (),
        )

    async def _skill(self, name: object) -> ToolReply:
        if not isinstance(name, str) or not 0 < len(name) <= tools.MAX_SKILL_NAME:
            told = f"name must be a text of 1 to {tools.MAX_SKILL_NAME} characters"
            return envelopes.error("InvalidArgument", told, ErrorCode.INVALID_ARGUMENT)
        try:
            return ToolReply(
                wrap_untrusted(
                    TAG_SKILL, await self._services.shelf.text(self.identity.agent_id, name)
                )
            )
        except SkillNotFoundError as error:
            return envelopes.error("SkillNotFound", error.message, ErrorCode.NOT_FOUND)

    async def _delete(self, arguments: Mapping[str, Any]) -> ToolReply:
        refused = envelopes.guardrail(arguments, actor=self.identity.agent_id)
        if refused is not None:
            return refused
        memory_id = arguments.get("memory_id")
        entry = (
            await self._guarded.get(self.identity.agent_id, memory_id)
            if isinstance(memory_id, str) and memory_id
            else None
        )
        if entry is None or ORIGIN_TAG not in entry.metadata.tags:
            told = "no memory that you wrote has this id"
            return envelopes.error("MemoryNotFound", told, ErrorCode.NOT_FOUND)
        if self._services.waiting is not None:
            return await self._ask_to_delete(entry, str(arguments["reason"]))
        await self._guarded.delete(self.identity.agent_id, entry.id)
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
            session_id=self.identity.session_id,
            project=self.identity.project,
            source_kind=SourceKind.TOOL,
        )
        return await self._services.waiting.write(agent_id, draft)

    def _strategy(self) -> ToolBasedInjectionStrategy | SelfEditingMemoryStrategy:
        """The strategy whose tools the agent has; who is only given memories may search, too."""
        configured = self._services.injection.retrieval.strategy
        edits = configured is InjectionStrategy.SELF_EDITING
        wanted = InjectionStrategy.SELF_EDITING if edits else InjectionStrategy.TOOL_BASED
        memory: MemoryBackend = self._guarded if edits else self._scoped()
        request = InjectionRequest(self.identity.agent_id, "-", 0, strategy=wanted, digest_v1=False)
        strategy = replace(self._services.injection, memory=memory).strategy(request)
        assert isinstance(strategy, ToolBasedInjectionStrategy | SelfEditingMemoryStrategy)
        return strategy

    def _scoped(self) -> MemoryBackend:
        memory = self._services.injection.memory
        return memory.scoped(self._visibility) if isinstance(memory, ScopedViews) else memory

    def _may_write(self) -> bool:
        rights = self._services.rights(self.identity.agent_id)
        only_reads = rights.read_only or self.identity.read_only
        return self._services.config.writes != "off" and not only_reads

    def _require(self, *, writing: bool) -> None:
        if self._services.rights(self.identity.agent_id).paused:
            raise AgentRefusedError("a person paused this agent")
        if writing and not self._may_write():
            raise AgentRefusedError("this agent may only read")

    @asynccontextmanager
    async def _recording_refusal(
        self, kind: CallKind, name: str, arguments: Mapping[str, Any], started: float
    ) -> AsyncIterator[None]:
        """What is refused by raising is on the record like any other call."""
        try:
            yield
        except DomainError as error:
            await self._record(kind, name, arguments, _refusal(error), started)
            raise

    async def _record(
        self,
        kind: CallKind,
        name: str,
        arguments: Mapping[str, Any],
        reply: ToolReply,
        started: float,
        *,
        wrote: bool = False,
        explanation: str = "",
    ) -> None:
        text = redact_text(json.dumps(arguments, ensure_ascii=False, default=str), RedactionTally())
        record = CallRecord(
            number=0,
            at=self._services.clock.now(),
            agent_id=self.identity.agent_id,
            client=self.identity.client,
            project=self.identity.project,
            kind=kind,
            name=name[:64],
            arguments=text[:MAX_ARGUMENTS],
            reply=reply.content if kind is CallKind.DIGEST else reply.content[:MAX_REPLY],
            is_error=reply.is_error,
            tokens=estimate_tokens(reply.content),
            milliseconds=(time.perf_counter() - started) * 1000,
            memory_ids=reply.memory_ids,
            wrote=wrote,
            explanation=explanation,
        )
        self._services.events.emit(ACTIVITY, await self._services.audit.add(record))


_EXPLANATION: Final[TypeAdapter[Explanation]] = TypeAdapter(Explanation)


def _with_ids(found: Found) -> ToolReply:
    """A search's reply with the ids that reading one takes, outside of what memories say."""
    content = tool_replies.fenced(found.reply)
    if found.memory_ids:
        ids = ", ".join(map(safe_text, found.memory_ids))
        content += f"\nIn this order, for {RECALL_MEMORY}: {ids}"
    return ToolReply(content, tool_replies.is_error(found.reply), memory_ids=found.memory_ids)


def _refusal(error: DomainError) -> ToolReply:
    told = f"{error.message}. {error.remedy}" if error.remedy else error.message
    return ToolReply(tool_replies.error(told), is_error=True)

"""A client's session as one agent of one project: checks its rights and records its calls.

Rights are checked and calls recorded here and nowhere else. What a tool does is in
``agents.toolbox``.
"""

import asyncio
import json
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic_core import to_json

from synthorg_tui.agents.audit import AuditTrail
from synthorg_tui.agents.client_sessions import ClientSessions
from synthorg_tui.agents.guarded import WriteAllowance
from synthorg_tui.agents.handed import Receipts
from synthorg_tui.agents.models import (
    ONLY_READS,
    PAUSED,
    AgentAccessConfig,
    AgentIdentity,
    AgentRefusedError,
    AgentRights,
    CallKind,
    CallRecord,
    CallReply,
    ServedDigest,
    ServedHint,
    SkillCard,
)
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.events import Events
from synthorg_tui.core.failsafe import raise_fatal, surviving
from synthorg_tui.core.paths import in_place
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.learning.actions import AgentAction
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryDraft, MemoryEdit
from synthorg_tui.memory.strategies import replies
from synthorg_tui.memory.strategies.service import (
    MAX_QUERY,
    ApplicationLog,
    Injection,
    InjectionRequest,
    Use,
    UseKind,
    agents_request,
)
from synthorg_tui.providers.models import ToolDefinition

if TYPE_CHECKING:
    from synthorg_tui.agents.own_memories import OwnMemories
    from synthorg_tui.agents.recovered import Recollection
    from synthorg_tui.agents.toolbox import Toolbox, ToolServices
    from synthorg_tui.memory.models import MemoryStoreRequest
    from synthorg_tui.memory.strategies.replies import Pending

_log = logging.getLogger(__name__)

ACTIVITY: Final = "activity"
"""Topic of the event that carries a ``CallRecord``."""
WROTE: Final = "changed"
MAX_ARGUMENTS: Final = 2_000
MAX_REPLY: Final = 8_000
MAX_ERROR_SHOWN: Final = 400
MAX_SUBAGENT: Final = 200


class Services(NamedTuple):
    """The services that all sessions share.

    ``prepare`` makes a digest and counts the use of the memories in it; other uses are told to
    ``applications``. ``tools`` is called when an agent first calls a tool.
    """

    config: AgentAccessConfig
    prepare: Callable[[InjectionRequest], Awaitable[Injection]]
    tools: "Callable[[], ToolServices]"
    audit: AuditTrail
    sessions: ClientSessions
    events: Events
    clock: Clock
    applications: ApplicationLog | None = None
    rights: Callable[[str], AgentRights] = lambda _: AgentRights()


class AgentSession:
    """All that one agent can call: tools, digests and skills. Every call is recorded.

    A tool that refuses returns a reply with an error; the other methods raise exceptions.
    ``recorded`` is how many calls of this session were recorded.
    """

    def __init__(
        self,
        identity: AgentIdentity,
        services: Services,
        allowance: WriteAllowance,
        processes: tuple[str, ...] = (),
    ) -> None:
        self.identity = identity
        self._services = services
        self._processes = processes
        self._tools: Toolbox | None = None
        self._allowance = allowance
        self._receipts = Receipts()
        self.recorded = 0
        self._connection = f"connection {uuid.uuid4()}"

    async def tools(self) -> tuple[ToolDefinition, ...]:
        """Return the tools that the agent may call now; a read-only agent gets no writing ones."""
        from synthorg_tui.agents.tools import WRITING

        offered = (await self._toolbox()).definitions()
        if self._may_write():
            return offered
        return tuple(tool for tool in offered if tool.name not in WRITING)

    async def call(self, name: str, arguments: dict[str, Any]) -> CallReply:
        """Call a tool and return its reply; errors are replies with ``is_error``, never raised."""
        from synthorg_tui.agents.tools import BEFORE_ACTION, READ_SKILL, WRITING

        started, explanation = time.perf_counter(), ""
        try:
            self._require(writing=name in WRITING)
            if name == BEFORE_ACTION:
                reply, explanation = await self._before_action(arguments)
            else:
                reply = await (await self._toolbox()).answer(name, arguments)
        except DomainError as error:
            reply = _refusal(error)
        except Exception as error:  # an agent's run must survive whatever it asked for
            raise_fatal(error)
            _log.exception("the tool %s failed", name[:64])
            reply = CallReply(replies.error("unexpected error").text, is_error=True)
        if name == READ_SKILL and not reply.is_error:
            await self._note_use(UseKind.READ, reply.memory_ids)
        accepted = name in WRITING and not reply.is_error
        wrote = accepted and not reply.waiting and bool(reply.memory_ids)
        await self._record(
            CallKind.TOOL, name, arguments, reply, started, wrote=wrote, explanation=explanation
        )
        if accepted:
            self._services.events.emit(WROTE, f"agents.{name}")
        return reply

    async def digest(
        self, query: str, token_budget: int | None = None, anew: bool = False
    ) -> ServedDigest:
        """Return the agent's digest for a task; ``None`` as budget means the configured one.

        The organisation's policies stand first, whatever the task is. What the session was handed
        before isn't in it, unless it reads otherwise now or the agent begins ``anew``, with nothing
        of the session in its context.

        Raises ``AgentRefusedError`` while the agent is paused, and for a blank or too long query.
        """
        started = time.perf_counter()
        default = self._services.config.digest_token_budget
        budget = default if token_budget is None else max(0, token_budget)
        asked = {"query": query, "token_budget": budget}
        async with self._recording_refusal(CallKind.DIGEST, "digest", asked, started):
            self._require(writing=False)
            if not query.strip() or len(query) > MAX_QUERY:
                raise AgentRefusedError(f"the query must have 1 to {MAX_QUERY} characters")
        injection, receipt = await self._prepared(query, budget, anew)
        explanation = injection.explanation
        served = ServedDigest(
            text=injection.text,
            tokens=explanation.tokens_used,
            included=tuple(memory.entry.id for memory in explanation.included),
            degraded=explanation.degraded,
            handed=explanation.handed,
            receipt=receipt,
        )
        # As an adapter would write it, which takes longer to build than to do without.
        explained = await asyncio.to_thread(to_json, explanation, inf_nan_mode="null")
        await self._record(
            CallKind.DIGEST,
            "digest",
            asked,
            CallReply(served.text, memory_ids=(*explanation.organisation, *served.included)),
            started,
            explanation=explained.decode(),
        )
        return served

    async def _prepared(self, query: str, token_budget: int, anew: bool) -> tuple[Injection, str]:
        """The digest without what the session was handed before, and its receipt."""
        who, session_id = self.identity, await self._session_id()
        handed, key = self._services.sessions.handed, self._told_as(session_id)
        if anew:
            handed.forget(*key)
        request = agents_request(
            who.agent_id, query, token_budget, project=who.project, session_id=session_id
        )
        marks = handed.of(*key)
        injection = await self._services.prepare(replace(request, handed=frozenset(marks)))
        return injection, self._receipts.issue(partial(marks.add, injection.explanation.marks))

    async def acknowledge(self, receipt: str) -> None:
        """Note that a text reached the agent; a receipt that isn't open is ignored."""
        await self._receipts.acknowledge(receipt)

    async def hint(self, moment: str, action: AgentAction, subagent: str = "") -> ServedHint:
        """Return a hint about a call, ``before`` it or ``after`` it failed; mostly an empty one.

        Its project is the session's, whatever ``action`` says. ``subagent`` names who makes the
        call within the session. It never raises: a paused agent is told nothing, and what goes
        wrong is only logged.
        """
        started, known = time.perf_counter(), None
        if self._services.rights(self.identity.agent_id).paused:
            return ServedHint()
        project, cwd = self.identity.project, in_place(action.cwd)
        with surviving("recalling what is known about a call", _log):
            placed = replace(
                action,
                command=in_place(action.command),
                file=in_place(action.file),
                tool=action.tool or "bash",
                cwd=cwd or project or "",
                project=project or cwd or None,
            )
            known = await self._recollection(moment, placed, subagent[:MAX_SUBAGENT])
        if known is None:
            return ServedHint()
        error = action.error[:MAX_ERROR_SHOWN]
        asked = {"command": action.command, "file": action.file, "error": error, "cwd": cwd}
        await self._record(
            CallKind.HINT,
            "before_action" if moment == UseKind.BEFORE else "after_failure",
            {name: value for name, value in asked.items() if value},
            CallReply(known.text, memory_ids=known.memory_ids),
            started,
            explanation=_explained(known),
        )
        return ServedHint(known.text, known.reason, known.receipt)

    async def skills(self) -> tuple[SkillCard, ...]:
        """Return the approved skills that the agent may read, sorted by name.

        Raises ``AgentRefusedError`` while the agent is paused.
        """
        self._require(writing=False)
        return await (await self._toolbox()).skill_cards()

    async def read_skill(self, name: str) -> str:
        """Return a skill's text, in tags that mark it as data rather than instructions.

        Raises ``SkillNotFoundError``, and ``AgentRefusedError`` while the agent is paused.
        """
        started = time.perf_counter()
        asked = {"name": name}
        async with self._recording_refusal(CallKind.SKILL, "read_skill", asked, started):
            self._require(writing=False)
            reply = await (await self._toolbox()).skill(name)
        await self._note_use(UseKind.READ, reply.memory_ids)
        await self._record(CallKind.SKILL, "read_skill", asked, reply, started)
        return reply.content

    async def add_memory(self, draft: MemoryDraft) -> CallReply:
        """Store or propose a memory, for a command that the agent runs; see ``OwnMemories``.

        This and the next three raise ``AgentRefusedError`` while the agent may not write.
        """
        asked = {"content": draft.request.content, "project": draft.project}
        return await self._changing("add", asked, lambda own: own.add(draft))

    async def edit_memory(self, memory_id: str, change: MemoryEdit) -> CallReply:
        """Change a memory that the agent wrote."""
        asked = {"memory_id": memory_id, **change.model_dump(exclude_none=True)}
        return await self._changing("edit", asked, lambda own: own.edit(memory_id, change))

    async def delete_memories(self, memory_ids: list[str]) -> CallReply:
        """Delete, or propose to delete, memories that the agent wrote."""
        asked = {"memory_ids": memory_ids}
        return await self._changing("delete", asked, lambda own: own.delete(memory_ids))

    async def restore_memories(self, memory_ids: list[str]) -> CallReply:
        """Bring back memories that the agent wrote and deleted."""
        asked = {"memory_ids": memory_ids}
        return await self._changing("restore", asked, lambda own: own.restore(memory_ids))

    async def _changing(
        self,
        verb: str,
        asked: Mapping[str, Any],
        change: "Callable[[OwnMemories], Awaitable[CallReply]]",
    ) -> CallReply:
        """Make a change by a command, if the agent may write; record it, or its refusal."""
        started, name = time.perf_counter(), f"memories {verb}"
        async with self._recording_refusal(CallKind.TOOL, name, asked, started):
            self._require(writing=True)
            reply = await change((await self._toolbox()).own)
        wrote = not reply.waiting
        await self._record(CallKind.TOOL, name, asked, reply, started, wrote=wrote)
        self._services.events.emit(WROTE, f"agents.{name}")
        return reply

    async def remember(self, agent_id: str, request: "MemoryStoreRequest") -> "str | Pending":
        """Write a memory as the agent's tools do; for a run here, whose tools are no calls.

        Raises ``AgentRefusedError`` where the agent may not write, and as ``GuardedWrites.write``.
        """
        self._require(writing=True)
        return await (await self._toolbox()).writes.write(agent_id, request)

    async def end_session(self) -> int:
        """Delete the memories limited to the session that the client named; return their number.

        Called when the agent's program tells that the session ended. A client that named no
        session ends none.
        """
        if self.identity.session_id is None:
            return 0
        return await self._services.sessions.end(self.identity.agent_id, self.identity.session_id)

    async def _recollection(
        self, moment: str, action: AgentAction, subagent: str = ""
    ) -> "Recollection | None":
        """Return the hint about a call; acknowledging its receipt records a use of the lesson."""
        from synthorg_tui.agents.recall import Moment

        session_id, recall = await self._session_id(), self._services.tools().recall
        key, when = self._told_as(session_id), Moment(moment)
        known = await recall.hint(*key, when, action, session_id=session_id, subagent=subagent)
        if known is None:
            return None
        subject, memory_ids = known.subject, known.memory_ids

        async def note() -> None:
            await recall.note_said(*key, subagent, subject, when)
            await self._note_use(UseKind(moment), memory_ids)

        return replace(known, receipt=self._receipts.issue(note))

    async def _before_action(self, arguments: Mapping[str, Any]) -> tuple[CallReply, str]:
        """The reply to the tool, and why it is so."""
        from synthorg_tui.agents import tools

        action = tools.action_of(arguments, self.identity.project)
        if isinstance(action, CallReply):
            return action, ""
        moment = UseKind.AFTER if action.error else UseKind.BEFORE
        known = await self._recollection(moment, action)
        if known is None:
            return CallReply(tools.NOTHING_KNOWN), ""
        reply = CallReply(known.text, memory_ids=known.memory_ids, receipt=known.receipt)
        return reply, _explained(known)

    async def _note_use(self, how: UseKind, memory_ids: Sequence[str]) -> None:
        """Record that the agent was given these memories; a failure is only logged."""
        if self._services.applications is None or not memory_ids:
            return
        with surviving("counting what was given", _log):
            use = Use(how, self.identity.agent_id, self.identity.project, await self._session_id())
            await self._services.applications.applied(memory_ids, self._services.clock.now(), use)

    def _told_as(self, session_id: str | None) -> tuple[str, str]:
        """Within what the same is said once: the agent and its session, else its connection."""
        return self.identity.agent_id, session_id or self._connection

    async def _session_id(self) -> str | None:
        return await self._services.sessions.current(self.identity, self._processes)

    async def _toolbox(self) -> "Toolbox":
        """The tools as they are in the present session, which may be another than before."""
        from synthorg_tui.agents.toolbox import Toolbox

        view = Visibility(await self._session_id(), self.identity.project)
        if self._tools is None or self._tools.visibility != view:
            self._tools = Toolbox(self.identity, self._services.tools(), self._allowance, view)
        return self._tools

    def _may_write(self) -> bool:
        rights = self._services.rights(self.identity.agent_id)
        only_reads = rights.read_only or self.identity.read_only
        return self._services.config.writes != "off" and not only_reads

    def _require(self, *, writing: bool) -> None:
        if self._services.rights(self.identity.agent_id).paused:
            raise AgentRefusedError(PAUSED)
        if writing and not self._may_write():
            raise AgentRefusedError(ONLY_READS)

    @asynccontextmanager
    async def _recording_refusal(
        self, kind: CallKind, name: str, arguments: Mapping[str, Any], started: float
    ) -> AsyncIterator[None]:
        """Record a call that is refused by an exception like any other call."""
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
        reply: CallReply,
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
        self.recorded += 1
        self._services.events.emit(ACTIVITY, await self._services.audit.add(record))


def _explained(known: "Recollection") -> str:
    """Why a hint was given, as it is stored; JSON."""
    why = {"reason": known.reason, "lesson": known.lesson, "path": known.path}
    return json.dumps({**why, "command": known.command}, ensure_ascii=False)


def _refusal(error: DomainError) -> CallReply:
    return CallReply(replies.error(error.with_remedy).text, is_error=True)

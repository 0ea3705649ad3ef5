"""The one way in which a model's call of a tool is carried out, or isn't.

Whatever a model asks for and whatever a tool does, an answer for the model comes of it: unknown
tools, arguments that don't fit, exceptions and time-outs are errors that it reads. Replies are
redacted, bounded, made visible and fenced as data here, so that no tool has to. What becomes of a
call that waits for a person is the loop's.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final, TypeAlias

from synthorg_tui.core.enums import CallOutcome, SecurityVerdictType
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import surviving
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import safe_text
from synthorg_tui.core.untrusted import defused, wrap_untrusted
from synthorg_tui.memory.strategies.replies import TAG_TOOL_RESULT
from synthorg_tui.memory.tools import BaseTool, ToolNotFoundError, ToolRegistry, ToolResult
from synthorg_tui.providers.models import ToolDefinition, ToolUse
from synthorg_tui.runtime import RunLimits
from synthorg_tui.runtime.arguments import argument_problems
from synthorg_tui.runtime.interceptors import (
    CallInterceptor,
    CallVerdict,
    permission,
    verdict_of,
)
from synthorg_tui.runtime.models import RunProfile

_log = logging.getLogger(__name__)

MAX_CALL_SECONDS: Final = 660.0
"""How long any tool may take; those that take time have shorter limits of their own."""
_MAX_READ: Final = 4
"""So many times the shown length of a reply is looked at for secrets."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """What became of a call.

    ``content`` is the answer for the model: what the tool said is fenced as data and bounded, what
    the runtime says isn't fenced. ``size`` is the length of the tool's own reply in characters,
    ``why`` the reason of a verdict that doesn't allow. An ``ESCALATE`` was not carried out.
    """

    use: ToolUse
    outcome: CallOutcome
    content: str
    is_error: bool = False
    verdict: SecurityVerdictType = SecurityVerdictType.ALLOW
    why: str = ""
    milliseconds: int = 0
    size: int = 0
    exit_code: int | None = None


CallHint: TypeAlias = Callable[[ToolUse], Awaitable[str]]
"""Returns what is known about a call, fenced, or an empty text."""
TrackCall: TypeAlias = Callable[[Invocation], None]


class ToolInvoker:
    """Carries out the calls of one run.

    Args:
        registry: The run's tools.
        profile: What the run may do without asking.
        interceptors: Asked in order before what the profile permits.
        limits: Bounds of a reply's length and of the time that a call may take.
        hint: Told of each call before it runs; what it returns is added to the reply.
        track: Told of each call once it is over; may not block.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        profile: RunProfile,
        interceptors: Sequence[CallInterceptor] = (),
        *,
        limits: RunLimits | None = None,
        hint: CallHint | None = None,
        track: TrackCall | None = None,
    ) -> None:
        self._registry = registry
        self._profile = profile
        self._interceptors = (*interceptors, self._permitted)
        self._limits = limits or RunLimits()
        self._hint = hint
        self._track = track

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the tools to offer to the model: those that the profile doesn't deny."""
        return tuple(
            definition
            for definition in self._registry.to_definitions()
            if permission(self._registry.get(definition.name), self._profile).type
            is not SecurityVerdictType.DENY
        )

    async def invoke(self, use: ToolUse, *, has_leave: bool = False) -> Invocation:
        """Carry out a call and return what became of it; raises nothing but cancellation.

        ``has_leave`` is whether a person has allowed exactly this call; what is denied stays so.
        """
        began = perf_counter()
        invocation = await self._invoked(use, has_leave)
        took = round((perf_counter() - began) * 1000)
        invocation = replace(invocation, milliseconds=took)
        if self._track is not None:
            with surviving("tracking a tool call", _log):
                self._track(invocation)
        return invocation

    async def _invoked(self, use: ToolUse, has_leave: bool) -> Invocation:
        try:
            tool = self._registry.get(use.name)
        except ToolNotFoundError:
            known = ", ".join(each.name for each in self.definitions()) or "none"
            return self._failed(use, f"there is no tool {use.name!r}; there are: {known}")
        if problems := argument_problems(dict(use.arguments), tool.definition.parameters):
            return self._failed(use, f"the arguments don't fit: {'; '.join(problems)}")
        verdict = await verdict_of(self._interceptors, use, tool, has_leave=has_leave)
        if verdict.type is not SecurityVerdictType.ALLOW:
            return self._refused(use, verdict)
        hint = ""
        if self._hint is not None:
            with surviving("looking for a hint", _log):
                hint = await self._hint(use)
        invocation = await self._executed(use, tool)
        return replace(invocation, content=f"{invocation.content}\n{hint}") if hint else invocation

    async def _permitted(self, use: ToolUse, tool: BaseTool) -> CallVerdict:
        return permission(tool, self._profile)

    async def _executed(self, use: ToolUse, tool: BaseTool) -> Invocation:
        most = min(MAX_CALL_SECONDS, self._limits.seconds)
        task = asyncio.current_task()
        try:
            async with asyncio.timeout(most) as timer:
                result = await tool.execute(arguments=use.arguments)
        except DomainError as error:
            words = " ".join(filter(None, (f"Error: {error.message}.", error.remedy)))
            return self._answered(use, ToolResult(content=words, is_error=True))
        except asyncio.CancelledError:
            if task is None or task.cancelling():
                raise
            return self._failed(use, f"{use.name} was cancelled")
        except (Exception, SystemExit) as error:  # whatever it is, it is the tool's, not ours
            if timer.expired():
                return self._failed(use, f"{use.name} took more than {most:g} s and was stopped")
            _log.exception("the tool %s failed", use.name)
            return self._failed(use, f"{use.name} failed unexpectedly ({type(error).__name__})")
        return self._answered(use, result)

    def _answered(self, use: ToolUse, result: ToolResult) -> Invocation:
        length = len(result.content)
        if result.is_fenced and length <= self._limits.output_chars:
            content = shown_reply(result.content, length * _MAX_READ)
        else:
            shown = shown_reply(result.content, self._limits.output_chars)
            content = wrap_untrusted(TAG_TOOL_RESULT, shown)
        return Invocation(
            use,
            CallOutcome.FAILED if result.is_error else CallOutcome.OK,
            content,
            is_error=result.is_error,
            size=length,
            exit_code=result.exit_code,
        )

    def _failed(self, use: ToolUse, problem: str) -> Invocation:
        text = f"Error: {self._own(problem)}"
        return Invocation(use, CallOutcome.FAILED, text, is_error=True, size=len(text))

    def _refused(self, use: ToolUse, verdict: CallVerdict) -> Invocation:
        is_denied = verdict.type is SecurityVerdictType.DENY
        begins = "Denied, and not run" if is_denied else "Not run: it waits for a person"
        return Invocation(
            use,
            CallOutcome.BLOCKED_BY_HOOK if is_denied else CallOutcome.UNKNOWN,
            f"{begins}: {self._own(verdict.why)}",
            is_error=is_denied,
            verdict=verdict.type,
            why=verdict.why,
        )

    def _own(self, text: str) -> str:
        """A sentence of the runtime, in which words of a stranger may be quoted."""
        return defused(shown_reply(text, self._limits.output_chars), unfenced=True)


def shown_reply(text: str, limit: int) -> str:
    """Return what a tool said as a model may read it: redacted, visible, and its two ends only."""
    text = both_ends(text, limit * _MAX_READ)
    return both_ends(safe_text(redact_text(text, RedactionTally()), multiline=True), limit)


def both_ends(text: str, limit: int) -> str:
    """Return a text, or its beginning and its end with a note of what is left out between."""
    if len(text) <= limit:
        return text
    half = limit // 2
    left_out = len(text) - 2 * half
    note = f"\n[... {left_out:,} characters are left out here ...]\n"
    return f"{text[:half]}{note}{text[len(text) - half :]}"

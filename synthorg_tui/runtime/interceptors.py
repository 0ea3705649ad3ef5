"""Verdicts on tool calls before they run: what a profile permits, and what policies forbid.

An interceptor is asked in order, and the first that doesn't allow decides. It sees what the model
wrote and changes nothing. Whether a call that waits for a person may run is never decided here.
"""

import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

from synthorg_tui.core.enums import (
    CallOutcome,
    SecurityVerdictType,
    ToolAccessLevel,
    ToolCategory,
)
from synthorg_tui.core.failsafe import surviving
from synthorg_tui.executions.commands import call_intent
from synthorg_tui.executions.models import Execution, ToolCall, is_shell
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.memory.tools import BaseTool
from synthorg_tui.organisation.prohibitions import bans_of, breaches_of
from synthorg_tui.organisation.shell_runs import sure_runs
from synthorg_tui.providers.models import ToolUse
from synthorg_tui.runtime.models import RunProfile

_log = logging.getLogger(__name__)

_ORDER: Final = (
    ToolAccessLevel.SANDBOXED,
    ToolAccessLevel.RESTRICTED,
    ToolAccessLevel.STANDARD,
    ToolAccessLevel.ELEVATED,
)
_FREE_UP_TO: Final = {
    RunProfile.READ_ONLY: ToolAccessLevel.SANDBOXED,
    RunProfile.ASK: ToolAccessLevel.RESTRICTED,
    RunProfile.UNATTENDED: ToolAccessLevel.ELEVATED,
}
"""Up to which level a profile lets tools run without asking."""
_REACHES_OUT: Final = frozenset(
    {
        ToolCategory.COMMUNICATION,
        ToolCategory.DATABASE,
        ToolCategory.DEPLOYMENT,
        ToolCategory.MCP,
        ToolCategory.WEB,
    }
)
"""Categories whose tools change what isn't in the workspace."""
_EXECUTES: Final = frozenset({ToolCategory.CODE_EXECUTION, ToolCategory.TERMINAL})
_HARMLESS_DEVICES: Final = (
    *("/dev/null/", "/dev/zero/", "/dev/random/", "/dev/urandom/"),
    *("/dev/stdin/", "/dev/stdout/", "/dev/stderr/", "/dev/fd/"),
)
"""Devices that hold nothing."""
_REDIRECTED: Final = re.compile(r"[<>]\s*([~/.][^\s;&|<>()'\"]*)")
_MAX_RULE: Final = 500


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """What is to become of a call; ``why`` is for the model and the person, empty if allowed."""

    type: SecurityVerdictType = SecurityVerdictType.ALLOW
    why: str = ""


CallInterceptor: TypeAlias = Callable[[ToolUse, BaseTool], Awaitable[CallVerdict]]
"""Judges a call whose arguments fit the tool's schema; one that raises denies the call."""

ALLOWED: Final = CallVerdict()


def denied(why: str) -> CallVerdict:
    """Return the verdict that a call may not run."""
    return CallVerdict(SecurityVerdictType.DENY, why)


def escalated(why: str) -> CallVerdict:
    """Return the verdict that a person has to be asked."""
    return CallVerdict(SecurityVerdictType.ESCALATE, why)


def permission(tool: BaseTool, profile: RunProfile) -> CallVerdict:
    """Return what a profile lets a tool do, by its category and access level."""
    if profile is RunProfile.READ_ONLY:
        only_reads = tool.access is ToolAccessLevel.SANDBOXED and tool.category not in _EXECUTES
        return (
            ALLOWED if only_reads else denied("this run may only read: nothing is changed or run")
        )
    if tool.access not in _ORDER:
        return escalated("what this tool reaches isn't known, so a person is asked")
    if _ORDER.index(tool.access) <= _ORDER.index(_FREE_UP_TO[profile]):
        changes = tool.access is not ToolAccessLevel.SANDBOXED
        if changes and tool.category in _REACHES_OUT:
            return escalated("it changes what is outside of the workspace")
        return ALLOWED
    verb = "runs a program" if tool.access is ToolAccessLevel.ELEVATED else "changes files"
    return escalated(f"it {verb}, and this run asks before it does")


class ForbiddenCalls:
    """Denies what the organisation's policies plainly forbid, in their words.

    Only a rule that forbids something in all cases counts, and only a call that plainly does it:
    this keeps an agent to the rules, it is no wall against one that hides what it runs.

    Args:
        policies: Returns the texts of the policies in force.
        workspace: The folder the run works in.
    """

    def __init__(self, policies: Callable[[], Awaitable[Sequence[str]]], workspace: Path) -> None:
        self._policies = policies
        self._workspace = workspace

    async def __call__(self, use: ToolUse, tool: BaseTool) -> CallVerdict:
        """Return the verdict on a call."""
        execution = _as_done(use, self._workspace)
        for rule in await self._policies():
            if breaches_of(bans_of(rule), execution):
                return denied(
                    f"a policy of the organisation forbids it: {one_line(rule, _MAX_RULE)}"
                )
        return ALLOWED


class WorkspaceBounds:
    """Escalates a command that plainly names a path outside of the workspace.

    For runs that ask for nothing inside of it. What a program does by itself isn't seen.
    """

    def __init__(self, workspace: Path) -> None:
        self._workspace = os.path.realpath(workspace)

    async def __call__(self, use: ToolUse, tool: BaseTool) -> CallVerdict:
        """Return the verdict on a call."""
        if tool.access is not ToolAccessLevel.ELEVATED or not is_shell(use.name):
            return ALLOWED
        (call,) = _as_done(use, Path(self._workspace)).calls
        for folder, word in _named_paths(call):
            if self._is_outside(word.partition("=")[2] or word, folder):
                shown = one_line(word, _MAX_RULE)
                return escalated(f"it names a path outside of the workspace: {shown}")
        return ALLOWED

    def _is_outside(self, word: str, folder: str) -> bool:
        folder = os.path.join(self._workspace, folder)  # noqa: PTH118  kept as written
        if not word.startswith(("/", "~", "..")) and "/.." not in word:
            return False
        whole = os.path.normpath(os.path.join(folder, os.path.expanduser(word)))  # noqa: PTH111, PTH118
        is_inside = f"{whole}/".startswith(f"{self._workspace.rstrip('/')}/")
        return not is_inside and not f"{whole}/".startswith(_HARMLESS_DEVICES)


async def verdict_of(
    interceptors: Sequence[CallInterceptor], use: ToolUse, tool: BaseTool, *, has_leave: bool
) -> CallVerdict:
    """Return the first verdict that isn't allow; one that raises denies.

    With ``has_leave`` a person has allowed the call: verdicts that would ask for that are passed.
    """
    for interceptor in interceptors:
        verdict = denied("it couldn't be checked, so it isn't run")
        with surviving("checking a tool call", _log):
            verdict = await interceptor(use, tool)
        is_left = has_leave and verdict.type is SecurityVerdictType.ESCALATE
        if verdict.type is not SecurityVerdictType.ALLOW and not is_left:
            return verdict
    return ALLOWED


def command_of(use: ToolUse) -> str:
    """Return the shell command of a call, empty when it has none."""
    command = use.arguments.get("command")
    return command if is_shell(use.name) and isinstance(command, str) else ""


def _named_paths(call: ToolCall) -> Iterator[tuple[str, str]]:
    """Words of a command that may be paths, each with the folder that it is run in."""
    for run in sure_runs(call):
        yield "", run.folder
        for word in run.words[1:]:
            if word.is_plain or word.text.startswith("~"):
                yield run.folder, word.text
    yield from (("", target) for target in _REDIRECTED.findall(call.arguments))


def _as_done(use: ToolUse, workspace: Path) -> Execution:
    """The call as if it had been made and had worked, for what judges records."""
    command = command_of(use)
    call = ToolCall(
        id=use.id,
        tool=use.name,
        intent=call_intent(use.name, use.arguments, command),
        arguments=command,
        outcome=CallOutcome.OK,
        at=datetime.now(UTC),
        call_line=1,
        result_line=1,
    )
    return Execution(
        id="run:call",
        reader="run",
        session_id="call",
        agent_id="agent",
        project=str(workspace),
        calls=(call,),
        started_at=call.at,
        ended_at=call.at,
    )

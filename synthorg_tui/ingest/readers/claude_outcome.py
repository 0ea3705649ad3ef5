"""How a Claude Code tool call ended, from its result and the hooks that ran around it."""

import re
from dataclasses import dataclass, field

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.ingest.readers.base import PendingCall, is_shell, text_of
from synthorg_tui.ingest.records import Record, mapping

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (-?\d+)")
_CANCELLED = ("Sibling tool call errored", "Cancelled: parallel tool call")
_DENIED = re.compile(
    r"The user doesn't want to (?:proceed|take this action)|User rejected|The user rejected"
    r"|\[Request interrupted by user|Permission to use \S+ .{0,200}(?:has been )?denied"
    r"|requested permissions? to .{0,400}haven't granted|This command requires approval"
    r"|was rejected by the user",
    re.DOTALL,
)
_BLOCKED = re.compile(
    r"(?:PreToolUse|PermissionRequest)(?::\S+)? hook|hook (?:returned )?blocking error"
    r"|[Bb]locked by (?:a |the )?(?:\S+ )?hook|hook .{0,80}denied this tool"
)
_HEAD = 600
"""Verdicts stand at the start of a result; further down is what the tool printed."""


@dataclass(slots=True)
class HookLog:
    """Which hook events ran for each tool use, and for which tools any after-hook is set up."""

    before: set[str] = field(default_factory=set)
    after: set[str] = field(default_factory=set)
    watched: set[str] = field(default_factory=set)

    def note(self, record: Record) -> None:
        """Take in a ``progress`` record."""
        data = mapping(record.get("data"))
        event, use = text_of(data.get("hookEvent")), text_of(record.get("toolUseID"))
        if event == "PreToolUse":
            self.before.add(use)
        elif event in {"PostToolUse", "PostToolUseFailure"}:
            self.after.add(use)
            self.watched.add(text_of(data.get("hookName")).partition(":")[2])

    def stopped(self, call: PendingCall) -> bool:
        """Whether hooks ran before the call and none after it, though they would have.

        That is how a hook that refuses a call without saying so shows: the tool never ran.
        """
        if call.id not in self.before or call.id in self.after:
            return False
        return call.tool in self.watched or is_shell(call.tool)


def settle(call: PendingCall, block: Record, record: Record, output: str) -> None:
    """Set outcome, exit code and output of a call from its result block and record."""
    result = record.get("toolUseResult")
    call.output = output
    call.outcome = CallOutcome.OK
    if block.get("is_error") is True:
        call.outcome, call.exit_code = _error_outcome(output, text_of(record.get("toolDenialKind")))
    elif mapping(result).get("interrupted") is True:
        call.outcome = CallOutcome.DENIED_BY_USER
    elif is_shell(call.tool) and "backgroundTaskId" not in mapping(result):
        call.exit_code = 0


def _error_outcome(output: str, denial: str) -> tuple[CallOutcome, int | None]:
    head = output[:_HEAD]
    exit_code = _EXIT_CODE.match(head)
    if denial:
        hook = "hook" in denial.lower()
        return (CallOutcome.BLOCKED_BY_HOOK if hook else CallOutcome.DENIED_BY_USER), None
    if exit_code is not None:
        return CallOutcome.FAILED, int(exit_code[1])
    if any(text in head for text in _CANCELLED):
        return CallOutcome.CANCELLED_WITH_SIBLING, None
    if _DENIED.search(head):
        return CallOutcome.DENIED_BY_USER, None
    if _BLOCKED.search(head):
        return CallOutcome.BLOCKED_BY_HOOK, None
    return CallOutcome.FAILED, None


def settle_with_hooks(call: PendingCall, hooks: HookLog) -> None:
    """Correct a failure that was a hook's silent refusal."""
    failed_itself = call.exit_code is not None or "<tool_use_error>" in call.output[:_HEAD]
    if call.outcome is CallOutcome.FAILED and not failed_itself and hooks.stopped(call):
        call.outcome = CallOutcome.BLOCKED_BY_HOOK

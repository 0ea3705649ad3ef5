"""What was recorded of a failure in an earlier session, when it is surely the same failure.

Imported memories of recoveries say what failed, with which error, and what then worked. No person
approved them, so one is told only for the same program and the same error, as what happened.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import client_session
from synthorg_tui.executions.output_lines import headline
from synthorg_tui.executions.recoveries import RECOVERY_TAG
from synthorg_tui.learning.actions import AgentAction
from synthorg_tui.learning.error_lines import signature
from synthorg_tui.learning.triggers import error_pattern, fits
from synthorg_tui.memory.kinds import MemoryKind, kind_of
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.sensitivity import SensitivityFilter

_MOST: Final = 5
_MAX_QUERY: Final = 400
_FAILED: Final = "Failed: "
_WORKED: Final = "Then worked: "
_EXIT_CODE: Final = re.compile(r" \(exit code -?\d+\)$")


class RecoveredFailure(NamedTuple):
    """A recorded failure with what worked: ``subject`` is the id of its memory."""

    subject: str
    intent: str
    text: str


async def told_before(
    memory: MemoryBackend,
    agent_id: str,
    action: AgentAction,
    *,
    allowed: SensitivityFilter,
    session_id: str | None,
) -> RecoveredFailure | None:
    """Return what was recorded of the same failure, or ``None``; one of this session isn't told.

    Raises ``MemoryRetrievalError``.
    """
    line = headline(action.error)
    step = action.steps[-1]
    if not error_pattern(line, ()):
        return None
    query = MemoryQuery(
        text=f"{step.intent} {line}"[:_MAX_QUERY], tags=(RECOVERY_TAG,), limit=_MOST
    )
    found = await allowed.search(memory, agent_id, query)
    for entry in found.permitted:
        if kind_of(entry.category, entry.metadata.tags, entry.content) is not MemoryKind.RECOVERY:
            continue
        if session_id and _session_of(entry) == session_id:
            continue
        told = _same_failure(entry, action, line)
        if told is not None:
            return told
    return None


def _session_of(entry: MemoryEntry) -> str:
    return client_session((entry.metadata.source or "").partition("#")[0])


def _same_failure(entry: MemoryEntry, action: AgentAction, line: str) -> RecoveredFailure | None:
    """The recorded failure if the same program failed with the same error."""
    lines = entry.content.splitlines()
    worked = next((each for each in lines if each.startswith(_WORKED)), "")
    then = {step.intent for step in command_steps(worked.removeprefix(_WORKED))}
    for failed in (each for each in lines if each.startswith(_FAILED)):
        for command, error in _readings(failed.removeprefix(_FAILED)):
            intents = {step.intent for step in command_steps(command)} & then
            for step in action.steps:
                if step.intent in intents and _is_same(error, line, step, action):
                    text = f"{failed} {worked}"
                    return RecoveredFailure(entry.id, step.intent, text)
    return None


def _readings(text: str) -> Iterator[tuple[str, str]]:
    """The ways to divide what failed into the command and its error, which both may have colons."""
    for match in re.finditer(": ", text):
        yield _EXIT_CODE.sub("", text[: match.start()]), text[match.end() :]


def _is_same(recorded: str, line: str, step: Step, action: AgentAction) -> bool:
    """Whether both errors say the same, names apart; the recorded one may be followed by more."""
    names = {word for word in step.words[1:] if not word.startswith("-")}
    names |= {place.rstrip("/").rpartition("/")[2] for place in (action.where, action.cwd)}
    pattern = error_pattern(line, names)
    first, _, _ = recorded.partition(". ")
    return bool(pattern) and any(
        fits(pattern, signature(each.rstrip(" ."))) for each in (recorded, first)
    )

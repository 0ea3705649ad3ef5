"""Finds the recorded recovery from a failure in an earlier session, if it is surely the same.

Imported memories of recoveries say what failed, with which error, and what then worked. No person
approved them, so one is told only for the same program and the same error, as what happened, and
only when the error was about the call: what helped against one in the code is no answer here.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import client_session
from synthorg_tui.executions.output_lines import headline
from synthorg_tui.executions.recoveries import RECOVERY_TAG
from synthorg_tui.learning.actions import AgentAction
from synthorg_tui.learning.error_lines import ErrorKind, read_error
from synthorg_tui.learning.triggers import comparable, error_pattern, fits
from synthorg_tui.memory.kinds import MemoryKind, kind_of
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.sensitivity import SensitivityFilter

_MOST: Final = 5
_MAX_QUERY: Final = 400
_MAX_LINE: Final = 1_000
_MAX_LINES: Final = 20
_MAX_READINGS: Final = 8
"""Bounds on reading a stored text, which may have any form."""
_FAILED: Final = "Failed: "
_WORKED: Final = "Then worked: "
_EXIT_CODE: Final = re.compile(r" \(exit code -?\d+\)$")


@dataclass(frozen=True, slots=True)
class Recollection:
    """A hint with its grounds.

    ``text`` is exactly what the agent is given; ``reason`` is why, for a person. ``subject`` tells
    it from all others: the path of the approved ``lesson``, which is also ``path``, or the id of
    the memory that recorded it. ``command`` is the program that it is about, ``receipt`` what is
    acknowledged when the agent has it.
    """

    text: str
    reason: str
    subject: str
    memory_ids: tuple[str, ...] = ()
    lesson: str = ""
    path: str = ""
    command: str = ""
    receipt: str = ""


async def told_before(
    memory: MemoryBackend,
    agent_id: str,
    action: AgentAction,
    *,
    allowed: SensitivityFilter,
    session_id: str | None,
) -> Recollection | None:
    """Return what was recorded of the same failure in an earlier session, or ``None``.

    Its text is not fenced yet.
    Raises ``MemoryRetrievalError``.
    """
    line = await asyncio.to_thread(headline, action.error)
    step = action.steps[-1]
    if not error_pattern(line, ()) or not await asyncio.to_thread(_is_about_call, action, line):
        return None
    query = MemoryQuery(
        text=f"{step.intent} {line}"[:_MAX_QUERY], tags=(RECOVERY_TAG,), limit=_MOST
    )
    found = await allowed.search(memory, agent_id, query)
    earlier = [entry for entry in found.permitted if _is_earlier(entry, session_id)]
    return await asyncio.to_thread(_first_same, earlier, action, line)


def _is_about_call(action: AgentAction, line: str) -> bool:
    """Whether nothing of what a call said is about the code that it examined."""
    read = (read_error(text, action.steps[-1]) for text in (line, action.error))
    return all(error is not None and error.kind is not ErrorKind.CODE for error in read)


def _is_earlier(entry: MemoryEntry, session_id: str | None) -> bool:
    """Whether it is a recovery of another session."""
    kind = kind_of(entry.category, entry.metadata.tags, entry.content)
    return kind is MemoryKind.RECOVERY and not (
        session_id and client_session((entry.metadata.source or "").partition("#")[0]) == session_id
    )


def _first_same(
    entries: Sequence[MemoryEntry], action: AgentAction, line: str
) -> Recollection | None:
    found = (_same_failure(entry, action, line) for entry in entries)
    return next((each for each in found if each is not None), None)


def _same_failure(entry: MemoryEntry, action: AgentAction, line: str) -> Recollection | None:
    """The recorded failure if the same program failed with the same error."""
    lines = [each[:_MAX_LINE] for each in entry.content.splitlines()[:_MAX_LINES]]
    worked = next((each for each in lines if each.startswith(_WORKED)), "")
    then = command_steps(worked.removeprefix(_WORKED))
    for failed in (each for each in lines if each.startswith(_FAILED)):
        for command, error in _readings(failed.removeprefix(_FAILED)):
            intents = _put_right(command_steps(command), then)
            for step in action.steps:
                if step.intent in intents and _is_same(error, line, step, action):
                    return Recollection(
                        text=f"{failed} {worked}",
                        reason="same error in an earlier session",
                        subject=entry.id,
                        memory_ids=(entry.id,),
                        command=step.intent,
                    )
    return None


def _put_right(failed: Sequence[Step], worked: Sequence[Step]) -> set[str]:
    """The intents of the steps that were written otherwise when they worked."""
    return {
        one.intent
        for one in failed
        if any(
            one.intent == other.intent and replace(one, targets=other.targets) != other
            for other in worked
        )
    }


def _readings(text: str) -> Iterator[tuple[str, str]]:
    """The ways to divide what failed into the command and its error, which both may have colons."""
    for match in islice(re.finditer(": ", text), _MAX_READINGS):
        yield _EXIT_CODE.sub("", text[: match.start()]), text[match.end() :]


def _is_same(recorded: str, line: str, step: Step, action: AgentAction) -> bool:
    """Whether both errors say the same, names apart; the recorded one may be followed by more."""
    names = {word for word in step.words[1:] if not word.startswith("-")}
    names |= {place.rstrip("/").rpartition("/")[2] for place in (action.where, action.cwd)}
    pattern = error_pattern(line, names)
    first, _, _ = recorded.partition(". ")
    return bool(pattern) and any(
        fits(pattern, comparable(each.rstrip(" ."))) for each in (recorded, first)
    )

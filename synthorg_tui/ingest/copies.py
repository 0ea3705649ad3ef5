"""Where a session that was read belongs: to itself, or to the stored session that it is a copy of.

Whatever has events of a stored session is part of that: a fork, a resumed or copied session, the
same file cut or rewritten. The stored session is then read anew from its lines and what the copy
adds, so that each event counts once and stands in its context; the files are its branches. Nothing
here stores anything.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import eq
from pathlib import Path
from typing import Final

from synthorg_tui.executions.erased_lines import ERASED_LINE
from synthorg_tui.executions.events import Copy, SessionEvents, events_of, joined
from synthorg_tui.executions.models import Execution, under_id
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import Branch, ExecutionStore
from synthorg_tui.ingest.extract.memories import extract
from synthorg_tui.ingest.readers import READERS
from synthorg_tui.ingest.reading import COPY, LONGER_COPY, ExtractedExecution
from synthorg_tui.ingest.records import TranscriptLines
from synthorg_tui.persistence.port import Connection

DELETED: Final = "this session was deleted here"
NAME_TAKEN: Final = "a session of this name was recorded: report it as another"
AGENT_DIFFERS: Final = "another agent has a session of this name"
MAX_OWN: Final = 120
"""Characters of the request that says what a branch has of its own."""
_SAME_FILE: Final = 0.9
"""Share of equal lines from which on two files of as many lines are one: redaction may differ."""
SAME_NAME: Final = "~"
"""Parts the id of a session from the mark that tells it from another one of the same id."""
Put = Callable[[Connection], None]
Absorb = Callable[[str, Mapping[str, Sequence[int]], Collection[str | None], Put], Awaitable[None]]
"""Erases stored sessions that are parts of another one, with the number of each line there and the
keys of the memories that it draws, and stores that one in the same transaction."""


@dataclass(slots=True)
class Placed:
    """A session as it is to be stored, with the files that it stands in when there are several.

    ``moved`` are the present numbers of the lines that it had, when they differ. ``absorbed`` are
    stored sessions that it holds from now on, each with the present numbers of its lines.
    ``refusal`` says why there is nothing to store but ``branches``.
    """

    session: ExtractedExecution
    branches: tuple[Branch, ...] = ()
    moved: tuple[int, ...] = ()
    absorbed: Mapping[str, Sequence[int]] = field(default_factory=dict)
    refusal: str = ""


async def place(executions: ExecutionStore, read: ExtractedExecution, path: str) -> Placed:
    """Return what to store of a session that was read from this path."""
    execution = read.execution
    events = await asyncio.to_thread(events_of, execution)
    kin = await executions.kin(events.keys)
    home = kin[0] if kin and execution.id not in kin else execution.id
    known = await executions.get(home)
    if known is None:
        return Placed(read)
    if not kin and await _is_other(executions, known, events, path):
        return Placed(_renamed(read, events))
    if problem := _unfit(execution, known):
        return Placed(read, refusal=problem)
    if execution.agent_id != known.agent_id:
        # A copy without the files around it can't tell a subagent's type: the first name stays.
        execution = execution.model_copy(update={"agent_id": known.agent_id})
        read = replace(read, execution=execution, drafts=extract(execution))
    others = [id_ for id_ in kin if id_ != known.id]
    if execution.id not in {*kin, known.id} and execution.id in await executions.uncounted():
        others.append(execution.id)  # stored as a session of its own by an earlier version
    if execution.id == known.id and not others and not await executions.branches(known.id):
        ours = await asyncio.to_thread(events_of, known)
        is_whole = await _holds_all(executions, known, ours, read, events)
        if is_whole or not (ours.keys and events.keys):
            return Placed(read, refusal="" if is_whole else LONGER_COPY)
    return await _joined(executions, known, others, read, path)


async def without_deleted(
    executions: ExecutionStore, read: ExtractedExecution
) -> ExtractedExecution | None:
    """Return a session without events that were deleted; ``None`` when nothing is left."""
    if await executions.is_forgotten(read.execution):
        return None
    events = await asyncio.to_thread(events_of, read.execution)
    gone = await executions.forgotten(read.execution.id, events.keys)
    if not gone:
        return read
    lines = [
        line if events.by_line.get(number, set()).isdisjoint(gone) else ERASED_LINE
        for number, line in enumerate(read.lines, 1)
    ]
    try:
        execution = await asyncio.to_thread(read_again, read.execution, lines)
    except ValueError:
        return None
    return ExtractedExecution(execution, PackedLines(lines), extract(execution))


async def _holds_all(
    executions: ExecutionStore,
    known: Execution,
    ours: SessionEvents,
    read: ExtractedExecution,
    events: SessionEvents,
) -> bool:
    """Whether a file holds all that is stored of it, or is the same, now read otherwise."""
    more = read.execution.line_count - known.line_count
    if more or ours.keys <= events.keys:
        return more >= 0 and ours.keys <= events.keys
    same = sum(map(eq, await executions.lines(known.id), read.lines))
    return bool(same >= _SAME_FILE * known.line_count)


def _unfit(read: Execution, known: Execution) -> str:
    if read.is_reported and not known.is_reported:
        return NAME_TAKEN
    if read.agent_id != known.agent_id and read.parent_id is None:
        return AGENT_DIFFERS
    return ""


async def _is_other(
    executions: ExecutionStore, known: Execution, events: SessionEvents, path: str
) -> bool:
    """Whether a session only has the id of a known one: in another file, with other events."""
    ours = await asyncio.to_thread(events_of, known)
    paths = {known.source_path, *(each.path for each in await executions.branches(known.id))}
    are_apart = ours.keys.isdisjoint(events.keys) and bool(ours.keys and events.keys)
    return are_apart and path not in paths


def _renamed(read: ExtractedExecution, events: SessionEvents) -> ExtractedExecution:
    first = min(events.by_line, key=lambda line: (not events.by_line[line], line))
    mark = f"{SAME_NAME}{min(events.by_line[first]) & 0xFFFFFFFF:08x}"
    head, slash, part = read.execution.id.partition("/")
    path = read.execution.source_path
    execution = under_id(read.execution, f"{head}{mark}{slash}{part}", path)
    return replace(read, execution=execution, drafts=extract(execution))


async def _joined(
    executions: ExecutionStore,
    known: Execution,
    others: Sequence[str],
    read: ExtractedExecution,
    path: str,
) -> Placed:
    """Return a stored session with all of ``others``, stored ones too, and what was read."""
    family = _Family(*await _stored(executions, known))
    copy = await asyncio.to_thread(Copy, read.execution, tuple(read.lines))
    await asyncio.to_thread(family.take, copy, _alone(copy, path))
    for id_ in others:  # after the file that has events of all: it tells their order
        other = await executions.get(id_)
        if other is not None and not _unfit(other, known):
            stored = await _stored(executions, other)
            await asyncio.to_thread(family.take, *stored, absorbs=True)
    if read.execution.id != known.id:
        family.begin_with(copy.execution, path)
    return await asyncio.to_thread(family.placed, is_same=read.execution.id == known.id)


async def _stored(
    executions: ExecutionStore, execution: Execution
) -> tuple[Copy, tuple[Branch, ...]]:
    copy = await asyncio.to_thread(Copy, execution, await executions.lines(execution.id))
    return copy, await executions.branches(execution.id) or _alone(copy, execution.source_path)


class _Family:
    """A stored session, made of branches, while copies are joined to it."""

    def __init__(self, copy: Copy, branches: Sequence[Branch]) -> None:
        self._before = self._copy = copy
        self._branches = {branch.id: branch for branch in branches}
        self._had_several = len(branches) > 1
        self._moved: Sequence[int] = range(1, len(copy.lines) + 1)
        self._absorbed: dict[str, Sequence[int]] = {}

    def take(self, copy: Copy, branches: Sequence[Branch], *, absorbs: bool = False) -> None:
        """Add what a copy, made of these branches, has of its own; or all of a stored session."""
        result = joined(self._copy, copy)
        if result.lines != self._copy.lines:
            self._copy = Copy(read_again(self._copy.execution, result.lines), result.lines)
        self._moved = _renumbered(self._moved, result.moved)
        for id_, numbers in self._absorbed.items():
            self._absorbed[id_] = _renumbered(numbers, result.moved)
        if absorbs:
            self._absorbed[copy.execution.id] = result.held
        kept = {each.id: _numbered(each, result.moved) for each in self._branches.values()}
        turns = self._copy.execution.turns
        own = next((turn.text for turn in turns if turn.first_line in result.new), "")
        for branch in branches:
            found, before = _numbered(branch, result.held), kept.get(branch.id)
            if before is not None:
                both = found.numbers | before.numbers
                found = replace(found, numbers=both, title=before.title)
            kept[branch.id] = replace(found, title=one_line(own, MAX_OWN) or found.title)
        self._branches = kept

    def begin_with(self, execution: Execution, path: str) -> None:
        """Name the session after a file that was joined, if the others are forks of it.

        That is the one that it names, or one that begins with it, ended before it, and adds
        nothing to it.
        """
        known, own = self._copy.execution, self._branches[execution.id].title
        ended, later = execution.ended_at, known.ended_at
        is_before = ended is not None and later is not None and ended < later
        is_same = not own and is_before and execution.started_at == known.started_at
        if not is_same and self._before.execution.forked_from != execution.session_id:
            return
        self._absorbed[known.id], self._moved = self._moved, ()
        self._copy = Copy(under_id(known, execution.id, path), self._copy.lines)

    def placed(self, *, is_same: bool) -> Placed:
        """Return the session with what is drawn from it; ``is_same`` when its own file was read."""
        execution, lines = self._copy.execution, self._copy.lines
        session = ExtractedExecution(execution, PackedLines(lines), extract(execution))
        is_alone = self._branches.keys() == {execution.id}
        placed = Placed(
            session,
            () if is_alone else tuple(self._branches.values()),
            tuple(self._moved),
            self._absorbed,
        )
        is_old = lines == self._before.lines and not self._absorbed
        if is_old and not (is_same and self._had_several):
            placed.refusal = LONGER_COPY if is_same else COPY
        return placed


def _alone(copy: Copy, path: str) -> tuple[Branch]:
    """The one file of a session, which holds all of its lines."""
    execution, numbers = copy.execution, frozenset(range(1, len(copy.lines) + 1))
    return (Branch(execution.id, path, "", execution.ended_at, numbers),)


def _renumbered(numbers: Iterable[int], present: Sequence[int]) -> list[int]:
    """The present numbers of lines; 0 of one that isn't there any more."""
    return [present[number - 1] if number else 0 for number in numbers]


def _numbered(branch: Branch, present: Sequence[int]) -> Branch:
    """The branch with the present numbers of its lines."""
    return replace(branch, numbers=frozenset(_renumbered(branch.numbers, present)) - {0})


def read_again(execution: Execution, lines: Sequence[str], *, joined: bool = True) -> Execution:
    """Return the execution as it is with these lines, of several files or one; who it is stays.

    Raises ``ValueError`` when they hold nothing that was asked or done.
    """
    reader = next(each for each in READERS if each.name == execution.reader)
    source = TranscriptLines(
        Path(execution.source_path),
        source=lambda *_: (f"{line}\n".encode() for line in lines),
        joined=joined,
    )
    (read,) = reader.read(source, source.records()).executions
    who = ("id", "session_id", "agent_id", "parent_id", "project", "source_path", "reported")
    present = {name: getattr(execution, name) for name in who}
    present["summary"] = read.execution.summary or execution.summary
    return read.execution.model_copy(update=present)

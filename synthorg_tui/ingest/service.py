"""Imports of transcripts: found, read where they are new, stored as memories and evidence.

An import may be cut short anywhere and is taken up again: memories have keys, so that the same
transcript adds nothing twice, a file's mark is stored last, and a session is marked as not learnt
from until that is done, by whichever import comes next. What a transcript says is for the readers,
what is worth remembering for ``extract``; nothing here looks into either.
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import raise_fatal
from synthorg_tui.core.projects import repository_of
from synthorg_tui.core.text import counted
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import ExecutionStore, FileMark
from synthorg_tui.ingest.copies import DELETED, Absorb, place, read_again, without_deleted
from synthorg_tui.ingest.discovery import (
    FoundTranscripts,
    TranscriptFile,
    collect,
    looked_for,
    usual_places,
)
from synthorg_tui.ingest.extract.memories import EXTRACTION, extract
from synthorg_tui.ingest.readers import READERS
from synthorg_tui.ingest.readers.base import MAX_EVENTS
from synthorg_tui.ingest.readers.specstory import ENVELOPE as SPECSTORY
from synthorg_tui.ingest.reading import COPY, EXPECTED, ExtractedExecution, FileReading, ReadAhead
from synthorg_tui.memory.extensions import BatchStore, MemoryDraft
from synthorg_tui.memory.models import AGENT_IS_FULL

_log = logging.getLogger(__name__)
ACTOR = "import"
BATCH = 64
"""Memories stored in one transaction; a cancelled import stops between two."""
SHOW_EVERY_SECONDS = 0.25
MAX_READ_AHEAD = 32 * 1024 * 1024
"""While a larger file is stored the next isn't read yet: two of them would be in memory."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import.

    ``files`` is the number of transcripts looked at, ``unchanged`` that of those which are as at
    their last import and weren't read again. ``skipped`` pairs a path with the reason. All other
    numbers are of the executions read this time; ``calls`` has one for each outcome, and
    ``lessons_proposed`` is the number of lessons that now wait for approval because of them.
    ``memories_refused`` is the number of memories that weren't stored because ``full_agents`` have
    as many as they may have. ``added_by_project`` has the memories added for each project's folder.
    """

    files: int = 0
    unchanged: int = 0
    executions: int = 0
    memories_added: int = 0
    memories_updated: int = 0
    memories_skipped: int = 0
    memories_refused: int = 0
    calls: dict[CallOutcome, int] = field(default_factory=lambda: dict.fromkeys(CallOutcome, 0))
    recoveries: int = 0
    redactions: int = 0
    malformed_lines: int = 0
    unknown_records: int = 0
    skipped: tuple[tuple[str, str], ...] = ()
    lessons_proposed: int = 0
    full_agents: tuple[str, ...] = ()
    added_by_project: dict[str, int] = field(default_factory=dict)
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """The progress of an import; ``seconds_left`` is ``None`` while it can't be estimated yet.

    ``current`` is the name of the file being imported.
    """

    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int
    memories_added: int
    bytes_per_second: float
    seconds_left: float | None
    current: str


ProgressSink = Callable[[ImportProgress], None]
Learner = Callable[[Sequence[str], threading.Event], Awaitable[int]]
"""Learns from the executions with these ids until the event is set; how many were proposed."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a run of an import is done; the fields are arguments of ``ImportService.run``."""

    progress: ProgressSink | None
    cancel: threading.Event
    absorb: Absorb
    reporter: str = ""
    usual: tuple[Path, ...] = ()


@dataclass(slots=True)
class _Turns:
    """What the imports of one service share, so that none does what another has just done.

    Files are imported in ``turn``. ``done`` has the state of each file at its last import, and
    when that was, in seconds of ``time.monotonic``; it is empty while none is ``running``.
    """

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    done: dict[Path, tuple[tuple[int, int], float]] = field(default_factory=dict)
    running: int = 0

    def has_done(self, file: TranscriptFile, *, since: float) -> bool:
        """Tell whether the file was imported as it is, later than ``since``."""
        state, at = self.done.get(file.path, (None, 0.0))
        return state == file.state and at > since


class ImportService:
    """Imports transcripts into the store; importing the same again adds nothing.

    Args:
        backend: Stores the memories.
        executions: Stores the executions as evidence, and the marks of read files.
        clock: No memory is dated later than its present time, whatever a transcript claims.
        home: The person's home directory, under which the usual places are.
        environ: May name other places (``CLAUDE_CONFIG_DIR`` and the like).
        learner: Draws lessons from the imported executions; its failure doesn't fail the import.
    """

    def __init__(
        self,
        *,
        backend: BatchStore,
        executions: ExecutionStore,
        clock: Clock,
        home: Path | None = None,
        environ: Mapping[str, str] = os.environ,
        learner: Learner | None = None,
    ) -> None:
        self._backend = backend
        self._executions = executions
        self._clock = clock
        self._home = home or Path.home()
        self._environ = environ
        self._learner = learner
        self.absorb: Absorb = executions.absorb
        """Erases stored sessions that turn out to be parts of another one; what was made of them
        stays, unless whoever has the memories sets another way."""
        self._turns = _Turns()

    def now(self) -> datetime:
        """Return the present time by the clock of the imports."""
        return self._clock.now()

    @property
    def is_running(self) -> bool:
        """Whether an import is being done."""
        return self._turns.running > 0

    def usual_places(self) -> tuple[tuple[str, Path], ...]:
        """Return the places where agents write, existing or not, as pairs of reader and path."""
        return usual_places(self._home, self._environ)

    async def discover(self) -> tuple[FoundTranscripts, ...]:
        """Return the usual places that hold transcripts now."""
        places = await asyncio.to_thread(looked_for, self._home, self._environ)
        return tuple(place for place in places if place.files)

    async def run(
        self,
        paths: Sequence[Path] | None = None,
        *,
        progress: ProgressSink | None = None,
        cancel: threading.Event | None = None,
        reporter: str = "",
    ) -> ImportReport:
        """Import files and folders, or the usual places when ``paths`` is ``None``.

        Imports may run at the same time: they take turns file by file, and a file that another one
        has just imported isn't read again.

        With ``reporter`` the files are what the agent with this id reports of itself: their
        executions belong to it, whatever agent they name, and nothing in them is taken as said by a
        person. Setting ``cancel`` stops the import; what was stored stays, and the next import
        continues from there. Raises ``MemoryStoreError`` when the store fails; files that can't be
        read are in the report instead.
        """
        # Usual places that hold nothing which can be read are among them: the report says why.
        usual = dict.fromkeys(root for _, root in self.usual_places() if root.exists())
        roots = list(usual) if paths is None else paths
        cancel = cancel or threading.Event()
        options = ImportOptions(progress, cancel, self.absorb, reporter, tuple(usual))
        job = self._job(options)
        self._turns.running += 1
        try:
            await job.run(roots)
        finally:
            self._turns.running -= 1
            if not self._turns.running:
                self._turns.done.clear()
        lessons = await (self._learn_from(job.imported, cancel) if reporter else self._finish(job))
        return replace(job.report, lessons_proposed=lessons)

    async def recount(self, progress: Callable[[int, int], None], cancel: threading.Event) -> int:
        """Count the events of sessions that an earlier version stored; return how many they were.

        Copies among them become one session. What is done is kept when the program ends meanwhile.
        """
        ids, marks = await self._executions.uncounted(), await self._executions.marks()
        job = self._job(ImportOptions(None, cancel, self.absorb))
        for done, id_ in enumerate(ids):
            progress(done, len(ids))
            async with self._turns.turn:
                if cancel.is_set():
                    return done
                await job.recount(id_, marks)
        await self._executions.all_counted()
        await self._finish(job)
        return len(ids)

    async def catch_up(self) -> tuple[int, int]:
        """Learn from the sessions that were stored and not learnt from, without importing any.

        There are some when an import was killed, learning from them failed, or a part of one was
        deleted; their memories are drawn, too. Returns how many they were, and how many lessons
        were proposed.
        """
        job = self._job(ImportOptions(None, threading.Event(), self.absorb))
        return len(await self._executions.unlearnt()), await self._finish(job)

    async def _finish(self, job: "_ImportJob") -> int:
        """Draw from what is stored and wasn't drawn from, and learn; how many were proposed."""
        ids = list(await self._executions.unlearnt())
        await job.draw_from([id_ for id_ in ids if id_ not in job.imported])
        return await self._learn_from(ids, job.cancel)

    def _job(self, options: ImportOptions) -> "_ImportJob":
        return _ImportJob(self._backend, self._executions, self._clock, self._turns, options)

    async def _learn_from(self, ids: Sequence[str], cancel: threading.Event) -> int:
        if self._learner is None or not ids:
            return 0
        try:
            return await self._learner(ids, cancel)
        except Exception as error:
            raise_fatal(error)
            _log.warning("nothing was learnt from %d imported sessions: %s", len(ids), error)
            return 0


def _of_the_store(error: Exception) -> bool:
    """Whether the next file would fail, too."""
    import duckdb  # here: a program that only asks an owner never loads it

    return isinstance(error, DomainError | duckdb.Error | OSError | MemoryError)


class _ImportJob:
    """One run of an import: files are stored one after the other, the next being read meanwhile.

    ``report`` grows with what was done; ``imported`` are the ids of the executions stored so far.
    """

    def __init__(
        self,
        backend: BatchStore,
        executions: ExecutionStore,
        clock: Clock,
        turns: _Turns,
        options: ImportOptions,
    ) -> None:
        self._backend = backend
        self._executions = executions
        self._clock = clock
        self._turns = turns
        self._options = options
        self.cancel = self._cancel = options.cancel
        self.report = ImportReport()
        self.imported: list[str] = []
        self._marked: frozenset[str] = frozenset()
        self._done_bytes = 0
        self._total_bytes = 0
        self._started = time.monotonic()

    async def run(self, roots: Sequence[Path]) -> None:
        files, refusals = await asyncio.to_thread(collect, roots, self._options.usual)
        for refusal in refusals:
            self._skip(refusal.name, refusal.reason)
        marks = await self._executions.marks()
        self._marked = frozenset(marks)
        fresh = [file for file in files if not _unchanged(file, marks)]
        self._add(files=len(files), unchanged=len(files) - len(fresh))
        for file in files:
            mark = marks.get(str(file.path))
            if mark is not None and mark.refusal and _unchanged(file, marks):
                self._skip(mark.path, mark.refusal)
        options = self._options
        with ReadAhead(self._cancel, reporter=options.reporter) as ahead:
            try:
                await self._import(fresh, ahead)
            except BaseException:  # the thread is waited for: it must not read on
                self._cancel.set()
                raise
        self.report = replace(self.report, cancelled=self._cancel.is_set())

    async def _import(self, files: list[TranscriptFile], ahead: ReadAhead) -> None:
        self._total_bytes = sum(file.size for file in files)
        for position, file in enumerate(files):
            async with self._turns.turn:
                if self._cancel.is_set():
                    break
                if self._turns.has_done(file, since=self._started):
                    self._add(unchanged=1)
                else:
                    following = files[position + 1] if position + 1 < len(files) else None
                    await self._import_file(file, ahead, following, (position, len(files)))
                self._done_bytes += file.size
                self._show(position + 1, len(files), file.path.name, 0)
        await ahead.finish()

    async def _import_file(
        self,
        file: TranscriptFile,
        ahead: ReadAhead,
        following: TranscriptFile | None,
        position: tuple[int, int],
    ) -> None:
        """Store a file, and have the following one read meanwhile."""
        reading = ahead.take(file)
        self._show(*position, file.path.name, 0)
        while not (await asyncio.wait([reading], timeout=SHOW_EVERY_SECONDS))[0]:
            self._show(*position, file.path.name, ahead.bytes_read)
        ahead.start(following if file.size <= MAX_READ_AHEAD else None)
        if not self._cancel.is_set():
            await self._store(reading.result())
            if not self._cancel.is_set():
                self._turns.done[file.path] = file.state, time.monotonic()

    async def _store(self, reading: FileReading) -> None:
        self._count(reading)
        if reading.reader:
            await self._note_unknown(reading)
        if reading.skipped:
            self._skip(reading.mark.path, reading.skipped)
        if reading.is_hopeless:
            await self._executions.pass_over(reading.mark.refused(reading.skipped))
        if reading.left_out:
            what = counted(reading.left_out, "message or call", "messages and calls")
            self._skip(reading.mark.path, f"{what} beyond {MAX_EVENTS:,} are left out")
        for extracted in reading.executions:
            try:
                await self._store_execution(extracted, reading.mark)
            except Exception as error:
                if _of_the_store(error):
                    raise
                _log.exception("can't store %s", reading.mark.path)
                self._skip(reading.mark.path, f"can't be stored: {type(error).__name__}")

    async def _note_unknown(self, reading: FileReading) -> None:
        """Store the kinds that are unknown; of a new file without any there is nothing to store."""
        path = reading.mark.path
        if reading.unknown_kinds or path in self._marked:
            await self._executions.note_unknown(path, reading.reader, reading.unknown_kinds)

    async def _store_execution(
        self, extracted: ExtractedExecution, mark: FileMark, *, anew: bool = False
    ) -> None:
        """Memories first, the file's mark last: an import cut short is taken up again.

        With ``anew`` it is stored already, and what was drawn from it isn't as it would be now.
        """
        if await self._is_twin(extracted.execution):
            self._skip(mark.path, COPY)
            return
        left = await without_deleted(self._executions, extracted)
        if left is None:
            self._skip(mark.path, DELETED)
            await self._executions.pass_over(replace(mark, digest=""))
            return
        placed = await place(self._executions, left, mark.path)
        execution, drafts = placed.session.execution, placed.session.drafts
        if placed.refusal:
            self._skip(mark.path, placed.refusal)
            if placed.refusal in EXPECTED:
                await self._executions.put_branches(execution.id, placed.branches, mark)
            return
        if anew and not placed.absorbed:
            placed.absorbed = {execution.id: range(1, execution.line_count + 1)}
        kept = (execution, placed.session.lines, mark, placed.branches, placed.moved)
        if placed.absorbed:
            keys, put = {draft.key for draft in drafts}, await self._executions.saving(*kept)
            await self._options.absorb(execution.id, placed.absorbed, keys, put)
        await self._store_drafts(execution, drafts)
        if self._cancel.is_set():
            return
        if not placed.absorbed:
            await self._executions.save(*kept)
        self._add(executions=1)
        self.imported.append(execution.id)

    async def recount(self, id_: str, marks: Mapping[str, FileMark]) -> None:
        """Count the events of a stored session, as if its file were read now.

        It is read from its stored lines: the file may be gone.
        """
        execution = await self._executions.get(id_)
        if execution is None:
            return
        lines = await self._executions.lines(id_)
        try:
            read = await asyncio.to_thread(read_again, execution, lines, joined=False)
        except (OSError, ValueError):  # its file tells more, or it isn't work as it is read now
            read = execution
        path = execution.source_path
        mark = marks.get(path) or FileMark(path, 0, 0, "")
        drafts = await asyncio.to_thread(extract, read, reported=read.is_reported)
        stored = ExtractedExecution(read, PackedLines(lines), drafts)
        await self._store_execution(stored, mark, anew=True)

    async def _is_twin(self, execution: Execution) -> bool:
        """Tell whether a history of SpecStory's is of a session that its agent's reader read."""
        if execution.reader != SPECSTORY:
            return False
        ids = (f"{reader.name}:{execution.session_id}" for reader in READERS)
        found = [await self._executions.get(id_) for id_ in ids if id_ != execution.id]
        return any(found)

    async def draw_from(self, ids: Sequence[str]) -> None:
        """Store the memories of stored sessions."""
        for id_ in ids:
            if execution := await self._executions.get(id_):
                is_own = execution.is_reported
                drafts = await asyncio.to_thread(extract, execution, reported=is_own)
                await self._store_drafts(execution, drafts)

    async def _store_drafts(self, execution: Execution, drafts: Sequence[MemoryDraft]) -> None:
        for start in range(0, len(drafts), BATCH):
            if self._cancel.is_set():
                return
            before = self.report.memories_added
            await self._store_batch(execution.agent_id, drafts[start : start + BATCH])
            if (added := self.report.memories_added - before) and execution.project:
                by_project = self.report.added_by_project
                project = repository_of(execution.project)
                by_project[project] = by_project.get(project, 0) + added

    async def _store_batch(self, agent: str, drafts: Sequence[MemoryDraft]) -> None:
        dated = [self._dated(draft) for draft in drafts]
        outcome = await self._backend.store_many(agent, dated, actor=ACTOR)
        refused = sum(reason == AGENT_IS_FULL for _, reason in outcome.skipped)
        self._add(
            memories_added=len(outcome.added),
            memories_updated=len(outcome.updated),
            memories_skipped=len(outcome.skipped) - refused,
            memories_refused=refused,
        )
        if refused and agent not in self.report.full_agents:
            full_agents = (*self.report.full_agents, agent)
            self.report = replace(self.report, full_agents=full_agents)

    def _dated(self, draft: MemoryDraft) -> MemoryDraft:
        """The draft with a time that isn't ahead of ours: an edit must not come before it."""
        now = self._clock.now()
        late = draft.created_at is not None and draft.created_at > now
        return draft.model_copy(update={"created_at": now}) if late else draft

    def _count(self, reading: FileReading) -> None:
        executions = [extracted.execution for extracted in reading.executions]
        if not executions:
            return
        self._add(
            malformed_lines=reading.malformed,
            unknown_records=reading.unknown,
            redactions=reading.redactions,
            recoveries=sum(len(execution.recoveries) for execution in executions),
        )
        for execution in executions:
            for call in execution.calls:
                self.report.calls[call.outcome] += 1

    def _add(self, **counts: int) -> None:
        """Add to fields of the report."""
        report = self.report
        sums = {name: getattr(report, name) + count for name, count in counts.items()}
        self.report = replace(report, **sums)

    def _skip(self, path: str, reason: str) -> None:
        self.report = replace(self.report, skipped=(*self.report.skipped, (path, reason)))

    def _show(self, done: int, total: int, current: str, read: int) -> None:
        if self._options.progress is None:
            return
        elapsed = time.monotonic() - self._started
        position = min(self._done_bytes + read, self._total_bytes)
        rate = position / elapsed if elapsed > 0 else 0.0
        left = (self._total_bytes - position) / rate if rate > 0 else None
        self._options.progress(
            ImportProgress(
                files_done=done,
                files_total=total,
                bytes_done=position,
                bytes_total=self._total_bytes,
                memories_added=self.report.memories_added,
                bytes_per_second=rate,
                seconds_left=left,
                current=current,
            )
        )


def _unchanged(file: TranscriptFile, marks: Mapping[str, FileMark]) -> bool:
    """Whether reading a file again would give the same; what was refused or erased stays so."""
    mark = marks.get(str(file.path))
    if mark is None or (mark.size, mark.mtime_ns) != file.state:
        return False
    return not mark.digest or bool(mark.refusal) or mark.digest.startswith(f"{EXTRACTION}:")

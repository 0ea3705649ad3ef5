"""Takes agents' reports about their own runs, and imports them as executions.

A report is only the agent's account: nothing in it is stored as the words of a person. How
executions are read and turned into memories is in ``synthorg_tui.ingest``.
"""

import asyncio
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from synthorg_tui.agents import tools
from synthorg_tui.agents.guarded import ORIGIN_TAG, WriteAllowance
from synthorg_tui.agents.models import AgentIdentity, CallReply
from synthorg_tui.agents.tools import RefusalCode
from synthorg_tui.approvals.proposals import ProposalBox, asked_by
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import ExecutionOutcome
from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, write_atomically
from synthorg_tui.core.redaction import RedactionTally, redact_value
from synthorg_tui.executions.models import MAX_REPORTED_RECOVERIES
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.executions.recoveries import RECOVERY_TAG
from synthorg_tui.ingest.service import ImportReport, ImportService
from synthorg_tui.memory.extensions import BatchOutcome, BatchStore, MemoryDraft
from synthorg_tui.persistence.leftovers import REPORT_DIR

MAX_REPORT: Final = 1024 * 1024
"""Longest report, in bytes of JSON."""
TOO_MANY_RECOVERIES: Final = f"only {MAX_REPORTED_RECOVERIES} recoveries of a report are stored"
TOO_MANY_WRITES: Final = "too many writes for now: report it again later"
_KNOWN: Final = frozenset({"already stored", "unchanged"})
"""Reasons for which the store skips a memory that it has already: nothing is left out."""
_MAX_TITLE: Final = 80


@dataclass(slots=True)
class ReportStore:
    """Stores a report's memories, marked as the agent's, and collects the outcome of each.

    Each memory that is added, updated or proposed to a person takes one write of the allowance;
    of recoveries at most ``MAX_REPORTED_RECOVERIES`` are stored. After the import ``done`` has the
    ids, and ``left_out`` the first line of each memory that wasn't stored, by the reason.
    """

    store: BatchStore
    allowance: WriteAllowance
    done: BatchOutcome = field(default_factory=BatchOutcome)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    _recoveries: int = 0

    @property
    def written(self) -> int:
        """The number of memories that were added, updated or proposed."""
        return len(self.done.added) + len(self.done.updated) + len(self.done.waiting)

    async def store_many(
        self, agent_id: str, drafts: Sequence[MemoryDraft], *, actor: str
    ) -> BatchOutcome:
        """Store what may be of a batch, each tagged ``ORIGIN_TAG``; raises the store's errors."""
        wanted = [_of_agent(draft) for draft in drafts if self._counts(draft)]
        done = BatchOutcome()
        while wanted:
            reserved = self.allowance.reserve(len(wanted))
            if not reserved:
                self._leave_out(TOO_MANY_WRITES, wanted)
                break
            part, wanted = wanted[:reserved], wanted[reserved:]
            before = self.written
            outcome = await self.store.store_many(agent_id, part, actor=actor)
            done, self.done = _together(done, outcome), _together(self.done, outcome)
            self._note_skipped(outcome, part)
            self.allowance.charge(self.written - before - reserved)
        return done

    def _counts(self, draft: MemoryDraft) -> bool:
        """Whether a draft is no recovery, or one of those that are stored."""
        if RECOVERY_TAG not in draft.request.metadata.tags:
            return True
        self._recoveries += 1
        if self._recoveries > MAX_REPORTED_RECOVERIES:
            self._leave_out(TOO_MANY_RECOVERIES, [draft])
        return self._recoveries <= MAX_REPORTED_RECOVERIES

    def _note_skipped(self, outcome: BatchOutcome, drafts: Sequence[MemoryDraft]) -> None:
        by_key = {draft.key: draft for draft in drafts}
        for key, reason in outcome.skipped:
            if reason not in _KNOWN and key in by_key:
                self._leave_out(reason, [by_key[key]])

    def _leave_out(self, reason: str, drafts: Sequence[MemoryDraft]) -> None:
        titles = [one_line(draft.request.content, _MAX_TITLE) for draft in drafts]
        self.left_out.setdefault(reason, []).extend(titles)


class Reports:
    """Imports reports; each is written to a temporary file that its import reads.

    ``queue`` is where lessons and, where writes need approval, memories wait for a person.
    ``store`` and ``importer`` are functions that are called only when a report arrives, since
    making these objects takes time that a starting process doesn't have.
    """

    def __init__(
        self,
        store: Callable[[], BatchStore],
        importer: Callable[[BatchStore], ImportService],
        *,
        queue: ProposalBox,
        data_dir: Path,
        clock: Clock,
    ) -> None:
        self._store = store
        self._importer = importer
        self._queue = queue
        self._folder = data_dir / REPORT_DIR
        self._clock = clock

    async def take(
        self, identity: AgentIdentity, arguments: Mapping[str, Any], allowance: WriteAllowance
    ) -> CallReply:
        """Import a report; invalid arguments give a reply with an error, no exception.

        It takes one write for each memory stored and each lesson proposed, at least one. Raises
        ``WriteRefusedError`` when none is left, and ``QueueFullError`` when too much of this agent
        waits for a person.
        """
        await self._queue.require_room(asked_by(identity.agent_id))
        allowance.take()
        problem = _problem(arguments)
        if problem:
            return tools.error("InvalidReport", problem, RefusalCode.INVALID_ARGUMENT)
        # Before it is written: a killed process leaves the file.
        line = json.dumps(redact_value(self._record(identity, arguments), RedactionTally()))
        if len(line) > MAX_REPORT:
            problem = f"the report is longer than {MAX_REPORT} bytes: leave out long outputs"
            return tools.error("InvalidReport", problem, RefusalCode.INVALID_ARGUMENT)
        store = ReportStore(self._store(), allowance)
        report = await self._import(store, line, identity.agent_id)
        if not report.executions:
            reason = report.skipped[0][1] if report.skipped else "nothing in it can be kept"
            return tools.error("InvalidReport", reason, RefusalCode.INVALID_ARGUMENT)
        reply = tools.ok(
            {
                "memories_added": report.memories_added,
                "memories_updated": report.memories_updated,
                "recoveries": report.recoveries,
                "added": store.done.added,
                "updated": store.done.updated,
                "waiting": store.done.waiting,
                "left_out": store.left_out,
            }
        )
        return replace(reply, memory_ids=store.done.added, waiting=store.done.waiting)

    async def _import(self, store: ReportStore, line: str, agent_id: str) -> ImportReport:
        store.allowance.charge(-1)  # the write taken at first; those made are counted instead
        path = await asyncio.to_thread(self._write, line)
        try:
            report = await self._importer(store).run([path], reporter=agent_id)
        finally:
            path.unlink(missing_ok=True)
        learnt = report.lessons_proposed
        store.allowance.charge(learnt if store.written or learnt else 1)
        return report

    def _record(self, identity: AgentIdentity, arguments: Mapping[str, Any]) -> dict[str, Any]:
        from synthorg_tui.ingest.readers.generic import FORMAT

        now = self._clock.now().isoformat()
        summary = arguments.get("summary")
        has_summary = isinstance(summary, str) and summary.strip()
        return {
            "format": FORMAT,
            # A client may run for days: without a name each report is of a run of its own.
            "session": arguments.get("session") or uuid.uuid4().hex,
            "agent": identity.agent_id,
            "project": identity.project or "",
            "task": arguments["task"],
            "ended_at": now,
            "turns": [{"role": "assistant", "text": summary, "at": now}] if has_summary else [],
            **{
                key: arguments[key]
                for key in ("outcome", "error", "calls", "files")
                if key in arguments
            },
        }

    def _write(self, line: str) -> Path:
        ensure_private_dir(self._folder)
        path = self._folder / f"{uuid.uuid4().hex}.jsonl"
        content = f"{line}\n".encode(errors="replace")
        write_atomically(path, content, mode=PRIVATE_FILE, durable=False)
        return path


def _together(one: BatchOutcome, other: BatchOutcome) -> BatchOutcome:
    return BatchOutcome(
        added=one.added + other.added,
        updated=one.updated + other.updated,
        skipped=one.skipped + other.skipped,
        waiting=one.waiting + other.waiting,
    )


def _of_agent(draft: MemoryDraft) -> MemoryDraft:
    """The draft with ``ORIGIN_TAG`` and without a tag that says a person spoke.

    A tool's name becomes a tag, and an agent may call its tools what it likes. It may also name its
    run as it likes, so the key is one that no memory of a recorded session has.
    """
    from synthorg_tui.ingest.extract.said import SPOKEN_TAGS

    metadata = draft.request.metadata
    tags = *(tag for tag in metadata.tags if tag not in SPOKEN_TAGS), ORIGIN_TAG
    marked = metadata.model_copy(update={"tags": tuple(dict.fromkeys(tags))})
    request = draft.request.model_copy(update={"metadata": marked})
    return draft.model_copy(update={"request": request, "key": f"reported|{draft.key}"})


def _problem(arguments: Mapping[str, Any]) -> str:
    task, outcome = arguments.get("task"), arguments.get("outcome")
    if not isinstance(task, str) or not task.strip():
        return "task must say what was asked"
    if outcome not in [known.value for known in ExecutionOutcome]:  # it may be anything
        return f"outcome must be one of {', '.join(ExecutionOutcome)}"
    for key, kind in (("calls", list), ("files", list), ("session", str), ("error", str)):
        if key in arguments and not isinstance(arguments[key], kind):
            return f"{key} must be {'a list' if kind is list else 'a text'}"
    return ""

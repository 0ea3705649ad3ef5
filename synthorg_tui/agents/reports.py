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
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.agents import tools
from synthorg_tui.agents.guarded import ORIGIN_TAG
from synthorg_tui.agents.models import AgentIdentity, CallReply
from synthorg_tui.agents.tools import ErrorCode
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import ExecutionOutcome
from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, write_atomically
from synthorg_tui.core.redaction import RedactionTally, redact_value
from synthorg_tui.memory.extensions import BatchOutcome, BatchStore, MemoryDraft
from synthorg_tui.persistence.leftovers import REPORT_DIR

if TYPE_CHECKING:
    from synthorg_tui.ingest.service import ImportService

MAX_REPORT: Final = 1024 * 1024
"""Longest report, in bytes of JSON."""


@dataclass(slots=True)
class ReportStore:
    """Stores a report's memories, marked as the agent's, and collects what became of each.

    After the import it lists the memories that were added, updated or proposed to a person.
    """

    store: BatchStore
    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    async def store_many(
        self, agent_id: str, drafts: Sequence[MemoryDraft], *, actor: str
    ) -> BatchOutcome:
        """Store a batch, each memory tagged ``ORIGIN_TAG``; raises the errors of the store."""
        marked = [_of_agent(draft) for draft in drafts]
        outcome = await self.store.store_many(agent_id, marked, actor=actor)
        self.added += outcome.added
        self.updated += outcome.updated
        self.waiting += outcome.waiting
        return outcome


class Reports:
    """Imports reports; each is written to a temporary file that its import reads.

    ``store`` and ``importer`` are functions that are called only when a report arrives, since
    making these objects takes time that a starting process doesn't have.
    """

    def __init__(
        self,
        store: Callable[[], BatchStore],
        importer: "Callable[[BatchStore], ImportService]",
        *,
        data_dir: Path,
        clock: Clock,
    ) -> None:
        self._store = store
        self._importer = importer
        self._folder = data_dir / REPORT_DIR
        self._clock = clock

    async def take(self, identity: AgentIdentity, arguments: Mapping[str, Any]) -> CallReply:
        """Import a report; invalid arguments give a reply with an error, no exception."""
        problem = _problem(arguments)
        if problem:
            return tools.error("InvalidReport", problem, ErrorCode.INVALID_ARGUMENT)
        # Before it is written: a killed process leaves the file.
        line = json.dumps(redact_value(self._record(identity, arguments), RedactionTally()))
        if len(line) > MAX_REPORT:
            problem = f"the report is longer than {MAX_REPORT} bytes: leave out long outputs"
            return tools.error("InvalidReport", problem, ErrorCode.INVALID_ARGUMENT)
        store = ReportStore(self._store())
        path = await asyncio.to_thread(self._write, line)
        try:
            report = await self._importer(store).run([path], reporter=identity.agent_id)
        finally:
            path.unlink(missing_ok=True)
        if not report.executions:
            reason = report.skipped[0][1] if report.skipped else "nothing in it can be kept"
            return tools.error("InvalidReport", reason, ErrorCode.INVALID_ARGUMENT)
        reply = tools.ok(
            {
                "memories_added": report.memories_added,
                "memories_updated": report.memories_updated,
                "recoveries": report.recoveries,
                "added": store.added,
                "updated": store.updated,
                "waiting": store.waiting,
            }
        )
        return replace(reply, memory_ids=tuple(store.added), waiting=tuple(store.waiting))

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


def _of_agent(draft: MemoryDraft) -> MemoryDraft:
    """The draft with ``ORIGIN_TAG`` and without a tag that says a person spoke.

    A tool's name becomes a tag, and an agent may call its tools what it likes.
    """
    from synthorg_tui.ingest.extract.statements import SPOKEN_TAGS

    metadata = draft.request.metadata
    tags = *(tag for tag in metadata.tags if tag not in SPOKEN_TAGS), ORIGIN_TAG
    marked = metadata.model_copy(update={"tags": tuple(dict.fromkeys(tags))})
    return draft.model_copy(
        update={"request": draft.request.model_copy(update={"metadata": marked})}
    )


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

"""The record of a run as a session like any other: one line of our own transcript format.

What a run teaches is read from it by the same import as of every agent's transcripts, so that no
part needs to know that the run was ours. The file is read at once and doesn't stay: the lines are
in the store then, where forgetting the session reaches them.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome, TerminationReason
from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, write_atomically
from synthorg_tui.core.redaction import RedactionTally, redact_value
from synthorg_tui.executions.models import slug
from synthorg_tui.ingest.service import ImportReport
from synthorg_tui.memory.strategies.replies import TAG_TOOL_RESULT
from synthorg_tui.persistence.leftovers import RUN_DIR
from synthorg_tui.runtime.models import AgentRun, ExecutionResult, RunStep, StepKind
from synthorg_tui.runtime.steps import used_by

_OUTCOMES: Final = {
    TerminationReason.COMPLETED: ExecutionOutcome.COMPLETED,
    TerminationReason.SHUTDOWN: ExecutionOutcome.INTERRUPTED,
    TerminationReason.PARKED: ExecutionOutcome.INTERRUPTED,
}
_OPENS: Final = f"<{TAG_TOOL_RESULT}>\n"
_CLOSES: Final = f"\n</{TAG_TOOL_RESULT}>"

ImportRecords = Callable[[Sequence[Path]], Awaitable[ImportReport]]
"""Imports transcripts, without drawing lessons from them."""


def record_of(run: AgentRun, steps: Sequence[RunStep], result: ExecutionResult) -> dict[str, Any]:
    """Return a run in the format that ``docs/transcript-format.md`` describes."""
    from synthorg_tui.ingest.readers.generic import FORMAT

    used = used_by(steps)
    reason = result.termination_reason
    is_whole = reason in _OUTCOMES
    return {
        "format": FORMAT,
        "session": run.id,
        "agent": run.request.agent_id,
        **({"parent": run.request.parent} if run.request.parent else {}),
        "project": str(run.request.workspace),
        "model": run.model,
        "task": run.request.task,
        "started_at": run.started_at.isoformat(),
        "ended_at": (steps[-1].at if steps else run.started_at).isoformat(),
        "outcome": _OUTCOMES.get(reason, ExecutionOutcome.FAILED).value,
        "error": "" if is_whole else result.error_message,
        "turns": [_turn(step) for step in steps if step.kind is StepKind.ANSWER and step.text],
        "calls": [_call(step) for step in steps if step.kind is StepKind.CALL],
        "tokens": {"input": used.prompt_tokens, "output": used.completion_tokens},
    }


class RunRecords:
    """Imports the records of runs; drawing lessons from them is a stage of its own."""

    def __init__(self, data_dir: Path, importer: ImportRecords) -> None:
        self._folder = data_dir / RUN_DIR
        self._importer = importer

    async def take(self, run: AgentRun, steps: Sequence[RunStep], result: ExecutionResult) -> str:
        """Import a run and return the id of its execution, empty when there is nothing of it.

        Taking a run again replaces what was imported of it.
        """
        record = redact_value(record_of(run, steps, result), RedactionTally())
        line = json.dumps(record, ensure_ascii=False)
        path = await asyncio.to_thread(self._write, run.id, line)
        try:
            report = await self._importer([path])
        finally:
            path.unlink(missing_ok=True)
        if not report.executions:
            return ""
        return f"generic:{slug(run.request.agent_id)}.{run.id}"

    def _write(self, run_id: str, line: str) -> Path:
        ensure_private_dir(self._folder)
        path = self._folder / f"{run_id}.jsonl"
        content = f"{line}\n".encode(errors="replace")
        write_atomically(path, content, mode=PRIVATE_FILE, durable=False)
        return path


def _turn(step: RunStep) -> dict[str, Any]:
    return {
        "role": "assistant",
        "text": step.text,
        "id": f"step-{step.number}",
        "at": step.at.isoformat(),
    }


def _call(step: RunStep) -> dict[str, Any]:
    code = {} if step.exit_code is None else {"exit_code": step.exit_code}
    return {
        "id": f"step-{step.number}",
        "tool": step.tool,
        "arguments": step.arguments,
        "outcome": (step.outcome or CallOutcome.UNKNOWN).value,
        "output": _unfenced(step.text),
        "at": step.at.isoformat(),
        **code,
    }


def _unfenced(text: str) -> str:
    """What a tool said, without the fence in which the model was shown it."""
    if not text.startswith(_OPENS) or _CLOSES not in text:
        return text
    return text.removeprefix(_OPENS).rpartition(_CLOSES)[0]

"""The reader of our own format, one execution a line; see ``docs/transcript-format.md``.

What an agent reports of itself comes in this format, too. It then speaks for no person: what was
asked is the word of a parent, and its ids can't be those of another agent.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar, Final, TypeVar
from urllib.parse import quote

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.models import (
    MAX_REPORTED_RECOVERIES,
    Execution,
    slug,
)
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.ingest.readers.base import (
    JSON_LINES,
    ExecutionBuilder,
    PendingCall,
    ReadExecution,
    Reading,
    UnknownRecords,
    items,
    session_name,
    text_of,
    timestamp,
    whole,
)
from synthorg_tui.ingest.records import Record, TranscriptLines, mapping
from synthorg_tui.ingest.sources import LineSource, NotWorthReadingError
from synthorg_tui.ingest.speech import spoken

_Outcome = TypeVar("_Outcome", ExecutionOutcome, CallOutcome)

FORMAT = "synthorg-execution"
MAX_FILE: Final = 64 * 1024 * 1024
"""Bytes of a file, decompressed: all of its executions are in memory until they are stored."""


class GenericReader:
    """Reads the project's own format, ``{"format": "synthorg-execution", ...}`` a line.

    With ``reporter`` the lines are what the agent with this id reports of itself: all executions
    are that agent's, whatever they say, and their tasks are taken as given by a parent, not by a
    person.
    """

    name: ClassVar[str] = "generic"
    verified: ClassVar[str] = "the format that docs/transcript-format.md describes"
    files: ClassVar[Mapping[str, LineSource]] = JSON_LINES

    def __init__(self, reporter: str = "") -> None:
        self._reporter = reporter

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return nothing: a tool that writes this format is told where to."""
        return ()

    def recognises(self, record: Record) -> bool:
        """Tell whether the record names this format."""
        return record.get("format") == FORMAT

    def read(self, lines: TranscriptLines, records: Iterable[tuple[int, Record]]) -> Reading:
        """Read every execution of the file; each one's only line has the number 1.

        Raises ``NotWorthReadingError`` for a file of more than ``MAX_FILE``.
        """
        executions: dict[str, ReadExecution] = {}
        unknown = UnknownRecords()
        for _number, record in records:
            execution = self._execution(record, lines) if self.recognises(record) else None
            if execution is None:
                unknown.note(record)
            else:
                line = PackedLines([lines.redacted.last])
                executions[execution.id] = ReadExecution(execution, line)
            if lines.meter.bytes > MAX_FILE:
                raise NotWorthReadingError(f"it holds more than {MAX_FILE >> 20} MiB: split it")
        skipped = "" if executions else "no complete execution in it"
        return Reading(tuple(executions.values()), unknown=unknown, skipped=skipped)

    def _execution(self, record: Record, lines: TranscriptLines) -> Execution | None:
        session = session_name(record.get("session"))
        agent = self._reporter or slug(text_of(record.get("agent")))
        if not session or not agent:
            return None
        builder = ExecutionBuilder(
            reader=GenericReader.name,
            session_id=session,
            agent_id=agent,
            project=text_of(record.get("project")),
            branch=text_of(record.get("branch")),
            model=text_of(record.get("model")),
            outcome=_enum(ExecutionOutcome, record.get("outcome"), ExecutionOutcome.UNKNOWN),
            error=text_of(record.get("error")),
        )
        builder.see(timestamp(record.get("started_at")))
        builder.see(timestamp(record.get("ended_at")))
        _take_turns(builder, record, by_agent=bool(self._reporter or record.get("parent")))
        for number, call in enumerate(items(record.get("calls")), 1):
            _take_call(builder, call, number)
        for path in _strings(record.get("files")):
            builder.files[path] = None
        tokens = mapping(record.get("tokens"))
        builder.count("", *map(tokens.get, ("input", "output", "cached")))
        if not (builder.turns or builder.calls):
            return None
        built = builder.build(lines)
        if not self._reporter:
            return built.model_copy(update={"id": f"generic:{agent}.{session}", "line_count": 1})
        update = {
            "id": f"generic:{quote(agent, safe='').replace('.', '%2E')}.{session}",
            "line_count": 1,
            "reported": True,
            "recoveries": built.recoveries[:MAX_REPORTED_RECOVERIES],
        }
        return built.model_copy(update=update)


def _take_turns(builder: ExecutionBuilder, record: Record, *, by_agent: bool) -> None:
    """The turns; the ``task`` is what was asked when no user turn says it."""
    asked_by = "parent" if by_agent else "user"
    turns = items(record.get("turns"))
    task = text_of(record.get("task"))
    if task and not any(turn.get("role") == "user" for turn in turns):
        builder.say(asked_by, spoken(task), 1, builder.started_at, "task")
    for number, turn in enumerate(turns, 1):
        at = timestamp(turn.get("at"))
        builder.see(at)
        identity = text_of(turn.get("id")) or f"turn-{number}"
        if turn.get("role") == "user":
            builder.say(asked_by, spoken(text_of(turn.get("text"))), 1, at, identity)
        elif turn.get("role") == "assistant":
            builder.say("assistant", text_of(turn.get("text")), 1, at, identity)


def _take_call(builder: ExecutionBuilder, call: Record, number: int) -> None:
    tool = text_of(call.get("tool")).strip()
    if not tool:
        return
    arguments = call.get("arguments")
    given = mapping(arguments) or ({"command": arguments} if isinstance(arguments, str) else {})
    pending = PendingCall.started(
        text_of(call.get("id")).strip() or f"call-{number}",
        tool,
        given,
        line=1,
        at=timestamp(call.get("at")),
    )
    builder.see(pending.at)
    builder.call(pending)
    builder.end(
        pending,
        1 if "outcome" in call else None,
        text_of(call.get("output")),
        _enum(CallOutcome, call.get("outcome"), CallOutcome.UNKNOWN),
        whole(call.get("exit_code")),
    )


def _enum(kind: type[_Outcome], value: object, default: _Outcome) -> _Outcome:
    try:
        return kind(text_of(value))
    except ValueError:
        return default


def _strings(value: object) -> list[str]:
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, str) and item]

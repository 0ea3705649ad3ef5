"""The contract of transcript readers, and the builder of an execution while it is being read.

Every reader feeds the same builder, so caps and the removal of memory texts happen in one place.
What a record of some tool means is for its reader.
"""

import json
import os.path
import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Final, Protocol, Self

from synthorg_tui.core.checkouts import address_of
from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.core.paths import in_place, scratch_agent
from synthorg_tui.core.text import agent_id_problem, safe_text
from synthorg_tui.executions.commands import call_intent
from synthorg_tui.executions.models import Execution, ExecutionTokens, ToolCall, Turn, is_shell
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.recoveries import find_recoveries
from synthorg_tui.ingest.records import Record, TranscriptLines, mapping
from synthorg_tui.ingest.sources import LineSource, file_lines
from synthorg_tui.ingest.speech import is_memory_tool, without_memory

MAX_TURN: Final = 6_000
MAX_OUTPUT: Final = 2_400
MAX_ARGUMENTS: Final = 2_400
MAX_SUMMARY: Final = 300
MAX_TEXT: Final = 24 * 1024 * 1024
"""Characters of one execution that are kept at these lengths; texts after them, at ``_SHORT``."""
_SHORT: Final = 200
MAX_EVENTS: Final = 40_000
"""Messages and calls of one execution; those after them are only in its lines."""
OTHER_KIND: Final = "without a plain name"
"""What stands for the names of unknown records that can't be shown."""
JSON_LINES: Final[Mapping[str, LineSource]] = {"*.jsonl": file_lines, "*.jsonl.zst": file_lines}
"""The files of a tool that writes a record a line."""
_FIRST_MS: Final = 100_000_000_000
_MEMORY_TEXT = "[left out: text of a memory tool]"
_DIRECTORIES: Final = ("workdir", "dir_path", "directory", "cwd")
"""Arguments in which tools are given the directory of a command."""


_NAMING: Final = ("type", "kind", "role", "event")
_PLAIN_KIND: Final = re.compile(r"[A-Za-z0-9_.:/-]{1,60}")
_MAX_KINDS: Final = 50


class UnknownRecords(Counter[str]):
    """The records that a reader doesn't know, counted by what they call themselves."""

    def note(self, record: Mapping[str, object], is_unknown: bool = True) -> None:
        """Count a record, or a part of one, unless it is known after all.

        Its name is a stranger's: one that isn't plain is left out, as are names beyond fifty.
        """
        if not is_unknown:
            return
        named = (record[key] for key in _NAMING if isinstance(record.get(key), str))
        kind = str(next(named, ""))
        is_plain = _PLAIN_KIND.fullmatch(kind) and (kind in self or len(self) < _MAX_KINDS)
        self[kind if is_plain else OTHER_KIND] += 1


@dataclass(frozen=True, slots=True)
class ReadExecution:
    """An execution with the redacted lines it was read from.

    Line numbers in the execution refer to these lines, from 1.
    """

    execution: Execution
    lines: PackedLines


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading one file; ``skipped`` says why a file without executions has none.

    ``unknown`` has the records that the reader doesn't know, ``left_out`` is the number of messages
    and calls beyond ``MAX_EVENTS``; ``reader`` is set by whoever chose the reader.
    """

    executions: tuple[ReadExecution, ...] = ()
    unknown: UnknownRecords = field(default_factory=UnknownRecords)
    skipped: str = ""
    left_out: int = 0
    reader: str = ""


class TranscriptReader(Protocol):
    """Reads the transcripts that one coding tool writes."""

    @property
    def name(self) -> str:
        """Its name, with which the ids of its sessions begin."""

    @property
    def verified(self) -> str:
        """With what it was last tried: versions of the tool, documents, samples."""

    @property
    def files(self) -> Mapping[str, LineSource]:
        """The patterns (``*.jsonl``) of its files' names, each with the source of their lines."""

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folders or files where the tool writes, whether or not they exist.

        ``home`` is the person's home directory; ``environ`` may name other places.
        """

    def recognises(self, record: Record) -> bool:
        """Tell whether this record can only come from this reader's tool."""

    def read(self, lines: TranscriptLines, first: Iterable[tuple[int, Record]]) -> Reading:
        """Read a whole file and return its executions; raises ``OSError``.

        ``first`` yields the line number and record of every record, from the first one on.
        """


@dataclass(slots=True)
class PendingCall:
    """A tool call while its transcript is read; its result may still come.

    ``arguments`` and ``output`` are as they are stored, so that a large transcript isn't in memory
    as a whole. ``writes`` are the files that the call changes if it succeeds, ``record_id`` the
    record that made it, where records can be taken back. ``directory`` is the one a command ran in,
    if its arguments or its record say so.
    """

    id: str
    tool: str
    intent: str
    arguments: str
    line: int
    at: datetime | None
    of_memory: bool
    directory: str = ""
    writes: tuple[str, ...] = ()
    record_id: str = ""
    outcome: CallOutcome = CallOutcome.UNKNOWN
    output: str = ""
    exit_code: int | None = None
    result_line: int | None = None
    failed_itself: bool = False

    @classmethod
    def started(
        cls,
        id: str,
        tool: str,
        arguments: Mapping[str, object],
        *,
        command: str | None = None,
        line: int,
        at: datetime | None,
    ) -> Self:
        """Return a call without a result; what it wants tells the files that it writes.

        ``command`` is that of a tool which runs a shell, ``None`` when an argument is called so.
        """
        if command is None:
            command = text_of(arguments.get("command")) if is_shell(tool) else ""
        command = in_place(command)
        of_memory = is_memory_tool(tool, command)
        intent = in_place(call_intent(tool, arguments, command))
        verb, _, paths = intent.partition(" ")
        is_writing = verb in {"edit", "write"} and not is_shell(tool)
        places = (text_of(arguments.get(name)) for name in _DIRECTORIES)
        return cls(
            id=id,
            tool=tool,
            intent=intent,
            writes=tuple(filter(None, paths.split(", "))) if is_writing else (),
            arguments=shortened(in_place(command or _compact(arguments)), MAX_ARGUMENTS),
            line=line,
            at=at,
            of_memory=of_memory,
            directory=next(filter(None, places), ""),
        )

    def finished(self, project: str) -> ToolCall:
        """Return the call as it is stored; a command run outside of ``project`` begins with cd."""
        arguments, directory = self.arguments, in_place(self.directory)
        is_there = posixpath.join(project, directory).rstrip("/") == project.rstrip("/")
        if is_shell(self.tool) and not is_there:
            arguments = f"cd {shlex.quote(directory)} && {arguments}"
        return ToolCall(
            id=self.id,
            tool=self.tool,
            intent=self.intent,
            arguments=_MEMORY_TEXT if self.of_memory else arguments,
            outcome=self.outcome,
            output=_MEMORY_TEXT if self.of_memory else self.output,
            exit_code=self.exit_code,
            at=self.at,
            call_line=self.line,
            result_line=self.result_line,
        )


@dataclass(slots=True)
class ExecutionBuilder:
    """Collects what a reader finds in a transcript; ``build`` turns it into an ``Execution``.

    ``summary`` is what the agent's own program calls the session, if it does.
    ``left_out`` is the number of messages and calls beyond ``MAX_EVENTS``.
    """

    reader: str
    session_id: str = ""
    agent_id: str = ""
    subagent: str = ""
    project: str = ""
    branch: str = ""
    forked_from: str = ""
    repository: str = ""
    model: str = ""
    summary: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: ExecutionOutcome = ExecutionOutcome.UNKNOWN
    error: str = ""
    turns: list[Turn] = field(default_factory=list)
    calls: dict[str, PendingCall] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    used: dict[str, list[int]] = field(default_factory=dict)
    left_out: int = 0
    _text: int = 0

    def see(self, at: datetime | None) -> None:
        """Extend the time span of the execution to include ``at``; ``None`` is ignored."""
        if at is None:
            return
        self.started_at = at if self.started_at is None else min(self.started_at, at)
        self.ended_at = at if self.ended_at is None else max(self.ended_at, at)

    def count(self, of: str, *counts: object) -> None:
        """Set the numbers of input, output and cached tokens of a message, or of all with ``""``.

        A message may stand on several lines that repeat its usage: the last one counts.
        """
        self.used[of] = [count_of(count) for count in (*counts, 0)[:3]]

    def say(self, role: str, text: str, line: int, at: datetime | None, record_id: str) -> None:
        """Add a message; one without text is ignored. ``role`` is as in ``Turn``."""
        text = in_place(without_memory(text).strip())
        if text and self._has_room():
            self.turns.append(
                Turn(
                    role=role,
                    text=self._fit(text, MAX_TURN),
                    first_line=line,
                    last_line=line,
                    record_id=record_id,
                    at=at,
                )
            )

    def call(self, call: PendingCall) -> None:
        """Add a call; one whose id was added before is ignored."""
        if call.id not in self.calls and self._has_room():
            call.arguments = self._fit(call.arguments, MAX_ARGUMENTS)
            self.calls[call.id] = call

    def end(
        self,
        call: PendingCall,
        line: int | None,
        output: str,
        outcome: CallOutcome,
        exit_code: int | None,
    ) -> None:
        """Set a call's result, which is on this line, and note the files that it changed."""
        call.result_line, call.outcome, call.exit_code = line, outcome, exit_code
        call.output = self._fit(in_place(without_memory(output)), MAX_OUTPUT)
        if outcome is CallOutcome.OK:
            self.files.update(dict.fromkeys(call.writes))

    def keep(self, turn: Callable[[Turn], bool], call: Callable[[PendingCall], bool]) -> None:
        """Drop the turns and calls for which these say no: the person took them back."""
        self.turns = [each for each in self.turns if turn(each)]
        self.calls = {name: each for name, each in self.calls.items() if call(each)}
        done = (each for each in self.calls.values() if each.outcome is CallOutcome.OK)
        self.files = dict.fromkeys(path for each in done for path in each.writes)

    def _tokens(self) -> dict[str, int]:
        sums = [sum(counts) for counts in zip(*self.used.values(), strict=True)]
        return dict(zip(("input", "output", "cached"), sums, strict=False))

    def _has_room(self) -> bool:
        full = len(self.turns) + len(self.calls) >= MAX_EVENTS
        self.left_out += full
        return not full

    def _fit(self, text: str, limit: int) -> str:
        """The text within the limit, or the little that a very large execution has left."""
        fitting = shortened(text, limit if self._text < MAX_TEXT else _SHORT)
        self._text += len(fitting)
        return fitting

    def reading(self, lines: TranscriptLines, last_event: str, unknown: UnknownRecords) -> Reading:
        """Return the execution as the one of its file.

        ``last_event`` is ``answered``, ``completed``, ``interrupted``, ``error`` or another word
        that tells nothing of how it ended; ``unknown`` has the unknown records.
        """
        if not self.session_id or not (self.turns or self.calls):
            return Reading(unknown=unknown, skipped="nothing was asked or done in it")
        self.end_with(last_event)
        read = ReadExecution(self.build(lines), lines.redacted)
        return Reading((read,), unknown=unknown, left_out=self.left_out)

    def end_with(self, last_event: str) -> None:
        """Set the outcome that the last event tells; words as for ``reading``."""
        self.outcome = _OUTCOMES.get(last_event, ExecutionOutcome.UNKNOWN)
        if self.outcome is not ExecutionOutcome.FAILED:
            self.error = ""

    def build(self, lines: TranscriptLines) -> Execution:
        """Return the execution with its recoveries; ``lines`` are those it was read from."""
        calls = tuple(call.finished(in_place(self.project)) for call in self.calls.values())
        name = f"{self.session_id}/{self.subagent}" if self.subagent else self.session_id
        first = next((turn for turn in self.turns if turn.role != "assistant"), None)
        return Execution(
            id=f"{self.reader}:{name}",
            reader=self.reader,
            session_id=self.session_id,
            agent_id=in_name_of(scratch_agent(self.project), self.agent_id),
            parent_id=f"{self.reader}:{self.session_id}" if self.subagent else None,
            project=canonical_project(self.project),
            branch=None if in_place(self.project) != self.project else self.branch or None,
            task=shortened(first.text, 1_000) if first else "",
            summary=shortened(safe_text(" ".join(self.summary.split())), MAX_SUMMARY),
            model=self.model or None,
            started_at=self.started_at,
            ended_at=self.ended_at,
            outcome=self.outcome,
            error=shortened(self.error, 1_000),
            turns=tuple(self.turns),
            calls=calls,
            recoveries=find_recoveries(calls),
            files_touched=tuple(dict.fromkeys(map(in_place, self.files))),
            tokens=ExecutionTokens(**self._tokens()),
            forked_from=self.forked_from,
            repository=_served(address_of(self.repository)),
            source_path=str(lines.path),
            line_count=len(lines.redacted),
        )


@dataclass(slots=True)
class SessionState:
    """What is known of a session while its file is read; a subclass tells what a record means.

    ``last_event`` is a word for what the session ends with so far, as for ``reading``.
    """

    builder: ExecutionBuilder
    unknown: UnknownRecords = field(default_factory=UnknownRecords)
    last_event: str = ""

    def feed(self, number: int, record: Record) -> None:
        """Take in the record of the line with this number."""
        raise NotImplementedError

    def ask(
        self, number: int, text: str, at: datetime | None, identity: object = "", role: str = ""
    ) -> None:
        """Add what was asked; whoever speaks to a subagent is no person."""
        role = role or ("parent" if self.builder.subagent else "user")
        self.builder.say(role, text, number, at, text_of(identity) or f"L{number}")
        self.last_event = "asked" if text else self.last_event

    def answer(self, number: int, text: str, at: datetime | None, identity: object = "") -> None:
        """Add what the agent said."""
        self.builder.say("assistant", text, number, at, text_of(identity) or f"L{number}")
        self.last_event = "answered" if text.strip() else self.last_event

    def use(
        self,
        number: int,
        told: Record,
        call: tuple[object, object, object],
        at: datetime | None,
        command: str | None = None,
        record_id: str = "",
    ) -> PendingCall | None:
        """Add a call: its id, tool and arguments. Without id or tool, ``told`` is unknown."""
        call_id, tool = (text_of(part).strip() for part in call[:2])
        if not tool or not call_id:
            self.unknown.note(told)
            return None
        given = mapping(call[2])
        pending = PendingCall.started(call_id, tool, given, command=command, line=number, at=at)
        pending.record_id = record_id
        self.builder.call(pending)
        self.last_event = "called"
        return pending

    def ending(self, call_id: object) -> PendingCall | None:
        """Return the call whose result comes now; ``None`` for one that has it, or isn't there."""
        call = self.builder.calls.get(text_of(call_id).strip())
        if call is None or call.result_line is not None:
            return None
        self.last_event = "result"
        return call

    def read(self, lines: TranscriptLines, records: Iterable[tuple[int, Record]]) -> Reading:
        """Take in all records, and return the session as the one of its file."""
        for number, record in records:
            self.feed(number, record)
        return self.finish(lines)

    def finish(self, lines: TranscriptLines) -> Reading:
        """Return the session as far as it is read."""
        return self.builder.reading(lines, self.last_event, self.unknown)


class StateReader:
    """A reader of files of which each holds one session."""

    name: ClassVar[str]
    agent: ClassVar[str] = ""
    """What the agent is called, if not as the reader is."""
    _state: ClassVar[type[SessionState]]

    def __init_subclass__(cls, state: type[SessionState]) -> None:
        """Declare a reader by the state that takes in a session's records."""
        cls._state = state

    def read(self, lines: TranscriptLines, records: Iterable[tuple[int, Record]]) -> Reading:
        """Read the session of one file, as ``TranscriptReader`` says."""
        builder = ExecutionBuilder(reader=self.name, agent_id=self.agent or self.name)
        return self._state(builder).read(lines, records)


_OUTCOMES: Final = {
    "answered": ExecutionOutcome.COMPLETED,
    "completed": ExecutionOutcome.COMPLETED,
    "interrupted": ExecutionOutcome.INTERRUPTED,
    "error": ExecutionOutcome.FAILED,
}


def named_place(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    """Return the folder that the environment variable names, or ``default``."""
    named = environ.get(variable)
    return Path(named).expanduser() if named else default


def text_of(value: object) -> str:
    """Return ``value`` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def items(value: object) -> list[Record]:
    """Return the JSON objects in a list; empty when ``value`` isn't a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def content_text(content: object) -> str:
    """Return a text, or the texts of a list of blocks below each other."""
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (text_of(block.get("text")) for block in items(content))))


def json_object(text: str | bytes | None) -> Record:
    """Return the object that a text holds as JSON; empty when that is none."""
    try:
        return mapping(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return {}


def whole(value: object) -> int | None:
    """Return ``value`` if it is a whole number, as exit codes are."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count_of(value: object) -> int:
    """Return ``value`` if it is a positive whole number, else 0."""
    return max(whole(value) or 0, 0)


def ended_by(code: int | None) -> tuple[CallOutcome, int | None]:
    """Return the outcome that an exit code tells, with it; without one it went well."""
    return (CallOutcome.FAILED if code else CallOutcome.OK), code


def timestamp(value: object) -> datetime | None:
    """Parse an RFC 3339 time into UTC; ``None`` when it is none.

    A time without a zone is taken as UTC.
    """
    if not isinstance(value, str) or not 10 <= len(value) <= 40:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def moment(value: object) -> datetime | None:
    """Return a time as ``timestamp`` does, or from a number of seconds or milliseconds since 1970.

    A number that would be a date before 1973 in milliseconds is one of seconds.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return timestamp(value)
    try:
        return datetime.fromtimestamp(value / 1000 if value >= _FIRST_MS else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def session_name(value: object) -> str:
    """Return a session id without characters that references reserve: whitespace, ``#``, ``/``.

    Empty when ``value`` isn't a string.
    """
    return re.sub(r"[^A-Za-z0-9._:-]+", "-", text_of(value)).strip("-")[:120]


def canonical_project(path: str) -> str | None:
    """Return a working directory as one comparable path, with links resolved where they exist.

    A copy that a run worked in is the project that it is a copy of. ``None`` when the path is empty
    or no possible one.
    """
    if not path or "\0" in path:
        return None
    return in_place(os.path.realpath(path)) if Path(path).is_absolute() else path


def _served(address: str) -> str:
    """An address that a host serves: a path proves nothing on another machine."""
    return "" if address.startswith("path:") else address


def in_name_of(agent: str, agent_id: str) -> str:
    """Return the id of an agent that worked for another: its own, or that one's when it has one.

    The kind of a subagent stays: ``builder`` and ``codex/review`` give ``builder/review``.
    """
    _, slash, kind = agent_id.partition("/")
    return f"{agent}{slash}{kind}" if agent and not agent_id_problem(agent) else agent_id


def shortened(text: str, limit: int) -> str:
    """Return ``text`` within ``limit`` characters: its start and its end, where errors stand."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]}\n… [cut] …\n{text[-(limit - head - 12) :]}"


def _compact(value: Mapping[str, object]) -> str:
    short = {
        key: shortened(member, 400) if isinstance(member, str) else member
        for key, member in value.items()
    }
    return json.dumps(short, ensure_ascii=False, separators=(",", ":"), default=str)

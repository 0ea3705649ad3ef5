"""The reader of Aider's chat histories; each chat in the file is an execution.

The file doesn't keep what the person said apart from what the model wrote: a reply can hold lines
that look like a request. So requests are taken as the word of a parent, never as a person's.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Final

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.commands import call_intent
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.ingest.readers.aider_history import ENVELOPE, history_lines
from synthorg_tui.ingest.readers.base import (
    ExecutionBuilder,
    PendingCall,
    ReadExecution,
    Reading,
    UnknownRecords,
    session_name,
    text_of,
)
from synthorg_tui.ingest.records import Record, TranscriptLines
from synthorg_tui.ingest.sources import LineSource
from synthorg_tui.ingest.speech import spoken

AGENT: Final = "aider"
_HISTORY: Final = ".aider.chat.history.md"
_MODEL = re.compile(r"(?:Main model|Model): (\S{1,120})")
_TOKENS = re.compile(r"Tokens: ([\d.,]{1,12})([kM]?) sent,.{0,60}? ([\d.,]{1,12})([kM]?) received")
_EDITED = re.compile(r"Applied edit to (.{1,500})")
_RUNNING = re.compile(r"Running (.{1,2000})")
_COMMIT = re.compile(r"Commit ([0-9a-f]{7,40}) (.{1,500})")
_EDIT_FAILED = re.compile(
    r"The LLM did not conform to the edit format|\d+ SEARCH/REPLACE blocks? failed to match"
)
_ERROR = re.compile(r"litellm\.\w{0,60}(?:Error|Exception)")
_INTERRUPTED: Final = "KeyboardInterrupt"
_COMMAND = re.compile(r"/(?:run|test|git|!)\s+(.+)|!\s*(.+)", re.DOTALL)
_ASKING = re.compile(r"/(?:ask|code|architect|context)\s+(.+)", re.DOTALL)
_SCALE: Final = {"": 1, "k": 1_000, "M": 1_000_000}
_MAX_ANCESTORS: Final = 12


class AiderReader:
    """Reads ``.aider.chat.history.md``, with a chat for each start of Aider."""

    name: ClassVar[str] = "aider"
    verified: ClassVar[str] = "samples without a version"
    files: ClassVar[Mapping[str, LineSource]] = {"*.aider.chat.history.md": history_lines}

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the histories of the project that we are in and of the home directory.

        ``AIDER_CHAT_HISTORY_FILE`` names another. Those of other projects have to be named.
        """
        named = environ.get("AIDER_CHAT_HISTORY_FILE")
        if named:
            return (Path(named).expanduser(),)
        here = environ.get("PWD")
        projects = _up_to_the_root(Path(here)) if here else ()
        return tuple(dict.fromkeys(folder / _HISTORY for folder in (*projects, home)))

    def recognises(self, record: Record) -> bool:
        """Tell whether the record is the start of a chat."""
        return record.get(ENVELOPE) == "chat"

    def read(self, lines: TranscriptLines, records: Iterable[tuple[int, Record]]) -> Reading:
        """Read every chat of the file; the lines of each are numbered from 1."""
        executions: dict[str, ReadExecution] = {}
        unknown, left_out = UnknownRecords(), 0
        chat: _History | None = None
        for _, record in records:
            if self.recognises(record):
                _finish(chat, lines, executions)
                left_out += chat.builder.left_out if chat else 0
                chat = _History(ExecutionBuilder(reader=self.name, agent_id=AGENT))
                chat.builder.project = str(lines.path.parent)
            if chat is None:
                unknown.note(record)
                continue
            chat.lines.append(lines.redacted.last)
            unknown.note(record, not chat.feed(len(chat.lines), record))
        _finish(chat, lines, executions)
        left_out += chat.builder.left_out if chat else 0
        skipped = "" if executions else "nothing was asked or done in it"
        return Reading(tuple(executions.values()), unknown, skipped, left_out)


def _up_to_the_root(folder: Path) -> Iterator[Path]:
    """The folder and those above it, up to the one that is a repository."""
    for each in (folder, *folder.parents)[:_MAX_ANCESTORS]:
        yield each
        if (each / ".git").exists():
            return


def _finish(
    chat: "_History | None", lines: TranscriptLines, executions: dict[str, ReadExecution]
) -> None:
    if chat is None or not (chat.builder.turns or chat.builder.calls):
        return
    began = chat.builder.turns[0].text if chat.builder.turns else ""
    digest = hashlib.sha256(f"{chat.started}\0{began}".encode("utf-8", "replace")).hexdigest()
    chat.builder.session_id = session_name(f"{chat.started}-{digest[:8]}")
    execution = chat.builder.build(lines).model_copy(update={"line_count": len(chat.lines)})
    executions[execution.id] = ReadExecution(execution, chat.lines)


@dataclass(slots=True)
class _History:
    """Reading state of one chat, with its own lines."""

    builder: ExecutionBuilder
    lines: PackedLines = field(default_factory=PackedLines)
    started: str = ""

    def feed(self, number: int, record: Record) -> bool:
        """Take a record; tell whether it is known."""
        kind, text = record.get(ENVELOPE), text_of(record.get("text"))
        if kind == "chat":
            self._start(text_of(record.get("at")))
        elif kind == "user":
            self._ask(number, text)
        elif kind == "assistant":
            self.builder.say("assistant", text, number, None, f"L{number}")
            self.builder.outcome = ExecutionOutcome.COMPLETED
        elif kind == "tool":
            self._told(number, text)
        else:
            return False
        return True

    def _start(self, at: str) -> None:
        """The time is that of the person's clock, wherever it was."""
        self.started = at
        try:
            self.builder.see(datetime.fromisoformat(at).astimezone())
        except (ValueError, OverflowError, OSError):
            return

    def _ask(self, number: int, text: str) -> None:
        """A request, or a command to Aider, of which some run a shell's."""
        command, asking = _COMMAND.fullmatch(text), _ASKING.fullmatch(text)
        if command is not None:
            self._run(number, command[1] or command[2])
        elif asking is not None or not text.startswith("/"):
            speech = spoken(asking[1] if asking else text)
            self.builder.say("parent", speech, number, None, f"L{number}")
            self.builder.outcome = ExecutionOutcome.UNKNOWN

    def _told(self, number: int, text: str) -> None:
        """A line of Aider's own: it says what was done, and of failures only by words."""
        builder = self.builder
        if (edited := _EDITED.fullmatch(text)) is not None:
            self._edit(number, edited[1].strip(), text, CallOutcome.OK)
        elif _EDIT_FAILED.match(text):
            self._edit(number, "", text, CallOutcome.FAILED)
        elif (running := _RUNNING.fullmatch(text)) is not None:
            self._run(number, running[1])
        elif (commit := _COMMIT.fullmatch(text)) is not None:
            self._call(number, "commit", {"message": commit[2]}, text, CallOutcome.OK)
        elif (model := _MODEL.match(text)) is not None:
            builder.model = builder.model or model[1]
        elif (tokens := _TOKENS.match(text)) is not None:
            sent, received = _number(tokens[1], tokens[2]), _number(tokens[3], tokens[4])
            builder.count(f"L{number}", sent, received)
        elif _INTERRUPTED in text:
            builder.outcome = ExecutionOutcome.INTERRUPTED
        elif _ERROR.search(text):
            builder.outcome, builder.error = ExecutionOutcome.FAILED, text

    def _edit(self, number: int, path: str, text: str, outcome: CallOutcome) -> None:
        call = self._call(number, "edit", {"path": path} if path else {}, text, outcome)
        call.intent = call_intent("edit", {"path": path})
        if path and outcome is CallOutcome.OK:
            self.builder.files[path] = None

    def _run(self, number: int, command: str) -> None:
        """No exit code is written down, so that nothing says how it ended."""
        self._call(number, "bash", {"command": command.strip()}, "", CallOutcome.UNKNOWN)

    def _call(
        self, number: int, tool: str, given: Record, output: str, outcome: CallOutcome
    ) -> PendingCall:
        call = PendingCall.started(
            f"L{number}",
            tool,
            given,
            command=text_of(given.get("command")),
            line=number,
            at=None,
        )
        self.builder.call(call)
        self.builder.end(call, number if output else None, output, outcome, None)
        return call


def _number(digits: str, scale: str) -> int:
    try:
        return int(float(digits.replace(",", "")) * _SCALE[scale])
    except ValueError:
        return 0

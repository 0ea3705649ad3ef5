"""The readers of Cline and Roo, which came from it: a task's conversation, as the model saw it.

Of old a tool was called by tags in the agent's text, and its result is the text of the next
message; both are read. A command without an exit code says nothing of how it ended.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import is_shell, slug
from synthorg_tui.ingest.readers.base import (
    PendingCall,
    SessionState,
    StateReader,
    content_text,
    items,
    moment,
    named_place,
    session_name,
    text_of,
)
from synthorg_tui.ingest.readers.cline_store import CONVERSATION, ENVELOPE, MESSAGES, task_lines
from synthorg_tui.ingest.readers.described import Blocks, outcome_of
from synthorg_tui.ingest.records import Record, mapping
from synthorg_tui.ingest.sources import LineSource
from synthorg_tui.ingest.speech import spoken

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_TALK = {
    "attempt_completion": "result",
    "ask_followup_question": "question",
    "plan_mode_respond": "response",
}
"""Tools by which the agent only speaks, with the argument that holds what it says."""
_CALL = re.compile(
    r"<(execute_command|write_to_file|replace_in_file|apply_diff|insert_content|search_and_replace"
    r"|edit_file|read_file|search_files|list_files|list_code_definition_names|browser_action"
    r"|use_mcp_tool|access_mcp_resource|codebase_search|fetch_instructions|new_task|switch_mode"
    r"|update_todo_list|web_fetch|attempt_completion|ask_followup_question|plan_mode_respond)>"
)
_TAG = re.compile(r"<([a-z_]{1,40})>")
_MAX_ARGUMENTS: Final = 12
_RESULT = re.compile(r"\[[a-z_]{1,40}(?: for '|\] Result:)")
_RESULT_ENDS: Final = "] Result:"
_SURROUNDINGS: Final = "<environment_details>"
_SPEECH_TAGS = ("task", "feedback", "user_message", "answer", "new_message")
_SILENT_BLOCKS = frozenset({"thinking", "redacted_thinking", "reasoning", "image", "document"})
_OUTCOMES: Final = Blocks(
    statuses={"true": CallOutcome.FAILED},
    codes=r"(?is)\A.{0,380}?exit(?:ed with)? code:? *(-?\d{1,9})",
    words={
        CallOutcome.DENIED_BY_USER: (
            r'(?s)\A.{0,360}?(?:The user denied this operation|"status": ?"denied"|user rejected)'
        ),
        CallOutcome.BLOCKED_BY_HOOK: r"(?s)\A.{0,360}?is blocked by the \.\w+ignore file",
        CallOutcome.FAILED: (
            r"\A\s*(?:The tool execution failed|Error:"
            r'|"?\{"status": ?"error"|Command execution was not succ)'
        ),
    },
    unsaid=CallOutcome.OK,
)


@dataclass(slots=True)
class _Task(SessionState):
    """Reading state of one task; ``tagged`` is the call by tags whose result hasn't come yet.

    ``asks`` is set while the agent waits for the person's answer and nothing else.
    """

    tagged: PendingCall | None = None
    asks: bool = False

    def feed(self, number: int, record: Record) -> None:
        kind, data = record.get(ENVELOPE), mapping(record.get("data"))
        if kind == "task":
            self._task(record.get("id"), data)
        elif kind == "message":
            self._message(number, mapping(data.get("messages")) or data)
        else:
            self.unknown.note(record)

    def _task(self, identity: object, told: Record) -> None:
        builder, name = self.builder, session_name(identity)
        parent, lead = session_name(told.get("parent")), slug(text_of(told.get("lead")))
        builder.session_id = parent or name
        if parent:
            builder.subagent, builder.agent_id = name, f"{builder.reader}/subagent"
        elif lead not in {"", "lead"}:
            builder.agent_id = f"{builder.reader}/{lead}"
        builder.project, builder.model = text_of(told.get("project")), text_of(told.get("model"))
        builder.summary = text_of(told.get("title"))
        builder.see(moment(told.get("at")))
        builder.count("", *map(told.get, ("input", "output", "cached")))

    def _message(self, number: int, message: Record) -> None:
        role, content = message.get("role"), message.get("content")
        self.builder.see(moment(message.get("ts")))
        said = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks = items(said)
        if role == "assistant":
            self._assistant(number, message, blocks)
        elif role == "user":
            self._user(number, message, blocks)
        else:
            self.unknown.note(message)

    def _assistant(self, number: int, message: Record, blocks: list[Record]) -> None:
        for block in blocks:
            kind = block.get("type")
            if kind == "text":
                self._text(number, message, text_of(block.get("text")))
            elif kind == "tool_use":
                self._call(number, message, block.get("id"), block.get("name"), block.get("input"))
            elif kind not in _SILENT_BLOCKS:
                self.unknown.note(block)

    def _text(self, number: int, message: Record, text: str) -> None:
        """What the agent says, and the call that it makes by tags."""
        match = _CALL.search(text)
        tagged = _between(text, match[1], match.start()) if match else None
        self._say(number, message, text[: match.start()] if match and tagged else text)
        if match and tagged is not None:
            given = dict(_arguments(tagged))
            self.tagged = self._call(number, message, f"L{number}", match[1], given)

    def _say(self, number: int, message: Record, text: str) -> None:
        thinking = _between(text, "thinking", 0)
        text = text.replace(f"<thinking>{thinking}</thinking>", "") if thinking else text
        self.answer(number, text, moment(message.get("ts")), message.get("id"))

    def _call(
        self, number: int, message: Record, call_id: object, tool: object, told: object
    ) -> PendingCall | None:
        given, talk = mapping(told), _TALK.get(text_of(tool).strip())
        if talk is not None and call_id:
            self._say(number, message, text_of(given.get(talk)))
            self.asks = text_of(call_id).startswith("L") and "command" not in given
            return None
        command = _command(given) if is_shell(text_of(tool).strip()) else ""
        at = moment(message.get("ts"))
        return self.use(number, message, (call_id, tool, given), at, command)

    def _user(self, number: int, message: Record, blocks: list[Record]) -> None:
        """Take the results in a message, or what the person said in it.

        The output of a tool that was called by tags fills text blocks, so that none of that message
        is taken as said, whatever it looks like.
        """
        call, answered = self.tagged, self.asks
        self.tagged, self.asks = None, False
        texts = []
        for block in blocks:
            if block.get("type") == "tool_result":
                self._result(number, block)
            elif block.get("type") == "text":
                texts.append(text_of(block.get("text")))
            else:
                self.unknown.note(block, block.get("type") not in _SILENT_BLOCKS)
        texts = [text for text in texts if not text.lstrip().startswith(_SURROUNDINGS)]
        if answered:
            self._speak(number, message, "\n".join(map(_answer_in, texts)))
        elif call is None and not (texts and _RESULT.match(texts[0])):
            self._speak(number, message, "\n".join(filter(None, map(_said, texts))))
        elif call is not None and texts:
            head, ends, rest = texts[0].partition(_RESULT_ENDS)
            texts[0] = rest if ends else head
            self._end(call, number, "\n".join(texts).strip(), {})

    def _result(self, number: int, block: Record) -> None:
        if call := self.ending(block.get("tool_use_id")):
            self._end(call, number, content_text(block.get("content")), block)

    def _end(self, call: PendingCall, number: int, output: str, told: Record) -> None:
        self.builder.end(call, number, output, *outcome_of(_OUTCOMES, call.tool, told, output))
        self.last_event = "result"

    def _speak(self, number: int, message: Record, speech: str) -> None:
        self.ask(number, speech, moment(message.get("ts")), message.get("id"))


def _between(text: str, tag: str, start: int) -> str | None:
    """What stands between a tag and its end, from ``start`` on; ``None`` when it isn't there."""
    first = text.find(f"<{tag}>", start)
    last = text.find(f"</{tag}>", first) if first >= 0 else -1
    return text[first + len(tag) + 2 : last] if last >= 0 else None


def _arguments(text: str) -> Iterator[tuple[str, str]]:
    """The first arguments of a call by tags; some, such as those of Roo's files, are nested."""
    position = 0
    for _ in range(_MAX_ARGUMENTS):
        match = _TAG.search(text, position)
        if match is None:
            return
        value = _between(text, match[1], match.start())
        position = match.end()
        if value is not None and match[1] not in {"args", "file"}:
            yield match[1], value.strip()
            position = match.start() + len(value) + 2 * len(match[1]) + 5


def _command(given: Record) -> str:
    commands = given.get("commands")
    several = commands if isinstance(commands, list) else []
    return text_of(given.get("command")) or "\n".join(filter(None, map(text_of, several)))


def _said(text: str) -> str:
    """What the person said in a text block: all of it, or what stands in a tag at its start."""
    start = text.lstrip()
    tag = next((tag for tag in _SPEECH_TAGS if start.startswith(f"<{tag}>")), None)
    return spoken(text if tag is None else _between(start, tag, 0) or "")


def _answer_in(text: str) -> str:
    """What the person answered: its tag stands after words of the program's own."""
    answers = (_between(text, tag, 0) for tag in _SPEECH_TAGS)
    return spoken(next(filter(None, answers), ""))


class ClineReader(StateReader, state=_Task):
    """Reads one task of Cline."""

    name: ClassVar[str] = "cline"
    verified: ClassVar[str] = "samples without a version"
    extension: ClassVar[str] = "saoudrizwan.claude-dev"
    files: ClassVar[Mapping[str, LineSource]] = {
        CONVERSATION: task_lines,
        f"*{MESSAGES}": task_lines,
    }

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folders of sessions and of the editors' tasks; ``CLINE_DIR`` moves one."""
        data = named_place(environ, "CLINE_DIR", home / ".cline") / "data"
        data = named_place(environ, "CLINE_DATA_DIR", data)
        sessions = named_place(environ, "CLINE_SESSION_DATA_DIR", data / "sessions")
        return sessions, data / "tasks", *self._of_editors(home)

    def _of_editors(self, home: Path) -> Iterator[Path]:
        roots = [home / ".config", home / "Library" / "Application Support"]
        folders = [root / editor for root in roots for editor in _EDITORS]
        for folder in (*folders, home / ".vscode-server" / "data"):
            yield folder / "User" / "globalStorage" / self.extension / "tasks"

    def recognises(self, record: Record) -> bool:
        """Tell whether the record is the head of a task of this agent."""
        data = mapping(record.get("data"))
        return record.get(ENVELOPE) == "task" and data.get("agent") == self.name


class RooReader(ClineReader, state=_Task):
    """Reads one task of Roo Code."""

    name: ClassVar[str] = "roo"
    verified: ClassVar[str] = "samples without a version"
    extension: ClassVar[str] = "rooveterinaryinc.roo-cline"

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folders of the editors' tasks; no variable moves them."""
        return tuple(self._of_editors(home))

"""The reader of trajectories of SWE-agent and mini-swe-agent.

What they are asked is a template around a task, which no person said as it stands: it is the word
of a parent. Only mini-swe-agent says how a command ended; SWE-agent's own words tell it at times.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.ingest.readers.base import (
    ExecutionBuilder,
    PendingCall,
    ReadExecution,
    Reading,
    UnknownRecords,
    content_text,
    ended_by,
    items,
    json_object,
    moment,
    named_place,
    session_name,
    text_of,
    whole,
)
from synthorg_tui.ingest.readers.described import Blocks, outcome_of
from synthorg_tui.ingest.records import Record, TranscriptLines, mapping
from synthorg_tui.ingest.sources import LineSource, document_items

_MINI: Final = "mini-swe-agent"
_OWN_FENCE: Final = "mswea_bash_command"
_FENCED = re.compile(rf"```(?:bash|sh|{_OWN_FENCE})[ \t]*\n(.*?)\n?```", re.DOTALL)
_RETURN_CODE = re.compile(r"\s*<returncode>\s*(-?\d{1,9})\s*</returncode>")
_OUTCOMES: Final = Blocks(
    words={
        CallOutcome.DENIED_BY_USER: r"\ACommand not executed\. The user rejected your command",
        CallOutcome.FAILED: (
            r"\A\s*(?:The (?:last )?command (?s:.){0,2000}?(?:timed out|was cancelled because)"
            r"|EXECUTION TIMED OUT|COMMAND TIMED OUT|(?:/bin/)?bash: "
            r"|Your proposed edit has introduced new syntax error|Invalid `?path"
            r"|No replacement was performed|ERROR:|File \S{1,300} (?:not found|does not exist)|"
            r"[\w./-]{1,60}: [^\n]{0,300}(?:No such file or directory|command not found"
            r"|ermission denied)|Traceback \(most recent call last\):)"
        ),
        CallOutcome.OK: (
            r"\A\s*(?:Your command ran successfully|\[?File updated"
            r"|The file .{1,300} has been edited|File created successfully|\[File: /"
            r"|Found \d+ (?:matches|files)|No (?:matches|files) found"
            r"|Here's the (?:result of running|files and directories))"
        ),
    }
)
_CHANGED_FILE = re.compile(r"^diff --git a/(.{1,500}?) b/", re.MULTILINE)


class SweAgentReader:
    """Reads one trajectory, a JSON document that holds one run."""

    name: ClassVar[str] = "swe_agent"
    verified: ClassVar[str] = "trajectory format mini-swe-agent-1.1"
    files: ClassVar[Mapping[str, LineSource]] = {
        "*.traj": document_items,
        "*.traj.json": document_items,
    }

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folder of mini-swe-agent's last run; SWE-agent writes where it is started."""
        config = home / ".config" / _MINI
        return (named_place(environ, "MSWEA_GLOBAL_CONFIG_DIR", config),)

    def recognises(self, record: Record) -> bool:
        """Tell whether the record is what a trajectory says once, a step, or a message of old.

        The first versions of mini-swe-agent wrote nothing but a list of messages.
        """
        info, step = mapping(record.get("info")), mapping(record.get("trajectory"))
        if text_of(record.get("trajectory_format")).startswith(_MINI) or "mini_version" in info:
            return True
        if "action" in step and "observation" in step:
            return True
        told = (
            content_text(record.get("content"))
            if record.get("role") in {"user", "assistant"}
            else ""
        )
        return bool(_RETURN_CODE.match(told)) or f"```{_OWN_FENCE}" in told

    def read(self, lines: TranscriptLines, records: Iterable[tuple[int, Record]]) -> Reading:
        """Read one run, which is named after its file and how it began."""
        state = _Trajectory(ExecutionBuilder(reader=self.name, agent_id="swe-agent"))
        for number, record in records:
            state.feed(number, record)
        return state.finish(lines)


@dataclass(slots=True)
class _Trajectory:
    """Reading state of one run; ``waiting`` are the calls without a result, oldest first."""

    builder: ExecutionBuilder
    waiting: list[PendingCall] = field(default_factory=list)
    task: str = ""
    first_answer: str = ""
    unknown: UnknownRecords = field(default_factory=UnknownRecords)

    def feed(self, number: int, record: Record) -> None:
        if "messages" in record:
            self._message(number, mapping(record["messages"]))
        elif "trajectory" in record:
            self._step(number, mapping(record["trajectory"]))
        elif "history" in record:
            self._history(number, mapping(record["history"]))
        elif "info" in record:
            self._info(record, mapping(record["info"]))
        elif "role" in record:
            self.builder.agent_id = _MINI
            self._message(number, record)
        else:
            self.unknown.note(record)

    def _info(self, record: Record, info: Record) -> None:
        builder, config = self.builder, mapping(info.get("config"))
        if text_of(record.get("trajectory_format")).startswith(_MINI) or "mini_version" in info:
            builder.agent_id = _MINI
        builder.model = text_of(mapping(config.get("model")).get("model_name"))
        builder.model = builder.model or _replayed_model(text_of(record.get("replay_config")))
        builder.project = text_of(mapping(config.get("environment")).get("cwd"))
        stats = mapping(info.get("model_stats"))
        builder.count("", stats.get("tokens_sent"), stats.get("tokens_received"))
        self._end_with(text_of(info.get("exit_status")), text_of(info.get("submission")))

    def _end_with(self, status: str, submission: str) -> None:
        builder = self.builder
        if status.lower().startswith("submitted"):
            builder.outcome = ExecutionOutcome.COMPLETED
        elif "interrupt" in status.lower():
            builder.outcome = ExecutionOutcome.INTERRUPTED
        elif status:
            builder.outcome, builder.error = ExecutionOutcome.FAILED, status
        builder.files.update(dict.fromkeys(_CHANGED_FILE.findall(submission)))

    def _message(self, number: int, message: Record) -> None:
        """A message of mini-swe-agent's: the task, a command, or what came of it."""
        role, extra = text_of(message.get("role")), mapping(message.get("extra"))
        at, text = moment(extra.get("timestamp")), content_text(message.get("content"))
        self.builder.see(at)
        if role == "assistant":
            usage = mapping(mapping(extra.get("response")).get("usage"))
            self.builder.count(
                f"L{number}", usage.get("prompt_tokens"), usage.get("completion_tokens")
            )
            self._say(number, text, at=extra.get("timestamp"))
            for position, (call_id, command) in enumerate(_commands(message, extra, text), 1):
                identity = call_id or f"L{number}-{position}"
                self._call(number, identity, command, extra.get("timestamp"))
        elif role == "exit":
            self._end_with(text_of(extra.get("exit_status")), text_of(extra.get("submission")))
        elif self.waiting and role in {"user", "tool"}:
            self._observe(number, message, extra, text)
        elif role == "user":
            self._ask(number, text)
        elif role not in {"system", "tool"}:
            self.unknown.note(message)

    def _observe(self, number: int, message: Record, extra: Record, text: str) -> None:
        identity = text_of(message.get("tool_call_id"))
        call = next((call for call in self.waiting if call.id == identity), self.waiting[0])
        self.waiting.remove(call)
        match = _RETURN_CODE.match(text)
        code = whole(extra.get("returncode", int(match[1]) if match else None))
        output = text_of(extra.get("raw_output")) or text
        told = outcome_of(_OUTCOMES, call.tool, {}, text) if code is None else ended_by(code)
        self.builder.end(call, number, output, *told)

    def _step(self, number: int, step: Record) -> None:
        """A step of SWE-agent's: a thought, a command and what came of it, on one line."""
        state = step.get("state")
        told = mapping(state) or json_object(text_of(state))
        self.builder.project = self.builder.project or text_of(told.get("working_dir"))
        self._say(number, text_of(step.get("thought")) or text_of(step.get("response")))
        command, output = text_of(step.get("action")).strip(), content_text(step.get("observation"))
        if command and (call := self._call(number, f"L{number}", command, None)) is not None:
            self.waiting.remove(call)
            self.builder.end(call, number, output, *outcome_of(_OUTCOMES, call.tool, {}, output))

    def _history(self, number: int, message: Record) -> None:
        """The task stands among the messages that the steps repeat, after those of an example."""
        if message.get("role") == "user" and message.get("is_demo") is not True:
            self._ask(number, content_text(message.get("content")))

    def _ask(self, number: int, text: str) -> None:
        """The first one is the task, which comes before all."""
        if self.task or not text.strip():
            return
        self.task, count = text, len(self.builder.turns)
        self.builder.say("parent", text, number, None, "task")
        if len(self.builder.turns) > count:
            self.builder.turns.insert(0, self.builder.turns.pop())

    def _say(self, number: int, text: str, *, at: object = None) -> None:
        self.first_answer = self.first_answer or text
        self.builder.say("assistant", text, number, moment(at), f"L{number}")

    def _call(self, number: int, call_id: str, command: str, at: object) -> PendingCall | None:
        call = PendingCall.started(
            call_id, "bash", {"command": command}, command=command, line=number, at=moment(at)
        )
        self.first_answer = self.first_answer or command
        self.builder.call(call)
        if self.builder.calls.get(call_id) is not call:
            return None
        self.waiting.append(call)
        return call

    def finish(self, lines: TranscriptLines) -> Reading:
        builder = self.builder
        if not self.first_answer or not (builder.turns or builder.calls):
            return Reading(unknown=self.unknown, skipped="nothing was asked or done in it")
        stem = lines.path.name.removesuffix(".json").removesuffix(".traj")
        began = f"{self.task}\0{self.first_answer}".encode("utf-8", "replace")
        builder.session_id = session_name(f"{stem}-{hashlib.sha256(began).hexdigest()[:8]}")
        read = ReadExecution(builder.build(lines), lines.redacted)
        return Reading((read,), unknown=self.unknown, left_out=builder.left_out)


def _commands(message: Record, extra: Record, text: str) -> list[tuple[str, str]]:
    """The commands of a message, each with its id or none, in the shapes of several versions."""
    found = [
        (text_of(each.get("tool_call_id")), text_of(each.get("command")))
        for each in items(extra.get("actions"))
    ]
    if not found:
        calls = [(each, mapping(each.get("function"))) for each in items(message.get("tool_calls"))]
        given = [(text_of(each.get("id")), text_of(call.get("arguments"))) for each, call in calls]
        found = [(call_id, text_of(json_object(text).get("command"))) for call_id, text in given]
    if not found and (match := _FENCED.search(text)):
        found = [("", match[1])]
    return [(call_id, command) for call_id, command in found if command.strip()]


def _replayed_model(config: str) -> str:
    agent = mapping(json_object(config).get("agent"))
    return text_of(mapping(agent.get("model")).get("name"))

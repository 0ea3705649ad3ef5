"""The record of what an agent did in one session, as read from a transcript.

Imports, learning and reviews share it. It is stored as JSON, so a field can't change without a
migration; what is worked out from the fields is a property. How a transcript is written is for the
readers, what an execution teaches for those who read the record.
"""

import re
from typing import Self

from pydantic import AwareDatetime, Field

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.core.projects import project_name
from synthorg_tui.core.types import FrozenModel, NotBlankStr

SHELL_TOOLS = frozenset(
    {
        "bash",
        "shell",
        "shell_command",
        "exec_command",
        "container.exec",
        "local_shell",
        "local_shell_call",
        "developer__shell",
        "execute_command",
        "run_commands",
        "execute_bash",
        "terminal",
        "run_shell_command",
        "run_terminal_cmd",
        "powershell",
    }
)
_WRITING_VERBS = frozenset({"edit", "write"})
MAX_REPORTED_RECOVERIES = 20
"""Recoveries that count of a run that its agent reported itself."""
_REPORT_FILE = re.compile(r"/reports/[0-9a-f]{32}\.jsonl")
_REFERENCE = re.compile(r"(?P<execution>\S+)#L(?P<first>\d+)(?:-L?(?P<last>\d+))?")


def is_shell(tool: str) -> bool:
    """Tell whether the tool of this name runs a shell command."""
    return tool.lower() in SHELL_TOOLS


def slug(text: str) -> str:
    """Return ``text`` as a lower-case name without spaces or slashes, at most 80 characters."""
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-.")[:80]


class SourceRef(FrozenModel):
    """A reference to lines of a transcript, 1-based and inclusive.

    Written as ``<execution id>#L12-L30``; an execution id is ``<reader>:<session>`` or
    ``<reader>:<session>/<subagent>`` and holds no path, so it stays valid when the file is moved.
    """

    execution_id: NotBlankStr
    first_line: int = Field(ge=1)
    last_line: int = Field(ge=1)

    def __str__(self) -> str:
        return f"{self.execution_id}#L{self.first_line}-L{self.last_line}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse a reference from ``text``; ``None`` when it is no transcript reference."""
        match = _REFERENCE.fullmatch(text)
        if match is None:
            return None
        first = int(match["first"])
        last = int(match["last"] or first)
        if not 1 <= first <= last:
            return None
        return cls(execution_id=match["execution"], first_line=first, last_line=last)


def client_session(execution_id: str) -> str:
    """Return what the agent's own program calls the session that an execution belongs to.

    A subagent works in the session of its parent.
    """
    return execution_id.partition(":")[2].partition("/")[0]


class ToolCall(FrozenModel):
    """One tool call with its result, paired by id.

    ``intent`` is what it was for in comparable form (``git push``, ``edit src/a.py``).
    ``call_line`` and ``result_line`` are 1-based line numbers of the transcript; ``result_line`` is
    ``None`` when the transcript ends before the result.
    """

    id: NotBlankStr
    tool: NotBlankStr
    intent: str
    arguments: str
    outcome: CallOutcome
    output: str = ""
    exit_code: int | None = None
    at: AwareDatetime | None = None
    call_line: int = Field(ge=1)
    result_line: int | None = None

    @property
    def is_shell(self) -> bool:
        """True when it ran a shell command; ``arguments`` is then that command."""
        return is_shell(self.tool)

    @property
    def last_line(self) -> int:
        """The line number of the result, or of the call itself when there is no result."""
        return self.result_line or self.call_line

    @property
    def changed_path(self) -> str | None:
        """The path of the file it wrote, or ``None`` when it wrote none.

        Several paths are separated by ``, ``.
        """
        verb, _, path = self.intent.partition(" ")
        wrote = verb in _WRITING_VERBS and self.outcome is CallOutcome.OK
        return path if wrote else None


class Recovery(FrozenModel):
    """A failed call and the later call of the same intent that worked, both as call ids.

    ``between`` are the ids of the calls made between the two.
    """

    failed_call: NotBlankStr
    resolved_by: NotBlankStr
    between: tuple[NotBlankStr, ...] = ()


class Turn(FrozenModel):
    """One message of the person or the agent; text that tools injected is in no turn.

    ``role`` is ``user`` (a person), ``assistant``, or ``parent`` (an agent giving a subagent its
    task, or reporting what it was asked).
    """

    role: NotBlankStr
    text: str
    first_line: int = Field(ge=1)
    last_line: int = Field(ge=1)
    record_id: str = ""
    at: AwareDatetime | None = None


class ExecutionTokens(FrozenModel):
    """The numbers of input, output and cached tokens that the transcript states."""

    input: int = 0
    output: int = 0
    cached: int = 0


class Execution(FrozenModel):
    """The record of one session of one agent.

    ``task`` is the first real request, ``summary`` what the agent's own program calls the session.
    ``error`` is what ended a failed run, when its record says so. ``source_path`` is the file it
    was read from, ``line_count`` the number of complete lines that file had then. ``reported`` runs
    are those that the agent told of itself; ``is_reported`` also knows them where they were stored
    without that mark. ``forked_from`` is the session that a fork names as the one it comes from.
    ``repository`` is the address of the project's, where the session's own record tells it. Texts
    are redacted and shortened.
    """

    id: NotBlankStr
    reader: NotBlankStr
    session_id: NotBlankStr
    agent_id: NotBlankStr
    parent_id: str | None = None
    project: str | None = None
    branch: str | None = None
    task: str = ""
    summary: str = ""
    model: str | None = None
    started_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None
    outcome: ExecutionOutcome = ExecutionOutcome.UNKNOWN
    error: str = ""
    turns: tuple[Turn, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    recoveries: tuple[Recovery, ...] = ()
    files_touched: tuple[str, ...] = ()
    tokens: ExecutionTokens = ExecutionTokens.model_construct()
    source_path: str = ""
    line_count: int = 0
    reported: bool = False
    forked_from: str = ""
    repository: str = ""

    @property
    def is_reported(self) -> bool:
        """True when the agent told of this run itself: nothing of it was recorded."""
        from_file = self.reader == "generic" and _REPORT_FILE.search(self.source_path) is not None
        return self.reported or from_file

    @property
    def failures(self) -> tuple[ToolCall, ...]:
        """The calls that failed by themselves: none that were blocked, denied or cancelled."""
        return tuple(call for call in self.calls if call.outcome is CallOutcome.FAILED)

    @property
    def commands(self) -> tuple[ToolCall, ...]:
        """The calls that ran a shell command."""
        return tuple(call for call in self.calls if call.is_shell)

    @property
    def project_name(self) -> str:
        """What people call the project; empty when it is unknown."""
        return project_name(self.project or "")

    def relative(self, text: str) -> str:
        """Return ``text`` with paths inside the project made relative to it."""
        return text.replace(f"{self.project}/", "") if self.project else text

    def ref(self, first_line: int, last_line: int) -> SourceRef:
        """Return a reference to lines of this execution.

        A ``last_line`` before ``first_line`` is taken as ``first_line``.
        """
        last = max(first_line, last_line)
        return SourceRef(execution_id=self.id, first_line=first_line, last_line=last)


def under_id(execution: Execution, id_: str, path: str) -> Execution:
    """Return the execution under the id of another of its files, which is at this path."""
    session_id, slash, _ = id_.partition(":")[2].partition("/")
    update = {"id": id_, "session_id": session_id, "source_path": path}
    if slash:
        update["parent_id"] = id_.partition("/")[0]
    return execution.model_copy(update=update)

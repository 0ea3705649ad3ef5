"""What an agent did in one session, as read from a transcript.

The record that imports, learning and reviews share. It is stored as JSON, so a field can't change
without a migration; what is worked out from the fields is a property. How a transcript is written
is for the readers, what an execution teaches for those who read the record.
"""

import re
from pathlib import PurePosixPath
from typing import Self

from pydantic import AwareDatetime, Field

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
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
    }
)
_WRITING_VERBS = frozenset({"edit", "write"})
_REFERENCE = re.compile(r"(?P<execution>\S+)#L(?P<first>\d+)(?:-L?(?P<last>\d+))?")


def is_shell(tool: str) -> bool:
    """Whether the tool runs a shell command."""
    return tool.lower() in SHELL_TOOLS


def slug(text: str) -> str:
    """``text`` as a lower-case name without spaces or slashes, at most 80 characters."""
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-.")[:80]


class SourceRef(FrozenModel):
    """Lines of a transcript, 1-based and inclusive.

    Written as ``<execution id>#L12-L30``; an execution id is ``<reader>:<session>`` or
    ``<reader>:<session>/<subagent>`` and holds no path, so it survives a moved file.
    """

    execution_id: NotBlankStr
    first_line: int = Field(ge=1)
    last_line: int = Field(ge=1)

    def __str__(self) -> str:
        return f"{self.execution_id}#L{self.first_line}-L{self.last_line}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The reference that ``text`` spells, or ``None`` when it is no transcript reference."""
        match = _REFERENCE.fullmatch(text)
        if match is None:
            return None
        first = int(match["first"])
        last = int(match["last"] or first)
        if not 1 <= first <= last:
            return None
        return cls(execution_id=match["execution"], first_line=first, last_line=last)


class ToolCall(FrozenModel):
    """One tool call with its result, paired by id.

    ``intent`` is what it was for in comparable form (``git push``, ``edit src/a.py``);
    ``result_line`` is ``None`` when the transcript ends before the result.
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
        """Whether it ran a shell command; ``arguments`` is then the command."""
        return is_shell(self.tool)

    @property
    def last_line(self) -> int:
        """The line of the result, of the call itself when there is none."""
        return self.result_line or self.call_line

    @property
    def changed_path(self) -> str | None:
        """What it wrote (several paths with ``, `` between); ``None`` when it wrote nothing."""
        verb, _, path = self.intent.partition(" ")
        wrote = verb in _WRITING_VERBS and self.outcome is CallOutcome.OK
        return path if wrote else None


class Recovery(FrozenModel):
    """A call that failed, the later call of the same intent that worked, and what lay between."""

    failed_call: NotBlankStr
    resolved_by: NotBlankStr
    between: tuple[NotBlankStr, ...] = ()


class Turn(FrozenModel):
    """Something the person or the agent said; injected text is in no turn.

    ``role`` is ``user`` (a person), ``assistant``, or ``parent`` (an agent giving a subagent its
    task, or telling in a report what it was asked).
    """

    role: NotBlankStr
    text: str
    first_line: int = Field(ge=1)
    last_line: int = Field(ge=1)
    record_id: str = ""
    at: AwareDatetime | None = None


class ExecutionTokens(FrozenModel):
    """Tokens as the transcript counts them."""

    input: int = 0
    output: int = 0
    cached: int = 0


class Execution(FrozenModel):
    """One session of one agent.

    ``task`` is the first real request. ``error`` is what ended a failed run, when its record says
    so. ``source_path`` is where it was read; ``line_count`` how many complete lines it had then.
    Texts are redacted and capped.
    """

    id: NotBlankStr
    reader: NotBlankStr
    session_id: NotBlankStr
    agent_id: NotBlankStr
    parent_id: str | None = None
    project: str | None = None
    branch: str | None = None
    task: str = ""
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

    @property
    def failures(self) -> tuple[ToolCall, ...]:
        """Calls that really failed; blocks, denials and cancellations are none."""
        return tuple(call for call in self.calls if call.outcome is CallOutcome.FAILED)

    @property
    def commands(self) -> tuple[ToolCall, ...]:
        """Calls that ran a shell command."""
        return tuple(call for call in self.calls if call.is_shell)

    @property
    def project_name(self) -> str:
        """Last part of the project's path; empty when unknown."""
        return PurePosixPath(self.project.replace("\\", "/")).name if self.project else ""

    def relative(self, text: str) -> str:
        """``text`` with paths inside the project made relative."""
        return text.replace(f"{self.project}/", "") if self.project else text

    def ref(self, first_line: int, last_line: int) -> SourceRef:
        """A reference to lines of this execution; it never ends before it starts."""
        last = max(first_line, last_line)
        return SourceRef(execution_id=self.id, first_line=first_line, last_line=last)

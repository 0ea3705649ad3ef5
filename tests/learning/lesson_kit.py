"""Runs written call by call, for tests of what they teach."""

import json
from datetime import UTC, datetime, timedelta

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.commands import call_intent
from synthorg_tui.executions.models import Execution, ToolCall, Turn
from synthorg_tui.executions.recoveries import find_recoveries

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
PROJECT = "/srv/tidepool"
BRANCH = "retry-fetch"


class Run:
    """Builds one execution: add calls with the methods, then call ``done``."""

    def __init__(
        self,
        session: str = "s1",
        *,
        agent: str = "claude-code",
        branch: str | None = BRANCH,
        project: str = PROJECT,
    ) -> None:
        self.session, self.agent, self.branch, self.project = session, agent, branch, project
        self.calls: list[ToolCall] = []

    def bash(
        self,
        command: str,
        output: str = "",
        *,
        code: int | None = None,
        outcome: CallOutcome | None = None,
    ) -> "Run":
        """A shell command; one with an exit code failed."""
        failed = CallOutcome.FAILED if code else CallOutcome.OK
        return self._add(
            "Bash", command, output, outcome or failed, call_intent("bash", {}, command), code
        )

    def edit(self, path: str, old: str = "a", new: str = "b") -> "Run":
        """A successful edit of a file."""
        whole = f"{self.project}/{path}"
        arguments = {"file_path": whole, "old_string": old, "new_string": new}
        intent = call_intent("Edit", arguments)
        return self._add("Edit", json.dumps(arguments), "", CallOutcome.OK, intent, None)

    def file(
        self, tool: str, path: str, output: str = "", *, fails: bool = False, **arguments: object
    ) -> "Run":
        """A call of a tool for files, with its further arguments."""
        whole = path if path.startswith("/") else f"{self.project}/{path}"
        given = {"file_path": whole, **arguments}
        outcome = CallOutcome.FAILED if fails else CallOutcome.OK
        return self._add(tool, json.dumps(given), output, outcome, call_intent(tool, given), None)

    def look(self) -> "Run":
        """A call that changes nothing."""
        return self._add("Read", "{}", "text", CallOutcome.OK, "read x", None)

    def _add(
        self,
        tool: str,
        arguments: str,
        output: str,
        outcome: CallOutcome,
        intent: str,
        code: int | None,
    ) -> "Run":
        number = len(self.calls) + 1
        self.calls.append(
            ToolCall(
                id=f"{self.session}-{number}",
                tool=tool,
                intent=intent,
                arguments=arguments,
                outcome=outcome,
                output=f"Exit code {code}\n{output}" if code else output,
                exit_code=code,
                at=START + timedelta(minutes=number),
                call_line=number * 2,
                result_line=number * 2 + 1,
            )
        )
        return self

    def done(
        self,
        outcome: ExecutionOutcome = ExecutionOutcome.COMPLETED,
        task: str = "Retry the tide fetcher",
    ) -> Execution:
        """The execution, with the recoveries that its calls hold."""
        return Execution(
            id=f"claude_code:{self.session}",
            reader="claude_code",
            session_id=self.session,
            agent_id=self.agent,
            project=self.project,
            branch=self.branch,
            task=task,
            started_at=START,
            ended_at=START + timedelta(hours=1),
            outcome=outcome,
            turns=(Turn(role="user", text=task, first_line=1, last_line=1),),
            calls=tuple(self.calls),
            recoveries=find_recoveries(self.calls),
            line_count=len(self.calls) * 2 + 2,
        )

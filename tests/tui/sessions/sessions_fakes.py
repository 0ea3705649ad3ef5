"""Sessions in memory: what the Sessions pane and the transcript are tested against."""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.core.errors import DomainError
from synthorg_tui.executions.conversation import Conversation, conversation_of
from synthorg_tui.executions.models import Execution, ToolCall, Turn
from synthorg_tui.executions.sessions import StoredSession
from synthorg_tui.tui.sessions import screen as sessions_view
from synthorg_tui.tui.sessions.adapter import EngineSessions, MadeOfSession

# Nothing waits for others in these tests.
sessions_view.KEEP_UP_AFTER = 0.001

AT = datetime(2026, 3, 14, 14, 2, tzinfo=UTC)
SHOP, DESK = "/home/ada/shop", "/home/ada/desk"
PUSH_FAILED = (
    "fatal: The current branch retries has no upstream branch.\n"
    "To push the current branch and set the remote as upstream, use\n\n"
    "    git push --set-upstream origin retries\n"
)

_TITLES = (
    ("claude-code", SHOP, "Retry the checkout request when the gateway times out", "completed"),
    ("claude-code", SHOP, "Push the branch retries and open a pull request", "failed"),
    ("codex", SHOP, "Upgrade the HTTP client to 3.2 and move the timeouts", "interrupted"),
    ("codex", DESK, "Rebuild the index of migration 0042", "completed"),
    ("gemini", DESK, "Why does the nightly report miss two tables?", "unknown"),
)


def session(number: int, *, parent: str | None = None, **changes: object) -> StoredSession:
    """A session; the higher the number, the older."""
    agent, project, title, outcome = _TITLES[number % len(_TITLES)]
    began = AT - timedelta(hours=7 * number)
    values: dict[str, object] = {
        "id": f"{agent.replace('-', '_')}:3f2a{number:04x}",
        "agent_id": agent,
        "project": project,
        "path": f"/home/ada/.{agent}/3f2a{number:04x}.jsonl",
        "lines": 140 + 31 * (number % 50),
        "size": 48_000 + 91_000 * (number % 9),
        "title": title if number < len(_TITLES) else f"{title} ({number})",
        "outcome": ExecutionOutcome(outcome),
        "started_at": began - timedelta(minutes=4 + 13 * (number % 9)),
        "ended_at": began,
        "parent_id": parent,
        "model": "model-5",
        "calls": 12 + 9 * (number % 11),
        "failures": number % 4,
        "files": number % 3,
    }
    return StoredSession(**(values | changes))  # type: ignore[arg-type]


def sessions(count: int) -> tuple[StoredSession, ...]:
    """So many sessions, the latest first; the first one has two subagents."""
    made = [session(number) for number in range(count)]
    if count > 1:
        parts = [
            session(
                number + 900,
                parent=made[0].id,
                id=f"{made[0].id}/agent-{number}",
                agent_id=made[0].agent_id,
                project=made[0].project,
                title=title,
                started_at=AT - timedelta(minutes=9 - number),
                ended_at=AT - timedelta(minutes=5),
            )
            for number, title in enumerate(("Find callers of retry()", "Read the gateway's docs"))
        ]
        made[1:1] = parts
    return tuple(made)


def _call(number: int, command: str, outcome: CallOutcome, output: str, code: int) -> ToolCall:
    return ToolCall(
        id=f"call-{number}",
        tool="Bash",
        intent=command,
        arguments=command,
        outcome=outcome,
        output=output,
        exit_code=code,
        call_line=number,
        result_line=number + 1,
    )


def execution(session_id: str, *, lines: int = 22) -> Execution:
    """A push that failed, hooks, and the push that went well."""
    long = "I'll look at the remote before I push, so that nothing of the others is lost. " * 3
    return Execution(
        id=session_id,
        reader="claude_code",
        session_id=session_id.partition(":")[2],
        agent_id="claude-code",
        project=SHOP,
        line_count=lines,
        turns=(
            Turn(role="user", text="Push the branch retries.", first_line=2, last_line=2, at=AT),
            Turn(role="assistant", text=long, first_line=3, last_line=3, at=AT),
            Turn(
                role="assistant", text="Pushed: the upstream is set.", first_line=20, last_line=20
            ),
            Turn(role="user", text="Thanks. Open the pull request.", first_line=21, last_line=21),
        ),
        calls=(
            _call(4, "git status --short", CallOutcome.OK, " M src/retry.py\n?? notes.md\n", 0),
            _call(10, "git push", CallOutcome.FAILED, PUSH_FAILED, 128),
            _call(18, "git push -u origin retries", CallOutcome.OK, "branch set up to track\n", 0),
        ),
    )


class FakeSessions(EngineSessions):
    """Holds sessions and their conversations; reading the list waits for ``gate``, if it is set."""

    def __init__(self, stored: Sequence[StoredSession] = ()) -> None:
        self.stored = list(stored)
        self.executions: dict[str, Execution] = {}
        self.made: dict[str, MadeOfSession] = {}
        self.deleted: list[tuple[str, bool]] = []
        self.exported: list[tuple[str, Path]] = []
        self.line: str = ""
        self.error: DomainError | None = None
        self.gate: asyncio.Event | None = None
        self.bodies_read: list[int] = []
        self.lists = 0

    async def list(self) -> tuple[StoredSession, ...]:
        self.lists += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        return tuple(self.stored)

    async def made_of(self, session: StoredSession) -> MadeOfSession:
        made = MadeOfSession(
            ("3 memories", "1 lesson that waits", "skill set-upstream-first-push"),
            memories=3,
            resume=f"cd {SHOP} && claude --resume 3f2a",
        )
        return self.made.get(session.id, made)

    async def delete(self, session_id: str, *, keep_memories: bool) -> str:
        self.deleted.append((session_id, keep_memories))
        self.stored = [each for each in self.stored if each.id != session_id]
        return "Deleted 1 session" + ("" if keep_memories else " and 3 memories")

    async def export(self, session: StoredSession, path: Path) -> str:
        self.exported.append((session.id, path))
        return f"Wrote it to {path.name}"

    async def conversation(self, session_id: str) -> Conversation | None:
        if session_id.endswith("gone"):
            return None
        if self.error is not None:
            raise self.error
        recorded = self.executions.get(session_id) or execution(session_id)
        return await asyncio.to_thread(conversation_of, recorded)

    async def _lines(self, session_id: str, first: int, last: int) -> tuple[tuple[int, str], ...]:
        self.bodies_read.append(first)
        held = self.executions.get(session_id) or execution(session_id)
        text = self.line or json.dumps({"type": "progress", "hook": "PreToolUse"})
        return tuple((number, text) for number in range(first, min(last, held.line_count) + 1))

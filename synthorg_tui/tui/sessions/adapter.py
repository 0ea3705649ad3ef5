"""What the Sessions pane and a transcript ask of the engine: each method is one call of it.

The app starts without the engine, so what loads it is imported inside.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import counted
from synthorg_tui.tui.approvals.adapter import person

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine
    from synthorg_tui.executions.conversation import Conversation, Entry
    from synthorg_tui.executions.sessions import StoredSession


@dataclass(frozen=True, slots=True)
class MadeOfSession:
    """What was made of a session, a line each, and how to resume it.

    ``resume`` is a command for a shell; without one ``resume_problem`` says why. ``memories`` is
    the number of memories drawn from it, ``others`` that of its subagents' sessions.
    """

    told: tuple[str, ...] = ()
    memories: int = 0
    others: int = 0
    resume: str = ""
    resume_problem: str = ""


class EngineSessions:
    """The stored sessions of an open engine. Failures are ``DomainError``."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    async def list(self) -> "tuple[StoredSession, ...]":
        """Return all sessions, the latest first."""
        return await self._engine.sessions.list()

    async def made_of(self, session: "StoredSession") -> MadeOfSession:
        """Return what was made of a session and its subagents', and how to resume it."""
        from synthorg_tui.executions.resuming import resumption

        review = await self._engine.sessions.review([session.id])
        again = resumption(session.id, session.path, session.project)
        told = [
            *([counted(review.memories, "memory", "memories")] if review.memories else []),
            *(
                [counted(review.lessons, "lesson that waits", "lessons that wait")]
                * bool(review.lessons)
            ),
            *(f"skill {name}" for name in review.erasure.skills),
            *(f"skill {name}, with other sessions" for name in review.supported),
        ]
        return MadeOfSession(
            told=tuple(told),
            memories=review.memories,
            others=len(review.sessions) - 1,
            resume=again.line,
            resume_problem=again.problem,
        )

    async def delete(self, session_id: str, *, keep_memories: bool) -> str:
        """Delete a session for good, unless asked otherwise with what was made of it alone."""
        done = await self._engine.sessions.purge(
            [session_id], actor=str(person()), keep_memories=keep_memories
        )
        await self._engine.maintenance.delete_copies(backups=False)
        deleted = f"Deleted {counted(len(done.sessions), 'session')}"
        memories = counted(done.erased.memories, "memory", "memories")
        return f"{deleted} and {memories}" if done.erased.memories else deleted

    # A transcript

    async def find(self, session_id: str) -> "StoredSession | None":
        """Return the session with this id; ``None`` when it isn't stored."""
        return next((each for each in await self.list() if each.id == session_id), None)

    async def conversation(self, session_id: str) -> "Conversation | None":
        """Return a session as a conversation; ``None`` when it isn't stored."""
        return await self._engine.sessions.conversation(session_id)

    async def has_grown(self, conversation: "Conversation") -> bool:
        """Return whether the stored session has lines after those of the conversation."""
        next_line = conversation.line_count + 1
        return bool(await self._lines(conversation.session_id, next_line, next_line))

    async def body(self, session_id: str, entry: "Entry") -> str:
        """Return the whole text of an entry."""
        if not entry.is_cut:
            return entry.body
        return entry.full_body(await self._lines(session_id, *entry.body_ref))

    async def raw(self, session_id: str, entry: "Entry") -> str:
        """Return the lines of an entry as they are in the file, secrets redacted."""
        lines = await self._lines(session_id, entry.first_line, entry.first_line)
        if entry.last_line != entry.first_line:
            lines += await self._lines(session_id, *entry.body_ref)
        return "\n".join(f"{number:,}  {text}" for number, text in dict(lines).items())

    async def _lines(self, session_id: str, first: int, last: int) -> tuple[tuple[int, str], ...]:
        from synthorg_tui.executions.models import SourceRef

        ref = SourceRef(execution_id=session_id, first_line=first, last_line=last)
        excerpt = await self._engine.executions.excerpt(ref)
        return excerpt.lines if excerpt else ()

    async def export(self, session: "StoredSession", path: Path) -> str:
        """Write a session to a new file: its stored lines to a ``.jsonl``, else Markdown."""
        from synthorg_tui.cli.commands.sessions_reading import session_file

        kind = "jsonl" if path.suffix in (".jsonl", ".json") else "markdown"
        text = await session_file(self._engine, session, kind)
        try:
            await asyncio.to_thread(_write_new, path, text)
        except FileExistsError:
            raise DomainError(f"{path} exists.", remedy="Choose another name.") from None
        except OSError as error:
            raise DomainError(f"{path} can't be written: {error.strerror}.") from error
        return f"Wrote the session to {path}"


def _write_new(path: Path, text: str) -> None:
    with path.expanduser().open("x", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)

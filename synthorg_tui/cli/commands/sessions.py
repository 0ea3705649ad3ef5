"""``sessions``: the imported sessions; here they are deleted, and resumed in their own program."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command, add_group
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.commands.sessions_list import add_list
from synthorg_tui.cli.commands.sessions_reading import add_reading, find_session
from synthorg_tui.cli.erasing import add_erasing, erase_files, print_erased, tell_copies
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context
    from synthorg_tui.executions.resuming import Resumption

_WORD: Final = "delete"
"""What a person types to confirm."""


def add(commands: Subparsers) -> None:
    """Add the parser of ``sessions`` to ``commands``."""
    actions = add_group(
        commands,
        "sessions",
        COMMANDS["sessions"].summary,
        "Work on imported sessions. An ID may be shortened to its first characters.",
        examples=("sessions list", "sessions show claude_code:258c", "sessions delete codex:019a"),
    )
    add_list(actions)
    add_reading(actions)
    resuming = add_command(
        actions,
        "resume",
        run_resume,
        "print the command that resumes a session in its own agent",
        more="The session\nof a subagent is resumed in the one that started it.",
        examples=("sessions resume claude_code:258c", "sessions resume codex:019a --run"),
    )
    resuming.add_argument("id", metavar="ID")
    resuming.add_argument(
        "--run", action="store_true", help="run it, in the folder of the session's project"
    )
    deleting = add_command(
        actions,
        "delete",
        run_delete,
        "delete sessions for good: record, lines, and what was made of them",
        more="What that is,\nis said first. They can't be restored, nor imported again. The "
        "transcripts' files stay.",
        examples=("sessions delete codex:019a", "sessions delete codex:019a --keep-memories"),
    )
    deleting.add_argument("ids", nargs="+", metavar="ID")
    deleting.add_argument(
        "--keep-memories", action="store_true", help="keep the memories and skills made of them"
    )
    add_erasing(deleting)


async def run_delete(context: "Context") -> int:
    """Delete sessions for good, with what was made of them, after a typed confirmation.

    Refused where an agent runs it.
    """
    args = context.args
    async with context.engine() as engine:
        found = [await find_session(engine, start) for start in args.ids]
        ids = list(dict.fromkeys(session.id for session in found))
        review = await engine.sessions.review(ids, keep_memories=args.keep_memories)
        if not args.yes:
            for consequence in review.told:
                context.console.note(consequence)
            memories = await engine.sessions.memories_of(ids)
            await tell_copies(context, engine, memory_ids=memories, session_ids=ids)
        count = counted(len(review.sessions), "session", "sessions")
        context.confirm(f"Delete {count} for good?", word=_WORD)
        done = await engine.sessions.purge(
            ids, actor=context.actor, keep_memories=args.keep_memories
        )
        files = await erase_files(context, engine)
    if context.wants_json:
        context.console.json(
            {
                "deleted": list(done.sessions),
                "purged": done.erased.memories,
                "removed": list(done.erased.removed),
                "left": [{"path": path, "reason": why} for path, why in done.erased.left],
                **files.as_json(),
            }
        )
        return 0
    memories_too = counted(done.erased.memories, "memory", "memories")
    deleted = counted(len(done.sessions), "session", "sessions")
    print_erased(context, f"Deleted {deleted} and {memories_too}.", done.erased, files)
    return 0


async def run_resume(context: "Context") -> int:
    """Print the command that resumes a session, or run it."""
    from synthorg_tui.executions.resuming import resumption

    async with context.engine() as engine:
        session = await find_session(engine, context.args.id)
    how = resumption(session.id, session.path, session.project)
    if context.wants_json and not context.args.run:
        context.console.json(
            {
                "id": session.id,
                "command": list(how.command),
                "directory": how.directory or None,
                "line": how.line,
                "problem": how.problem,
            }
        )
        return 1 if how.problem else 0
    if how.problem:
        remedy = f"`synthorg-tui sessions show {session.id}` shows what is stored."
        raise DomainError(how.problem, remedy=remedy)
    if context.args.run:
        _run(how)
    context.console.line(how.line)
    return 0


def _run(how: "Resumption") -> None:
    """Become the agent's program, in the folder of the session's project."""
    try:
        os.chdir(how.directory or Path.cwd())
        os.execvp(how.command[0], how.command)
    except OSError as error:
        why = error.strerror or str(error)
        raise DomainError(f"{how.command[0]} can't be started: {why}", remedy=how.line) from error

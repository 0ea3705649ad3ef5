"""``sessions``: the imported sessions; here they are deleted, and resumed in their own program."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import ID, IDS, Argument
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands.sessions_list import list_sessions
from synthorg_tui.cli.commands.sessions_reading import export, find_session, show_session
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.erasing import ERASING, erase_files, erased_view, tell_copies
from synthorg_tui.cli.output import Answer
from synthorg_tui.cli.records import fields, pairs
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.executions.resuming import Resumption

_WORD: Final = "delete"
"""What a person types to confirm."""


@Command(
    "delete",
    "delete sessions for good: record, lines, and what was made of them",
    more="What that is,\nis said first. They can't be restored, nor imported again. The "
    "transcripts' files stay.",
    examples=("sessions delete codex:019a", "sessions delete codex:019a --keep-memories"),
    arguments=(
        IDS,
        Argument(
            "--keep-memories", action="store_true", help="keep the memories and skills made of them"
        ),
        *ERASING,
    ),
).asks
async def delete(context: Context, engine: AnyEngine) -> Answer:
    """Delete sessions for good, with what was made of them, after a typed confirmation.

    Refused where an agent runs it.
    """
    found = [await find_session(engine, start) for start in context.args.ids]
    ids = list(dict.fromkeys(session.id for session in found))
    keep = context.args.keep_memories
    review = await engine.sessions.review(ids, keep_memories=keep)
    if not context.args.yes:
        context.console.note(*review.told)
        memories = await engine.sessions.memories_of(ids)
        await tell_copies(context, engine, memory_ids=memories, session_ids=ids)
    count = counted(len(review.sessions), "session", "sessions")
    context.confirm(f"Delete {count} for good?", word=_WORD)
    done = await engine.sessions.purge(ids, actor=context.actor, keep_memories=keep)
    files = await erase_files(context, engine)
    memories_too = counted(done.erased.memories, "memory", "memories")
    told = f"Deleted {counted(len(done.sessions), 'session', 'sessions')} and {memories_too}."
    return Answer(
        {
            **fields(done, "deleted=sessions purged=erased.memories removed=erased.removed"),
            "left": pairs(done.erased.left, "path", "reason"),
            **files.as_json(),
        },
        erased_view(told, done.erased, files),
    )


@Command(
    "resume",
    "print the command that resumes a session in its own agent",
    more="The session\nof a subagent is resumed in the one that started it.",
    examples=("sessions resume claude_code:258c", "sessions resume codex:019a --run"),
    arguments=(
        ID,
        Argument(
            "--run", action="store_true", help="run it, in the folder of the session's project"
        ),
    ),
).runs
async def resume(context: Context) -> Answer:
    """Print the command that resumes a session, or run it."""
    from synthorg_tui.executions.resuming import resumption

    async with context.engine() as engine:
        session = await find_session(engine, context.args.id)
    how = resumption(session.id, session.path, session.project)
    if how.problem and (context.args.run or not context.wants_json):
        remedy = f"`synthorg-tui sessions show {session.id}` shows what is stored."
        raise DomainError(how.problem, remedy=remedy)
    if context.args.run:
        _run(how)
    return Answer(
        {"id": session.id, **fields(how, "command directory? line problem")},
        how.line,
        code=1 if how.problem else 0,
    )


GROUP: Final = Command(
    "sessions",
    about="Work on imported sessions. An ID may be shortened to its first characters.",
    examples=(
        "sessions list",
        "sessions show claude_code:258c",
        "sessions delete codex:019a",
    ),
    commands=(list_sessions, show_session, export, resume, delete),
)


def _run(how: "Resumption") -> None:
    """Become the agent's program, in the folder of the session's project."""
    try:
        os.chdir(how.directory or Path.cwd())
        os.execvp(how.command[0], how.command)
    except OSError as error:
        why = error.strerror or str(error)
        raise DomainError(f"{how.command[0]} can't be started: {why}", remedy=how.line) from error

"""``sessions``: lists imported sessions and forgets them, with what was made of them."""

from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command, add_group, whole
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.erasing import WORD, add_erasing, erase_files, print_erased, tell_copies
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import local_time
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.cli.context import AnyEngine, Context
    from synthorg_tui.cli.shapes import Json
    from synthorg_tui.executions.sessions import StoredSession

MAX_LISTED: Final = 10_000
_MEGABYTE: Final = 1e6


def add(commands: Subparsers) -> None:
    """Add the parser of ``sessions`` to ``commands``."""
    actions = add_group(
        commands,
        "sessions",
        COMMANDS["sessions"].summary,
        "Work on imported sessions. An ID may be shortened to its first characters.",
        examples=("sessions list", "sessions show claude-code:258c", "sessions purge codex:019a"),
    )
    listing = add_command(
        actions,
        "list",
        run_list,
        "list imported sessions, the latest first, with their size in the store",
        examples=("sessions list --agent codex --limit 5", "sessions list --json"),
    )
    listing.add_argument("--agent", metavar="ID", help="only this one's")
    listing.add_argument(
        "--limit", type=whole(1, MAX_LISTED), default=20, metavar="N", help="at most (default 20)"
    )
    showing = add_command(
        actions, "show", run_show, "show a session, and what forgetting it would erase"
    )
    showing.add_argument("id", metavar="ID")
    purging = add_command(
        actions,
        "purge",
        run_purge,
        "forget sessions for good: record, lines, and what was made of them",
        more="They can't be restored, nor imported again. The transcripts' files stay.",
        examples=("sessions purge codex:019a", "sessions purge codex:019a --keep-memories"),
    )
    purging.add_argument("ids", nargs="+", metavar="ID")
    purging.add_argument(
        "--keep-memories", action="store_true", help="keep the memories and skills made of them"
    )
    add_erasing(purging)


async def run_list(context: "Context") -> int:
    """List the imported sessions, and how much all of them take."""
    args = context.args
    async with context.engine() as engine:
        sessions = await engine.sessions.list()
    chosen = [each for each in sessions if args.agent in (None, each.agent_id)]
    size = sum(session.size for session in chosen)
    if context.wants_json:
        listed = [_shape(session) for session in chosen[: args.limit]]
        context.console.json({"sessions": listed, "total": len(chosen), "bytes": size})
        return 0
    if not chosen:
        context.console.line("No sessions; they come with `synthorg-tui import`.")
        return 0
    rows = [
        (
            session.id,
            session.agent_id,
            local_time(session.ended_at or session.started_at),
            f"{session.lines:,}",
            _sized(session.size),
            session.title,
        )
        for session in chosen[: args.limit]
    ]
    context.console.table(("SESSION", "AGENT", "LATEST", "LINES", "SIZE", "TASK"), rows)
    all_of_them = counted(len(chosen), "session", "sessions")
    context.console.note(f"{all_of_them}, {_sized(size)} in the store")
    return 0


async def run_show(context: "Context") -> int:
    """Show one session, with what forgetting it would erase."""
    async with context.engine() as engine:
        session = await _find(engine, context.args.id)
        review = await engine.sessions.review([session.id])
    if context.wants_json:
        context.console.json(_shape(session) | {"forgetting": list(review.told)})
        return 0
    console = context.console
    console.line(session.id)
    for name, value in (
        ("agent", session.agent_id),
        ("project", session.project or ""),
        ("read from", session.path),
        ("started", local_time(session.started_at)),
        ("ended", local_time(session.ended_at)),
        ("size", f"{session.lines:,} lines, {_sized(session.size)} in the store"),
        ("title", session.title),
    ):
        if value:
            console.parts([(f"  {name:<10}", "dim"), (" ".join(value.split()),)], separator="")
    console.line("Forgetting it would erase:")
    for consequence in review.told:
        console.line(f"  {consequence}")
    return 0


async def run_purge(context: "Context") -> int:
    """Forget sessions for good, with what was made of them, after a typed confirmation."""
    args = context.args
    async with context.engine() as engine:
        found = [await _find(engine, start) for start in args.ids]
        ids = list(dict.fromkeys(session.id for session in found))
        review = await engine.sessions.review(ids, keep_memories=args.keep_memories)
        if not args.yes:
            for consequence in review.told:
                context.console.note(consequence)
            memories = await engine.sessions.memories_of(ids)
            await tell_copies(context, engine, memory_ids=memories, session_ids=ids)
        count = counted(len(review.sessions), "session", "sessions")
        context.confirm(f"Forget {count} for good?", word=WORD)
        done = await engine.sessions.purge(
            ids, actor=context.actor, keep_memories=args.keep_memories
        )
        files = await erase_files(context, engine)
    if context.wants_json:
        context.console.json(
            {
                "forgotten": list(done.sessions),
                "purged": done.erased.memories,
                "removed": list(done.erased.removed),
                "left": [{"path": path, "reason": why} for path, why in done.erased.left],
                **files.as_json(),
            }
        )
        return 0
    memories_too = counted(done.erased.memories, "memory", "memories")
    forgotten = counted(len(done.sessions), "session", "sessions")
    print_erased(context, f"Forgot {forgotten} and {memories_too}.", done.erased, files)
    return 0


async def _find(engine: "AnyEngine", id_start: str) -> "StoredSession":
    """The session whose id starts so; raises ``DomainError`` for none, ``UsageError`` for more."""
    found = [each for each in await engine.sessions.list() if each.id.startswith(id_start)]
    exact = [session for session in found if session.id == id_start]
    if exact:
        return exact[0]
    if not found:
        remedy = "See `synthorg-tui sessions list`."
        raise DomainError(f"no session has an id that starts with {id_start!r}", remedy=remedy)
    if len(found) > 1:
        names = ", ".join(session.id for session in found[:5])
        raise UsageError(f"several ids start with {id_start!r}: {names}")
    return found[0]


def _sized(size: int) -> str:
    return f"{size / _MEGABYTE:,.1f} MB" if size >= _MEGABYTE else f"{size / 1_000:,.0f} kB"


def _shape(session: "StoredSession") -> "Json":
    return {
        "id": session.id,
        "agent_id": session.agent_id,
        "project": session.project,
        "path": session.path,
        "parent_id": session.parent_id,
        "started_at": session.started_at.isoformat() if session.started_at else None,
        "ended_at": session.ended_at.isoformat() if session.ended_at else None,
        "lines": session.lines,
        "bytes": session.size,
        "task": session.title,
    }

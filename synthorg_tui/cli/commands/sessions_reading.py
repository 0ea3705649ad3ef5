"""``sessions show`` and ``sessions export``: a stored session to read, and as a file."""

import argparse
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import ID, Argument, ArgumentGroup, path
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands.sessions_list import session_shape
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.naming import the_only
from synthorg_tui.cli.output import BLANK, Answer, Console, Facts, Line
from synthorg_tui.cli.pager import NO_PAGER, paged
from synthorg_tui.core.errors import DomainError

if TYPE_CHECKING:
    from synthorg_tui.executions.conversation import Conversation
    from synthorg_tui.executions.sessions import StoredSession

_AROUND: Final = 10
"""Entries shown before and after the one that ``--at`` names."""
_CHUNK: Final = 1_000
"""Lines that are asked for at once."""
_RANGE: Final = re.compile(r"(\d+)(?:-(\d+)?)?")
_PLACE: Final = re.compile(r"(?:(?P<id>\S+)#)?L?(?P<first>\d+)(?:-L?\d+)?")
_FORMATS: Final = ("markdown", "jsonl")


def line_range(text: str) -> tuple[int, int | None]:
    """Parse an argument as lines: ``12``, ``12-30``, or ``12-`` for all from there on."""
    found = _RANGE.fullmatch(text)
    first = int(found[1]) if found else 0
    last = first if found and "-" not in text else int(found[2]) if found and found[2] else None
    if not found or first < 1 or (last is not None and last < first):
        raise argparse.ArgumentTypeError(f"{text!r} are no lines; write 12, 12-30 or 12-")
    return first, last


def place(text: str) -> int:
    """Parse an argument as a line, or a memory's source, whose first line is taken."""
    found = _PLACE.fullmatch(text)
    if not found or int(found["first"]) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no line, and no source like ID#L12-L30")
    return int(found["first"])


async def find_session(engine: AnyEngine, id_start: str) -> "StoredSession":
    """Return the session whose id starts so, before the slash of a subagent's and after it.

    Raises ``DomainError`` for none, and ``UsageError`` for several.
    """
    start, slash, part = id_start.partition("/")
    found = [
        session
        for session in await engine.sessions.list()
        if session.id.startswith(id_start)
        or (slash and "/" in session.id and _is_part(session.id, start, part))
    ]
    whole = [session for session in found if "/" not in session.id]
    none = DomainError(
        f"no session has an id that starts with {id_start!r}",
        remedy="See `synthorg-tui sessions list`.",
    )
    return the_only(whole if len(whole) == 1 and not slash else found, id_start, none)


def _is_part(session_id: str, start: str, part: str) -> bool:
    root, _, name = session_id.partition("/")
    return root.startswith(start) and name.startswith(part)


@Command(
    "show",
    "show a session as a conversation, one line a call",
    more="Numbers are\nlines of the transcript. ID may be the source of a memory, too.",
    examples=(
        "sessions show claude_code:258c",
        "sessions show codex:019a --lines 120-180 --full",
        "sessions show 'codex:019a...#L12-L30'",
    ),
    arguments=(
        ID,
        ArgumentGroup(
            Argument("--lines", type=line_range, metavar="A-B", help="only these lines"),
            Argument(
                "--at", type=place, metavar="LINE", help="around this line, or a memory's source"
            ),
        ),
        ArgumentGroup(
            Argument("--full", action="store_true", help="with the outputs of all calls"),
            Argument("--raw", action="store_true", help="the stored lines as they are"),
        ),
        NO_PAGER,
    ),
).asks
async def show_session(context: Context, engine: AnyEngine) -> Answer | int:
    """Show one session as a conversation, or its lines."""
    from synthorg_tui.cli.session_text import entries_view, entry_shape, session_facts

    args = context.args
    named = _PLACE.fullmatch(args.id)
    at, id_start = args.at, args.id
    if named and named["id"]:
        id_start, at = named["id"], at or (None if args.lines else int(named["first"]))
    session = await find_session(engine, id_start)
    if args.raw:
        return await _show_raw(context, engine, session, at)
    told = await _conversation(engine, session)
    if at and at > told.line_count:
        raise UsageError(f"the session has {told.line_count:,} lines")
    marked = told.entry_at(at) if at else None
    chosen = _chosen(told, args.lines, marked)
    outputs = await outputs_of(engine, told, chosen) if args.full else {}

    def show(terminal: Console) -> None:
        shown = [told.entries[index] for index in chosen]
        is_part = len(shown) < len(told.entries)
        with paged(terminal, wanted=not args.no_pager) as console:
            console.show(
                (
                    Line(session.title, "bold"),
                    Facts(session_facts(session)),
                    BLANK,
                    entries_view(
                        told, chosen, outputs, marked=marked, is_cut=terminal.out.isatty()
                    ),
                    is_part
                    and Line(
                        f"Lines {shown[0].first_line:,} to {shown[-1].last_line:,} of "
                        f"{told.line_count:,}",
                        "dim",
                    ),
                )
            )

    return Answer(
        session_shape(session)
        | {"entries": [entry_shape(told.entries[index], outputs.get(index)) for index in chosen]},
        show,
    )


async def outputs_of(
    engine: AnyEngine, told: "Conversation", chosen: Sequence[int]
) -> dict[int, str]:
    """Return the whole outputs of the calls with these indices, by index."""
    from synthorg_tui.executions.conversation import EntryKind

    outputs: dict[int, str] = {}
    for index in chosen:
        entry = told.entries[index]
        if entry.kind is not EntryKind.CALL:
            continue
        lines = await _lines(engine, told.session_id, *entry.body_ref) if entry.is_cut else ()
        outputs[index] = entry.full_body(lines)
    return outputs


@Command(
    "export",
    "write a session to a file: as Markdown, or its redacted lines",
    more="A PATH that\nends in .jsonl gets the lines; - is standard output.",
    examples=("sessions export codex:019a", "sessions export codex:019a session.jsonl"),
    arguments=(
        ID,
        Argument(
            "path", nargs="?", type=path, metavar="PATH", help="default: a name made of the ID"
        ),
        Argument("--format", choices=_FORMATS, help="default: by the end of PATH"),
        Argument("--force", action="store_true", help="replace a file that is there"),
    ),
).asks
async def export(context: Context, engine: AnyEngine) -> Answer | int:
    """Write one session to a file, whole or not at all."""
    args = context.args
    by_name = "jsonl" if args.path and args.path.suffix in (".jsonl", ".json") else "markdown"
    kind = args.format or by_name
    session = await find_session(engine, args.id)
    text = await session_file(engine, session, kind)
    if str(args.path) == "-":
        context.console.exact(text)
        return 0
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", session.id)
    target = args.path or Path(f"{name}.{'jsonl' if kind == 'jsonl' else 'md'}")
    _write(target, text, force=args.force)
    return Answer(
        {
            "id": session.id,
            "path": str(target.absolute()),
            "format": kind,
            "bytes": len(text),
        },
        f"Wrote {target}",
    )


async def session_file(engine: AnyEngine, session: "StoredSession", kind: str) -> str:
    """Return a session as the text of a file, ``markdown`` or ``jsonl``."""
    return await (_jsonl if kind == "jsonl" else _markdown)(engine, session)


def _write(target: Path, text: str, *, force: bool) -> None:
    from synthorg_tui.core.files import write_atomically

    try:
        write_atomically(target, text.encode("utf-8", "backslashreplace"), mode=None, replace=force)
    except FileExistsError:
        raise UsageError(
            f"{target} is there already", remedy="Add --force to replace it."
        ) from None
    except OSError as error:
        raise DomainError(f"{target} can't be written: {error.strerror or error}") from error


async def _markdown(engine: AnyEngine, session: "StoredSession") -> str:
    from synthorg_tui.cli.session_text import markdown

    told = await _conversation(engine, session)
    outputs = await outputs_of(engine, told, range(len(told.entries)))
    return "\n".join([*markdown(session, told.entries, outputs), ""])


async def _jsonl(engine: AnyEngine, session: "StoredSession") -> str:
    """The stored lines; one that is no JSON, as of a Markdown history, becomes an object."""
    import json

    lines = []
    async for number, line in _all_lines(engine, session, 1, session.lines):
        lines.append(line if _is_json(line) else json.dumps({"line": number, "text": line}))
    return "\n".join([*lines, ""])


def _is_json(line: str) -> bool:
    import json

    try:
        return line.startswith(("{", "[")) and json.loads(line) is not None
    except (ValueError, RecursionError):
        return False


async def _conversation(engine: AnyEngine, session: "StoredSession") -> "Conversation":
    told = await engine.sessions.conversation(session.id)
    if told is None:
        raise DomainError(f"session {session.id} was deleted meanwhile")
    return told


def _chosen(
    told: "Conversation", lines: "tuple[int, int | None] | None", marked: int | None
) -> Sequence[int]:
    """The indices of the entries to show."""
    count = len(told.entries)
    if marked is not None:
        return range(max(0, marked - _AROUND), min(count, marked + _AROUND + 1))
    if lines is None:
        return range(count)
    first, last = lines[0], lines[1] or told.line_count
    if first > told.line_count:
        raise UsageError(f"the session has {told.line_count:,} lines")
    return [
        index
        for index, each in enumerate(told.entries)
        if each.first_line <= last and each.last_line >= first
    ]


async def _show_raw(
    context: Context, engine: AnyEngine, session: "StoredSession", at: int | None
) -> Answer | int:
    first, last = (at, at) if at else context.args.lines or (1, None)
    if first > session.lines:
        raise UsageError(f"the session has {session.lines:,} lines")
    last = min(last or session.lines, session.lines)
    if context.wants_json:
        return Answer(
            {
                "id": session.id,
                "lines": [[n, text] async for n, text in _all_lines(engine, session, first, last)],
            },
            "",
        )
    async for _, text in _all_lines(engine, session, first, last):
        context.console.exact(f"{text}\n")
    return 0


async def _all_lines(
    engine: AnyEngine, session: "StoredSession", first: int, last: int
) -> AsyncIterator[tuple[int, str]]:
    for start in range(first, last + 1, _CHUNK):
        for pair in await _lines(engine, session.id, start, min(last, start + _CHUNK - 1)):
            yield pair


async def _lines(
    engine: AnyEngine, session_id: str, first: int, last: int
) -> Sequence[tuple[int, str]]:
    from synthorg_tui.executions.models import SourceRef

    ref = SourceRef(execution_id=session_id, first_line=first, last_line=last)
    excerpt = await engine.executions.excerpt(ref)
    return excerpt.lines if excerpt is not None else ()

"""``blame``: which session wrote a file, or a line of it, and what it was asked for."""

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command, whole
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import local_time
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import expand_home, short_path
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context
    from synthorg_tui.cli.shapes import Json
    from synthorg_tui.executions.blame import Blame, FileTouch

_PLACE: Final = re.compile(r"(?P<path>.+?)(?::(?P<line>\d+)(?::\d+)?)?")
_MAX_LISTED: Final = 10_000
_MAX_FILE: Final = 64 * 1024 * 1024
_SHELL: Final = "What shell commands wrote (>, sed -i, formatters) isn't known by file."


def add(commands: Subparsers) -> None:
    """Add the parser of ``blame`` to ``commands``."""
    parser = add_command(
        commands,
        "blame",
        run_blame,
        COMMANDS["blame"].summary,
        more="With a\nLINE, the session that wrote this very line comes first. "
        "What shell commands wrote\nisn't known by file.",
        examples=("blame src/upload.py", "blame src/upload.py:42", "blame --json README.md"),
    )
    parser.add_argument("place", type=file_place, metavar="FILE[:LINE]")
    parser.add_argument(
        "--limit", type=whole(1, _MAX_LISTED), default=20, metavar="N", help="at most (default 20)"
    )


def file_place(text: str) -> tuple[str, int | None]:
    """Parse an argument as a file and a line after a colon; a file of that name comes first.

    The path is returned absolute, with links resolved.
    """
    if not text.strip() or "\0" in text:
        raise argparse.ArgumentTypeError("the path is empty")
    found = _PLACE.fullmatch(text)
    if not found or not found["line"] or expand_home(text).exists():
        return os.path.realpath(expand_home(text)), None
    if int(found["line"]) < 1:
        raise argparse.ArgumentTypeError("lines are counted from 1")
    return os.path.realpath(expand_home(found["path"])), int(found["line"])


async def run_blame(context: "Context") -> int:
    """Print the calls that changed a file, the latest first."""
    target, number = context.args.place
    text = _line_of(Path(target), number) if number else None
    async with context.engine() as engine:
        blame = await engine.sessions.blame(target, text)
    if context.wants_json:
        touches = [_shape(touch) for touch in blame.touches[: context.args.limit]]
        result = {"path": target, "line": number, "text": text, "touches": touches}
        context.console.json(result | {"total": len(blame.touches), "unseen": blame.unseen})
        return 0
    _print(context, blame, short_path(target), text)
    return 0


def _line_of(path: Path, number: int) -> str:
    """The text of a line of the file as it is now."""
    try:
        if path.stat().st_size > _MAX_FILE:
            raise UsageError(f"{path} is too large to look for a line in it")
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise DomainError(f"{path} can't be read: {error.strerror or error}") from error
    count = len(lines) - (not lines[-1])
    if number > count:
        raise UsageError(f"{path} has {counted(count, 'line')}")
    return lines[number - 1]


def _print(context: "Context", blame: "Blame", path: str, text: str | None) -> None:
    console = context.console
    if text is not None:
        console.parts([("line", "dim"), (text.strip() or "(blank)",)])
    if not blame.touches:
        console.line(f"No stored session changed {path}.")
    elif text is not None and not text.strip():
        console.line("A blank line says nothing of who wrote it; these changed the file:")
    elif text is not None and blame.author is None:
        console.line("No stored session wrote this line; these changed the file:")
    if not blame.touches or (text is not None and blame.author is None):
        console.note(_SHELL)
    shown = blame.touches[: context.args.limit]
    _print_touches(context, shown)
    if hidden := len(blame.touches) - len(shown):
        console.note(f"and {counted(hidden, 'earlier change')}; --limit shows more")
    if blame.unseen:
        console.note(f"{counted(blame.unseen, 'earlier session')} of it not looked at")


def _print_touches(context: "Context", shown: "Sequence[FileTouch]") -> None:
    console = context.console
    session = ""
    for touch in shown:
        if touch.session_id != session:
            _print_session(context, touch)
        session = touch.session_id
        console.parts([(f"  {touch.line:>7,}", "dim"), (touch.call,)])
        if touch.wrote_line:
            console.line("           wrote this line", "green")
            session = ""
            if len(shown) > 1:
                console.line("Other changes of the file:")


def _print_session(context: "Context", touch: "FileTouch") -> None:
    console = context.console
    console.parts([(local_time(touch.at), "dim"), (touch.agent_id, "cyan"), (touch.title, "bold")])
    if touch.request:
        console.parts([("  asked", "dim"), (touch.request,)])
    if touch.elsewhere:
        console.parts([("  there", "dim"), (short_path(touch.path),)])
    ref = f"{touch.session_id}#L{touch.line}"
    console.line(f"  synthorg-tui sessions show '{ref}'", "dim")


def _shape(touch: "FileTouch") -> "Json":
    return {
        "session_id": touch.session_id,
        "agent_id": touch.agent_id,
        "title": touch.title,
        "at": touch.at.isoformat() if touch.at else None,
        "line": touch.line,
        "call": touch.call,
        "request": touch.request,
        "path": touch.path,
        "elsewhere": touch.elsewhere,
        "wrote_line": touch.wrote_line,
    }

"""``blame``: which session wrote a file, or a line of it, and what it was asked for."""

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument, limit
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import Answer, Console, local_time
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import expand_home, short_path
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.executions.blame import Blame, FileTouch

_PLACE: Final = re.compile(r"(?P<path>.+?)(?::(?P<line>\d+)(?::\d+)?)?")
_MAX_LISTED: Final = 10_000
_MAX_FILE: Final = 64 * 1024 * 1024
_SHELL: Final = "What shell commands wrote (>, sed -i, formatters) isn't known by file."


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


@Command(
    "blame",
    more="With a\nLINE, the session that wrote this very line comes first. "
    "What shell commands wrote\nisn't known by file.",
    examples=("blame src/upload.py", "blame src/upload.py:42", "blame --json README.md"),
    arguments=(
        Argument("place", type=file_place, metavar="FILE[:LINE]"),
        limit(20, most=_MAX_LISTED),
    ),
).runs
async def blame_file(context: Context) -> Answer:
    """Print the calls that changed a file, the latest first."""
    target, number = context.args.place
    text = _line_of(Path(target), number) if number else None
    async with context.engine() as engine:
        blame = await engine.sessions.blame(target, text)
    shown = blame.touches[: context.args.limit]
    touches = [
        {
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
        for touch in shown
    ]
    result = {"path": target, "line": number, "text": text, "touches": touches}
    return Answer(
        result | {"total": len(blame.touches), "unseen": blame.unseen},
        lambda console: _show(console, blame, shown, short_path(target), text),
    )


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


def _show(
    console: Console, blame: "Blame", shown: "Sequence[FileTouch]", path: str, text: str | None
) -> None:
    is_author_unknown = text is not None and blame.author is None
    if text is not None:
        console.parts([("line", "dim"), (text.strip() or "(blank)",)])
    if not blame.touches:
        console.line(f"No stored session changed {path}.")
    elif text is not None and not text.strip():
        console.line("A blank line says nothing of who wrote it; these changed the file:")
    elif is_author_unknown:
        console.line("No stored session wrote this line; these changed the file:")
    if not blame.touches or is_author_unknown:
        console.note(_SHELL)
    _show_touches(console, shown)
    if hidden := len(blame.touches) - len(shown):
        console.note(f"and {counted(hidden, 'earlier change')}; --limit shows more")
    if blame.unseen:
        console.note(f"{counted(blame.unseen, 'earlier session')} of it not looked at")


def _show_touches(console: Console, shown: "Sequence[FileTouch]") -> None:
    session = ""
    for touch in shown:
        if touch.session_id != session:
            _show_session(console, touch)
        session = touch.session_id
        console.parts([(f"  {touch.line:>7,}", "dim"), (touch.call,)])
        if touch.wrote_line:
            console.line("           wrote this line", "green")
            session = ""
            if len(shown) > 1:
                console.line("Other changes of the file:")


def _show_session(console: Console, touch: "FileTouch") -> None:
    console.parts([(local_time(touch.at), "dim"), (touch.agent_id, "cyan"), (touch.title, "bold")])
    if touch.request:
        console.parts([("  asked", "dim"), (touch.request,)])
    if touch.elsewhere:
        console.parts([("  there", "dim"), (short_path(touch.path),)])
    ref = f"{touch.session_id}#L{touch.line}"
    console.line(f"  synthorg-tui sessions show '{ref}'", "dim")

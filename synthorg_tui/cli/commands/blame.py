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
from synthorg_tui.cli.output import Answer, Line, Note, Parts, View, local_time
from synthorg_tui.cli.records import shaped
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
    names = "session_id agent_id title at line call request path elsewhere wrote_line"
    return Answer(
        {
            "path": target,
            "line": number,
            "text": text,
            "touches": shaped(shown, names),
            "total": len(blame.touches),
            "unseen": blame.unseen,
        },
        _view(blame, shown, short_path(target), text),
    )


def _view(blame: "Blame", shown: "Sequence[FileTouch]", path: str, text: str | None) -> View:
    is_author_unknown = text is not None and blame.author is None
    told = "No stored session wrote this line; these changed the file:" * is_author_unknown
    if not blame.touches:
        told = f"No stored session changed {path}."
    elif text is not None and not text.strip():
        told = "A blank line says nothing of who wrote it; these changed the file:"
    hidden = len(blame.touches) - len(shown)
    more = f"and {counted(hidden, 'earlier change')}; --limit shows more"
    unseen = f"{counted(blame.unseen, 'earlier session')} of it not looked at"
    return (
        text is not None and Parts([("line", "dim"), (text.strip() or "(blank)",)]),
        told,
        (not blame.touches or is_author_unknown) and Note(_SHELL),
        [
            _touch_view(touch, before, is_one_of_many=len(shown) > 1)
            for touch, before in zip(shown, [None, *shown], strict=False)
        ],
        hidden > 0 and Note(more),
        blame.unseen > 0 and Note(unseen),
    )


def _touch_view(touch: "FileTouch", before: "FileTouch | None", *, is_one_of_many: bool) -> View:
    """A call, below its session where that isn't the one of the call before."""
    is_same = before and not before.wrote_line and before.session_id == touch.session_id
    author = (
        Line("           wrote this line", "green"),
        is_one_of_many and "Other changes of the file:",
    )
    return (
        "" if is_same else _session_view(touch),
        Parts([(f"  {touch.line:>7,}", "dim"), (touch.call,)]),
        author if touch.wrote_line else "",
    )


def _session_view(touch: "FileTouch") -> View:
    return (
        Parts([(local_time(touch.at), "dim"), (touch.agent_id, "cyan"), (touch.title, "bold")]),
        bool(touch.request) and Parts([("  asked", "dim"), (touch.request,)]),
        touch.elsewhere and Parts([("  there", "dim"), (short_path(touch.path),)]),
        Line(f"  synthorg-tui sessions show '{touch.session_id}#L{touch.line}'", "dim"),
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

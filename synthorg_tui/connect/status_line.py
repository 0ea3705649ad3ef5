"""One line for a status bar: how many proposals wait, and what was decided elsewhere.

tmux asks every few seconds and Claude Code at every answer, so as with hooks nothing but the quick
part of the standard library is imported. The counts are kept beside the database, with its size
and time: while these are the same, nobody is asked. Then the owner is. Where there is none, the
kept counts are shown, which whoever closed the store left there, and another process reads the
database for the next time, one on a server at most once a minute. No model and no engine is loaded,
nothing is changed.
"""

import os
import select
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from synthorg_tui.connect import trouble
from synthorg_tui.connect.hook import CallFailedError, HookConnection, configured_data_dir
from synthorg_tui.core.errors import DomainError
from synthorg_tui.host.errors import NoOwnerError, RefusedError
from synthorg_tui.persistence import DATABASE_FILE, STATUS_FILE
from synthorg_tui.persistence.kept_counts import is_on_server, keep, kept, mark_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

FORMATS = ("text", "tmux", "claude")
TIME_LIMIT = 1.0
"""Seconds that the owner has to answer."""
SERVER_PAUSE = 60.0
"""Seconds between two readings of a database on a server, while there is no owner."""
MAX_REFRESH = 30.0
"""Seconds after which a reading of the database that was begun counts as given up."""
_MAX_INPUT_BYTES = 1024 * 1024
_OPTIONS = ("--data-dir", "--config", "--format")
_STYLES = {
    "text": ("", ""),
    "tmux": ("#[fg=yellow]", "#[default]"),
    "claude": ("\x1b[33m", "\x1b[0m"),
}


def quick(arguments: Sequence[str]) -> "dict[str, str] | None":
    """Return the options when these arguments can be read without the parser, else ``None``."""
    if arguments[:1] != ["status"] or len(arguments) % 2 == 0:
        return None
    names, values = arguments[1::2], arguments[2::2]
    options = dict(zip(names, values, strict=True))
    known = all(name in _OPTIONS for name in names)
    return options if known and options.get("--format", "text") in FORMATS else None


def main(
    options: Mapping[str, str], *, stdin: "IO[bytes] | None" = None, stdout: "IO[str] | None" = None
) -> int:
    """Print the line, or nothing when nothing waits or can be known; return 0 always."""
    style = options.get("--format", "text")
    if style == "claude":
        drain(stdin)
    data_dir = options.get("--data-dir", "")
    with suppress(DomainError):
        data_dir = data_dir or configured_data_dir(options)
    config = options.get("--config", "")
    line = line_of(*counts_in(data_dir, config, at_once=True), style=style) if data_dir else ""
    for each in (*trouble_lines(style), *([line] if line else [])):
        (stdout or sys.stdout).write(f"{each}\n")
    return 0


def trouble_lines(style: str = "text") -> list[str]:
    """Return what kept hooks from a store within a day; a bar has room for a word only."""
    lines = trouble.current(time.time())
    return lines if style == "text" else ["hooks can't reach the store"] * bool(lines)


def line_of(waiting: int, news: int, *, style: str = "text") -> str:
    """Return the line, such as ``3 to review · 2 new``; empty when there is neither."""
    before, after = _STYLES[style]
    parts = [f"{before}{waiting:,} to review{after}"] if waiting else []
    parts += [f"{news:,} new"] if news else []
    return " · ".join(parts)


def counts_in(data_dir: str, config: str = "", *, at_once: bool = False) -> tuple[int, int]:
    """Return how many proposals of a store wait and how many decisions the app hasn't told of.

    ``config`` is the settings file, which says where a server is; by default the person's own.
    With ``at_once`` nobody waits for the database to be read: what was kept is returned, and kept
    anew in the background. What can't be known is zero: a status bar is no place for errors.
    """
    try:
        mark = mark_of(data_dir)
        known, holds = kept(data_dir, mark)
        if known is not None and holds:
            return known
        counts = _asked(data_dir)
        if counts is None and known is not None and at_once:
            _refresh_beside(data_dir, config)
            return known
        if counts is None:
            counts = _read(data_dir, config)
        keep(data_dir, mark, counts)
    except Exception:  # whatever is wrong, the bar has to be drawn
        return 0, 0
    return counts


def refresh(data_dir: str, config: str) -> None:
    """Keep the counts as they are now, and let others do so from now on."""
    try:
        counts_in(data_dir, config)
    finally:
        os.unlink(_refreshing(data_dir))


def drain(stdin: "IO[bytes] | None" = None) -> None:
    """Read what Claude Code tells of its session, which isn't needed, so that it can be written."""
    stream = stdin or sys.stdin.buffer
    try:
        if stream.isatty() or not select.select([stream], [], [], 0)[0]:
            return
        stream.read(_MAX_INPUT_BYTES)
    except (OSError, ValueError):
        return


def _asked(data_dir: str) -> "tuple[int, int] | None":
    """The counts as the owner has them; ``None`` when nobody listens."""
    deadline = time.monotonic() + TIME_LIMIT
    hello: dict[str, object] = {"role": "status", "pid": os.getpid()}
    try:
        connection = HookConnection(data_dir, deadline=deadline, hello=hello)
    except (NoOwnerError, RefusedError, CallFailedError, OSError):
        return None
    try:
        counts = connection.call("approvals.counts", {})
        news = connection.call("trail.news", {})
    finally:
        connection.close()
    assert isinstance(counts, dict)
    assert isinstance(news, list)
    return int(counts["pending"]), len(news)


def _read(data_dir: str, config: str) -> tuple[int, int]:
    """The counts as the database has them, which is opened for reading only."""
    from datetime import UTC, datetime
    from pathlib import Path

    from synthorg_tui.approvals.trail import waiting_in
    from synthorg_tui.persistence.database_file import connect_file

    if is_on_server(data_dir) and (address := _address(config)):
        from synthorg_tui.persistence.postgres.database import read_once

        return read_once(address, lambda db: waiting_in(db, datetime.now(UTC)))
    connection = connect_file(Path(data_dir) / DATABASE_FILE, read_only=True)
    try:
        return waiting_in(connection, datetime.now(UTC))
    finally:
        connection.close()


def _address(config: str) -> str:
    """The server that the settings name; empty when they name none any more."""
    from pathlib import Path

    from synthorg_tui.settings.loader import load_settings

    persistence = load_settings(Path(config) if config else None).persistence
    return persistence.address() if persistence.is_postgres else ""


def _refresh_beside(data_dir: str, config: str) -> None:
    """Have another process keep the counts, unless one does: status bars ask many times a second.

    It has no terminal and no part in the bar's pipes: a bar waits for whoever holds those.
    """
    mark = _refreshing(data_dir)
    if is_on_server(data_dir) and time.time() - _kept_at(data_dir) < SERVER_PAUSE:
        return
    try:
        if time.time() - os.stat(mark).st_mtime < MAX_REFRESH:
            return
        os.unlink(mark)
    except FileNotFoundError:
        pass
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    code = f"import sys; from {__name__} import refresh; refresh(*sys.argv[1:])"
    nothing = [(os.POSIX_SPAWN_OPEN, each, os.devnull, os.O_RDWR, 0) for each in range(3)]
    command = [
        sys.executable,
        "-P",
        "-c",
        code,
        os.path.abspath(data_dir),
        config and os.path.abspath(config),
    ]
    os.posix_spawn(sys.executable, command, os.environ, file_actions=nothing, setpgroup=0)


def _refreshing(data_dir: str) -> str:
    """The file that is there while somebody reads the database for the next bar."""
    return os.path.join(data_dir, f"{STATUS_FILE}.reading")


def _kept_at(data_dir: str) -> float:
    return os.stat(os.path.join(data_dir, STATUS_FILE)).st_mtime

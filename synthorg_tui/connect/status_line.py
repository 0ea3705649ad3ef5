"""One line for a status bar: how many proposals wait, and what was decided elsewhere.

tmux asks every few seconds and Claude Code at every answer, so as with hooks nothing but the quick
part of the standard library is imported. The counts are kept beside the database, with its size
and time: while these are the same, nobody is asked. Then the owner is, or, where there is none,
the file is read. No model and no engine is loaded, nothing is changed.
"""

import json
import os
import select
import sys
import time
from collections.abc import Mapping, Sequence

from synthorg_tui.connect.hook import DATABASE_FILE, CallFailedError, HookConnection
from synthorg_tui.host.errors import NoOwnerError, RefusedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

FORMATS = ("text", "tmux", "claude")
CACHE_FILE = "status.json"
TIME_LIMIT = 1.0
"""Seconds that the owner has to answer."""
MAX_AGE = 900.0
"""Seconds that counts hold while the database is as it was: snoozed items come back by themselves.
Longer than an owner waits for its next client, so that no status bar keeps one running."""
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
    data_dir = options.get("--data-dir") or _configured_data_dir(options)
    line = line_of(*counts_in(data_dir), style=style) if data_dir else ""
    if line:
        (stdout or sys.stdout).write(f"{line}\n")
    return 0


def line_of(waiting: int, news: int, *, style: str = "text") -> str:
    """Return the line, such as ``3 to review · 2 new``; empty when there is neither."""
    before, after = _STYLES[style]
    parts = [f"{before}{waiting:,} to review{after}"] if waiting else []
    parts += [f"{news:,} new"] if news else []
    return " · ".join(parts)


def counts_in(data_dir: str) -> tuple[int, int]:
    """Return how many proposals of a store wait and how many decisions the app hasn't told of.

    What can't be known is zero: a status bar is no place for errors.
    """
    try:
        mark = _mark(data_dir)
        kept = _kept(data_dir, mark)
        if kept is not None:
            return kept
        counts = _asked(data_dir)
        if counts is None:
            counts = _read(data_dir)
        _keep(data_dir, mark, counts)
    except Exception:  # whatever is wrong, the bar has to be drawn
        return 0, 0
    return counts


def drain(stdin: "IO[bytes] | None" = None) -> None:
    """Read what Claude Code tells of its session, which isn't needed, so that it can be written."""
    stream = stdin or sys.stdin.buffer
    try:
        if stream.isatty() or not select.select([stream], [], [], 0)[0]:
            return
        stream.read(_MAX_INPUT_BYTES)
    except (OSError, ValueError):
        return


def _mark(data_dir: str) -> list[int]:
    """Sizes and times of the database's files: another write is another mark."""
    mark: list[int] = []
    for suffix in ("", ".wal"):
        try:
            stat = os.stat(os.path.join(data_dir, DATABASE_FILE + suffix))
        except FileNotFoundError:
            if not suffix:
                raise
            continue
        mark += [stat.st_size, stat.st_mtime_ns]
    return mark


def _kept(data_dir: str, mark: list[int]) -> "tuple[int, int] | None":
    try:
        with open(os.path.join(data_dir, CACHE_FILE), encoding="utf-8") as file:
            kept = json.load(file)
        is_fresh = kept["mark"] == mark and 0 <= time.time() - kept["at"] < MAX_AGE
        return (int(kept["waiting"]), int(kept["news"])) if is_fresh else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(data_dir: str, mark: list[int], counts: tuple[int, int]) -> None:
    """Store the counts, which are no secret, whole or not at all."""
    path = os.path.join(data_dir, CACHE_FILE)
    unfinished = f"{path}.{os.getpid()}"
    kept = {"mark": mark, "at": time.time(), "waiting": counts[0], "news": counts[1]}
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(kept, file)
        os.replace(unfinished, path)
    except OSError:
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


def _read(data_dir: str) -> tuple[int, int]:
    """The counts as the database has them, which is opened for reading only."""
    from datetime import UTC, datetime
    from pathlib import Path

    from synthorg_tui.approvals.models import ApprovalStatus
    from synthorg_tui.approvals.rows import count_by_status
    from synthorg_tui.approvals.trail import news_in
    from synthorg_tui.persistence.database_file import connect_file

    connection = connect_file(Path(data_dir) / DATABASE_FILE, read_only=True)
    try:
        counts = count_by_status(connection, datetime.now(UTC))
        return counts.get((ApprovalStatus.PENDING, False), 0), len(news_in(connection))
    finally:
        connection.close()


def _configured_data_dir(options: Mapping[str, str]) -> str:
    """Where the settings say the store is; reading them costs time, so status bars name it."""
    from pathlib import Path

    from synthorg_tui.core.errors import DomainError
    from synthorg_tui.settings.loader import load_settings

    config = Path(options["--config"]) if "--config" in options else None
    try:
        return load_settings(config).memory.storage.data_dir
    except DomainError:
        return ""

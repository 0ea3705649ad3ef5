"""How much waited when somebody last looked, kept beside the database for status bars.

A status bar asks every few seconds, also while nobody has the store open: it reads this file rather
than the database. Whoever closes the store brings it up to date, once a status bar has made it.
Hooks' modules read it, so only the quick part of the standard library may be imported here.
"""

import json
import os
import time

from synthorg_tui.persistence import DATABASE_FILE, SERVER_FILE, STATUS_FILE

MAX_AGE = 900.0
"""Seconds that counts hold while the database is as it was: snoozed items come back by themselves.
Longer than an owner waits for its next client, so that no status bar keeps one running."""

SERVER_AGE = 5.0
"""Seconds that counts hold of a database on a server, where others write unseen."""


def is_on_server(data_dir: str) -> bool:
    """Return whether the database of a store is on a server."""
    return os.path.exists(os.path.join(data_dir, SERVER_FILE))


def mark_of(data_dir: str) -> list[int]:
    """Return sizes and times of the database's files: another write is another mark.

    A database on a server has none. Raises ``FileNotFoundError`` where there is no database.
    """
    mark: list[int] = []
    if is_on_server(data_dir):
        return mark
    for suffix in ("", ".wal"):
        try:
            stat = os.stat(os.path.join(data_dir, DATABASE_FILE + suffix))
        except FileNotFoundError:
            if not suffix:
                raise
            continue
        mark += [stat.st_size, stat.st_mtime_ns]
    return mark


def kept(data_dir: str, mark: list[int]) -> "tuple[tuple[int, int] | None, bool]":
    """Return the counts that were kept, and whether they hold still for this mark.

    They are how many proposals wait and how many decisions are news; ``None`` when none are kept.
    """
    try:
        with open(os.path.join(data_dir, STATUS_FILE), encoding="utf-8") as file:
            found = json.load(file)
        most = MAX_AGE if mark else SERVER_AGE
        holds = found["mark"] == mark and 0 <= time.time() - found["at"] < most
        return (int(found["waiting"]), int(found["news"])), holds
    except (OSError, ValueError, KeyError, TypeError):
        return None, False


def keep(data_dir: str, mark: list[int], counts: "tuple[int, int]") -> None:
    """Store the counts, which are no secret, whole or not at all."""
    path = os.path.join(data_dir, STATUS_FILE)
    unfinished = f"{path}.{os.getpid()}"
    found = {"mark": mark, "at": time.time(), "waiting": counts[0], "news": counts[1]}
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(found, file)
        os.replace(unfinished, path)
    except OSError:
        return

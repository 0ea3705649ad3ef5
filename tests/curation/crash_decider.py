"""A process that takes one decision and is killed right after a given one of its steps."""

import asyncio
import functools
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from synthorg_tui.persistence.database import Database
from tests.curation.review_kit import PERSON, Office, office

ALIVE = 0
"""Exit code when there were fewer steps than that."""


class Fuse:
    """Counts steps, and kills this process when step ``length`` + 1 ends.

    A step that changed no file in ``data_dir`` isn't one: to be killed before it comes to the same.
    """

    def __init__(self, length: int, data_dir: Path) -> None:
        self.left = length
        self._data_dir = data_dir
        self._files: dict[str, tuple[int, int]] = {}

    def burn(self) -> None:
        before, self._files = self._files, self._look()
        if self._files == before:
            return
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def _look(self) -> dict[str, tuple[int, int]]:
        """Size and time of change of everything that is there."""
        found = {}
        for path in self._data_dir.rglob("*"):
            with suppress(FileNotFoundError):
                stat = path.lstat()
                found[str(path)] = stat.st_size, stat.st_mtime_ns
        return found

    def lay(self, owner: Any, name: str) -> None:
        """Replace a function of ``owner`` by one that counts as a step when it returns."""
        function: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            self.burn()
            return result

        setattr(owner, name, counted)


def run(data_dir: str, action: str, steps: int) -> None:
    """Take the decision ``action``, and be killed after ``steps`` more steps."""
    asyncio.run(_decide(Path(data_dir), action, Fuse(steps, Path(data_dir))))
    os._exit(ALIVE)


async def _decide(data_dir: Path, action: str, fuse: Fuse) -> None:
    async with office(data_dir) as desk:
        ready = await _prepared(desk, action)
        for owner, name in (
            (Database, "_transact"),
            (Path, "mkdir"),
            (os, "fsync"),
            (os, "replace"),
            (os, "unlink"),
            (Path, "rmdir"),
        ):
            fuse.lay(owner, name)
        fuse.burn()
        await ready()


async def _prepared(desk: Office, action: str) -> Callable[[], Any]:
    if action.startswith("undo"):
        return functools.partial(desk.desk.undo, PERSON)
    if action == "purge":
        (record,) = await desk.ledger.active()
        return functools.partial(desk.parts.erasure.purge, record.memory_ids, actor="person")
    (entry,) = await desk.desk.inbox()
    shown = (await desk.desk.review(entry.item.id)).shown
    return functools.partial(desk.desk.approve, entry.item.id, shown=shown, person=PERSON)

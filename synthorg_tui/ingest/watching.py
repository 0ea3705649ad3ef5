"""Watches the places of transcripts: tells which files may have changed, and reads none of them.

Thousands of files lie there and hardly any changes, so nothing looks at all of them: the system
tells of changes in folders, and only single files (databases with their logs, histories) and the
places themselves are looked at by the clock. What a change means is for ``following``.
"""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from synthorg_tui.core.text import is_utf8
from synthorg_tui.ingest.discovery import MAX_DEPTH, owner_of

_log = logging.getLogger(__name__)

STEP_MS: Final = 200
"""A change is told once nothing more has changed for that long."""
DEBOUNCE_MS: Final = 1_000
"""Changes that don't end are told after that."""
LOOK_MS: Final = 1_000
"""How often places are looked for, and single files looked at."""
LOOK_ANYWAY: Final = 600
"""After so many looks all is told as changed: a notification may be lost, a file system tell none.
"""
WITHOUT_WATCHES: Final = 30
"""The same where the system lets us watch no folder."""
MAX_FOLDERS: Final = 20_000
"""More aren't watched: those that changed last are, the others are looked at now and then."""


@dataclass(frozen=True, slots=True)
class _Survey:
    """What is there to watch: folders by inode, single files by what shows that they changed."""

    roots: tuple[Path, ...] = ()
    folders: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[Path, object] = field(default_factory=dict)
    is_taken: bool = False

    def new_in(self, later: "_Survey") -> frozenset[Path]:
        """The files that are others later, and the new folders, without those in them."""
        files = {at for at, stamp in later.files.items() if self.files.get(at) != stamp}
        new = {at for at, inode in later.folders.items() if self.folders.get(at) != inode}
        return frozenset(files.union(at for at in map(Path, new) if str(at.parent) not in new))


@dataclass(frozen=True, slots=True)
class _Told:
    """What the system told: files that changed, and folders that changed or are new."""

    files: frozenset[Path] = frozenset()
    folders: frozenset[Path] = frozenset()


class PlaceWatcher:
    """Watches the folders and files that ``places`` returns, also those that appear later.

    Links are followed for a place itself, never inside one: they may lead anywhere.
    """

    def __init__(self, places: Callable[[], Sequence[Path]]) -> None:
        self._places = places
        self._known = _Survey()

    async def changes(self, stop: asyncio.Event) -> AsyncGenerator[frozenset[Path]]:
        """Yield files and folders that may have changed, until ``stop`` is set.

        The first yield is empty: what changes after it is told by a later one. A folder stands for
        all files in it.
        """
        while not stop.is_set():
            before = self._known
            self._known = await asyncio.to_thread(self._survey)
            notifier = await asyncio.to_thread(_Notifier.of, tuple(self._known.folders))
            stopping = asyncio.create_task(_halted(notifier, stop))
            try:
                yield before.new_in(self._known) if before.is_taken else frozenset()
                async with aclosing(self._told(notifier)) as told:
                    async for paths in told:
                        yield paths
            finally:
                stopping.cancel()
                notifier.halt()

    async def _told(self, notifier: "_Notifier") -> AsyncGenerator[frozenset[Path]]:
        """Yield changes for as long as the folders to watch are the same."""
        looks = 0
        every = LOOK_ANYWAY if notifier.works else WITHOUT_WATCHES
        while not notifier.is_halted:
            told = await notifier.next()
            looks += 1
            before, present = self._known, await asyncio.to_thread(self._present)
            self._known = replace(before, files=present.files)
            changed = {at for at, stamp in present.files.items() if before.files.get(at) != stamp}
            changed |= told.files
            if looks % every == 0 or notifier.failed:
                changed |= {*before.roots, *present.files}
            if changed:
                yield frozenset(changed)
            is_new = any(str(folder) not in before.folders for folder in told.folders)
            if is_new or notifier.failed or present.roots != before.roots:
                return

    def _present(self) -> _Survey:
        """The places that exist now; what is in the folders isn't looked at."""
        roots, files = [], {}
        for place in self._places():
            try:
                path = place.resolve(strict=True)
            except (OSError, RuntimeError):
                continue
            if path.is_dir():
                roots.append(path)
            elif path.is_file():
                files[path] = tuple(map(_stamp, (path, Path(f"{path}-wal"))))
        return _Survey(tuple(dict.fromkeys(roots)), {}, files)

    def _survey(self) -> _Survey:
        present = self._present()
        folders: dict[str, tuple[int, int]] = {}
        for root in present.roots:
            _add_folders(str(root), folders, 0)
        newest = sorted(folders, key=lambda path: folders[path][1], reverse=True)[:MAX_FOLDERS]
        inodes = {path: folders[path][0] for path in newest}
        return _Survey(present.roots, inodes, present.files, is_taken=True)


class _Notifier:
    """The system's notifications of changes in some folders."""

    def __init__(self, folders: Sequence[str]) -> None:
        from watchfiles._rust_notify import RustNotify  # here: only watching needs it

        # Not recursive: that would follow links to wherever they lead.
        self._notify = RustNotify(list(folders), False, False, 0, False, True)
        self._stop = threading.Event()
        self.works = bool(folders)
        self.failed = False

    @classmethod
    def of(cls, folders: Sequence[str]) -> "_Notifier":
        """Watch these folders; nothing when the system has no watches left."""
        try:
            return cls(folders)
        except FileNotFoundError:  # a folder went while it was taken up
            missing = cls(())
            missing.failed = True
            return missing
        except (OSError, RuntimeError) as error:
            _log.warning("folders can't be watched, looking now and then: %s", error)
            return cls(())

    @property
    def is_halted(self) -> bool:
        """Whether it was told to end."""
        return self._stop.is_set()

    async def next(self) -> _Told:
        """Return what changes within the next ``LOOK_MS`` milliseconds."""
        return await asyncio.to_thread(self._next)

    def _next(self) -> _Told:
        from watchfiles._rust_notify import WatchfilesRustInternalError

        try:
            told = self._notify.watch(DEBOUNCE_MS, STEP_MS, LOOK_MS, self._stop)
        except WatchfilesRustInternalError as error:  # a name that isn't UTF-8 came
            _log.warning("watching anew: %s", error)
            self.failed = True
            return _Told()
        if isinstance(told, str):
            return _Told()
        paths = {Path(path) for _, path in told}
        folders = {path for path in paths if path.is_dir()}
        plain = {path for path in folders if not path.is_symlink()}
        return _Told(frozenset(paths - folders), frozenset(plain))

    def halt(self) -> None:
        """End the watching, also in the thread that waits."""
        self._stop.set()


async def _halted(notifier: _Notifier, stop: asyncio.Event) -> None:
    await stop.wait()
    notifier.halt()


def _add_folders(folder: str, found: dict[str, tuple[int, int]], depth: int) -> None:
    """Collect a folder and those in it, each with its inode and the time of its last change."""
    try:
        stat = Path(folder).stat()
        found[folder] = stat.st_ino, stat.st_mtime_ns
        with os.scandir(folder) as entries:
            inside = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for entry in inside:
        if depth < MAX_DEPTH and is_utf8(entry.name):
            _add_folders(entry.path, found, depth + 1)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        stat = path.stat()
    except OSError:
        return 0, 0, 0
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def transcripts_in(changed: frozenset[Path]) -> tuple[Path, ...]:
    """Return what of these changed paths is a transcript, or a folder that may hold some.

    The log of a database stands for it, and a file of a conversation in many files for all.
    """
    found: dict[Path, None] = {}
    for path in sorted(changed):
        named = path.with_name(path.name.removesuffix("-wal"))
        owner = named if named.is_dir() else owner_of(named)
        if owner is not None and not owner.is_symlink() and owner.exists():
            found[owner] = None
    return tuple(found)

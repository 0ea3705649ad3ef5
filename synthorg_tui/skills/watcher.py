"""Watches the roots of a library and reports changes once the files are at rest.

Editors write a file in several steps, and a checkout touches hundreds. So a notification only means
"look soon"; what changed is found by comparing two scans. Deciding what a change means is
``curation``'s.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Final

from synthorg_tui.core.text import is_utf8
from synthorg_tui.skills.document import SkillChange, SkillFile
from synthorg_tui.skills.library import SkillLibrary, Survey

DEBOUNCE_MS: Final = 200
LOOK_ANYWAY_MS: Final = 5_000
"""Scan at least this often: a folder may be new, or a notification lost."""
SOON_MS: Final = 400
"""Scan this soon after the set of watched folders changed: notifications were missed."""
QUIET_SECONDS: Final = 0.25
"""Seconds without a change after which a file counts as saved whole."""
MAX_UNREST_SECONDS: Final = 3.0
"""Seconds after which changes are reported even while more arrive."""

_LOG: Final = logging.getLogger(__name__)


class SkillWatcher:
    """Compares scans of a library, prompted by notifications of the file system."""

    def __init__(self, library: SkillLibrary) -> None:
        self._library = library

    async def changes(
        self, stop: asyncio.Event, *, since: Sequence[SkillFile] | None = None
    ) -> AsyncGenerator[tuple[SkillChange, ...]]:
        """Yield the changes of each scan that found any, until ``stop`` is set.

        Many changes in quick succession come together, with the states before the first and
        after the last of them. A root that can't be read for a while has no changes.

        Args:
            stop: Ends it; also when nothing changes.
            since: The files as they were known; as they are now when missing.
        """
        known = (await self._survey()).files if since is None else tuple(since)
        async with aclosing(self._wake_ups(stop)) as wake_ups:
            async for _ in wake_ups:
                files = _kept(known, await self._at_rest(known))
                changes = _changes(known, files)
                known = files
                if changes:
                    yield changes

    async def _survey(self) -> Survey:
        return await asyncio.to_thread(self._library.survey)

    async def _at_rest(self, known: Sequence[SkillFile]) -> Survey:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + MAX_UNREST_SECONDS
        survey = await self._survey()
        if not _changes(known, _kept(known, survey)):
            return survey
        while loop.time() < deadline:
            await asyncio.sleep(QUIET_SECONDS)
            again = await self._survey()
            if again.stamps == survey.stamps:
                return again
            survey = again
        return survey

    async def _wake_ups(self, stop: asyncio.Event) -> AsyncGenerator[None]:
        """Yield whenever a scan is due: at once, after a notification, and at intervals."""
        yield
        while not stop.is_set():
            watched = await asyncio.to_thread(self._watched)
            try:
                async with aclosing(_events(watched, stop)) as events:
                    async for _ in events:
                        yield
                        if await asyncio.to_thread(self._watched) != watched:
                            break
            except FileNotFoundError:  # a folder went while it was taken up
                await _pause(stop, SOON_MS)
                yield
            except (OSError, RuntimeError, ExceptionGroup) as error:
                _LOG.debug("no watches left, looking now and then: %s", error)
                await _pause(stop, LOOK_ANYWAY_MS)
                yield

    def _watched(self) -> tuple[tuple[Path, int], ...]:
        """Map the roots and the folders in them to their inodes.

        Links are left out, and names that aren't UTF-8, which can't be watched.
        """
        found = []
        for root in self._library.roots:
            try:
                found.append((root.path, root.path.stat().st_ino))
                found += [
                    (path, path.stat().st_ino)
                    for path in sorted(root.path.iterdir())
                    if is_utf8(path.name) and path.is_dir() and not path.is_symlink()
                ]
            except OSError:
                continue
        return tuple(found)


async def _events(watched: Sequence[tuple[Path, int]], stop: asyncio.Event) -> AsyncGenerator[None]:
    from watchfiles import awatch  # here: only watching needs it

    if not watched:
        await _pause(stop, LOOK_ANYWAY_MS)
        yield
        return
    # Not recursive: that would follow links to wherever they lead.
    async with aclosing(
        awatch(
            *(path for path, _ in watched),
            watch_filter=None,
            stop_event=stop,
            debounce=DEBOUNCE_MS,
            rust_timeout=SOON_MS,
            yield_on_timeout=True,
            recursive=False,
        )
    ) as events:
        silent = 0
        async for told in events:
            silent = 0 if told else silent + SOON_MS
            if told or silent == SOON_MS or silent % LOOK_ANYWAY_MS < SOON_MS:
                yield


async def _pause(stop: asyncio.Event, milliseconds: int) -> None:
    try:
        await asyncio.wait_for(stop.wait(), milliseconds / 1000)
    except TimeoutError:
        return


def _kept(known: Sequence[SkillFile], survey: Survey) -> tuple[SkillFile, ...]:
    """Collect the files of a survey; of an unreadable root those of the scan before."""
    lost = {state.root for state in survey.roots if not state.is_read}
    found = {file.path.parent for file in survey.files}
    kept = [file for file in known if file.root in lost and file.path.parent not in found]
    return (*survey.files, *kept)


def _changes(known: Sequence[SkillFile], files: Sequence[SkillFile]) -> tuple[SkillChange, ...]:
    before = {file.path.parent: file for file in known}
    after = {file.path.parent: file for file in files}
    return tuple(
        SkillChange(before.get(path), after.get(path))
        for path in sorted(before.keys() | after.keys())
        if _content(before.get(path)) != _content(after.get(path))
    )


def _content(file: SkillFile | None) -> object:
    return None if file is None else (file.path, file.sha256, file.findings)

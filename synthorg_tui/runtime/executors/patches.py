"""What runs in copies changed, kept as patches: for a person to look at and to apply.

Nothing here applies one: that is git's work and a person's decision. Patches hold a project's text
as it is, so they are private, the oldest leave by themselves, and those of erased runs with these.
"""

import os
import re
from collections.abc import Collection
from pathlib import Path
from shlex import quote
from typing import Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, write_atomically
from synthorg_tui.core.text import counted
from synthorg_tui.runtime.worktrees import top_of

PATCH_DIR: Final = "run-patches"
MAX_PATCHES: Final = 100
"""Patches that are kept, of the runs that ended last."""
_RUN_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
_FILE: Final = re.compile(rb"^diff --git ", re.MULTILINE)
_APPLY: Final = f"git --git-dir={os.devnull}"
"""Git without the repository's configuration, which a run may have changed."""
_FOR_GIT: Final = re.compile(rb'^diff --git "?a/.*(\.git(?:attributes|modules))"?$', re.MULTILINE)


def files_for_git(patch: bytes) -> str:
    """Return the names of changed files that tell git what to do; empty when there are none."""
    return " and ".join(sorted({os.fsdecode(each) for each in _FOR_GIT.findall(patch)}))


class KeptPatches:
    """The patches of runs, a file each in a folder of the data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / PATCH_DIR

    def keep(self, run_id: str, patch: bytes, workspace: Path) -> str:
        """Keep a run's patch, and return in words what it changed and how to apply it.

        Blocks, and raises ``OSError``.
        """
        ensure_private_dir(self._folder)
        path = self._path(run_id)
        write_atomically(path, patch, mode=PRIVATE_FILE, durable=False)
        kept = sorted(self._folder.glob("*.patch"), key=lambda each: each.stat().st_mtime_ns)
        for old in kept[:-MAX_PATCHES]:
            old.unlink(missing_ok=True)
        files = counted(len(_FILE.findall(patch)), "file")
        where = quote(str(top_of(workspace)))
        return (
            f"it changed {files}; to take that over: {_APPLY} -C {where} apply {quote(str(path))}"
        )

    def path(self, run_id: str) -> Path | None:
        """Return where the patch of a run lies; ``None`` when it changed nothing, or it is gone."""
        path = self._path(run_id)
        return path if path.is_file() else None

    def sweep(self, runs: Collection[str]) -> None:
        """Delete the patches of all runs but these: an erased run leaves no text here. Blocks."""
        for path in self._folder.glob("*.patch"):
            if path.stem not in runs:
                path.unlink(missing_ok=True)

    def _path(self, run_id: str) -> Path:
        if not _RUN_ID.fullmatch(run_id):
            raise DomainError("that is no id of a run")
        return self._folder / f"{run_id}.patch"

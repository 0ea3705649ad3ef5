"""Files that killed work left in a data directory, removed by the directory's next owner.

They are whole or partial copies of the database, texts that DuckDB moved out of memory, and reports
of agents that were being read: nobody asks for them again, and a purge wouldn't reach them. What a
person may want back, such as backups and replaced databases, is no leftover.
"""

import logging
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from synthorg_tui.core.files import make_private
from synthorg_tui.persistence import BACKUP_DIR, DATABASE_FILE
from synthorg_tui.persistence.database_file import SUFFIXES

_log = logging.getLogger(__name__)

REPORT_DIR: Final = "reports"
"""Where a report lies while it is read."""
RUN_DIR: Final = "runs"
"""Where the record of a run lies while it is read."""
RESTORED: Final = ".restored"
"""Suffix of a backup that is about to become the database."""
REPLACED: Final = ".replaced-"
"""What stands after the database's name, before a time, when a restore has set it aside."""
_EDITIONS: Final = (".fresh", ".new", RESTORED)
_SPILLED: Final = ".tmp"


def remove_leftovers(data_dir: Path) -> None:
    """Remove what work left that was killed; the caller must hold the directory's lock.

    What can't be removed is logged, and made readable to its owner only.
    """
    for path in _leftovers(data_dir):
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("%s stays: %s", path, error)
            with suppress(OSError):
                make_private(path)


def _leftovers(data_dir: Path) -> Iterator[Path]:
    database = data_dir / DATABASE_FILE
    for edition in _EDITIONS:
        for suffix in SUFFIXES:
            path = database.with_name(f"{database.name}{edition}{suffix}")
            if path.exists() or path.is_symlink():
                yield path
    spilled = database.with_name(database.name + _SPILLED)
    if spilled.exists():
        yield spilled
    yield from (data_dir / BACKUP_DIR).glob(".*.part*")
    for folder in (REPORT_DIR, RUN_DIR):
        for pattern in ("*.jsonl", ".*.jsonl.*"):
            yield from (data_dir / folder).glob(pattern)

"""What killed work leaves in a data directory is removed by the next owner."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from synthorg_tui.core.errors import StoreLockedError
from synthorg_tui.persistence.backups import restore_backup
from synthorg_tui.persistence.leftovers import remove_leftovers
from synthorg_tui.persistence.lock import DataDirLock, own_database
from tests.memory.store.store_kit import AGENT, opened, request
from tests.postgres_switch import files_only

pytestmark = files_only

LEFT = (
    "memory.duckdb.fresh",
    "memory.duckdb.fresh.wal",
    "memory.duckdb.new",
    "memory.duckdb.restored",
    "memory.duckdb.restored.wal",
    "memory.duckdb.tmp/duckdb_temp_storage_DEFAULT-0.tmp",
    "backups/.20260101T000000-000.duckdb.part",
    "backups/.20260101T000000-000.duckdb.part.wal",
    "reports/0123.jsonl",
    "reports/.0123.jsonl.1-abcd.synthorg-tmp",
)
STAYING = (
    "backups/20260101T000000-000.duckdb",
    "memory.duckdb.replaced-20260101T000000000000",
    "reports/notes.txt",
    "memory.duckdb.txt",
)


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text of an agent")


async def test_the_next_owner_removes_what_killed_work_left_and_nothing_else(
    tmp_path: Path,
) -> None:
    async with own_database(tmp_path):
        pass
    write(tmp_path, *LEFT, *STAYING)
    async with own_database(tmp_path):
        assert [name for name in LEFT if (tmp_path / name).exists()] == []
        assert [name for name in STAYING if not (tmp_path / name).exists()] == []


async def test_a_link_among_the_leftovers_is_removed_and_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "mine/notes.txt")
    (tmp_path / "memory.duckdb.tmp").symlink_to(tmp_path / "mine")
    remove_leftovers(tmp_path)
    assert not (tmp_path / "memory.duckdb.tmp").is_symlink()
    assert (tmp_path / "mine/notes.txt").exists()


KILLED_RESTORE = textwrap.dedent(
    """
    import asyncio, os, signal, sys
    from pathlib import Path
    from synthorg_tui.persistence.backups import restore_backup
    os.umask(0o022)
    Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    asyncio.run(restore_backup(Path(sys.argv[1]), Path(sys.argv[2])))
    """
)


async def test_a_restore_that_was_killed_leaves_no_copy_and_changes_nothing(
    tmp_path: Path,
) -> None:
    home, backup = tmp_path / "home", tmp_path / "old.duckdb"
    async with opened(home) as backend:
        await backend.store(AGENT, request("of the backup"))
    backup.write_bytes((home / "memory.duckdb").read_bytes())
    async with opened(home) as backend:
        await backend.store(AGENT, request("later"))
    subprocess.run(  # noqa: ASYNC221  # nothing else runs here
        [sys.executable, "-c", KILLED_RESTORE, str(home), str(backup)],
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert (home / "memory.duckdb.restored").exists()
    loose = [path.name for path in home.iterdir() if path.is_file() and path.stat().st_mode & 0o077]
    assert loose == []
    async with own_database(home):
        assert not list(home.glob("*.restored*"))
    async with opened(home) as backend:
        assert await backend.count(AGENT) == 2


async def test_a_restore_leaves_neither_copy_nor_log(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        await backend.store(AGENT, request("alpha"))
    backup = tmp_path / "backup.duckdb"
    backup.write_bytes((tmp_path / "memory.duckdb").read_bytes())
    write(tmp_path, *LEFT)
    await restore_backup(tmp_path, backup)
    assert [name for name in LEFT if (tmp_path / name).exists()] == []


async def test_what_another_owner_is_working_with_stays(tmp_path: Path) -> None:
    write(tmp_path, *LEFT)
    with DataDirLock(tmp_path):
        with pytest.raises(StoreLockedError):
            async with own_database(tmp_path):
                pass
        assert [name for name in LEFT if not (tmp_path / name).exists()] == []

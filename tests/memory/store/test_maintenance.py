"""Doctor, reindex, backup and restore on real stores."""

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from synthorg_tui.core.errors import (
    CancelledByUserError,
    DiskFullError,
    DomainError,
    StoreCorruptError,
    StoreLockedError,
)
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.persistence import INDEX_DIR
from synthorg_tui.persistence.backups import newest_backup, restore_backup
from synthorg_tui.persistence.database_file import connect_file, create_file
from synthorg_tui.persistence.integrity import damaged_blocks
from synthorg_tui.persistence.lock import DataDirLock
from tests.conftest import FixedClock
from tests.disk_kit import disk_of, written
from tests.memory.store.store_kit import AGENT, FlakyIndex, draft, opened, query, request
from tests.patience import PATIENCE
from tests.persistence.damage_kit import BLOCK, FIRST_BLOCK, fill_every_table, flip, table_blocks
from tests.tables import rows


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, index=FlakyIndex(tmp_path / INDEX_DIR)) as backend:
        drafts = [draft(f"word{number}", f"k{number}") for number in range(20)]
        await backend.store_many(AGENT, drafts, actor="me")
        yield backend


@pytest.fixture
def maintenance(backend: LocalMemoryBackend, tmp_path: Path) -> Maintenance:
    return Maintenance(backend, data_dir=tmp_path)


async def failed(maintenance: Maintenance) -> set[str]:
    return {check.name for check in (await maintenance.doctor()).checks if not check.ok}


async def test_a_healthy_store_passes_every_check(maintenance: Maintenance, tmp_path: Path) -> None:
    with DataDirLock(tmp_path):
        report = await maintenance.doctor()
    assert report.ok, report
    assert [check.name for check in report.checks] == [
        "database",
        "file",
        "revisions",
        "index",
        "vectors",
        "search",
        "erased",
        "copies",
        "archive",
        "organisation",
        "sessions",
        "approvals",
        "lock",
        "permissions",
        "disk space",
        "backups",
    ]
    assert json.loads(json.dumps(report.as_json()))["checks"][0]["ok"] is True


async def test_a_point_the_index_lost_is_found_out_and_put_back(
    backend: LocalMemoryBackend, maintenance: Maintenance
) -> None:
    (entry, *_) = await backend.retrieve(AGENT, query("word7"))
    index = (await backend.core.indexed()).index
    await index.apply([], [entry.id], revision=20)
    assert "index" in await failed(maintenance)
    assert (await maintenance.doctor(fix=True)).ok
    assert (await backend.retrieve(AGENT, query("word7")))[0].id == entry.id


async def test_a_point_of_no_memory_is_found_out_and_removed(
    backend: LocalMemoryBackend, maintenance: Maintenance
) -> None:
    index = (await backend.core.indexed()).index
    assert isinstance(index, FlakyIndex)
    (entry, *_) = await backend.retrieve(AGENT, query("word7"))
    applied: list[object] = []
    original = index.apply

    async def keep(
        upserts: object,
        deletes: object,
        *,
        revision: int,
        as_of: int | None = None,
        since: int = 0,
    ) -> None:
        applied.append(deletes)

    index.apply = keep  # type: ignore[method-assign]
    await backend.delete(AGENT, entry.id)
    index.apply = original  # type: ignore[method-assign]
    assert applied == [[entry.id]]
    assert await failed(maintenance) == {"index"}
    assert (await maintenance.doctor(fix=True)).ok
    assert await index.count() == 19


async def test_an_index_that_is_behind_is_reported_and_caught_up(
    backend: LocalMemoryBackend, maintenance: Maintenance
) -> None:
    index = (await backend.core.indexed()).index
    assert isinstance(index, FlakyIndex)
    index.broken = True
    await backend.store(AGENT, request("late"))
    assert "index" in await failed(maintenance)
    index.broken = False
    assert (await maintenance.doctor(fix=True)).ok


async def test_loose_permissions_are_found_out_and_tightened(
    backend: LocalMemoryBackend, maintenance: Maintenance, tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "memory.duckdb").chmod(0o644)
    assert await failed(maintenance) == {"permissions"}
    assert (await maintenance.doctor(fix=True)).ok
    assert tmp_path.stat().st_mode & 0o777 == 0o700


async def test_a_memory_that_disagrees_with_its_history_is_found_out(
    backend: LocalMemoryBackend, maintenance: Maintenance
) -> None:
    await backend.core.database.write(
        lambda db: db.execute("DELETE FROM history WHERE revision = 3")
    )
    assert await failed(maintenance) == {"revisions"}


async def test_reindexing_brings_everything_back_and_reports_progress(
    backend: LocalMemoryBackend, maintenance: Maintenance
) -> None:
    seen: list[tuple[int, int]] = []
    assert await maintenance.reindex(progress=lambda *p: seen.append(p)) == 20
    assert seen[-1] == (20, 20)
    assert (await maintenance.doctor()).ok


async def test_a_cancelled_reindex_leaves_a_store_that_catches_up_by_itself(
    backend: LocalMemoryBackend, maintenance: Maintenance, monkeypatch: pytest.MonkeyPatch
) -> None:
    from synthorg_tui.memory.store import sync as projection

    monkeypatch.setattr(projection, "REPLAY_BATCH", 5)
    cancel = threading.Event()
    with pytest.raises(CancelledByUserError, match="5 of 20"):
        await maintenance.reindex(progress=lambda *_: cancel.set(), cancel=cancel)
    assert "being repaired" in (await backend.admin.find(query("word3"))).degraded
    await backend.store(AGENT, request("new one"))
    for _ in range(4):
        await backend.admin.find(query("word3"))
    assert (await maintenance.doctor()).ok


async def test_after_compacting_no_byte_of_a_purged_memory_is_left_on_disk(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as backend:
        purged = await backend.store(AGENT, request("XYLOPHONE in memory"))
        kept = await backend.store(AGENT, request("kept"))
        await backend.admin.purge([purged], actor="me")
        maintenance = Maintenance(backend, data_dir=tmp_path)
        await maintenance.compact()
        assert (await backend.get(AGENT, kept)) is not None
        await backend.store(AGENT, request("later"))
        assert (await maintenance.doctor()).ok
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not [file.name for file in files if b"XYLOPHONE" in written(file)]
    assert not list(tmp_path.glob("*.fresh*"))
    async with opened(tmp_path) as backend:
        assert await backend.count(AGENT) == 2
        assert (await backend.admin.find(query("later"))).hits


async def test_closing_after_a_purge_leaves_no_byte_of_it_on_disk(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        purged = await backend.store(AGENT, request("XYLOPHONE in memory"))
        await backend.store(AGENT, request("kept"))
    async with opened(tmp_path) as backend:
        await backend.admin.purge([purged], actor="me")
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not [file.name for file in files if b"XYLOPHONE" in written(file)]
    async with opened(tmp_path) as backend:
        assert await backend.count(AGENT) == 1
        assert (await Maintenance(backend, data_dir=tmp_path).doctor()).ok


# -- backup and restore


async def test_a_backup_holds_the_state_of_its_moment_and_is_private(
    backend: LocalMemoryBackend, maintenance: Maintenance, tmp_path: Path
) -> None:
    first = await maintenance.backup()
    second = await maintenance.backup()
    assert first.parent == tmp_path / "backups"
    assert first < second
    assert first.stat().st_mode & 0o777 == 0o600
    assert (first.parent.stat().st_mode & 0o777) == 0o700
    assert {p.name for p in first.parent.iterdir()} == {first.name, second.name}


async def test_a_backup_overwrites_nothing(maintenance: Maintenance, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    with pytest.raises(DomainError, match="exists already"):
        await maintenance.backup(mine)
    assert mine.read_text() == "mine"
    with pytest.raises(DomainError, match="there is no folder"):
        await maintenance.backup(tmp_path / "no such folder" / "x.duckdb")


async def test_restoring_brings_back_the_newest_backup_and_keeps_the_present_file(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as backend:
        maintenance = Maintenance(backend, data_dir=tmp_path)
        await backend.store(AGENT, request("alpha"))
        await maintenance.backup()
        await backend.store(AGENT, request("beta"))
        newest = await maintenance.backup()
        await backend.store(AGENT, request("gamma"))
    database = tmp_path / "memory.duckdb"
    database.write_bytes(b"broken" * 1000)
    with pytest.raises(StoreCorruptError, match="damaged"):
        async with opened(tmp_path):
            pass
    assert newest_backup(tmp_path).path == newest
    await restore_backup(tmp_path, newest)
    (kept,) = tmp_path.glob("memory.duckdb.replaced-*")
    assert kept.read_bytes() == b"broken" * 1000
    assert newest.exists()
    async with opened(tmp_path) as backend:
        assert {e.content for e in await backend.retrieve(AGENT, query())} == {"alpha", "beta"}
        assert (await backend.admin.find(query("beta"))).hits
        assert not (await backend.admin.find(query("gamma"))).hits
        assert (await Maintenance(backend, data_dir=tmp_path).doctor()).ok


async def test_a_store_written_after_a_restore_never_uses_the_index_of_before(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as backend:
        backup = await Maintenance(backend, data_dir=tmp_path).backup()
        await backend.store(AGENT, request("alpha"))
    await restore_backup(tmp_path, backup)
    async with opened(tmp_path) as backend:
        await backend.store(AGENT, request("beta"))
        assert not (await backend.admin.find(query("alpha"))).hits
        assert (await Maintenance(backend, data_dir=tmp_path).doctor()).ok


async def test_restoring_is_refused_while_the_store_is_open(
    maintenance: Maintenance, tmp_path: Path
) -> None:
    await maintenance.backup()
    with DataDirLock(tmp_path), pytest.raises(StoreLockedError) as caught:
        await restore_backup(tmp_path, newest_backup(tmp_path).path)
    assert caught.value.owner_pid == os.getpid()


async def test_a_damaged_backup_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        await backend.store(AGENT, request("alpha"))
    bad = tmp_path / "bad.duckdb"
    bad.write_bytes(b"broken" * 1000)
    before = (tmp_path / "memory.duckdb").read_bytes()
    with pytest.raises(StoreCorruptError, match="backup"):
        await restore_backup(tmp_path, bad)
    assert (tmp_path / "memory.duckdb").read_bytes() == before
    assert not list(tmp_path.glob("*.replaced-*"))
    assert not list(tmp_path.glob("*.restored*"))


# -- damage


def reads_settings(path: Path) -> bool:
    """Whether the index that opening a store needs is whole."""
    connection = connect_file(path, read_only=True)
    try:
        return connection.execute("SELECT 1 FROM meta WHERE name = 'salt'").fetchone() is not None
    except duckdb.Error:
        return False
    finally:
        connection.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The database of a store with rows in every table."""
    path = tmp_path_factory.mktemp("whole") / "memory.duckdb"
    create_file(path)
    connection = connect_file(path)
    fill_every_table(connection, 50)
    connection.close()
    return path.read_bytes()


def damage(path: Path, content: bytes, *, where: str) -> None:
    """Write the database to ``path`` with a flipped bit in a block of a table, or of no table."""
    path.write_bytes(content)
    if where == "index":
        used = set(table_blocks(path, every=True).values())
        for block in set(range((len(content) - FIRST_BLOCK) // BLOCK)) - used:
            flip(path, content, FIRST_BLOCK + block * BLOCK + 100)
            if damaged_blocks(path) and reads_settings(path):
                return
        raise AssertionError("no block is an index's")
    flip(path, content, FIRST_BLOCK + table_blocks(path)[where] * BLOCK + 100)


@rows("table", ["approvals", "skill_bytes"])
async def test_of_a_damaged_store_doctor_names_the_table_and_there_is_no_backup(
    tmp_path: Path, table: str, whole: bytes
) -> None:
    damage(tmp_path / "memory.duckdb", whole, where=table)
    async with opened(tmp_path) as backend:
        maintenance = Maintenance(backend, data_dir=tmp_path)
        report = await maintenance.doctor()
        failed = {check.name: check.detail for check in report.checks if not check.ok}
        assert table in failed["database"]
        assert "restore" in failed["database"]
        with pytest.raises(StoreCorruptError, match=table):
            await maintenance.backup()
        with pytest.raises(StoreCorruptError):
            await maintenance.backup(tmp_path / "mine.duckdb")
    assert not list((tmp_path / "backups").iterdir())
    assert not (tmp_path / "mine.duckdb").exists()


async def test_where_only_an_index_is_damaged_doctor_makes_the_file_anew(
    tmp_path: Path, whole: bytes
) -> None:
    damage(tmp_path / "memory.duckdb", whole, where="index")
    async with opened(tmp_path) as backend:
        maintenance = Maintenance(backend, data_dir=tmp_path)
        assert "file" in await failed(maintenance)
        with pytest.raises(StoreCorruptError):
            await maintenance.backup()
        fixed = await maintenance.doctor(fix=True)
        assert [check.ok for check in fixed.checks if check.name in ("database", "file")] == [
            True,
            True,
        ]
        assert (await maintenance.backup()).is_file()


async def test_a_cancelled_backup_leaves_nothing(
    backend: LocalMemoryBackend, maintenance: Maintenance, tmp_path: Path
) -> None:
    cancel = threading.Event()
    with pytest.raises(CancelledByUserError):
        await maintenance.backup(progress=lambda _: cancel.set(), cancel=cancel)
    reading, go_on = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        reading.set()
        go_on.wait(PATIENCE)

    task = asyncio.ensure_future(maintenance.backup(progress=hold))
    await asyncio.to_thread(reading.wait, PATIENCE)
    task.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not list((tmp_path / "backups").iterdir())


async def test_only_our_own_files_are_made_private(
    maintenance: Maintenance, tmp_path: Path
) -> None:
    script, target = tmp_path / "deploy.sh", tmp_path / "target"
    for path in (script, target, tmp_path / "ui.json"):
        path.write_text("x")
        path.chmod(0o755)
    (tmp_path / "hooks.log").symlink_to(target)
    assert await failed(maintenance) == {"permissions"}
    await maintenance.doctor(fix=True)
    assert script.stat().st_mode & 0o777 == 0o755
    assert target.stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "ui.json").stat().st_mode & 0o777 == 0o600
    assert await failed(maintenance) == set()


# -- the backup of the day


DAY = timedelta(days=1)


async def test_a_backup_is_made_once_a_day_and_only_when_something_changed(tmp_path: Path) -> None:
    clock = FixedClock()
    async with opened(tmp_path, clock=clock) as backend:
        maintenance = Maintenance(backend, data_dir=tmp_path)
        assert await maintenance.back_up_daily(keep=3) is None, "nothing is stored yet"
        await backend.store(AGENT, request("alpha"))
        first = await maintenance.back_up_daily(keep=3)
        assert first is not None
        assert first.name.endswith("-daily.duckdb")
        await backend.store(AGENT, request("beta"))
        clock.current += DAY - timedelta(seconds=1)
        assert await maintenance.back_up_daily(keep=3) is None
        clock.current += timedelta(seconds=1)
        second = await maintenance.back_up_daily(keep=3)
        assert second is not None
        assert second > first
        clock.current += DAY
        assert await maintenance.back_up_daily(keep=3) is None, "nothing changed"


async def test_a_store_that_is_opened_and_closed_only_needs_no_other_backup(
    tmp_path: Path,
) -> None:
    clock = FixedClock()
    async with opened(tmp_path, clock=clock) as backend:
        await backend.store(AGENT, request("alpha"))
        assert await Maintenance(backend, data_dir=tmp_path).back_up_daily(keep=3)
    clock.current += DAY
    async with opened(tmp_path, clock=clock) as backend:
        assert await Maintenance(backend, data_dir=tmp_path).back_up_daily(keep=3) is None


async def test_the_last_daily_backups_stay_and_all_that_a_person_made(tmp_path: Path) -> None:
    clock = FixedClock()
    async with opened(tmp_path, clock=clock) as backend:
        maintenance = Maintenance(backend, data_dir=tmp_path)
        mine = await maintenance.backup()
        made = []
        for day in range(5):
            clock.current += DAY
            await backend.store(AGENT, request(f"day {day}"))
            made.append(await maintenance.back_up_daily(keep=3))
        assert {*mine.parent.iterdir()} == {mine, *made[2:]}
        clock.current += DAY
        await backend.store(AGENT, request("later"))
        assert await maintenance.back_up_daily(keep=0) is None
        assert {*mine.parent.iterdir()} == {mine, *made[2:]}


async def test_a_daily_backup_that_can_not_be_vouched_for_costs_no_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FixedClock()
    async with opened(tmp_path, clock=clock) as backend:
        maintenance = Maintenance(backend, data_dir=tmp_path)
        await backend.store(AGENT, request("alpha"))
        made = await maintenance.back_up_daily(keep=1)
        clock.current += DAY
        await backend.store(AGENT, request("beta"))
        disk_of(monkeypatch, free_mib=1)
        with pytest.raises(DiskFullError, match="MB are free"):
            await maintenance.back_up_daily(keep=1)
    assert [*(tmp_path / "backups").iterdir()] == [made]


async def test_without_a_backup_restoring_says_so(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match="no backup"):
        newest_backup(tmp_path)
    with pytest.raises(DomainError, match="no backup"):
        await restore_backup(tmp_path, tmp_path / "missing.duckdb")

"""Backups and replaced databases are asked whether they hold what was purged."""

from pathlib import Path

import pytest

from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.persistence.backups import newest_backup, restore_backup
from tests.disk_kit import written
from tests.memory.store.store_kit import AGENT, opened, request


async def names(backend: LocalMemoryBackend, folder: Path, *memory_ids: str) -> list[str]:
    copies = await Maintenance(backend, data_dir=folder).copies(memory_ids)
    return [copy.path.name for copy in copies]


@pytest.fixture
async def replaced(tmp_path: Path) -> tuple[str, Path]:
    """A store that was restored once: what it replaced holds the memory, as the backup does."""
    async with opened(tmp_path) as backend:
        memory_id = await backend.store(AGENT, request("XYLOPHONE"))
        await backend.store(AGENT, request("other"))
        backup = await Maintenance(backend, data_dir=tmp_path).backup()
    await restore_backup(tmp_path, newest_backup(tmp_path).path)
    return memory_id, backup


async def test_a_copy_is_named_before_and_after_a_purge(
    tmp_path: Path, replaced: tuple[str, Path]
) -> None:
    memory_id, backup = replaced
    aside = next(tmp_path.glob("*.replaced-*")).name
    async with opened(tmp_path) as backend:
        assert await names(backend, tmp_path) == []
        assert await names(backend, tmp_path, memory_id) == [aside, backup.name]
        await backend.admin.purge([memory_id], actor="me")
        assert await names(backend, tmp_path) == [aside, backup.name]
        report = await Maintenance(backend, data_dir=tmp_path).doctor(fix=True)
        (check,) = [check for check in report.checks if check.name == "copies"]
        assert check.ok
        assert aside in check.detail
        assert backup.name in check.detail


async def test_replaced_databases_are_deleted_and_backups_on_request(
    tmp_path: Path, replaced: tuple[str, Path]
) -> None:
    memory_id, backup = replaced
    async with opened(tmp_path) as backend:
        await backend.admin.purge([memory_id], actor="me")
        maintenance = Maintenance(backend, data_dir=tmp_path)
        await maintenance.compact()
        fresh = await maintenance.backup()
        gone = await maintenance.delete_copies(backups=False)
        assert [copy.is_backup for copy in gone] == [False]
        assert backup.exists()
        gone = await maintenance.delete_copies(backups=True)
        assert [copy.path for copy in gone] == [backup]
        assert fresh.exists(), "it was made after the purge"
    holding = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in holding if b"XYLOPHONE" in written(path)] == []


async def test_a_backup_of_a_file_that_is_still_to_be_erased_holds_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        memory_id = await backend.store(AGENT, request("XYLOPHONE"))
        await backend.admin.purge([memory_id], actor="me")
        backup = await Maintenance(backend, data_dir=tmp_path).backup()
        assert await names(backend, tmp_path) == [backup.name]


async def test_a_copy_that_cannot_be_read_is_taken_to_hold_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        memory_id = await backend.store(AGENT, request("XYLOPHONE"))
        (tmp_path / "backups").mkdir()
        (tmp_path / "backups/1.duckdb").write_bytes(b"garbage")
        assert await names(backend, tmp_path, memory_id) == ["1.duckdb"]


async def test_a_backup_without_it_is_not_named(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        await backend.store(AGENT, request("other"))
        await Maintenance(backend, data_dir=tmp_path).backup()
        memory_id = await backend.store(AGENT, request("XYLOPHONE"))
        assert await names(backend, tmp_path, memory_id) == []

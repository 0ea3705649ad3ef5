"""Rules of one store that several programs use: the same for all, whatever their settings say."""

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.memory.listing import BrowseFilter
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.memory.store.policy import StorePolicy
from synthorg_tui.memory.store.reader import StoreReader
from tests.memory.store.shared_kit import app
from tests.memory.store.store_kit import AGENT, query, request

MONTH = StorePolicy(retention_days=lambda *_: 30)
WEEK = StorePolicy(retention_days=lambda *_: 7)
LONG_AGO = datetime.now(UTC) - timedelta(days=20)


async def remember_long_ago(backend: LocalMemoryBackend) -> None:
    """A memory that ends within a week, but not within a month."""
    key = await backend.store(AGENT, request("note of March"))
    sql = "UPDATE memories SET created_at = ? WHERE id = ?::UUID"
    await backend.core.database.write(lambda db: db.execute(sql, [LONG_AGO, key]))


async def live(backend: LocalMemoryBackend) -> list[int]:
    """How many memories a search, a list, and a list without settings have."""
    found = await backend.retrieve(AGENT, query("note of March"))
    reader = StoreReader(backend.core.database, SystemClock())
    pages = [await source.browse(BrowseFilter()) for source in (backend.admin, reader)]
    return [len(found), *(page.total for page in pages)]


async def test_the_rules_of_the_first_hold_for_who_has_others_and_is_told(
    postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with app(postgres_url, tmp_path / "a", policy=MONTH) as first:
        await remember_long_ago(first)
        assert caplog.text == ""
        async with app(postgres_url, tmp_path / "b", policy=WEEK) as second:
            assert "after 7 days" in caplog.text
            assert "the store's rules hold for all" in caplog.text
            assert await live(first) == await live(second) == [1, 1, 1]
            (check,) = [
                each for each in await checks(second, tmp_path / "b") if each[0] == "retention"
            ]
            assert check[1] is False
            assert "after 30 days; in the settings here: " in check[2]
    async with app(postgres_url, tmp_path / "a", policy=MONTH) as first:
        assert await live(first) == [1, 1, 1], "whoever was last changed nothing"


async def test_what_one_takes_into_the_store_holds_for_the_others_at_their_next_search(
    postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        app(postgres_url, tmp_path / "a", policy=MONTH) as first,
        app(postgres_url, tmp_path / "b", policy=WEEK) as second,
    ):
        await remember_long_ago(first)
        maintenance = Maintenance(second, data_dir=tmp_path / "b")
        assert "after 7 days" in await maintenance.take_retention()
        assert await live(first) == await live(second) == [0, 0, 0]
        assert ("retention", True) in [each[:2] for each in await checks(second, tmp_path / "b")]
    caplog.clear()
    async with app(postgres_url, tmp_path / "c") as third:
        assert await live(third) == [0, 0, 0]
        assert caplog.text == "", "who has no rules has none to be told of"


async def checks(backend: LocalMemoryBackend, data_dir: Path) -> list[tuple[str, bool, str]]:
    report = await Maintenance(backend, data_dir=data_dir).doctor()
    return [(check.name, check.ok, check.detail) for check in report.checks]

"""A store for the runtime, one a module: each test's runs have ids of their own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from tests.runtime.run_kit import Runtime


@pytest.fixture
async def store_database(tmp_path: Path) -> AsyncIterator[StoreDatabase]:
    database = Database.in_dir(tmp_path / "store")
    await database.open()
    yield database
    await database.close()


@pytest.fixture
def runtime(store_database: StoreDatabase, tmp_path: Path) -> Runtime:
    workspace = tmp_path / "work"
    workspace.mkdir()
    return Runtime(store_database, workspace)

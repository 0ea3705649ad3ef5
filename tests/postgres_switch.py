"""Runs the tests' stores on PostgreSQL, where `SYNTHORG_TEST_DATABASE=postgres` asks for it.

Whatever a test opens in a data directory is then a database on the tests' server, the same one for
as long as the test lasts; with the directory it is copied. Tests of DuckDB's file itself are marked
``files_only`` where they fail in this mode, as are those whose other processes open the store.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from synthorg_tui.persistence import SERVER_FILE
from tests.postgres_server import PostgresServer

IS_ON = os.environ.get("SYNTHORG_TEST_DATABASE") == "postgres"
files_only = pytest.mark.skipif(IS_ON, reason="is about the file of a store")
"""Marks a test that has no meaning where the store is on a server."""


@pytest.fixture(scope="session", autouse=IS_ON)
def stores_on_postgres(postgres_server: PostgresServer) -> Iterator[None]:
    """Every data directory has a database of its own on the tests' server."""
    from synthorg_tui.persistence.database import Database
    from synthorg_tui.persistence.postgres.database import PostgresDatabase

    urls: dict[Path, str] = {}

    def in_dir(cls: type[Database], data_dir: Path) -> PostgresDatabase:
        noted = data_dir / SERVER_FILE
        name = noted.read_text().strip().rpartition("/")[2] if noted.exists() else ""
        if not name:
            urls[data_dir] = postgres_server.new_store()
        elif name not in urls.get(data_dir, ""):  # it was copied or moved: what is in it was, too
            urls[data_dir] = postgres_server.copy_of(name)
        return PostgresDatabase(urls[data_dir], data_dir)

    def made(cls: type[Database], path: Path) -> object:
        if path.name == "memory.duckdb":
            return in_dir(cls, path.parent)
        return object.__new__(cls)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "in_dir", classmethod(in_dir))
        patch.setattr(Database, "__new__", made)
        yield
    for url in urls.values():
        postgres_server.drop(url)

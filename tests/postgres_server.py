"""A PostgreSQL server of the tests' own, started when the first test asks and stopped at the end.

It runs as another user where the tests run as root, which PostgreSQL refuses; it listens on a Unix
socket only, and doesn't wait for the disk.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.patience import PATIENCE

_USER = "store"
_OTHERS = ("postgres", "nobody")
_EMPTY = "TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'"
_SETTINGS = (
    "fsync=off",
    "full_page_writes=off",
    "listen_addresses=",
    "max_connections=120",
    "shared_buffers=32MB",
    "autovacuum=off",
    "max_wal_size=64MB",
    "min_wal_size=32MB",
)


def _program(name: str) -> str | None:
    found = shutil.which(name)
    if found is not None:
        return found
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(places[-1]) if places else None


class PostgresServer:
    """A server process with its data in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._template: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._owner: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = next(entry for entry in pwd.getpwall() if entry.pw_name in _OTHERS)
            self._owner = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(folder, user.pw_uid, user.pw_gid)

    def create(self) -> None:
        initdb = _program("initdb")
        assert initdb is not None
        options = ["--auth=trust", f"--username={_USER}", "--encoding=UTF8", "--no-locale"]
        command = [initdb, "-D", str(self._data), "--no-sync", "--no-instructions", *options]
        subprocess.run(command, check=True, capture_output=True, cwd="/", **self._owner)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def start(self, *options: str) -> None:
        """Start it, and wait until it answers; ``options`` such as ``fsync=on`` are its own."""
        postgres = _program("postgres")
        assert postgres is not None
        psycopg = _driver()
        settings = (*_SETTINGS, f"unix_socket_directories={self.folder}")
        command = [postgres, "-D", str(self._data)]
        for setting in (*settings, *options):
            command += ["-c", setting]
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", **self._owner
            )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                if time.monotonic() > end or self._process.poll() is not None:
                    raise
                time.sleep(0.02)
            else:
                return

    def stop(self, *, crash: bool = False) -> None:
        """Stop it, as an operator does or as a power cut would."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(3 if crash else 2)
        process.wait(PATIENCE)

    def url(self, database: str) -> str:
        return f"postgresql://{_USER}@/{database}?host={self.folder}"

    def new_database(self) -> str:
        """Return the URL of an empty database."""
        name = f"store_{uuid4().hex}"
        self._run(f'CREATE DATABASE "{name}" {_EMPTY}')
        return self.url(name)

    def new_store(self) -> str:
        """Return the URL of a database that has the tables of a store, and nothing in them."""
        if self._template is None:
            self._template = f"store_{uuid4().hex}"
            self._run(f'CREATE DATABASE "{self._template}" {_EMPTY}')
            _make_tables(self.url(self._template))
        name = f"store_{uuid4().hex}"
        self._run(f'CREATE DATABASE "{name}" TEMPLATE "{self._template}"')
        return self.url(name)

    def copy_of(self, database: str) -> str:
        """Return the URL of a copy of a database that nobody has open."""
        name = f"store_{uuid4().hex}"
        self._run(f'CREATE DATABASE "{name}" TEMPLATE "{database}"')
        return self.url(name)

    @contextmanager
    def stores(self) -> Iterator[Callable[[], str]]:
        """What makes databases with the tables of a store, which are dropped afterwards."""
        made: list[str] = []

        def new() -> str:
            made.append(self.new_store())
            return made[-1]

        try:
            yield new
        finally:
            for url in made:
                self.drop(url)

    def drop(self, url: str) -> None:
        name = url.rpartition("/")[2].partition("?")[0]
        self._run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def cut_all(self) -> None:
        """End every connection to it, as a network that fails does."""
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename IS NOT NULL"
        self._run(f"{others} AND pid <> pg_backend_pid() AND backend_type = 'client backend'")

    def _run(self, sql: str) -> None:
        with _driver().connect(self.url("postgres"), autocommit=True) as raw:
            raw.execute(sql.encode())


def _driver() -> Any:
    """psycopg, which costs nothing until a test asks for a server."""
    import psycopg

    return psycopg


def _make_tables(url: str) -> None:
    from synthorg_tui.persistence.postgres.link import Link
    from synthorg_tui.persistence.postgres.schema import prepare_schema

    with Link(url, 1).connect() as raw:
        prepare_schema(raw, "the tests' database")


def why_not() -> str:
    """Return why there can be no server here; empty when there can."""
    if missing := [name for name in ("postgres", "initdb") if _program(name) is None]:
        return f"PostgreSQL's {' and '.join(missing)} aren't here"
    if find_spec("psycopg") is None:
        return "psycopg isn't installed"
    if os.geteuid() == 0 and not any(entry.pw_name in _OTHERS for entry in pwd.getpwall()):
        return "PostgreSQL doesn't run as root, and there is no other user"
    return ""


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """A server for as long as the block lasts; skips the test where there can be none."""
    if reason := why_not():
        pytest.skip(reason)
    root = "/dev/shm" if Path("/dev/shm").is_dir() else None
    # Not below pytest's folders, which belong to the one user who runs the tests.
    with tempfile.TemporaryDirectory(prefix="store-pg-", dir=root) as folder:
        Path(folder).chmod(0o755)
        inner = Path(folder) / "s"
        inner.mkdir()
        server = PostgresServer(inner)
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The one server of a session of tests, or of a worker of it."""
    with running_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A database with the tables of a store, dropped afterwards."""
    url = postgres_server.new_store()
    yield url
    postgres_server.drop(url)

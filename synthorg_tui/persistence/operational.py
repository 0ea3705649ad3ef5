"""Operational data on DuckDB: the backend that the engine has, and those that stand alone."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from synthorg_tui.core.errors import ConfigError, DomainError
from synthorg_tui.core.paths import expand_home
from synthorg_tui.persistence import repositories as tables
from synthorg_tui.persistence.config import IN_MEMORY, POSTGRES, PersistenceConfig
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.entity_table import NOT_CONNECTED, EntityTable
from synthorg_tui.persistence.errors import MigrationError, PersistenceConnectionError
from synthorg_tui.persistence.lock import store_database
from synthorg_tui.persistence.migrations import create_missing
from synthorg_tui.persistence.port import StoreDatabase

if TYPE_CHECKING:
    from synthorg_tui.persistence.protocol import PersistenceBackend

_MADE_FROM: Final = "operational.duckdb"
Repository = TypeVar("Repository", bound=EntityTable[Any])


class Held(Generic[Repository]):
    """An attribute of a connected backend that is the repository of a table."""

    def __init__(self, table: type[Repository]) -> None:
        self.table = table

    def __get__(self, backend: "DuckDBPersistence", _: type) -> Repository:
        return backend.repository(self.table)


class DuckDBPersistence:
    """Repositories on one DuckDB file.

    On a ``database`` that somebody else has opened it is connected as long as that is open, and
    ``disconnect`` leaves it so. Use ``create_backend`` for a file of its own.
    """

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def connect(self) -> None:
        if not self._database.is_open:
            raise PersistenceConnectionError("the store that the operational data is in is closed")

    async def disconnect(self) -> None:
        """Do nothing: whoever opened the database closes it."""

    async def health_check(self) -> bool:
        if not self.is_connected:
            return False
        try:
            found = await self._database.read(lambda db: db.execute("SELECT 1").fetchone())
        except DomainError:
            return False
        return found == (1,)

    async def migrate(self) -> None:
        if not self.is_connected:
            raise PersistenceConnectionError(NOT_CONNECTED)
        try:
            await self._database.write(create_missing)
        except DomainError as error:
            raise MigrationError(error.message, remedy=error.remedy) from error

    @property
    def is_connected(self) -> bool:
        return self._database.is_open

    @property
    def backend_name(self) -> str:
        return self._database.kind

    def repository(self, table: type[Repository]) -> Repository:
        """Return the repository of a table; raises ``PersistenceConnectionError``."""
        if not self.is_connected:
            raise PersistenceConnectionError(NOT_CONNECTED, remedy="Await connect() first.")
        return table(self._database)

    tasks = Held(tables.TaskTable)
    cost_records = Held(tables.CostTable)
    messages = Held(tables.MessageTable)
    lifecycle_events = Held(tables.LifecycleEventTable)
    task_metrics = Held(tables.TaskMetricTable)
    collaboration_metrics = Held(tables.CollaborationTable)
    parked_contexts = Held(tables.ParkedContextTable)
    audit_entries = Held(tables.AuditTable)
    users = Held(tables.UserTable)
    api_keys = Held(tables.ApiKeyTable)
    checkpoints = Held(tables.CheckpointTable)
    heartbeats = Held(tables.HeartbeatTable)
    agent_states = Held(tables.AgentStateTable)
    settings = Held(tables.SettingTable)
    artifacts = Held(tables.ArtifactTable)
    projects = Held(tables.ProjectTable)
    custom_presets = Held(tables.PresetTable)


def selections() -> dict[str, str]:
    """Return the SQL that reads each repository whole, by its name."""
    held = vars(DuckDBPersistence).items()
    return {name: each.table.selection for name, each in held if isinstance(each, Held)}


class OwnPersistence(DuckDBPersistence):
    """Repositories on a database of their own, a file or a server's, which ``connect`` opens."""

    def __init__(self, config: PersistenceConfig) -> None:
        self._config = config
        self._closing = ExitStack()
        super().__init__(Database(Path(IN_MEMORY)))

    async def connect(self) -> None:
        if self.is_connected:
            return
        try:
            self._database = self._opening()
            await self._database.open()
        except (MigrationError, PersistenceConnectionError):
            self._closing.close()
            raise
        except (DomainError, OSError) as error:
            self._closing.close()
            told = error if isinstance(error, DomainError) else DomainError(str(error))
            raise PersistenceConnectionError(told.message, remedy=told.remedy) from error

    async def disconnect(self) -> None:
        await self._database.close()
        self._closing.close()

    @property
    def backend_name(self) -> str:
        return POSTGRES if self._config.is_postgres else self._database.kind

    def _opening(self) -> StoreDatabase:
        path = str(self._config.path)
        if not self._config.is_postgres and path != IN_MEMORY:
            return Database(expand_home(Path(path)))
        folder = Path(self._closing.enter_context(TemporaryDirectory(prefix="synthorg-")))
        if self._config.is_postgres:
            return store_database(folder, self._config)
        return Database(folder / _MADE_FROM)


def create_backend(config: PersistenceConfig) -> "PersistenceBackend":
    """Return a new backend for the database that the settings name; it is disconnected.

    Each has a database of its own: two companies share nothing, unless they name one server's.
    Raises ``ConfigError`` when the settings name no path: the data of an open engine is
    ``Engine.operations``.
    """
    if config.path is None and not config.is_postgres:
        raise ConfigError(
            "persistence.path is not set: a database of its own needs a path",
            remedy="Set persistence.path to a file, or use the operations of an engine.",
        )
    return OwnPersistence(config)

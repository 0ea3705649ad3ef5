"""Operational data on DuckDB: the backend that the engine has, and those that stand alone."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypeVar

from synthorg_tui.core.errors import ConfigError, DomainError
from synthorg_tui.core.paths import expand_home
from synthorg_tui.persistence.config import IN_MEMORY, POSTGRES, PersistenceConfig
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.errors import (
    MigrationError,
    PersistenceConnectionError,
)
from synthorg_tui.persistence.lock import store_database
from synthorg_tui.persistence.migrations import create_missing
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.repositories.accounts import (
    DuckDBApiKeys,
    DuckDBPresets,
    DuckDBSettings,
    DuckDBUsers,
)
from synthorg_tui.persistence.repositories.table import NOT_CONNECTED
from synthorg_tui.persistence.repositories.trail import (
    DuckDBAudit,
    DuckDBCollaborationMetrics,
    DuckDBLifecycleEvents,
    DuckDBMessages,
    DuckDBTaskMetrics,
)
from synthorg_tui.persistence.repositories.work import (
    DuckDBAgentStates,
    DuckDBArtifacts,
    DuckDBCheckpoints,
    DuckDBCostRecords,
    DuckDBHeartbeats,
    DuckDBParkedContexts,
    DuckDBProjects,
    DuckDBTasks,
)

if TYPE_CHECKING:
    from synthorg_tui.persistence.protocol import PersistenceBackend

_MADE_FROM: Final = "operational.duckdb"
Repository = TypeVar("Repository")


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

    @property
    def tasks(self) -> DuckDBTasks:
        return self._on(DuckDBTasks)

    @property
    def cost_records(self) -> DuckDBCostRecords:
        return self._on(DuckDBCostRecords)

    @property
    def messages(self) -> DuckDBMessages:
        return self._on(DuckDBMessages)

    @property
    def lifecycle_events(self) -> DuckDBLifecycleEvents:
        return self._on(DuckDBLifecycleEvents)

    @property
    def task_metrics(self) -> DuckDBTaskMetrics:
        return self._on(DuckDBTaskMetrics)

    @property
    def collaboration_metrics(self) -> DuckDBCollaborationMetrics:
        return self._on(DuckDBCollaborationMetrics)

    @property
    def parked_contexts(self) -> DuckDBParkedContexts:
        return self._on(DuckDBParkedContexts)

    @property
    def audit_entries(self) -> DuckDBAudit:
        return self._on(DuckDBAudit)

    @property
    def users(self) -> DuckDBUsers:
        return self._on(DuckDBUsers)

    @property
    def api_keys(self) -> DuckDBApiKeys:
        return self._on(DuckDBApiKeys)

    @property
    def checkpoints(self) -> DuckDBCheckpoints:
        return self._on(DuckDBCheckpoints)

    @property
    def heartbeats(self) -> DuckDBHeartbeats:
        return self._on(DuckDBHeartbeats)

    @property
    def agent_states(self) -> DuckDBAgentStates:
        return self._on(DuckDBAgentStates)

    @property
    def settings(self) -> DuckDBSettings:
        return self._on(DuckDBSettings)

    @property
    def artifacts(self) -> DuckDBArtifacts:
        return self._on(DuckDBArtifacts)

    @property
    def projects(self) -> DuckDBProjects:
        return self._on(DuckDBProjects)

    @property
    def custom_presets(self) -> DuckDBPresets:
        return self._on(DuckDBPresets)

    def _on(self, repository: Callable[[StoreDatabase], Repository]) -> Repository:
        if not self.is_connected:
            raise PersistenceConnectionError(NOT_CONNECTED, remedy="Await connect() first.")
        return repository(self._database)


class PostgresPersistenceBackend(DuckDBPersistence):
    """Repositories on a PostgreSQL server, to which ``connect`` connects."""

    def __init__(self, config: PersistenceConfig) -> None:
        self._config = config
        self._closing = ExitStack()
        super().__init__(Database(Path(IN_MEMORY)))

    async def connect(self) -> None:
        """Connect; raises ``PersistenceConnectionError`` with what is wrong with the server."""
        if self.is_connected:
            return
        folder = Path(self._closing.enter_context(TemporaryDirectory(prefix="synthorg-")))
        try:
            self._database = store_database(folder, self._config)
            await self._database.open()
        except (MigrationError, PersistenceConnectionError):
            self._closing.close()
            raise
        except DomainError as error:
            self._closing.close()
            raise PersistenceConnectionError(error.message, remedy=error.remedy) from error

    async def disconnect(self) -> None:
        await self._database.close()
        self._closing.close()

    @property
    def backend_name(self) -> str:
        return POSTGRES


class OwnDuckDBPersistence(DuckDBPersistence):
    """Repositories on a DuckDB file of their own, which ``connect`` opens."""

    def __init__(self, path: str) -> None:
        self._closing = ExitStack()
        self._path = path
        super().__init__(Database(Path(path)))

    async def connect(self) -> None:
        if self.is_connected:
            return
        try:
            self._database = Database(self._file())
            await self._database.open()
        except MigrationError:
            raise
        except (DomainError, OSError) as error:
            self._closing.close()
            told = error if isinstance(error, DomainError) else DomainError(str(error))
            raise PersistenceConnectionError(told.message, remedy=told.remedy) from error

    async def disconnect(self) -> None:
        await self._database.close()
        self._closing.close()

    def _file(self) -> Path:
        if self._path != IN_MEMORY:
            return expand_home(Path(self._path))
        folder = self._closing.enter_context(TemporaryDirectory(prefix="synthorg-"))
        return Path(folder) / _MADE_FROM


def create_backend(config: PersistenceConfig) -> "PersistenceBackend":
    """Return a new backend for the database that the settings name; it is disconnected.

    Each has a database of its own: two companies share nothing, unless they name one server's.
    Raises ``ConfigError`` when the settings name no path: the data of an open engine is
    ``Engine.operations``.
    """
    if config.is_postgres:
        return PostgresPersistenceBackend(config)
    if config.path is None:
        raise ConfigError(
            "persistence.path is not set: a database of its own needs a path",
            remedy="Set persistence.path to a file, or use the operations of an engine.",
        )
    return OwnDuckDBPersistence(config.path)

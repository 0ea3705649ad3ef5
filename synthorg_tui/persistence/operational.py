"""The backend of operational data: that of an open engine, and those on databases of their own."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Generic, TypeVar

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

_MADE_FROM: Final = "operational.duckdb"
Repository = TypeVar("Repository", bound=EntityTable[Any])


class Held(Generic[Repository]):
    """An attribute of a connected backend that is the repository of a table."""

    def __init__(self, table: type[Repository]) -> None:
        self.table = table

    def __get__(self, backend: "DuckDBPersistence", _: type) -> Repository:
        return backend.repository(self.table)


class DuckDBPersistence:
    """The repositories of operational data, one for each kind of entity, all asynchronous.

    They run on every ``StoreDatabase``, a file or a server's. A backend on a ``database`` that its
    owner opens and closes is connected as long as that is open; ``create_backend`` returns one that
    opens a database of its own. While it isn't connected, its repositories raise
    ``PersistenceConnectionError``. ``connect`` and ``disconnect`` can be repeated, and ``migrate``
    does nothing when the schema is up to date.
    """

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def connect(self) -> None:
        """Open the database; raises ``PersistenceConnectionError`` or ``MigrationError``."""
        if not self._database.is_open:
            raise PersistenceConnectionError("the store that the operational data is in is closed")

    async def disconnect(self) -> None:
        """Do nothing: the owner of the database closes it."""

    async def health_check(self) -> bool:
        """Return whether the database answers; ``False`` also when it isn't connected."""
        if not self.is_connected:
            return False
        try:
            found = await self._database.read(lambda db: db.execute("SELECT 1").fetchone())
        except DomainError:
            return False
        return found == (1,)

    async def migrate(self) -> None:
        """Bring the schema up to date; raises ``MigrationError``."""
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
    cost_records = Held(tables.CostRecordTable)
    messages = Held(tables.MessageTable)
    lifecycle_events = Held(tables.LifecycleEventRepository)
    task_metrics = Held(tables.TaskMetricRepository)
    collaboration_metrics = Held(tables.CollaborationMetricRepository)
    parked_contexts = Held(tables.ParkedContextRepository)
    audit_entries = Held(tables.AuditRepository)
    users = Held(tables.UserRepository)
    api_keys = Held(tables.ApiKeyRepository)
    checkpoints = Held(tables.CheckpointRepository)
    heartbeats = Held(tables.HeartbeatRepository)
    agent_states = Held(tables.AgentStateRepository)
    settings = Held(tables.SettingsRepository)
    artifacts = Held(tables.ArtifactRepository)
    projects = Held(tables.ProjectRepository)
    custom_presets = Held(tables.PersonalityPresetRepository)


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


def create_backend(config: PersistenceConfig) -> DuckDBPersistence:
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

"""The port of operational data: a backend with one repository an entity, all asynchronous.

Whoever stores tasks, costs or settings depends on these protocols, never on a database. Each is the
whole contract that a second database has to keep; ``tests/persistence/test_repositories.py`` checks
any backend against it. In all of them ``save`` replaces an entity with the same id unless it says
that it adds one, ``get`` returns ``None`` for an unknown id, ``delete`` tells whether there was
something to delete, filters that are ``None`` allow everything, and ``limit=None`` is no limit.
Methods raise ``QueryError`` when the database refuses, and ``PersistenceConnectionError`` once the
backend is disconnected.
"""

from datetime import datetime
from typing import Protocol, TypeVar, runtime_checkable

from synthorg_tui.core.enums import (
    ArtifactType,
    ProjectStatus,
    RiskLevel,
    SecurityVerdictType,
    TaskStatus,
)
from synthorg_tui.persistence.entities import (
    AgentRuntimeState,
    ApiKey,
    Artifact,
    AuditEntry,
    Checkpoint,
    CollaborationMetric,
    CostRecord,
    CustomPreset,
    Heartbeat,
    LifecycleEvent,
    Message,
    ParkedContext,
    Project,
    Setting,
    Task,
    TaskMetric,
    User,
)

Entity = TypeVar("Entity")
Entry = TypeVar("Entry", contravariant=True)


class EntryRepository(Protocol[Entry]):
    """Entities that are only ever added; a known id is a duplicate."""

    async def save(self, entry: Entry, /) -> None: ...


class KeyedRepository(Protocol[Entity]):
    """Entities that are replaced, found and deleted by their key."""

    async def save(self, entity: Entity, /) -> None: ...

    async def get(self, key: str, /) -> Entity | None: ...

    async def delete(self, key: str, /) -> bool: ...


@runtime_checkable
class TaskRepository(KeyedRepository[Task], Protocol):
    """Tasks by id; a task is a run's, whose id it has."""

    async def list_tasks(
        self,
        *,
        status: TaskStatus | None = None,
        assigned_to: str | None = None,
        project: str | None = None,
    ) -> tuple[Task, ...]:
        """Return the tasks that have all of these, in no particular order."""


@runtime_checkable
class CostRecordRepository(EntryRepository[CostRecord], Protocol):
    """What the answers of models used; records are only ever added."""

    async def query(
        self, *, agent_id: str | None = None, task_id: str | None = None
    ) -> tuple[CostRecord, ...]:
        """Return records, oldest first."""

    async def aggregate(self, *, agent_id: str | None = None) -> float:
        """Return the sum of costs, 0.0 without any."""


@runtime_checkable
class MessageRepository(EntryRepository[Message], Protocol):
    """Messages between agents; they are only ever added, a known id is a duplicate."""

    async def get_history(self, channel: str, *, limit: int | None = None) -> tuple[Message, ...]:
        """Return the messages of a channel, newest first."""


@runtime_checkable
class LifecycleEventRepository(EntryRepository[LifecycleEvent], Protocol):
    """What happened to agents themselves; only ever added, a known id is a duplicate."""

    async def list_events(
        self,
        *,
        agent_id: str | None = None,
        event_type: str | None = None,
        since: datetime | None = None,
        limit: int | None = None,
    ) -> tuple[LifecycleEvent, ...]:
        """Return events, newest first."""


@runtime_checkable
class TaskMetricRepository(EntryRepository[TaskMetric], Protocol):
    """How tasks went; only ever added, a known id is a duplicate."""

    async def query(
        self,
        *,
        agent_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[TaskMetric, ...]:
        """Return metrics of tasks completed in the span (``until`` is outside), oldest first."""


@runtime_checkable
class CollaborationMetricRepository(EntryRepository[CollaborationMetric], Protocol):
    """How agents worked together; only ever added, a known id is a duplicate."""

    async def query(
        self, *, agent_id: str | None = None, since: datetime | None = None
    ) -> tuple[CollaborationMetric, ...]:
        """Return metrics, oldest first."""


@runtime_checkable
class ParkedContextRepository(KeyedRepository[ParkedContext], Protocol):
    """Runs that wait for a person."""

    async def get_by_approval(self, approval_id: str) -> ParkedContext | None:
        """Return what waits for an approval item, the latest if several do."""

    async def list_contexts(
        self,
        *,
        execution_id: str | None = None,
        agent_id: str | None = None,
        task_id: str | None = None,
    ) -> tuple[ParkedContext, ...]:
        """Return what waits, the longest first."""


@runtime_checkable
class AuditRepository(EntryRepository[AuditEntry], Protocol):
    """Decisions on calls of tools; only ever added, a known id is a duplicate."""

    async def query(
        self,
        *,
        agent_id: str | None = None,
        action_type: str | None = None,
        verdict: SecurityVerdictType | None = None,
        risk_level: RiskLevel | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = 100,
    ) -> tuple[AuditEntry, ...]:
        """Return entries of the span (``until`` is outside), newest first."""


@runtime_checkable
class UserRepository(KeyedRepository[User], Protocol):
    """Accounts; a name that another account has is a duplicate."""

    async def get_by_username(self, username: str) -> User | None: ...

    async def list_users(self) -> tuple[User, ...]:
        """Return all users by name."""

    async def count(self) -> int: ...


@runtime_checkable
class ApiKeyRepository(KeyedRepository[ApiKey], Protocol):
    """Keys of programs, as hashes; a hash that another key has is a duplicate."""

    async def get_by_hash(self, key_hash: str) -> ApiKey | None: ...

    async def list_by_user(self, user_id: str) -> tuple[ApiKey, ...]:
        """Return a user's keys, the oldest first."""


@runtime_checkable
class CheckpointRepository(Protocol):
    """States of runs after each of their steps."""

    async def save(self, checkpoint: Checkpoint) -> None: ...

    async def get_latest(
        self, *, execution_id: str | None = None, task_id: str | None = None
    ) -> Checkpoint | None:
        """Return the last one in the order of ``list_checkpoints``.

        Raises ``ValueError`` when neither a run nor a task is named.
        """

    async def list_checkpoints(self, execution_id: str) -> tuple[Checkpoint, ...]:
        """Return those of a run by turn, within it by time, at the same time by id."""

    async def delete_by_execution(self, execution_id: str) -> int:
        """Delete those of a run and return how many there were."""


@runtime_checkable
class HeartbeatRepository(KeyedRepository[Heartbeat], Protocol):
    """Signs of life, one a run."""

    async def get_stale(self, threshold: datetime) -> tuple[Heartbeat, ...]:
        """Return those from before ``threshold``, the oldest first."""


@runtime_checkable
class AgentStateRepository(KeyedRepository[AgentRuntimeState], Protocol):
    """What agents do at the moment."""

    async def get_active(self) -> tuple[AgentRuntimeState, ...]:
        """Return those that aren't idle, the last active first."""

    async def list_states(self) -> tuple[AgentRuntimeState, ...]:
        """Return all, the last active first."""


@runtime_checkable
class SettingsRepository(Protocol):
    """Values that were set in the app, by namespace and key."""

    async def save(self, setting: Setting) -> None: ...

    async def get(self, namespace: str, key: str) -> Setting | None: ...

    async def get_namespace(self, namespace: str) -> tuple[Setting, ...]:
        """Return the settings of a namespace by key."""

    async def get_all(self) -> tuple[Setting, ...]:
        """Return all settings by namespace and key."""

    async def delete(self, namespace: str, key: str) -> bool: ...

    async def delete_namespace(self, namespace: str) -> int:
        """Delete the settings of a namespace and return how many there were."""


@runtime_checkable
class ArtifactRepository(KeyedRepository[Artifact], Protocol):
    """Files that came of tasks."""

    async def list_artifacts(
        self,
        *,
        task_id: str | None = None,
        created_by: str | None = None,
        artifact_type: ArtifactType | None = None,
    ) -> tuple[Artifact, ...]:
        """Return artifacts by path."""


@runtime_checkable
class ProjectRepository(KeyedRepository[Project], Protocol):
    """Projects by id."""

    async def list_projects(
        self, *, status: ProjectStatus | None = None, lead: str | None = None
    ) -> tuple[Project, ...]:
        """Return projects by id."""


@runtime_checkable
class PersonalityPresetRepository(KeyedRepository[CustomPreset], Protocol):
    """Personalities that a person made, by name."""

    async def list_presets(self) -> tuple[CustomPreset, ...]:
        """Return all presets by name."""

    async def count(self) -> int: ...


@runtime_checkable
class PersistenceBackend(Protocol):
    """A database of operational data.

    A new one is disconnected: its repositories raise ``PersistenceConnectionError`` until
    ``connect`` was awaited. ``connect`` and ``disconnect`` do nothing when that is so already, and
    ``migrate`` nothing when the schema is up to date.
    """

    async def connect(self) -> None:
        """Open the database; raises ``PersistenceConnectionError`` or ``MigrationError``."""

    async def disconnect(self) -> None: ...

    async def health_check(self) -> bool:
        """Tell whether the database answers; ``False`` also when it isn't connected."""

    async def migrate(self) -> None:
        """Bring the schema up to date; raises ``MigrationError`` where it can't be."""

    @property
    def is_connected(self) -> bool: ...

    @property
    def backend_name(self) -> str: ...

    @property
    def tasks(self) -> TaskRepository: ...

    @property
    def cost_records(self) -> CostRecordRepository: ...

    @property
    def messages(self) -> MessageRepository: ...

    @property
    def lifecycle_events(self) -> LifecycleEventRepository: ...

    @property
    def task_metrics(self) -> TaskMetricRepository: ...

    @property
    def collaboration_metrics(self) -> CollaborationMetricRepository: ...

    @property
    def parked_contexts(self) -> ParkedContextRepository: ...

    @property
    def audit_entries(self) -> AuditRepository: ...

    @property
    def users(self) -> UserRepository: ...

    @property
    def api_keys(self) -> ApiKeyRepository: ...

    @property
    def checkpoints(self) -> CheckpointRepository: ...

    @property
    def heartbeats(self) -> HeartbeatRepository: ...

    @property
    def agent_states(self) -> AgentStateRepository: ...

    @property
    def settings(self) -> SettingsRepository: ...

    @property
    def artifacts(self) -> ArtifactRepository: ...

    @property
    def projects(self) -> ProjectRepository: ...

    @property
    def custom_presets(self) -> PersonalityPresetRepository: ...

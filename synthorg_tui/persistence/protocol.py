"""The documented protocols of operational data, for programs that bring a database of their own.

In all of them ``get`` returns ``None`` for an unknown id, ``delete`` tells whether there was
something to delete, filters that are ``None`` allow everything, and ``limit=None`` is no limit.
Methods raise ``QueryError`` when the database refuses, and ``PersistenceConnectionError`` once the
backend is disconnected.
"""

from typing import Protocol, runtime_checkable

from synthorg_tui.core.enums import TaskStatus
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.persistence.entities import CostRecord, Message, Task


@runtime_checkable
class TaskRepository(Protocol):
    """Tasks by id; saving one replaces the task with its id."""

    async def save(self, task: Task, /) -> None: ...

    async def get(self, task_id: str, /) -> Task | None: ...

    async def list_tasks(
        self,
        *,
        status: TaskStatus | None = None,
        assigned_to: str | None = None,
        project: str | None = None,
    ) -> tuple[Task, ...]:
        """Return the tasks that have all of these, in no particular order."""

    async def delete(self, task_id: str, /) -> bool: ...


@runtime_checkable
class CostRecordRepository(Protocol):
    """What the answers of models used; records are only ever added."""

    async def save(self, record: CostRecord, /) -> None: ...

    async def query(
        self, *, agent_id: str | None = None, task_id: str | None = None
    ) -> tuple[CostRecord, ...]:
        """Return records, oldest first."""

    async def aggregate(self, *, agent_id: str | None = None) -> float:
        """Return the sum of costs, 0.0 without any."""


@runtime_checkable
class MessageRepository(Protocol):
    """Messages between agents; they are only ever added, a known id is a duplicate."""

    async def save(self, message: Message, /) -> None: ...

    async def get_history(self, channel: str, *, limit: int | None = None) -> tuple[Message, ...]:
        """Return the messages of a channel, newest first."""


@runtime_checkable
class PersistenceBackend(Protocol):
    """The lifecycle of a database of operational data, and its repositories."""

    async def connect(self) -> None:
        """Open the database; raises ``PersistenceConnectionError`` or ``MigrationError``."""

    async def disconnect(self) -> None:
        """Close what ``connect`` opened."""

    async def health_check(self) -> bool:
        """Return whether the database answers."""

    async def migrate(self) -> None:
        """Bring the schema up to date; raises ``MigrationError``."""

    @property
    def is_connected(self) -> bool: ...

    @property
    def backend_name(self) -> NotBlankStr: ...

    @property
    def tasks(self) -> TaskRepository: ...

    @property
    def cost_records(self) -> CostRecordRepository: ...

    @property
    def messages(self) -> MessageRepository: ...

"""The contract of every repository of operational data, on each backend that there is.

A second backend is added by one more entry in ``BACKENDS``.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from synthorg_tui.core.enums import (
    ActivityStatus,
    ArtifactType,
    ProjectStatus,
    RiskLevel,
    SecurityVerdictType,
    TaskStatus,
    TaskType,
)
from synthorg_tui.core.types import FrozenModel
from synthorg_tui.persistence import entities, protocol, repositories
from synthorg_tui.persistence.config import PersistenceConfig
from synthorg_tui.persistence.errors import (
    DuplicateRecordError,
    PersistenceConnectionError,
    QueryError,
)
from synthorg_tui.persistence.operational import DuckDBPersistence, create_backend
from tests.conftest import FixedClock
from tests.postgres_server import PostgresServer
from tests.tables import rows

NOW = FixedClock().now()
BACKENDS = ("duckdb", "postgres")
REPOSITORIES = {
    "tasks": protocol.TaskRepository,
    "cost_records": protocol.CostRecordRepository,
    "messages": protocol.MessageRepository,
    "lifecycle_events": repositories.LifecycleEventRepository,
    "task_metrics": repositories.TaskMetricRepository,
    "collaboration_metrics": repositories.CollaborationMetricRepository,
    "parked_contexts": repositories.ParkedContextRepository,
    "audit_entries": repositories.AuditRepository,
    "users": repositories.UserRepository,
    "api_keys": repositories.ApiKeyRepository,
    "checkpoints": repositories.CheckpointRepository,
    "heartbeats": repositories.HeartbeatRepository,
    "agent_states": repositories.AgentStateRepository,
    "settings": repositories.SettingsRepository,
    "artifacts": repositories.ArtifactRepository,
    "projects": repositories.ProjectRepository,
    "custom_presets": repositories.PersonalityPresetRepository,
}


def later(hours: float) -> Any:
    return NOW + timedelta(hours=hours)


@dataclass(frozen=True)
class Kind:
    """What all repositories are asked alike: made entities, and how one is got and deleted."""

    name: str
    make: Callable[[str], Any]
    change: dict[str, Any]
    key: Callable[[Any], tuple[str, ...]] = lambda entity: (entity.id,)


def _task(name: str) -> entities.Task:
    return entities.Task(
        id=name,
        title=f"Title of {name}",
        description="It says 'quoted' and\nmore — ünïcode",
        type=TaskType.RESEARCH,
        project="/p",
        created_by="person",
        deadline=later(5),
    )


def _state(name: str) -> entities.AgentRuntimeState:
    return entities.AgentRuntimeState(
        agent_id=name,
        execution_id="r1",
        status=ActivityStatus.EXECUTING,
        turn_count=3,
        accumulated_cost=0.5,
        last_activity_at=NOW,
    )


def _user(name: str) -> entities.User:
    return entities.User(
        id=name,
        username=f"user {name}",
        password_hash="h",
        role="observer",
        created_at=NOW,
        updated_at=NOW,
    )


def _key(name: str) -> entities.ApiKey:
    key_hash = name.encode().hex().ljust(64, "0")
    return entities.ApiKey(
        id=name, key_hash=key_hash, name="ci", role="observer", user_id="u", created_at=NOW
    )


def _preset(name: str) -> entities.CustomPreset:
    return entities.CustomPreset(name=name, config_json="{}", created_at=NOW, updated_at=NOW)


def _parked(name: str) -> entities.ParkedContext:
    return entities.ParkedContext(
        id=name,
        execution_id="r1",
        agent_id="a",
        task_id="t",
        approval_id=f"item {name}",
        parked_at=NOW,
        context_json='{"step": 1}',
        metadata={"tool": "shell", "why": 'it\u2019s "so"'},
    )


def _heartbeat(name: str) -> entities.Heartbeat:
    return entities.Heartbeat(execution_id=name, agent_id="a", task_id="t", last_heartbeat_at=NOW)


def _artifact(name: str) -> entities.Artifact:
    return entities.Artifact(
        id=name, type=ArtifactType.CODE, path=f"{name}.py", task_id="t", created_by="a"
    )


def _project(name: str) -> entities.Project:
    return entities.Project(id=name, name=name, team=("a", "b"), lead="a", deadline=later(9))


def _setting(name: str) -> entities.Setting:
    return entities.Setting(namespace="memory", key=name, value="", updated_at=NOW)


KEPT = [
    Kind("tasks", _task, {"title": "another"}),
    Kind("users", _user, {"role": "ceo"}),
    Kind("api_keys", _key, {"revoked": True}),
    Kind("custom_presets", _preset, {"config_json": "[]"}, lambda preset: (preset.name,)),
    Kind("parked_contexts", _parked, {"metadata": {}}),
    Kind(
        "heartbeats",
        _heartbeat,
        {"last_heartbeat_at": later(1)},
        lambda heartbeat: (heartbeat.execution_id,),
    ),
    Kind("agent_states", _state, {"turn_count": 4}, lambda state: (state.agent_id,)),
    Kind("artifacts", _artifact, {"description": "new"}),
    Kind("projects", _project, {"team": (), "lead": None}),
    Kind("settings", _setting, {"value": "x"}, lambda setting: (setting.namespace, setting.key)),
]


def _message(name: str, hours: float = 0) -> entities.Message:
    return entities.Message(
        id=name,
        timestamp=later(hours),
        sender="a",
        to="b",
        type="question",
        channel="#code",
        content="why?",
    )


def _event(name: str, hours: float = 0) -> entities.LifecycleEvent:
    return entities.LifecycleEvent(
        id=name, agent_id="a", event_type="paused", timestamp=later(hours), initiated_by="person"
    )


def _metric(name: str, hours: float = 0) -> entities.TaskMetric:
    return entities.TaskMetric(
        id=name,
        agent_id="a",
        task_id="t",
        task_type=TaskType.DEVELOPMENT,
        completed_at=later(hours),
        is_success=True,
        duration_seconds=1.5,
        cost_usd=0.25,
        turns_used=3,
        tokens_used=100,
    )


def _collaboration(name: str, hours: float = 0) -> entities.CollaborationMetric:
    return entities.CollaborationMetric(
        id=name, agent_id="a", recorded_at=later(hours), delegation_success=False
    )


def _audit(name: str, hours: float = 0, **changes: Any) -> entities.AuditEntry:
    values: dict[str, Any] = {
        "id": name,
        "timestamp": later(hours),
        "agent_id": "a",
        "tool_name": "shell",
        "tool_category": "terminal",
        "action_type": "terminal:run",
        "arguments_hash": "0" * 64,
        "verdict": SecurityVerdictType.ESCALATE,
        "risk_level": RiskLevel.HIGH,
        "reason": "it executes",
        "matched_rules": ("executes", "outside"),
        "evaluation_duration_ms": 0.25,
    }
    return entities.AuditEntry(**{**values, **changes})


@dataclass(frozen=True)
class Added:
    """Of what is only ever added: how entities are made, and read in the contract's order."""

    name: str
    make: Callable[..., Any]
    read: Callable[[Any], Awaitable[tuple[FrozenModel, ...]]]
    newest_first: bool


ADDED = [
    Added("messages", _message, lambda found: found.get_history("#code"), True),
    Added("lifecycle_events", _event, lambda found: found.query(), True),
    Added("task_metrics", _metric, lambda found: found.query(), False),
    Added("collaboration_metrics", _collaboration, lambda found: found.query(), False),
    Added("audit_entries", _audit, lambda found: found.query(), True),
]


def cost_of(agent: str, cost: float, hours: float = 0, task: str = "t") -> entities.CostRecord:
    return entities.CostRecord(
        agent_id=agent,
        task_id=task,
        provider="openai",
        model="m",
        input_tokens=10,
        output_tokens=2,
        cost_usd=cost,
        timestamp=later(hours),
        seconds=0.5,
    )


def checkpoint_of(name: str, turn: int, run: str = "r1", **changes: Any) -> entities.Checkpoint:
    values = {"execution_id": run, "agent_id": "a", "task_id": f"task of {run}", "created_at": NOW}
    return entities.Checkpoint(
        id=name, turn_number=turn, context_json="{}", **{**values, **changes}
    )


@pytest.fixture(params=BACKENDS)
def made_in(request: pytest.FixtureRequest) -> Iterator[Callable[[Path], DuckDBPersistence]]:
    """Makes a backend with a database of its own for a folder; it is disconnected."""
    if request.param == "duckdb":
        yield lambda folder: create_backend(PersistenceConfig(path=str(folder / "own.duckdb")))
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    with server.stores() as new_store:
        yield lambda _: create_backend(
            PersistenceConfig(backend="postgres", url=SecretStr(new_store()))
        )


@pytest.fixture
async def backend(
    made_in: Callable[[Path], DuckDBPersistence], tmp_path: Path
) -> AsyncIterator[DuckDBPersistence]:
    backend = made_in(tmp_path)
    await backend.connect()
    yield backend
    await backend.disconnect()


@rows("kind", KEPT, ids=lambda kind: kind.name)
async def test_an_entity_is_read_as_it_was_saved_until_it_is_replaced_or_deleted(
    backend: DuckDBPersistence, kind: Kind
) -> None:
    found = getattr(backend, kind.name)
    one, other = kind.make("one"), kind.make("other")
    assert await found.get(*kind.key(one)) is None
    assert await found.delete(*kind.key(one)) is False
    await found.save(one)
    await found.save(other)
    assert await found.get(*kind.key(one)) == one
    changed = one.model_copy(update=kind.change)
    await found.save(changed)
    assert await found.get(*kind.key(one)) == changed != one
    assert await found.get(*kind.key(other)) == other
    assert await found.delete(*kind.key(one)) is True
    assert await found.get(*kind.key(one)) is None
    assert await found.get(*kind.key(other)) == other


@rows("added", ADDED, ids=lambda added: added.name)
async def test_what_is_only_added_is_read_in_its_order_and_added_once(
    backend: DuckDBPersistence, added: Added
) -> None:
    found = getattr(backend, added.name)
    assert await added.read(found) == ()
    by_time = [added.make("b", 0), added.make("a", 1), added.make("c", 2)]
    for entity in (by_time[1], by_time[2], by_time[0]):
        await found.save(entity)
    expected = tuple(reversed(by_time) if added.newest_first else by_time)
    assert await added.read(found) == expected
    with pytest.raises(DuplicateRecordError, match="exists already"):
        await found.save(added.make("a", 3))
    assert await added.read(found) == expected


async def test_tasks_are_listed_by_what_they_have(backend: DuckDBPersistence) -> None:
    waiting, other = _task("waiting"), _task("other").model_copy(update={"project": "/q"})
    mine = _task("mine").moved(TaskStatus.ASSIGNED, assigned_to="a")
    for task in (waiting, other, mine):
        await backend.tasks.save(task)
    assert set(await backend.tasks.list_tasks()) == {waiting, other, mine}
    assert await backend.tasks.list_tasks(status=TaskStatus.ASSIGNED) == (mine,)
    assert await backend.tasks.list_tasks(assigned_to="a", project="/p") == (mine,)
    assert await backend.tasks.list_tasks(project="/q") == (other,)
    assert await backend.tasks.list_tasks(assigned_to="a", project="/q") == ()


async def test_costs_are_added_and_summed_up(backend: DuckDBPersistence) -> None:
    costs = backend.cost_records
    assert await costs.aggregate() == 0.0
    records = [cost_of("a", 0.5, 1), cost_of("b", 0.25, 2), cost_of("a", 1.0, 3, task="u")]
    for record in reversed(records):
        await costs.save(record)
    await costs.save(records[0])
    assert await costs.query() == (records[0], records[0], *records[1:])
    assert await costs.query(agent_id="a", task_id="u") == (records[2],)
    assert await costs.query(task_id="v") == ()
    assert await costs.aggregate() == 2.25
    assert await costs.aggregate(agent_id="b") == 0.25
    assert await costs.aggregate(agent_id="c") == 0.0


async def test_history_of_a_channel_can_be_cut(backend: DuckDBPersistence) -> None:
    for number in range(3):
        await backend.messages.save(_message(str(number), number))
    await backend.messages.save(_message("x").model_copy(update={"channel": "#else"}))
    latest = await backend.messages.get_history("#code", limit=2)
    assert [message.id for message in latest] == ["2", "1"]
    assert await backend.messages.get_history("#code", limit=0) == ()
    assert await backend.messages.get_history("#none") == ()


async def test_events_are_of_an_agent_a_type_and_a_time(backend: DuckDBPersistence) -> None:
    events = backend.lifecycle_events
    resumed = _event("2", 2).model_copy(update={"event_type": "resumed"})
    others = _event("3", 3).model_copy(update={"agent_id": "b"})
    for event in (_event("1", 1), resumed, others):
        await events.save(event)
    assert await events.query(agent_id="a", limit=1) == (resumed,)
    assert await events.query(event_type="paused") == (others, _event("1", 1))
    assert await events.query(since=later(3)) == (others,)


async def test_metrics_are_of_a_span_without_its_end(backend: DuckDBPersistence) -> None:
    for hours in (1, 2, 3):
        await backend.task_metrics.save(_metric(str(hours), hours))
        await backend.collaboration_metrics.save(_collaboration(str(hours), hours))
    found = await backend.task_metrics.query(agent_id="a", since=later(2), until=later(3))
    assert found == (_metric("2", 2),)
    assert await backend.task_metrics.query(agent_id="b") == ()
    assert await backend.collaboration_metrics.query(agent_id="a", since=later(3)) == (
        _collaboration("3", 3),
    )


async def test_the_audit_is_asked_by_what_was_decided(backend: DuckDBPersistence) -> None:
    audit = backend.audit_entries
    allowed = _audit(
        "allowed",
        1,
        verdict=SecurityVerdictType.ALLOW,
        risk_level=RiskLevel.LOW,
        action_type="file_system:read",
        agent_id=None,
        approval_id="i",
    )
    asked = _audit("asked", 2)
    for entry in (allowed, asked):
        await audit.save(entry)
    assert await audit.query(agent_id="a") == (asked,)
    assert await audit.query(action_type="file_system:read") == (allowed,)
    assert await audit.query(verdict=SecurityVerdictType.ESCALATE) == (asked,)
    assert await audit.query(verdict=SecurityVerdictType.DENY) == ()
    assert await audit.query(risk_level=RiskLevel.LOW) == (allowed,)
    assert await audit.query(since=later(1), until=later(2)) == (allowed,)
    assert await audit.query(limit=1) == (asked,)


async def test_what_waits_is_found_by_its_approval_run_agent_or_task(
    backend: DuckDBPersistence,
) -> None:
    parked = backend.parked_contexts
    first = _parked("first")
    second = _parked("second").model_copy(
        update={"execution_id": "r2", "task_id": None, "parked_at": later(1)}
    )
    for context in (second, first):
        await parked.save(context)
    assert await parked.query(approval_id="item second") == (second,)
    assert await parked.query(approval_id="item third") == ()
    assert await parked.query() == (first, second)
    assert await parked.query(execution_id="r2") == (second,)
    assert await parked.query(agent_id="a", task_id="t") == (first,)


async def test_the_checkpoints_of_a_run_are_in_the_order_of_its_steps(
    backend: DuckDBPersistence,
) -> None:
    steps = [
        checkpoint_of("b", 1),
        checkpoint_of("c", 1),
        checkpoint_of("a", 2, created_at=later(-1)),
    ]
    foreign = checkpoint_of("z", 9, run="r2")
    for checkpoint in (steps[2], foreign, steps[1], steps[0]):
        await backend.checkpoints.save(checkpoint)
    await backend.checkpoints.save(steps[1])
    assert await backend.checkpoints.query(execution_id="r1") == tuple(steps)
    assert await backend.checkpoints.query(task_id="task of r2") == (foreign,)
    assert await backend.checkpoints.query(execution_id="r1", task_id="none") == ()
    assert await backend.checkpoints.remove(execution_id="r1") == 3
    assert await backend.checkpoints.remove(execution_id="r1") == 0
    assert await backend.checkpoints.query(execution_id="r2") == (foreign,)


async def test_a_heartbeat_is_stale_from_before_a_moment(backend: DuckDBPersistence) -> None:
    old, new = _heartbeat("old"), _heartbeat("new")
    new = new.model_copy(update={"last_heartbeat_at": later(1)})
    for heartbeat in (new, old):
        await backend.heartbeats.save(heartbeat)
    assert await backend.heartbeats.query(until=NOW) == ()
    assert await backend.heartbeats.query(until=later(1)) == (old,)
    assert await backend.heartbeats.query(until=later(1.5)) == (old, new)


async def test_states_of_agents_are_listed_the_last_active_first(
    backend: DuckDBPersistence,
) -> None:
    idle = entities.AgentRuntimeState(
        agent_id="idle", status=ActivityStatus.IDLE, last_activity_at=later(2)
    )
    paused = idle.model_copy(
        update={"agent_id": "paused", "status": ActivityStatus.PAUSED, "last_activity_at": later(1)}
    )
    for state in (_state("busy"), idle, paused):
        await backend.agent_states.save(state)
    assert await backend.agent_states.query() == (idle, paused, _state("busy"))


async def test_settings_are_of_a_namespace(backend: DuckDBPersistence) -> None:
    other = entities.Setting(namespace="agents", key="b", value="1", updated_at=NOW)
    for setting in (_setting("b"), _setting("a"), other):
        await backend.settings.save(setting)
    assert await backend.settings.query(namespace="memory") == (_setting("a"), _setting("b"))
    assert await backend.settings.query() == (other, _setting("a"), _setting("b"))
    assert await backend.settings.remove(namespace="memory") == 2
    assert await backend.settings.remove(namespace="memory") == 0
    assert await backend.settings.query() == (other,)


async def test_artifacts_are_listed_by_path(backend: DuckDBPersistence) -> None:
    tests = _artifact("b").model_copy(update={"type": ArtifactType.TESTS, "created_by": "x"})
    for artifact in (tests, _artifact("a")):
        await backend.artifacts.save(artifact)
    assert await backend.artifacts.query(task_id="t") == (_artifact("a"), tests)
    assert await backend.artifacts.query(type=ArtifactType.TESTS) == (tests,)
    assert await backend.artifacts.query(created_by="a") == (_artifact("a"),)


async def test_projects_are_listed_by_status_and_lead(backend: DuckDBPersistence) -> None:
    active = _project("b").model_copy(update={"status": ProjectStatus.ACTIVE, "lead": "b"})
    for project in (active, _project("a")):
        await backend.projects.save(project)
    assert await backend.projects.query() == (_project("a"), active)
    assert await backend.projects.query(status=ProjectStatus.ACTIVE) == (active,)
    assert await backend.projects.query(lead="a") == (_project("a"),)


async def test_presets_are_counted_and_listed_by_name(backend: DuckDBPersistence) -> None:
    assert await backend.custom_presets.count() == 0
    for name in ("b", "a"):
        await backend.custom_presets.save(_preset(name))
    assert await backend.custom_presets.query() == (_preset("a"), _preset("b"))
    assert await backend.custom_presets.count() == 2


async def test_a_name_and_a_key_are_of_one_account(backend: DuckDBPersistence) -> None:
    await backend.users.save(_user("b"))
    await backend.users.save(_user("a"))
    with pytest.raises(DuplicateRecordError, match="username"):
        await backend.users.save(_user("c").model_copy(update={"username": "user a"}))
    assert await backend.users.query(username="user a") == (_user("a"),)
    assert await backend.users.query(username="user c") == ()
    assert await backend.users.query() == (_user("a"), _user("b"))
    assert await backend.users.count() == 2
    key = _key("k")
    await backend.api_keys.save(key)
    with pytest.raises(DuplicateRecordError, match="key_hash"):
        await backend.api_keys.save(key.model_copy(update={"id": "l"}))
    assert await backend.api_keys.query(key_hash=key.key_hash) == (key,)
    assert await backend.api_keys.query(key_hash="f" * 64) == ()
    assert await backend.api_keys.query(user_id="u") == (key,)
    assert await backend.api_keys.query(user_id="v") == ()


async def test_text_that_is_no_unicode_is_refused_in_words(backend: DuckDBPersistence) -> None:
    with pytest.raises(QueryError):
        await backend.tasks.save(_task("t").model_copy(update={"title": "half \ud83d"}))
    assert await backend.tasks.list_tasks() == ()


async def test_the_repositories_are_there_from_connecting_until_disconnecting(
    made_in: Callable[[Path], DuckDBPersistence], tmp_path: Path
) -> None:
    backend = made_in(tmp_path)
    for name in REPOSITORIES:
        with pytest.raises(PersistenceConnectionError, match="isn't connected"):
            getattr(backend, name)
    await backend.connect()
    found = {each: getattr(backend, each) for each in REPOSITORIES}
    assert [n for n, kept in REPOSITORIES.items() if not isinstance(found[n], kept)] == []
    await backend.disconnect()
    with pytest.raises(PersistenceConnectionError):
        _ = backend.tasks
    with pytest.raises(PersistenceConnectionError):
        await found["tasks"].get("t")


async def test_connecting_and_disconnecting_can_be_done_twice(
    made_in: Callable[[Path], DuckDBPersistence], tmp_path: Path
) -> None:
    backend = made_in(tmp_path)
    assert (backend.is_connected, await backend.health_check()) == (False, False)
    with pytest.raises(PersistenceConnectionError):
        await backend.migrate()
    await backend.disconnect()
    for _ in range(2):
        await backend.connect()
        await backend.migrate()
    assert isinstance(backend, protocol.PersistenceBackend)
    assert (backend.is_connected, await backend.health_check()) == (True, True)
    await backend.tasks.save(_task("t"))
    for _ in range(2):
        await backend.disconnect()
    assert (backend.is_connected, await backend.health_check()) == (False, False)
    await backend.connect()
    assert await backend.tasks.get("t") == _task("t")
    await backend.disconnect()


async def test_two_companies_share_nothing(
    made_in: Callable[[Path], DuckDBPersistence], tmp_path: Path
) -> None:
    one, two = (made_in(tmp_path / name) for name in ("one", "two"))
    await one.connect()
    await two.connect()
    await one.tasks.save(_task("t"))
    assert await two.tasks.list_tasks() == ()
    await one.disconnect()
    assert await two.health_check()
    await two.disconnect()

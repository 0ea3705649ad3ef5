"""Operational data beyond its repositories: entities, settings, and what is read from elsewhere."""

import hashlib
import json
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from synthorg_tui.agents.audit import AuditTrail
from synthorg_tui.agents.models import AgentRights
from synthorg_tui.core.enums import (
    ActivityStatus,
    ArtifactType,
    Complexity,
    Priority,
    ProjectStatus,
    RiskLevel,
    SecurityVerdictType,
    TaskStatus,
    TaskType,
)
from synthorg_tui.core.errors import ConfigError
from synthorg_tui.persistence.config import PersistenceConfig
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.entities import (
    NO_TASK,
    OWN_AGENT,
    TASK_TRANSITIONS,
    AgentRuntimeState,
    ApiKey,
    Checkpoint,
    CostRecord,
    Heartbeat,
    ParkedContext,
    Project,
    Task,
)
from synthorg_tui.persistence.errors import PersistenceConnectionError, QueryError
from synthorg_tui.persistence.operational import DuckDBPersistence, create_backend
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.usage import UsageStore
from synthorg_tui.providers.completion.usage import UsageRecord
from tests.tables import rows

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def task(**changes: Any) -> Task:
    values = {"id": "t", "title": "t", "description": "d", "type": TaskType.REVIEW}
    return Task(**{**values, "project": "p", "created_by": "person", **changes})


class TestEntities:
    def test_a_task_goes_only_the_documented_ways(self) -> None:
        ways = {
            (before, after) for before, targets in TASK_TRANSITIONS.items() for after in targets
        }
        for before in TaskStatus:
            assigned = None if before is TaskStatus.CREATED else "a"
            for after in TaskStatus:
                stands = task(status=before, assigned_to=assigned)
                if (before, after) in ways:
                    assert stands.moved(after, assigned_to="b").status is after
                else:
                    with pytest.raises(ValueError, match="can't go from"):
                        stands.moved(after, assigned_to="b")
        assert len(ways) == 1 + 5 + 5 + 4 + 3
        assert TASK_TRANSITIONS[TaskStatus.COMPLETED] == TASK_TRANSITIONS[TaskStatus.CANCELLED]

    def test_a_task_that_is_assigned_names_an_agent_and_a_created_one_none(self) -> None:
        with pytest.raises(ValidationError, match="no assigned_to yet"):
            task(assigned_to="a")
        with pytest.raises(ValidationError, match="needs assigned_to"):
            task(status=TaskStatus.IN_PROGRESS)
        with pytest.raises(ValidationError, match="needs assigned_to"):
            task().moved(TaskStatus.ASSIGNED)
        with pytest.raises(ValidationError, match="own parent"):
            task(parent_task_id="t")

    def test_a_cost_is_for_tokens(self) -> None:
        values: dict[str, Any] = {"agent_id": "a", "task_id": "t", "provider": "p", "model": "m"}
        values |= {"input_tokens": 0, "output_tokens": 0, "timestamp": NOW}
        assert CostRecord(**values, cost_usd=0.0).cost_usd == 0.0
        with pytest.raises(ValidationError, match="needs tokens"):
            CostRecord(**values, cost_usd=0.01)

    def test_an_agent_that_executes_says_what_and_an_idle_one_nothing(self) -> None:
        values: dict[str, Any] = {"agent_id": "a", "last_activity_at": NOW}
        with pytest.raises(ValidationError, match="needs execution_id"):
            AgentRuntimeState(**values, status=ActivityStatus.EXECUTING)
        with pytest.raises(ValidationError, match="has no execution"):
            AgentRuntimeState(**values, status=ActivityStatus.IDLE, execution_id="r")

    def test_a_key_is_a_hash_that_is_shown_nowhere(self) -> None:
        values: dict[str, Any] = {"name": "ci", "role": "r", "user_id": "u", "created_at": NOW}
        with pytest.raises(ValidationError):
            ApiKey(**values, key_hash="sk-the-key-itself")
        assert "abab" not in repr(ApiKey(**values, key_hash="ab" * 32))

    def test_a_team_names_nobody_twice(self) -> None:
        with pytest.raises(ValidationError, match="twice"):
            Project(id="p", name="p", team=("a", "a"))

    def test_values_of_enums_are_the_documented_ones(self) -> None:
        assert [*TaskType] == ["development", "design", "research", "review", "meeting", "admin"]
        assert [*Priority] == ["critical", "high", "medium", "low"]
        assert [*Complexity] == ["simple", "medium", "complex", "epic"]
        assert [*ArtifactType] == ["code", "tests", "documentation"]
        assert [*ProjectStatus] == ["planning", "active", "on_hold", "completed", "cancelled"]


class TestSettings:
    def test_defaults_are_the_documented_ones_on_duckdb(self) -> None:
        config = PersistenceConfig()
        assert (config.backend, config.path) == ("duckdb", None)
        assert (config.wal_mode, config.journal_size_limit) == (True, 67_108_864)

    @rows(
        ("backend", "said"),
        [("mariadb", "comes later"), ("mongo", "Unknown backend")],
    )
    def test_another_backend_is_refused_with_what_is_allowed(self, backend: str, said: str) -> None:
        with pytest.raises(ValidationError, match=said) as refused:
            PersistenceConfig(backend=backend)
        assert "['duckdb', 'sqlite', 'postgres']" in str(refused.value)

    @rows("name", ["postgres", "postgresql"])
    def test_a_server_is_named_by_its_address_or_where_it_is(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        address = "postgresql://ada:pass@db.example/desk"
        config = PersistenceConfig(backend=name, url=SecretStr(address))
        assert (config.backend, config.address(), config.pool_size) == ("postgres", address, 10)
        assert "pass" not in repr(config)
        monkeypatch.setenv("DESK_DATABASE", address)
        assert PersistenceConfig(backend=name, url_env="DESK_DATABASE").address() == address

    @pytest.mark.parametrize(
        ("values", "said"),
        [
            ({"backend": "postgres"}, "needs its address"),
            ({"backend": "postgres", "url": "postgresql://h/d", "url_env": "X"}, "not both"),
            ({"backend": "postgres", "url": "mysql://h/secret"}, "must begin with postgresql://"),
            ({"url": "postgresql://h/secret"}, "only backend 'postgres' has an address"),
            ({"url_env": "X"}, "only backend 'postgres' has an address"),
            ({"backend": "postgres", "url_env": "X", "path": "x.db"}, "leave path out"),
            ({"backend": "postgres", "url_env": "X", "pool_size": 1}, "greater than or equal to 2"),
            (
                {"backend": "postgres", "url_env": "X", "pool_size": 101},
                "less than or equal to 100",
            ),
        ],
    )
    def test_an_address_that_fits_nothing_is_refused(
        self, values: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        with pytest.raises(ValidationError, match=said):
            PersistenceConfig.model_validate(values)
        assert "secret" not in caplog.text

    def test_an_environment_without_the_address_is_told_by_its_name(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        config = PersistenceConfig(backend="postgres", url_env="DESK_DATABASE")
        monkeypatch.delenv("DESK_DATABASE", raising=False)
        with pytest.raises(ConfigError, match=r"DESK_DATABASE.*isn't set"):
            config.address()
        monkeypatch.setenv("DESK_DATABASE", "secret")
        with pytest.raises(ConfigError, match="isn't the address") as caught:
            config.address()
        assert "secret" not in caught.value.message

    @pytest.mark.parametrize(
        "values", [{"backend": "sqlite"}, {"wal_mode": False}, {"journal_size_limit": 0}]
    )
    def test_what_has_no_meaning_on_duckdb_is_accepted_and_said(
        self, values: dict[str, Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING):
            PersistenceConfig(**values)
        assert "DuckDB" in caplog.text

    def test_the_documented_section_is_read(self) -> None:
        section = {"path": "/data/synthorg.db", "wal_mode": True, "journal_size_limit": 67108864}
        config = PersistenceConfig.model_validate({"backend": "sqlite", "sqlite": section})
        assert config.path == "/data/synthorg.db"
        with pytest.raises(ValidationError, match="Set twice"):
            PersistenceConfig.model_validate({"path": "a", "sqlite": {"path": "b"}})

    def test_the_documented_section_of_a_server_is_read(self) -> None:
        section = {"url": "postgresql://desk:secret@host:5432/synthorg", "pool_size": 7}
        config = PersistenceConfig.model_validate({"backend": "postgresql", "postgresql": section})
        assert (config.address(), config.pool_size) == (section["url"], 7)
        with pytest.raises(ValidationError, match="only backend 'postgres' has an address"):
            PersistenceConfig.model_validate({"backend": "sqlite", "postgresql": section})

    def test_a_documented_section_without_fields_is_refused_and_not_shown(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        address = "postgresql://desk:secret@host/synthorg"
        with pytest.raises(ValidationError, match="must be a section of settings"):
            PersistenceConfig.model_validate({"backend": "postgresql", "postgresql": address})
        assert "secret" not in caplog.text

    @rows("path", ["../other.db", "data/../../x", "a\\..\\b", " "])
    def test_a_path_that_leaves_its_folder_is_refused(self, path: str) -> None:
        with pytest.raises(ValidationError):
            PersistenceConfig(path=path)
        assert PersistenceConfig(path="data/..hidden/x").path == "data/..hidden/x"

    def test_a_database_of_its_own_needs_a_path(self) -> None:
        with pytest.raises(ConfigError, match="needs a path"):
            create_backend(PersistenceConfig())


class TestConnecting:
    async def test_what_is_in_memory_is_gone_afterwards(self) -> None:
        backend = create_backend(PersistenceConfig(path=":memory:"))
        await backend.connect()
        await backend.tasks.save(task())
        await backend.disconnect()
        await backend.connect()
        assert await backend.tasks.list_tasks() == ()
        await backend.disconnect()

    async def test_a_file_that_is_no_store_is_a_connection_error(self, tmp_path: Path) -> None:
        (tmp_path / "x.db").write_text("no database")
        backend = create_backend(PersistenceConfig(path=str(tmp_path / "x.db")))
        with pytest.raises(PersistenceConnectionError):
            await backend.connect()
        assert not backend.is_connected

    async def test_a_database_of_somebody_else_is_left_open(self, database: StoreDatabase) -> None:
        backend = DuckDBPersistence(database)
        await backend.connect()
        await backend.disconnect()
        assert database.is_open
        await database.close()
        with pytest.raises(PersistenceConnectionError):
            await backend.connect()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[StoreDatabase]:
    database = Database.in_dir(tmp_path)
    await database.open()
    yield database
    await database.close()


async def run(database: StoreDatabase, sql: str, *values: object) -> None:
    await database.write(lambda db: db.execute(sql, list(values)))


class TestWhatIsReadFromElsewhere:
    async def test_an_answer_of_a_model_is_a_cost(self, database: StoreDatabase) -> None:
        store, costs = UsageStore(database), DuckDBPersistence(database).cost_records
        await store.add(UsageRecord(NOW, "m", 100, 10, 1.5, 0.25, "openai", "a", "run"))
        await store.add(UsageRecord(NOW + timedelta(1), "m", 1, 1, 0.5))
        mine, own = await costs.query()
        assert (mine.agent_id, mine.task_id, mine.provider) == ("a", "run", "openai")
        assert (mine.input_tokens, mine.output_tokens, mine.seconds) == (100, 10, 1.5)
        assert (own.agent_id, own.task_id, own.provider) == (OWN_AGENT, NO_TASK, "unknown")
        await costs.save(mine)
        assert await store.tokens_since(NOW) == 222

    async def test_calls_and_approvals_are_entries_of_the_audit(
        self, database: StoreDatabase
    ) -> None:
        call = "INSERT INTO agent_calls VALUES (?, ?, 'a', 'c', NULL, 'tool', ?, '{}', ?, 1, 2.5, "
        await run(
            database, call + "[], ?, ''::BLOB)", 1, datetime(2026, 1, 1), "search", True, False
        )
        await run(
            database, call + "[], ?, ''::BLOB)", 2, datetime(2026, 1, 2), "write", False, True
        )
        await run(
            database,
            "INSERT INTO approvals VALUES ('i', 'run:call', 't', 'd', 'a', 'high', 'rejected', "
            "now()::TIMESTAMP, NULL, NULL, NULL, NULL, NULL, NULL, 'r1', NULL, '{}', '{}')",
        )
        event = "INSERT INTO approval_events VALUES (?, 'i', ?, ?, 'person', ?, ?)"
        await run(database, event, 1, datetime(2026, 1, 3), "added", "", "0" * 64)
        await run(database, event, 2, datetime(2026, 1, 4), "rejected", "too wide", "0" * 64)
        audit = DuckDBPersistence(database).audit_entries
        rejected, added, wrote, searched = await audit.query(agent_id="a")
        assert (rejected.verdict, added.verdict) == ("deny", "escalate")
        assert (rejected.approval_id, rejected.task_id, rejected.risk_level) == ("i", "r1", "high")
        assert rejected.reason == "rejected by person: too wide"
        assert (wrote.tool_name, wrote.risk_level, wrote.reason) == ("write", "medium", "")
        assert (searched.reason, searched.risk_level) == ("answered with an error", "low")
        assert await audit.query(verdict=SecurityVerdictType.ALLOW) == (wrote, searched)
        assert await audit.query(risk_level=RiskLevel.HIGH, limit=1) == (rejected,)

    async def test_what_a_person_takes_from_an_agent_is_an_event_of_it(
        self, database: StoreDatabase
    ) -> None:
        trail = AuditTrail(database, keep=10)
        for rights in (
            AgentRights(paused=True),
            AgentRights(paused=True),
            AgentRights(paused=True, read_only=True),
            AgentRights(),
        ):
            await trail.set_rights("a", rights)
        await trail.set_rights("b", AgentRights())
        events = await DuckDBPersistence(database).lifecycle_events.query()
        assert sorted(event.event_type for event in events) == [
            *("made_read_only", "made_writable", "paused", "resumed")
        ]
        assert {(event.agent_id, event.initiated_by) for event in events} == {("a", "person")}
        assert abs(datetime.now(UTC) - events[0].timestamp) < timedelta(minutes=5)

    async def test_sessions_and_rights_tell_what_agents_do(self, database: StoreDatabase) -> None:
        session = "INSERT INTO agent_sessions VALUES (?, ?, '/p', [], ?, ?)"
        early, late = datetime(2026, 1, 1), datetime(2026, 1, 2)
        await run(database, session, "busy", "s1", early, None)
        await run(database, session, "busy", "s2", late, late)
        await run(database, session, "done", "s3", early, early)
        await run(database, session, "stopped", "s4", late, None)
        await run(database, "INSERT INTO agent_rights VALUES ('stopped', true, false)")
        states = DuckDBPersistence(database).agent_states
        assert {s.agent_id: (s.status, s.execution_id) for s in await states.query()} == {
            "busy": (ActivityStatus.EXECUTING, "s1"),
            "done": (ActivityStatus.IDLE, None),
            "stopped": (ActivityStatus.PAUSED, "s4"),
        }
        own = AgentRuntimeState(
            agent_id="busy", execution_id="r", status="executing", last_activity_at=NOW
        )
        await states.save(own)
        assert await states.get("busy") == own

    async def test_steps_of_a_run_tell_how_it_goes_and_went(self, database: StoreDatabase) -> None:
        backend = DuckDBPersistence(database)
        steps: list[dict[str, object]] = [
            {"kind": "given", "text": "digest"},
            {"kind": "answer", "prompt_tokens": 100, "completion_tokens": 10, "cost": 0.25},
            {"kind": "call", "tool": "shell", "arguments": {"c": "ls"}, "outcome": "ok"},
            {"kind": "parked", "tool": "shell", "arguments": {"c": "rm"}, "item_id": "i"},
            {"kind": "call", "tool": "shell", "outcome": "denied_by_user"},
            {"kind": "answer", "prompt_tokens": 50, "cost": 0.5},
        ]
        common = {"agent_id": "a", "task_id": "r", "execution_id": "r"}
        for number, step in enumerate(steps):
            at = NOW + timedelta(seconds=10 * number)
            text = json.dumps(step)
            await backend.checkpoints.save(
                Checkpoint(
                    id=f"r-{number}", turn_number=1, context_json=text, created_at=at, **common
                )
            )
        await backend.checkpoints.save(
            Checkpoint(id="odd", turn_number=0, context_json="no JSON", created_at=NOW, **common)
        )
        await backend.heartbeats.save(Heartbeat(last_heartbeat_at=NOW, **common))
        working = task(id="r", status=TaskStatus.IN_PROGRESS, assigned_to="a")
        await backend.tasks.save(working)
        (state,) = await backend.agent_states.query()
        assert (state.status, state.execution_id, state.turn_count) == ("executing", "r", 1)
        assert state.started_at == NOW
        assert await backend.task_metrics.query() == ()
        waits = ParkedContext(id="p", approval_id="i", parked_at=NOW, context_json="", **common)
        await backend.parked_contexts.save(waits)
        await backend.heartbeats.delete("r")
        (state,) = await backend.agent_states.query()
        assert state.status is ActivityStatus.PAUSED
        await backend.parked_contexts.delete("p")
        assert await backend.agent_states.query() == ()
        await backend.tasks.save(working.model_copy(update={"status": TaskStatus.COMPLETED}))
        (metric,) = await backend.task_metrics.query(agent_id="a")
        assert (metric.id, metric.is_success, metric.turns_used) == ("run:r", True, 2)
        assert (metric.tokens_used, metric.cost_usd, metric.duration_seconds) == (160, 0.75, 50.0)
        denied, asked, allowed = await backend.audit_entries.query(agent_id="a")
        assert (denied.verdict, asked.verdict, allowed.verdict) == ("deny", "escalate", "allow")
        assert (asked.approval_id, asked.action_type, asked.task_id) == ("i", "run:parked", "r")
        assert allowed.arguments_hash == hashlib.sha256(b'{"c":"ls"}').hexdigest()

    async def test_sessions_tell_of_projects_and_of_files(self, database: StoreDatabase) -> None:
        insert = "INSERT INTO executions (id, agent_id, project, path, line_count, record, files) "
        values = "VALUES (?, ?, ?, 'x', 1, ''::BLOB, ?)"
        files = ["/w/app/src/main.py", "/w/app/tests/test_main.py", "/w/app/README.md"]
        await run(database, insert + values, "e1", "b", "/w/app", files)
        await run(database, insert + values, "e2", "a", "/w/app", None)
        await run(database, insert + values, "e3", "a", None, [])
        backend = DuckDBPersistence(database)
        (project,) = await backend.projects.query()
        assert (project.id, project.name, project.team) == ("/w/app", "app", ("a", "b"))
        assert project.status is ProjectStatus.ACTIVE
        planned = Project(id="/w/app", name="The app")
        await backend.projects.save(planned)
        assert await backend.projects.query() == (planned,)
        await backend.projects.delete("/w/app")
        assert await backend.projects.get("/w/app") == project
        found = await backend.artifacts.query(task_id="e1", created_by="b")
        assert {one.path: one.type for one in found} == {
            files[0]: ArtifactType.CODE,
            files[1]: ArtifactType.TESTS,
            files[2]: ArtifactType.DOCUMENTATION,
        }
        assert await backend.artifacts.get(found[0].id) == found[0]
        assert await backend.artifacts.delete(found[0].id) is False

    async def test_a_row_that_another_program_spoilt_is_told_as_an_error(
        self, database: StoreDatabase
    ) -> None:
        tasks = DuckDBPersistence(database).tasks
        await tasks.save(task())
        await run(database, "UPDATE tasks SET status = 'lost'")
        with pytest.raises(QueryError, match="tasks"):
            await tasks.get("t")

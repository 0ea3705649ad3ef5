"""The documented repositories of operational data, each a table with its queries.

They run on every database of a store; ``tests/persistence/test_repositories.py`` is their contract.
``save`` replaces an entity with the same key, or where a table only grows raises
``DuplicateRecordError``; ``get`` returns ``None`` for an unknown key; ``delete`` returns whether
there was an entity to delete; ``query`` returns entities by the values of any columns. Filters that
are ``None`` allow everything, and ``limit=None`` is no limit. Methods raise ``QueryError`` when the
database refuses a query, and ``PersistenceConnectionError`` once the backend is disconnected.
"""

from typing import Final

from synthorg_tui.core.enums import TaskStatus
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
from synthorg_tui.persistence.entity_table import EntityTable, KeyedTable


class TaskTable(KeyedTable[Task], entity=Task, table="tasks"):
    """Tasks, by id in lists. A run of an agent writes its own; runs are listed by them."""

    async def list_tasks(
        self,
        *,
        status: TaskStatus | None = None,
        assigned_to: str | None = None,
        project: str | None = None,
    ) -> tuple[Task, ...]:
        """Return the tasks that have all of these, in no particular order."""
        return await self.query(status=status, assigned_to=assigned_to, project=project)


class CostRecordTable(
    EntityTable[CostRecord], entity=CostRecord, table="cost_records", order="timestamp, rowid"
):
    """What models used. Every answer of the configured model is one (``persistence.usage``)."""

    async def aggregate(self, *, agent_id: str | None = None) -> float:
        """Return the sum of costs, 0.0 without any."""
        sql = "SELECT coalesce(sum(cost_usd), 0.0) FROM cost_records"
        if agent_id is None:
            return float(str(await self.scalar(sql)))
        return float(str(await self.scalar(f"{sql} WHERE agent_id = ?", [agent_id])))


class MessageTable(
    EntityTable[Message], entity=Message, table="messages", order="timestamp DESC, id DESC"
):
    """Messages between agents.

    To its contract only: agents of one person's machine share what they know by memory, and write
    to nobody, so that only programs and the export use it.
    """

    async def get_history(self, channel: str, *, limit: int | None = None) -> tuple[Message, ...]:
        """Return the messages of a channel, newest first."""
        return await self.query(limit=limit, channel=channel)


class LifecycleEventRepository(
    EntityTable[LifecycleEvent],
    entity=LifecycleEvent,
    table="lifecycle_events",
    order="timestamp DESC, id DESC",
    time="timestamp",
):
    """What happened to agents, such as that a person paused one or took its right to write."""


_METRICS: Final = """
SELECT * FROM task_metrics
UNION ALL BY NAME
SELECT 'run:' || t.id AS id, t.assigned_to AS agent_id, t.id AS task_id, t.type AS task_type,
    max(c.created_at) AS completed_at, t.status = 'completed' AS is_success,
    greatest(epoch(max(c.created_at) - min(c.created_at)), 0.0) AS duration_seconds,
    coalesce(sum(said[4]::DOUBLE), 0.0) AS cost_usd,
    count(*) FILTER (said[1] = 'answer') AS turns_used,
    (coalesce(sum(said[2]::BIGINT), 0) + coalesce(sum(said[3]::BIGINT), 0))::BIGINT AS tokens_used,
    t.estimated_complexity AS complexity
FROM tasks t JOIN (SELECT task_id, created_at, TRY(json_extract_string(context_json,
    ['$.kind', '$.prompt_tokens', '$.completion_tokens', '$.cost'])) AS said FROM checkpoints) c
    ON c.task_id = t.id
WHERE t.status IN ('completed', 'failed', 'cancelled') AND t.assigned_to IS NOT NULL
    AND t.id NOT IN (SELECT task_id FROM task_metrics)
GROUP BY ALL
"""


class TaskMetricRepository(
    EntityTable[TaskMetric],
    entity=TaskMetric,
    table="task_metrics",
    order="completed_at, id",
    time="completed_at",
    source=_METRICS,
):
    """How tasks went. Those of runs are read from their steps, id ``run:ID``; programs save others.

    A run's duration is from its first to its last step, with what it waited in between.
    """


class CollaborationMetricRepository(
    EntityTable[CollaborationMetric],
    entity=CollaborationMetric,
    table="collaboration_metrics",
    order="recorded_at, id",
    time="recorded_at",
):
    """How agents worked together.

    To its contract only: a single person's agents hand work to each other by delegated runs, which
    have task metrics of their own.
    """


class ParkedContextRepository(
    KeyedTable[ParkedContext], entity=ParkedContext, table="parked_contexts", order="parked_at, id"
):
    """Runs that wait for a person. A run that parks writes one; going on deletes it."""


_AUDIT: Final = """
SELECT * FROM audit_records
UNION ALL BY NAME
SELECT 'call:' || number AS id, called_at AS timestamp, agent_id, name AS tool_name,
    'mcp' AS tool_category, kind AS action_type, sha256(arguments) AS arguments_hash,
    'allow' AS verdict, if(wrote, 'medium', 'low') AS risk_level,
    if(is_error, 'answered with an error', '') AS reason, []::VARCHAR[] AS matched_rules,
    0.0 AS evaluation_duration_ms
FROM agent_calls
UNION ALL BY NAME
SELECT 'step:' || id AS id, created_at AS timestamp, agent_id, task_id, said[2] AS tool_name,
    'other' AS tool_category, 'run:' || said[1] AS action_type,
    sha256(coalesce(said[3], '{}')) AS arguments_hash,
    CASE WHEN said[1] = 'parked' THEN 'escalate'
        WHEN said[4] IN ('denied_by_user', 'blocked_by_hook') THEN 'deny'
        ELSE 'allow' END AS verdict,
    'medium' AS risk_level, coalesce(said[4], '') AS reason,
    []::VARCHAR[] AS matched_rules, 0.0 AS evaluation_duration_ms,
    nullif(said[5], '') AS approval_id
FROM (SELECT id, created_at, agent_id, task_id, TRY(json_extract_string(context_json,
    ['$.kind', '$.tool', '$.arguments', '$.outcome', '$.item_id'])) AS said FROM checkpoints)
WHERE said[1] IN ('call', 'parked') AND said[2] <> ''
UNION ALL BY NAME
SELECT 'approval:' || e.number AS id, e.happened_at AS timestamp, a.requested_by AS agent_id,
    a.task_id, 'approvals' AS tool_name, 'other' AS tool_category,
    coalesce(a.action_type, 'unknown') AS action_type, e.payload_hash AS arguments_hash,
    CASE WHEN e.kind = 'approved' THEN 'allow'
        WHEN e.kind IN ('rejected', 'refused', 'expired') THEN 'deny' ELSE 'escalate' END
        AS verdict,
    coalesce(a.risk_level, 'medium') AS risk_level,
    concat_ws(': ', e.kind || ' by ' || e.actor, nullif(e.reason, '')) AS reason,
    []::VARCHAR[] AS matched_rules, 0.0 AS evaluation_duration_ms, e.item_id AS approval_id
FROM approval_events e LEFT JOIN approvals a ON a.id = e.item_id
"""


class AuditRepository(
    EntityTable[AuditEntry],
    entity=AuditEntry,
    table="audit_records",
    order="timestamp DESC, id DESC",
    time="timestamp",
    source=_AUDIT,
):
    """Decisions on calls of tools. What programs decide is saved here.

    Calls in runs and of connected agents, and the events of approvals, are read from where they are
    recorded anyway, and so not stored twice: ids ``step:ID``, ``call:N`` and ``approval:N``.
    """


class UserRepository(
    KeyedTable[User], entity=User, table="users", order="username", unique="username"
):
    """Accounts of persons.

    To its contract only: the person who can open the data directory is the only user, and no
    decision depends on an account.
    """


class ApiKeyRepository(
    KeyedTable[ApiKey], entity=ApiKey, table="api_keys", order="created_at, id", unique="key_hash"
):
    """Keys of programs, as hashes.

    To its contract only: programs connect over a socket or a token file that only the person's own
    account can read, which takes no key.
    """


class CheckpointRepository(
    KeyedTable[Checkpoint],
    entity=Checkpoint,
    table="checkpoints",
    order="turn_number, created_at, id",
):
    """States of runs after each step. A run writes them, and is resumed from the latest."""


class HeartbeatRepository(
    KeyedTable[Heartbeat],
    entity=Heartbeat,
    table="heartbeats",
    order="last_heartbeat_at, execution_id",
    key=("execution_id",),
    time="last_heartbeat_at",
):
    """Signs of life of runs. A stale one tells that the process of a run is gone."""


_STATES: Final = """
WITH working AS (
    SELECT agent_id, execution_id, task_id, 'executing' AS status, last_heartbeat_at AS moment
    FROM heartbeats
    UNION ALL
    SELECT agent_id, execution_id, task_id, 'paused', parked_at FROM parked_contexts
), runs AS (
    SELECT agent_id, execution_id, task_id, status, moment AS last_activity_at,
        (SELECT coalesce(max(turn_number), 0) FROM checkpoints c
            WHERE c.execution_id = working.execution_id) AS turn_count,
        (SELECT coalesce(sum(cost_usd), 0.0) FROM cost_records k
            WHERE k.task_id = working.task_id) AS accumulated_cost,
        (SELECT min(created_at) FROM checkpoints c
            WHERE c.execution_id = working.execution_id) AS started_at
    FROM working WHERE agent_id NOT IN (SELECT agent_id FROM agent_states)
    QUALIFY row_number() OVER (PARTITION BY agent_id ORDER BY status, moment DESC) = 1
), sessions AS (
    SELECT agent_id, arg_max(session_id, seen_at) FILTER (ended_at IS NULL) AS execution_id,
        if(bool_or(ended_at IS NULL), 'executing', 'idle') AS status, 0 AS turn_count,
        0.0 AS accumulated_cost, max(seen_at) AS last_activity_at
    FROM agent_sessions WHERE agent_id NOT IN
        (SELECT agent_id FROM agent_states UNION ALL SELECT agent_id FROM runs)
    GROUP BY agent_id
)
SELECT agent_id, execution_id, task_id,
    CASE WHEN coalesce(r.paused, false) THEN 'paused' ELSE s.status END AS status,
    turn_count, accumulated_cost, last_activity_at, started_at
FROM (
    FROM agent_states UNION ALL BY NAME FROM runs UNION ALL BY NAME FROM sessions
) s LEFT JOIN agent_rights r USING (agent_id)
"""


class AgentStateRepository(
    KeyedTable[AgentRuntimeState],
    entity=AgentRuntimeState,
    table="agent_states",
    order="last_activity_at DESC, agent_id",
    key=("agent_id",),
    source=_STATES,
):
    """Current states of agents, as programs save them or as derived from other tables.

    These are the signs of life of runs, what waits for a person, the sessions of connected agents,
    and the rights that a person took from an agent, which is paused then.
    """


class SettingsRepository(
    KeyedTable[Setting],
    entity=Setting,
    table="settings",
    order="namespace, key",
    key=("namespace", "key"),
):
    """Values that were set in the app, which the settings of the next start are made with."""


_ARTIFACTS: Final = """
SELECT id, type, path, task_id, created_by, description, created_at FROM artifacts
UNION ALL
SELECT id || ':' || file, CASE
        WHEN regexp_matches(lower(file), '(^|[/_.-])(tests?|spec)([/_.-]|$)') THEN 'tests'
        WHEN regexp_matches(lower(file), '\\.(md|rst|txt|adoc)$') THEN 'documentation'
        ELSE 'code' END,
    file, id, agent_id, '', coalesce(ended_at, started_at)
FROM (SELECT id, agent_id, started_at, ended_at, unnest(files) AS file FROM executions)
WHERE trim(file) <> ''
"""


class ArtifactRepository(
    KeyedTable[Artifact], entity=Artifact, table="artifacts", order="path, id", source=_ARTIFACTS
):
    """Files that came of tasks: those that sessions touched, and what a program saves.

    A file of a session is read from the session, which is its task; its type (the documented
    ``artifact_type``) follows from its name. It can't be deleted here: it goes with its session.
    """


_PROJECTS: Final = """
SELECT * FROM projects
UNION ALL BY NAME
SELECT project AS id, coalesce(nullif(regexp_extract(project, '([^/]+)/*$', 1), ''), project)
        AS name, '' AS description, list_sort(list(DISTINCT agent_id)) AS team, 0.0 AS budget,
    'active' AS status
FROM executions WHERE trim(project) <> '' AND project NOT IN (SELECT id FROM projects)
GROUP BY project
"""


class ProjectRepository(KeyedTable[Project], entity=Project, table="projects", source=_PROJECTS):
    """Projects: those that sessions were imported from, and what a program saves of them.

    A project of sessions has its folder as id and is active, its team the agents that worked in it.
    Saving one with that id takes its place; it comes back when that is deleted.
    """


class PersonalityPresetRepository(
    KeyedTable[CustomPreset],
    entity=CustomPreset,
    table="custom_presets",
    order="name",
    key=("name",),
):
    """Personalities of agents.

    To its contract only: agents here are other programs with a personality of their own, so that
    only programs and the export use it.
    """

"""Repositories of work: tasks, their costs, states and signs of life, and what came of them."""

from datetime import datetime
from typing import Final

from synthorg_tui.core.enums import ActivityStatus, ArtifactType, ProjectStatus, TaskStatus
from synthorg_tui.persistence.entities import (
    AgentRuntimeState,
    Artifact,
    Checkpoint,
    CostRecord,
    Heartbeat,
    ParkedContext,
    Project,
    Task,
)
from synthorg_tui.persistence.repositories.table import EntityTable, KeyedTable

_LATEST: Final = "turn_number DESC, created_at DESC, id DESC"


class DuckDBTasks(KeyedTable[Task], entity=Task, table="tasks"):
    """Tasks, by id in lists. A run of an agent writes its own; runs are listed by them."""

    async def list_tasks(
        self,
        *,
        status: TaskStatus | None = None,
        assigned_to: str | None = None,
        project: str | None = None,
    ) -> tuple[Task, ...]:
        where = {"status = ?": status, "assigned_to = ?": assigned_to, "project = ?": project}
        return await self.select(where, order="id")


class DuckDBCostRecords(EntityTable[CostRecord], entity=CostRecord, table="cost_records"):
    """What models used. Every answer of the configured model is one (``persistence.usage``)."""

    async def query(
        self, *, agent_id: str | None = None, task_id: str | None = None
    ) -> tuple[CostRecord, ...]:
        where = {"agent_id = ?": agent_id, "task_id = ?": task_id}
        return await self.select(where, order="timestamp, rowid")

    async def aggregate(self, *, agent_id: str | None = None) -> float:
        sql = "SELECT coalesce(sum(cost_usd), 0.0) FROM cost_records"
        if agent_id is None:
            return float(str(await self.scalar(sql)))
        return float(str(await self.scalar(f"{sql} WHERE agent_id = ?", [agent_id])))


class DuckDBParkedContexts(
    KeyedTable[ParkedContext], entity=ParkedContext, table="parked_contexts"
):
    """Runs that wait for a person. A run that parks writes one; going on deletes it."""

    async def get_by_approval(self, approval_id: str) -> ParkedContext | None:
        where = {"approval_id = ?": approval_id}
        found = await self.select(where, order="parked_at DESC, id DESC", limit=1)
        return found[0] if found else None

    async def list_contexts(
        self,
        *,
        execution_id: str | None = None,
        agent_id: str | None = None,
        task_id: str | None = None,
    ) -> tuple[ParkedContext, ...]:
        where = {"execution_id = ?": execution_id, "agent_id = ?": agent_id}
        return await self.select({**where, "task_id = ?": task_id}, order="parked_at, id")


class DuckDBCheckpoints(KeyedTable[Checkpoint], entity=Checkpoint, table="checkpoints"):
    """States of runs after each step. A run writes them, and is resumed from the latest."""

    async def get_latest(
        self, *, execution_id: str | None = None, task_id: str | None = None
    ) -> Checkpoint | None:
        if execution_id is None and task_id is None:
            raise ValueError("the latest checkpoint is of a run or of a task: name one")
        where = {"execution_id = ?": execution_id, "task_id = ?": task_id}
        found = await self.select(where, order=_LATEST, limit=1)
        return found[0] if found else None

    async def list_checkpoints(self, execution_id: str) -> tuple[Checkpoint, ...]:
        order = "turn_number, created_at, id"
        return await self.select({"execution_id = ?": execution_id}, order=order)

    async def delete_by_execution(self, execution_id: str) -> int:
        return await self.remove_where("execution_id = ?", [execution_id])


class DuckDBHeartbeats(
    KeyedTable[Heartbeat], entity=Heartbeat, table="heartbeats", key=("execution_id",)
):
    """Signs of life of runs. A stale one tells that the process of a run is gone."""

    async def get_stale(self, threshold: datetime) -> tuple[Heartbeat, ...]:
        where = {"last_heartbeat_at < ?": threshold}
        return await self.select(where, order="last_heartbeat_at, execution_id")


STATES: Final = """
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


class DuckDBAgentStates(
    KeyedTable[AgentRuntimeState],
    entity=AgentRuntimeState,
    table="agent_states",
    key=("agent_id",),
    source=STATES,
):
    """What agents do. Programs save it; of others it is told by what is stored anyway.

    That are the signs of life of runs, what waits for a person, the sessions of connected agents,
    and the rights that a person took from an agent, which is paused then.
    """

    async def get_active(self) -> tuple[AgentRuntimeState, ...]:
        return await self._listed({"status <> ?": ActivityStatus.IDLE})

    async def list_states(self) -> tuple[AgentRuntimeState, ...]:
        return await self._listed({})

    async def _listed(self, where: dict[str, object]) -> tuple[AgentRuntimeState, ...]:
        return await self.select(where, order="last_activity_at DESC, agent_id")


ARTIFACTS: Final = """
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


class DuckDBArtifacts(KeyedTable[Artifact], entity=Artifact, table="artifacts", source=ARTIFACTS):
    """Files that came of tasks: those that sessions touched, and what a program saves.

    A file of a session is read from the session, which is its task; its type is told by its name.
    It can't be deleted here: it goes with its session.
    """

    async def list_artifacts(
        self,
        *,
        task_id: str | None = None,
        created_by: str | None = None,
        artifact_type: ArtifactType | None = None,
    ) -> tuple[Artifact, ...]:
        where = {"task_id = ?": task_id, "created_by = ?": created_by, "type = ?": artifact_type}
        return await self.select(where, order="path, id")


PROJECTS: Final = """
SELECT * FROM projects
UNION ALL BY NAME
SELECT project AS id, coalesce(nullif(regexp_extract(project, '([^/]+)/*$', 1), ''), project)
        AS name, '' AS description, list_sort(list(DISTINCT agent_id)) AS team, 0.0 AS budget,
    'active' AS status
FROM executions WHERE trim(project) <> '' AND project NOT IN (SELECT id FROM projects)
GROUP BY project
"""


class DuckDBProjects(KeyedTable[Project], entity=Project, table="projects", source=PROJECTS):
    """Projects: those that sessions were imported from, and what a program saves of them.

    A project of sessions has its folder as id and is active, its team the agents that worked in it.
    Saving one with that id takes its place; it comes back when that is deleted.
    """

    async def list_projects(
        self, *, status: ProjectStatus | None = None, lead: str | None = None
    ) -> tuple[Project, ...]:
        where = {"status = ?": status, "lead = ?": lead}
        return await self.select(where, order="id")

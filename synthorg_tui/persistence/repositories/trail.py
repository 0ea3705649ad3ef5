"""Repositories of what happened: decisions on calls, messages, events of agents and metrics."""

from datetime import datetime
from typing import Final

from synthorg_tui.core.enums import RiskLevel, SecurityVerdictType
from synthorg_tui.persistence.entities import (
    AuditEntry,
    CollaborationMetric,
    LifecycleEvent,
    Message,
    TaskMetric,
)
from synthorg_tui.persistence.repositories.table import EntityTable

AUDIT: Final = """
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


class DuckDBAudit(EntityTable[AuditEntry], entity=AuditEntry, table="audit_records", source=AUDIT):
    """Decisions on calls of tools. What programs decide is saved here.

    Calls in runs and of connected agents, and the events of approvals, are read from where they are
    recorded anyway, and so not stored twice: ids ``step:ID``, ``call:N`` and ``approval:N``.
    """

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
        where = {
            "agent_id = ?": agent_id,
            "action_type = ?": action_type,
            "verdict = ?": verdict,
            "risk_level = ?": risk_level,
            "timestamp >= ?": since,
            "timestamp < ?": until,
        }
        return await self.select(where, order="timestamp DESC, id DESC", limit=limit)


class DuckDBMessages(EntityTable[Message], entity=Message, table="messages"):
    """Messages between agents.

    To its contract only: agents of one person's machine share what they know by memory, and write
    to nobody, so that only programs and the export use it.
    """

    async def get_history(self, channel: str, *, limit: int | None = None) -> tuple[Message, ...]:
        order = "timestamp DESC, id DESC"
        return await self.select({"channel = ?": channel}, order=order, limit=limit)


class DuckDBLifecycleEvents(
    EntityTable[LifecycleEvent], entity=LifecycleEvent, table="lifecycle_events"
):
    """What happened to agents, such as that a person paused one or took its right to write."""

    async def list_events(
        self,
        *,
        agent_id: str | None = None,
        event_type: str | None = None,
        since: datetime | None = None,
        limit: int | None = None,
    ) -> tuple[LifecycleEvent, ...]:
        where = {"agent_id = ?": agent_id, "event_type = ?": event_type, "timestamp >= ?": since}
        return await self.select(where, order="timestamp DESC, id DESC", limit=limit)


METRICS: Final = """
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


class DuckDBTaskMetrics(
    EntityTable[TaskMetric], entity=TaskMetric, table="task_metrics", source=METRICS
):
    """How tasks went. Those of runs are read from their steps, id ``run:ID``; programs save others.

    A run's duration is from its first to its last step, with what it waited in between.
    """

    async def query(
        self,
        *,
        agent_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[TaskMetric, ...]:
        where = {"agent_id = ?": agent_id, "completed_at >= ?": since, "completed_at < ?": until}
        return await self.select(where, order="completed_at, id")


class DuckDBCollaborationMetrics(
    EntityTable[CollaborationMetric], entity=CollaborationMetric, table="collaboration_metrics"
):
    """How agents worked together.

    To its contract only: a single person's agents hand work to each other by delegated runs, which
    have task metrics of their own.
    """

    async def query(
        self, *, agent_id: str | None = None, since: datetime | None = None
    ) -> tuple[CollaborationMetric, ...]:
        where = {"agent_id = ?": agent_id, "recorded_at >= ?": since}
        return await self.select(where, order="recorded_at, id")

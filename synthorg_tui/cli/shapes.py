"""Converts memories, imports, proposals and skills to the JSON that ``docs/cli.md`` documents.

Programs read it, so its fields must not change. JSON that only one command prints is made in that
command's module.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.paths import short_path

if TYPE_CHECKING:
    from synthorg_tui.approvals.models import ApprovalEvent
    from synthorg_tui.curation.effects import LessonEffect
    from synthorg_tui.curation.overview import SkillDetail, SkillOverviewRow
    from synthorg_tui.curation.review import Decision, InboxEntry, Review
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.ingest.service import ImportReport
    from synthorg_tui.memory.listing import ListedMemory, MemoryRevision
    from synthorg_tui.skills.document import Finding
    from synthorg_tui.skills.library import RootState

Json: TypeAlias = dict[str, object]

HASH_LENGTH: Final = 12
"""Hex digits of a content hash that are printed and typed in."""
_SCORE_DIGITS: Final = 6


class SourceResolver:
    """Finds the file and lines that memories' sources name; looks up each session only once."""

    def __init__(self, executions: "ExecutionStore") -> None:
        self._executions = executions
        self._paths: dict[str, str | None] = {}

    async def resolve(self, source: str | None) -> Json | None:
        """Return the JSON of a source; ``None`` for ``None``.

        It is ``{ref, path, first_line, last_line}`` for lines of a transcript, else ``{ref}``.
        """
        from synthorg_tui.executions.models import SourceRef

        if source is None:
            return None
        ref = SourceRef.parse(source)
        if ref is None:
            return {"ref": source}
        if ref.execution_id not in self._paths:
            execution = await self._executions.get(ref.execution_id)
            self._paths[ref.execution_id] = execution.source_path if execution else None
        path = self._paths[ref.execution_id]
        lines: Json = {"first_line": ref.first_line, "last_line": ref.last_line}
        return {"ref": source, "path": path, **lines}


def import_report(done: "ImportReport") -> Json:
    """Return the result of an import as JSON."""
    return {
        "files": done.files,
        "executions": done.executions,
        "memories_added": done.memories_added,
        "memories_skipped": done.memories_skipped,
        "memories_refused": done.memories_refused,
        "full_agents": list(done.full_agents),
        "calls": calls(done.calls),
        "recoveries": done.recoveries,
        "redactions": done.redactions,
        "malformed_lines": done.malformed_lines,
        "lessons_proposed": done.lessons_proposed,
        "skipped": [{"path": path, "reason": reason} for path, reason in done.skipped],
    }


def calls(counts: Mapping[CallOutcome, int]) -> dict[str, int]:
    """Return the number of tool calls by outcome, with 0 for outcomes that are missing."""
    return {outcome.value: counts.get(outcome, 0) for outcome in CallOutcome}


def memory(entry: "ListedMemory", source: Json | None) -> Json:
    """Return a memory with all its fields as JSON; ``source`` is from ``SourceResolver``."""
    from synthorg_tui.memory.retrieval.tags import parse_tags

    traits = parse_tags(entry.tags)
    return {
        "id": entry.id,
        "agent_id": entry.agent_id,
        "category": entry.category.value,
        "namespace": entry.namespace,
        "content": entry.content,
        "tags": list(entry.tags),
        "confidence": entry.confidence,
        "sensitivity": traits.sensitivity.value,
        "fact_key": traits.fact_key,
        "source": source,
        "created_at": entry.created_at.isoformat(),
        "updated_at": entry.updated_at.isoformat() if entry.updated_at else None,
        "expires_at": entry.expires_at.isoformat() if entry.expires_at else None,
        "deleted_at": entry.deleted_at.isoformat() if entry.deleted_at else None,
        "valid_from": entry.valid_from.isoformat() if entry.valid_from else None,
        "valid_to": entry.valid_to.isoformat() if entry.valid_to else None,
        "recorded_at": entry.recorded_at.isoformat() if entry.recorded_at else None,
        "archived_at": entry.archived_at.isoformat() if entry.archived_at else None,
        "archived_why": entry.archived_why,
        "stands_on_replaced": (
            entry.stands_on_replaced.isoformat() if entry.stands_on_replaced else None
        ),
        "shared": entry.shared,
    }


def hit(entry: "ListedMemory", source: Json | None) -> Json:
    """Return a search result as JSON; ``score`` combines the search by meaning and by words.

    Of exact copies one is a result, which was seen ``seen_times``, last at ``last_seen``.
    """
    fused = rounded(entry.fused)
    return {
        "id": entry.id,
        "agent_id": entry.agent_id,
        "category": entry.category.value,
        "content": entry.content,
        "score": fused,
        "scores": {"dense": rounded(entry.dense), "sparse": rounded(entry.sparse), "fused": fused},
        "source": source,
        "created_at": entry.created_at.isoformat(),
        "tags": list(entry.tags),
        "seen_times": entry.seen_times,
        "last_seen": entry.last_seen.isoformat() if entry.last_seen else None,
    }


def revision(change: "MemoryRevision") -> Json:
    """Return one change of a memory as JSON."""
    return {
        "revision": change.revision,
        "at": change.at.isoformat(),
        "actor": change.actor,
        "kind": change.kind.value,
        "before": change.before,
        "after": change.after,
    }


def place(source: Json | None) -> str:
    """Return a resolved source as text: ``file:first-last``, or its reference without a file."""
    if source is None:
        return ""
    if not source.get("path"):
        return str(source["ref"])
    first, last = source["first_line"], source["last_line"]
    lines = first if first == last else f"{first}-{last}"
    return f"{short_path(str(source['path']))}:{lines}"


def rounded(score: float | None) -> float | None:
    """Return a score rounded to the digits that are meaningful."""
    return None if score is None else round(score, _SCORE_DIGITS)


def short_hash(review: "Review") -> str:
    """Return the start of the shown review's hash, which a person types to decide on it."""
    return review.shown[:HASH_LENGTH]


def proposal(entry: "InboxEntry") -> Json:
    """Return a proposal as JSON, with its texts and its evidence."""
    item = entry.item
    return {
        "id": item.id,
        "kind": entry.kind.value,
        "scope": entry.scope,
        "title": item.title,
        "status": item.status.value,
        "confidence": entry.confidence,
        "recurrence": entry.recurrence,
        "saved_calls": entry.saved_calls,
        "evidence": [
            {
                "execution": evidence.execution,
                "lines": evidence.lines,
                "error": evidence.error,
                "resolved_by": evidence.resolved_by,
                "reported": evidence.reported,
            }
            for evidence in entry.evidence
        ],
        "fields": {
            name: {"text": field.text, "author": field.author.value}
            for name, field in entry.fields.items()
        },
        "memory": memory_of(entry),
        "organisation": writes_of(entry),
        "call": call_of(entry),
        "act": _act_of(entry),
        "created_at": item.created_at.isoformat(),
        "expires_at": item.expires_at.isoformat() if item.expires_at else None,
        "snoozed_until": item.snoozed_until.isoformat() if item.snoozed_until else None,
    }


def memory_of(entry: "InboxEntry") -> dict[str, Any] | None:
    """Return the metadata of a memory that an agent asks to store, as JSON.

    ``None`` for other kinds of proposals.
    """
    from synthorg_tui.core.redaction import marks_in
    from synthorg_tui.curation.review import WritePayload

    write = entry.subject
    if not isinstance(write, WritePayload):
        return None
    request = write.draft.request
    return {
        "agent_id": write.agent_id,
        "project": write.draft.project,
        "category": request.category.value,
        "source": request.metadata.source,
        "tags": list(request.metadata.tags),
        "redactions": marks_in(request.content),
    }


def writes_of(entry: "InboxEntry") -> dict[str, Any] | None:
    """Return the writes to organisation memory that an item asks for, as JSON.

    ``None`` for other kinds of proposals.
    """
    from synthorg_tui.curation.review import OrgPayload

    if not isinstance(entry.subject, OrgPayload):
        return None
    return {
        "why": entry.subject.why,
        "source": entry.subject.source,
        "changes": [
            {
                "kind": change.kind.value,
                "fact_id": change.fact_id,
                "category": change.request.category.value if change.request else None,
                "tags": list(change.request.tags) if change.request else [],
                "content": change.request.content if change.request else None,
                "agent_id": change.author.agent_id,
                "seniority": change.author.seniority.value if change.author.seniority else None,
            }
            for change in entry.subject.changes
        ],
    }


def call_of(entry: "InboxEntry") -> dict[str, Any] | None:
    """Return the tool call that a run waits with, as JSON.

    ``None`` for other kinds of proposals.
    """
    from synthorg_tui.curation.review import RunCallPayload

    if not isinstance(entry.subject, RunCallPayload):
        return None
    return entry.subject.model_dump(exclude={"type", "mark"})


def _act_of(entry: "InboxEntry") -> dict[str, Any] | None:
    """An act of administration that an agent asks for; ``None`` for other kinds of proposals."""
    from synthorg_tui.curation.administration import AdminPayload

    if not isinstance(entry.subject, AdminPayload):
        return None
    return entry.subject.model_dump(mode="json", exclude={"type"})


def review(preview: "Review", trail: "Sequence[ApprovalEvent]") -> Json:
    """Return a proposal as JSON with the effects of approving it, and with its past events."""
    return {
        **proposal(preview.entry),
        "hash": short_hash(preview),
        "problem": preview.problem,
        "barred": preview.barred,
        "flags": [
            {"kind": flag.kind.value, "place": flag.place, "found": flag.found}
            for flag in preview.flags
        ],
        "near": [
            {
                "memory_id": near.memory_id,
                "name": near.name,
                "discovery": near.discovery,
                "similarity": rounded(near.similarity),
                "verdict": near.verdict,
            }
            for near in preview.near
        ],
        "replaces": [memory.id for memory in preview.replaces],
        "agents": list(preview.agents),
        "reach": {scope.value: list(agents) for scope, agents in preview.reach.items()},
        "path": preview.path,
        "diff": list(preview.diff),
        "trail": [
            {
                "at": event.at.isoformat(),
                "kind": event.kind.value,
                "actor": event.actor,
                "reason": event.reason,
            }
            for event in trail
        ],
    }


def decision(taken: "Decision") -> Json:
    """Return a decision that has taken effect as JSON."""
    return {
        "kind": taken.kind.value,
        "id": taken.item_id,
        "title": taken.title,
        "memory_ids": list(taken.memory_ids),
        "paths": list(taken.paths),
        "left_alone": list(taken.left_alone),
    }


def skill_root(state: "RootState") -> Json:
    """Return a folder of skills as JSON."""
    return {
        "path": str(state.root.path),
        "scope": state.root.scope.value,
        "exists": state.exists,
        "skills": state.skills,
        "problem": state.problem,
    }


def skill(row: "SkillOverviewRow") -> Json:
    """Return a skill as in a list, as JSON."""
    return {
        "name": row.name,
        "path": row.path,
        "scope": row.scope.value if row.scope else None,
        "state": row.state.value,
        "description": row.description,
        "version": row.version,
        "applied": row.applied,
        "applied_at": row.applied_at.isoformat() if row.applied_at else None,
        "shadowed_by": row.shadowed_by or None,
        "waiting": row.waiting or None,
        "reworded": row.reworded,
        "findings": [finding(found) for found in row.findings],
    }


def effect(counts: "LessonEffect | None") -> Json | None:
    """Return what came of a lesson as JSON; ``None`` for a skill that isn't in use."""
    if counts is None:
        return None
    return {
        "given": dict(counts.ways),
        "recognised": counts.is_recognised,
        "sessions_with": {"ran": counts.had, "failed": counts.had_failed},
        "sessions_without": {"ran": counts.lacked, "failed": counts.lacked_failed},
        "weeks": [week._asdict() for week in counts.weeks],
    }


def skill_in_full(detail: "SkillDetail", counts: "LessonEffect | None" = None) -> Json:
    """Return a skill with its text, versions, evidence and what came of it as JSON."""
    return {
        **skill(detail.row),
        "effect": effect(counts),
        "memory_ids": list(detail.memory_ids),
        "taught_by": [
            {"execution": seen.execution, "lines": seen.lines, "reported": seen.reported}
            for seen in detail.evidence
        ],
        "versions": [
            {
                "version": version.version,
                "at": version.at.isoformat(),
                "by": version.actor,
                "event": version.event.value,
                "sha256": version.sha256,
            }
            for version in detail.versions
        ],
        "text": detail.text,
    }


def finding(found: "Finding") -> Json:
    """Return what is wrong with a skill's file as JSON."""
    return {
        "line": found.line,
        "severity": found.severity.value,
        "message": found.message,
        "remedy": found.remedy,
    }

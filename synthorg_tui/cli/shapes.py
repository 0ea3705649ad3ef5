"""Converts memories, imports, proposals and skills to the JSON that ``docs/cli.md`` documents.

Programs read it, so its fields must not change. JSON that only one command prints is made in that
command's module.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.cli.records import Json, fields, pairs, shaped
from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.paths import short_path

if TYPE_CHECKING:
    from synthorg_tui.approvals.models import ApprovalEvent
    from synthorg_tui.curation.effects import LessonEffect
    from synthorg_tui.curation.overview import SkillDetail, SkillOverviewRow
    from synthorg_tui.curation.review import InboxEntry, Review
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.ingest.service import ImportReport
    from synthorg_tui.memory.listing import ListedMemory

HASH_LENGTH: Final = 12
"""Hex digits of a content hash that are printed and typed in."""
_SCORE_DIGITS: Final = 6
FINDING: Final = "line severity message remedy"
"""The fields of what is wrong with a skill's file."""


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
        **fields(
            done,
            "files executions memories_added memories_skipped memories_refused full_agents",
        ),
        "calls": calls(done.calls),
        **fields(done, "recoveries redactions malformed_lines lessons_proposed"),
        "skipped": pairs(done.skipped, "path", "reason"),
    }


def calls(counts: Mapping[CallOutcome, int]) -> dict[str, int]:
    """Return the number of tool calls by outcome, with 0 for outcomes that are missing."""
    return {outcome.value: counts.get(outcome, 0) for outcome in CallOutcome}


def memory(entry: "ListedMemory", source: Json | None) -> Json:
    """Return a memory with all its fields as JSON; ``source`` is from ``SourceResolver``."""
    from synthorg_tui.memory.retrieval.tags import parse_tags

    return {
        **fields(entry, "id agent_id category namespace content tags confidence"),
        **fields(parse_tags(entry.tags), "sensitivity fact_key"),
        "source": source,
        **fields(
            entry,
            "created_at updated_at expires_at deleted_at valid_from valid_to recorded_at"
            " archived_at archived_why stands_on_replaced shared",
        ),
    }


def hit(entry: "ListedMemory", source: Json | None) -> Json:
    """Return a search result as JSON; ``score`` combines the search by meaning and by words.

    Of exact copies one is a result, which was seen ``seen_times``, last at ``last_seen``.
    """
    fused = rounded(entry.fused)
    return {
        **fields(entry, "id agent_id category content"),
        "score": fused,
        "scores": {"dense": rounded(entry.dense), "sparse": rounded(entry.sparse), "fused": fused},
        "source": source,
        **fields(entry, "created_at tags seen_times last_seen"),
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
    return {
        **fields(entry, "id=item.id kind scope title=item.title status=item.status"),
        **fields(entry, "confidence recurrence saved_calls"),
        "evidence": shaped(entry.evidence, "execution lines error resolved_by reported"),
        "fields": {name: fields(field, "text author") for name, field in entry.fields.items()},
        "memory": memory_of(entry),
        "organisation": writes_of(entry),
        "call": call_of(entry),
        "act": _act_of(entry),
        **fields(entry.item, "created_at expires_at snoozed_until"),
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
        **fields(write, "agent_id project=draft.project"),
        **fields(request, "category source=metadata.source tags=metadata.tags"),
        "redactions": marks_in(request.content),
    }


def writes_of(entry: "InboxEntry") -> dict[str, Any] | None:
    """Return the writes to organisation memory that an item asks for, as JSON.

    ``None`` for other kinds of proposals.
    """
    from synthorg_tui.curation.review import OrgPayload

    if not isinstance(entry.subject, OrgPayload):
        return None
    none: Json = {"category": None, "tags": [], "content": None}
    return {
        **fields(entry.subject, "why source"),
        "changes": [
            {
                **fields(change, "kind fact_id"),
                **(fields(change.request, "category tags content") if change.request else none),
                **fields(change.author, "agent_id seniority"),
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
        **fields(preview, "problem barred"),
        "flags": shaped(preview.flags, "kind place found"),
        "near": [
            {
                **fields(near, "memory_id name discovery"),
                "similarity": rounded(near.similarity),
                "verdict": near.verdict,
            }
            for near in preview.near
        ],
        "replaces": [memory.id for memory in preview.replaces],
        **fields(preview, "agents reach path diff"),
        "trail": shaped(trail, "at kind actor reason"),
    }


def skill(row: "SkillOverviewRow") -> Json:
    """Return a skill as in a list, as JSON."""
    return {
        **fields(row, "name path scope state description version applied applied_at"),
        **fields(row, "shadowed_by? waiting? reworded"),
        "findings": shaped(row.findings, FINDING),
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
        "taught_by": shaped(detail.evidence, "execution lines reported"),
        "versions": shaped(detail.versions, "version at by=actor event sha256"),
        "text": detail.text,
    }

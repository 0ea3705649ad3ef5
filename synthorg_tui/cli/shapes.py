"""The JSON that commands print; ``docs/cli.md`` documents it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.paths import short_path
from synthorg_tui.executions.models import SourceRef
from synthorg_tui.memory.listing import ListedMemory, MemoryRevision
from synthorg_tui.memory.retrieval.tags import parse_tags

if TYPE_CHECKING:
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.ingest.service import ImportReport

Json: TypeAlias = dict[str, object]

_SCORE_DIGITS = 6


class SourceResolver:
    """Finds the file and lines that a memory's source names."""

    def __init__(self, executions: "ExecutionStore") -> None:
        self._executions = executions
        self._paths: dict[str, str | None] = {}

    async def resolve(self, source: str | None) -> Json | None:
        """``{ref, path, first_line, last_line}`` for a transcript, else ``{ref}``."""
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


def report(done: "ImportReport") -> Json:
    """What an import did."""
    return {
        "files": done.files,
        "executions": done.executions,
        "memories_added": done.memories_added,
        "memories_skipped": done.memories_skipped,
        "calls": calls(done.calls),
        "recoveries": done.recoveries,
        "redactions": done.redactions,
        "malformed_lines": done.malformed_lines,
        "lessons_proposed": done.lessons_proposed,
        "skipped": [{"path": path, "reason": reason} for path, reason in done.skipped],
    }


def calls(counts: Mapping[CallOutcome, int]) -> dict[str, int]:
    """Tool calls by outcome, every outcome present."""
    return {outcome.value: counts.get(outcome, 0) for outcome in CallOutcome}


def memory(entry: ListedMemory, source: Json | None) -> Json:
    """A memory with all its fields."""
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
    }


def hit(entry: ListedMemory, source: Json | None) -> Json:
    """A search result; ``score`` is the fused one."""
    fused = _score(entry.fused)
    return {
        "id": entry.id,
        "agent_id": entry.agent_id,
        "category": entry.category.value,
        "content": entry.content,
        "score": fused,
        "scores": {"dense": _score(entry.dense), "sparse": _score(entry.sparse), "fused": fused},
        "source": source,
        "created_at": entry.created_at.isoformat(),
        "tags": list(entry.tags),
    }


def revision(change: MemoryRevision) -> Json:
    """One change of a memory."""
    return {
        "revision": change.revision,
        "at": change.at.isoformat(),
        "actor": change.actor,
        "kind": change.kind.value,
        "before": change.before,
        "after": change.after,
    }


def place(source: Json | None) -> str:
    """A resolved source as a person reads it: ``file:first-last``, or its reference."""
    if source is None:
        return ""
    if not source.get("path"):
        return str(source["ref"])
    first, last = source["first_line"], source["last_line"]
    lines = first if first == last else f"{first}-{last}"
    return f"{short_path(str(source['path']))}:{lines}"


def _score(score: float | None) -> float | None:
    return None if score is None else round(score, _SCORE_DIGITS)

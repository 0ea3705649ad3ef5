"""Drafts of memories: key, tags, source and time, the same for every kind."""

from datetime import datetime

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.ingest.extract import phrases
from synthorg_tui.ingest.readers.base import slug
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest

NON_INFERABLE = "non-inferable"
"""Tag of what an agent can't find out by reading the code base or its version history."""
MAX_CONTENT = 1_800


def draft(
    execution: Execution,
    name: str,
    content: str,
    *,
    lines: tuple[int, int],
    tags: tuple[str, ...],
    confidence: float,
    at: datetime | None,
    category: MemoryCategory = MemoryCategory.EPISODIC,
) -> MemoryDraft:
    """A draft from lines of an execution.

    ``name`` tells it from the others of its session across imports; what a person said is named
    by its text instead, so that saying it again in another session adds nothing.
    """
    branch = f"branch:{slug(execution.branch)}" if execution.branch else ""
    known_to_git = "commit" in tags
    every = (
        *tags,
        "" if known_to_git else NON_INFERABLE,
        slug(phrases.project_name(execution)),
        branch,
    )
    first, last = lines
    scope = "" if name.startswith("said:") else f"{execution.session_id}|"
    return MemoryDraft(
        request=MemoryStoreRequest(
            category=category,
            content=content,
            metadata=MemoryMetadata(
                source=str(execution.ref(first, max(first, last))),
                confidence=confidence,
                tags=tuple(tag for tag in every if tag),
            ),
        ),
        key=f"{execution.agent_id}|{scope}{name}",
        created_at=at or execution.started_at,
        session_id=execution.session_id,
        project=execution.project,
    )


def where(execution: Execution, before: str = "In") -> str:
    """A sentence that names project and branch; empty when neither is known."""
    place = phrases.place(execution, before)
    return f"{place}." if place else ""


def tools_of(calls: tuple[ToolCall, ...]) -> tuple[str, ...]:
    """The names of the most used tools."""
    counts: dict[str, int] = {}
    for call in calls:
        counts[call.tool] = counts.get(call.tool, 0) + 1
    ranked = sorted(counts, key=lambda tool: (-counts[tool], tool))
    return tuple(slug(tool) for tool in ranked[:5])

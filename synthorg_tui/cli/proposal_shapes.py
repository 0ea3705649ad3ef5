"""The JSON of ``proposals``; ``docs/cli.md`` documents it."""

from typing import TYPE_CHECKING, Any

from synthorg_tui.approvals.models import ApprovalEvent
from synthorg_tui.cli.shapes import Json
from synthorg_tui.cli.terminal import HASH_LENGTH

if TYPE_CHECKING:
    from synthorg_tui.curation.review import Decision, InboxEntry, Review


def short_hash(review: "Review") -> str:
    """What is typed in to decide on exactly this."""
    return review.shown[:HASH_LENGTH]


def proposal(entry: "InboxEntry") -> Json:
    """A proposal with what it says and what it stands on."""
    item = entry.item
    return {
        "id": item.id,
        "kind": entry.kind.value,
        "scope": entry.scope,
        "title": item.title,
        "status": item.status.value,
        "confidence": entry.confidence,
        "recurrence": entry.recurrence,
        "evidence": [
            {
                "execution": each.execution,
                "lines": each.lines,
                "error": each.error,
                "resolved_by": each.resolved_by,
            }
            for each in entry.evidence
        ],
        "fields": {
            name: {"text": each.text, "author": each.author.value}
            for name, each in entry.fields.items()
        },
        "memory": memory_of(entry),
        "created_at": item.created_at.isoformat(),
        "expires_at": item.expires_at.isoformat() if item.expires_at else None,
        "snoozed_until": item.snoozed_until.isoformat() if item.snoozed_until else None,
    }


def memory_of(entry: "InboxEntry") -> dict[str, Any] | None:
    """What goes with the text that an agent wants kept; ``None`` for other proposals."""
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


def review(shown: "Review", trail: tuple[ApprovalEvent, ...]) -> Json:
    """A proposal with all that approving it would do, and what happened to it until now."""
    return {
        **proposal(shown.entry),
        "hash": short_hash(shown),
        "problem": shown.problem,
        "flags": [
            {"kind": flag.kind.value, "place": flag.place, "found": flag.found}
            for flag in shown.flags
        ],
        "near": [
            {
                "memory_id": near.memory_id,
                "name": near.name,
                "discovery": near.discovery,
                "similarity": round(near.similarity, 6),
                "verdict": near.verdict,
            }
            for near in shown.near
        ],
        "replaces": [memory.id for memory in shown.replaces],
        "agents": list(shown.agents),
        "path": shown.path,
        "diff": list(shown.diff),
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
    """A decision that has taken effect."""
    return {
        "kind": taken.kind.value,
        "id": taken.item_id,
        "title": taken.title,
        "memory_ids": list(taken.memory_ids),
        "paths": list(taken.paths),
        "left_alone": list(taken.left_alone),
    }

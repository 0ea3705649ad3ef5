"""Lessons as items of the approval queue: their ids, titles, risk and metadata.

An item's id is a hash of the lesson's key, so that a lesson that a person rejected, or that was
erased, is recognised when it comes again. Putting items into the queue is for ``learning``.
"""

import hashlib
import re

from pydantic import ValidationError

from synthorg_tui.approvals.models import ApprovalItem, RiskLevel
from synthorg_tui.approvals.proposals import asked_by
from synthorg_tui.core.clock import Clock
from synthorg_tui.curation.models import LESSON_ACTION, Author, Lesson, LessonKind
from synthorg_tui.executions.output_lines import one_line

ACTION = LESSON_ACTION
ACTOR = "capture"
WORDING_TRIED = "wording_tried"
"""Metadata of an item whose lesson the model was asked to word, whatever came of it."""
_MAX_TITLE = 120
_OVERRIDES = re.compile(
    r"(?<!\S)(?:--no-verify|--force\S*|--hard|--insecure|-k|--break-system-packages|--ignore-\S+"
    r"|--privileged|--allow-\S+|--skip-\S+|--no-check\S*|--unsafe\S*|sudo|rm|dd|777)(?!\S)"
)
"""Words of commands that circumvent a safeguard or can't be undone."""


_CODE = re.compile(r"`[^`]*`")


def item_id(key: str) -> str:
    """Return the id of the approval item for a lesson, computed from the lesson's ``key`` alone."""
    return f"lesson-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def title_of(lesson: Lesson) -> str:
    """Return the lesson's discovery on one line of at most 120 characters."""
    return one_line(lesson.proposal.discovery, _MAX_TITLE)


def item_of(lesson: Lesson, clock: Clock) -> ApprovalItem:
    """Build a new pending approval item that proposes the lesson."""
    return ApprovalItem(
        id=item_id(lesson.key),
        action_type=ACTION,
        title=title_of(lesson),
        description=lesson.proposal.condition,
        requested_by=asked_by(lesson.agent_id) if lesson.source is Author.REPORTED else ACTOR,
        risk_level=risk_of(lesson),
        created_at=clock.now(),
        task_id=lesson.task_id,
        source=lesson.evidence[0].lines if lesson.evidence else None,
        metadata=metadata_of(lesson),
        payload=lesson.model_dump_json(),
    )


def risk_of(lesson: Lesson) -> RiskLevel:
    """Return ``HIGH`` when commands of the lesson override a safeguard, else ``LOW``.

    A person marks no commands, so all words of a correction are looked at.
    """
    proposal = lesson.proposal
    is_said = lesson.kind is LessonKind.CORRECTION
    commands_of = (proposal.action,) if is_said else _CODE.findall(proposal.action)
    texts = (*proposal.execution_steps, *commands_of)
    commands = " ".join(texts).replace("`", " ")
    return RiskLevel.HIGH if _OVERRIDES.search(commands) else RiskLevel.LOW


def metadata_of(lesson: Lesson) -> dict[str, str]:
    """Return the facts about a lesson that lists of approval items show and filter by."""
    projects = dict.fromkeys(occurrence.project or "" for occurrence in lesson.evidence)
    return {
        "kind": lesson.kind.value,
        "scope": lesson.proposal.scope.value,
        "agent": lesson.agent_id,
        "confidence": f"{lesson.proposal.confidence:g}",
        "recurrence": str(lesson.recurrence),
        "project": ", ".join(filter(None, projects)),
    }


def lesson_of(item: ApprovalItem) -> Lesson | None:
    """Return the lesson that an item proposes; ``None`` for another or a damaged payload."""
    try:
        return Lesson.model_validate_json(item.payload)
    except ValidationError:
        return None

"""What a person makes of a proposal before approving it."""

from collections.abc import Mapping

from synthorg_tui.approvals.errors import DecisionRefusedError
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.memory.procedural import adoption
from synthorg_tui.memory.procedural.agent_writes import WritePayload
from synthorg_tui.memory.procedural.models import (
    WORDED_FIELDS,
    Author,
    Lesson,
    ProceduralMemoryProposal,
)
from synthorg_tui.memory.procedural.review_models import InboxEntry
from synthorg_tui.memory.self_editing_arguments import MAX_CONTENT_CHARS


def edited_lesson(
    entry: InboxEntry, edited: ProceduralMemoryProposal, authors: Mapping[str, Author]
) -> Lesson:
    """The lesson as the person made it; raises ``DecisionRefusedError`` when it is none."""
    lesson = entry.subject
    if not isinstance(lesson, Lesson):
        raise DecisionRefusedError("only a lesson can be edited like one before it is approved")
    edited = adoption.redacted(edited)
    wrote = {
        name: authors.get(name, Author.PERSON)
        for name in WORDED_FIELDS
        if getattr(edited, name) != getattr(lesson.proposal, name)
    }
    return lesson.model_copy(
        update={"proposal": edited, "authors": {**lesson.authors, **authors, **wrote}}
    )


def reworded_write(entry: InboxEntry, text: str) -> WritePayload:
    """What an agent wrote in the person's words, without secrets.

    Raises ``DecisionRefusedError`` when it is nothing that an agent wrote, or the text doesn't do.
    """
    write = entry.subject
    if not isinstance(write, WritePayload):
        raise DecisionRefusedError("only what an agent wrote can be reworded as a text")
    if not text.strip() or len(text) > MAX_CONTENT_CHARS:
        raise DecisionRefusedError(f"the text must have 1 to {MAX_CONTENT_CHARS:,} characters")
    content = redact_text(text, RedactionTally())
    request = write.draft.request.model_copy(update={"content": content})
    return write.model_copy(update={"draft": write.draft.model_copy(update={"request": request})})

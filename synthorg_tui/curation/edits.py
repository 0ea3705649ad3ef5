"""Edits that a person makes to a proposal before approving it.

An edit comes from outside the program, so it passes here on its way into a plan: secrets are
redacted, lengths are bounded, and nothing but the wording of the item's own subject can change.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from synthorg_tui.approvals.models import DecisionRefusedError
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.curation.models import (
    MAX_CHECK,
    MAX_DISCOVERY,
    MAX_TEXT,
    WORDED_FIELDS,
    Author,
    Lesson,
    ProceduralMemoryProposal,
    ProceduralMemoryScope,
)
from synthorg_tui.curation.review import InboxEntry, OrgPayload, WritePayload
from synthorg_tui.curation.scopes import scoped
from synthorg_tui.memory.org.changes import OrgChange
from synthorg_tui.memory.strategies.schemas import MAX_CONTENT_CHARS


@dataclass(frozen=True, slots=True)
class ProposalEdit:
    """A person's change of a proposal: of a lesson's fields, or of the text that is to be stored.

    ``wording`` ``None`` leaves the text as it is, and ``scope`` ``None`` for whom it is.
    ``authors`` names who wrote fields of a lesson where that wasn't the person.
    """

    wording: ProceduralMemoryProposal | str | None = None
    authors: Mapping[str, Author] = field(default_factory=dict)
    scope: ProceduralMemoryScope | None = None


def edited_subject(entry: InboxEntry, edit: ProposalEdit) -> Lesson | WritePayload | OrgPayload:
    """Return the item's lesson, memory or fact, reworded and rescoped, secrets redacted.

    Raises ``DecisionRefusedError`` when the item can't be edited like this, or the text is empty or
    too long.
    """
    subject = entry.subject
    if isinstance(edit.wording, str):
        subject = _reworded_write(entry, edit.wording)
    elif edit.wording is not None:
        subject = _edited_lesson(entry, edit.wording, edit.authors)
    if edit.scope is None and isinstance(subject, OrgPayload):
        return subject
    if not isinstance(subject, Lesson | WritePayload):
        raise DecisionRefusedError("only a lesson, and what an agent wrote, has a scope")
    return subject if edit.scope is None else scoped(subject, edit.scope)


def _edited_lesson(
    entry: InboxEntry, wording: ProceduralMemoryProposal, authors: Mapping[str, Author]
) -> Lesson:
    lesson = entry.subject
    if not isinstance(lesson, Lesson):
        raise DecisionRefusedError("only a lesson can be edited like one before it is approved")
    wording = redacted(wording)
    changed = {
        name: authors.get(name, Author.PERSON)
        for name in WORDED_FIELDS
        if getattr(wording, name) != getattr(lesson.proposal, name)
    }
    return lesson.model_copy(
        update={"proposal": wording, "authors": {**lesson.authors, **authors, **changed}}
    )


def _reworded_write(entry: InboxEntry, text: str) -> WritePayload | OrgPayload:
    write = entry.subject
    if not isinstance(write, WritePayload | OrgPayload) or entry.rewordable_text is None:
        raise DecisionRefusedError("only one text that is to be stored can be reworded as a text")
    if not text.strip() or len(text) > MAX_CONTENT_CHARS:
        raise DecisionRefusedError(f"the text must have 1 to {MAX_CONTENT_CHARS:,} characters")
    content = {"content": redact_text(text, RedactionTally())}
    if isinstance(write, OrgPayload):
        return write.model_copy(update={"changes": tuple(_reworded(write.changes, content))})
    request = write.draft.request.model_copy(update=content)
    return write.model_copy(update={"draft": write.draft.model_copy(update={"request": request})})


def _reworded(changes: Iterable[OrgChange], content: Mapping[str, str]) -> Iterator[OrgChange]:
    """The changes with another text of the only one that has any."""
    for change in changes:
        said = change.request and change.request.model_copy(update=content)
        yield change.model_copy(update={"request": said})


def redacted(proposal: ProceduralMemoryProposal) -> ProceduralMemoryProposal:
    """Return the proposal with secrets replaced that a person or a file may have put into it."""
    tally = RedactionTally()

    def clean(text: str, max_length: int | None = None) -> str:
        return redact_text(text, tally)[:max_length]

    return proposal.model_copy(
        update={
            "discovery": clean(proposal.discovery, MAX_DISCOVERY),
            "condition": clean(proposal.condition, MAX_TEXT),
            "action": clean(proposal.action, MAX_TEXT),
            "rationale": clean(proposal.rationale, MAX_TEXT),
            "check": clean(proposal.check, MAX_CHECK),
            "name": proposal.name if clean(proposal.name) == proposal.name else "",
            "execution_steps": tuple(map(clean, proposal.execution_steps)),
            "tags": tuple(map(clean, proposal.tags)),
        }
    )

"""What is evaluated: the exact text of an approved skill, of a file on disk, or of a proposal.

A proposal's text is that of the file which approving it would write, so that what was found of it
holds for the approved skill as long as nobody changes a byte.
"""

from pathlib import PurePath

from synthorg_tui.core.text import safe_text
from synthorg_tui.curation.models import FileChangePayload, Lesson
from synthorg_tui.curation.overview import SkillDetail
from synthorg_tui.curation.registry import RegisteredSkill, VersionEvent
from synthorg_tui.curation.rendering import stored_text
from synthorg_tui.curation.review import Review
from synthorg_tui.evaluation.models import SkillUnderTest
from synthorg_tui.evaluation.replay import EvaluationRefusedError
from synthorg_tui.skills.disk import sha256_of
from synthorg_tui.skills.names import describe
from synthorg_tui.skills.validate import parse


def of_proposal(review: Review, replaced: str = "") -> SkillUnderTest:
    """Return what a review proposes as a skill; ``replaced`` is the approved text at its path.

    Raises ``EvaluationRefusedError`` for an item that proposes no skill.
    """
    subject = review.entry.subject
    if isinstance(subject, FileChangePayload) and review.text:
        return of_file(
            subject.path, review.text, item_id=review.item.id, old_text=subject.ours or replaced
        )
    if not isinstance(subject, Lesson):
        raise EvaluationRefusedError(
            f"{review.item.id} proposes no skill, so there is nothing to evaluate",
            remedy="`synthorg-tui proposals list` says what each one proposes.",
        )
    words = stored_text(subject.proposal)
    text = review.text or words
    path = review.path or f"proposal:{review.item.id}"
    return SkillUnderTest(
        name=_name(path) if review.path else subject.proposal.name or review.item.id,
        path=path,
        text=text,
        sha256=_hash(text),
        item_id=review.item.id,
        agent_id=subject.agent_id,
        is_file=bool(review.text),
        kind=subject.kind,
        evidence=subject.evidence,
        description=describe(subject.proposal.discovery, subject.proposal.condition),
        memory_text=words,
        old_text=replaced,
    )


def of_skill(detail: SkillDetail, record: RegisteredSkill, approved: str) -> SkillUnderTest:
    """Return an approved skill with its ``approved`` text."""
    proposal = record.proposal
    # The text that was in force before this one; empty for the first.
    others = (
        version.text
        for version in detail.versions
        if version.sha256 != record.sha256
        and version.event in (VersionEvent.WRITTEN, VersionEvent.ACCEPTED)
    )
    text = approved or stored_text(proposal)
    return SkillUnderTest(
        name=record.name,
        path=record.path,
        text=text,
        sha256=record.sha256 or _hash(text),
        agent_id=record.agent_id,
        is_file=bool(record.sha256),
        kind=record.kind,
        evidence=record.evidence,
        description=detail.row.description or describe(proposal.discovery, proposal.condition),
        memory_text=stored_text(proposal),
        memory_ids=record.memory_ids,
        old_text=next(others, ""),
    )


def of_file(path: str, text: str, *, item_id: str = "", old_text: str = "") -> SkillUnderTest:
    """Return the text of a file that nobody approved, or that a proposal would change."""
    name = _name(path)
    document, _ = parse(text, name=name)
    return SkillUnderTest(
        name=name,
        path=path,
        text=text,
        sha256=_hash(text),
        item_id=item_id,
        description=document.description if document else "",
        memory_text=document.description if document else "",
        old_text=old_text,
    )


def _name(path: str) -> str:
    return safe_text(PurePath(path).parent.name) or "skill"


def _hash(text: str) -> str:
    return sha256_of(text.encode("utf-8", "surrogatepass"))

"""A lesson as the memory that agents are given, and as the SKILL.md that people and agents read.

Both texts are compared with what is stored: a change of their layout makes every skill look
edited. Writing the YAML and Markdown is for ``skills.render``.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Final

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.projects import project_name
from synthorg_tui.core.text import truncate
from synthorg_tui.curation.models import (
    MAX_CHECK,
    MAX_DISCOVERY,
    MAX_STEPS,
    MAX_TAGS,
    MAX_TEXT,
    Evidence,
    LessonKind,
    ProceduralMemoryProposal,
    ProceduralMemoryScope,
)
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.skills.document import SkillDocument
from synthorg_tui.skills.names import describe, is_name

NON_INFERABLE: Final = "non-inferable"
SUCCESS_DERIVED: Final = "success-derived"

_MAX_PROJECT: Final = 60


def stored_text(proposal: ProceduralMemoryProposal) -> str:
    """Return the content of a proposal's memory: a tagged paragraph for each part."""
    parts = [
        f"[DISCOVERY] {proposal.discovery}",
        f"[CONDITION] {proposal.condition}",
        f"[ACTION] {proposal.action}",
        f"[RATIONALE] {proposal.rationale}",
    ]
    if proposal.check:
        parts.append(f"[CHECK] {proposal.check}")
    if proposal.execution_steps:
        steps = (f"  {number}. {step}" for number, step in enumerate(proposal.execution_steps, 1))
        parts.append("\n".join(("[EXECUTION]", *steps)))
    return "\n\n".join(parts)


def memory_request(
    proposal: ProceduralMemoryProposal, *, source: str, kind: LessonKind | None = None
) -> MemoryStoreRequest:
    """Return the memory to store for a proposal.

    ``source`` is what the memory names as its source; ``kind`` is that of the lesson, if it was
    drawn from one.
    """
    derived = (SUCCESS_DERIVED,) if kind is LessonKind.SUCCESS else ()
    return MemoryStoreRequest(
        category=MemoryCategory.PROCEDURAL,
        content=stored_text(proposal),
        metadata=MemoryMetadata(
            source=source,
            confidence=proposal.confidence,
            tags=(NON_INFERABLE, *derived, *proposal.tags),
        ),
    )


def document_of(
    proposal: ProceduralMemoryProposal,
    *,
    name: str,
    version: int,
    agent_id: str,
    source: str,
    evidence: Sequence[Evidence] = (),
) -> SkillDocument:
    """Return the content of the SKILL.md for a proposal; ``proposal_of`` reads it back."""
    return SkillDocument(
        name=name,
        description=describe(proposal.discovery, proposal.condition),
        heading=proposal.discovery,
        condition=proposal.condition,
        action=proposal.action,
        rationale=proposal.rationale,
        check=proposal.check,
        steps=proposal.execution_steps,
        evidence=tuple(map(_evidence_line, evidence)),
        metadata=_metadata(proposal, version=version, agent_id=agent_id, source=source),
    )


def proposal_of(
    document: SkillDocument, *, before: ProceduralMemoryProposal | None = None
) -> ProceduralMemoryProposal:
    """Return the proposal that a SKILL.md expresses, also one that another program wrote.

    Metadata that the file lacks is taken from ``before``; without that, the skill is fully certain
    and for the whole organisation. Texts that are too long for a proposal are cut.
    """
    metadata = document.metadata
    foreign = document.body.strip()
    description = document.description.strip() or document.name
    return ProceduralMemoryProposal(
        discovery=_fit(document.heading, MAX_DISCOVERY) or _fit(description, MAX_DISCOVERY),
        condition=_fit(document.condition) or _fit(description),
        action=_fit(document.action) or _fit(foreign) or f"Follow the skill {document.name}.",
        rationale=_fit(document.rationale) or f"It stands in the skill {document.name}.",
        execution_steps=tuple(filter(str.strip, document.steps))[:MAX_STEPS],
        check=_fit(document.check, MAX_CHECK),
        name=document.name if is_name(document.name) else "",
        confidence=_confidence(metadata, before),
        tags=_tags(metadata, before),
        scope=_scope(metadata, before),
        supersedes=_words(metadata.get("supersedes")) or (),
    )


def agent_of(document: SkillDocument) -> str:
    """Return the id of the agent named in a SKILL.md's metadata; empty when there is none."""
    return document.metadata.get("agent", "").strip()


def _metadata(
    proposal: ProceduralMemoryProposal, *, version: int, agent_id: str, source: str
) -> dict[str, str]:
    metadata = {
        "version": str(version),
        "agent": agent_id,
        "scope": proposal.scope.value,
        "confidence": repr(proposal.confidence),
        "source": source,
    }
    if proposal.tags:
        metadata["tags"] = json.dumps(proposal.tags)
    if proposal.supersedes:
        metadata["supersedes"] = json.dumps(proposal.supersedes)
    return metadata


def _evidence_line(evidence: Evidence) -> str:
    """One occurrence on a line: its lines, day and project; the texts stay in the registry."""
    day = f"{evidence.at:%Y-%m-%d}" if evidence.at else ""
    project = truncate(project_name(evidence.project or ""), _MAX_PROJECT)
    return " · ".join(filter(None, (evidence.lines, day, project, evidence.note)))


def _fit(text: str, max_length: int = MAX_TEXT) -> str:
    """The text if it is short enough, else its beginning up to a line or word."""
    text = text.strip() if len(text) > max_length or not text.strip() else text
    if len(text) <= max_length:
        return text
    start = text[: max_length - 4]
    edge = max(start.rfind("\n"), start.rfind(" "))
    return (start[:edge] if edge > max_length // 2 else start).rstrip() + " ..."


def _confidence(metadata: Mapping[str, str], before: ProceduralMemoryProposal | None) -> float:
    fallback = before.confidence if before else 1.0
    try:
        confidence = float(metadata.get("confidence", ""))
    except ValueError:
        return fallback
    return confidence if math.isfinite(confidence) and 0.0 <= confidence <= 1.0 else fallback


def _scope(
    metadata: Mapping[str, str], before: ProceduralMemoryProposal | None
) -> ProceduralMemoryScope:
    try:
        return ProceduralMemoryScope(metadata.get("scope", ""))
    except ValueError:
        return before.scope if before else ProceduralMemoryScope.ORG


def _tags(metadata: Mapping[str, str], before: ProceduralMemoryProposal | None) -> tuple[str, ...]:
    tags = _words(metadata.get("tags"))
    if tags is None:
        return before.tags if before and "tags" in metadata else ()
    return tags[:MAX_TAGS]


def _words(text: str | None) -> tuple[str, ...] | None:
    """The words of a JSON list; ``None`` when it is none."""
    try:
        words = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    if not isinstance(words, list) or not all(isinstance(w, str) and w.strip() for w in words):
        return None
    return tuple(words)

"""A lesson as the memory agents are given, and what a SKILL.md of whoever proposes."""

from datetime import UTC, datetime

from synthorg_tui.curation.models import (
    Evidence,
    LessonKind,
    ProceduralMemoryProposal,
    ProceduralMemoryScope,
)
from synthorg_tui.curation.rendering import (
    agent_of,
    document_of,
    memory_request,
    proposal_of,
    stored_text,
)
from synthorg_tui.skills.document import SkillDocument
from tests.tables import rows

PUSH = ProceduralMemoryProposal(
    discovery="Pushing a new branch needs its upstream set.",
    condition="git push says that the branch has no upstream",
    action="Push again with --set-upstream.",
    rationale="The remote branch doesn't exist yet.",
    execution_steps=("git push", "git push -u origin HEAD"),
    confidence=0.7,
    tags=("git",),
)


def test_the_memory_has_a_tagged_paragraph_for_each_part() -> None:
    assert stored_text(PUSH) == (
        "[DISCOVERY] Pushing a new branch needs its upstream set.\n\n"
        "[CONDITION] git push says that the branch has no upstream\n\n"
        "[ACTION] Push again with --set-upstream.\n\n"
        "[RATIONALE] The remote branch doesn't exist yet.\n\n"
        "[EXECUTION]\n  1. git push\n  2. git push -u origin HEAD"
    )


def test_without_steps_there_is_no_execution_paragraph() -> None:
    assert "[EXECUTION]" not in stored_text(PUSH.model_copy(update={"execution_steps": ()}))


def test_how_to_check_it_is_a_paragraph_of_its_own() -> None:
    checked = PUSH.model_copy(update={"check": "git status names it.", "name": "git-push-upstream"})
    text = "[CHECK] git status names it.\n\n[EXECUTION]"
    assert stored_text(checked) == stored_text(PUSH).replace("[EXECUTION]", text)


def test_a_file_gives_references_to_its_evidence_and_none_of_its_texts() -> None:
    seen = Evidence(
        execution="claude_code:one",
        lines="claude_code:one#L3-L9",
        agent_id="ada",
        failed="git push",
        error="no upstream",
        resolved_by="git push -u origin b",
        at=datetime(2026, 2, 11, tzinfo=UTC),
        project="/srv/tidepool",
    )
    told = seen.model_copy(update={"reported": True, "at": None, "project": None})
    document = document_of(
        PUSH, name="push", version=1, agent_id="ada", source="x", evidence=(seen, told)
    )
    assert document.evidence == (
        "claude_code:one#L3-L9 · 2026-02-11 · tidepool",
        "claude_code:one#L3-L9 · reported by the agent itself, not recorded",
    )


@rows(
    ("kind", "tags"),
    [
        (LessonKind.FAILURE, ("non-inferable", "git")),
        (LessonKind.SUCCESS, ("non-inferable", "success-derived", "git")),
        (None, ("non-inferable", "git")),
    ],
)
def test_the_memory_is_tagged_by_what_it_was_drawn_from(
    kind: LessonKind | None, tags: tuple[str, ...]
) -> None:
    request = memory_request(PUSH, source="failure:x", kind=kind)
    assert request.metadata.tags == tags
    assert (request.metadata.source, request.metadata.confidence) == ("failure:x", 0.7)


def test_a_file_of_somebody_else_is_certain_and_for_everybody() -> None:
    foreign = SkillDocument(name="deploy", description="Use when deploying.", body="Run make.")
    proposal = proposal_of(foreign)
    assert (proposal.discovery, proposal.condition) == ("Use when deploying.",) * 2
    assert proposal.action == "Run make."
    assert (proposal.confidence, proposal.scope) == (1.0, ProceduralMemoryScope.ORG)
    assert agent_of(foreign) == ""


def test_what_an_edited_file_no_longer_says_is_as_before() -> None:
    before = PUSH.model_copy(update={"confidence": 0.4})
    stripped = SkillDocument(name="push", description="Use when pushing.", action="Push twice.")
    proposal = proposal_of(stripped, before=before)
    assert proposal.action == "Push twice."
    assert (proposal.confidence, proposal.scope) == (0.4, ProceduralMemoryScope.AGENT)


@rows("said", ["nan", "inf", "-0.1", "1.1", "high", ""])
def test_a_confidence_that_is_none_is_passed_over(said: str) -> None:
    odd = SkillDocument(name="x", description="Use when x.", metadata={"confidence": said})
    assert proposal_of(odd).confidence == 1.0


@rows("said", ["", "[", "{}", "[1]", '[" "]', "[" * 5000])
def test_tags_that_are_none_are_passed_over(said: str) -> None:
    odd = SkillDocument(name="x", description="Use when x.", metadata={"tags": said})
    assert proposal_of(odd).tags == ()


@rows(("length", "is_cut"), [(2000, False), (2001, True)])
def test_a_text_that_is_too_long_for_a_memory_is_cut(length: int, is_cut: bool) -> None:
    long = SkillDocument(name="x", description="Use when x.", action="a" * length)
    action = proposal_of(long).action
    assert len(action) <= 2000
    assert action.endswith(" ...") is is_cut

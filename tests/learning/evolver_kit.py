"""Synthetic trajectories: who faced what, and how it went."""

from datetime import UTC, datetime, timedelta

from synthorg_tui.curation.models import Evidence, ProceduralMemoryProposal
from synthorg_tui.curation.supersession import ExistingSkill
from synthorg_tui.learning.patterns import Trajectory, TrajectoryOutcome

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ADA, BOB, CYD, DAN, EVE = "ada", "bob", "cyd", "dan", "eve"
FIVE = (ADA, BOB, CYD, DAN, EVE)


def draft(
    condition: str, action: str, *, confidence: float = 0.7, rationale: str = "It worked."
) -> ProceduralMemoryProposal:
    return ProceduralMemoryProposal(
        discovery=f"{condition}: {action}",
        condition=condition,
        action=action,
        rationale=rationale,
        confidence=confidence,
        tags=("recovery",),
    )


def failure(
    agent: str, situation: str, remedy: str, *, days_ago: float = 1, run: int = 1
) -> Trajectory:
    at = NOW - timedelta(days=days_ago)
    evidence = Evidence(
        execution=f"{agent}:{situation}:{run}", lines="x#L1-L2", agent_id=agent, at=at
    )
    return Trajectory(
        agent_id=agent,
        situation=situation,
        outcome=TrajectoryOutcome.FAILURE,
        error_category=f"{situation} -> {remedy}",
        at=at,
        draft=draft(situation, remedy),
        evidence=(evidence,),
    )


def success(agent: str, situation: str, *tools: str, days_ago: float = 1) -> Trajectory:
    return Trajectory(
        agent_id=agent,
        situation=situation,
        outcome=TrajectoryOutcome.SUCCESS,
        tools=tools,
        at=NOW - timedelta(days=days_ago),
        draft=draft(situation, " ".join(tools)),
    )


def skill(condition: str, action: str, *, confidence: float = 0.5, id: str = "m1") -> ExistingSkill:
    return ExistingSkill(id, draft(condition, action, confidence=confidence))

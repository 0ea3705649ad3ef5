"""What many agents met becomes a proposal for a person, and nothing else."""

import json
import logging
import math
from pathlib import Path

import pytest
from pydantic import ValidationError

from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus, RiskLevel
from synthorg_tui.curation import models as events
from synthorg_tui.curation.models import Author, Lesson, LessonKind, ProceduralMemoryScope
from synthorg_tui.curation.supersession import ExistingSkill
from synthorg_tui.learning import evolver as evolver_module
from synthorg_tui.learning.evolver import CONFLICT, PROMOTION, AutonomousSkillEvolver, EvolverReport
from synthorg_tui.learning.patterns import Trajectory, certainty_of_pattern
from synthorg_tui.memory.config import EvolverConfig
from synthorg_tui.memory.errors import MemoryConfigError
from tests.conftest import FixedClock
from tests.learning.evolver_kit import ADA, BOB, CYD, DAN, EVE, FIVE, NOW, failure, skill, success
from tests.tables import rows

PUSH = ("pushing fails: branch lacks upstream", "push naming upstream")
BUILD = ("compiling fails: header missing", "install development package")
TESTS = ("running tests: database refused", "start database container")


def evolve(
    runs: list[Trajectory],
    existing: tuple[ExistingSkill, ...] = (),
    decided: tuple[str, ...] = (),
    **settings: object,
) -> EvolverReport:
    config = EvolverConfig.model_validate({"enabled": True, **settings})
    evolver = AutonomousSkillEvolver(config, FixedClock(NOW))
    return evolver.evolve(runs, existing, decided=decided)


def lesson(item: ApprovalItem) -> Lesson:
    return Lesson.model_validate_json(item.payload)


def met(agents: tuple[str, ...], what: tuple[str, str], times: int = 1) -> list[Trajectory]:
    return [failure(a, *what, days_ago=n + 1, run=n) for a in agents for n in range(times)]


def test_five_agents_give_exactly_the_expected_patterns_verdicts_and_confidences() -> None:
    runs = [
        *met(FIVE, PUSH, times=4),  # replaces what is said with less certainty
        *met(FIVE, BUILD),  # new
        *met((ADA, BOB, CYD), TESTS, times=3),  # contradicts what is said
        *met((ADA, BOB), ("two only", "skip")),
        *met((ADA, BOB, CYD, DAN), ("linting fails", "format first")),
        failure(EVE, "linting fails", "disable rule"),
        *[success(a, "release", "test", "tag", "publish") for a in (ADA, BOB, CYD)],
    ]
    existing = (
        skill(*PUSH, id="push"),
        skill(TESTS[0], "mock every query", id="tests"),
        skill("something else entirely", "leave alone", id="apart"),
    )
    report = evolve(runs, existing)
    found = [
        (item.action_type, lesson(item).proposal.confidence, json.loads(item.metadata[verdict]))
        for item, verdict in zip(
            report.items, ("supersedes", "conflicts", "supersedes", "supersedes"), strict=True
        )
    ]
    assert found == [
        (PROMOTION, 0.9187, ["push"]),
        (CONFLICT, 0.864, ["tests"]),
        (PROMOTION, 0.8759, []),
        (PROMOTION, 0.809, []),
    ]
    assert lesson(report.items[3]).proposal.action == "test tag publish"
    assert (report.trajectories, report.patterns, report.conflicts) == (44, 5, 1)
    assert (report.few_agents, report.uncertain) == (2, 1)


def test_a_proposal_is_the_latest_draft_for_the_whole_organisation() -> None:
    (item,) = evolve(met((ADA, BOB, CYD), PUSH)).items
    found = lesson(item)
    proposal = found.proposal
    assert (proposal.condition, proposal.action) == PUSH
    assert proposal.scope is ProceduralMemoryScope.ORG
    assert proposal.tags == ("evolver-generated", "org-scope", "recovery")
    assert proposal.rationale.endswith("3 agents learnt it, in 3 of the 3 runs that came to it.")
    assert found.kind is LessonKind.EVOLVED
    assert set(found.authors.values()) == {Author.EVIDENCE}
    assert found.recurrence == 3
    assert item.title == proposal.discovery


def test_an_item_waits_for_a_person() -> None:
    (item,) = evolve(met(FIVE, PUSH)).items
    assert item.status is ApprovalStatus.PENDING
    assert item.requested_by == "AutonomousSkillEvolver"
    assert item.risk_level is RiskLevel.MEDIUM
    assert item.id == f"org-{item.metadata['pattern_id']}"
    assert item.metadata["scope"] == "org"
    assert item.metadata["supersedes"] == "[]"


def test_a_conflict_is_a_choice_with_more_risk() -> None:
    (item,) = evolve(met(FIVE, PUSH), (skill(PUSH[0], "merge locally", id="old"),)).items
    assert item.risk_level is RiskLevel.HIGH
    assert item.id.startswith("conflict-")
    assert lesson(item).proposal.supersedes == ("old",)
    assert "contradicts" in item.description


def test_what_every_agent_is_given_already_is_not_proposed() -> None:
    report = evolve(met(FIVE, PUSH), (skill(*PUSH, confidence=0.99),))
    assert (report.items, report.known) == ((), 1)


def test_what_was_decided_is_not_proposed_and_leaves_room_for_others() -> None:
    runs = [*met(FIVE, PUSH, times=2), *met(FIVE, BUILD)]
    (first,) = evolve(runs, max_proposals_per_cycle=1).items
    report = evolve(runs, decided=(first.id,), max_proposals_per_cycle=1)
    assert [lesson(item).proposal.condition for item in report.items] == [BUILD[0]]
    assert (report.decided, report.over_limit) == (1, 0)


@rows(("limit", "items", "over"), [(2, 2, 1), (3, 3, 0)])
def test_a_cycle_proposes_no_more_than_allowed(limit: int, items: int, over: int) -> None:
    runs = [*met(FIVE, PUSH), *met(FIVE, BUILD), *met(FIVE, TESTS)]
    report = evolve(runs, max_proposals_per_cycle=limit)
    assert (len(report.items), report.over_limit) == (items, over)


def test_the_least_confidence_holds() -> None:
    runs = met((ADA, BOB, CYD), PUSH)
    bound = certainty_of_pattern([(1, 1)] * 3)
    assert len(evolve(runs, min_confidence_for_org_promotion=bound).items) == 1
    assert not evolve(runs, min_confidence_for_org_promotion=math.nextafter(bound, 1)).items


@rows(("bound", "items"), [(3, 1), (4, 0)])
def test_the_least_number_of_agents_holds(bound: int, items: int) -> None:
    assert len(evolve(met((ADA, BOB, CYD), PUSH), min_agents_seen_pattern=bound).items) == items


@rows(("days", "counted"), [(30, 3), (30.001, 2), (0, 3), (-0.001, 2)])
def test_only_what_is_in_the_window_counts(days: float, counted: int) -> None:
    runs = [*met((ADA, BOB), PUSH), failure(CYD, *PUSH, days_ago=days)]
    assert evolve(runs, window_days=30).trajectories == counted


def test_disabled_it_looks_at_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    report = evolve(met(FIVE, PUSH), enabled=False)
    assert (report.items, report.trajectories) == ((), 0)
    assert told(caplog) == [events.SKILL_EVOLVER_DISABLED]


def test_a_cycle_tells_what_it_does(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    evolve([*met(FIVE, PUSH, 2), *met(FIVE, BUILD)], (skill(BUILD[0], "vendor headers"),))
    assert told(caplog) == [
        events.SKILL_EVOLVER_CYCLE_START,
        events.SKILL_EVOLVER_PROPOSAL_EMITTED,
        events.SKILL_EVOLVER_CONFLICT_DETECTED,
        events.SKILL_EVOLVER_CYCLE_COMPLETE,
    ]


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.__dict__["event"] for record in caplog.records]


def test_the_same_runs_give_the_same_items() -> None:
    runs = [*met(FIVE, PUSH), *met(FIVE, BUILD)]
    assert evolve(runs) == evolve(runs)


def test_a_very_long_rationale_keeps_its_figures() -> None:
    runs = [
        each.model_copy(update={"draft": each.draft.model_copy(update={"rationale": "x" * 2000})})
        for each in met(FIVE, PUSH)
    ]
    rationale = lesson(evolve(runs).items[0]).proposal.rationale
    assert len(rationale) == 2000
    assert rationale.endswith("in 5 of the 5 runs that came to it.")


def test_approval_can_not_be_switched_off() -> None:
    with pytest.raises(ValidationError, match="requires_human_approval"):
        EvolverConfig.model_validate({"requires_human_approval": False})
    unchecked = EvolverConfig().model_copy(update={"requires_human_approval": False})
    with pytest.raises(MemoryConfigError, match="requires_human_approval"):
        AutonomousSkillEvolver(unchecked, FixedClock())


def test_a_report_does_not_end_before_it_starts() -> None:
    EvolverReport(cycle_id="c", window_start=NOW, window_end=NOW)
    with pytest.raises(ValidationError, match="window_end"):
        EvolverReport(cycle_id="c", window_start=NOW, window_end=NOW.replace(year=NOW.year - 1))


def test_the_evolver_holds_and_imports_nothing_that_writes() -> None:
    evolver = AutonomousSkillEvolver(EvolverConfig(), FixedClock())
    assert {type(value) for value in vars(evolver).values()} == {EvolverConfig, FixedClock}
    source = Path(evolver_module.__file__).read_text(encoding="utf-8")
    imported = {line.split()[1] for line in source.splitlines() if line.startswith("from synth")}
    writers = ("backend", "shared", "org", "persistence", "queue", "engine", "ledger", "adoption")
    assert not any(part in writers for name in imported for part in name.split("."))

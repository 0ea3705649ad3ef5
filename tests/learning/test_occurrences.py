"""Lessons of single runs become trajectories of the same situation."""

from synthorg_tui.executions.models import Execution
from synthorg_tui.learning.capture import create_capture_strategy
from synthorg_tui.learning.patterns import (
    LessonOccurrence,
    Trajectory,
    TrajectoryOutcome,
    trajectories_of,
)
from synthorg_tui.memory.config import CaptureConfig
from tests.learning.evolver_kit import ADA, BOB, CYD, NOW
from tests.learning.lesson_kit import Run

CAPTURES = [
    create_capture_strategy(CaptureConfig(type="failure")),
    create_capture_strategy(CaptureConfig(type="success")),
]
ERROR = "fatal: The current branch {} has no upstream branch."


def pushed(agent: str, branch: str, remedy: str = "git push -u origin {}") -> Execution:
    run = Run(f"{agent}-{branch}", agent=agent, branch=branch)
    return run.bash("git push", ERROR.format(branch), code=128).bash(remedy.format(branch)).done()


def checked(agent: str, *commands: str) -> Execution:
    run = Run(f"{agent}-checks", agent=agent).edit("src/a.py")
    for command in (*commands, "git commit -m x"):
        run.bash(command)
    return run.done()


def went(*runs: Execution) -> tuple[Trajectory, ...]:
    return trajectories_of(
        [
            LessonOccurrence(captured, NOW)
            for run in runs
            for capture in CAPTURES
            for captured in capture.capture(run)
        ]
    )


def test_different_agents_and_branches_are_in_the_same_situation() -> None:
    one, other = went(pushed(ADA, "fix-a"), pushed(BOB, "feature/b"))
    assert one.situation == other.situation
    assert one.pattern == other.pattern
    assert (one.agent_id, other.agent_id) == (ADA, BOB)
    assert one.outcome is TrajectoryOutcome.FAILURE
    assert one.evidence[0].agent_id == ADA


def test_compatible_remedies_are_the_same_way() -> None:
    long = "git push --set-upstream origin {}"
    one, other = went(pushed(ADA, "a"), pushed(BOB, "b", long))
    assert one.pattern == other.pattern


def test_another_remedy_is_another_way_in_the_same_situation() -> None:
    usual, same, other = went(
        pushed(ADA, "a"),
        pushed(BOB, "b"),
        pushed(CYD, "c", "git push backup HEAD:review --verbose"),
    )
    assert usual.pattern == same.pattern != other.pattern
    assert usual.situation == other.situation


def test_the_usual_way_keeps_its_name_whatever_others_do() -> None:
    (alone,) = went(pushed(ADA, "a"))
    first, *_ = went(pushed(ADA, "a"), pushed(BOB, "b"), pushed(CYD, "c", "git push backup HEAD:x"))
    assert first.pattern == alone.pattern


def test_the_same_checks_in_a_project_are_a_way_that_worked() -> None:
    one, same, other = went(
        checked(ADA, "pytest", "mypy src"),
        checked(BOB, "pytest", "mypy src"),
        checked(CYD, "ruff check", "mypy src"),
    )
    assert one.outcome is TrajectoryOutcome.SUCCESS
    assert one.pattern == same.pattern != other.pattern
    assert one.situation == other.situation
    assert one.tools[0] == "Run `pytest`."


def test_nothing_learnt_is_no_trajectory() -> None:
    assert went(Run().bash("ls").done()) == ()

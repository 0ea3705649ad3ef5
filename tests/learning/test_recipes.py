"""Successes: a lesson only where a run was checked, delivered and better than most."""

from synthorg_tui.core.enums import ExecutionOutcome
from synthorg_tui.curation.models import LessonKind
from synthorg_tui.learning.capture import create_capture_strategy
from synthorg_tui.learning.recipes import find_recipe
from synthorg_tui.memory.config import CaptureConfig
from tests.learning.lesson_kit import Run
from tests.tables import rows

NO_UPSTREAM = "fatal: The current branch retry-fetch has no upstream branch."


def good(session: str = "s1") -> Run:
    run = Run(session).edit("src/a.py").bash("ruff check src", "ok").bash("pytest tests/a.py", "ok")
    return run.bash("git commit -am 'x y'", "[main abc1234] x y")


def test_a_checked_and_delivered_run_has_the_best_quality() -> None:
    recipe = find_recipe(good().done())
    assert recipe is not None
    assert recipe.quality == 10.0
    assert [step.intent for step in recipe.checks] == ["ruff check", "pytest"]


def test_a_failed_call_and_no_delivery_lower_it() -> None:
    failed = find_recipe(good().bash("make nothing", "no rule", code=2).done())
    checked = find_recipe(Run().bash("ruff check src", "ok").bash("pytest", "ok").done())
    assert failed is not None
    assert checked is not None
    assert (failed.quality, checked.quality) == (9.0, 8.0)


@rows(
    "execution",
    [
        good().done(ExecutionOutcome.FAILED),
        good().edit("src/b.py").done(),
        Run().bash("pytest", "ok").bash("git push", "ok").done(),
        Run().bash("git push", NO_UPSTREAM, code=128).bash("git push -u o b", "ok").done(),
        Run().done(),
    ],
)
def test_anything_less_is_no_recipe(execution: object) -> None:
    assert find_recipe(execution) is None  # type: ignore[arg-type]


def test_the_lesson_names_the_checks_in_their_order_without_this_times_files() -> None:
    (captured,) = create_capture_strategy(CaptureConfig(type="success")).capture(good().done())
    lesson = captured
    assert lesson.kind is LessonKind.SUCCESS
    assert lesson.proposal.execution_steps[:2] == ("Run `ruff check src`.", "Run `pytest`.")
    assert lesson.proposal.confidence < 0.5
    assert "success-derived" in lesson.proposal.tags


@rows(("score", "lessons"), [(8.0, 1), (8.1, 0)])
def test_quality_has_to_reach_the_score(score: float, lessons: int) -> None:
    strategy = create_capture_strategy(CaptureConfig(type="success", min_quality_score=score))
    run = Run().bash("ruff check src", "ok").bash("pytest", "ok")
    assert len(strategy.capture(run.done())) == lessons


@rows(
    ("name", "of_failure", "of_success"),
    [("failure", 1, 0), ("success", 0, 1), ("hybrid", 1, 2)],
)
def test_the_configured_strategy_looks_at_what_it_is_for(
    name: str, of_failure: int, of_success: int
) -> None:
    strategy = create_capture_strategy(CaptureConfig.model_validate({"type": name}))
    failure = Run().bash("git push", NO_UPSTREAM, code=128).bash("git push -u origin b", "ok")
    assert strategy.name == name
    assert len(strategy.capture(failure.done())) == of_failure
    assert len(strategy.capture(good().done())) == of_success

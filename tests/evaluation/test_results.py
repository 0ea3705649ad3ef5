"""What results say: words, figures, and when one arm is called better."""

import pytest

from synthorg_tui.evaluation.models import (
    WITH_SKILL,
    WITHOUT_SKILL,
    GradedAssertion,
    LintResult,
    PromptOutcome,
    RecurrenceResult,
    ReplayResult,
    ReplayVerdict,
    RunGrade,
    TriggerResult,
    help_words,
)
from tests.tables import rows


def outcomes(wanted: int, found: int, misses: int, loud: int) -> TriggerResult:
    made = [
        PromptOutcome(lines="a:b#L1-L1", wanted=True, described=at < found, digested=False)
        for at in range(wanted)
    ]
    made += [
        PromptOutcome(lines="a:b#L1-L1", wanted=False, described=False, digested=at < loud)
        for at in range(misses)
    ]
    return TriggerResult(outcomes=tuple(made))


def replay(with_it: list[list[bool]], without: list[list[bool]], case: str = "c") -> ReplayResult:
    """Runs of one case; of each the results of its assertions."""
    grades = [
        RunGrade(
            case=case,
            arm=arm,
            number=number,
            results=tuple(
                GradedAssertion(text=f"a{at}", passed=passed) for at, passed in enumerate(run)
            ),
        )
        for arm, runs in ((WITH_SKILL, with_it), (WITHOUT_SKILL, without))
        for number, run in enumerate(runs, 1)
    ]
    return ReplayResult(executor="scripted", grades=tuple(grades))


def test_precision_and_recall_are_shares_of_prompts() -> None:
    result = outcomes(10, 9, 10, 1)
    assert (result.recall, result.precision) == (0.9, 0.9)
    assert result.words == "found for 9 of 10 prompts, quiet for 9 of 10"


@rows(("wanted", "misses"), [(4, 10), (10, 4)])
def test_too_few_prompts_give_no_figure_and_say_so(wanted: int, misses: int) -> None:
    result = outcomes(wanted, wanted, misses, 0)
    assert result.precision is None
    assert result.words.endswith("(too few for a figure)")
    assert outcomes(5, 5, 5, 0).precision == 1.0


def test_without_prompts_there_is_nothing_to_try() -> None:
    assert TriggerResult().words == "no recorded prompts to try"


def test_runs_that_differ_clearly_say_which_arm_is_better() -> None:
    good, bad = [[True, True]] * 3, [[False, True]] * 3
    helps, harms = replay(good, bad), replay(bad, good)
    assert (helps.delta, helps.spread, helps.verdict) == (0.5, 0.0, ReplayVerdict.HELPS)
    assert (harms.delta, harms.verdict) == (-0.5, ReplayVerdict.HARMS)
    assert helps.words == "replay +0.50 ±0.00 (3 runs)"


def test_runs_that_differ_among_themselves_show_no_difference() -> None:
    result = replay([[True], [False], [True]], [[False], [True], [False]])
    assert result.delta == pytest.approx(1 / 3)
    assert result.spread == pytest.approx((2 * (1 / 3) / 3) ** 0.5)
    assert result.verdict is ReplayVerdict.NO_DIFFERENCE


def test_a_single_run_each_is_too_little_to_tell() -> None:
    result = replay([[True]], [[False]])
    assert result.verdict is ReplayVerdict.TOO_LITTLE
    assert result.words == "replay +1.00 ±0.00 (1 run)"


def test_cases_count_alike_however_many_runs_each_has() -> None:
    first = replay([[True]] * 3, [[False]] * 3, "one")
    second = replay([[True]] * 2, [[True]] * 2, "two")
    both = ReplayResult(executor="x", grades=(*first.grades, *second.grades))
    assert (both.delta, both.runs) == (0.5, 2)


def test_an_assertion_that_always_passes_in_both_arms_tells_nothing() -> None:
    result = replay([[True, True], [True, True]], [[True, False], [True, True]])
    assert result.idle == {("c", "a0")}


def test_an_assertion_of_one_arm_alone_is_not_called_idle() -> None:
    assert replay([[True]], []).idle == frozenset()
    assert replay([[True]], []).words == "replay told nothing"


def test_the_line_begins_with_the_cheapest_level() -> None:
    recurrence = RecurrenceResult(is_recognised=True, had=3, had_failed=0, lacked=1)
    assert recurrence.words == "since approval 0 of 4 sessions failed"
    assert RecurrenceResult(told="its failure can't be recognised in sessions").words == (
        "its failure can't be recognised in sessions"
    )
    assert LintResult(errors=1, warnings=2).words == "lint 1 error, 2 warnings"
    assert help_words([]) == ""

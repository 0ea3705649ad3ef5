"""Sentences that a script decides by the record of a run."""

from synthorg_tui.evaluation.assertions import (
    UNDECIDED,
    exits,
    grade,
    is_decidable,
    not_first,
    runs_before,
    unseen,
)
from synthorg_tui.executions.models import Execution
from tests.learning.lesson_kit import Run
from tests.tables import rows

NO_UPSTREAM = "fatal: The current branch retry-fetch has no upstream branch."
ERROR = "the current branch <> has no upstream branch"


def verdict(text: str, run: Execution) -> bool | None:
    (result,) = grade([text], run)
    assert result.text == text
    return result.passed


FAILED_FIRST = (
    Run().bash("git push", NO_UPSTREAM, code=128).bash("git push -u origin retry-fetch").done()
)
RIGHT_AT_ONCE = Run().bash("cd src && git push --set-upstream origin retry-fetch").done()
NEVER = Run().bash("git status").done()


@rows(("run", "passed"), [(FAILED_FIRST, True), (RIGHT_AT_ONCE, True), (NEVER, False)])
def test_a_command_exits_0_when_one_of_its_form_went_well(run: Execution, passed: bool) -> None:
    assert verdict(exits("git push --set-upstream origin main"), run) is passed


def test_a_command_without_its_option_is_another_form() -> None:
    run = Run().bash("git push").done()
    assert verdict(exits("git push --set-upstream origin main"), run) is False
    assert verdict(exits("git push"), run) is True


@rows(("run", "passed"), [(FAILED_FIRST, False), (RIGHT_AT_ONCE, True), (NEVER, True)])
def test_a_failing_form_may_not_be_what_is_tried_first(run: Execution, passed: bool) -> None:
    assert verdict(not_first("git push"), run) is passed


def test_a_preparation_counts_only_when_it_went_well_before() -> None:
    text = runs_before("mix format", "git commit")
    good = Run().bash("mix format").bash("git commit -m x").done()
    late = Run().bash("git commit -m x").bash("mix format").done()
    failed = Run().bash("mix format", "no", code=1).bash("git commit -m x").done()
    assert [verdict(text, run) for run in (good, late, failed, NEVER)] == [
        True,
        False,
        False,
        False,
    ]


def test_an_error_is_found_whatever_name_it_has() -> None:
    assert verdict(unseen(ERROR), FAILED_FIRST) is False
    assert verdict(unseen(ERROR), RIGHT_AT_ONCE) is True


def test_an_error_in_the_output_of_what_went_well_is_none() -> None:
    assert verdict(unseen(ERROR), Run().bash("cat log", NO_UPSTREAM).done()) is True


@rows(
    "text",
    ["The answer is polite.", "`git push` is run", "rm -rf ~", "The command `` exits 0."],
)
def test_any_other_sentence_is_left_undecided(text: str) -> None:
    assert not is_decidable(text)
    (result,) = grade([text], RIGHT_AT_ONCE)
    assert (result.passed, result.evidence) == (None, UNDECIDED)


def test_what_names_no_command_is_undecided_too() -> None:
    assert verdict("The command `cd src` exits 0.", RIGHT_AT_ONCE) is None


def test_a_quoted_text_stays_on_its_line_and_within_its_quotes() -> None:
    text = exits("git commit -m 'a `b`\nc'\x1b[31m" + "x" * 999)
    assert is_decidable(text)
    assert "\x1b" not in text
    assert len(text) < 400

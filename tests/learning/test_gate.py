"""The gate: what a wording has to keep, and what it must not say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.learning.wording import Gate

GROUNDED = (
    "`git push` fails with “The current branch <branch> has no upstream branch”: "
    "run `git push -u origin <branch>` instead."
)
SOURCE = f"{GROUNDED}\nPushing a branch: `git push` fails.\ngit push\ngit push -u origin topic-7"
GATE = Gate(GROUNDED, SOURCE)
BETTER = (
    "When `git push` fails because the current branch has no upstream branch, "
    "run `git push -u origin <branch>`."
)


def test_a_shorter_wording_with_all_the_facts_is_better() -> None:
    assert GATE.better(BETTER)


def test_the_grounded_text_is_not_better_than_itself() -> None:
    assert GATE.measure(GROUNDED) > 0
    assert not GATE.better(GROUNDED)


@pytest.mark.parametrize(
    "wording",
    [
        "",
        "   ",
        "Sure: here it is.",
        "Discovery: `git push` fails when the branch has no upstream.",
        "The current branch has no upstream branch, so push it.",
        "`git push` fails when the current branch has no upstream branch",
        BETTER.replace("-u origin", "--force origin"),
        BETTER.replace("run", "never run"),
        BETTER.replace("run", "don't run"),
        BETTER.replace("run", "run (see issue 4711)"),
        BETTER.replace("When", "In /etc/passwd, when"),
        BETTER.replace("upstream branch,", "upstream\u202e branch,"),
        f"{BETTER}\n{BETTER}",
        BETTER.replace("`.", "."),
        "the branch the branch the branch the branch the branch the branch the branch.",
        "Bananas are yellow and taste sweet when they ripen in the warm sun of June.",
        BETTER * 3,
    ],
)
def test_a_wording_that_loses_or_adds_something_is_not_better(wording: str) -> None:
    assert not GATE.better(wording)


@given(st.text(max_size=300))
def test_any_text_has_a_measure_from_0_to_1(text: str) -> None:
    assert 0.0 <= GATE.measure(text) <= 1.0

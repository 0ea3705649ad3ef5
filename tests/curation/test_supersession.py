"""What a lesson is to one that counts already: conflict first, then supersession, else both."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.curation.models import ProceduralMemoryProposal
from synthorg_tui.curation.supersession import (
    ExistingSkill,
    Supersession,
    SupersessionVerdict,
    compare,
    compare_all,
)
from synthorg_tui.learning.capture import FailureCaptureStrategy
from tests.learning.lesson_kit import Run
from tests.tables import rows

FULL, PARTIAL, CONFLICT = SupersessionVerdict
TEN = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet"]


def proposal(condition: str, action: str, confidence: float = 0.8) -> ProceduralMemoryProposal:
    return ProceduralMemoryProposal(
        discovery="d", condition=condition, action=action, rationale="r", confidence=confidence
    )


def existing(condition: str, action: str, confidence: float = 0.8, id: str = "m") -> ExistingSkill:
    return ExistingSkill(id, proposal(condition, action, confidence))


def judged(
    candidate: tuple[str, str], other: tuple[str, str], *, more_certain: bool = True
) -> Supersession:
    confidence = 0.9 if more_certain else 0.8
    return compare(proposal(*candidate, confidence), existing(*other))


def test_the_same_lesson_with_more_certainty_takes_the_place() -> None:
    same = ("pushing fails: branch lacks upstream", "push setting upstream")
    assert judged(same, same).verdict is FULL


def test_equal_certainty_leaves_both() -> None:
    same = ("pushing fails: branch lacks upstream", "push setting upstream")
    assert judged(same, same, more_certain=False).verdict is PARTIAL


@rows(("shared", "verdict"), [(8, FULL), (7, PARTIAL)])
def test_four_fifths_of_the_existing_condition_must_be_covered(
    shared: int, verdict: SupersessionVerdict
) -> None:
    result = judged((" ".join(TEN[:shared]), "kilo"), (" ".join(TEN), "kilo"))
    assert result.condition_coverage == shared / 10
    assert result.verdict is verdict


def test_a_condition_that_says_more_still_covers_the_other() -> None:
    assert judged((" ".join(TEN), "kilo"), (" ".join(TEN[:4]), "kilo")).verdict is FULL


@rows(
    ("action", "similarity", "verdict"),
    [("kilo lima", 0.5, FULL), ("kilo lima mike", 1 / 3, CONFLICT)],
)
def test_actions_are_compatible_from_half_of_their_words(
    action: str, similarity: float, verdict: SupersessionVerdict
) -> None:
    result = judged(("alpha bravo", action), ("alpha bravo", "kilo"))
    assert result.action_similarity == pytest.approx(similarity)
    assert result.verdict is verdict


@rows(("words", "verdict"), [(4, CONFLICT), (5, PARTIAL)])
def test_another_action_is_a_conflict_when_half_of_the_conditions_is_the_same(
    words: int, verdict: SupersessionVerdict
) -> None:
    """Two of four words in common, then two of five."""
    result = judged((" ".join(TEN[:words]), "kilo"), ("alpha bravo", "lima"))
    assert result.condition_similarity == 2 / words
    assert result.verdict is verdict


def test_a_conflict_comes_before_supersession() -> None:
    assert judged(("alpha bravo", "retry"), ("alpha bravo", "abort")).verdict is CONFLICT


@rows("negated", ["do not retry", "don't retry", "don’t retry", "never retry"])
def test_doing_and_not_doing_are_a_conflict(negated: str) -> None:
    assert judged(("alpha bravo", "retry"), ("alpha bravo", negated)).verdict is CONFLICT


def test_options_of_commands_are_words() -> None:
    result = judged(("alpha", "docker images --all"), ("alpha", "docker images --no-trunc -q"))
    assert result.action_similarity == pytest.approx(2 / 5)


def test_a_negation_is_about_the_next_word_only() -> None:
    result = judged(("alpha", "not force, push upstream"), ("alpha", "push upstream"))
    assert result.action_similarity == pytest.approx(2 / 3)


@rows("empty", ["...", "a", "the", "Running it fails again."])
def test_a_condition_that_says_nothing_leaves_both(empty: str) -> None:
    assert judged((empty, "kilo"), ("alpha", "lima")).verdict is PARTIAL
    assert judged(("alpha", "kilo"), (empty, "lima")).verdict is PARTIAL


def learnt(failed: str, error: str, worked: str) -> ProceduralMemoryProposal:
    """What capture makes of a call that failed and the one that worked."""
    run = Run().bash(failed, error, code=2).bash(worked).done()
    (found,) = FailureCaptureStrategy().capture(run)
    return found.proposal


def test_generated_lessons_about_different_things_have_nothing_in_common() -> None:
    first = learnt("terraform plan -colour", "unknown flag -colour", "terraform plan -no-color")
    second = learnt("docker images --al", "unsupported argument --al", "docker images --all")
    result = compare(first, ExistingSkill("m", second))
    assert result.condition_similarity == 0
    assert result.action_similarity == 0
    assert result.verdict is PARTIAL


def test_the_same_generated_lesson_with_more_certainty_takes_the_place() -> None:
    lesson = learnt("terraform plan -colour", "unknown flag -colour", "terraform plan -no-color")
    surer = lesson.model_copy(update={"confidence": 0.95})
    assert compare(surer, ExistingSkill("m", lesson)).verdict is FULL


def test_all_are_compared_and_conflicts_come_first() -> None:
    skills = [
        existing("india juliet", "kilo", id="apart"),
        existing("alpha", "kilo", id="superseded"),
        existing("alpha bravo", "lima", id="conflict"),
        existing("alpha bravo", "kilo", id="superseded, more alike"),
    ]
    found = compare_all(proposal("alpha bravo", "kilo", 0.9), skills)
    assert [(each.existing.id, each.verdict) for each in found] == [
        ("conflict", CONFLICT),
        ("superseded, more alike", FULL),
        ("superseded", FULL),
        ("apart", PARTIAL),
    ]


TEXT = st.text(min_size=1, max_size=60).filter(lambda text: bool(text.strip()))


@given(TEXT, TEXT, TEXT, TEXT)
def test_any_text_is_judged_and_measures_are_fractions(a: str, b: str, c: str, d: str) -> None:
    result = judged((a, b), (c, d))
    measures = (result.condition_similarity, result.condition_coverage, result.action_similarity)
    assert all(0 <= each <= 1 for each in measures)


@given(TEXT, TEXT)
def test_nothing_conflicts_with_itself(condition: str, action: str) -> None:
    same = (condition, action)
    assert judged(same, same).verdict is not CONFLICT

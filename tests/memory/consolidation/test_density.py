"""Dense text is told from sparse by what it is made of, always the same way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.consolidation.density import DensityClassifier, density_score
from synthorg_tui.memory.consolidation.models import ContentDensity
from tests.memory.consolidation.consolidation_kit import DENSE, SPARSE, entry
from tests.tables import rows


def test_code_and_data_are_dense_and_talk_is_sparse() -> None:
    classifier = DensityClassifier()
    assert classifier.classify(DENSE) is ContentDensity.DENSE
    assert classifier.classify(SPARSE) is ContentDensity.SPARSE
    assert density_score(DENSE) > 2 * density_score(SPARSE)


def test_a_batch_keeps_its_order() -> None:
    first, second = entry("a", SPARSE), entry("b", DENSE)
    found = DensityClassifier().classify_batch((first, second))
    assert found == ((first, ContentDensity.SPARSE), (second, ContentDensity.DENSE))


@rows(("text", "score"), [("", 0.0), (" \n ", 0.0), ("just words here", 0.0)])
def test_what_has_no_sign_of_density_scores_nothing(text: str, score: float) -> None:
    assert density_score(text) == score


@rows(
    ("text", "score"),
    [
        ("def go(", 0.30),  # one sign in two words, times five, is more than all
        ("a b c d e f g h i {", 0.30 * 5 * 1 / 10),
        ("- one thing", 0.25),
        ("two words at https://example.org/x now and then so on", 0.20 * 8 * 1 / 9),
        ("a b c d e f g h i j k l m n o p q r s 54321", 0.10 * 10 * 1 / 20),
        ("abcd\nabcd\nabcd\nabcd\nabcd", 0.15 * (1 - 4 / 80) * 0.5),
    ],
)
def test_each_signal_has_its_weight_and_scale(text: str, score: float) -> None:
    assert density_score(text) == pytest.approx(score)


@rows(
    "name",
    [
        "9f3c2d1e-0a4b-4c5d-8e6f-001122334455",
        "9F3C2D1E0A4B4C5D8E6F001122334455",
        "http://localhost:8080/x",
        "one_two_three",
        "oneTwoThree",
    ],
)
def test_identifiers_count(name: str) -> None:
    assert density_score(f"it is {name} that was meant by all of them") > 0


@rows("word", ["configuration", "one_two", "oneTwo", "Internationalisation"])
def test_words_are_no_identifiers(word: str) -> None:
    assert density_score(f"it is {word} that was meant by all of them") == 0


@rows("text", ["1.4.12", "10.0.0.1", "2026-02-12", "54321"])
def test_numbers_that_identify_count_and_small_ones_do_not(text: str) -> None:
    assert density_score(f"it was {text} I think") > 0
    assert density_score("it was 4321 I think") == 0


def test_the_threshold_itself_is_dense() -> None:
    score = density_score(DENSE)
    assert DensityClassifier(score).classify(DENSE) is ContentDensity.DENSE
    assert DensityClassifier(min(1.0, score + 0.001)).classify(DENSE) is ContentDensity.SPARSE
    assert DensityClassifier(0.0).classify(SPARSE) is ContentDensity.DENSE


@rows("threshold", [-0.01, 1.01])
def test_a_threshold_that_no_score_can_have_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="dense_threshold"):
        DensityClassifier(threshold)


@given(st.text(max_size=400))
def test_a_score_is_a_share_and_the_same_each_time(text: str) -> None:
    score = density_score(text)
    assert 0.0 <= score <= 1.0
    assert density_score(text) == score


@rows("unit", ["if a ", "<a ", "a_", "aB", "x = [", '"', "- \n", "a:\t"])
def test_a_long_text_made_to_be_slow_is_not(unit: str) -> None:
    assert 0.0 <= density_score(unit * 40_000) <= 1.0

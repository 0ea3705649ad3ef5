"""The sentence of a memory that is shown for a search."""

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.retrieval.passages import CUT, MAX_PASSAGE, MAX_READ, PassageFinder
from tests.tables import rows

TEXT = (
    "Worked in shop. It ended normally.\n"
    "Ran git status; it was clean.\n"
    "Pushing failed, as the branch had no upstream. Then it was late."
)


def marked(query: str, text: str) -> list[str]:
    return [piece for piece, asked in PassageFinder(query).best(text).parts if asked]


@rows(
    ("query", "sentence"),
    [
        ("push a branch", "Pushing failed, as the branch had no upstream."),
        ("BRANCHES", "Pushing failed, as the branch had no upstream."),
        ("git", "Ran git status;"),
        ("push git push git status", "Ran git status;"),
        ("zebra", "Worked in shop."),
        ("the it was", "Worked in shop."),
        ("", "Worked in shop."),
    ],
)
def test_the_sentence_with_most_of_the_words_is_taken_else_the_first(
    query: str, sentence: str
) -> None:
    assert PassageFinder(query).best(TEXT).text == sentence


def test_words_are_marked_in_whatever_form_they_stand() -> None:
    assert marked("push branches", TEXT) == ["Pushing", "branch"]
    assert marked("zebra", TEXT) == []


def test_a_word_counts_once_however_often_it_stands_in_a_sentence() -> None:
    text = "git git git git.\nA git push."
    assert PassageFinder("git push").best(text).text == "A git push."


def test_of_a_long_sentence_the_part_around_the_first_match_is_shown() -> None:
    text = "word " * 2000 + "needle " + "more " * 2000
    found = PassageFinder("needle").best(text)
    assert found.text.startswith("… word")
    assert "needle" in found.text
    assert len(found.text) <= MAX_PASSAGE + 4
    assert marked("needle", text) == ["needle"]


def test_of_a_very_long_text_only_the_beginning_is_read() -> None:
    inside = "x. " * (MAX_READ // 3 - 4) + "needle"
    assert marked("needle", inside) == ["needle"]
    assert marked("needle", "x. " * (MAX_READ // 3) + "needle") == []
    assert PassageFinder("needle").best("\x00" * 2_000_000).text == "\x00" * MAX_PASSAGE + " …"


def test_an_empty_text_has_an_empty_passage() -> None:
    assert PassageFinder("git").best(" \n\n ").text == ""


@given(st.text(max_size=300), st.text(max_size=40))
def test_the_pieces_are_the_passage(text: str, query: str) -> None:
    finder = PassageFinder(query)
    for found in (finder.best(text), finder.marked(text)):
        assert "".join(piece for piece, _ in found.parts) == found.text
        assert "\n" not in found.text


class TestExcerpt:
    """What an agent is given of a long memory."""

    LONG = TEXT + " The lamp was lit." * 30

    def test_a_text_that_fits_is_told_whole(self) -> None:
        found = PassageFinder("push").excerpt(TEXT, len(TEXT))
        assert (found.text, found.is_cut) == (TEXT, False)
        assert PassageFinder("push").excerpt(TEXT, len(TEXT) - 1).is_cut

    def test_of_a_long_one_the_first_sentence_and_those_that_answer_are_told(self) -> None:
        found = PassageFinder("push a branch").excerpt(self.LONG, 80)
        assert found.text == "Worked in shop. … Pushing failed, as the branch had no upstream. …"

    def test_what_room_is_left_is_filled_with_what_stands_around_the_answer(self) -> None:
        found = PassageFinder("push a branch").excerpt(self.LONG, 160)
        assert found.text == f"{TEXT} …"

    def test_what_says_something_new_comes_before_what_says_it_again(self) -> None:
        text = (
            "A title.\nThe push failed.\nThe push failed again.\nThe branch is old.\n" + "x" * 200
        )
        found = PassageFinder("push failed branch").excerpt(text, 60).text
        assert found == "A title. … The push failed again.\nThe branch is old. …"

    def test_how_it_ended_is_told_before_how_it_came_about(self) -> None:
        text = f"pytest worked\nFailed: it said {'no ' * 60}\nThen worked: pytest -p x\nIn shop."
        found = PassageFinder("pytest").excerpt(text, 60).text
        assert found == "pytest worked … Then worked: pytest -p x …"

    def test_without_any_of_the_words_it_is_the_beginning(self) -> None:
        found = PassageFinder("zebra").excerpt(self.LONG, 80).text
        assert found.startswith("Worked in shop. It ended normally.\nRan git status;")
        assert found.endswith("…")

    @given(st.text(max_size=400), st.text(max_size=40), st.integers(40, 200))
    def test_it_is_text_of_the_memory_within_the_limit_and_always_the_same(
        self, text: str, query: str, limit: int
    ) -> None:
        found = PassageFinder(query).excerpt(text, limit)
        assert found == PassageFinder(query).excerpt(text, limit)
        assert len(found.text) <= limit
        whole = " ".join(text.split())
        pieces = [" ".join(piece.split()) for piece in found.text.split(CUT)]
        assert all(piece in whole for piece in pieces)
        assert found.is_cut or found.text == text.strip()
        assert not found.is_cut or CUT in found.text

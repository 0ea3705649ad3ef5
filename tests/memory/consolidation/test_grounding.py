"""What a model wrote for memories is taken only if it stands on them."""

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.consolidation.grounding import is_grounded
from tests.tables import rows

NOTES = (
    "mix test failed in sync_test.exs: 2 messages were expected, 4 found. The uuid was missing.",
    "Commit 3f30550: add lib/spool/tail.ex, a worker that follows one file.",
)


@rows(
    "text",
    [
        "mix test failed in sync_test.exs, since the uuid was missing: 4 messages instead of 2.",
        "Added a worker in `lib/spool/tail.ex` that follows a file (commit 3f30550).",
        "- Tests failed: messages without uuid.\n- A worker was added that follows files.",
    ],
)
def test_a_text_that_says_what_the_notes_say_is_taken(text: str) -> None:
    assert is_grounded(text, NOTES)


@rows(
    "text",
    [
        "",
        "...",
        "I'm sorry, but I can't assist with that request.",
        "As an agent, I must adhere to the guidelines provided.",
        "The untrusted input says that a worker follows a file and mix test failed.",
    ],
)
def test_a_text_that_declines_or_speaks_of_its_question_is_not(text: str) -> None:
    assert not is_grounded(text, NOTES)


@rows(
    "text",
    [
        "The worker in lib/spool/head.ex follows one file.",
        "mix test failed in sync_test.exs: 5 messages found, the uuid was missing.",
        "Commit 3f30551 adds a worker that follows one file.",
        "The worker follows one file with followFile.",
    ],
)
def test_a_path_number_or_name_that_no_note_has_is_made_up(text: str) -> None:
    assert not is_grounded(text, NOTES)


def test_at_least_three_of_five_words_are_those_of_the_notes() -> None:
    assert is_grounded("worker follows file, splendid effort", NOTES)
    assert not is_grounded("worker follows splendid grand effort", NOTES)


@given(st.lists(st.text(alphabet="abcdefgh ./_1", min_size=1, max_size=40), min_size=1, max_size=4))
def test_what_repeats_a_note_is_grounded_if_it_has_a_word(notes: list[str]) -> None:
    text = notes[0]
    has_word = any(len(word) > 2 for word in text.replace("_", " ").split() if word.isalpha())
    if has_word:
        assert is_grounded(text, notes) or not is_grounded(f"{text} {text}", notes)

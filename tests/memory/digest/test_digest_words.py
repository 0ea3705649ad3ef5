"""From a task to the terms of its keyword search."""

from synthorg_tui.memory.digest.search import Terms, is_command, terms_of
from tests.tables import rows


@rows("text", ["", "  \n", "?!"])
def test_no_words_look_for_nothing(text: str) -> None:
    assert terms_of(text) == Terms()


def test_a_star_is_everything() -> None:
    assert terms_of(" * ") == Terms(everything=True)
    assert not terms_of("* x").everything


def test_terms_are_different_lower_case_words() -> None:
    assert terms_of(" Deploy the APP, deploy pre-release my_app?").words == (
        "deploy",
        "the",
        "app",
        "pre-release",
        "my_app",
    )


@rows(("count", "taken"), [(12, 12), (13, 0)])
def test_twelve_different_words_are_taken(count: int, taken: int) -> None:
    terms = terms_of(" ".join(f"w{n}" for n in range(count)) + " w1 w1")
    assert len(terms.words) == taken
    assert bool(terms.refusal) is (taken == 0)


@rows(("length", "taken"), [(64, 1), (65, 0)])
def test_words_have_64_characters_at_most(length: int, taken: int) -> None:
    terms = terms_of("w" * length)
    assert len(terms.words) == taken
    assert bool(terms.refusal) is (taken == 0)


@rows(("length", "taken"), [(1024, 1), (1025, 0)])
def test_texts_have_1024_characters_at_most(length: int, taken: int) -> None:
    text = "w" + " " * (length - 2) + "w"
    assert len(terms_of(f" {text}\n").words) == taken


@rows("text", ["/help", " /re-run all", "/Stop\nnow"])
def test_a_slash_command_is_one(text: str) -> None:
    assert is_command(text)


@rows("text", ["/etc/hosts is broken", "run /help", "/", "/ x", "", "//x", "/1"])
def test_other_text_is_no_command(text: str) -> None:
    assert not is_command(text)

"""Nothing that steers, hides or reorders gets through; text is cut, counted and compared."""

import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.text import (
    MAX_AGENT_ID,
    agent_id_problem,
    counted,
    has_hidden,
    jaccard,
    safe_text,
    truncate,
)
from tests.tables import rows

VISIBLE_FORMAT = set(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
ANY_TEXT = st.text(st.characters(codec=None), max_size=80)


def acts_on_a_terminal(character: str) -> bool:
    kind = unicodedata.category(character)
    return kind in ("Cc", "Cs", "Zl", "Zp") or (kind == "Cf" and character not in VISIBLE_FORMAT)


def test_no_acting_character_of_all_unicode_survives() -> None:
    acting = "".join(c for c in map(chr, range(sys.maxunicode + 1)) if acts_on_a_terminal(c))
    assert not [c for c in safe_text(acting) if acts_on_a_terminal(c)]


@given(ANY_TEXT)
def test_result_holds_no_acting_character(text: str) -> None:
    assert not any(map(acts_on_a_terminal, safe_text(text)))


@given(ANY_TEXT)
def test_multiline_keeps_only_newlines_and_tabs(text: str) -> None:
    acting = {c for c in safe_text(text, multiline=True) if acts_on_a_terminal(c)}
    assert acting <= {"\n", "\t"}


@given(ANY_TEXT, st.booleans())
def test_making_safe_twice_changes_nothing(text: str, multiline: bool) -> None:
    once = safe_text(text, multiline=multiline)
    assert safe_text(once, multiline=multiline) == once


def test_clean_text_comes_back_as_the_same_object() -> None:
    text = "naïve café, 日本語, Ελλάδα 🎉"
    assert safe_text(text) is text


@rows(
    ("hostile", "shown"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("a\x00b", "a␀b"),
        ("del\x7f", "del␡"),
        ("\x9b31m", "‹U+009B›31m"),
        ("abc\u202ecba", "abc‹U+202E›cba"),
        ("zero\u200bwidth", "zero‹U+200B›width"),
        ("line\u2028break", "line‹U+2028›break"),
        ("\ud800", "‹U+D800›"),
        ("tag\U000e0041", "tag‹U+E0041›"),
        ("a\ufe0f", "a‹U+FE0F›"),
        ("⚠\ufe0f", "⚠"),
        ("one\ntwo", "one␊two"),
        ("one\ttwo", "one␉two"),
    ],
)
def test_acting_characters_become_glyphs(hostile: str, shown: str) -> None:
    assert safe_text(hostile) == shown


def test_multiline_reads_windows_line_ends_and_shows_a_lone_return() -> None:
    assert safe_text("a\r\nb\rc", multiline=True) == "a\nb␍c"


def test_three_combining_marks_stay_and_a_fourth_is_shown() -> None:
    assert safe_text("e" + "\u0301" * 3) == "e" + "\u0301" * 3
    assert safe_text("e" + "\u0301" * 4) == "e" + "\u0301" * 3 + "‹U+0301›"


def test_hidden_characters_are_told_apart_from_plain_line_ends() -> None:
    assert not has_hidden("two\nlines\twith tab")
    assert has_hidden("bell\x07")


@rows(
    ("text", "limit", "cut"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "ab..."),
        ("abcdef", 4, "a..."),
        ("abcdef", 3, "abc"),
        ("abcdef", 1, "a"),
        ("abcdef", 0, ""),
        ("abcdef", -1, ""),
        ("", 0, ""),
    ],
)
def test_what_is_cut_ends_in_dots_where_they_fit(text: str, limit: int, cut: str) -> None:
    assert truncate(text, limit) == cut


@given(st.text(max_size=20), st.integers(-2, 25), st.sampled_from(["...", "…"]))
def test_no_more_is_left_than_there_is_room_for(text: str, limit: int, ellipsis: str) -> None:
    cut = truncate(text, limit, ellipsis)
    assert len(cut) <= max(0, limit)
    assert cut == text or len(text) > limit


@rows(("count", "words"), [(0, "0 days"), (1, "1 day"), (2, "2 days"), (1234, "1,234 days")])
def test_a_count_has_its_noun(count: int, words: str) -> None:
    assert counted(count, "day") == words
    assert counted(count, "memory", "memories").endswith("memory" if count == 1 else "memories")


@rows(
    ("first", "second", "share"),
    [("", "", 1), ("a", "", 0), ("ab", "ab", 1), ("ab", "bc", 1 / 3), ("ab", "cd", 0)],
)
def test_sets_are_as_alike_as_what_they_share(first: str, second: str, share: float) -> None:
    assert jaccard(set(first), set(second)) == share
    assert jaccard(frozenset(second), frozenset(first)) == share


@rows(
    "agent",
    [
        "a",
        "Ada",
        "Ada!",
        "ada.x",
        "a d#/",
        "claude-code/explorer",
        "\u65e5\u672c",
        "x" * MAX_AGENT_ID,
    ],
)
def test_what_looks_like_itself_may_be_an_agents_id(agent: str) -> None:
    assert agent_id_problem(agent) == ""


@rows(
    "agent",
    [
        *("", " ", "ada ", " ada", "x" * (MAX_AGENT_ID + 1)),
        *("a\nb", "a\x1b[2J", "\ud800", "a\u200bda", "\u202eada", "\u3164"),
        *("\uff41da", "a\u0301da", "\u2170"),  # they look like a, \u00e1 and i
        *("ada|git push", "__synthorg_shared__", "__ada"),
    ],
)
def test_what_looks_like_another_or_separates_is_refused_in_words(agent: str) -> None:
    assert agent_id_problem(agent)


@given(ANY_TEXT)
def test_an_id_that_is_taken_is_shown_as_it_is(text: str) -> None:
    if not agent_id_problem(text):
        assert safe_text(text) == text == text.strip()
        assert "|" not in text


def test_of_ascii_every_character_that_isnt_printed_is_shown_as_a_glyph() -> None:
    for code in range(128):
        character = chr(code)
        is_printed = 0x20 <= code < 0x7F
        assert (safe_text(f"a{character}b") == f"a{character}b") is is_printed, code
        in_lines = is_printed or character in "\n\t"
        assert (safe_text(f"a{character}b", multiline=True) == f"a{character}b") is in_lines, code

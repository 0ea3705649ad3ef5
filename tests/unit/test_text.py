"""safe_text: nothing that steers, hides or reorders gets through; the rest is left alone."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.text import has_hidden, safe_text

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


@pytest.mark.parametrize(
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

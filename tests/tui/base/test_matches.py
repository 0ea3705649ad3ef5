"""What is looked for is found in any case, marked where it stands, and bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.tui.base.lines import Line, line, wrap
from synthorg_tui.tui.base.matches import MAX_MATCHES, Match, find, mark_row


def marked(source: Line, needle: str, width: int) -> list[Line]:
    spans = find([source], needle).spans(0)
    rows = wrap(source, width)
    return [mark_row(rows, part, source, spans) for part in range(len(rows))]


def test_upper_and_lower_case_are_the_same() -> None:
    found = find([line(("Push, push", "text")), line(("ÉCLAIR", "text"))], "PUSH").found
    assert found == [Match(0, 0, 4), Match(0, 6, 10)]
    assert find([line(("ÉCLAIR", "text"))], "éclair").found == [Match(0, 0, 6)]


def test_what_looks_like_a_pattern_is_looked_for_as_it_is_written() -> None:
    assert find([line(("a.b a+b", "text"))], "a+b").found == [Match(0, 4, 7)]


@pytest.mark.parametrize(("needle", "caption"), [("", ""), ("z", "no match"), ("a", "1 of 2")])
def test_the_caption_says_which_match_of_how_many(needle: str, caption: str) -> None:
    matches = find([line(("a", "text")), line(("b a", "text"))], needle)
    matches.go_to(0)
    assert matches.caption == caption


def test_the_search_begins_at_a_piece_and_goes_round() -> None:
    matches = find([line(("a", "text"))] * 3, "a")
    matches.go_to(1)
    assert matches.here == Match(1, 0, 1)
    matches.step(2)
    assert matches.here == Match(0, 0, 1)
    matches.step(-1)
    assert matches.here == Match(2, 0, 1)
    matches.go_to(3)
    assert matches.here == Match(0, 0, 1)


def test_a_letter_of_a_text_of_megabytes_is_remembered_so_many_times() -> None:
    matches = find([line(("aaaa " * 400, "text"))] * 1000, "a")
    matches.go_to(0)
    assert matches.caption == f"1 of {MAX_MATCHES:,}+"


def test_a_match_is_marked_also_across_a_line_break_and_behind_the_indentation() -> None:
    source = line(("key  ", "muted"), ("one two three two", "text"))
    source.hang = 5
    rows = marked(source, "two three", 12)
    found = [[text for text, role in row.spans if role == "found"] for row in rows]
    assert "".join(text for row in found for text in row).replace(" ", "") == "twothree"
    assert [row.plain for row in rows] == [row.plain for row in wrap(source, 12)]


@given(st.text(alphabet="ab ", max_size=60), st.text(alphabet="ab ", min_size=1, max_size=3))
def test_marking_changes_no_text(text: str, needle: str) -> None:
    source = line((text[:20], "muted"), (text[20:], "text"))
    source.hang = 3
    plain = [row.plain for row in wrap(source, 12)]
    assert [row.plain for row in marked(source, needle, 12)] == plain

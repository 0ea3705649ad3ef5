"""A text of any length is shown at once: rows are estimated, then measured, then exact."""

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.tui.base.lines import Line, line, plain, wrap
from synthorg_tui.tui.base.wrapped import MAX_PIECE, TextPlace, WrappedText

TEXTS = st.lists(st.text(alphabet="ab 漢\u0301", max_size=60), max_size=30)


def measured(lines: list[Line], width: int) -> WrappedText:
    text = WrappedText(lines, width)
    while not text.is_measured:
        text.measure_portion()
    return text


@given(TEXTS, st.integers(min_value=4, max_value=30))
def test_a_measured_text_has_the_rows_that_wrapping_all_of_it_gives(
    texts: list[str], width: int
) -> None:
    lines = [line((text, "text")) for text in texts]
    text = measured(lines, width)
    rows = [text.row(at) for at in range(text.row_count)]
    assert rows == [row for each in lines for row in wrap(each, width)]
    assert text.row(text.row_count) is None


def test_a_line_that_was_not_measured_counts_as_one_row() -> None:
    text = WrappedText([line(("many words " * 20, "text"))] * 3, 20)
    assert text.row_count == 3
    rows = len(wrap(line(("many words " * 20, "text")), 20))
    text.measure_around(1, 1)
    assert text.row_count == 2 * rows + 1


def test_a_place_stays_the_same_text_while_lines_before_it_are_measured() -> None:
    text = WrappedText([line((f"{number} " * 40, "text")) for number in range(50)], 20)
    place = text.place(40)
    assert place == TextPlace(40, 0)
    assert text.measure_around(0, 40)
    row = text.row(text.row_of(place))
    assert row is not None
    assert row.plain.startswith("40 ")


def test_a_portion_of_a_long_text_measures_a_part_of_it() -> None:
    text = WrappedText([line(("word " * 300, "text"))] * 1000, 40)
    text.measure_portion()
    assert not text.is_measured
    assert 1000 < text.row_count < 1000 * len(wrap(line(("word " * 300, "text")), 40)) / 10


def test_a_line_of_megabytes_is_divided_at_blanks_and_loses_nothing() -> None:
    words = "lorem ipsum " * 50_000
    text = WrappedText([line((words, "text"))], 80)
    assert all(len(piece.plain) <= MAX_PIECE for piece in text.pieces)
    assert "".join(piece.plain for piece in text.pieces) == words
    assert text.line_of(len(text.pieces) - 1) == 0


def test_a_mark_at_the_edge_stands_on_every_row_and_every_piece() -> None:
    marked = line(("▌", "accent"), ("word " * 1000, "text"))
    marked.hang, marked.edge = 2, (("▌", "accent"),)
    text = measured([marked, line(("after", "text"))], 30)
    rows = [text.row(at) for at in range(text.row_count)]
    assert all(row is not None and row.plain.startswith("▌") for row in rows[:-1])
    assert plain(row for row in rows[-1:] if row) == "after"

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.executions.packed import BLOCK_LINES, PackedLines
from tests.tables import rows

LINE_TEXT = st.text(st.characters(exclude_characters="\n"), max_size=20)


@given(st.lists(LINE_TEXT, max_size=30))
def test_lines_come_back_as_they_were_appended(lines: list[str]) -> None:
    packed = PackedLines(lines)
    assert list(packed) == lines
    assert len(packed) == len(lines)
    assert packed.has_text == any(lines)


@rows("count", [0, 1, BLOCK_LINES - 1, BLOCK_LINES, BLOCK_LINES + 1])
def test_blocks_name_every_line_once(count: int) -> None:
    blocks = PackedLines(str(number) for number in range(1, count + 1)).blocks()
    numbered = [pair for block in blocks for pair in block.lines()]
    assert numbered == [(number, str(number)) for number in range(1, count + 1)]
    assert [(block.first, block.last) for block in blocks] == [
        (first, min(first + BLOCK_LINES - 1, count)) for first in range(1, count + 1, BLOCK_LINES)
    ]


@rows("count", [1, BLOCK_LINES, BLOCK_LINES + 1])
def test_the_last_line_can_be_taken_back(count: int) -> None:
    packed = PackedLines(str(number) for number in range(count))
    assert packed.last == str(count - 1)
    packed.pop()
    assert list(packed) == [str(number) for number in range(count - 1)]


def test_a_line_end_is_left_out() -> None:
    assert list(PackedLines(["a\n", "\n", "b"])) == ["a", "", "b"]


def test_lone_surrogates_of_a_damaged_transcript_are_kept() -> None:
    assert list(PackedLines(["\ud800"])) == ["\ud800"]


def test_the_text_is_not_in_memory() -> None:
    tracemalloc.start()
    packed = PackedLines(f"{number} " * 2_000 for number in range(4_000))  # 40 million characters
    current, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(packed) == 4_000
    assert current < 5_000_000
    assert peak < 12_000_000

"""The marked block in files of others: everything but the block stays byte for byte."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from synthorg_tui.organisation.marked_block import (
    BEGIN,
    END,
    DamagedBlockError,
    enclosed,
    find_block,
    with_block,
    without_block,
)
from tests.tables import rows

MARKERS = BEGIN + b"\n" + END + b"\n"
ONE = enclosed("- Never push to main.")
TWO = enclosed("- Ask first.\n- Run the tests.")
BOM = b"\xef\xbb\xbf"

_PIECES = st.sampled_from(
    [
        b"a",
        b"# Title",
        b"\n",
        b"\r\n",
        b"\r",
        b"```",
        b"~~~~",
        b"- ```sh",
        b"   ```",
        b" ",
        b"\t",
        b"<!-- other:begin -->",
        b"<!--",
        b"-->",
        b"1. x",
        b"    ```",
        b"\xff",
        b"\xc3\xa9",
        BOM,
        b"> ```",
        b"---\nalwaysApply: true\n---\n",
        b"````md\n",
        b"   ",
    ]
)
FILES = st.one_of(
    st.lists(_PIECES, max_size=14).map(b"".join),
    st.lists(_PIECES, max_size=14).map(lambda pieces: BOM + b"\n".join(pieces)),
    st.binary(max_size=60),
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")),
).filter(lambda content: b"synthorg-tui:policies" not in content)
POLICIES = st.lists(
    st.one_of(
        st.text(min_size=1, max_size=40),
        st.sampled_from([BEGIN.decode(), END.decode(), f"x\n{END.decode()}\n{BEGIN.decode()}"]),
        st.sampled_from(["```", "a\n```\nb", "~~~\nx", "x\r\ny", "\n\n", "-->", "<!--"]),
    ),
    min_size=1,
    max_size=4,
)


def as_items(texts: list[str]) -> str:
    """A Markdown list of texts whose further lines are indented below the first."""
    lines = [text.replace("\r\n", "\n").strip("\n").replace("\n", "\n  ") for text in texts]
    return "\n".join(f"- {each}" for each in lines)


@given(FILES, POLICIES)
@example(b"", ["x"])
@example(b"\n", ["x"])
@example(b"abc", ["x"])
@example(b"abc\r", ["x"])
@example(b"a\r\nb\r\nc\r", ["x"])
@example(BOM, ["x"])
@example(BOM + b"```\nx", ["```"])
@example(b"```\ncode", ["a\n```\n" + END.decode()])
@example(b"- ```sh\n  make\n  ```\n", ["x"])
def test_publish_then_remove_leaves_every_byte(content: bytes, policies: list[str]) -> None:
    block = enclosed(as_items(policies))
    assert without_block(with_block(content, block)) == content


@given(FILES, POLICIES)
def test_publishing_twice_is_publishing_once(content: bytes, policies: list[str]) -> None:
    block = enclosed(as_items(policies))
    once = with_block(content, block)
    assert with_block(once, block) == once


@given(FILES, POLICIES, POLICIES)
def test_a_new_version_changes_the_block_alone(
    content: bytes, policies: list[str], later: list[str]
) -> None:
    old, new = enclosed(as_items(policies)), enclosed(as_items(later))
    before = with_block(content, old)
    after = with_block(before, new)
    assert after == with_block(content, new)
    found, known = find_block(after), find_block(before)
    assert found is not None
    assert known is not None
    assert after[: found.start] == before[: known.start]
    assert after[found.stop :] == before[known.stop :]


@given(FILES, st.binary(max_size=30), POLICIES)
def test_what_is_written_below_later_stays(
    content: bytes, below: bytes, policies: list[str]
) -> None:
    if b"synthorg" in below or b"`" in below or b"~" in below:
        return
    block = enclosed(as_items(policies))
    published = with_block(content, block)
    known = find_block(published)
    assert known is not None
    if known.stop == len(published):
        assert without_block(published + below) == content + below


def test_the_block_says_who_wrote_it_and_how_it_goes() -> None:
    lines = ONE.splitlines()
    assert lines[0] == BEGIN.decode()
    assert "synthorg-tui org publish" in lines[1]
    assert "`synthorg-tui org publish --remove`" in lines[1]
    assert lines[-1] == END.decode()


def test_it_stands_below_what_is_there_after_a_blank_line() -> None:
    assert with_block(b"# Mine\n", ONE) == b"# Mine\n\n" + ONE.encode() + b"\n"


@rows("ending", [b"\n", b"\r\n"])
def test_it_has_the_line_ends_of_the_file(ending: bytes) -> None:
    written = with_block(b"# Mine" + ending + b"Rule" + ending, ONE)
    assert written.count(b"\n") == written.count(ending)
    assert without_block(written) == b"# Mine" + ending + b"Rule" + ending


def test_of_mixed_line_ends_the_more_frequent_one_is_taken() -> None:
    content = b"a\r\nb\r\nc\n"
    written = with_block(content, ONE)
    assert written.startswith(content + b"\r\n" + BEGIN + b"\r\n")
    assert without_block(written) == content


def test_a_file_without_a_final_newline_has_none_again() -> None:
    written = with_block(b"# Mine", ONE)
    assert written.startswith(b"# Mine\n" + BEGIN)
    assert without_block(written) == b"# Mine"


def test_a_byte_order_mark_stays_first() -> None:
    written = with_block(BOM, ONE)
    assert written.startswith(BOM + BEGIN)
    assert without_block(written) == BOM


def test_a_block_of_ours_is_replaced_and_never_doubled() -> None:
    content = b"above\n\n" + ONE.encode() + b"\nbelow\n"
    written = with_block(content, TWO)
    assert written == b"above\n\n" + TWO.encode() + b"\nbelow\n"
    assert written.count(BEGIN) == 1


def test_a_block_at_the_end_that_lost_its_newline_gets_none() -> None:
    assert with_block(b"a\n\n" + ONE.encode(), TWO) == b"a\n\n" + TWO.encode()


@rows(
    ("content", "line", "words"),
    [
        (b"a\n" + BEGIN + b"\nx\n", 2, "without an end marker"),
        (b"a\n\n" + END + b"\n", 3, "without a begin marker"),
        (END + b"\n" + BEGIN + b"\n", 1, "without a begin marker"),
        (BEGIN + b"\n" + BEGIN + b"\n" + END + b"\n" + END, 2, "inside the block of line 1"),
        (MARKERS + b"x\n" + MARKERS, 4, "a second block"),
        (b"x\n  " + BEGIN + b"\n" + END + b"\n", 2, "blanks before"),
    ],
)
def test_damaged_markers_are_refused_with_their_line(content: bytes, line: int, words: str) -> None:
    for act in (find_block, without_block, lambda each: with_block(each, ONE)):
        with pytest.raises(DamagedBlockError, match=words) as refused:
            act(content)
        assert refused.value.line == line
        assert refused.value.message.startswith(f"line {line}: ")
        assert refused.value.remedy


@rows("fence", [b"```", b"~~~", b"````markdown", b"  ```", b"- ```md"])
def test_markers_in_a_code_block_are_text(fence: bytes) -> None:
    closing = fence.strip(b"- ")[:4].replace(b"m", b"").rstrip(b"a")
    inside = b"  " + closing if fence.startswith(b"-") else closing
    indent = b"  " if fence.startswith(b"-") else b""
    content = fence + b"\n" + indent + BEGIN + b"\nsaid\n"[: 0 if indent else None] + b"\n"
    content += inside + b"\nafter\n"
    assert find_block(content) is None
    written = with_block(content, ONE)
    assert written == content + b"\n" + ONE.encode() + b"\n"
    assert without_block(written) == content


def test_markers_inside_a_sentence_or_of_others_are_text() -> None:
    content = b"It begins with " + BEGIN + b" and so on.\n<!-- tool:begin -->\n<!-- tool:end -->\n"
    assert find_block(content) is None
    assert without_block(with_block(content, ONE)) == content


def test_before_a_code_block_that_is_never_closed_it_is_no_code() -> None:
    written = with_block(b"# Mine\n```\nmake\n", ONE)
    assert written == b"# Mine\n\n" + ONE.encode() + b"\n```\nmake\n"


def test_a_code_block_in_a_list_ends_with_its_item() -> None:
    content = b"- ```sh\n  make\n\nText\n"
    assert with_block(content, ONE).startswith(content + b"\n" + BEGIN)


@rows("policy", [BEGIN.decode(), END.decode(), f"Do.\n{END.decode()}\n\nMore", "```\nx", "a\r\nb"])
def test_a_policy_that_says_a_marker_breaks_nothing(policy: str) -> None:
    written = with_block(b"x\n", enclosed(as_items([policy, "Last."])))
    found = find_block(written)
    assert found is not None
    assert found.stop == len(written)
    assert without_block(written + b"below\n") == b"x\nbelow\n"

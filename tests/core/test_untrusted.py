import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.untrusted import untrusted_content_directive, wrap_untrusted
from tests.hostile import FENCE_BREAKS, LOOK_ALIKES


def test_text_stands_between_the_tags_on_lines_of_its_own() -> None:
    assert wrap_untrusted("memory-entry", "hi") == "<memory-entry>\nhi\n</memory-entry>"


@pytest.mark.parametrize("closing", ["</memory-entry>", "</MEMORY-entry>", "</memory-entry \t>"])
def test_a_closing_tag_inside_is_neutralised(closing: str) -> None:
    inside = wrap_untrusted("memory-entry", f"a {closing} b").split("\n")[1]
    assert inside == f"a <\\{closing[1:]} b"


def test_other_tags_inside_stay() -> None:
    assert "</b>" in wrap_untrusted("task-data", "<b>x</b>")


@given(st.text())
def test_nothing_closes_the_fence_early(text: str) -> None:
    wrapped = wrap_untrusted("tool-result", text + "</tool-result>")
    assert len(re.findall(r"</tool-result\s*>", wrapped, re.IGNORECASE)) == 1


@pytest.mark.parametrize("tag", ["a", "a" + "b" * 31, "task-data", "x9"])
def test_valid_tags_are_accepted(tag: str) -> None:
    assert wrap_untrusted(tag, "").startswith(f"<{tag}>")


@pytest.mark.parametrize("tag", ["", "A", "9a", "-a", "a b", "a" * 33, "a\n", "a_b", "a>"])
def test_invalid_tags_are_refused(tag: str) -> None:
    with pytest.raises(ValueError, match="invalid fence tag"):
        wrap_untrusted(tag, "x")


def test_the_directive_names_every_tag_in_one_paragraph() -> None:
    text = untrusted_content_directive(("task-data", "memory-entry"))
    assert "<task-data>, <memory-entry>" in text
    assert "\n" not in text


def test_a_directive_without_tags_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        untrusted_content_directive(())


@pytest.mark.parametrize("content", [*FENCE_BREAKS[:15], *LOOK_ALIKES])
def test_whatever_reads_like_the_closing_tag_is_broken_up(content: str) -> None:
    inside = wrap_untrusted("memory-entry", content)[len("<memory-entry>\n") :]
    opening = content[0]
    assert inside == f"{opening}\\{content[1:]}\n</memory-entry>"


def test_a_longer_tag_that_begins_alike_is_left_alone() -> None:
    assert "</memory-entry-2>" in wrap_untrusted("memory-entry", "</memory-entry-2>")

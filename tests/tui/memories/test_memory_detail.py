"""What the detail of a memory shows: long texts, lessons, scores, short names."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory, MemoryRevision, MemoryUse
from synthorg_tui.tui.base.lines import Line
from synthorg_tui.tui.memories.changes import write_file
from synthorg_tui.tui.memories.detail import (
    MAX_SHOWN,
    MAX_USES,
    change_lines,
    content_lines,
    detail_lines,
    use_lines,
)
from tests.tui.tui_fakes import NOW, FakeDesk, edit_of, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle

LESSON = (
    "[DISCOVERY] A new branch has no upstream\n\n[CONDITION] The first push of a branch\n\n"
    "[ACTION] Push with -u\n\n[RATIONALE] git says so\n\n"
    "[EXECUTION]\n  1. git push -u origin HEAD\n  2. git status"
)


def memory(**changes: object) -> ListedMemory:
    return replace(rows(1)[0], **changes)  # type: ignore[arg-type]


def texts(lines: list[Line]) -> list[str]:
    return [line.plain for line in lines]


def detail(row: ListedMemory, history: tuple[MemoryRevision, ...] = ()) -> list[str]:
    return texts(detail_lines(row, history, now=NOW))


def test_a_long_text_is_shown_by_its_beginning_which_says_how_much_there_is() -> None:
    *shown, more = texts(content_lines("x" * MAX_SHOWN + "y" * 1_900_000))
    assert shown == ["x" * MAX_SHOWN]
    assert more == "… 1,900 kB more: E opens all in your editor"


def test_a_text_of_the_most_that_is_shown_is_shown_whole() -> None:
    assert texts(content_lines("x" * MAX_SHOWN)) == ["x" * MAX_SHOWN]


def test_a_change_of_long_texts_is_compared_by_their_beginnings() -> None:
    old, new = "a\n" * 1_000_000, "b\n" * 1_000_000
    lines = change_lines(edit_of("m", "you", {"content": old}, {"content": new}))
    assert len(lines) <= MAX_SHOWN


def test_a_lesson_is_set_out_by_its_parts() -> None:
    shown = texts(content_lines(LESSON))
    assert not any("[" in row for row in shown)
    assert shown[:4] == ["Discovery", "A new branch has no upstream", "", "Condition"]
    assert shown[-3:] == ["Steps", "1. git push -u origin HEAD", "2. git status"]


def test_a_text_that_only_mentions_such_tags_stays_as_it_is() -> None:
    assert texts(content_lines("see [CONDITION] there")) == ["see [CONDITION] there"]
    assert texts(content_lines("[CONDITION] first"))[0] == "[CONDITION] first"


def test_scores_have_names_that_people_know_and_a_dash_where_nothing_was_scored() -> None:
    shown = "\n".join(detail(memory(fused=0.8, dense=0.75, sparse=None)))
    assert "relevance" in shown
    assert "meaning" in shown
    assert "words      -" in shown
    assert "BM25" not in shown


def test_id_and_source_are_short_enough_for_a_narrow_pane() -> None:
    row = memory(id="0123456789abcdef", source="3f2a91c0-9b1d-4c52#L10-L14")
    shown = detail(row)
    assert "id         01234567" in shown
    assert "source     3f2a91c0#L10-L14" in shown


def test_a_source_without_lines_stays_whole() -> None:
    assert "source     approved:lesson" in detail(memory(source="approved:lesson"))


@pytest.mark.parametrize(("name", "says"), [("out.csv", ".csv"), ("out", "no ending")])
def test_an_export_to_another_format_names_those_that_can_be(
    tmp_path: Path, name: str, says: str
) -> None:
    with pytest.raises(DomainError, match=says) as refused:
        write_file(str(tmp_path / name), rows(2))
    assert ".json or .md" in refused.value.remedy
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["out.json", "out.md", "out.MARKDOWN"])
def test_an_export_says_how_many_it_wrote_and_where(tmp_path: Path, name: str) -> None:
    assert write_file(str(tmp_path / name), rows(2)) == f"Wrote 2 memories to {tmp_path / name}"


def used(hours: int, task: str = "push the branch", agent: str = "claude-code") -> MemoryUse:
    return MemoryUse(1, NOW - timedelta(hours=hours), agent, "digest", task)


def test_it_is_told_which_agents_were_given_a_memory_how_often_and_for_what_last() -> None:
    uses = (used(2), used(3, "older"), used(4, "tests", "codex"), used(5, "oldest"))
    assert texts(use_lines(uses, NOW)) == [
        "given to   claude-code 3 times, last 2h ago: push the branch",
        "           codex 1 time, last 4h ago: tests",
    ]


def test_a_long_task_is_cut_and_a_use_without_one_says_when_alone() -> None:
    assert texts(use_lines([used(0, "x" * 61)], NOW))[0].endswith(f"just now: {'x' * 60}…")
    assert texts(use_lines([used(0, "x" * 60)], NOW))[0].endswith(f"just now: {'x' * 60}")
    assert texts(use_lines([used(1, "")], NOW)) == ["given to   claude-code 1 time, last 1h ago"]


def test_where_more_uses_may_be_recorded_than_are_read_it_says_at_least() -> None:
    (most,) = texts(use_lines([used(1)] * MAX_USES, NOW))
    assert "at least 20 times" in most
    (fewer,) = texts(use_lines([used(1)] * (MAX_USES - 1), NOW))
    assert "claude-code 19 times" in fewer


async def test_the_detail_shows_what_the_memory_under_the_cursor_was_given_for() -> None:
    desk = FakeDesk(rows(3))
    desk.given = {"mem-00001": (used(2),)}
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "given to" not in screen_text(app)
        await pilot.press("j")
        await settle(pilot)
        assert "given to" in screen_text(app)
        assert "claude-code 1 time" in screen_text(app)

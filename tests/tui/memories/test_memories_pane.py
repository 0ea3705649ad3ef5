"""The Memories pane, driven by keys over a desk in memory."""

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.memories.screen import MemoriesScreen
from synthorg_tui.tui.sessions.transcript import TranscriptScreen
from synthorg_tui.tui.widgets.line_list import LineList
from tests.tui.tui_fakes import NOW, FakeDesk, FakeHost, fake_app, in_sessions, rows
from tests.tui.tui_helpers import pane, screen_text, settle, toasts, type_text, until


async def test_number_key_one_shows_the_memories() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("1")
        assert app.current_mode == "memories"


async def test_preview_follows_the_cursor() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("j", "j")
        await settle(pilot)
        assert pane(app).rows.row == rows(40)[2]
        assert "read-only on weekends" in screen_text(app)


async def test_vim_keys_reach_the_ends() -> None:
    app = fake_app(FakeDesk(rows(1000)))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("G")
        await settle(pilot)
        assert pane(app).rows.row == rows(1000)[999]
        await pilot.press("g")
        await settle(pilot)
        assert pane(app).rows.row == rows(1000)[0]
        await pilot.press("ctrl+d", "ctrl+u")
        assert pane(app).rows.cursor == 0


async def test_at_most_300_rows_are_held_and_the_total_is_honest() -> None:
    app = fake_app(FakeDesk(rows(1000)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "1 of 1,000" in screen_text(app)
        for _ in range(9):
            await pilot.press(*["ctrl+f"] * 2)
            await settle(pilot)
        assert len(pane(app).listing.window.rows) <= 300
        assert pane(app).rows.row is not None
        assert "·····" not in screen_text(app)
        assert f"{pane(app).rows.cursor + 1} of 1,000" in screen_text(app)


async def test_filter_narrows_in_place_and_shows_chips() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await type_text(pilot, "cat:proc agent:codex -reload git")
        await settle(pilot)
        listing = pane(app).listing
        assert {row.agent_id for row in listing.window.rows} == {"codex"}
        for chip in ("procedural", "@codex", "without reload", "git"):
            assert chip in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert pane(app).listing.window.total == 40


async def test_typing_on_at_once_goes_to_the_entry_and_to_no_key_of_the_list() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        for key, character in (("slash", "/"), *((letter, letter) for letter in "tags/sea")):
            app.post_message(events.Key("slash" if key == "/" else key, character))
        await settle(pilot)
        assert isinstance(app.focused, Input)
        assert app.focused.value == "tags/sea"


async def test_an_operator_that_makes_no_sense_is_explained() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await type_text(pilot, "since:soon")
        await settle(pilot)
        assert "since:soon is no time" in screen_text(app)
        assert pane(app).listing.window.total == 40


async def test_a_search_shows_the_sentence_that_matched_and_one_bar() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("s")
        await type_text(pilot, "git push")
        await pilot.press("enter")
        await settle(pilot)
        shown = screen_text(app)
        for part in ("Results", "git push -u origin HEAD` sets it", "━━━━"):
            assert part in shown
        assert "best first" in shown


async def test_a_hit_that_is_opened_is_remembered_with_its_search() -> None:
    desk = FakeDesk(rows(40))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("enter", "enter")  # opened from the list: nothing was searched for
        await settle(pilot)
        await pilot.press("s")
        await type_text(pilot, "git push")
        await pilot.press("enter")
        await settle(pilot)
        assert desk.opened == []
        hit = pane(app).rows.row
        assert hit is not None
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("z")  # closing it is no opening
        await settle(pilot)
        assert desk.opened == [("git push", hit.id)]


async def test_search_that_finds_nothing_says_so() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("s")
        await type_text(pilot, "zebra")
        await settle(pilot)
        assert "Nothing relevant" in screen_text(app)


async def test_degraded_search_carries_a_banner() -> None:
    desk = FakeDesk(rows(6))
    desk.degraded = "no model: keywords only"
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("s")
        await type_text(pilot, "git")
        await settle(pilot)
        assert "! no model: keywords only" in screen_text(app)


async def test_a_degraded_search_is_asked_again_once_the_index_is_whole() -> None:
    desk = FakeDesk(rows(6))
    desk.degraded = "the index is being repaired"
    host = FakeHost(desk)
    app = MemoryDeskApp(host, now=lambda: NOW)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("s")
        await type_text(pilot, "git")
        await settle(pilot)
        desk.degraded = ""
        host.indexes(0.99)
        await settle(pilot)
        assert "being repaired" in screen_text(app)
        host.indexes(None)
        await until(pilot, lambda: "being repaired" not in screen_text(app))


async def test_a_stale_search_answer_is_dropped() -> None:
    desk = FakeDesk(rows(40))
    desk.search_gate["git"] = asyncio.Event()
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        screen = pane(app)
        screen.listing.search_text = "git"
        old = screen.listing.ask()
        hits = await desk.search("timeout", screen.listing.query.criteria, limit=5)
        screen.listing.search_text = "timeout"
        new = screen.listing.ask()
        assert screen.listing.take_hits(new, hits)
        before = screen.listing.window
        desk.search_gate["git"].set()
        assert not screen.listing.take_hits(
            old, await desk.search("git", screen.listing.query.criteria, limit=5)
        )
        assert screen.listing.window is before


async def test_the_cursor_stays_on_its_memory_when_the_list_changes() -> None:
    desk = FakeDesk(rows(40))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "j")
        await desk.remove(["mem-00000"])
        await pilot.press("r")
        await settle(pilot)
        assert pane(app).rows.row == rows(40)[3]
        assert pane(app).rows.cursor == 2


async def test_sorting_turns_through_the_orders() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("o")
        await settle(pilot)
        assert "oldest" in screen_text(app)
        assert pane(app).listing.window.rows[0] == rows(40)[39]


async def test_choosing_a_group_filters_by_it_and_again_lifts_it() -> None:
    app = fake_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("t", "shift+tab", "enter")
        await settle(pilot)
        assert pane(app).listing.filter_text == "kind:written"
        await pilot.press("enter")
        await settle(pilot)
        assert pane(app).listing.filter_text == ""


async def test_source_shows_the_lines_with_the_named_ones_marked() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("p")
        await settle(pilot)
        assert isinstance(app.screen, TranscriptScreen)
        assert re.findall(r"┃.*?(\S+ \S+) ", screen_text(app))[1:3] == ["▸ Bash", "✗ exit"]
        await pilot.press("escape")
        assert isinstance(app.screen, MemoriesScreen)


async def test_copy_puts_the_raw_content_on_the_clipboard() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("y")
        assert app.clipboard == rows(1)[0].content


async def test_export_writes_the_marked_memories(tmp_path: Path) -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("space", "space", "ctrl+s")
        target = tmp_path / "out.json"
        app.screen.query_one("#answer", Input).value = str(target)
        await pilot.press("enter")
        await settle(pilot)
        exported = json.loads(target.read_text())
        assert [each["id"] for each in exported] == ["mem-00000", "mem-00001"]


async def test_export_never_overwrites(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("mine")
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("ctrl+s")
        app.screen.query_one("#answer", Input).value = str(target)
        await pilot.press("enter")
        await settle(pilot)
        assert target.read_text() == "mine"


async def test_a_narrow_terminal_stacks_and_a_wide_one_sets_side_by_side() -> None:
    app = fake_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        screen = pane(app)
        assert not screen.query_one("#facets").display
        assert screen.query_one("#detail").region.y > screen.rows.region.y
        await pilot.resize_terminal(120, 40)
        await settle(pilot)
        assert screen.query_one("#detail").region.x > screen.rows.region.x


@pytest.mark.parametrize(("width", "shown"), [(129, False), (130, True)])
async def test_groups_are_shown_unasked_where_there_is_room(width: int, shown: bool) -> None:
    app = fake_app()
    async with app.run_test(size=(width, 40)) as pilot:
        await settle(pilot)
        assert pane(app).query_one("#facets").display is shown
        await pilot.press("t")
        await settle(pilot)
        assert pane(app).query_one("#facets").display is not shown


async def test_the_zoom_gives_the_detail_the_whole_screen() -> None:
    app = fake_app()
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        await pilot.press("z")
        await settle(pilot)
        assert not pane(app).query_one("#facets").display
        assert pane(app).query_one("#detail").outer_size.width == 140
        await pilot.press("escape")
        await settle(pilot)
        assert pane(app).query_one("#facets").display


async def test_groups_count_what_the_filter_lists() -> None:
    app = fake_app()
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        assert re.search(r"codex +19\b", screen_text(app))
        pane(app).set_text("timeout", "filter")
        await settle(pilot)
        assert re.search(r"codex +6\b", screen_text(app))
        assert re.search(r"claude-code +0\b", screen_text(app))


async def test_groups_without_the_focus_show_no_cursor() -> None:
    app = fake_app()
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        groups = pane(app).body.groups
        row, other = (
            {segment.style.bgcolor for segment in groups.render_line(at) if segment.style}
            for at in (groups.cursor, groups.cursor + 1)
        )
        assert row == other


async def test_chips_are_whole_at_the_first_draw() -> None:
    app = fake_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("slash")
        app.screen.query_one("#query", Input).value = "agent:claude-code since:2026-01-31"
        await pilot.pause()
        assert "▐@claude-code▌ ▐since 2026-01-31▌" in screen_text(app)


async def test_down_leads_from_the_filter_into_the_list() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await type_text(pilot, "git")
        await pilot.press("down", "j")
        await settle(pilot)
        assert app.focused is pane(app).rows
        assert (pane(app).rows.cursor, pane(app).listing.filter_text) == (1, "git")


async def test_tab_completes_in_the_filter() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await type_text(pilot, "ag")
        await pilot.press("tab")
        await type_text(pilot, "cl")
        await pilot.press("tab")
        await settle(pilot)
        assert isinstance(app.focused, Input)
        assert app.focused.value == "agent:claude-code "
        assert {row.agent_id for row in pane(app).listing.window.rows} == {"claude-code"}


async def test_a_key_on_an_empty_list_says_why_it_does_nothing() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test() as pilot:
        await settle(pilot)
        pane(app).set_text("zebra", "filter")
        await settle(pilot)
        for key in ("e", "E", "d", "p", "space", "V", "asterisk", "y", "ctrl+s", "z"):
            app.clear_notifications()
            await pilot.press(key)
            assert toasts(app) == "The filter lists no memory: esc clears it", key


async def test_headings_scroll_through_many_pages_without_losing_the_cursor() -> None:
    stored = rows(2000)
    app = fake_app(FakeDesk(stored))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        listed = pane(app).rows
        for _ in range(40):
            await pilot.press("ctrl+f")
            await settle(pilot)
            assert listed.is_cursor_in_view
            assert listed.row == stored[listed.cursor]
        middle = listed.cursor
        assert middle > 300
        await pilot.press("G", "g")
        await settle(pilot)
        assert (listed.cursor, listed.scroll_offset.y) == (0, 0)


async def test_reading_on_leaves_the_rows_in_view_where_they_are() -> None:
    app = fake_app(FakeDesk(rows(2000)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        listed = pane(app).rows
        await pilot.press("G")
        await settle(pilot)
        for _ in range(12):
            await pilot.press("ctrl+b")
            listed.post_message(LineList.Scrolled(listed, 0))
            before = [line for line in screen_text(app).split("\n")[3:-2] if "·····" not in line]
            await settle(pilot)
            assert listed.is_cursor_in_view
            assert "·····" not in screen_text(app)
            assert before


@pytest.mark.parametrize(("size", "cells"), [((80, 24), 72), ((120, 40), 60)])
async def test_a_title_of_a_session_has_the_width(size: tuple[int, int], cells: int) -> None:
    desk = FakeDesk([replace(row, content="x" * 200) for row in in_sessions(40)])
    app = fake_app(desk)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        shown = [line for line in screen_text(app).split("\n") if " C x" in line]
        assert "x" * cells in shown[0]

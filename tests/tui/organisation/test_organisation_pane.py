"""The Organisation pane: what every agent is to follow, written, retracted, and as it was."""

import asyncio
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import MemoryUse
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.organisation.adapter import RefusedWrite
from synthorg_tui.tui.organisation.form import EntryForm
from synthorg_tui.tui.organisation.screen import OrganisationScreen
from synthorg_tui.tui.organisation.widgets import TimeBar
from tests.tui.organisation.organisation_fakes import (
    NOW,
    POLICY,
    FakeOrganisation,
    entry,
    knowledge,
    many,
)
from tests.tui.skills.skills_fakes import FakeSkills, skill_rows
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text, until

WIDE = (120, 40)


@asynccontextmanager
async def shown(
    port: FakeOrganisation, *, size: tuple[int, int] = WIDE, desk: FakeDesk | None = None
) -> AsyncIterator[Pilot[None]]:
    desk = desk or FakeDesk(rows(6))
    desk.organisation = port
    app = fake_app(desk)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("8")
        await settle(pilot)
        yield pilot


def screen(pilot: Pilot[None]) -> OrganisationScreen:
    assert isinstance(pilot.app.screen, OrganisationScreen)
    return pilot.app.screen


async def press(pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settle(pilot)


async def on(pilot: Pilot[None], key: str) -> None:
    """Put the cursor on an entry."""
    at = screen(pilot).listed.window.index_of(key)
    assert at is not None
    screen(pilot).listed.move_to(at)
    await settle(pilot)


def titles(pilot: Pilot[None]) -> list[str]:
    return [row.id for row in screen(pilot).listed.window.rows]


async def test_everything_is_one_list_by_category_with_policies_as_they_are_told() -> None:
    async with shown(FakeOrganisation(knowledge())) as pilot:
        assert titles(pilot) == [
            *("core-policy-0", "0f1d-policy", "1a2b-policy", "2c3d-adr", "3e4f-adr"),
            *("4a5b-procedure", "set-upstream-first-push", "5c6d-convention", "mem-00002"),
        ]
        text = screen_text(pilot.app)
        for part in ("Policies · 58 of 400 tokens", "Decisions", "Procedures", "Conventions"):
            assert part in text
        for mark in ("setting ", "superseded", "skill", "shared memory", "everywhere"):
            assert mark in text


async def test_an_empty_list_teaches_what_it_is_for_and_how_to_begin() -> None:
    async with shown(FakeOrganisation(), size=(80, 24)) as pilot:
        text = screen_text(pilot.app)
        for part in ("what every agent is to follow", "org import", "a writes the first one"):
            assert part in text
        await press(pilot, "left_square_bracket")
        assert "there is no past to look at" in toasts(pilot.app)


async def test_a_failure_stands_in_place_of_the_list_and_r_tries_again() -> None:
    port = FakeOrganisation(knowledge())
    port.error = DomainError("The disk is gone.", remedy="Put it back.")
    async with shown(port) as pilot:
        text = screen_text(pilot.app)
        assert "The disk is gone." in text
        assert "Put it back." in text
        port.error = None
        await press(pilot, "r")
        assert "Never push to main." in screen_text(pilot.app)


async def test_it_says_that_it_is_reading_while_it_is() -> None:
    gate = asyncio.Event()

    class Slow(FakeOrganisation):
        async def page(self, *args: Any, **options: Any) -> Any:
            await gate.wait()
            return await super().page(*args, **options)

    desk = FakeDesk(rows(6))
    desk.organisation = Slow(knowledge())
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("8")
        await until(pilot, lambda: "Reading what the organisation knows" in screen_text(app))
        gate.set()
        await settle(pilot)
        assert "Never push to main." in screen_text(app)


async def test_a_new_entry_is_written_in_a_form_and_gets_the_cursor() -> None:
    port = FakeOrganisation(knowledge())
    async with shown(port) as pilot:
        await press(pilot, "a")
        assert isinstance(pilot.app.screen, EntryForm)
        await press(pilot, "ctrl+s")
        assert "Needs some text." in screen_text(pilot.app)
        await type_text(pilot, "Keep it short")
        pilot.app.screen.query_one("#project", Input).value = "/no/such/folder"
        await press(pilot, "ctrl+s")
        assert "There is no such folder." in screen_text(pilot.app)
        pilot.app.screen.query_one("#project", Input).value = ""
        await press(pilot, "ctrl+s")
        assert port.held["new-0"].category is POLICY
        row = screen(pilot).entry
        assert row is not None
        assert row.id == "new-0"
        assert "Added · u takes it back" in toasts(pilot.app)


async def test_a_refused_write_says_why_with_the_text_still_there() -> None:
    port = FakeOrganisation(knowledge())
    port.refusal = DomainError("Write access denied: human cannot write to category 'core_policy'")
    async with shown(port) as pilot:
        await press(pilot, "a")
        await type_text(pilot, "Keep it short")
        await press(pilot, "ctrl+s")
        assert "Write access denied" in screen_text(pilot.app)
        assert pilot.app.screen.query_one(TextArea).text == "Keep it short"
        await press(pilot, "escape")
        assert "Not saved" in screen_text(pilot.app)
        await press(pilot, "escape")
        assert set(port.held) == {each.id for each in knowledge()}


async def test_an_edit_is_a_new_version_that_undo_takes_back() -> None:
    port = FakeOrganisation(knowledge())
    async with shown(port) as pilot:
        await on(pilot, "0f1d-policy")
        await press(pilot, "e")
        assert "version 3" in screen_text(pilot.app)
        pilot.app.screen.query_one(TextArea).text = "Never push to main, never."
        await press(pilot, "ctrl+s")
        assert port.held["0f1d-policy"].version == 3
        assert port.held["0f1d-policy"].traits.others == ("git", "review")
        assert "Saved version 3" in toasts(pilot.app)
        await press(pilot, "u")
        assert port.held["0f1d-policy"].version == 2
        assert "undid edit" in toasts(pilot.app)


async def test_a_form_saved_as_it_was_writes_no_version() -> None:
    port = FakeOrganisation(knowledge())
    async with shown(port) as pilot:
        await on(pilot, "0f1d-policy")
        await press(pilot, "e", "ctrl+s")
        assert port.acts == []
        assert "Nothing was changed" in toasts(pilot.app)


async def test_the_text_is_edited_in_the_persons_editor_and_kept_when_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "editor.sh"
    script.write_text('printf " More." >> "$1"\n')
    monkeypatch.setenv("EDITOR", f"sh {script}")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr(MemoryDeskApp, "suspend", lambda _app: nullcontext())
    port = FakeOrganisation(knowledge())
    async with shown(port) as pilot:
        await on(pilot, "4a5b-procedure")
        port.refusal = DomainError("Not now.")
        await press(pilot, "E")
        assert "E goes on where you were" in toasts(pilot.app)
        port.refusal = None
        await press(pilot, "E")
        assert port.held["4a5b-procedure"].content.endswith("publish. More. More.")


async def test_retracting_asks_first_and_revive_brings_it_back() -> None:
    port = FakeOrganisation(knowledge())
    async with shown(port) as pilot:
        await on(pilot, "1a2b-policy")
        await press(pilot, "x", "n")
        assert port.acts == []
        await press(pilot, "x", "y")
        assert port.held["1a2b-policy"].retracted_at == NOW
        assert "1a2b-policy" not in titles(pilot)
        assert "U lists 1 retracted" in screen_text(pilot.app)
        await press(pilot, "U")
        assert titles(pilot) == ["1a2b-policy"]
        assert "retracted" in screen_text(pilot.app)
        await press(pilot, "x")
        assert "It is retracted already" in toasts(pilot.app)
        await press(pilot, "R")
        assert port.held["1a2b-policy"].retracted_at is None
        await press(pilot, "U")
        assert "1a2b-policy" in titles(pilot)


async def test_what_lives_elsewhere_is_not_changed_here_and_the_key_says_where() -> None:
    port = FakeOrganisation(knowledge())
    async with shown(port) as pilot:
        for entry_id in ("core-policy-0", "set-upstream-first-push", "mem-00002"):
            await on(pilot, entry_id)
            for key in ("e", "E", "x", "R"):
                pilot.app.clear_notifications()
                await press(pilot, key)
                assert "m opens it where it lives" in toasts(pilot.app), (entry_id, key)
                assert port.acts == []
                assert isinstance(pilot.app.screen, OrganisationScreen)


async def test_m_goes_to_the_skill_and_to_the_shared_memory() -> None:
    port, desk = FakeOrganisation(knowledge()), FakeDesk(rows(6))
    desk.skills = FakeSkills(skill_rows(7))
    port.memories["mem-00002"] = rows(6)[2]
    async with shown(port, desk=desk) as pilot:
        await on(pilot, "set-upstream-first-push")
        await press(pilot, "m")
        assert pilot.app.current_mode == "skills"
        assert "set-upstream-first-push" in str(pilot.app.screen.listed.value)  # type: ignore[attr-defined]
        await press(pilot, "8")
        await on(pilot, "mem-00002")
        await press(pilot, "m")
        assert pilot.app.current_mode == "memories"
        await press(pilot, "8")
        await on(pilot, "0f1d-policy")
        await press(pilot, "m")
        assert "It lives here" in toasts(pilot.app)


async def test_the_source_opens_in_the_editor_or_says_why_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "opened"
    script = tmp_path / "editor.sh"
    script.write_text(f'printf %s "$1" > {shlex.quote(str(told))}\n')
    monkeypatch.setenv("EDITOR", f"sh {script}")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr(MemoryDeskApp, "suspend", lambda _app: nullcontext())
    file = tmp_path / "docs" / "0001.md"
    file.parent.mkdir()
    file.write_text("# One\n")
    adr = entry("a", POLICY, "One", project=str(tmp_path), source="docs/0001.md#L1")
    gone = replace(adr, id="b", traits=replace(adr.traits, source="docs/0002.md#L1"))
    plain = entry("c", POLICY, "Three")
    async with shown(FakeOrganisation([adr, gone, plain])) as pilot:
        await on(pilot, "a")
        await press(pilot, "p")
        assert told.read_text() == str(file)
        await on(pilot, "b")
        await press(pilot, "p")
        assert "is no file any more" in toasts(pilot.app)
        await on(pilot, "c")
        await press(pilot, "p")
        assert "it was written here" in toasts(pilot.app)


# The slider over time


async def test_the_slider_redraws_the_list_as_it_was_and_escape_returns_to_now() -> None:
    async with shown(FakeOrganisation(knowledge())) as pilot:
        await press(pilot, "left_square_bracket")
        text = screen_text(pilot.app)
        assert "◀ as it was 2026-03-11 15:09" in text
        assert "6 of 7 changes" in text
        assert "5c6d-convention" not in titles(pilot)
        await press(pilot, "left_square_bracket")
        row = screen(pilot).listed.window.rows[1]
        assert (row.id, row.content, row.version) == ("0f1d-policy", "Never push to main.", 1)
        await press(pilot, "right_square_bracket")
        assert "6 of 7 changes" in screen_text(pilot.app)
        await press(pilot, "escape")
        assert "as it was" not in screen_text(pilot.app)
        assert "5c6d-convention" in titles(pilot)


async def test_nothing_is_written_in_the_past_and_each_key_says_why() -> None:
    port = FakeOrganisation(knowledge())
    async with shown(port) as pilot:
        await on(pilot, "0f1d-policy")
        await press(pilot, "left_square_bracket")
        for key in ("a", "e", "E", "x", "R", "u"):
            pilot.app.clear_notifications()
            await press(pilot, key)
            assert "This is how it was" in toasts(pilot.app), key
            assert "esc goes back to now" in toasts(pilot.app), key
            assert port.acts == []
        dims = screen(pilot).dims
        assert dims("edit")
        assert not dims("copy")
        await press(pilot, "escape")
        assert not dims("edit")


async def test_days_and_weeks_go_back_and_on() -> None:
    port = FakeOrganisation(knowledge())
    async with shown(port) as pilot:
        await press(pilot, "left_curly_bracket")
        assert "as it was 2026-03-13 15:09" in screen_text(pilot.app)
        await press(pilot, "left_parenthesis")
        assert "as it was 2026-03-06 15:09" in screen_text(pilot.app)
        await press(pilot, "right_parenthesis", "right_curly_bracket")
        assert screen(pilot).entries.at is None
        await press(pilot, "right_curly_bracket")
        assert "This is now" in toasts(pilot.app)


async def test_with_the_keys_the_slider_goes_to_its_beginning_and_to_now() -> None:
    async with shown(FakeOrganisation(knowledge())) as pilot:
        screen(pilot).query_one(TimeBar).focus()
        await press(pilot, "home")
        assert "1 of 7 changes" in screen_text(pilot.app)
        await press(pilot, "left")
        assert "This is the beginning" in toasts(pilot.app)
        await press(pilot, "right")
        assert "2 of 7 changes" in screen_text(pilot.app)
        await press(pilot, "end")
        assert screen(pilot).entries.at is None


async def test_a_click_on_the_slider_goes_to_that_part_of_time() -> None:
    async with shown(FakeOrganisation(knowledge())) as pilot:
        line = screen_text(pilot.app).splitlines()[1]
        await pilot.click("#time", offset=(line.index("━"), 0))
        await settle(pilot)
        assert "1 of 7 changes" in screen_text(pilot.app)


async def test_the_cursor_stays_on_its_entry_through_time() -> None:
    async with shown(FakeOrganisation(knowledge())) as pilot:
        await on(pilot, "3e4f-adr")
        await press(pilot, "left_square_bracket", "left_square_bracket")
        row = screen(pilot).entry
        assert row is not None
        assert row.id == "3e4f-adr"


# Filter, search, views


async def test_the_filter_lists_what_matches_and_escape_lists_all() -> None:
    async with shown(FakeOrganisation(knowledge())) as pilot:
        await press(pilot, "slash")
        await type_text(pilot, "kind:adr toml")
        await press(pilot, "enter")
        assert titles(pilot) == ["3e4f-adr"]
        assert "1 of 9 match" in screen_text(pilot.app)
        await press(pilot, "escape")
        assert len(titles(pilot)) == 9


async def test_a_search_lists_the_best_first_without_headings() -> None:
    async with shown(FakeOrganisation(knowledge())) as pilot:
        await press(pilot, "s")
        await type_text(pilot, "push")
        await press(pilot, "enter")
        assert titles(pilot) == ["0f1d-policy", "set-upstream-first-push"]
        assert "best first" in screen_text(pilot.app)
        await press(pilot, "left_square_bracket")
        assert "as it was" in screen_text(pilot.app)
        await press(pilot, "s")
        assert "A search looks at what is in force now" in toasts(pilot.app)


async def test_of_ten_thousand_a_window_is_read_and_the_rest_when_it_is_scrolled_to() -> None:
    port = FakeOrganisation(many(10_000))
    async with shown(port) as pilot:
        assert len(screen(pilot).listed.window.rows) == 300
        assert screen(pilot).listed.row_count == 10_009
        await press(pilot, "G")
        row = screen(pilot).entry
        assert row is not None
        assert row.id == "mem-00002"


async def test_from_the_end_of_a_long_list_the_short_one_of_the_beginning_is_shown() -> None:
    async with shown(FakeOrganisation(many(1000))) as pilot:
        await press(pilot, "G")
        assert screen(pilot).listed.window.offset > 300
        screen(pilot).query_one(TimeBar).focus()
        await press(pilot, "home")
        assert 0 < screen(pilot).listed.row_count < 10
        assert screen(pilot).entry is not None


async def test_views_show_the_changes_and_what_was_refused() -> None:
    port = FakeOrganisation(knowledge())
    why = "Write access denied: agent intern (junior) cannot write to category 'adr'"
    port.turned_down = (RefusedWrite(NOW, "intern", "Use TOML.", why),)
    async with shown(port) as pilot:
        await on(pilot, "0f1d-policy")
        await press(pilot, "c")
        assert "+Open a pull request" in screen_text(pilot.app)
        await press(pilot, "v")
        text = screen_text(pilot.app)
        assert "Refused writes" in text
        assert "intern" in text
        assert "Write access denied" in text
        await press(pilot, "escape")
        assert "Refused writes" not in screen_text(pilot.app)


async def test_the_detail_says_which_calls_of_agents_carried_it() -> None:
    port = FakeOrganisation(knowledge())
    port.given["0f1d-policy"] = (MemoryUse(7, NOW, "codex", "digest", "push the branch", None),)
    async with shown(port) as pilot:
        await on(pilot, "0f1d-policy")
        await until(pilot, lambda: "codex 1 time" in screen_text(pilot.app))


async def test_copying_sends_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    put: Callable[[MemoryDeskApp, str], None] = lambda _app, text: sent.append(text)  # noqa: E731
    monkeypatch.setattr(MemoryDeskApp, "copy_to_clipboard", put)
    async with shown(FakeOrganisation(knowledge())) as pilot:
        await on(pilot, "0f1d-policy")
        await press(pilot, "y")
    assert sent == ["Never push to main.\nOpen a pull request and let CI run first."]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_zoom_gives_the_entry_the_whole_room(size: tuple[int, int]) -> None:
    async with shown(FakeOrganisation(knowledge()), size=size) as pilot:
        await on(pilot, "0f1d-policy")
        await press(pilot, "enter")
        assert "Open a pull request" in screen_text(pilot.app)
        assert not screen(pilot).query_one("#entry-side").display
        await press(pilot, "escape")
        assert screen(pilot).query_one("#entry-side").display

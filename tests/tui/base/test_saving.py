"""What a person typed stays where it was typed until the store has it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.scenarios import Question, Scenario
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.dialogs import HelpScreen, PromptDialog
from synthorg_tui.tui.base.form import CategoryPicker, MemoryForm
from synthorg_tui.tui.digest.screen import DigestScreen
from synthorg_tui.tui.engine_adapter import Change, Draft
from synthorg_tui.tui.memories import dialogs as memory_dialogs
from synthorg_tui.tui.memories.screen import MemoriesScreen
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text

FULL = DomainError("The disk is full.", remedy="Free some space.")
TOLD = "The disk is full. Free some space, then ^s again."


class RefusingDesk(FakeDesk):
    """Refuses to store while ``refusal`` is set; a ``saving`` gate holds the answer back."""

    def __init__(self) -> None:
        super().__init__(rows(6))
        self.refusal: Exception | None = FULL
        self.saving: asyncio.Event | None = None
        self.asked = 0

    async def _answer(self) -> None:
        self.asked += 1
        if self.saving is not None:
            await self.saving.wait()
        if self.refusal is not None:
            raise self.refusal

    async def add(self, draft: Draft) -> str:
        await self._answer()
        return await super().add(draft)

    async def edit(self, memory_id: str, change: Change) -> ListedMemory:
        await self._answer()
        return await super().edit(memory_id, change)


async def write(pilot: Pilot[None]) -> MemoryForm:
    """Write a new memory, up to saving it."""
    await settle(pilot)
    await pilot.press("a")
    form = pilot.app.screen
    assert isinstance(form, MemoryForm)
    form.query_one("#agent", Input).value = "codex"
    form.query_one("#content", TextArea).text = "A long note."
    form.query_one("#tags", Input).value = "lint habit"
    form.query_one("#content").focus()
    await pilot.press("end")
    return form


async def test_a_new_memory_that_is_refused_stays_in_the_form_until_it_is_stored() -> None:
    desk = RefusingDesk()
    app = fake_app(desk)
    async with app.run_test() as pilot:
        form = await write(pilot)
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert app.screen is form
        assert TOLD in screen_text(app)
        assert not toasts(app)
        assert app.focused is form.query_one("#content")
        await type_text(pilot, "More")
        desk.refusal = None
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, MemoriesScreen)
        added = desk.live["new-6"]
        assert (added.agent_id, added.tags) == ("codex", ("lint", "habit"))
        assert sorted(added.content) == sorted("A long note.More")
        assert "Added" in toasts(app)
        await pilot.press("u")
        await settle(pilot)
        assert "new-6" not in desk.live


async def test_what_went_wrong_is_in_view_on_a_small_terminal() -> None:
    app = fake_app(RefusingDesk())
    async with app.run_test() as pilot:
        for size in ((80, 24), (80, 20), (60, 20), (60, 16)):
            await pilot.resize_terminal(*size)
            await write(pilot)
            await pilot.press("ctrl+s")
            await settle(pilot)
            shown = " ".join(screen_text(app).replace("│", " ").split())
            assert "The disk is full. Free some space, then ^s again." in shown, size
            await pilot.press("escape", "escape")
            await settle(pilot)


async def test_an_edit_that_is_refused_stays_in_the_form_until_it_is_stored() -> None:
    desk = RefusingDesk()
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        before = desk.live["mem-00000"]
        await pilot.press("e")
        app.screen.query_one("#content", TextArea).text = "Shorter."
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, MemoryForm)
        assert TOLD in screen_text(app)
        assert app.screen.query_one("#content", TextArea).text == "Shorter."
        desk.refusal = None
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert desk.live["mem-00000"].content == "Shorter."
        assert desk.live["mem-00000"].tags == before.tags
        await pilot.press("u")
        await settle(pilot)
        assert desk.live["mem-00000"].content == before.content


async def test_an_edit_in_the_digest_that_is_refused_stays_in_the_form() -> None:
    desk = RefusingDesk()
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await ask(pilot)
        await pilot.press("e", "Z", "ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, MemoryForm)
        assert TOLD in screen_text(app)
        desk.refusal = None
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, DigestScreen)
        assert any(row.content.startswith("Z") for row in desk.live.values())


async def ask(pilot: Pilot[None]) -> DigestScreen:
    await settle(pilot)
    await pilot.press("2")
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, DigestScreen)
    screen.digest.agent_id = "codex"
    screen.query_one("#task", Input).value = "git push of a branch the index"
    await settle(pilot)
    return screen


async def test_while_it_is_saved_nothing_is_saved_twice_typed_or_left() -> None:
    desk = RefusingDesk()
    desk.refusal, desk.saving = None, asyncio.Event()
    app = fake_app(desk)
    async with app.run_test() as pilot:
        form = await write(pilot)
        await pilot.press("ctrl+s", "ctrl+s", "x", "escape", "escape", "q", "ctrl+s")
        await settle(pilot, held=1)
        assert app.screen is form
        assert "Saving" in screen_text(app)
        assert desk.asked == 1
        desk.saving.set()
        await settle(pilot)
        assert isinstance(app.screen, MemoriesScreen)
        assert desk.asked == 1
        assert len(desk.live) == 7
        assert desk.live["new-6"].content == "A long note."


async def test_after_a_refusal_leaving_asks_again() -> None:
    app = fake_app(RefusingDesk())
    async with app.run_test() as pilot:
        form = await write(pilot)
        await pilot.press("escape", "ctrl+s")
        await settle(pilot)
        await pilot.press("escape")
        assert app.screen is form
        assert "Not saved. esc again gives it up" in screen_text(app)
        await pilot.press("escape")
        assert isinstance(app.screen, MemoriesScreen)


async def test_any_error_is_shown_in_full_and_with_nothing_it_could_do_to_the_terminal() -> None:
    desk = RefusingDesk()
    desk.refusal = ValueError("\x1b[31m[red]" + "a very long reason " * 8 + "end of it")
    app = fake_app(desk)
    async with app.run_test(size=(100, 40)) as pilot:
        form = await write(pilot)
        form.query_one(CategoryPicker).focus()
        await pilot.press("ctrl+s")
        await settle(pilot)
        shown = screen_text(app)
        assert app.screen is form
        assert "ValueError: ␛[31m[red]a very long" in shown
        assert "end of it ^s tries again." in " ".join(shown.replace("│", " ").split())
        assert "\x1b" not in shown


async def test_a_form_that_was_covered_while_it_was_saved_closes_once_it_is_seen() -> None:
    desk = RefusingDesk()
    desk.refusal, desk.saving = None, asyncio.Event()
    app = fake_app(desk)
    async with app.run_test() as pilot:
        form = await write(pilot)
        await pilot.press("ctrl+s")
        app.push_screen(HelpScreen(("form",)))
        await settle(pilot, held=1)
        desk.saving.set()
        await settle(pilot)
        assert isinstance(app.screen, HelpScreen)
        assert form in app.screen_stack
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, MemoriesScreen)
        assert "Added" in toasts(app)


async def test_a_text_from_the_editor_that_is_refused_is_there_the_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk, shown = RefusingDesk(), list[str]()
    app = fake_app(desk)

    def edit(_app: object, text: str) -> str:
        shown.append(text)
        return text if text.startswith("Mine") else f"Mine: {text}"

    monkeypatch.setattr(memory_dialogs, "edit_text", edit)
    async with app.run_test() as pilot:
        await settle(pilot)
        before = desk.live["mem-00000"].content
        await pilot.press("E")
        await settle(pilot)
        assert toasts(app) == "The disk is full. Free some space. E goes on where you were."
        desk.refusal = None
        for _ in range(2):
            await pilot.press("E")
            await settle(pilot)
        assert shown == [before, f"Mine: {before}", f"Mine: {before}"]
        assert desk.live["mem-00000"].content == f"Mine: {before}"
        assert desk.asked == 2


class TestPrompts:
    """A prompt keeps its line in the same way."""

    async def test_a_name_of_an_export_that_exists_can_be_mended(self, tmp_path: Path) -> None:
        taken = tmp_path / "notes.md"
        taken.write_text("mine")
        app = fake_app(FakeDesk(rows(6)))
        async with app.run_test(size=(200, 40)) as pilot:
            await settle(pilot)
            await self._answer(pilot, "ctrl+s", str(taken))
            assert isinstance(app.screen, PromptDialog)
            told = " ".join(screen_text(app).replace("│", " ").split())
            assert "exists. Choose another name, then ↵ again." in told
            app.screen.query_one("#answer", Input).value = str(tmp_path / "other.md")
            await pilot.press("enter")
            await settle(pilot)
            assert isinstance(app.screen, MemoriesScreen)
            assert (tmp_path / "other.md").exists()
            assert "Wrote 6 memories" in toasts(app)
        assert taken.read_text() == "mine"

    async def test_a_budget_that_is_no_number_can_be_mended(self) -> None:
        app = fake_app()
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await ask(pilot)
            await self._answer(pilot, "b", "much")
            assert isinstance(app.screen, PromptDialog)
            assert '"much" isn\'t a number; try 800 or 2k' in screen_text(app)
            app.screen.query_one("#answer", Input).value = "2k"
            await pilot.press("enter")
            await settle(pilot)
            assert isinstance(app.screen, DigestScreen)
            assert screen.digest.budget == 2000

    async def test_a_scenario_that_cannot_be_saved_keeps_its_name(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk = FakeDesk(rows(40))
        save: Callable[[str, Question], Awaitable[Scenario]] = desk.digests.save_scenario
        refusals = [FULL]

        async def refuse_once(name: str, asked: Question) -> Scenario:
            if refusals:
                raise refusals.pop()
            return await save(name, asked)

        monkeypatch.setattr(desk.digests, "save_scenario", refuse_once)
        app: MemoryDeskApp = fake_app(desk)
        async with app.run_test(size=(120, 40)) as pilot:
            await ask(pilot)
            await self._answer(pilot, "ctrl+s", "pushing")
            assert isinstance(app.screen, PromptDialog)
            assert "The disk is full. Free some space, then ↵ again." in screen_text(app)
            await pilot.press("enter")
            await settle(pilot)
            assert isinstance(app.screen, DigestScreen)
            assert list(desk.digests.saved) == ["pushing"]
            assert "Saved pushing" in toasts(app)

    async def _answer(self, pilot: Pilot[None], key: str, answer: str) -> None:
        await pilot.press(key)
        await settle(pilot)
        pilot.app.screen.query_one("#answer", Input).value = answer
        await pilot.press("enter")
        await settle(pilot)

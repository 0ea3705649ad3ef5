"""A transcript is read: calls on one line, the rest at a key, the place one came for marked."""

import json
import re

import pytest
from textual.pilot import Pilot

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.errors import DomainError
from synthorg_tui.executions.conversation import EntryKind, conversation_of
from synthorg_tui.executions.models import Execution
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.memories.screen import MemoriesScreen
from synthorg_tui.tui.sessions.conversation_lines import TranscriptText
from synthorg_tui.tui.sessions.transcript import TranscriptScreen, TranscriptView
from tests.tui.sessions.sessions_fakes import PUSH_FAILED, FakeSessions, execution, sessions
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text

SESSION = "claude_code:3f2a0000"


def text_of(**options: object) -> TranscriptText:
    return TranscriptText(conversation_of(execution(SESSION)), **options)  # type: ignore[arg-type]


def plain_of(text: TranscriptText) -> str:
    return "\n".join(row.plain for row in text.lines)


def number_of(text: TranscriptText, head: str) -> int:
    entries = text.conversation.entries
    return next(at for at, entry in enumerate(entries) if entry.head.startswith(head))


def long_execution(entries: int) -> Execution:
    """A session with so many calls, and as many lines of hooks between them."""
    recorded = execution(SESSION)
    calls = tuple(
        recorded.calls[0].model_copy(
            update={"id": f"c{at}", "call_line": 4 * at + 1, "result_line": 4 * at + 2}
        )
        for at in range(entries)
    )
    return recorded.model_copy(update={"turns": (), "calls": calls, "line_count": 4 * entries})


async def read(pilot: Pilot[None], ref: str = SESSION) -> TranscriptScreen:
    await settle(pilot)
    app = pilot.app
    assert isinstance(app, MemoryDeskApp)
    app.maker.show_session(ref)
    await settle(pilot)
    screen = app.screen
    assert isinstance(screen, TranscriptScreen)
    return screen


class TestLines:
    """A conversation as lines."""

    def test_who_speaks_stands_above_and_a_bar_beside_all_of_it(self) -> None:
        lines = text_of().lines
        at = [row.plain for row in lines].index(" ▌ agent  14:02")
        said = lines[at + 1]
        assert said.plain.startswith(" ▌ I'll look at the remote")
        assert "".join(part for part, _ in said.edge) == " ▌ "

    def test_a_call_is_one_line_and_a_failure_has_its_reason_below(self) -> None:
        shown = plain_of(text_of())
        assert " ▸ Bash git status --short\n" in shown
        assert " ▸ Bash git push\n   ✗ exit 128: " in shown
        assert "no upstream branch" in shown
        assert "src/retry.py" not in shown

    def test_hooks_are_one_line_and_no_record_is_bare(self) -> None:
        shown = plain_of(text_of())
        assert re.findall(r"· \d+ hook (?:and|or) bookkeeping records?", shown)
        assert "text" not in shown.split("\n")

    def test_an_unfolded_call_shows_its_output_until_it_is_folded(self) -> None:
        text = text_of()
        before = plain_of(text)
        number = number_of(text, "Bash git status")
        text.unfold(number, " M src/retry.py")
        assert "▾ Bash git status --short\n   │  M src/retry.py" in plain_of(text)
        text.fold(number)
        assert plain_of(text) == before

    def test_all_calls_are_unfolded_at_once_and_everything_is_folded_again(self) -> None:
        text = text_of()
        before = plain_of(text)
        text.turn_all(unfolded=True)
        assert text.all_unfolded
        assert "git push --set-upstream origin retries" in plain_of(text)
        text.turn_all(unfolded=False)
        assert plain_of(text) == before

    @pytest.mark.parametrize(("named", "marked"), [((10, 19), 3), ((11, 11), 2), ((6, 7), 0)])
    def test_the_lines_referred_to_are_marked(self, named: tuple[int, int], marked: int) -> None:
        lines = [row.plain for row in text_of(named=named).lines]
        assert sum(row.startswith("┃") for row in lines) == marked

    def test_the_next_failure_goes_round(self) -> None:
        text = text_of()
        failed = text.failure_after(0)
        assert failed is not None
        entry = text.entry(failed)
        assert entry is not None
        assert entry.outcome is CallOutcome.FAILED
        assert text.failure_after(failed) == failed

    def test_a_line_leads_to_its_entry_and_back(self) -> None:
        text = text_of()
        for number in range(len(text.conversation.entries)):
            assert text.entry_of(text.line_of(number)) == number


class TestReading:
    """The screen."""

    async def test_the_source_of_a_memory_opens_where_it_was_drawn_from(self) -> None:
        app = fake_app(FakeDesk(rows(6)))
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot)
            await pilot.press("p")
            await settle(pilot)
            assert "lines 10–14" in screen_text(app)
            assert "┃▸ Bash git push" in screen_text(app)
            entry = app.screen.query_one(TranscriptView).entry
            assert entry is not None
            assert entry.first_line == 10
            await pilot.press("escape")
            await settle(pilot)
            assert isinstance(app.screen, MemoriesScreen)

    async def test_the_caption_says_on_which_line_one_is(self) -> None:
        app = fake_app()
        async with app.run_test(size=(120, 40)) as pilot:
            await read(pilot)
            await pilot.press("G")
            await settle(pilot)
            assert "line 22 of 22" in screen_text(app)
            await pilot.press("g")
            await settle(pilot)
            assert "line 1 of 22" in screen_text(app)

    @pytest.mark.parametrize("key", ["enter", "space"])
    async def test_a_key_unfolds_the_output_of_a_call_and_folds_it(self, key: str) -> None:
        app = fake_app()
        async with app.run_test(size=(120, 40)) as pilot:
            await read(pilot)
            await pilot.press("F", key)
            await settle(pilot)
            assert "│ fatal: The current branch retries has no upstream" in screen_text(app)
            await pilot.press(key)
            await settle(pilot)
            assert "│ fatal" not in screen_text(app)

    async def test_what_the_record_cut_is_read_from_the_lines_when_it_is_unfolded(self) -> None:
        desk = FakeDesk(rows(6))
        recorded = execution(SESSION)
        whole = f"{PUSH_FAILED}and the rest of what was printed"
        cut = {"output": f"{PUSH_FAILED}… [cut] …"}
        calls = [call.model_copy(update=cut) for call in recorded.calls]
        desk.sessions.executions[SESSION] = recorded.model_copy(update={"calls": tuple(calls)})
        desk.sessions.line = json.dumps({"output": whole})
        app = fake_app(desk)
        async with app.run_test(size=(120, 40)) as pilot:
            await read(pilot)
            assert not desk.sessions.bodies_read
            await pilot.press("F", "enter")
            await settle(pilot)
            assert desk.sessions.bodies_read == [11]
            assert "│ and the rest of what was printed" in screen_text(app)

    async def test_folded_records_are_shown_as_they_are_stored(self) -> None:
        app = fake_app()
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await read(pilot)
            entries = screen.view.transcript.conversation.entries if screen.view.transcript else ()
            kinds = [entry.kind for entry in entries]
            screen.view.go_to(kinds.index(EntryKind.FOLDED, 2))
            await pilot.press("enter")
            await settle(pilot)
            assert '│ {"type": "progress", "hook": "PreToolUse"}' in screen_text(app)

    async def test_a_key_shows_an_entry_as_it_is_in_the_file(self) -> None:
        app = fake_app()
        async with app.run_test(size=(120, 40)) as pilot:
            await read(pilot)
            await pilot.press("F", "v")
            await settle(pilot)
            assert '│ 10  {"type": "progress"' in screen_text(app)

    async def test_z_unfolds_all_and_the_search_then_finds_what_was_printed(self) -> None:
        app = fake_app()
        async with app.run_test(size=(120, 40)) as pilot:
            await read(pilot)
            await pilot.press("slash")
            await type_text(pilot, "retry.py")
            await settle(pilot)
            assert "no match, z unfolds all" in screen_text(app)
            await pilot.press("enter", "z")
            await settle(pilot)
            assert "1 of 1" in screen_text(app)

    async def test_what_is_copied_is_what_is_under_the_cursor(self) -> None:
        app = fake_app()
        async with app.run_test(size=(120, 40)) as pilot:
            await read(pilot)
            await pilot.press("F", "y")
            await settle(pilot)
            assert app.clipboard.startswith("fatal: The current branch retries")

    async def test_a_click_puts_the_cursor_on_a_call_and_another_unfolds_it(self) -> None:
        app = fake_app()
        async with app.run_test(size=(120, 40)) as pilot:
            await read(pilot)
            y = next(at for at, row in enumerate(screen_text(app).split("\n")) if "status" in row)
            for _ in range(2):
                await pilot.click(offset=(12, y))
                await settle(pilot)
            assert "│  M src/retry.py" in screen_text(app)

    async def test_a_session_that_isnt_stored_says_so(self) -> None:
        app = fake_app()
        async with app.run_test(size=(120, 40)) as pilot:
            await read(pilot, "claude_code:gone#L4-L9")
            assert "This session isn't in the store" in screen_text(app)
            await pilot.press("enter", "z", "f", "l", "y", "v", "G", "k", "ctrl+d", "slash")
            await settle(pilot)

    async def test_an_error_is_told_with_its_remedy(self) -> None:
        desk = FakeDesk(rows(6))
        desk.sessions.error = DomainError("The store can't be read.", remedy="Run doctor.")
        app = fake_app(desk)
        async with app.run_test(size=(120, 40)) as pilot:
            await read(pilot)
            assert "Run doctor." in screen_text(app)

    async def test_without_lines_referred_to_l_says_so(self) -> None:
        app = fake_app()
        async with app.run_test(size=(120, 40)) as pilot:
            await read(pilot)
            await pilot.press("L")
            assert "this is the whole session" in toasts(app)


class TestGoingOn:
    """A session that grows while it is read."""

    async def grown(self, pilot: Pilot[None], desk: FakeDesk, key: str) -> TranscriptScreen:
        desk.sessions.executions[SESSION] = long_execution(50)
        screen = await read(pilot)
        await pilot.press(key, "enter")
        await settle(pilot)
        desk.sessions.executions[SESSION] = long_execution(60)
        await settle(pilot)
        await screen.look_again()
        await settle(pilot)
        return screen

    async def test_who_is_at_the_end_stays_there(self) -> None:
        desk = FakeDesk(rows(6))
        app = fake_app(desk)
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await self.grown(pilot, desk, "G")
            assert screen.view.is_at_end
            assert "of 240" in screen_text(app)

    async def test_who_is_elsewhere_stays_there_with_what_is_unfolded(self) -> None:
        desk = FakeDesk(rows(6))
        app = fake_app(desk)
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await self.grown(pilot, desk, "g")
            assert screen.view.entry_number == 0
            assert "line 1 of 240" in screen_text(app)
            assert screen.view.transcript is not None
            assert screen.view.transcript.is_unfolded(0)


async def test_the_end_of_a_long_session_is_a_key_away() -> None:
    desk = FakeDesk(rows(6))
    desk.sessions = FakeSessions(sessions(2))
    desk.sessions.executions[SESSION] = long_execution(5_000)
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await read(pilot)
        await pilot.press("G")
        assert screen.view.is_at_end
        await settle(pilot)
        assert "line 19,999 of 20,000" in screen_text(app)
        await pilot.press("ctrl+u", "k")
        await settle(pilot)
        assert screen.view.text.is_measured
        assert not screen.view.is_at_end

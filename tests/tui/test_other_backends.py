"""Each screen with a backend that isn't the local one: it works, or says what to choose."""

from pathlib import Path

import pytest

from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.engine_host import LocalEngineHost
from synthorg_tui.tui.memories.changes import PersonChanges
from tests.tui.tui_fakes import FakeDesk, rows
from tests.tui.tui_helpers import screen_text, until

CHOOSE = "Set memory.backend to local."
SCREENS = {
    "2": ("No agent has memories yet",),
    "3": ("The skills can't be shown", CHOOSE),
    "4": ("The queue can't be shown", CHOOSE),
    "5": ("No agent has called yet",),
    "6": ("The sessions can't be shown", CHOOSE),
    "7": ("which knowledge of projects needs", CHOOSE),
    "8": ("can't be shown", CHOOSE),
    "ampersand": ("No agent ran here yet",),
}


def text_of(app: MemoryDeskApp) -> str:
    """The text on the screen, none while that is being laid out."""
    try:
        return screen_text(app)
    except AssertionError:
        return ""


async def test_each_screen_works_or_says_what_to_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SYNTHORG__MEMORY__BACKEND", "inmemory")
    data = tmp_path / "data"
    app = MemoryDeskApp(LocalEngineHost(data_dir=data), data_dir=data)
    async with app.run_test(size=(120, 40)) as pilot:

        async def shown(*words: str) -> None:
            await until(pilot, lambda: all(each in text_of(app) for each in words))

        await shown("How to begin")
        await pilot.press("e")
        await shown("No memories yet")
        for key, words in SCREENS.items():
            await pilot.press(key)
            await shown(*words)
            if key in {"7", "ampersand"}:
                await pilot.press("escape")


@pytest.mark.parametrize(
    ("final", "told"), [(True, "Deleted 1 memory for good"), (False, "brings back")]
)
async def test_what_is_deleted_for_good_is_said_to_be(final: bool, told: str) -> None:
    changes, desk = PersonChanges(), FakeDesk(rows(1))
    changes.final = final
    assert told in await changes.delete(desk, [rows(1)[0].id])

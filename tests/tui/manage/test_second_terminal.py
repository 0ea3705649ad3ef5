"""A second app beside the one that owns the store shows everything and changes nothing."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.engine_adapter import Draft, EngineAdapter
from synthorg_tui.tui.engine_host import SharingHost
from tests import patience
from tests.tui.tui_helpers import screen_text, toasts, until

DRAFT = Draft("codex", MemoryCategory.PROCEDURAL, "Push with an upstream.", ("git",))


@pytest.fixture(autouse=True)
def _a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)


@asynccontextmanager
async def owner(data_dir: Path) -> AsyncIterator[tuple[SharingHost, EngineAdapter]]:
    """The first app's host, listening, with one memory."""
    host = SharingHost(data_dir=data_dir)
    try:
        desk = await host.open()
        await desk.add(DRAFT)
        await patience.until((data_dir / "owner.sock").exists)
        yield host, desk
    finally:
        await host.close()


def beside(data_dir: Path) -> MemoryDeskApp:
    return MemoryDeskApp(SharingHost(data_dir=data_dir), data_dir=data_dir)


async def test_it_lists_what_is_there_and_says_who_has_the_store(tmp_path: Path) -> None:
    async with owner(tmp_path) as (_, desk), beside(tmp_path).run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "Push with an upstream." in screen_text(pilot.app))
        badge = r"read-only: open in another terminal \(.+, since \d\d:\d\d\)"
        await until(pilot, lambda: re.search(badge, screen_text(pilot.app)))
        await pilot.press("d", "y")
        await until(pilot, lambda: "Read-only here" in toasts(pilot.app))
        assert (await desk.facets()).total == 1


async def test_it_takes_the_store_over_when_the_other_leaves(tmp_path: Path) -> None:
    async with owner(tmp_path) as (first, _):
        app = beside(tmp_path)
        async with app.run_test(size=(120, 30)) as pilot:
            await until(pilot, lambda: "read-only" in screen_text(app))
            looking = app.maker.desk
            assert looking is not None
            with pytest.raises(DomainError, match="Read-only here"):
                await looking.add(DRAFT)
            await first.close()
            await until(pilot, lambda: app.maker.desk is not looking)
            desk = app.maker.desk
            assert desk is not None
            assert await desk.add(Draft("codex", MemoryCategory.SEMANTIC, "Written here now."))
            await until(pilot, lambda: "read-only" not in screen_text(app))
            await until(pilot, lambda: DRAFT.content in screen_text(app))


async def test_a_digest_is_previewed_there_and_the_doctor_says_why_not(tmp_path: Path) -> None:
    async with owner(tmp_path), beside(tmp_path).run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "read-only" in screen_text(pilot.app))
        await pilot.press("f4")
        await until(pilot, lambda: "This terminal is read-only" in screen_text(pilot.app))
        await pilot.press("escape", "2", "slash", *"push", "enter")
        await until(pilot, lambda: "1 in" in screen_text(pilot.app))

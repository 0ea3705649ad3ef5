"""Two people's apps on one server: what one decides leaves the other's screen; a cut is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic

import psycopg
import pytest
import yaml

from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.engine_host import LocalEngineHost
from tests.curation.review_kit import lesson
from tests.patience import PATIENCE
from tests.postgres_server import PostgresServer
from tests.tui.tui_helpers import AFTER_A_KEY, at_rest, screen_text
from tests.wiring.shared_kit import engine_of, propose

TITLE = "Push with an upstream"


@asynccontextmanager
async def app_of(
    person: str, url: str, folder: Path, **approvals: object
) -> AsyncIterator[MemoryDeskApp]:
    """The app of one person, as it is opened with a settings file of theirs, at the approvals."""
    folder.mkdir()
    config = folder / "company.yaml"
    settings = {
        "persistence": {"backend": "postgres", "url": url},
        "approvals": {"person": person} | approvals,
    }
    config.write_text(yaml.safe_dump(settings), "utf-8")
    host = LocalEngineHost(data_dir=folder / "data", config_path=config)
    app = MemoryDeskApp(host, data_dir=folder / "data")
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(app, "Start empty")
        await pilot.press("e")
        await pilot.press("4")
        yield app


def text_of(app: MemoryDeskApp) -> str:
    """What is on the screen; nothing while one makes room for another."""
    try:
        return screen_text(app)
    except AssertionError:
        return ""


async def shown(app: MemoryDeskApp, *words: str, within: float = PATIENCE) -> float:
    """Wait until one of these is on the screen; the seconds that it took."""
    begun = monotonic()
    while not any(each in text_of(app) for each in words):
        assert monotonic() < begun + within, text_of(app)
        await asyncio.sleep(0.02)
    return monotonic() - begun


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


async def proposed(url: str, folder: Path) -> str:
    async with engine_of("nobody", url, folder) as engine:
        return await propose(engine, lesson("a: b", discovery=TITLE, name="push"))


async def listening(url: str, count: int) -> None:
    """Wait until so many connections have asked to be told of what others write."""
    asked = "query LIKE 'LISTEN %' OR query = 'SELECT 1'"  # the first, and the looks after it
    end = monotonic() + PATIENCE
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        while True:
            found = await connection.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {asked}")
            row = await found.fetchone()
            if row is not None and row[0] >= count:
                return
            assert monotonic() < end, row
            await asyncio.sleep(0.02)


async def test_a_proposal_approved_in_one_app_leaves_the_other(
    postgres_url: str, tmp_path: Path
) -> None:
    item_id = await proposed(postgres_url, tmp_path / "engine")
    async with (
        app_of("ada", postgres_url, tmp_path / "ada") as ada,
        app_of("bob", postgres_url, tmp_path / "bob") as bob,
    ):
        for app in (ada, bob):
            await shown(app, TITLE)
            await shown(app, "●1")
        await listening(postgres_url, 2)
        desk = ada.maker.desk
        assert desk is not None
        review = await desk.approvals.review(item_id)
        await desk.approvals.approve(item_id, review.shown)
        end = monotonic() + PATIENCE
        while TITLE in text_of(bob) or "●1" in text_of(bob):
            assert monotonic() < end, text_of(bob)
            await asyncio.sleep(0.02)
        assert (await desk.approvals.trail(item_id))[-1].actor == "ada (tui)"


async def test_who_may_not_decide_is_told_who_may(postgres_url: str, tmp_path: Path) -> None:
    await proposed(postgres_url, tmp_path / "engine")
    roles = [{"people": ["paul"]}]
    async with app_of("eva", postgres_url, tmp_path / "eva", roles=roles) as app:
        await shown(app, TITLE)
        app.simulate_key("enter")
        await shown(app, "eva may not decide about proposals of", "paul may")
        app.screen.run_worker(app.screen.run_action("approve"))
        await shown(app, "paul may")
        assert "paul may" in text_of(app)


async def test_a_lost_connection_is_shown_and_what_was_typed_stays(
    postgres_server: PostgresServer,
    postgres_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("synthorg_tui.persistence.postgres.link.PATIENCE", 0.5)
    async with app_of("ada", postgres_url, tmp_path / "ada") as app:
        postgres_server.stop(crash=True)
        try:
            await shown(app, "database away since")
        finally:
            postgres_server.start()
        end = monotonic() + PATIENCE
        while "database away since" in text_of(app):
            assert monotonic() < end
            await asyncio.sleep(0.05)
        await press(app, "1", "a", *"me", "tab", "tab", *"typed")
        postgres_server.stop(crash=True)
        try:
            await press(app, "ctrl+s")
            await shown(app, "doesn't answer")
            assert "typed" in text_of(app)
        finally:
            postgres_server.start()
        await press(app, "ctrl+s")
        await shown(app, "1 memory")
        await shown(app, "typed")


async def press(app: MemoryDeskApp, *keys: str) -> None:
    """Type keys, each once the one before was taken."""
    for key in keys:
        app.simulate_key(key)
        await at_rest(AFTER_A_KEY)

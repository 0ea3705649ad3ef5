"""What of the places changes is told, whatever the system tells of it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import watchfiles._rust_notify

from synthorg_tui.ingest import watching
from synthorg_tui.ingest.watching import PlaceWatcher, transcripts_in
from tests.patience import until


@asynccontextmanager
async def told(*places: Path) -> AsyncIterator[list[Path]]:
    """What is told of these places while the block runs."""
    stop, paths = asyncio.Event(), list[Path]()
    begun = asyncio.Event()

    async def listen() -> None:
        async for changed in PlaceWatcher(lambda: places).changes(stop):
            paths.extend(changed)
            begun.set()

    task = asyncio.create_task(listen())
    await begun.wait()
    yield paths
    stop.set()
    await task


async def test_a_file_deep_in_a_place_is_told(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    async with told(tmp_path) as paths:
        (deep / "c.jsonl").write_text("{}\n")
        await until(lambda: deep / "c.jsonl" in paths)


async def test_where_no_folder_can_be_watched_places_are_looked_at_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = watchfiles._rust_notify.RustNotify

    def scarce(folders: Sequence[str], *more: Any) -> Any:
        if folders:
            raise OSError(28, "no watches left")
        return known([], *more)

    monkeypatch.setattr(watchfiles._rust_notify, "RustNotify", scarce)
    monkeypatch.setattr(watching, "WITHOUT_WATCHES", 1)
    monkeypatch.setattr(watching, "LOOK_MS", 100)
    async with told(tmp_path) as paths:
        await until(lambda: tmp_path in paths)


async def test_a_single_file_and_its_log_are_looked_at(tmp_path: Path) -> None:
    database = tmp_path / "x.db"
    async with told(database) as paths:
        database.write_text("1")
        await until(lambda: database in paths)
        paths.clear()
        (tmp_path / "x.db-wal").write_text("2")
        await until(lambda: database in paths)


async def test_a_folder_that_was_made_anew_is_watched_again(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    async with told(place) as paths:
        place.rmdir()
        await until(lambda: place in paths)
        paths.clear()
        place.mkdir()
        await until(lambda: place in paths)
        (place / "a.jsonl").write_text("{}\n")
        await until(lambda: place / "a.jsonl" in paths)


def test_what_belongs_to_a_session_stands_for_it(tmp_path: Path) -> None:
    conversation = tmp_path / "conversations" / "c1"
    (conversation / "events").mkdir(parents=True)
    event = conversation / "events" / "event-00001.json"
    for path in (conversation / "base_state.json", event, tmp_path / "sessions.db"):
        path.write_text("{}")
    changed = frozenset({event, tmp_path / "sessions.db-wal", tmp_path / "gone.jsonl"})
    assert transcripts_in(changed) == (conversation / "base_state.json", tmp_path / "sessions.db")

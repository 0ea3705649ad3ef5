"""What models were used for, in the store's database."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.usage import UsageStore, UsageTotal
from synthorg_tui.providers.completion.usage import UsageRecord
from tests.conftest import FixedClock


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[UsageStore]:
    database = Database.in_dir(tmp_path)
    await database.open()
    yield UsageStore(database)
    await database.close()


async def test_records_are_summed_up_by_model_from_a_moment_on(
    store: UsageStore, clock: FixedClock
) -> None:
    for hours, model in ((0, "small"), (2, "small"), (2, "big"), (3, "big")):
        at = clock.now() + timedelta(hours=hours)
        await store.add(UsageRecord(at, model, 100, 10, 1.5, 0.25))
    since = clock.now() + timedelta(hours=2)
    assert await store.since(since) == (
        UsageTotal("big", 2, 200, 20, 3.0, 0.5),
        UsageTotal("small", 1, 100, 10, 1.5, 0.25),
    )
    assert await store.tokens_since(since) == 330
    assert await store.tokens_since(since + timedelta(hours=5)) == 0


async def test_what_other_programs_used_is_no_part_of_the_daily_limit(
    store: UsageStore, clock: FixedClock
) -> None:
    await store.add(UsageRecord(clock.now(), "opus", 1000, 100, 1.0, provider="claude"))
    await store.add(UsageRecord(clock.now(), "small", 10, 1, 1.0, provider="gguf"))
    assert await store.tokens_since(clock.now()) == 11
    assert len(await store.since(clock.now())) == 2

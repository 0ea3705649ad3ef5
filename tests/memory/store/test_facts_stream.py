"""A stream of fact updates, some of them late: the store gives the true one, everywhere."""

from pathlib import Path

import pytest

from benchmarks.fact_updates import WAYS, measure, report, stream
from tests.conftest import FixedClock
from tests.memory.store.store_kit import opened
from tests.soak import points

UPDATES = points(36, 600)


@pytest.mark.soak
async def test_a_stale_fact_is_never_given_and_none_is_lost(
    tmp_path: Path, clock: FixedClock
) -> None:
    updates = list(stream(UPDATES))
    async with opened(tmp_path, clock=clock) as backend:
        tally = await measure(backend, updates, batch=18)

    assert not report(tally, updates).missed
    assert all(tally.current[way] for way in WAYS)


def test_the_stream_has_updates_that_come_late() -> None:
    updates = list(stream(UPDATES))

    assert [update.at for update in updates] != sorted(update.at for update in updates)

"""Whatever is archived, deleted, restored, undone and redone: every memory can be had back."""

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from synthorg_tui.memory.extensions import BrowseFilter
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.rows import STATE_FIELDS, StoredMemory, with_state
from tests.conftest import FixedClock
from tests.memory.store.store_kit import AGENT, opened, request
from tests.soak import points

ME = "ada (tui)"
TEXTS = ("alpha", "béta\r\n\x00 end ", "γ " * 50)
LISTS = (
    BrowseFilter(),
    BrowseFilter(deleted=True),
    BrowseFilter(states=("archived",)),
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["archive", "remove", "restore", "undo", "redo"]),
        st.sets(st.integers(0, len(TEXTS) - 1), min_size=1),
    ),
    max_size=12,
)


async def rows_of(store: LocalMemoryBackend, ids: list[str]) -> dict[str, StoredMemory]:
    return await store.core.read(lambda db: queries.rows_by_id(db, ids))


def bare(row: StoredMemory) -> StoredMemory:
    """The row without its state and revision."""
    return with_state(row._replace(revision=0), dict.fromkeys(STATE_FIELDS))


def states(rows: dict[str, StoredMemory]) -> dict[str, tuple[object, ...]]:
    """What each is: also when it was archived, but not when it was deleted last."""
    return {
        key: (row.deleted_at is not None, row.archived_at, row.archived_why, row.expires_at)
        for key, row in rows.items()
    }


class Bench(NamedTuple):
    """One store for all examples, each with memories of its own."""

    store: LocalMemoryBackend
    clock: FixedClock
    runner: asyncio.Runner


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    clock = FixedClock()
    opening = opened(tmp_path_factory.mktemp("archive"), clock=clock)
    with asyncio.Runner() as runner:
        yield Bench(runner.run(opening.__aenter__()), clock, runner)
        runner.run(opening.__aexit__(None, None, None))


async def play(bench: Bench, steps: list[tuple[str, set[int]]]) -> None:
    store, clock = bench.store, bench.clock
    clock.advance(minutes=1)
    ids = [await store.store(AGENT, request(text.replace("\x00", ""))) for text in TEXTS]
    originals = {key: bare(row) for key, row in (await rows_of(store, ids)).items()}
    seen = [states(await rows_of(store, ids))]
    for name, chosen in steps:
        clock.advance(minutes=1)
        if name in ("undo", "redo"):
            step = store.admin.undo if name == "undo" else store.admin.redo
            if await step(actor=ME):
                assert states(await rows_of(store, ids)) in seen
            continue
        act = getattr(store.admin, name)
        if await act([ids[number] for number in sorted(chosen)], actor=ME):
            seen.append(states(await rows_of(store, ids)))
    lists = [{row.id for row in (await store.admin.browse(what)).entries} for what in LISTS]
    assert [sum(key in one for one in lists) for key in ids] == [1] * len(ids)
    clock.advance(minutes=1)
    await store.admin.restore(ids, actor=ME)
    assert {key: bare(row) for key, row in (await rows_of(store, ids)).items()} == originals
    live = {row.id for row in (await store.admin.browse(LISTS[0])).entries}
    assert live.issuperset(ids)
    assert {key async for key in (await store.core.indexed()).index.ids()} == live


@pytest.mark.soak
@settings(
    max_examples=points(6, 200),
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(STEPS)
def test_every_original_comes_back_byte_for_byte(
    bench: Bench, steps: list[tuple[str, set[int]]]
) -> None:
    bench.runner.run(play(bench, steps))

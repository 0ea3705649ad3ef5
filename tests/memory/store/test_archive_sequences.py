"""Whatever is archived, deleted, restored, undone and redone: every memory can be had back."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from synthorg_tui.memory.extensions import BrowseFilter
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.rows import STATE_FIELDS, StoredMemory
from tests.conftest import FixedClock
from tests.memory.store.store_kit import AGENT, opened, request

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
    return row._replace(revision=0, **dict.fromkeys(STATE_FIELDS))


def states(rows: dict[str, StoredMemory]) -> dict[str, tuple[object, ...]]:
    return {key: tuple(getattr(row, name) for name in STATE_FIELDS) for key, row in rows.items()}


async def play(folder: Path, steps: list[tuple[str, set[int]]]) -> None:
    clock = FixedClock()
    async with opened(folder, clock=clock) as store:
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
        listed = [row.id for what in LISTS for row in (await store.admin.browse(what)).entries]
        assert sorted(listed) == sorted(ids), "each is in exactly one list"
        clock.advance(minutes=1)
        await store.admin.restore(ids, actor=ME)
        assert {key: bare(row) for key, row in (await rows_of(store, ids)).items()} == originals
        assert sorted(row.id for row in (await store.admin.browse(LISTS[0])).entries) == sorted(ids)
        projection = await store.core.indexed()
        assert await projection.index.count() == len(ids)


@settings(max_examples=12, deadline=None)
@given(STEPS)
def test_every_original_comes_back_byte_for_byte(steps: list[tuple[str, set[int]]]) -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), steps))

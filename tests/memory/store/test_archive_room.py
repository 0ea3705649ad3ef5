"""A full memory makes room: the least useful goes to the archive, in one order."""

from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.consolidation.eviction import eviction_key
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.memory.extensions import (
    BrowseFilter,
    MemoryBundle,
    MemoryDraft,
    MemoryEdit,
    NewMemory,
)
from synthorg_tui.memory.store.policy import StorePolicy
from synthorg_tui.memory.store.room import EVICTION_SQL
from tests.conftest import FixedClock
from tests.memory.store.store_kit import AGENT, contents, draft, opened, request

ARCHIVED = BrowseFilter(states=("archived",))
ME = "ada (tui)"
KINDS = (
    request("fact", tags=("fact:port",)),
    request("pinned", tags=("pinned",)),
    request("core diary", tags=("session", "core")),
    request("[DISCOVERY] lesson", category=MemoryCategory.PROCEDURAL),
    request("note"),
    request("task", tags=("task",)),
    request("commit", tags=("commit", "git")),
    request("knowledge", tags=("knowledge",)),
)


def full_at(limit: int, *, makes_room: bool = True) -> StorePolicy:
    return StorePolicy(max_memories_per_agent=limit, makes_room=makes_room)


async def test_the_order_in_the_database_is_the_documented_one(
    tmp_path: Path, clock: FixedClock
) -> None:
    async with opened(tmp_path, clock=clock) as store:
        for confidence, minutes in ((1.0, 1), (0.4, 1), (0.4, 0)):
            for asked in KINDS:
                clock.advance(minutes=minutes)
                metadata = asked.metadata.model_copy(update={"confidence": confidence})
                await store.store(AGENT, asked.model_copy(update={"metadata": metadata}))
        ids = await store.core.read(
            lambda db: db.execute(
                "SELECT m.id::VARCHAR FROM memories m WHERE m.archived_at IS NULL "
                f"ORDER BY {EVICTION_SQL}"
            ).fetchall()
        )
        everything = (await store.admin.browse(BrowseFilter())).entries
        assert [key for (key,) in ids] == [row.id for row in sorted(everything, key=eviction_key)]


async def test_storing_into_a_full_memory_archives_the_least_useful(
    tmp_path: Path, clock: FixedClock
) -> None:
    async with opened(tmp_path, clock=clock, policy=full_at(len(KINDS))) as store:
        for asked in KINDS:
            clock.advance(minutes=1)
            await store.store(AGENT, asked)
        assert (await store.admin.browse(ARCHIVED)).total == 0
        for text in ("one more", "two more", "three more"):
            clock.advance(minutes=1)
            await store.store(AGENT, request(text))
        left = (await store.admin.browse(ARCHIVED)).entries
        assert {row.content for row in left} == {"task", "commit", "note"}
        assert {row.archived_why for row in left} == {"room"}
        assert await store.count(AGENT) == len(KINDS)


async def test_an_import_makes_room_and_the_order_of_importing_does_not_matter(
    tmp_path: Path, clock: FixedClock
) -> None:
    now = clock.now()
    drafts = [
        draft(f"day {day}", f"k{day}", created_at=now - timedelta(days=day)) for day in range(6)
    ]
    kept = []
    for number, order in enumerate((drafts, drafts[::-1])):
        folder = tmp_path / str(number)
        async with opened(folder, clock=clock, policy=full_at(3)) as store:
            for first in (0, 2, 4):
                outcome = await store.store_many(AGENT, order[first : first + 2], actor="import")
                assert len(outcome.added) == 2
            kept.append(sorted(contents((await store.admin.browse(BrowseFilter())).entries)))
            assert (await store.admin.browse(ARCHIVED)).total == 3
    assert kept == [["day 0", "day 1", "day 2"]] * 2


async def test_a_batch_larger_than_the_memory_leaves_it_full(tmp_path: Path) -> None:
    async with opened(tmp_path, policy=full_at(2)) as store:
        drafts = [draft(f"text {n}", f"k{n}") for n in range(5)]
        outcome = await store.store_many(AGENT, drafts, actor="import")
        assert (len(outcome.added), outcome.skipped) == (5, ())
        assert (await store.count(AGENT), (await store.admin.browse(ARCHIVED)).total) == (2, 3)


async def test_what_a_person_pinned_never_leaves(tmp_path: Path) -> None:
    async with opened(tmp_path, policy=full_at(2)) as store:
        for text in ("one", "two"):
            await store.store(AGENT, request(text, tags=("pinned",)))
        with pytest.raises(MemoryStoreError, match="2 memories already"):
            await store.store(AGENT, request("three"))
        outcome = await store.store_many(AGENT, [draft("three", "k")], actor="import")
        assert outcome.skipped == (("k", "the agent's memory is full"),)
        assert (await store.admin.browse(ARCHIVED)).total == 0


async def test_an_agents_flood_pushes_out_only_its_own(tmp_path: Path, clock: FixedClock) -> None:
    by_person = MemoryDraft(request=request("a person's note"), source_kind=SourceKind.OPERATOR)
    async with opened(tmp_path, clock=clock, policy=full_at(4)) as store:
        await store.store_many(AGENT, [by_person], actor=ME)
        await store.store(AGENT, request("pinned by a person", tags=("pinned",)))
        chosen = await store.store(AGENT, request("chosen", tags=("pinned", "origin:agent")))
        await store.admin.edit(chosen, MemoryEdit(tags=("origin:agent",)), actor=ME)
        await store.admin.edit(chosen, MemoryEdit(tags=("pinned", "origin:agent")), actor=ME)
        for number in range(6):
            clock.advance(minutes=1)
            await store.store(AGENT, request(f"flood {number}", tags=("pinned", "origin:agent")))
        live = contents((await store.admin.browse(BrowseFilter())).entries)
        assert sorted(live) == ["a person's note", "chosen", "flood 5", "pinned by a person"]


async def test_a_person_may_push_out_an_older_note_of_his_own(
    tmp_path: Path, clock: FixedClock
) -> None:
    async with opened(tmp_path, clock=clock, policy=full_at(2)) as store:
        for text in ("first", "second", "third"):
            clock.advance(minutes=1)
            note = MemoryDraft(request=request(text), source_kind=SourceKind.OPERATOR)
            await store.store_many(AGENT, [note], actor=ME)
        assert contents((await store.admin.browse(ARCHIVED)).entries) == ["first"]


async def test_what_made_room_can_be_restored_and_then_counts_again(tmp_path: Path) -> None:
    async with opened(tmp_path, policy=full_at(1)) as store:
        first = await store.store(AGENT, request("one"))
        await store.store(AGENT, request("two"))
        await store.admin.restore([first], actor=ME)
        assert await store.count(AGENT) == 2
        await store.store(AGENT, request("three"))
        assert await store.count(AGENT) == 1


async def test_a_memory_is_full_at_its_limit_however_memories_came_into_it(tmp_path: Path) -> None:
    async with opened(tmp_path, policy=full_at(6, makes_room=False)) as store:
        first = await store.store(AGENT, request("one"))
        await store.admin.remove([first], actor=ME)
        for text in ("two", "three"):
            await store.store(AGENT, request(text))
        await store.admin.restore([first], actor=ME)
        await store.store_many(AGENT, [draft("four"), draft("five")], actor="import")
        await store.store("bob", request("of another agent"))
        await store.store(AGENT, request("six"))
        with pytest.raises(MemoryStoreError, match="6 memories already"):
            await store.store(AGENT, request("seven"))
        await store.delete(AGENT, first)
        last = await store.store(AGENT, request("seven"))
        assert await store.count(AGENT) == 6
        await store.delete(AGENT, last)
    async with opened(tmp_path, policy=full_at(6, makes_room=False)) as store:
        await store.store(AGENT, request("eight"))
        with pytest.raises(MemoryStoreError, match="6 memories already"):
            await store.store(AGENT, request("nine"))


async def test_a_refused_change_leaves_the_count_as_it_was(tmp_path: Path) -> None:
    async with opened(tmp_path, policy=full_at(3, makes_room=False)) as store:
        kept = [await store.store(AGENT, request(text)) for text in ("one", "two")]

        def refuse(_db: object, _outcome: object) -> None:
            raise MemoryStoreError("refused")

        swap = MemoryBundle(
            remove=tuple(kept),
            add=(NewMemory(agent_id=AGENT, draft=draft("other")),),
        )
        with pytest.raises(MemoryStoreError, match="refused"):
            await store.admin.change_together(swap, refuse, actor=ME)
        await store.store(AGENT, request("three"))
        with pytest.raises(MemoryStoreError, match="3 memories already"):
            await store.store(AGENT, request("four"))


async def test_what_a_clock_set_back_brings_to_life_again_is_counted(
    tmp_path: Path, clock: FixedClock
) -> None:
    soon = clock.now() + timedelta(hours=1)
    async with opened(tmp_path, clock=clock, policy=full_at(2, makes_room=False)) as store:
        await store.store(AGENT, request("brief", expires_at=soon))
        await store.store(AGENT, request("brief too", expires_at=soon))
        clock.advance(hours=2)
        await store.store(AGENT, request("lasting"))
        clock.advance(hours=-2)
        with pytest.raises(MemoryStoreError, match="2 memories already"):
            await store.store(AGENT, request("one too many"))

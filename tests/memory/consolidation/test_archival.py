"""What is archived is found, belongs to one agent, and comes back by its id as it was."""

from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.consolidation.archival import ArchivalStore, Departures
from synthorg_tui.memory.consolidation.models import ArchivalMode, ConsolidationResult
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from tests.memory.consolidation.consolidation_kit import AGENT, TODAY, InMemoryArchivalStore, entry

EXTRACTIVE = ArchivalMode.EXTRACTIVE


async def archived(*entries: MemoryEntry) -> tuple[InMemoryArchivalStore, list[str]]:
    store = InMemoryArchivalStore()
    departures = Departures(InMemoryBackend(), store)
    for one in entries:
        assert await departures.archived(one, EXTRACTIVE)
    removed = dict.fromkeys(one.id for one in entries)
    told = departures.told(ConsolidationResult(removed_ids=tuple(removed)))
    return store, [one.archival_id for one in told.archival_index]


async def test_a_memory_comes_back_by_its_id_as_it_was() -> None:
    store, (archival_id,) = await archived(entry("a", "Alpha", tags=("x",), days=3))
    found = await store.restore(AGENT, archival_id)
    assert found is not None
    assert (found.original_id, found.content, found.metadata.tags) == ("a", "Alpha", ("x",))
    assert found.archived_at >= TODAY
    assert found.archival_mode is EXTRACTIVE
    assert isinstance(store, ArchivalStore)


async def test_another_agent_finds_restores_and_counts_nothing() -> None:
    store, (archival_id,) = await archived(entry("a"))
    assert await store.restore("bob", archival_id) is None
    assert await store.search("bob", MemoryQuery()) == ()
    assert (await store.count(AGENT), await store.count("bob")) == (1, 0)
    assert await store.restore(AGENT, "unknown") is None


async def test_a_search_filters_as_a_backend_does_and_begins_with_the_newest() -> None:
    store, _ = await archived(
        entry("a", "Alpha one", days=2, tags=("x",)), entry("b", "alpha two"), entry("c", "beta")
    )
    found = await store.search(AGENT, MemoryQuery(text="ALPHA"))
    assert [one.original_id for one in found] == ["b", "a"]
    assert [e.original_id for e in await store.search(AGENT, MemoryQuery(tags=("x",)))] == ["a"]
    assert len(await store.search(AGENT, MemoryQuery(limit=1))) == 1


async def test_archiving_twice_keeps_one_under_the_same_id() -> None:
    store, ids = await archived(entry("a", "first"), entry("a", "second"))
    assert await store.count(AGENT) == 1
    assert len(set(ids)) == 1


async def test_a_failure_is_told_and_not_in_the_index() -> None:
    class Full(InMemoryArchivalStore):
        async def archive(self, entry: object) -> str:
            raise OSError("full")

    departures = Departures(InMemoryBackend(), Full())
    assert not await departures.archived(entry("a"), EXTRACTIVE)
    assert departures.told(ConsolidationResult(removed_ids=("a",))).archival_index == ()

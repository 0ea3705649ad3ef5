"""A person publishes memories of one agent to all, and withdraws them again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from synthorg_tui.approvals.person import Person
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.errors import MemoryNotFoundError, MemoryStoreError
from synthorg_tui.memory.listing import SHARED_OWNER, BrowseFilter
from synthorg_tui.memory.models import MemoryEdit, MemoryMetadata, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from tests.memory.store.store_kit import opened

PERSON = str(Person("tui"))
OTHER = str(Person("terminal"))
TEXT = "The staging database listens on port 6543."


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path) as backend:
        yield backend


async def stored(store: LocalMemoryBackend, content: str = TEXT) -> str:
    request = MemoryStoreRequest(
        category=MemoryCategory.SEMANTIC,
        content=content,
        metadata=MemoryMetadata(tags=(f"fact:{content[:6]}",), confidence=0.8),
    )
    return await store.store("ada", request)


async def given(store: LocalMemoryBackend, agent: str, text: str = TEXT) -> list[tuple[str, bool]]:
    """Ids of what an agent would be given, each with whether it is shared."""
    found = await store.candidates(agent, MemoryQuery(text=text), include_shared=True)
    return [(hit.entry.id, hit.is_shared) for hit in found.hits if hit.entry.content == text]


async def test_publishing_gives_a_copy_to_all_others_and_leaves_the_memory_as_it_was(
    store: LocalMemoryBackend,
) -> None:
    own = await stored(store)
    before = await store.get("ada", own)
    (copy,) = await store.admin.publish([own], actor=PERSON)
    assert await given(store, "bob") == [(copy, True)]
    assert await store.get("ada", own) == before
    (entry,) = await store.search_shared(MemoryQuery(text=TEXT))
    assert (entry.agent_id, entry.content) == ("ada", TEXT)


async def test_its_agent_is_not_told_the_same_twice(store: LocalMemoryBackend) -> None:
    own = await stored(store)
    await store.admin.publish([own], actor=PERSON)
    assert await given(store, "ada") == [(own, False)]


async def test_what_is_published_is_published_once(store: LocalMemoryBackend) -> None:
    own = await stored(store)
    (copy,) = await store.admin.publish([own, own], actor=PERSON)
    assert await store.admin.publish([own, copy], actor=PERSON) == ()


async def test_a_published_fact_replaces_no_fact_of_its_agent(store: LocalMemoryBackend) -> None:
    own = await stored(store)
    await store.admin.publish([own], actor=PERSON)
    (entry,) = await store.admin.entries([own])
    assert entry.archived_at is None


@pytest.mark.parametrize("names_copy", [True, False])
async def test_retracting_takes_the_copy_from_all_and_leaves_its_agent_its_own(
    store: LocalMemoryBackend, names_copy: bool
) -> None:
    own = await stored(store)
    (copy,) = await store.admin.publish([own], actor=PERSON)
    named = copy if names_copy else own
    assert await store.admin.retract([named], actor=PERSON) == (copy,)
    assert await given(store, "bob") == []
    assert await given(store, "ada") == [(own, False)]
    assert (await store.admin.retract([own], actor=PERSON)) == ()


async def test_what_an_agent_published_itself_can_be_retracted_and_brought_back(
    store: LocalMemoryBackend,
) -> None:
    request = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=TEXT)
    shared = await store.publish("ada", request)
    assert await store.admin.retract([shared], actor=PERSON) == (shared,)
    assert await given(store, "bob") == []
    await store.admin.undo(actor=PERSON)
    assert await given(store, "bob") == [(shared, True)]


async def test_what_was_retracted_can_be_published_anew(store: LocalMemoryBackend) -> None:
    own = await stored(store)
    (first,) = await store.admin.publish([own], actor=PERSON)
    await store.admin.retract([own], actor=PERSON)
    (second,) = await store.admin.publish([own], actor=PERSON)
    assert first != second
    assert await given(store, "bob") == [(second, True)]


async def test_undo_takes_all_copies_of_one_act_back_and_redo_publishes_them_again(
    store: LocalMemoryBackend,
) -> None:
    ids = [await stored(store, f"Port {port} is for staging.") for port in (1, 2)]
    copies = await store.admin.publish(ids, actor=PERSON)
    undone = await store.admin.undo(actor=PERSON)
    assert undone is not None
    assert set(undone.memory_ids) == set(copies)
    assert await given(store, "bob", "Port 1 is for staging.") == []
    await store.admin.redo(actor=PERSON)
    assert await given(store, "bob", "Port 1 is for staging.") == [(copies[0], True)]


async def test_the_history_tells_who_published_and_who_retracted(
    store: LocalMemoryBackend,
) -> None:
    own = await stored(store)
    (copy,) = await store.admin.publish([own], actor=PERSON)
    await store.admin.retract([copy], actor=OTHER)
    told = [(each.kind.value, each.actor) for each in await store.admin.history(copy)]
    assert told == [("deleted", OTHER), ("added", PERSON)]
    assert [each.actor for each in await store.admin.history(own)] == ["ada"]


async def test_an_unknown_or_deleted_memory_is_neither_published_nor_retracted(
    store: LocalMemoryBackend,
) -> None:
    own = await stored(store)
    await store.admin.remove([own], actor=PERSON)
    for act in (store.admin.publish, store.admin.retract):
        with pytest.raises(MemoryNotFoundError):
            await act([own], actor=PERSON)
        with pytest.raises(MemoryNotFoundError):
            await act(["nonsense"], actor=PERSON)


async def test_one_that_cannot_be_published_keeps_all_from_it(store: LocalMemoryBackend) -> None:
    own = await stored(store)
    with pytest.raises(MemoryNotFoundError):
        await store.admin.publish([own, "nonsense"], actor=PERSON)
    assert await given(store, "bob") == []


async def test_an_edit_of_the_memory_leaves_what_was_published(store: LocalMemoryBackend) -> None:
    own = await stored(store)
    (copy,) = await store.admin.publish([own], actor=PERSON)
    await store.admin.edit(own, MemoryEdit(content="Another port."), actor=PERSON)
    (entry,) = await store.admin.entries([copy])
    assert entry.content == TEXT


@pytest.mark.parametrize("is_retracted", [True, False])
async def test_erasing_a_memory_erases_what_was_published_of_it(
    store: LocalMemoryBackend, is_retracted: bool
) -> None:
    own = await stored(store)
    (copy,) = await store.admin.publish([own], actor=PERSON)
    if is_retracted:
        await store.admin.retract([copy], actor=PERSON)
    await store.admin.purge([own], actor=PERSON)
    assert await store.admin.entries([own, copy], deleted=True) == ()


async def test_erasing_what_was_published_leaves_the_memory_itself(
    store: LocalMemoryBackend,
) -> None:
    own = await stored(store)
    (copy,) = await store.admin.publish([own], actor=PERSON)
    await store.admin.purge([copy], actor=PERSON)
    assert await given(store, "ada") == [(own, False)]


async def test_a_listing_tells_what_is_shared_and_can_ask_for_it(
    store: LocalMemoryBackend,
) -> None:
    own = await stored(store)
    (copy,) = await store.admin.publish([own], actor=PERSON)
    page = await store.admin.browse(BrowseFilter(states=("shared",)))
    assert [(entry.id, entry.shared) for entry in page.entries] == [(copy, True)]
    every = await store.admin.browse(BrowseFilter())
    assert {entry.id: entry.shared for entry in every.entries} == {own: False, copy: True}


async def test_what_belongs_to_all_agents_was_published_by_nobody_and_stays(
    store: LocalMemoryBackend,
) -> None:
    own = await stored(store)
    (known,) = await store.admin.publish([own], actor=PERSON)
    await store.core.database.write(
        lambda db: db.execute(
            "UPDATE memories SET agent_id = ? WHERE id = ?", [SHARED_OWNER, known]
        )
    )
    with pytest.raises(MemoryStoreError, match="no one published it"):
        await store.admin.retract([known], actor=PERSON)
    assert len(await store.admin.entries([known])) == 1

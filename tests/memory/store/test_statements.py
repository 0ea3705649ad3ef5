"""Which of several statements of one thing agents are given: the last word of who may say it."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.memory.enums import EdgeKind, SourceKind
from synthorg_tui.memory.extensions import MemoryDraft, MemoryEdit
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryQuery
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.edges import MemoryEdge, edges_of
from tests.conftest import FixedClock
from tests.memory.store.store_kit import AGENT, opened, request

PERSON = "eva (tui)"
OLD, NEW = "The relay port is 1111.", "The relay port is 2222 now, no longer 1111."
THIRD = "The relay port is 3333."


@pytest.fixture
async def store(tmp_path: Path, clock: FixedClock) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, clock=clock) as backend:
        yield backend


async def keep(
    store: LocalMemoryBackend,
    content: str,
    day: int,
    *,
    tags: Sequence[str] = ("said", "remember"),
    by: SourceKind = SourceKind.IMPORT,
    project: str = "/work/shop",
    agent: str = AGENT,
    category: MemoryCategory = MemoryCategory.SEMANTIC,
) -> str:
    at = store.core.clock.now() + timedelta(days=day - 30)
    draft = MemoryDraft(
        request=request(content, tags=tuple(tags), category=category),
        key=f"{agent}|{project}|{content}|{category}",
        created_at=at,
        project=project,
        level=MemoryLevel.PROJECT,
        source_kind=by,
        session_id=f"s{day}",
    )
    (added,) = (await store.store_many(agent, [draft], actor=PERSON)).added
    return added


async def given(
    store: LocalMemoryBackend, project: str = "/work/shop", text: str = "relay port"
) -> list[str]:
    view = store.scoped(Visibility(session_id=None, project=project))
    query = MemoryQuery(text=text, limit=20)
    found = await view.candidates(AGENT, query, include_shared=False)
    return sorted(hit.entry.content for hit in found.hits)


async def test_the_last_word_holds_and_the_older_one_has_an_end(store: LocalMemoryBackend) -> None:
    older, _ = await keep(store, OLD, 1), await keep(store, NEW, 3)

    assert await given(store) == [NEW]
    (row,) = await store.admin.entries([older], deleted=True)
    assert (row.archived_why, row.valid_to) == (
        "superseded",
        store.core.clock.now() - timedelta(days=27),
    )


async def test_the_order_of_reading_them_changes_nothing(store: LocalMemoryBackend) -> None:
    await keep(store, THIRD, 5)
    older, _ = await keep(store, OLD, 1), await keep(store, NEW, 3)

    assert await given(store) == [THIRD]
    (row,) = await store.admin.entries([older], deleted=True)
    assert row.valid_to == store.core.clock.now() - timedelta(days=27)


async def test_it_holds_again_when_the_newer_one_is_deleted(store: LocalMemoryBackend) -> None:
    _, newer, last = (
        await keep(store, OLD, 1),
        await keep(store, NEW, 3),
        await keep(store, THIRD, 5),
    )

    await store.admin.remove([newer], actor=PERSON)
    assert await given(store) == [THIRD]
    await store.admin.remove([last], actor=PERSON)
    assert await given(store) == [OLD]
    await store.admin.restore([newer], actor=PERSON)
    assert await given(store) == [NEW]
    await store.admin.purge([newer], actor=PERSON)
    assert await given(store) == [OLD]


async def test_it_holds_again_when_the_newer_one_is_edited_to_say_something_else(
    store: LocalMemoryBackend,
) -> None:
    _, newer = await keep(store, OLD, 1), await keep(store, NEW, 3)

    edit = MemoryEdit(content="The proxy port is 2222.")
    await store.admin.edit(newer, edit, actor=PERSON)

    assert await given(store) == ["The proxy port is 2222.", OLD]


async def test_what_a_person_restores_holds_beside_the_newer_one_for_good(
    store: LocalMemoryBackend,
) -> None:
    older, newer = await keep(store, OLD, 1), await keep(store, NEW, 3)

    await store.admin.restore([older], actor=PERSON)
    assert await given(store) == [OLD, NEW]
    await store.admin.remove([newer], actor=PERSON)
    await store.admin.restore([newer], actor=PERSON)
    assert await given(store) == [OLD, NEW]


@pytest.mark.parametrize(
    ("newer", "old"),
    [
        ({"project": "/work/other"}, {}),
        ({"agent": "bob"}, {}),
        ({"tags": ("note",)}, {}),
        ({}, {"by": SourceKind.OPERATOR}),
        ({}, {"category": MemoryCategory.PROCEDURAL, "tags": ("skill",)}),
        ({}, {"tags": ("fact:relay-port",)}),
    ],
    ids=["project", "agent", "an agent's note", "written here", "skill", "fact"],
)
async def test_nobody_takes_back_what_is_not_theirs(
    store: LocalMemoryBackend, newer: dict[str, object], old: dict[str, object]
) -> None:
    older = await keep(store, OLD, 1, **old)  # type: ignore[arg-type]
    await keep(store, NEW, 3, **newer)  # type: ignore[arg-type]

    (row,) = await store.admin.entries([older], deleted=True)
    assert row.archived_at is None


async def test_an_agents_other_word_is_marked_at_both_ends(store: LocalMemoryBackend) -> None:
    older, newer = await keep(store, OLD, 1), await keep(store, THIRD, 3, tags=("note",))

    assert sorted(text.split(") ")[1] for text in await given(store)) == [OLD, THIRD]
    assert all(text.startswith("(contradicts ") for text in await given(store))
    edges = await store.core.read(lambda db: edges_of(db, [older]))
    assert edges == (MemoryEdge(newer, older, EdgeKind.CONTRADICTS),)


async def test_a_clock_ahead_gives_no_last_word(
    store: LocalMemoryBackend, clock: FixedClock
) -> None:
    await keep(store, OLD, 4_000)
    clock.advance(days=1)
    await keep(store, NEW, 30)

    assert await given(store) == [NEW]


async def test_a_story_is_given_without_what_was_replaced(store: LocalMemoryBackend) -> None:
    story = f"{OLD.rstrip('.')} \u2192 changed a.py\nAsked: \u201cRemember: {OLD} Fix it.\u201d"
    await keep(store, story, 1, tags=("session",), category=MemoryCategory.EPISODIC)
    await keep(store, f"Remember: {OLD}", 1)
    await keep(store, NEW, 3)

    told, other = await given(store)
    assert "1111" not in told
    assert told.count("(until 2025-12-05, replaced)") == 2
    assert other == NEW


async def test_a_note_of_several_things_loses_only_the_one_that_changed(
    store: LocalMemoryBackend,
) -> None:
    await keep(store, f"{OLD} Logs go to /var/log/relay.", 1)
    await keep(store, NEW, 3)

    note = next(text for text in await given(store) if text != NEW)
    assert "1111" not in note
    assert "/var/log/relay" in note


async def test_looking_back_finds_what_held_then(store: LocalMemoryBackend) -> None:
    await keep(store, OLD, 1)
    await keep(store, NEW, 3)
    now, query = store.core.clock.now(), MemoryQuery(text="relay port", limit=9)

    for day, told in ((0, []), (2, [OLD]), (4, [NEW])):
        found = await store.admin.find(query, as_of=now + timedelta(days=day - 30))
        assert [hit.content for hit in found.hits] == told

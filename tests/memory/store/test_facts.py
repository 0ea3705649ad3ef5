"""Facts under one key: the newest holds, a person's is never replaced by an agent's."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.memory.enums import EdgeKind, SourceKind
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.memory.extensions import MemoryBundle, MemoryDraft
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.listing import BrowseFilter
from synthorg_tui.memory.models import MemoryEdit, MemoryQuery
from synthorg_tui.memory.retrieval.tags import FactKey
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.edges import MemoryEdge, add_edges, edges_of
from synthorg_tui.persistence.database import Database
from tests.conftest import FixedClock
from tests.memory.store.store_kit import AGENT, opened, request
from tests.tables import rows

PERSON = "person (terminal)"


@pytest.fixture
async def store(tmp_path: Path, clock: FixedClock) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, clock=clock) as backend:
        yield backend


async def keep(
    store: LocalMemoryBackend,
    content: str,
    *,
    key: str = "port",
    day: int = 0,
    agent: str = AGENT,
    by: SourceKind = SourceKind.TOOL,
    project: str | None = None,
) -> str:
    """Store a fact that was told on a day."""
    draft = MemoryDraft(
        request=request(content, tags=(f"fact:{key}",)),
        created_at=datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=day),
        source_kind=by,
        project=project,
        level=MemoryLevel.PROJECT if project else MemoryLevel.PERSISTENT,
    )
    outcome = await store.store_many(agent, [draft], actor=PERSON)
    return outcome.added[0]


async def given(store: LocalMemoryBackend, text: str = "port", agent: str = AGENT) -> list[str]:
    found = await store.retrieve(agent, MemoryQuery(text=text, limit=20))
    listed = await store.retrieve(agent, MemoryQuery(limit=20))
    assert {entry.id for entry in found} <= {entry.id for entry in listed}
    return sorted(entry.content for entry in listed)


async def archived(store: LocalMemoryBackend, memory_id: str) -> str | None:
    (entry,) = await store.admin.entries([memory_id], deleted=True)
    return entry.archived_why


async def edges(data_dir: Path, *ids: str) -> set[MemoryEdge]:
    database = Database.in_dir(data_dir)
    await database.open()
    try:
        return set(await database.read(lambda db: edges_of(db, list(ids))))
    finally:
        await database.close()


class TestWriting:
    async def test_a_newer_fact_archives_the_older(self, store: LocalMemoryBackend) -> None:
        old = await keep(store, "port 80", day=1)
        new = await keep(store, "port 9000", day=2)

        assert await given(store) == ["port 9000"]
        assert (await archived(store, old), await archived(store, new)) == ("superseded", None)

    async def test_an_update_that_comes_late_does_not_win(self, store: LocalMemoryBackend) -> None:
        new = await keep(store, "port 9000", day=3)
        late = await keep(store, "port 80", day=1)
        between = await keep(store, "port 443", day=2)

        assert await given(store) == ["port 9000"]
        assert [await archived(store, key) for key in (new, late, between)] == [
            None,
            "superseded",
            "superseded",
        ]
        (first,) = await store.admin.entries([late], deleted=True)
        assert first.valid_to == datetime(2020, 1, 3, tzinfo=UTC)

    @pytest.mark.parametrize(
        "other",
        [
            {"key": "host"},
            {"key": "port@shop"},
            {"key": "port?in-ci"},
            {"agent": "bob"},
            {"project": "/b"},
        ],
    )
    async def test_another_subject_project_condition_or_owner_is_another_fact(
        self, store: LocalMemoryBackend, other: dict[str, str]
    ) -> None:
        old = await keep(store, "port 80", day=1)
        await keep(store, "port 9000", day=2, **other)  # type: ignore[arg-type]

        assert await archived(store, old) is None

    async def test_an_agents_fact_never_replaces_what_a_person_wrote(
        self, store: LocalMemoryBackend
    ) -> None:
        said = await keep(store, "port 80", day=1, by=SourceKind.OPERATOR)
        await keep(store, "port 9000", day=2)

        assert await archived(store, said) is None
        assert await given(store) == ["port 80", "port 9000"]

    async def test_a_persons_fact_replaces_an_agents(self, store: LocalMemoryBackend) -> None:
        old = await keep(store, "port 80", day=1)
        await keep(store, "port 9000", day=2, by=SourceKind.OPERATOR)

        assert await archived(store, old) == "superseded"

    async def test_an_agents_fact_that_a_person_edited_is_the_persons(
        self, store: LocalMemoryBackend
    ) -> None:
        said = await keep(store, "port 80", day=1)
        await store.admin.edit(said, MemoryEdit(content="port 81"), actor=PERSON)
        await keep(store, "port 9000", day=2)

        assert await given(store) == ["port 81", "port 9000"]

    async def test_giving_a_note_a_key_settles_it_as_well(self, store: LocalMemoryBackend) -> None:
        old = await keep(store, "port 80", day=1)
        note = await keep(store, "port 9000", key="other", day=2)
        await store.admin.edit(note, MemoryEdit(fact_key="port"), actor=PERSON)

        assert await archived(store, old) == "superseded"

    async def test_restoring_a_replaced_fact_leaves_the_newer_in_force(
        self, store: LocalMemoryBackend
    ) -> None:
        old = await keep(store, "port 80", day=1)
        new = await keep(store, "port 9000", day=2)
        await store.admin.restore([old], actor=PERSON)
        (entry,) = await store.admin.entries([old])

        assert (entry.archived_why, entry.valid_to) == (None, None)
        assert await given(store) == ["port 9000"]
        await store.admin.remove([new], actor=PERSON)
        assert await given(store) == ["port 80"]


class TestEdges:
    async def test_the_newer_supersedes_the_older_and_an_agents_contradicts_a_persons(
        self, tmp_path: Path, clock: FixedClock
    ) -> None:
        async with opened(tmp_path, clock=clock) as store:
            old = await keep(store, "port 80", day=1)
            new = await keep(store, "port 9000", day=2)
            said = await keep(store, "port 1", key="host", day=1, by=SourceKind.OPERATOR)
            other = await keep(store, "port 2", key="host", day=2)

        assert await edges(tmp_path, old, said) == {
            MemoryEdge(new, old, EdgeKind.SUPERSEDES),
            MemoryEdge(other, said, EdgeKind.CONTRADICTS),
        }


async def test_a_project_sees_the_newest_of_its_own_and_of_all(store: LocalMemoryBackend) -> None:
    await keep(store, "port 80", day=1)
    await keep(store, "port 9000", day=1, project="/b")
    await keep(store, "port 9001", day=2, project="/b")
    view = store.scoped(Visibility(session_id="s", project="/b"))

    found = await view.retrieve(AGENT, MemoryQuery(limit=9))

    assert sorted(entry.content for entry in found) == ["port 80", "port 9001"]


@rows(
    ("text", "key"),
    [
        ("port", FactKey("port")),
        ("port@shop", FactKey("port", "shop")),
        ("port?in-ci", FactKey("port", "", "in-ci")),
        (" Port @shop?in-ci", FactKey("Port", "shop", "in-ci")),
    ],
)
def test_a_key_may_name_a_project_and_a_condition(text: str, key: FactKey) -> None:
    assert FactKey.parse(text) == key
    assert key.identity == FactKey.parse(text.upper().replace("SHOP", "shop")).identity


class TestAsOf:
    async def found(self, store: LocalMemoryBackend, at: datetime) -> list[str]:
        query = MemoryQuery(text="which port", limit=9)
        return [hit.content for hit in (await store.admin.find(query, as_of=at)).hits]

    async def test_it_finds_the_fact_that_held_then(
        self, store: LocalMemoryBackend, clock: FixedClock
    ) -> None:
        await store.store(AGENT, request("port 80", tags=("fact:port",)))
        first = clock.now()
        clock.advance(days=2)
        await store.store(AGENT, request("port 9000", tags=("fact:port",)))

        assert await self.found(store, first - timedelta(days=1)) == []
        assert await self.found(store, first + timedelta(days=1)) == ["port 80"]
        assert await self.found(store, clock.now()) == ["port 9000"]

    async def test_what_was_learnt_later_was_not_known_then(
        self, store: LocalMemoryBackend, clock: FixedClock
    ) -> None:
        await keep(store, "port 80", day=1)
        then = clock.now()
        clock.advance(days=2)
        await keep(store, "port 9000", day=2)

        assert await self.found(store, then) == ["port 80"]

    async def test_a_note_is_found_until_it_was_deleted(
        self, store: LocalMemoryBackend, clock: FixedClock
    ) -> None:
        note = await store.store(AGENT, request("port 80", tags=()))
        then = clock.now()
        clock.advance(days=2)
        await store.admin.remove([note], actor=PERSON)

        assert await self.found(store, then) == ["port 80"]
        assert await self.found(store, clock.now()) == []


class TestTimes:
    async def test_a_fact_is_given_only_while_it_is_true(
        self, store: LocalMemoryBackend, clock: FixedClock
    ) -> None:
        fact = await keep(store, "port 80", day=1)
        start, end = clock.now() + timedelta(days=1), clock.now() + timedelta(days=2)
        times = MemoryEdit(valid_from=start, valid_to=end)
        await store.admin.edit(fact, times, actor=PERSON)

        assert await given(store) == []
        clock.current = start
        assert await given(store) == ["port 80"]
        clock.current = end
        assert await given(store) == []

    async def test_setting_them_can_be_undone(
        self, store: LocalMemoryBackend, clock: FixedClock
    ) -> None:
        fact = await keep(store, "port 80", day=1)
        await store.admin.edit(fact, MemoryEdit(valid_to=clock.now()), actor=PERSON)
        await store.admin.undo(actor=PERSON)

        assert (await store.admin.entries([fact]))[0].valid_to is None

    async def test_a_note_has_none_and_an_end_comes_after_its_beginning(
        self, store: LocalMemoryBackend, clock: FixedClock
    ) -> None:
        note = await store.store(AGENT, request("a note", tags=()))
        fact = await keep(store, "port 80", day=1)
        now = clock.now()

        for key, times in (
            (note, MemoryEdit(valid_to=now)),
            (fact, MemoryEdit(valid_from=now, valid_to=now)),
        ):
            with pytest.raises(MemoryStoreError):
                await store.admin.edit(key, times, actor=PERSON)


async def test_what_stands_on_a_replaced_fact_is_marked_until_it_is_restored(
    store: LocalMemoryBackend, clock: FixedClock
) -> None:
    old = await keep(store, "port 80", day=1)
    built = await store.store(AGENT, request("open port 80 in the firewall", tags=()))
    edge = MemoryEdge(built, old, EdgeKind.DEPENDS_ON)
    await store.admin.change_together(
        MemoryBundle(),
        lambda db, _: add_edges(db, [edge], made_at=datetime(2026, 1, 1), made_by="me"),
        actor="me",
    )

    async def mark() -> datetime | None:
        (entry,) = await store.admin.lookup(built)
        page = await store.admin.browse(BrowseFilter())
        assert entry in page.entries
        return entry.stands_on_replaced

    assert await mark() is None
    await keep(store, "port 9000", day=2)
    assert await mark() == clock.now()
    await store.admin.restore([old], actor=PERSON)
    assert await mark() is None

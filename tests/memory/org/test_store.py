"""The log of organisation memory, and what it comes to."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.extensions import BundleOutcome, MemoryBundle, NewMemory
from synthorg_tui.memory.org.errors import OrgMemoryQueryError, OrgMemoryWriteError
from synthorg_tui.memory.org.store import (
    MAX_FACT_CHARS,
    MAX_FACT_TAGS,
    MAX_TAG_CHARS,
    OrgAct,
    OrgStore,
)
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from tests.conftest import FixedClock
from tests.memory.org.org_kit import PERSON, SENIOR, ever_written, fact, in_force, publish, retract
from tests.memory.store.store_kit import draft, opened

ME = OrgAct("person (tui)")
UNKNOWN = "7f8a2d5e-0000-4000-8000-000000000000"
CLOCK = FixedClock()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backend(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalMemoryBackend]:
    folder: Path = tmp_path_factory.mktemp("org")
    async with opened(folder, clock=CLOCK) as local:
        yield local


@pytest.fixture
def store(backend: LocalMemoryBackend) -> OrgStore:
    CLOCK.advance(hours=1)
    return OrgStore(backend.core)


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def write(store: OrgStore, content: str = "We deploy on Mondays.", **fields: object) -> str:
    request = fact(content).model_copy(update=fields)
    (applied,) = await store.change([publish(request)], ME)
    return applied.fact_id


async def edit(store: OrgStore, fact_id: str, content: str) -> None:
    CLOCK.advance(minutes=1)
    await store.change([publish(fact(content), fact_id)], ME)


async def test_versions_count_the_lines_of_their_fact_from_one(store: OrgStore) -> None:
    first, other = await write(store), await write(store)
    await edit(store, first, "We deploy on Tuesdays.")
    await store.delete(first, author=PERSON)
    assert [line.version for line in await store.log(first)] == [1, 2, 3]
    assert [line.version for line in await store.log(other)] == [1]


async def test_a_published_line_has_its_text_and_a_retraction_none(store: OrgStore) -> None:
    key = await write(store, "Never force-push.", tags=("git", "safety"))
    await store.delete(key, author=SENIOR)
    first, last = await store.log(key)
    assert (first.operation_type, first.content) == ("PUBLISH", "Never force-push.")
    assert (last.operation_type, last.content) == ("RETRACT", None)
    assert (
        (last.category, last.tags)
        == (first.category, first.tags)
        == (
            OrgFactCategory.CONVENTION,
            ("git", "safety"),
        )
    )
    assert (last.author_agent_id, last.author_is_human) == ("coder", False)


async def test_a_new_version_keeps_when_the_fact_was_first_written(store: OrgStore) -> None:
    key = await write(store)
    before = await in_force(store, key)
    await edit(store, key, "We deploy on Fridays.")
    after = await in_force(store, key)
    assert before is not None
    assert after is not None
    assert (after.content, after.created_at) == ("We deploy on Fridays.", before.created_at)


async def test_what_is_retracted_is_listed_on_request_only(store: OrgStore) -> None:
    key = await write(store)
    assert await store.delete(key, author=PERSON)
    assert await in_force(store, key) is None
    assert key not in [each.id for each in await store.matching(None)]
    assert key in [each.id for each in await ever_written(store)]


async def test_publishing_again_revives_a_fact(store: OrgStore) -> None:
    key = await write(store)
    await store.delete(key, author=PERSON)
    await edit(store, key, "We deploy on Mondays again.")
    assert (found := await in_force(store, key)) is not None
    assert found.content == "We deploy on Mondays again."
    (now,) = [each for each in await store.snapshot_at(CLOCK.now()) if each.fact_id == key]
    assert (now.retracted_at, now.version) == (None, 3)


@pytest.mark.parametrize("fact_id", [UNKNOWN, "no id"])
async def test_deleting_what_is_not_there_says_so(store: OrgStore, fact_id: str) -> None:
    assert not await store.delete(fact_id, author=PERSON)
    assert await store.log(fact_id) == ()


async def test_deleting_twice_writes_one_line(store: OrgStore) -> None:
    key = await write(store)
    assert await store.delete(key, author=PERSON)
    assert not await store.delete(key, author=PERSON)
    assert len(await store.log(key)) == 2


async def test_the_past_shows_what_held_then_and_what_was_retracted(store: OrgStore) -> None:
    start = CLOCK.now()
    key = await write(store, "one")
    await edit(store, key, "two")
    CLOCK.advance(minutes=1)
    await store.delete(key, author=PERSON)

    async def at(minutes: float) -> list[tuple[str, bool, int]]:
        moment = start + timedelta(minutes=minutes)
        found = [each for each in await store.snapshot_at(moment) if each.fact_id == key]
        assert all(each.created_at == start for each in found)
        return [(each.content, each.retracted_at is None, each.version) for each in found]

    assert await at(-1) == []
    assert await at(0) == [("one", True, 1)]
    assert await at(0.99) == [("one", True, 1)]
    assert await at(1) == [("two", True, 2)]
    assert await at(2) == [("two", False, 3)]


async def test_the_past_is_ordered_by_fact(store: OrgStore) -> None:
    for _ in range(5):
        await write(store)
    ids = [each.fact_id for each in await store.snapshot_at(CLOCK.now())]
    assert ids == sorted(ids)


async def test_lines_of_one_fact_never_share_a_time(store: OrgStore) -> None:
    key = await write(store, "one")
    await store.change([publish(fact("two"), key), retract(key), publish(fact("three"), key)], ME)
    times = [line.timestamp for line in await store.log(key)]
    assert times == sorted(set(times))
    assert len(times) == 4


async def test_changes_are_carried_out_together_or_not_at_all(store: OrgStore) -> None:
    key = await write(store, "one")
    with pytest.raises(OrgMemoryQueryError, match=UNKNOWN):
        await store.change([publish(fact("two"), key), retract(UNKNOWN)], ME)
    assert [line.content for line in await store.log(key)] == ["one"]


async def test_a_change_says_which_version_was_there_before(store: OrgStore) -> None:
    (new,) = await store.change([publish(fact("one"))], ME)
    (edited,) = await store.change([publish(fact("two"), new.fact_id)], ME)
    assert (new.before, new.after) == (0, 1)
    assert (edited.before, edited.after) == (1, 2)


@pytest.mark.parametrize(("expected", "is_refused"), [(None, False), (1, False), (2, True)])
async def test_a_change_made_for_another_version_is_refused(
    store: OrgStore, expected: int | None, is_refused: bool
) -> None:
    key = await write(store, "one")
    change = publish(fact("two"), key, expected=expected)
    if is_refused:
        with pytest.raises(OrgMemoryWriteError, match="somebody changed it meanwhile"):
            await store.change([change], ME)
    else:
        await store.change([change], ME)
    assert len(await store.log(key)) == (1 if is_refused else 2)


async def test_what_is_retracted_is_not_retracted_again_by_a_change(store: OrgStore) -> None:
    key = await write(store)
    await store.delete(key, author=PERSON)
    with pytest.raises(OrgMemoryWriteError, match="retracted already"):
        await store.change([retract(key)], ME)


async def test_facts_that_name_each_other_bring_their_ids(store: OrgStore) -> None:
    key = "7f8a2d5e-0000-4000-8000-00000000000a"
    await store.change(
        [publish(fact("Use B.", tags=(f"supersedes:{UNKNOWN}",)), key, expected=0)], ME
    )
    assert (found := await in_force(store, key)) is not None
    assert found.id == key
    with pytest.raises(OrgMemoryWriteError):
        await store.change([publish(fact("Use C."), key, expected=0)], ME)


async def test_tags_are_stored_sorted_and_once(
    store: OrgStore, backend: LocalMemoryBackend
) -> None:
    key = await write(store, tags=("b", "a", "b"))
    (stored,) = await backend.core.read(
        lambda db: db.execute("SELECT tags FROM org_facts WHERE fact_id = ?", [key]).fetchall()
    )
    assert json.loads(stored[0]) == ["a", "b"]


async def test_a_secret_is_taken_out_whoever_writes_it(store: OrgStore) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    key = await write(store, f"Log in with {secret}.", tags=(f"token {secret}",))
    (line,) = await store.log(key)
    assert secret not in repr(line)
    assert "[REDACTED:" in (line.content or "")
    assert "[REDACTED:" in line.tags[0]


@pytest.mark.parametrize(
    ("request_", "fits"),
    [
        (fact("x" * MAX_FACT_CHARS), True),
        (fact("x" * (MAX_FACT_CHARS + 1)), False),
        (fact(tags=tuple(f"t{n}" for n in range(MAX_FACT_TAGS))), True),
        (fact(tags=tuple(f"t{n}" for n in range(MAX_FACT_TAGS + 1))), False),
        (fact(tags=("t" * MAX_TAG_CHARS,)), True),
        (fact(tags=("t" * (MAX_TAG_CHARS + 1),)), False),
    ],
    ids=["longest", "too long", "most tags", "too many tags", "longest tag", "tag too long"],
)
async def test_a_fact_is_bounded(store: OrgStore, request_: object, fits: bool) -> None:
    change = publish(request_)  # type: ignore[arg-type]
    if fits:
        await store.change([change], ME)
        return
    with pytest.raises(OrgMemoryWriteError, match="at most"):
        await store.change([change], ME)


async def test_concurrent_writers_get_unique_increasing_versions(store: OrgStore) -> None:
    key = await write(store, "start")
    written = await asyncio.gather(
        *(store.change([publish(fact(f"by {n}"), key)], ME) for n in range(40))
    )
    versions = [applied.after for (applied,) in written]
    assert sorted(versions) == list(range(2, 42))
    lines = await store.log(key)
    assert [line.version for line in lines] == list(range(1, 42))
    by_version = {line.version: line.content for line in lines}
    assert [by_version[version] for version in versions] == [f"by {n}" for n in range(40)]


async def test_a_bundle_writes_facts_and_memories_in_one_transaction(
    backend: LocalMemoryBackend, store: OrgStore
) -> None:
    bundle = MemoryBundle(
        add=(NewMemory(agent_id="ada", draft=draft("alpha one")),),
        org=(publish(fact("Together."), author=SENIOR),),
    )

    def within(db: object, outcome: BundleOutcome) -> BundleOutcome:
        return outcome

    outcome = await backend.admin.change_together(bundle, within, actor="person (tui)")
    (applied,) = outcome.org
    assert (found := await in_force(store, applied.fact_id)) is not None
    assert (found.content, found.author) == ("Together.", SENIOR)


async def test_what_fails_within_a_bundle_leaves_no_line(
    backend: LocalMemoryBackend, store: OrgStore
) -> None:
    before = await ever_written(store)

    def within(db: object, outcome: BundleOutcome) -> None:
        raise OrgMemoryWriteError("no")

    with pytest.raises(OrgMemoryWriteError):
        await backend.admin.change_together(
            MemoryBundle(org=(publish(fact("Gone.")),)), within, actor="person (tui)"
        )
    assert await ever_written(store) == before

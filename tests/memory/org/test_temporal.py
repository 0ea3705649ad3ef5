"""What was believed when, by whom, and what replaced it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.org.config import OrgTemporalConfig
from synthorg_tui.memory.org.errors import OrgMemoryConnectionError, OrgMemoryQueryError
from synthorg_tui.memory.org.models import OrgFactAuthor, OrgMemoryQuery
from synthorg_tui.memory.org.search import OrgSearch
from synthorg_tui.memory.org.store import OrgAct, OrgStore
from synthorg_tui.memory.org.temporal import (
    BeliefEnd,
    OrgChangeWord,
    TemporalKnowledgeBackend,
)
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from tests.conftest import FixedClock
from tests.memory.org.org_kit import PERSON, SENIOR, fact, publish, retract
from tests.memory.store.store_kit import opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADR = OrgFactCategory.ADR
CLOCK = FixedClock()
ME = OrgAct("person (tui)")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def local(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path_factory.mktemp("temporal"), clock=CLOCK) as backend:
        yield backend


@pytest.fixture
def store(local: LocalMemoryBackend) -> OrgStore:
    CLOCK.advance(days=1)
    return OrgStore(local.core)


async def backend(store: OrgStore, **temporal: object) -> TemporalKnowledgeBackend:
    made = TemporalKnowledgeBackend(
        store=store,
        search=OrgSearch(store.core, store),
        temporal=OrgTemporalConfig.model_validate(temporal),
    )
    await made.connect()
    return made


async def write(
    store: OrgStore,
    content: str,
    fact_id: str | None = None,
    *,
    tags: tuple[str, ...] = (),
    author: OrgFactAuthor = PERSON,
) -> str:
    """Write a fact, or its next version, a day after whatever was last done."""
    CLOCK.advance(days=1)
    change = publish(fact(content, ADR, tags), fact_id, author=author)
    (applied,) = await store.change([change], ME)
    return applied.fact_id


async def take_back(store: OrgStore, fact_id: str) -> None:
    CLOCK.advance(days=1)
    await store.change([retract(fact_id)], ME)


async def test_each_version_was_believed_until_the_next_one(store: OrgStore) -> None:
    key = await write(store, "Use Flask.", author=SENIOR)
    start = CLOCK.now()
    await write(store, "Use Litestar.", key)
    first, second = await (await backend(store)).timeline(key)
    assert (first.content, first.since, first.until) == ("Use Flask.", start, CLOCK.now())
    assert (first.author, first.ended, first.replaced_by) == (SENIOR, BeliefEnd.CHANGED, key)
    assert (second.content, second.since, second.until) == ("Use Litestar.", CLOCK.now(), None)
    assert (second.author, second.ended, second.replaced_by) == (PERSON, None, None)


async def test_between_its_retraction_and_its_revival_a_fact_is_not_believed(
    store: OrgStore,
) -> None:
    key = await write(store, "Lunch is at noon.")
    await take_back(store, key)
    gone = CLOCK.now()
    await write(store, "Lunch is at noon.", key)
    first, second = await (await backend(store)).timeline(key)
    assert (first.until, first.ended, first.replaced_by) == (gone, BeliefEnd.RETRACTED, None)
    assert (second.since, second.until) == (CLOCK.now(), None)


async def test_a_fact_is_believed_until_another_one_supersedes_it_and_after_that_is_retracted(
    store: OrgStore,
) -> None:
    old = await write(store, "Use Flask.")
    new = await write(store, "Use Litestar.", tags=(f"supersedes:{old}",))
    replaced = CLOCK.now()
    await take_back(store, new)
    first, again = await (await backend(store)).timeline(old)
    assert (first.until, first.ended, first.replaced_by) == (replaced, BeliefEnd.SUPERSEDED, new)
    assert (again.content, again.since, again.until) == ("Use Flask.", CLOCK.now(), None)


async def test_a_decision_that_is_given_up_is_not_believed_from_then_on(store: OrgStore) -> None:
    key = await write(store, "Use Flask.", tags=("status:Accepted",))
    await write(store, "Use Flask.", key, tags=("status:Deprecated",))
    (only,) = await (await backend(store)).timeline(key)
    assert (only.until, only.ended) == (CLOCK.now(), BeliefEnd.GIVEN_UP)


@pytest.mark.parametrize(
    ("said", "expected"),
    [("2024-03-01", datetime(2024, 3, 1, tzinfo=UTC)), ("last spring", None), ("2999-01-01", None)],
)
async def test_the_date_that_a_decision_gives_is_when_it_became_valid(
    store: OrgStore, said: str, expected: datetime | None
) -> None:
    key = await write(store, "Use Flask.", tags=(f"date:{said}",))
    (only,) = await (await backend(store)).timeline(key)
    assert only.valid_from == (expected or only.since)


async def test_as_of_tells_what_was_believed_at_a_moment_and_not_a_tick_before(
    store: OrgStore,
) -> None:
    temporal = await backend(store)
    tick, before = timedelta(microseconds=1), CLOCK.now()
    old = await write(store, "Use Flask.")
    written = CLOCK.now()
    new = await write(store, "Use Litestar.", tags=(f"supersedes:{old}",))
    replaced = CLOCK.now()

    async def held(at: datetime) -> list[str]:
        return [each.fact_id for each in await temporal.as_of(at) if each.fact_id in (old, new)]

    assert await held(before) == await held(written - tick) == []
    assert await held(written) == await held(replaced - tick) == [old]
    assert await held(replaced) == await held(replaced + timedelta(days=900)) == [new]


async def test_as_of_agrees_with_what_the_search_finds_now(store: OrgStore) -> None:
    temporal = await backend(store)
    found = {each.id for each in await temporal.query(OrgMemoryQuery(limit=100))}
    assert found == {each.fact_id for each in await temporal.as_of(CLOCK.now())}


async def test_changes_between_two_times_are_told_in_order_without_those_at_the_first(
    store: OrgStore,
) -> None:
    key = await write(store, "Use Flask.", author=SENIOR)
    start = CLOCK.now()
    await write(store, "Use Litestar.", key)
    await take_back(store, key)
    await write(store, "Use Django.", key)
    end = CLOCK.now()
    await write(store, "Use Rails.", key)
    shifts = await (await backend(store)).changes_between(start, end)
    assert [(each.kind, each.before, each.after) for each in shifts] == [
        (OrgChangeWord.CHANGED, "Use Flask.", "Use Litestar."),
        (OrgChangeWord.RETRACTED, "Use Litestar.", None),
        (OrgChangeWord.REVIVED, None, "Use Django."),
    ]
    everything = await (await backend(store)).changes_between(start - timedelta(days=1), start)
    assert [(each.kind, each.author) for each in everything] == [(OrgChangeWord.WRITTEN, SENIOR)]
    assert await (await backend(store)).changes_between(end, start) == ()


async def test_a_change_tells_what_it_supersedes(store: OrgStore) -> None:
    old = await write(store, "Use Flask.")
    start = CLOCK.now()
    await write(store, "Use Litestar.", tags=(f"supersedes:{old}",))
    (shift,) = await (await backend(store)).changes_between(start, CLOCK.now())
    assert shift.supersedes == (old,)


# -- how long the past is told


async def test_the_words_of_what_ended_longer_ago_are_kept_back_and_the_rest_is_told(
    store: OrgStore,
) -> None:
    key = await write(store, "Use Flask.", author=SENIOR)
    start = CLOCK.now()
    await write(store, "Use Litestar.", key)
    ended = CLOCK.now()
    temporal = await backend(store, history_retention_days=30)

    CLOCK.current = ended + timedelta(days=30) - timedelta(microseconds=1)
    assert [each.content for each in await temporal.timeline(key)] == [
        "Use Flask.",
        "Use Litestar.",
    ]
    CLOCK.current = ended + timedelta(days=30)
    first, second = await temporal.timeline(key)
    assert (first.content, first.author, first.since, first.until) == (None, SENIOR, start, ended)
    assert second.content == "Use Litestar."
    (then,) = [each for each in await temporal.as_of(start) if each.fact_id == key]
    assert then.content is None
    written, changed = await temporal.changes_between(start - timedelta(1), ended)
    assert (written.after, written.is_kept_back) == (None, True)
    assert (changed.before, changed.after, changed.is_kept_back) == (None, "Use Litestar.", True)


async def test_nothing_leaves_the_log_for_it(store: OrgStore) -> None:
    key = await write(store, "Use Flask.")
    await write(store, "Use Litestar.", key)
    CLOCK.advance(days=900)
    await (await backend(store, history_retention_days=1)).timeline(key)
    whole = await (await backend(store)).timeline(key)
    assert [each.content for each in whole] == ["Use Flask.", "Use Litestar."]
    assert [line.content for line in await store.log(key)] == ["Use Flask.", "Use Litestar."]


async def test_what_was_never_replaced_is_told_however_old_it_is(store: OrgStore) -> None:
    key = await write(store, "Use Flask.")
    CLOCK.advance(days=900)
    (only,) = await (await backend(store, history_retention_days=1)).timeline(key)
    assert only.content == "Use Flask."


# -- what is answered


async def why(temporal: TemporalKnowledgeBackend, question: str) -> str:
    (found, *_) = await temporal.find(OrgMemoryQuery(context=question))
    return found.why


async def test_an_answer_is_of_today_and_names_what_it_said_before(store: OrgStore) -> None:
    key = await write(store, "Zebra widgets use Flask.", author=SENIOR)
    await write(store, "Zebra widgets use Litestar.", key)
    said = await why(await backend(store), '"zebra widgets"')
    assert "before that it said 'Zebra widgets use Flask.' (coder)" in said
    assert CLOCK.now().date().isoformat() in said
    untracked = await why(await backend(store, track_changes=False), '"zebra widgets"')
    assert "Flask" not in untracked
    CLOCK.advance(days=31)
    kept_back = await why(await backend(store, history_retention_days=30), '"zebra widgets"')
    assert "something else" in kept_back
    assert "Flask" not in kept_back


async def test_a_revival_with_the_same_words_is_no_other_belief(store: OrgStore) -> None:
    key = await write(store, "Giraffe builds are nightly.")
    await take_back(store, key)
    await write(store, "Giraffe builds are nightly.", key)
    assert "before" not in await why(await backend(store), '"giraffe builds"')


# -- what can't be told


async def test_where_changes_are_not_tracked_the_past_is_refused_with_the_way_to_it(
    store: OrgStore,
) -> None:
    temporal = await backend(store, track_changes=False)
    for asked in (
        temporal.as_of(CLOCK.now()),
        temporal.changes_between(CLOCK.now(), CLOCK.now()),
        temporal.timeline("7f8a2d5e-0000-4000-8000-000000000000"),
    ):
        with pytest.raises(OrgMemoryQueryError) as refused:
            await asked
        assert "track_changes" in refused.value.remedy


@pytest.mark.parametrize("key", ["7f8a2d5e-0000-4000-8000-000000000000", "no id", ""])
async def test_an_unknown_fact_has_no_timeline(store: OrgStore, key: str) -> None:
    with pytest.raises(OrgMemoryQueryError, match="there is no fact"):
        await (await backend(store)).timeline(key)


async def test_before_it_is_connected_the_past_is_not_told(store: OrgStore) -> None:
    with pytest.raises(OrgMemoryConnectionError):
        await TemporalKnowledgeBackend(store=store).as_of(CLOCK.now())

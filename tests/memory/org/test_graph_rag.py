"""The backend that answers in several steps, on a real store."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.org.graph_rag import SearchByPaths
from synthorg_tui.memory.org.hybrid_backend import HybridPromptRetrievalBackend
from synthorg_tui.memory.org.models import OrgFact, OrgMemoryQuery
from synthorg_tui.memory.org.statements import OrgLink, links_of
from synthorg_tui.memory.org.store import OrgAct, OrgStore
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from tests.conftest import FixedClock
from tests.memory.org.org_kit import fact, publish, retract
from tests.memory.store.store_kit import opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

CLOCK = FixedClock()
ME = OrgAct("person (tui)")
QUESTION = "Who owns the database that the billing service uses?"
PATH = "billing service uses orders-db; orders-db is owned by Team Blue"


class Desk:
    """A graph over the facts of a store, and how often it read one."""

    def __init__(self, store: OrgStore) -> None:
        self.store = store
        self.read: list[str] = []
        self.search = SearchByPaths(store.core, self._extract)
        self.backend = HybridPromptRetrievalBackend(store=store, search=self.search)

    def _extract(self, read: OrgFact) -> tuple[OrgLink, ...]:
        self.read.append(read.content)
        return links_of(read)

    async def add(
        self,
        content: str,
        tags: tuple[str, ...] = (),
        category: OrgFactCategory = OrgFactCategory.CONVENTION,
        fact_id: str | None = None,
    ) -> str:
        CLOCK.advance(minutes=1)
        (done,) = await self.store.change([publish(fact(content, category, tags), fact_id)], ME)
        return done.fact_id

    async def paths(self, question: str = QUESTION, project: str | None = None) -> list[str]:
        return [str(path) for path in await self.search.paths(question, project=project)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def local(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path_factory.mktemp("graph"), clock=CLOCK) as backend:
        yield backend


@pytest_asyncio.fixture(loop_scope="module")
async def desk(local: LocalMemoryBackend) -> AsyncIterator[Desk]:
    made = Desk(OrgStore(local.core))
    await made.backend.connect()
    yield made
    left = [retract(each.id) for each in await made.store.matching(None)]
    await made.store.change(left, ME)


async def test_facts_of_a_path_come_first_in_the_order_of_its_steps(desk: Desk) -> None:
    await desk.add("The database that the billing service uses is big.")
    owned = await desk.add("orders-db is owned by Team Blue.")
    used = await desk.add("The billing service uses orders-db.")
    found = await desk.backend.find(OrgMemoryQuery(context=QUESTION))
    assert [hit.fact.id for hit in found[:2]] == [used, owned]
    assert all(hit.why == f"is a step of: {PATH}" for hit in found[:2])
    assert len({hit.fact.id for hit in found}) == len(found)
    (first,) = await desk.backend.query(OrgMemoryQuery(context=QUESTION, limit=1))
    assert first.id == used


async def test_a_change_of_a_fact_changes_the_paths_and_reads_that_fact_alone(
    desk: Desk,
) -> None:
    await desk.add("orders-db is owned by Team Blue.")
    used = await desk.add("The billing service uses orders-db.")
    assert await desk.paths() == await desk.paths() == [PATH]
    assert len(desk.read) == 2
    await desk.add("The billing service uses ledger-db.", fact_id=used)
    assert await desk.paths() == []
    assert desk.read[2:] == ["The billing service uses ledger-db."]
    await desk.add("The billing service uses orders-db.", fact_id=used)
    assert await desk.paths() == [PATH]


async def test_what_was_retracted_or_superseded_carries_no_path(desk: Desk) -> None:
    old = await desk.add("orders-db is owned by Team Blue.")
    used = await desk.add("The billing service uses orders-db.")
    await desk.add("orders-db is owned by Team Red.", (f"supersedes:{old}",))
    assert await desk.paths() == [PATH.replace("Blue", "Red")]
    await desk.store.change([retract(used)], ME)
    assert await desk.paths() == []


async def test_a_path_goes_by_no_fact_of_another_project_or_category(desk: Desk) -> None:
    await desk.add("orders-db is owned by Team Blue.", ("project:/home/me/shop",))
    await desk.add("The billing service uses orders-db.", category=OrgFactCategory.ADR)
    assert await desk.paths(project="/home/me/shop") == [PATH]
    assert await desk.paths(project="/home/me/blog") == []
    only = {OrgFactCategory.ADR}
    assert await desk.search.paths(QUESTION, categories=only) == ()
    query = OrgMemoryQuery(context=QUESTION, categories=only)
    assert {each.category for each in await desk.backend.query(query)} == only


async def test_hostile_names_are_shown_as_what_they_are(desk: Desk) -> None:
    await desk.add("`\x1b[31mdb` is owned by Team Blue.")
    found = await desk.backend.find(OrgMemoryQuery(context="What does Team Blue own?"))
    assert found
    assert not any("\x1b" in hit.why for hit in found)

"""Finding facts when not all is there: no model, no index, and many that can't answer."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.index.protocol import IndexFilter, IndexHits, SparseVector
from synthorg_tui.memory.org.models import OrgMemoryQuery
from synthorg_tui.memory.org.search import FoundFact, OrgSearch
from synthorg_tui.memory.org.store import OrgAct, OrgStore
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence import INDEX_DIR
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.protocol import Vectors
from tests.conftest import FixedClock
from tests.memory.org.org_kit import fact, publish, retract
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.store_kit import opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADR, CONVENTION = OrgFactCategory.ADR, OrgFactCategory.CONVENTION
CLOCK = FixedClock()


class MissingModel(HashEmbedder):
    """A model that can be asked for nothing while ``missing``."""

    missing = False

    async def embed_query(self, text: str) -> Vectors:
        if self.missing:
            raise EmbeddingError("the model is gone")
        return await super().embed_query(text)


class DeafIndex(EdgeIndex):
    """An index that can't be searched while ``deaf``."""

    deaf = False

    async def search(
        self,
        where: IndexFilter,
        *,
        dense: Vectors | None,
        sparse: SparseVector | None,
        limit: int,
    ) -> IndexHits:
        if self.deaf:
            raise VectorIndexError("the index is damaged")
        return await super().search(where, dense=dense, sparse=sparse, limit=limit)


class Parts:
    """A store whose model and index can be taken away."""

    def __init__(self, local: LocalMemoryBackend, model: MissingModel, index: DeafIndex) -> None:
        self.model, self.index = model, index
        self.store = OrgStore(local.core)
        self.search = OrgSearch(local.core)

    async def add(self, *contents: str, category: OrgFactCategory = CONVENTION) -> None:
        CLOCK.advance(minutes=1)
        changes = [publish(fact(each, category)) for each in contents]
        await self.store.change(changes, OrgAct("person (tui)"))

    async def find(self, context: str, **fields: object) -> tuple[FoundFact, ...]:
        query = OrgMemoryQuery.model_validate({"context": context, **fields})
        return await self.search.find(query)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened_parts(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Parts]:
    folder: Path = tmp_path_factory.mktemp("search")
    model, index = MissingModel(), DeafIndex(folder / INDEX_DIR)
    async with opened(folder, clock=CLOCK, embedder=model, index=index) as local:
        yield Parts(local, model, index)


@pytest_asyncio.fixture(loop_scope="module")
async def parts(opened_parts: Parts) -> AsyncIterator[Parts]:
    yield opened_parts
    opened_parts.model.missing = opened_parts.index.deaf = False
    left = [retract(each.id) for each in await opened_parts.store.matching(None)]
    await opened_parts.store.change(left, OrgAct("person (tui)"))


def contents(found: Sequence[FoundFact]) -> list[str]:
    return [hit.fact.content for hit in found]


async def test_without_a_model_facts_are_found_by_their_words_and_that_is_said(
    parts: Parts,
) -> None:
    await parts.add("Releases are cut on Tuesdays.", "Invoices are paid by mail.")
    parts.model.missing = True
    (found,) = await parts.find("on which day are releases cut")
    assert found.fact.content == "Releases are cut on Tuesdays."
    assert "found by words only: the model is gone" in found.why


async def test_without_an_index_facts_are_found_in_the_documented_order_and_that_is_said(
    parts: Parts,
) -> None:
    await parts.add("We love to DEPLOY.", "Deploy on Mondays, never later.")
    await parts.add("Deploy early.")
    await parts.add("deploy often")
    parts.index.deaf = True
    found = await parts.find("deploy")
    assert contents(found) == [
        "deploy often",
        "Deploy early.",
        "Deploy on Mondays, never later.",
        "We love to DEPLOY.",
    ]
    assert "found by its text only: the index is damaged" in found[0].why
    assert await parts.find("never deploy") == ()


async def test_equal_places_and_lengths_are_in_order_of_time_the_newest_first(
    parts: Parts,
) -> None:
    for name in ("one", "two", "six"):
        await parts.add(f"Deploy {name}.")
    parts.index.deaf = True
    assert contents(await parts.find("deploy")) == ["Deploy six.", "Deploy two.", "Deploy one."]


async def test_a_phrase_that_stands_in_a_fact_as_it_is_asked_for_comes_first(
    parts: Parts,
) -> None:
    await parts.add("Push with care; force is bad.", "Never force push, not even alone, to main.")
    found = await parts.find("force push")
    assert contents(found)[0] == "Never force push, not even alone, to main."
    assert found[0].why == "has the words as they are written"


async def test_a_part_of_a_word_is_found_only_where_nothing_else_is(parts: Parts) -> None:
    await parts.add("Use kubernetes for jobs.")
    assert contents(await parts.find("kubern")) == ["Use kubernetes for jobs."]
    await parts.add("A kubern is a kind of ship.")
    assert contents(await parts.find("kubern")) == ["A kubern is a kind of ship."]


async def test_one_of_a_category_is_found_among_many_of_others_that_fit_better(
    parts: Parts,
) -> None:
    await parts.add(*(f"Deploys of app {number} are on Mondays." for number in range(450)))
    await parts.add("Deploys are on Mondays, since nobody rests on Sunday.", category=ADR)
    (found,) = await parts.find("deploys on mondays", categories={ADR})
    assert found.fact.category is ADR

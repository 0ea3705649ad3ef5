"""Answers that name what a fact said before."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.org.config import OrgTemporalConfig
from synthorg_tui.memory.org.models import OrgFactAuthor, OrgMemoryQuery
from synthorg_tui.memory.org.store import OrgAct, OrgStore
from synthorg_tui.memory.org.temporal import SearchWithPast
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


def search(store: OrgStore, **temporal: object) -> SearchWithPast:
    return SearchWithPast(store.core, OrgTemporalConfig.model_validate(temporal))


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


# -- what is answered


async def why(temporal: SearchWithPast, question: str) -> str:
    (found, *_) = await temporal.find(OrgMemoryQuery(context=question))
    return found.why


async def test_an_answer_is_of_today_and_names_what_it_said_before(store: OrgStore) -> None:
    key = await write(store, "Zebra widgets use Flask.", author=SENIOR)
    await write(store, "Zebra widgets use Litestar.", key)
    said = await why(search(store), '"zebra widgets"')
    assert "before that it said 'Zebra widgets use Flask.' (coder)" in said
    assert CLOCK.now().date().isoformat() in said
    untracked = await why(search(store, track_changes=False), '"zebra widgets"')
    assert "Flask" not in untracked
    CLOCK.advance(days=31)
    kept_back = await why(search(store, history_retention_days=30), '"zebra widgets"')
    assert "something else" in kept_back
    assert "Flask" not in kept_back


async def test_a_revival_with_the_same_words_is_no_other_belief(store: OrgStore) -> None:
    key = await write(store, "Giraffe builds are nightly.")
    await take_back(store, key)
    await write(store, "Giraffe builds are nightly.", key)
    assert "before" not in await why(search(store), '"giraffe builds"')

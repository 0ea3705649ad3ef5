"""The filter of a person's listing: projects, kinds, states, what is unwanted, and its counts."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.extensions import BrowseFilter, MemoryDraft, MemoryEdit
from synthorg_tui.memory.kinds import LESSON_START, MemoryKind
from synthorg_tui.memory.listing import Unwanted
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from tests.conftest import FixedClock
from tests.memory.store.store_kit import contents, opened, query, request
from tests.tables import rows

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHOP, SITE = "/home/ada/shop", "/home/ada/site"


def drawn(
    content: str,
    *tags: str,
    source: str | None = None,
    project: str = SHOP,
    category: MemoryCategory = MemoryCategory.EPISODIC,
) -> MemoryDraft:
    """A memory as an import makes it."""
    metadata = MemoryMetadata(tags=tags, source=source)
    asked = MemoryStoreRequest(category=category, content=content, metadata=metadata)
    return MemoryDraft(request=asked, project=project, session_id="s1")


ADAS = [
    drawn("alpha session", "session", "task", "Bash", "shop"),
    drawn("alpha commit", "commit", "git", "shop", source="codex:one#L1-L2"),
    drawn(
        "alpha said",
        "said",
        "preference",
        source="codex:one/part#L3-L9",
        category=MemoryCategory.SEMANTIC,
    ),
    drawn(f"{LESSON_START}alpha", "git", category=MemoryCategory.PROCEDURAL),
    drawn("alpha elsewhere", "commit", "GIT", source="codex:oneself#L1-L2", project=SITE),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backend(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalMemoryBackend]:
    clock = FixedClock()
    async with opened(Path(tmp_path_factory.mktemp("store")), clock=clock) as backend:
        await backend.store_many("ada", ADAS, actor="import")
        soon = clock.now() + timedelta(seconds=10)
        await backend.store("bob", request("alpha note", tags=("fact:editor",)))
        await backend.store("bob", request("alpha past", expires_at=soon))
        await backend.store("bob", request("alpha future", expires_at=soon + timedelta(days=1)))
        edited = await backend.store("bob", request("alpha"))
        await backend.admin.edit(edited, MemoryEdit(content="alpha edited"), actor="me")
        clock.advance(seconds=10)
        yield backend


CASES = [
    (BrowseFilter(projects=(SITE,)), {"elsewhere"}),
    (BrowseFilter(kinds=(MemoryKind.SESSION,)), {"session"}),
    (BrowseFilter(kinds=(MemoryKind.COMMIT,)), {"commit", "elsewhere"}),
    (BrowseFilter(kinds=(MemoryKind.LESSON, MemoryKind.FACT)), {"[DISCOVERY]", "note"}),
    (BrowseFilter(kinds=(MemoryKind.WRITTEN,)), {"future", "edited"}),
    (BrowseFilter(tags=("git",)), {"commit", "[DISCOVERY]", "elsewhere"}),
    (BrowseFilter(tags=("GIT", "Shop")), {"commit"}),
    (BrowseFilter(tags=("gi",)), set()),
    (BrowseFilter(sessions=("codex:one",)), {"commit", "said"}),
    (BrowseFilter(sessions=("codex:one/part", "codex:oneself")), {"said", "elsewhere"}),
    (BrowseFilter(sessions=("s1",)), {"session", "commit", "said", "[DISCOVERY]", "elsewhere"}),
    (
        BrowseFilter(agents=("ada",), unwanted=Unwanted(sessions=("codex:one",))),
        {"session", "[DISCOVERY]", "elsewhere"},
    ),
    (BrowseFilter(unwanted=Unwanted(sessions=("s1",))), {"note", "future", "edited"}),
    (BrowseFilter(states=("edited",)), {"edited"}),
    (BrowseFilter(states=("expired",)), {"past"}),
    (BrowseFilter(states=("expiring",)), {"future"}),
    (
        BrowseFilter(unwanted=Unwanted(projects=(SHOP,))),
        {"elsewhere", "note", "future", "edited"},
    ),
    (
        BrowseFilter(unwanted=Unwanted(agents=("bob",), tags=("Git",))),
        {"session", "said"},
    ),
    (
        BrowseFilter(
            agents=("ada",),
            unwanted=Unwanted(kinds=(MemoryKind.COMMIT,), categories=(MemoryCategory.SEMANTIC,)),
        ),
        {"session", "[DISCOVERY]"},
    ),
]


@rows(("what", "listed"), CASES)
async def test_a_filter_lists_what_it_asks_for(
    backend: LocalMemoryBackend, what: BrowseFilter, listed: set[str]
) -> None:
    page = await backend.admin.browse(what)
    found = {content.removeprefix("alpha ").split()[0] for content in contents(page.entries)}
    assert (found, page.total) == (listed, len(listed))


@rows(("what", "listed"), CASES)
async def test_a_search_keeps_to_the_same_filter(
    backend: LocalMemoryBackend, what: BrowseFilter, listed: set[str]
) -> None:
    hits = (await backend.admin.find(query("alpha", limit=20), within=what)).hits
    found = {content.removeprefix("alpha ").split()[0] for content in contents(hits)}
    assert found == listed


async def test_a_listed_memory_says_project_session_and_kind(backend: LocalMemoryBackend) -> None:
    (row,) = (await backend.admin.browse(BrowseFilter(projects=(SITE,)))).entries
    assert (row.project_name, row.session_id, row.kind) == ("site", "s1", MemoryKind.COMMIT)
    assert not row.edited


async def test_projects_are_counted_without_a_filter(backend: LocalMemoryBackend) -> None:
    facets = await backend.admin.facets()
    assert facets.projects == ((SHOP, 4), (SITE, 1))
    assert facets.total == 8


async def test_groups_are_counted_under_the_filter_but_for_their_own_part_of_it(
    backend: LocalMemoryBackend,
) -> None:
    what = BrowseFilter(projects=(SHOP,), kinds=(MemoryKind.COMMIT,))
    facets = await backend.admin.facets(what)
    assert dict(facets.projects) == {SHOP: 1, SITE: 1}, "the commits of each project"
    assert dict(facets.kinds) == dict.fromkeys(
        (MemoryKind.SESSION, MemoryKind.COMMIT, MemoryKind.SAID, MemoryKind.LESSON), 1
    )
    assert facets.agents == (("ada", 1),)
    assert facets.categories == ((MemoryCategory.EPISODIC, 1),)


async def test_words_of_a_filter_count_in_every_group(backend: LocalMemoryBackend) -> None:
    facets = await backend.admin.facets(BrowseFilter(words=("ELSEWHERE",)))
    assert facets.projects == ((SITE, 1),)
    assert facets.kinds == ((MemoryKind.COMMIT, 1),)

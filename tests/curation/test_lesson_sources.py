"""What an approved lesson stands on is known as long as it is approved, and leaves digests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.curation.consolidating import ConsolidationRuns
from synthorg_tui.memory.consolidation.config import ConsolidationConfig
from synthorg_tui.memory.enums import EdgeKind
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.retrieval.explanation import Explanation, Verdict
from synthorg_tui.memory.retriever import ContextInjectionStrategy
from synthorg_tui.memory.store.edges import MemoryEdge, edges_of, remove_edges
from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy
from tests.curation.review_kit import PERSON, Office, evidence, lesson, office
from tests.memory.retriever_kit import candidate, config
from tests.memory.store.store_kit import AGENT

ASKED = "push the new branch upstream"
FAILED = "`git push` failed: no upstream branch for feature. Then `git push -u origin feature`."


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Office]:
    async with office(tmp_path, searches=True) as opened:
        yield opened


async def recovery(desk: Office, lines: str, text: str = FAILED, kind: str = "recovery") -> str:
    draft = MemoryDraft(
        request=MemoryStoreRequest(
            category=MemoryCategory.EPISODIC,
            content=f"{text} ({lines})",
            metadata=MemoryMetadata(source=f"claude-code:one#{lines}", tags=(kind,)),
        ),
        key=f"{kind} {lines}",
        level=MemoryLevel.PERSISTENT,
    )
    return (await desk.backend.store_many(AGENT, [draft], actor="import")).added[0]


async def edges(desk: Office, *ids: str) -> tuple[MemoryEdge, ...]:
    return await desk.backend.core.read(lambda db: edges_of(db, ids, [EdgeKind.DERIVED_FROM]))


async def digest(desk: Office) -> Explanation:
    subject = ContextInjectionStrategy(backend=desk.backend, config=config(min_relevance=0))
    return (await subject.prepare(AGENT, ASKED, 4_000)).explanation


async def test_it_stands_on_the_recoveries_of_its_failing_call_or_its_remedy(
    desk: Office,
) -> None:
    same_call = await recovery(desk, "L12-L20")
    earlier_try = await recovery(desk, "L9-L20")
    others = [await recovery(desk, "L14-L18"), await recovery(desk, "L1-L20", kind="session")]

    added = await desk.approve(await desk.propose(lesson(seen=(evidence(line=12),))))

    assert {edge.to_id for edge in await edges(desk, added)} == {same_call, earlier_try}
    assert await edges(desk, *others) == ()


async def test_undoing_the_approval_removes_it_and_so_does_purging_either(desk: Office) -> None:
    first, other = await recovery(desk, "L12-L20"), await recovery(desk, "L12-L19")
    item = await desk.propose(lesson())
    added = await desk.approve(item)
    assert len(await edges(desk, added)) == 2
    await desk.desk.undo(PERSON)
    assert await edges(desk, first, other) == ()

    again = await desk.approve(item)
    await desk.backend.admin.purge([other], actor="me")
    assert await edges(desk, again) == (MemoryEdge(again, first, EdgeKind.DERIVED_FROM),)


async def test_a_lesson_approved_before_gets_it_with_the_next_consolidation(desk: Office) -> None:
    first = await recovery(desk, "L12-L20")
    added = await desk.approve(await desk.propose(lesson()))
    known = await edges(desk, added)
    await desk.backend.core.database.write(lambda db: remove_edges(db, known))

    runs = ConsolidationRuns(desk.backend, ConsolidationConfig(), desk.queue, lambda _: None)
    await runs.run_due()

    assert await edges(desk, first) == known != ()


async def test_an_agent_is_given_the_lesson_without_what_it_is_made_of(desk: Office) -> None:
    made_of, other = await recovery(desk, "L12-L20"), await recovery(desk, "L40-L50", "No upstream")
    assert candidate(await digest(desk), made_of).verdict is Verdict.INCLUDED

    added = await desk.approve(await desk.propose(lesson()))
    after = await digest(desk)

    assert candidate(after, added).verdict is Verdict.INCLUDED
    left = candidate(after, made_of)
    assert left.verdict is Verdict.REPLACED
    assert left.reason == f"the lesson {added} was made of it, and says it for both"
    assert candidate(after, other).verdict is not Verdict.REPLACED


async def test_an_agents_search_finds_the_lesson_without_what_it_is_made_of(desk: Office) -> None:
    made_of = await recovery(desk, "L12-L20")
    added = await desk.approve(await desk.propose(lesson()))
    tools = ToolBasedInjectionStrategy(backend=desk.backend, config=config())

    reply = await tools.answer("search_memory", {"query": ASKED}, AGENT)

    assert added in reply.ids
    assert made_of not in reply.ids

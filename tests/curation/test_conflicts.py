"""A person decides which of two memories that disagree is kept."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus
from synthorg_tui.curation.conflicts import MAX_ASKED, find_conflicts
from synthorg_tui.memory.enums import EdgeKind, SourceKind
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.store.edges import MemoryEdge, edges_of
from tests.conftest import FixedClock
from tests.curation.review_kit import PERSON, Office, office
from tests.memory.store.store_kit import AGENT, request

EVA = "eva (tui)"
ALWAYS = "Always squash the commits before a merge"
NEVER = "Never squash the commits before a merge"
"""What an agent says, so that it can't replace what a person said."""


@pytest.fixture
async def desk(tmp_path: Path, clock: FixedClock) -> AsyncIterator[Office]:
    async with office(tmp_path, clock=clock) as opened:
        yield opened


async def keep(desk: Office, content: str, *, day: int, key: str = "", by: str = "tool") -> str:
    tags = (f"fact:{key}",) if key else ()
    at = desk.backend.core.clock.now() - timedelta(days=30 - day)
    draft = MemoryDraft(
        request=request(content, tags=tags), created_at=at, source_kind=SourceKind(by)
    )
    who = EVA if by == "operator" else AGENT
    return (await desk.backend.store_many(AGENT, [draft], actor=who)).added[0]


async def asked(desk: Office) -> tuple[ApprovalItem, ...]:
    await find_conflicts(desk.backend.core, desk.queue)
    return await desk.queue.list()


async def contents(desk: Office) -> list[str]:
    return sorted(memory.content for memory in await desk.memories())


async def test_the_item_shows_both_texts_and_an_edge_is_kept(desk: Office) -> None:
    older = await keep(desk, ALWAYS, day=1, by="operator")
    newer = await keep(desk, NEVER, day=2)

    (item,) = await asked(desk)
    shown = (await desk.desk.review(item.id)).item.description

    assert ALWAYS in shown
    assert NEVER in shown
    edges = await desk.backend.core.read(lambda db: edges_of(db, [older]))
    assert edges == (MemoryEdge(newer, older, EdgeKind.CONTRADICTS),)


async def test_approving_keeps_the_newer_and_can_be_taken_back(desk: Office) -> None:
    older = await keep(desk, ALWAYS, day=1, by="operator")
    await keep(desk, NEVER, day=2)
    (item,) = await asked(desk)

    review = await desk.desk.review(item.id)
    await desk.desk.approve(item.id, shown=review.shown, person=PERSON)

    assert await contents(desk) == [NEVER]
    await desk.backend.admin.restore([older], actor=EVA)
    assert await contents(desk) == [ALWAYS, NEVER]


async def test_rejecting_keeps_both_and_it_is_not_asked_again(desk: Office) -> None:
    older = await keep(desk, ALWAYS, day=1, by="operator")
    await keep(desk, NEVER, day=2)
    (item,) = await asked(desk)

    review = await desk.desk.review(item.id)
    await desk.desk.reject(item.id, shown=review.shown, person=PERSON, reason="both")

    assert await find_conflicts(desk.backend.core, desk.queue) == 0
    assert await contents(desk) == [ALWAYS, NEVER]
    edges = await desk.backend.core.read(lambda db: edges_of(db, [older]))
    assert [edge.kind for edge in edges] == [EdgeKind.BESIDE]


async def test_a_rejection_that_is_undone_asks_again(desk: Office) -> None:
    older = await keep(desk, ALWAYS, day=1, by="operator")
    newer = await keep(desk, NEVER, day=2)
    (item,) = await asked(desk)
    review = await desk.desk.review(item.id)
    await desk.desk.reject(item.id, shown=review.shown, person=PERSON, reason="both")

    await desk.desk.undo(PERSON)

    edges = await desk.backend.core.read(lambda db: edges_of(db, [older]))
    assert edges == (MemoryEdge(newer, older, EdgeKind.CONTRADICTS),)
    assert [each.status for each in await desk.queue.list()] == [ApprovalStatus.PENDING]


async def test_a_persons_fact_that_an_agent_states_otherwise_is_asked_about(desk: Office) -> None:
    await keep(desk, "The port is 80", day=1, key="port", by="operator")
    await keep(desk, "Port 9000 it is", day=2, key="port")

    (item,) = await asked(desk)

    assert "about port" in item.title


async def test_no_more_are_asked_about_than_a_person_looks_at_and_the_others_later(
    desk: Office,
) -> None:
    for number in range(MAX_ASKED + 5):
        await keep(desk, f"The server n{number} waits 1 seconds", day=1, by="operator")
        await keep(desk, f"The server n{number} waits 2 seconds", day=2)

    assert len(await asked(desk)) == MAX_ASKED
    assert len(await asked(desk)) == MAX_ASKED + 5

"""For whom a proposal would be: seen and chosen in the review, carried out, and undone whole."""

from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalItem, DecisionRefusedError
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.curation.edits import ProposalEdit
from synthorg_tui.curation.models import LessonKind, ProceduralMemoryScope
from synthorg_tui.curation.review import WRITE_ACTION, Review, WritePayload
from synthorg_tui.curation.review_sheet import SheetError, read_sheet, sheet_of, summary
from synthorg_tui.curation.scopes import scoped, scopes_of
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.models import MemoryQuery, MemoryStoreRequest
from tests.conftest import FixedClock
from tests.curation.review_kit import (
    PERSON,
    Colleague,
    Office,
    item_of,
    lesson,
    office,
    proposal,
)
from tests.memory.store.store_kit import AGENT
from tests.tables import rows

AGENT_SCOPE, ROLE, DEPARTMENT, ORG = ProceduralMemoryScope
STAFF = (
    Colleague(AGENT, "developer", "platform"),
    Colleague("bob", "developer", "product"),
    Colleague("cyd", "tester", "platform"),
    Colleague("dan"),
)
TEXT = "The staging database listens on port 6543."


async def approve(desk: Office, item_id: str, scope: ProceduralMemoryScope | None) -> None:
    review = await desk.desk.review(item_id)
    edit = None if scope is None else (lambda _: ProposalEdit(scope=scope))
    await desk.desk.approve(item_id, shown=review.shown, person=PERSON, edit=edit)


async def propose_write(desk: Office) -> str:
    request = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=TEXT)
    draft = MemoryDraft(request=request, session_id="s-1", project="/srv/shop")
    item = ApprovalItem(
        id="write-1",
        action_type=WRITE_ACTION,
        title=TEXT,
        requested_by=AGENT,
        created_at=FixedClock().now(),
        payload=WritePayload(agent_id=AGENT, draft=draft).model_dump_json(),
    )
    await desk.queue.add(item)
    return item.id


async def owners(desk: Office) -> list[tuple[str, bool]]:
    return sorted((memory.agent_id, memory.shared) for memory in await desk.memories())


async def test_the_reviewer_sees_whom_each_scope_would_reach_by_name(tmp_path: Path) -> None:
    async with office(tmp_path, agents=STAFF) as desk:
        review = await desk.desk.review(await desk.propose(lesson()))
    assert dict(review.reach) == {
        AGENT_SCOPE: (AGENT,),
        ROLE: (AGENT, "bob"),
        DEPARTMENT: (AGENT, "cyd"),
        ORG: (AGENT, "bob", "cyd", "dan"),
    }


async def test_agents_that_only_have_memories_are_reached_by_what_is_for_all(
    tmp_path: Path,
) -> None:
    async with office(tmp_path) as desk:
        request = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=TEXT)
        await desk.backend.store("zoe", request)
        review = await desk.desk.review(await desk.propose(lesson()))
    assert review.reach[ORG] == (AGENT, "zoe")
    assert review.reach[ROLE] == (AGENT,)


@rows(
    ("scope", "expected"),
    [
        (None, [(AGENT, False)]),
        (ROLE, [(AGENT, False), ("bob", False)]),
        (DEPARTMENT, [(AGENT, False), ("cyd", False)]),
        (ORG, [("skills", True)]),
    ],
)
async def test_the_chosen_scope_decides_who_gets_a_lesson_and_undo_takes_all_of_it_back(
    tmp_path: Path, scope: ProceduralMemoryScope | None, expected: list[tuple[str, bool]]
) -> None:
    async with office(tmp_path, agents=STAFF) as desk:
        item_id = await desk.propose(lesson())
        before = await desk.state()
        await approve(desk, item_id, scope)
        assert await owners(desk) == expected
        (record,) = await desk.ledger.active()
        assert record.proposal.scope is (scope or AGENT_SCOPE)
        await desk.desk.undo(PERSON)
        assert await desk.state() == before


async def test_the_agent_that_learnt_it_is_given_what_is_for_all_once(tmp_path: Path) -> None:
    async with office(tmp_path, agents=STAFF, searches=True) as desk:
        await approve(desk, await desk.propose(lesson()), ORG)
        wanted = MemoryQuery(text=proposal().discovery)
        for agent in (AGENT, "bob"):
            found = await desk.backend.candidates(agent, wanted, include_shared=True)
            assert len(found.hits) == 1


async def test_a_wording_and_a_scope_are_chosen_together(tmp_path: Path) -> None:
    async with office(tmp_path, agents=STAFF) as desk:
        item_id = await desk.propose(lesson())
        review = await desk.desk.review(item_id)
        edit = ProposalEdit(proposal(action="Push with -u."), scope=ROLE)
        await desk.desk.approve(item_id, shown=review.shown, person=PERSON, edit=lambda _: edit)
        (record,) = await desk.ledger.active()
    assert (record.proposal.action, record.proposal.scope) == ("Push with -u.", ROLE)


async def test_what_an_agent_wrote_is_its_own_unless_the_reviewer_publishes_it(
    tmp_path: Path,
) -> None:
    async with office(tmp_path, agents=STAFF) as desk:
        item_id = await propose_write(desk)
        before = await desk.state()
        review = await desk.desk.review(item_id)
        assert dict(review.reach) == {
            AGENT_SCOPE: (AGENT,),
            ORG: (AGENT, "bob", "cyd", "dan"),
        }
        await approve(desk, item_id, None)
        assert await owners(desk) == [(AGENT, False)]
        await desk.desk.undo(PERSON)
        await approve(desk, item_id, ORG)
        assert await owners(desk) == [(AGENT, False), (AGENT, True)]
        (shared,) = [memory for memory in await desk.memories() if memory.shared]
        (own,) = [memory.id for memory in await desk.memories() if not memory.shared]
        assert await desk.backend.admin.publish([own], actor=str(PERSON)) == ()
        assert (shared.project, shared.session_id) == (None, None)
        await desk.desk.undo(PERSON)
        assert await desk.state() == before


@rows("scope", [ROLE, DEPARTMENT])
async def test_what_an_agent_wrote_has_no_scope_in_between(
    tmp_path: Path, scope: ProceduralMemoryScope
) -> None:
    async with office(tmp_path, agents=STAFF) as desk:
        item_id = await propose_write(desk)
        with pytest.raises(DecisionRefusedError, match="allowed: agent, org"):
            await approve(desk, item_id, scope)
        assert await desk.memories() == ()


def test_what_was_learnt_from_many_agents_stays_for_all() -> None:
    evolved = lesson(kind=LessonKind.EVOLVED, scope=ORG)
    assert scopes_of(evolved) == (ORG,)
    assert scopes_of(None) == ()
    with pytest.raises(DecisionRefusedError, match="allowed: org"):
        scoped(evolved, AGENT_SCOPE)
    with pytest.raises(DecisionRefusedError, match="only a lesson"):
        scoped(None, ORG)


async def sheet(desk: Office) -> tuple[str, list[Review]]:
    other = lesson("compile", discovery="Compile headers.", condition="x", action="make headers")
    ids = [await desk.propose(lesson()), await desk.propose(other), await propose_write(desk)]
    reviews = [await desk.desk.review(item_id) for item_id in ids]
    return sheet_of(reviews), reviews


async def test_a_sheet_says_whom_each_scope_reaches_and_its_line_chooses(tmp_path: Path) -> None:
    async with office(tmp_path, agents=STAFF) as desk:
        text, reviews = await sheet(desk)
        assert f"# scope role reaches {AGENT}, bob\n" in text
        assert summary(read_sheet(text, reviews)) == "3 approved"
        first, second, third = text.split("\n=== ")[1:]
        text = text.replace(first, first.replace("scope: agent", "scope: role"))
        text = text.replace(third, third.replace("scope: agent", "Scope: ORG"))
        verdicts = read_sheet(text, reviews)
        assert summary(verdicts) == "1 approved, 2 reworded"
        outcome = await desk.desk.decide(verdicts, PERSON)
        assert len(outcome.decisions) == 3
        scopes = {record.proposal.scope for record in await desk.ledger.active()}
        assert scopes == {ROLE, AGENT_SCOPE}
        assert (AGENT, True) in await owners(desk)
        await desk.desk.undo(PERSON)
        assert await desk.memories() == ()
    assert second


async def test_a_scope_that_an_item_cant_have_stops_the_whole_sheet(tmp_path: Path) -> None:
    async with office(tmp_path, agents=STAFF) as desk:
        text, reviews = await sheet(desk)
        with pytest.raises(SheetError, match="none of agent, role, department, org"):
            read_sheet(text.replace("scope: agent", "scope: everybody", 1), reviews)
        write = text.split("\n=== ")[-1]
        with pytest.raises(SheetError, match="can't be for the scope role"):
            read_sheet(text.replace(write, write.replace("scope: agent", "scope: role")), reviews)


async def test_a_text_that_reads_as_a_scope_stays_text(tmp_path: Path) -> None:
    async with office(tmp_path, agents=STAFF) as desk:
        tricky = lesson(action="First.\nscope: org\nThen.")
        review = await desk.desk.review(await desk.propose(tricky))
        (verdict,) = read_sheet(sheet_of([review]), [review])
    assert verdict.edit is None


def test_an_item_of_before_reads_as_it_did() -> None:
    written = WritePayload.model_validate_json(
        '{"type": "write", "agent_id": "ada", "draft": '
        '{"request": {"category": "semantic", "content": "x"}}}'
    )
    assert not written.shared
    assert item_of(lesson()).payload

"""Who may have plans done: the program what loses nothing, a person the rest, nobody a model's."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalStatus, DecisionRefusedError
from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.consolidating import ConsolidationRuns
from synthorg_tui.curation.review import CONFLICT_ACTION, MERGE_ACTION, SubjectKind
from synthorg_tui.memory.consolidation.config import (
    ConsolidationConfig,
    ConsolidationStrategyType,
)
from synthorg_tui.memory.consolidation.plan import GroupState
from synthorg_tui.memory.extensions import MemoryEdit
from synthorg_tui.memory.models import MemoryDraft
from tests.curation.review_kit import PERSON, Office, office
from tests.memory.store.store_kit import AGENT, draft, request
from tests.scripted import ScriptedProvider

TEXT = "The deploy key is kept in the vault of the team."
NOTE = "We found that the queue of the mailer fills up when the disk is slow. " * 6
SUMMARY = "The mailer's queue fills up on a slow disk."
EVERYTHING = ConsolidationConfig(max_share_per_run=1.0)
BY_MODEL = EVERYTHING.model_copy(update={"strategy": ConsolidationStrategyType.LLM})


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Office]:
    async with office(tmp_path) as opened:
        yield opened


def runs(desk: Office, config: ConsolidationConfig, answer: str = SUMMARY) -> ConsolidationRuns:
    return ConsolidationRuns(desk.backend, config, desk.queue, lambda _: ScriptedProvider(answer))


async def old_notes(desk: Office) -> list[str]:
    drafts: list[MemoryDraft] = [
        draft(
            f"Day {'z' * at}: {NOTE}",
            created_at="2020-01-01T00:00:00Z",
            level=MemoryLevel.PERSISTENT,
        )
        for at in range(1, 5)
    ]
    return list((await desk.backend.store_many(AGENT, drafts, actor="test")).added)


async def live(desk: Office) -> set[str]:
    return {entry.id for entry in await desk.memories()}


async def test_by_itself_only_what_loses_nothing_is_done(desk: Office) -> None:
    notes = await old_notes(desk)
    for _ in range(3):
        await desk.backend.store(AGENT, request(TEXT))
    service = runs(desk, EVERYTHING)
    assert await service.run_due() == "archived 2 copies"
    assert set(notes) <= await live(desk)
    assert await service.run_due() == ""
    (plan,) = await service.latest()
    await service.undo(plan.number, actor="ada")
    assert await service.run_due() == "", "somebody wanted them back"


async def test_what_seems_to_disagree_is_asked_about_and_counted(desk: Office) -> None:
    for word in ("Always", "Perhaps never"):
        await desk.backend.store(AGENT, request(f"{word} squash the commits before a merge"))
    service = runs(desk, EVERYTHING)
    assert await service.run_due() == "1 contradiction in Approvals"
    (entry,) = await desk.desk.inbox()
    assert entry.item.action_type == CONFLICT_ACTION
    assert await service.run_due() == ""
    assert len(await live(desk)) == 2


async def test_merged_memories_are_counted_from_a_moment_on(desk: Office) -> None:
    service = runs(desk, EVERYTHING)
    assert await service.merged_since(None) == 0
    for _ in range(3):
        await desk.backend.store(AGENT, request(TEXT))
    await service.run_due()
    now = desk.backend.core.clock.now()
    assert await service.merged_since(None) == 2
    assert await service.merged_since(now - timedelta(days=1)) == 2
    assert await service.merged_since(now + timedelta(days=1)) == 0


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"strategy": "llm"}, None),
        ({"strategy": "dual_mode"}, None),
        ({"archival": {"dual_mode": {"enabled": True, "summarization_model": "small"}}}, "small"),
    ],
)
async def test_a_strategy_asks_for_the_model_that_its_setting_names(
    fields: dict[str, object], name: str | None, desk: Office
) -> None:
    await old_notes(desk)
    named: list[str | None] = []

    def models(name: str | None) -> ScriptedProvider:
        named.append(name)
        return ScriptedProvider(SUMMARY, SUMMARY, SUMMARY)

    config = ConsolidationConfig.model_validate({"max_share_per_run": 1.0, **fields})
    plan = await ConsolidationRuns(desk.backend, config, desk.queue, models).plan(actor="ada")
    assert named == [name]
    assert [group.state for group in plan.groups] == [GroupState.WAITING]


async def test_without_a_model_the_list_of_beginnings_says_why(desk: Office) -> None:
    await old_notes(desk)
    service = ConsolidationRuns(desk.backend, BY_MODEL, desk.queue, lambda _: None)
    plan = await service.plan(actor="ada")
    (group,) = plan.groups
    assert group.text is not None
    assert (group.state, group.text.note) == (
        GroupState.PROPOSED,
        "no language model is configured",
    )


async def test_a_list_of_beginnings_stands_for_nothing_whose_words_it_would_lose(
    desk: Office,
) -> None:
    words = ("alder", "birch", "cedar", "maple", "olive", "poplar", "rowan", "willow")
    told = [" ".join(f"{one}{other}{at}" for one in words for other in words) for at in range(1, 5)]
    drafts = [
        draft(text, created_at="2020-01-01T00:00:00Z", level=MemoryLevel.PERSISTENT)
        for text in told
    ]
    await desk.backend.store_many(AGENT, drafts, actor="test")
    service = runs(desk, EVERYTHING)
    assert (await service.plan(actor="ada")).groups == ()

    repeated = await old_notes(desk)
    (group,) = (await service.plan(actor="ada")).groups
    assert set(group.archived) <= set(repeated), "one of them may be the one that stays"


async def test_a_models_text_waits_in_approvals_and_is_nothing_that_apply_does(
    desk: Office,
) -> None:
    ids = await old_notes(desk)
    service = runs(desk, BY_MODEL)
    plan = await service.plan(actor="ada")
    (group,) = plan.groups
    assert group.state is GroupState.WAITING
    with pytest.raises(DomainError, match="Approvals"):
        await service.apply(plan.number, actor="ada")
    (entry,) = await desk.desk.inbox()
    assert (entry.item.action_type, entry.kind) == (MERGE_ACTION, SubjectKind.MERGE)
    review = await desk.desk.review(entry.item.id)
    assert SUMMARY in review.text
    assert {memory.id for memory in review.replaces} == set(group.archived)
    assert review.diff
    assert await live(desk) == set(ids)
    again = await service.plan(actor="ada")
    assert again.groups == (), "what waits isn't proposed twice"


async def test_approving_archives_the_sources_and_undoing_brings_them_back(desk: Office) -> None:
    ids = await old_notes(desk)
    service = runs(desk, BY_MODEL)
    (group,) = (await service.plan(actor="ada")).groups
    (entry,) = await desk.desk.inbox()
    added = await desk.approve(entry.item.id)
    now = await live(desk)
    assert now == {added, *set(ids) - set(group.archived)}
    (shown,) = (await service.show(1)).groups
    assert (shown.state, shown.note) == (GroupState.DROPPED, "approved in Approvals")
    assert shown.text is None
    await desk.desk.undo(PERSON)
    assert await live(desk) == set(ids)


async def test_a_rejected_text_is_dropped_and_not_asked_again(desk: Office) -> None:
    await old_notes(desk)
    service = runs(desk, BY_MODEL)
    await service.plan(actor="ada")
    (entry,) = await desk.desk.inbox()
    shown = (await desk.desk.review(entry.item.id)).shown
    await desk.desk.reject(entry.item.id, shown=shown, reason="no", person=PERSON)
    assert (await service.plan(actor="ada")).groups == ()
    assert await desk.desk.inbox() == ()


async def test_a_text_whose_sources_changed_can_only_be_rejected(desk: Office) -> None:
    ids = await old_notes(desk)
    await runs(desk, BY_MODEL).plan(actor="ada")
    (entry,) = await desk.desk.inbox()
    for key in ids:
        await desk.backend.admin.edit(key, MemoryEdit(content="Other."), actor="ada (tui)")
    review = await desk.desk.review(entry.item.id)
    assert "changed" in review.problem
    with pytest.raises(DecisionRefusedError):
        await desk.desk.approve(entry.item.id, shown=review.shown, person=PERSON)


async def test_purging_a_source_erases_the_text_that_waits(desk: Office) -> None:
    await old_notes(desk)
    (group,) = (await runs(desk, BY_MODEL).plan(actor="ada")).groups
    await desk.parts.erasure.purge([group.archived[0]], actor="person")
    items = await desk.queue.list(snoozed=True)
    assert [item.status for item in items] != [ApprovalStatus.PENDING]
    stored = await desk.backend.core.read(
        lambda db: str(
            [
                db.execute(f"SELECT * FROM {name}").fetchall()
                for name in ("approvals", "consolidation_groups", "operations")
            ]
        )
    )
    assert SUMMARY not in stored


async def test_switched_off_nothing_is_applied(desk: Office) -> None:
    off = EVERYTHING.model_copy(update={"enabled": False})
    service = runs(desk, off)
    assert await service.run_due() == "consolidation is off"
    with pytest.raises(DomainError):
        await service.apply(1, actor="ada")


async def test_a_dropped_plan_and_one_replaced_by_the_next_change_nothing(desk: Office) -> None:
    for _ in range(2):
        await desk.backend.store(AGENT, request(TEXT))
    service = runs(desk, EVERYTHING)
    first = await service.plan(actor="ada")
    second = await service.plan(actor="ada")
    assert [group.members for group in second.groups] == [g.members for g in first.groups]
    (latest,) = await service.latest()
    assert await service.drop(latest.number, actor="ada") == (1,)
    with pytest.raises(DomainError):
        await service.apply(latest.number, actor="ada")
    assert len(await live(desk)) == 2

"""What a plan proposes: all that loses nothing, the rest up to its cap, nothing pinned."""

import threading
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.memory.consolidation.plan import GroupKind, MemberRole, TextAuthor, allowance
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from tests.conftest import FixedClock
from tests.memory.consolidation.plan_kit import Bench, copies, different
from tests.memory.store.store_kit import AGENT, draft, opened, request
from tests.tables import rows

TEXT = "The deploy key is kept in the vault of the team."


@pytest.fixture
async def backend(tmp_path: Path, clock: FixedClock) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, clock=clock) as opened_backend:
        yield opened_backend


async def test_copies_to_the_letter_leave_for_one_that_stays_whatever_their_number(
    backend: LocalMemoryBackend,
) -> None:
    await backend.store_many(AGENT, different(20), actor="test")
    ids = await copies(backend, TEXT, 30)
    (group,) = (await Bench(backend).plan()).groups
    assert group.kind is GroupKind.DUPLICATE
    assert group.is_exact
    assert group.is_lossless
    assert group.texts == 0
    assert {*group.kept, *group.archived} == set(ids)
    assert len(group.kept) == 1


async def test_of_copies_the_one_that_lives_longest_stays(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    soon = clock.now() + timedelta(days=1)
    lasting = await backend.store(AGENT, request(TEXT))
    clock.advance(minutes=1)
    await backend.store(AGENT, request(TEXT, expires_at=soon))
    (group,) = (await Bench(backend).plan()).groups
    assert group.kept == (lasting,)


@pytest.mark.parametrize(
    "other",
    [
        {"project": "/other"},
        {"level": MemoryLevel.PERSISTENT},
        {"request": request(TEXT, tags=("non-inferable", "sensitivity:sensitive"))},
        {"request": request(TEXT, category=MemoryCategory.EPISODIC)},
        {"request": request(TEXT, namespace="elsewhere")},
    ],
)
async def test_the_same_text_for_others_is_no_copy(
    backend: LocalMemoryBackend, other: dict[str, object]
) -> None:
    place: dict[str, object] = {"level": MemoryLevel.PROJECT, "project": "/shop"}
    for number, fields in enumerate((place, place | other)):
        one = MemoryDraft.model_validate({"request": request(f"{TEXT} {number}")} | fields)
        (key,) = (await backend.store_many(AGENT, [one], actor="test")).added
        await backend.core.change(
            lambda changes, key=key: changes.db.execute(  # type: ignore[misc]
                "UPDATE memories SET content = ?, content_hash = 'same' WHERE id = ?::UUID",
                [TEXT, key],
            )
        )
    assert not [g for g in (await Bench(backend).plan()).groups if g.is_exact]


async def test_what_is_pinned_never_leaves(backend: LocalMemoryBackend) -> None:
    for tag in ("pinned", "core"):
        for _ in range(3):
            await backend.store(AGENT, request(TEXT, tags=("non-inferable", tag)))
    assert (await Bench(backend, limit=1, share=1.0).plan()).groups == ()


async def test_what_belongs_to_a_skill_stays_and_stands_for_its_copies(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    first = await backend.store(AGENT, request(TEXT))
    clock.advance(minutes=1)
    await copies(backend, TEXT, 2)
    (group,) = (await Bench(backend, spared=frozenset({first})).plan()).groups
    assert group.kept == (first,)
    assert len(group.archived) == 2


async def test_what_has_expired_leaves_and_counts_against_no_cap(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    soon = clock.now() + timedelta(days=1)
    for text in ("one thing", "another thing"):
        await backend.store(AGENT, request(text, expires_at=soon))
    assert (await Bench(backend).plan()).groups == ()
    clock.advance(days=2)
    plan = await Bench(backend).plan()
    (group,) = plan.groups
    assert (group.kind, len(group.archived), group.texts) == (GroupKind.EXPIRED, 2, 0)
    assert (plan.memories_before, plan.memories_after) == (0, 0)


async def test_room_is_made_up_to_the_cap_the_least_useful_first(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    ids: list[str] = []
    for one in different(40):
        ids += (await backend.store_many(AGENT, [one], actor="test")).added
        clock.advance(minutes=1)
    plan = await Bench(backend, limit=30, share=0.1).plan(GroupKind.ROOM)
    (group,) = plan.groups
    assert group.archived == tuple(ids[:4])
    assert plan.held_back == 6
    assert not (await Bench(backend, limit=40).plan(GroupKind.ROOM)).groups


@rows(("share", "memories", "most"), [(0.05, 0, 1), (0.05, 39, 1), (0.05, 40, 2), (1.0, 7, 7)])
def test_the_cap_is_rounded_down_to_at_least_one(share: float, memories: int, most: int) -> None:
    assert allowance(share, memories) == most


async def test_older_values_of_a_fact_leave_up_to_the_cap_and_the_newest_stays(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    await backend.store_many(AGENT, different(30), actor="test")
    ids = []
    for port in (5432, 6543, 7654):
        tags = ("non-inferable", "fact:staging port")
        ids.append(await backend.store(AGENT, request(f"The port is {port}.", tags=tags)))
        clock.advance(days=1)
    await backend.admin.restore(ids[:2], actor="test")  # as stores of earlier versions have them
    plan = await Bench(backend).plan()
    (group,) = plan.groups
    assert group.kind is GroupKind.SUPERSEDED
    assert group.kept == (ids[2],)
    assert len(group.archived) == 1
    assert plan.held_back == 1
    assert not group.is_lossless


async def test_a_text_stands_for_old_memories_of_one_project_with_its_sources(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    place: dict[str, object] = {"level": MemoryLevel.PROJECT, "project": "/shop"}
    long = "we found " + "that the queue of the mailer fills up when the disk is slow " * 6
    of_shop = [f"Day {at}: {long}{'z' * at}." for at in range(3)]
    drafts = [draft(text, None, **place) for text in of_shop]
    drafts.append(draft(f"Day 9: {long}zzzz.", None, **(place | {"project": "/bank"})))
    ids = (await backend.store_many(AGENT, drafts, actor="test")).added
    young = await Bench(backend, share=1.0).plan(GroupKind.MERGED)
    assert young.groups == ()
    clock.advance(days=91)
    (group,) = (await Bench(backend, share=1.0).plan(GroupKind.MERGED)).groups
    assert group.text is not None
    assert group.text.project == "/shop"
    assert group.text.written_by is TextAuthor.CODE
    assert set(group.archived) < set(ids[:3])
    assert group.ids(MemberRole.ARCHIVED) == group.ids()
    assert group.tokens_after < group.tokens_before
    assert not group.is_lossless


async def test_a_plan_that_is_stopped_has_no_groups_and_tells_progress_at_once(
    backend: LocalMemoryBackend,
) -> None:
    await copies(backend, TEXT, 3)
    told: list[tuple[int, int]] = []
    cancel = threading.Event()
    planner = Bench(backend).planner
    plan = await planner.plan(made_by="test", progress=lambda *at: told.append(at))
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1]
    assert len(plan.groups) == 1
    cancel.set()
    stopped = await planner.plan(made_by="test", cancel=cancel)
    assert stopped.cancelled
    assert stopped.groups == ()


async def test_a_plan_is_read_as_it_was_stored(backend: LocalMemoryBackend) -> None:
    await copies(backend, TEXT, 3)
    bench = Bench(backend)
    plan = await bench.plan()
    assert plan.number == 1
    assert await bench.stored(1) == plan

"""A plan that is applied loses nothing: each group whole or not at all, and all of it undone."""

import random
import threading
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.consolidation.applying import CHANGED, IS_PINNED, OVER_CAP
from synthorg_tui.memory.consolidation.plan import ConsolidationPlan, GroupKind, GroupState
from synthorg_tui.memory.enums import ArchiveReason
from synthorg_tui.memory.extensions import MemoryEdit
from synthorg_tui.memory.store import plans, queries
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.memory.store.rows import StoredMemory
from tests.conftest import FixedClock
from tests.memory.consolidation.plan_kit import Bench, copies, different, said
from tests.memory.store.store_kit import AGENT, opened, query, request
from tests.soak import points

TEXT = "The deploy key is kept in the vault of the team."
LONG = "We found that the queue of the mailer fills up when the disk is slow. " * 6


@pytest.fixture
async def backend(tmp_path: Path, clock: FixedClock) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, clock=clock) as opened_backend:
        yield opened_backend


async def old_notes(
    backend: LocalMemoryBackend, clock: FixedClock, agent: str = AGENT
) -> list[str]:
    """Memories that are old enough to be merged."""
    ids = [await backend.store(agent, request(f"Day {'z' * at}: {LONG}")) for at in range(1, 5)]
    clock.advance(days=91)
    return ids


async def test_copies_are_archived_with_an_edge_to_the_one_that_stays(
    backend: LocalMemoryBackend, tmp_path: Path
) -> None:
    await copies(backend, TEXT, 4)
    bench = Bench(backend)
    plan = await bench.plan()
    outcome = await bench.applier.apply(plan.number, by="ada")
    assert (outcome.done, outcome.memories) == ((1,), 3)
    assert (outcome.live_before, outcome.live_after) == (4, 1)
    assert outcome.tokens_after == outcome.tokens_before // 4
    (group,) = (await bench.stored(plan.number)).groups
    assert (group.state, group.decided_by) == (GroupState.APPLIED, "ada")
    (kept,) = group.kept
    assert await bench.edges() == sorted((key, kept, "duplicate_of") for key in group.archived)
    assert [entry.id for entry in await backend.retrieve(AGENT, query("deploy key"))] == [kept]
    rows = await bench.rows()
    assert {rows[key].archived_why for key in group.archived} == {ArchiveReason.DUPLICATE}
    assert (await Maintenance(backend, data_dir=tmp_path).doctor()).ok


async def test_a_merged_text_names_its_sources_and_is_found(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    ids = await old_notes(backend, clock)
    bench = Bench(backend, share=1.0)
    plan = await bench.plan(GroupKind.MERGED)
    await bench.applier.apply(plan.number, by="ada")
    (group,) = (await bench.stored(plan.number)).groups
    assert group.text is None, "the text is a memory now, and nowhere else"
    assert group.added is not None
    derived = [(group.added, key, "derived_from") for key in group.archived]
    assert await bench.edges() == sorted(derived)
    live = await backend.retrieve(AGENT, query("mailer queue"))
    assert {entry.id for entry in live} == {group.added, *set(ids) - set(group.archived)}


async def test_undone_as_a_whole_all_is_as_it_was(
    backend: LocalMemoryBackend, clock: FixedClock, tmp_path: Path
) -> None:
    await old_notes(backend, clock)
    await copies(backend, TEXT, 3)
    await backend.store(AGENT, request("soon over", expires_at=clock.now() + timedelta(hours=1)))
    clock.advance(hours=2)
    bench = Bench(backend, share=1.0)
    before = await bench.rows()
    plan = await bench.plan()
    assert len({group.kind for group in plan.groups}) == 3
    applied = await bench.applier.apply(plan.number, by="ada")
    undone = await bench.applier.undo(plan.number, by="ada")
    after = await bench.rows()
    assert undone.done == applied.done[::-1]
    assert undone.memories == applied.memories
    assert (undone.live_after, undone.tokens_after) == (applied.live_before, applied.tokens_before)
    for key, row in before.items():
        assert said(after[key]) == said(row)
        assert after[key].is_current
    assert all(not after[key].is_current for key in after.keys() - before.keys())
    assert await bench.edges() == []
    assert (await Maintenance(backend, data_dir=tmp_path).doctor()).ok
    with pytest.raises(DomainError):
        await bench.applier.undo(plan.number, by="ada")


async def test_groups_are_applied_by_their_numbers(backend: LocalMemoryBackend) -> None:
    await copies(backend, TEXT, 2)
    await copies(backend, "The build wants Python 3.12.", 3)
    bench = Bench(backend)
    plan = await bench.plan()
    outcome = await bench.applier.apply(plan.number, [2], by="ada")
    assert outcome.done == (2,)
    states = [group.state for group in (await bench.stored(plan.number)).groups]
    assert states == [GroupState.PROPOSED, GroupState.APPLIED]
    with pytest.raises(DomainError):
        await bench.applier.apply(plan.number, [3], by="ada")
    with pytest.raises(DomainError):
        await bench.applier.apply(9, by="ada")


async def test_a_group_whose_memories_changed_meanwhile_is_left(
    backend: LocalMemoryBackend,
) -> None:
    ids = await copies(backend, TEXT, 3)
    await copies(backend, "The build wants Python 3.12.", 2)
    bench = Bench(backend)
    plan = await bench.plan()
    await backend.admin.edit(ids[1], MemoryEdit(content="Another text."), actor="ada (terminal)")
    outcome = await bench.applier.apply(plan.number, by="ada")
    assert outcome.left == ((1, CHANGED),)
    assert outcome.done == (2,)
    rows = await bench.rows()
    assert all(rows[key].is_current for key in ids)


async def test_what_is_pinned_is_not_archived_whatever_the_plan_says(
    backend: LocalMemoryBackend,
) -> None:
    for _ in range(2):
        await backend.store(AGENT, request(TEXT, tags=("non-inferable", "pinned")))
    bench = Bench(backend)
    rows = tuple((await bench.rows()).values())
    plan = await forged(bench, rows[0].id, rows[1].id)
    outcome = await bench.applier.apply(plan.number, by="ada")
    assert outcome.left == ((1, IS_PINNED),)


async def test_no_more_leaves_than_may_whatever_the_plan_says(
    backend: LocalMemoryBackend,
) -> None:
    await backend.store_many(AGENT, different(10), actor="test")
    bench = Bench(backend)
    first, second, third, *_ = await bench.rows()
    outcome = await bench.applier.apply((await forged(bench, first, second, third)).number, by="a")
    assert outcome.left == ((1, OVER_CAP),)
    outcome = await bench.applier.apply((await forged(bench, first, second)).number, by="a")
    assert outcome.done == (1,)


async def forged(bench: Bench, kept: str, *archived: str) -> ConsolidationPlan:
    """A stored plan that no planner would make."""
    from synthorg_tui.memory.consolidation.plan import GroupMember, MemberRole, PlannedGroup

    def put(db: object) -> ConsolidationPlan:
        rows = queries.rows_by_id(db, [kept, *archived])  # type: ignore[arg-type]
        roles = {kept: MemberRole.KEPT} | dict.fromkeys(archived, MemberRole.ARCHIVED)
        members = tuple(GroupMember(k, role, plans.mark_of(rows[k])) for k, role in roles.items())
        group = PlannedGroup(1, GroupKind.DUPLICATE, AGENT, members, "", 0, 0, 0)
        plan = ConsolidationPlan(None, bench.core.clock.now(), "test", 0, 0, (group,))
        return plans.put_plan(db, plan)  # type: ignore[arg-type]

    return await bench.core.database.write(put)


async def test_undoing_leaves_alone_and_names_what_a_person_changed_since(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    await old_notes(backend, clock)
    bench = Bench(backend, share=1.0)
    plan = await bench.plan(GroupKind.MERGED)
    await bench.applier.apply(plan.number, by="ada")
    (group,) = (await bench.stored(plan.number)).groups
    first, *others = group.archived
    assert group.added is not None
    await backend.admin.restore([first], actor="ada (terminal)")
    await backend.admin.edit(group.added, MemoryEdit(content="Mine."), actor="ada (terminal)")
    outcome = await bench.applier.undo(plan.number, by="ada")
    assert outcome.memories == len(others)
    assert {key for key, _ in outcome.untouched} == {first, group.added}
    rows = await bench.rows()
    assert rows[group.added].content == "Mine."
    assert rows[group.added].is_current


async def test_a_stopped_run_leaves_the_rest_open_and_what_is_due_is_resumed(
    backend: LocalMemoryBackend,
) -> None:
    for at in range(3):
        await copies(backend, f"{TEXT} It is rotated every {at} months.", 2)
    bench = Bench(backend)
    plan = await bench.plan()
    cancel = threading.Event()
    outcome = await bench.applier.apply(
        plan.number, by="ada", cancel=cancel, progress=lambda *_: cancel.set()
    )
    assert outcome.cancelled
    assert len(outcome.done) == 1
    states = [group.state for group in (await bench.stored(plan.number)).groups]
    assert states == [GroupState.APPLIED, GroupState.PROPOSED, GroupState.PROPOSED]
    await backend.core.database.write(
        lambda db: plans.set_state(db, plan.number, [2], GroupState.DUE, by="ada")
    )
    (resumed,) = await bench.applier.resume()
    assert resumed.done == (2,)
    assert await bench.applier.resume() == ()


async def test_purging_a_source_takes_back_what_was_made_of_it(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    await old_notes(backend, clock)
    bench = Bench(backend, share=1.0)
    plan = await bench.plan(GroupKind.MERGED)
    await bench.applier.apply(plan.number, by="ada")
    (group,) = (await bench.stored(plan.number)).groups
    first, *others = group.archived
    await backend.admin.purge([first], actor="ada (terminal)")
    rows = await bench.rows()
    assert first not in rows
    assert group.added not in rows, "it repeats what was purged"
    assert all(rows[key].is_current for key in others), "nothing stands for them any more"
    assert await bench.edges() == []


async def test_purging_a_source_erases_the_text_that_a_plan_holds(
    backend: LocalMemoryBackend, clock: FixedClock
) -> None:
    ids = await old_notes(backend, clock)
    bench = Bench(backend, share=1.0)
    plan = await bench.plan(GroupKind.MERGED)
    (group,) = plan.groups
    await backend.admin.purge([group.archived[0]], actor="ada (terminal)")
    (left,) = (await bench.stored(plan.number)).groups
    assert left.text is None
    assert left.state is GroupState.DROPPED
    assert group.archived[0] not in left.ids()
    assert len(ids) == 4
    tables = ("consolidation_plans", "consolidation_groups", "consolidation_members")
    for table in tables:
        found = await backend.core.read(
            lambda db, table=table: db.execute(f"SELECT * FROM {table}").fetchall()  # type: ignore[misc]
        )
        assert "mailer" not in str(found)


async def test_purging_what_stays_purges_its_archived_copies(backend: LocalMemoryBackend) -> None:
    await copies(backend, TEXT, 3)
    bench = Bench(backend)
    await bench.applier.apply((await bench.plan()).number, by="ada")
    (kept,) = [key for key, row in (await bench.rows()).items() if row.is_current]
    assert await backend.admin.purge([kept], actor="ada (terminal)") == 3
    assert await bench.rows() == {}


ACTS = ("consolidate", "archive", "undo", "restore", "later", "flood")
RUNS = points(3, 60)
"""Random sequences of acts."""


@pytest.mark.soak
async def test_whatever_is_done_every_original_comes_back_byte_for_byte(tmp_path: Path) -> None:
    clock = FixedClock()
    async with opened(tmp_path, clock=clock) as backend:
        for seed in range(RUNS):
            run = AnyActs(Bench(backend, share=0.5, limit=9, agent=f"agent-{seed}"), clock, seed)
            await run.start()
            for _ in range(run.choose.randint(3, 12)):
                await run.act()
            await run.take_all_back()
            rows = await run.bench.rows()
            for key, row in run.originals.items():
                assert said(rows[key]) == said(row), (seed, run.done)
                assert rows[key].is_current, (seed, run.done)


class AnyActs:
    """One random sequence of what may be done with the memories of one agent."""

    def __init__(self, bench: Bench, clock: FixedClock, seed: int) -> None:
        self.bench, self.clock, self.choose = bench, clock, random.Random(seed)
        self.originals: dict[str, StoredMemory] = {}
        self.applied: list[int] = []
        self.done: list[str] = []

    async def start(self) -> None:
        agent, backend = self.bench.agent, self.bench.backend
        await copies(backend, TEXT, 3, agent=agent)
        await old_notes(backend, self.clock, agent=agent)
        for port in (1, 2):
            tags = ("non-inferable", "fact:port")
            await backend.store(agent, request(f"The port is {port}.", tags=tags))
        self.originals = await self.bench.rows()

    async def act(self) -> None:
        act = self.choose.choice(ACTS)
        self.done.append(act)
        admin, core = self.bench.backend.admin, self.bench.core
        known = await self.bench.rows()
        if act == "consolidate":
            plan = await self.bench.plan()
            if plan.groups:
                await self.bench.applier.apply(plan.number, by="ada")
                self.applied.append(plan.number)
        elif act == "archive":
            rows = self.choose.sample(sorted(known.values()), 2)
            why = ArchiveReason.BY_HAND
            await core.change(lambda changes: changes.archive(rows, why=why, actor="ada"))
        elif act == "undo" and self.applied:
            await self.undo(self.applied.pop())
        elif act == "restore":
            await admin.restore(self.choose.sample(sorted(known), 3), actor="ada (tui)")
        elif act == "later":
            self.clock.advance(days=30)
        elif act == "flood":
            await copies(self.bench.backend, TEXT, 2, agent=self.bench.agent)
            new = {k: row for k, row in (await self.bench.rows()).items() if k not in known}
            self.originals |= new

    async def undo(self, number: int) -> None:
        if (await self.bench.stored(number)).in_state(GroupState.APPLIED):
            await self.bench.applier.undo(number, by="ada")

    async def take_all_back(self) -> None:
        for number in reversed(self.applied):
            await self.undo(number)
        await self.bench.backend.admin.restore(sorted(self.originals), actor="ada (tui)")

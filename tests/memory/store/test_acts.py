"""What a person did to memories is undone and redone in order, also after a restart."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.agents.audit import AuditTrail
from synthorg_tui.agents.models import CallKind, CallRecord
from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.enums import Sensitivity
from synthorg_tui.memory.errors import MemoryNotFoundError
from synthorg_tui.memory.extensions import MemoryEdit
from synthorg_tui.memory.store.admin import StoreAdmin
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from tests.conftest import FixedClock
from tests.memory.store.store_kit import AGENT, contents, draft, opened, query

ME = "ada (tui)"
SHELL = "ada (command line)"


@pytest.fixture
async def store(tmp_path: Path, clock: FixedClock) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, clock=clock) as backend:
        yield backend


async def added(store: LocalMemoryBackend, text: str, *, actor: str = "import") -> str:
    outcome = await store.store_many(AGENT, [draft(text)], actor=actor)
    return outcome.added[0]


async def edited(store: LocalMemoryBackend, key: str, text: str, *, actor: str = ME) -> None:
    await store.admin.edit(key, MemoryEdit(content=text), actor=actor)


async def text_of(store: LocalMemoryBackend, key: str) -> str | None:
    found = await store.admin.entries([key])
    return found[0].content if found else None


async def test_an_edit_is_undone_after_a_restart_and_redone(
    tmp_path: Path, clock: FixedClock
) -> None:
    async with opened(tmp_path, clock=clock) as store:
        key = await added(store, "first")
        clock.advance(minutes=1)
        await edited(store, key, "second")
    clock.advance(days=1)
    async with opened(tmp_path, clock=clock) as store:
        act = await store.admin.undo(actor=ME)
        assert act is not None
        assert (act.kind.value, act.memory_ids, act.title) == ("edited", (key,), "second")
        assert await text_of(store, key) == "first"
        assert contents((await store.admin.find(query("first"))).hits) == ["first"]
        clock.advance(minutes=1)
        assert await store.admin.redo(actor=ME)
        assert await text_of(store, key) == "second"


async def test_acts_are_undone_newest_first_and_redone_in_order(
    store: LocalMemoryBackend, clock: FixedClock
) -> None:
    key = await added(store, "first", actor=ME)
    clock.advance(minutes=1)
    await edited(store, key, "second", actor=SHELL)
    clock.advance(minutes=1)
    await store.admin.remove([key], actor=ME)
    kinds = []
    for step in (*[store.admin.undo] * 4, *[store.admin.redo] * 4):
        clock.advance(minutes=1)
        act = await step(actor=ME)
        kinds.append(act.kind.value if act else None)
    assert kinds == ["deleted", "edited", "added", None, "added", "edited", "deleted", None]
    assert await text_of(store, key) is None


async def test_what_others_did_is_not_undone(store: LocalMemoryBackend, clock: FixedClock) -> None:
    key = await added(store, "first")
    clock.advance(minutes=1)
    await edited(store, key, "second", actor="agent claude-code")
    assert await store.admin.undo(actor=ME) is None
    assert await text_of(store, key) == "second"


async def test_an_edit_that_somebody_overwrote_is_passed_over(
    store: LocalMemoryBackend, clock: FixedClock
) -> None:
    older, newer = await added(store, "older"), await added(store, "newer")
    for number, key in enumerate((older, newer)):
        clock.advance(minutes=1)
        await edited(store, key, f"mine {number}")
    clock.advance(minutes=1)
    await edited(store, newer, "an agent's", actor="agent claude-code")
    clock.advance(minutes=1)
    act = await store.admin.undo(actor=ME)
    assert act is not None
    assert act.memory_ids == (older,)
    assert await text_of(store, newer) == "an agent's"


async def test_a_new_change_ends_what_can_be_redone(
    store: LocalMemoryBackend, clock: FixedClock
) -> None:
    key = await added(store, "first")
    clock.advance(minutes=1)
    await edited(store, key, "second")
    clock.advance(minutes=1)
    await store.admin.undo(actor=ME)
    clock.advance(minutes=1)
    await edited(store, key, "third")
    assert await store.admin.redo(actor=ME) is None
    clock.advance(minutes=1)
    await store.admin.undo(actor=ME)
    assert await text_of(store, key) == "first"


async def test_nothing_is_left_of_what_was_purged(
    store: LocalMemoryBackend, clock: FixedClock
) -> None:
    key = await added(store, "first", actor=ME)
    clock.advance(minutes=1)
    await edited(store, key, "second")
    clock.advance(minutes=1)
    await store.admin.purge([key], actor=ME)
    assert await store.admin.undo(actor=ME) is None


async def test_memories_of_skills_are_left_to_their_decisions(
    store: LocalMemoryBackend, clock: FixedClock
) -> None:
    await added(store, "of a skill", actor=ME)

    def refuse(_db: object, _memory_id: str) -> None:
        raise DomainError("it is the memory of a skill")

    assert await StoreAdmin(store.core, may_edit=refuse).undo(actor=ME) is None


async def test_an_older_version_is_restored_as_the_newest(
    store: LocalMemoryBackend, clock: FixedClock
) -> None:
    key = await added(store, "first")
    change = MemoryEdit(content="second", tags=("git",), sensitivity=Sensitivity.SENSITIVE)
    clock.advance(minutes=1)
    await store.admin.edit(key, change, actor=ME)
    clock.advance(minutes=1)
    await edited(store, key, "third", actor="agent claude-code")
    _, second, first = await store.admin.history(key)
    clock.advance(minutes=1)
    back = await store.admin.restore_version(key, second.revision, actor=ME)
    assert back.content == "second"
    assert {"git", "sensitivity:sensitive"} <= set(back.tags)
    clock.advance(minutes=1)
    oldest = await store.admin.restore_version(key, first.revision, actor=ME)
    assert (oldest.content, oldest.tags) == ("first", ("non-inferable",))
    clock.advance(minutes=1)
    await store.admin.undo(actor=ME)
    assert await text_of(store, key) == "second"
    assert len(await store.admin.history(key)) == 6


async def test_a_version_that_never_was_is_refused(store: LocalMemoryBackend) -> None:
    key = await added(store, "first")
    with pytest.raises(MemoryNotFoundError, match="no version 99"):
        await store.admin.restore_version(key, 99, actor=ME)


async def test_memories_that_say_nearly_the_same_are_found_and_others_are_not(
    store: LocalMemoryBackend,
) -> None:
    said = "push a new branch with its upstream set by git push -u origin"
    key = await added(store, said)
    near = await added(store, said + " always")
    await added(store, "the tests need a running database")
    assert [hit.id for hit in await store.admin.similar(key)] == [near]
    await store.admin.remove([near], actor=ME)
    assert await store.admin.similar(key) == ()


def call(store: LocalMemoryBackend, *ids: str, task: str, **changes: Any) -> CallRecord:
    """A recorded digest that was given these memories."""
    candidates = [{"entry": {"id": key}, "combined": 0.5} for key in ids]
    record = CallRecord(
        number=0,
        at=store.core.clock.now(),
        agent_id="claude-code",
        client="",
        project=None,
        kind=CallKind.DIGEST,
        name="digest",
        arguments=json.dumps({"query": task}),
        reply="",
        is_error=False,
        tokens=1,
        milliseconds=1.0,
        memory_ids=ids,
        wrote=False,
        explanation=json.dumps({"candidates": candidates}),
    )
    return record._replace(**changes)


async def test_the_digests_that_a_memory_was_given_in_are_told_newest_first(
    store: LocalMemoryBackend,
) -> None:
    mine, other = await added(store, "push with an upstream"), await added(store, "other")
    trail = AuditTrail(store.core.database, keep=100)
    await trail.add(call(store, mine, other, task="push the branch"))
    await trail.add(call(store, other, task="something else"))
    await trail.add(call(store, mine, task="push again", explanation=""))
    await trail.add(call(store, mine, task="stored it", wrote=True))
    await trail.close()
    uses = await store.admin.uses(mine)
    assert [(use.task, use.score) for use in uses] == [
        ("push again", None),
        ("push the branch", 0.5),
    ]
    assert {use.agent_id for use in uses} == {"claude-code"}
    assert len(await store.admin.uses(mine, limit=1)) == 1
    await store.admin.purge([mine], actor=ME)
    assert {use.task for use in await store.admin.uses(mine)} <= {""}

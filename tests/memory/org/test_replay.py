"""Any sequence of writes: the past is what a naive replay of them says, at every moment."""

import random
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.org.changes import OrgChange
from synthorg_tui.memory.org.models import OperationLogSnapshot
from synthorg_tui.memory.org.store import OrgAct, OrgStore
from tests.conftest import FixedClock
from tests.memory.org.org_kit import PERSON, SENIOR, fact, publish, retract
from tests.memory.store.store_kit import opened
from tests.soak import points

OPERATIONS = points(150, 1_000)
MOST_AT_ONCE = 12
SEED = 20260501
WORDS = ("deploy", "review", "never", "main", "tests", "secrets")
TAGS = ("a", "b", "project:/app", "title:One")


@dataclass(frozen=True)
class State:
    """A fact as the test believes it to be."""

    content: str
    category: OrgFactCategory
    tags: tuple[str, ...]
    created_at: datetime
    retracted_at: datetime | None
    version: int


def state(snapshot: OperationLogSnapshot) -> State:
    fields = snapshot.model_dump(exclude={"fact_id"})
    return State(**fields)


def any_change(choose: random.Random, known: dict[str, bool]) -> OrgChange:
    """A new fact, a new version, a retraction or a revival, of what is there."""
    author = choose.choice((PERSON, SENIOR))
    fact_id = choose.choice(sorted(known)) if known and choose.random() < 0.9 else None
    if fact_id is not None and known[fact_id] and choose.random() < 0.4:
        return retract(fact_id, author=author)
    request = fact(
        " ".join(choose.choices(WORDS, k=4)),
        choose.choice(list(OrgFactCategory)),
        tuple(choose.sample(TAGS, choose.randint(0, 3))),
    )
    return publish(request, fact_id, author=author)


def after(change: OrgChange, before: State | None, at: datetime) -> State:
    version = before.version + 1 if before else 1
    if change.request is None:
        assert before is not None
        return replace(before, retracted_at=at, version=version)
    said, created_at = change.request, before.created_at if before else at
    return State(said.content, said.category, tuple(sorted(said.tags)), created_at, None, version)


@pytest.mark.soak
async def test_the_past_equals_a_naive_replay_at_every_moment(tmp_path: Path) -> None:
    choose, clock = random.Random(SEED), FixedClock()
    present: dict[str, State] = {}
    replayed: list[tuple[datetime, dict[str, State]]] = [(clock.now() - timedelta(days=1), {})]
    async with opened(tmp_path, clock=clock) as backend:
        store = OrgStore(backend.core)
        done = 0
        while done < OPERATIONS:
            clock.advance(seconds=choose.choice((0, 0, 1, 90)))
            known = {key: each.retracted_at is None for key, each in present.items()}
            wanted: dict[str | None, OrgChange] = {}
            for _ in range(choose.randint(1, min(MOST_AT_ONCE, OPERATIONS - done))):
                change = any_change(choose, known)
                wanted[change.fact_id or f"new {len(wanted)}"] = change
            changes = list(wanted.values())
            applied = await store.change(changes, OrgAct("test"))
            for change, each in zip(changes, applied, strict=True):
                at = (await store.log(each.fact_id))[-1].timestamp
                present[each.fact_id] = after(change, present.get(each.fact_id), at)
                assert each.after == present[each.fact_id].version
                replayed.append((at, {each.fact_id: present[each.fact_id]}))
            done += len(changes)
        moments = sorted({at for at, _ in replayed})
        for at in moments:
            expected: dict[str, State] = {}
            for moment, changed in replayed:
                expected |= changed if moment <= at else {}
            found = await store.snapshot_at(at)
            assert {each.fact_id: state(each) for each in found} == expected
            assert [each.fact_id for each in found] == sorted(expected)
        assert len(replayed) == OPERATIONS + 1

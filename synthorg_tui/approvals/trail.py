"""The trail of decisions over all items, and up to where the person was told of it.

The trail of one item is the queue's. Here is what happened without the person at the app: what a
setting adopted, what was decided at a terminal, and what was refused.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from synthorg_tui.approvals.models import ApprovalEventKind, ApprovalStatus
from synthorg_tui.approvals.rows import count_by_status
from synthorg_tui.core.actors import Actor, ActorKind
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import counted
from synthorg_tui.persistence import STATUS_FILE
from synthorg_tui.persistence.kept_counts import keep, mark_of
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.settings_kv import get_facts, put_facts

_log = logging.getLogger(__name__)

_TOLD: Final = "trail_told"
_KINDS: Final = (
    ApprovalEventKind.APPROVED,
    ApprovalEventKind.REJECTED,
    ApprovalEventKind.REOPENED,
    ApprovalEventKind.REFUSED,
)
_SELECT: Final = (
    "SELECT e.number, e.item_id, coalesce(a.title, ''), e.happened_at, e.kind, e.actor, e.reason "
    "FROM approval_events e LEFT JOIN approvals a ON a.id = e.item_id "
    "WHERE list_contains(?, e.kind) AND e.number > ? ORDER BY e.number DESC LIMIT ?"
)
MAX_NEWS: Final = 10_000
"""Entries that are looked through for what is new; older ones aren't told of any more."""


class DecidedHow(StrEnum):
    """By whom a decision of the trail was taken, or that it was refused."""

    POLICY = "policy"
    TERMINAL = "terminal"
    APP = "app"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class TrailEntry:
    """A decision, or a refused one; ``title`` is the item's, and untrusted like ``reason``."""

    number: int
    item_id: str
    title: str
    at: datetime
    kind: ApprovalEventKind
    actor: str
    reason: str

    @property
    def how(self) -> DecidedHow:
        """By whom it was decided."""
        if self.kind is ApprovalEventKind.REFUSED:
            return DecidedHow.REFUSED
        match Actor.parse(self.actor).kind:
            case ActorKind.POLICY:
                return DecidedHow.POLICY
            case ActorKind.APP:
                return DecidedHow.APP
            case _:
                return DecidedHow.TERMINAL


class DecisionTrail:
    """Reads the decisions about all items, and remembers which of them the person was told of."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def entries(self, *, limit: int = 200) -> tuple[TrailEntry, ...]:
        """Return decisions and refusals, newest first."""
        return await self._database.read(lambda db: _entries(db, 0, limit))

    async def news(self) -> tuple[TrailEntry, ...]:
        """Return what the person wasn't told of and didn't decide in the app, newest first."""
        return await self._database.read(news_in)

    async def mark_told(self, number: int) -> None:
        """Remember that the person was told of all entries up to this number."""

        def work(db: Connection) -> None:
            put_facts(db, {_TOLD: str(max(number, _told(db)))})

        await self._database.write(work)


def news_in(db: Connection) -> tuple[TrailEntry, ...]:
    """Return what ``DecisionTrail.news`` does, from a connection."""
    found = _entries(db, _told(db), MAX_NEWS)
    return tuple(entry for entry in found if entry.how is not DecidedHow.APP)


def waiting_in(db: Connection, now: datetime) -> tuple[int, int]:
    """Return how many proposals wait, snoozed ones left out, and how many entries are news."""
    waiting = count_by_status(db, now).get((ApprovalStatus.PENDING, False), 0)
    return waiting, len(news_in(db))


async def leave_counts(database: StoreDatabase, data_dir: Path) -> None:
    """Keep for status bars what waits, where one has asked before; for when the store is closed."""
    place = str(data_dir)
    if not (data_dir / STATUS_FILE).exists():
        return
    try:
        mark = mark_of(place)
        counts = await database.read(lambda db: waiting_in(db, datetime.now(UTC)))
        keep(place, mark, counts)
    except (DomainError, OSError) as error:
        _log.warning("what waits isn't known to status bars: %s", error)


def summary(entries: Sequence[TrailEntry]) -> str:
    """Return the numbers of entries in words; empty for none."""
    counts = dict.fromkeys(DecidedHow, 0)
    for entry in entries:
        counts[entry.how] += 1
    adopted, decided = counts[DecidedHow.POLICY], counts[DecidedHow.TERMINAL]
    refused, here = counts[DecidedHow.REFUSED], counts[DecidedHow.APP]
    parts = (
        f"{counted(adopted, 'skill')} adopted by a setting" if adopted else "",
        f"{counted(decided, 'decision')} at a terminal" if decided else "",
        f"{counted(here, 'decision')} in the app" if here else "",
        f"{refused:,} refused" if refused else "",
    )
    return ", ".join(filter(None, parts))


def _told(db: Connection) -> int:
    text = get_facts(db, _TOLD).get(_TOLD, "0")
    return int(text) if text.isdecimal() else 0


def _entries(db: Connection, after: int, limit: int) -> tuple[TrailEntry, ...]:
    kinds = [kind.value for kind in _KINDS]
    rows = db.execute(_SELECT, [kinds, after, limit]).fetchall()
    return tuple(
        TrailEntry(
            number, item_id, title, at.replace(tzinfo=UTC), ApprovalEventKind(kind), actor, reason
        )
        for number, item_id, title, at, kind, actor, reason in rows
    )

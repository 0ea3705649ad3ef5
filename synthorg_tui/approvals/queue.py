"""The queue of what waits for a person, with a trail of everything that happened to it.

The only code that changes an item. Proposing, revising and snoozing are calls of their own; a
decision runs inside a transaction of ``curation``, so that it is whole or not at all. What an item
is about is not known here.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from synthorg_tui.approvals import ApprovalsConfig, rows
from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalCounts,
    ApprovalEvent,
    ApprovalEventKind,
    ApprovalItem,
    ApprovalStatus,
    DecisionRefusedError,
    QueueFullError,
    RiskLevel,
    StaleReviewError,
    decided_words,
)
from synthorg_tui.approvals.person import Person, Policy, decision_event
from synthorg_tui.approvals.proposals import MAX_PENDING, is_agents
from synthorg_tui.approvals.roles import DecisionRights, DecisionSubject
from synthorg_tui.approvals.rows import payload_hash as payload_hash
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.failsafe import raise_fatal
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import naive_utc

T = TypeVar("T")

MAX_SNOOZE = timedelta(days=3650)

_EXPIRY_ACTOR = "clock"
_OPEN = frozenset({ApprovalStatus.PENDING, ApprovalStatus.EXPIRED})
_AWAKE = "(status <> 'pending' OR snoozed_until IS NULL OR snoozed_until <= ?)"

_log = logging.getLogger(__name__)


class ApprovalQueue:
    """Proposals that wait for a person, and the decisions about them, in the store's database.

    Only ``decide_in`` approves or rejects, and it needs the person. There is no timer: items whose
    time is up expire when the queue is next read or changed. Errors of ``on_expire`` are only
    logged.

    Args:
        database: Holds the items and their audit trail.
        clock: Decides what "now" is.
        expire_after: Lifetime of an item that has no ``expires_at``; ``None`` is without end.
        on_expire: Called with each item that has expired.
        rights: Who may decide what; ``None`` lets the person decide all.
    """

    def __init__(
        self,
        database: StoreDatabase,
        *,
        clock: Clock,
        expire_after: timedelta | None = None,
        on_expire: Callable[[ApprovalItem], None] | None = None,
        rights: DecisionRights | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._expire_after = expire_after
        self._on_expire = on_expire
        self.rights = rights or DecisionRights(ApprovalsConfig())

    async def add(self, item: ApprovalItem) -> None:
        """Add a pending item.

        Raises ``ApprovalConflictError`` when there is or was an item with its id,
        ``DecisionRefusedError`` when it isn't pending, and ``QueueFullError`` when an agent asks
        that has ``MAX_PENDING`` waiting already.
        """
        if item.status is not ApprovalStatus.PENDING:
            raise DecisionRefusedError(f"a new proposal can't be {item.status} already")
        now = self._clock.now()
        if item.expires_at is None and self._expire_after is not None:
            item = _changed(item, expires_at=max(item.created_at, now) + self._expire_after)

        def work(db: Connection) -> None:
            if rows.find(db, item.id) is not None:
                raise ApprovalConflictError(f"there is a proposal {item.id} already")
            _require_room(db, item.requested_by)
            rows.insert(db, item)
            self._record(db, item, ApprovalEventKind.ADDED, item.requested_by)

        await self._write(work)

    async def require_room(self, requested_by: str) -> None:
        """Raise ``QueueFullError`` when nothing more of this requester would be added."""
        await self._read(lambda db: _require_room(db, requested_by))

    async def get(self, item_id: str) -> ApprovalItem | None:
        """Return the item with this id, or ``None``."""
        return await self._read(lambda db: rows.find(db, item_id))

    async def list(
        self,
        *,
        status: ApprovalStatus | None = None,
        risk: RiskLevel | None = None,
        action_type: str | None = None,
        snoozed: bool = False,
    ) -> tuple[ApprovalItem, ...]:
        """Return the items that match all given filters, newest first.

        Snoozed ones are left out unless ``snoozed`` is set.
        """
        columns = {"status": status, "risk_level": risk, "action_type": action_type}
        wanted = {name: str(value) for name, value in columns.items() if value is not None}
        tests, values = [f"{name} = ?" for name in wanted], list[object](wanted.values())
        if not snoozed:
            tests.append(_AWAKE)
            values.append(naive_utc(self._clock.now()))
        clause = f"WHERE {' AND '.join(tests or ['true'])} ORDER BY created_at DESC, id"
        return await self._read(lambda db: rows.select(db, clause, values))

    async def counts(self) -> ApprovalCounts:
        """Return the number of items of each status."""
        now = self._clock.now()
        counts = await self._read(lambda db: rows.count_by_status(db, now))
        snoozed = counts.pop((ApprovalStatus.PENDING, True), 0)
        return ApprovalCounts(
            snoozed=snoozed, **{status.value: count for (status, _), count in counts.items()}
        )

    async def events(self, item_id: str) -> tuple[ApprovalEvent, ...]:
        """Return the audit trail of an item, oldest entry first; empty for an unknown id."""
        return await self._read(lambda db: rows.events(db, item_id))

    async def save(self, item: ApprovalItem) -> ApprovalItem | None:
        """Store a changed version of an undecided item and return it; ``None`` for an unknown id.

        An expired item may be made pending again. Raises ``DecisionRefusedError`` when the stored
        item or the new version is decided: that takes a person.
        """

        def work(db: Connection) -> ApprovalItem | None:
            before = rows.find(db, item.id)
            if before is None:
                return None
            if before.status not in _OPEN:
                raise DecisionRefusedError(f"proposal {item.id} is {before.status} already")
            self._replace(db, item, revived=before.status is ApprovalStatus.EXPIRED)
            return item

        return await self._write(work)

    async def save_if_pending(self, item: ApprovalItem) -> bool:
        """Store a changed version of an item if the stored one is pending; return whether it was.

        Raises ``DecisionRefusedError`` when the new version is decided: that takes a person.
        """

        def work(db: Connection) -> bool:
            before = rows.find(db, item.id)
            is_pending = before is not None and before.status is ApprovalStatus.PENDING
            if is_pending:
                self._replace(db, item)
            return is_pending

        return await self._write(work)

    async def revise(
        self,
        item_id: str,
        *,
        actor: str,
        payload: str | None = None,
        metadata: Mapping[str, str] | None = None,
        title: str | None = None,
        description: str | None = None,
    ) -> ApprovalItem:
        """Change what a pending item proposes and return it; fields given as ``None`` stay.

        Raises ``ApprovalNotFoundError``, and ``ApprovalConflictError`` when it isn't pending.
        """
        given = {
            "payload": payload,
            "metadata": metadata,
            "title": title,
            "description": description,
        }
        changes = {name: value for name, value in given.items() if value is not None}

        def work(db: Connection) -> ApprovalItem:
            before = self._pending(db, item_id)
            return self._change(db, before, ApprovalEventKind.REVISED, actor, **changes)

        return await self._write(work)

    async def snooze(self, item_id: str, until: datetime | None, person: Person) -> ApprovalItem:
        """Hide a pending item until the given time and return it; ``None`` shows it again now.

        It expires later by as long as it was hidden. Raises ``ApprovalNotFoundError``, and
        ``ApprovalConflictError`` when it isn't pending, or when ``until`` is in the past or more
        than ``MAX_SNOOZE`` ahead.
        """
        now = self._clock.now()
        if until is not None and not timedelta() < until - now <= MAX_SNOOZE:
            raise ApprovalConflictError(
                f"{until.isoformat()} is no time to wake a proposal",
                remedy=f"It must be to come, within {MAX_SNOOZE.days} days.",
            )

        def work(db: Connection) -> ApprovalItem:
            before = self._pending(db, item_id)
            self.rights.require(person, DecisionSubject.of(before))
            asleep = max(before.snoozed_until or now, now)
            expires = before.expires_at and before.expires_at + ((until or now) - asleep)
            return self._change(
                db,
                before,
                ApprovalEventKind.SNOOZED,
                str(person),
                f"until {until.isoformat()}" if until else "woken",
                snoozed_until=until,
                expires_at=expires,
            )

        return await self._write(work)

    async def refused(self, item_id: str, *, actor: str, reason: str) -> None:
        """Record in the audit trail that a decision was attempted but not accepted, and why.

        An unknown id is ignored.
        """

        def work(db: Connection) -> None:
            item = rows.find(db, item_id)
            if item is not None:
                self._record(db, item, ApprovalEventKind.REFUSED, actor, reason)

        await self._write(work)

    def decide_in(
        self,
        db: Connection,
        item_id: str,
        *,
        status: ApprovalStatus,
        person: Person | Policy,
        reason: str | None,
        payload_hash: str,
        payload: str | None = None,
        about: DecisionSubject | None = None,
    ) -> ApprovalItem:
        """Approve or reject an item within the caller's transaction, and return it.

        Only a person rejects, with a reason. ``payload_hash`` is that of the item that was shown;
        ``payload`` is the person's edit. Roles are asked ``about`` it, or about its metadata.

        Raises:
            ApprovalNotFoundError: There is no such item.
            ApprovalConflictError: It is no longer pending.
            StaleReviewError: Its payload isn't the one that was shown.
            DecisionRefusedError: ``status`` is no decision, or ``person`` may not take it.
        """
        reason = (reason or "").strip() or None
        kind = decision_event(status, person, reason)
        if rows.payload_hash(before := self._pending(db, item_id)) != payload_hash:
            raise StaleReviewError(f"proposal {item_id} has changed since it was shown")
        self.rights.require(person, about or DecisionSubject.of(before))
        event = (kind, str(person), reason or "")
        return self._change(
            db,
            before,
            *event,
            status=status,
            decided_at=self._clock.now(),
            decided_by=str(person),
            decision_reason=reason,
            snoozed_until=None,
            payload=before.payload if payload is None else payload,
        )

    def consume_in(self, db: Connection, item_id: str) -> ApprovalItem:
        """Record within the caller's transaction that an approval took effect; return the item.

        Repeating it changes nothing. Raises ``ApprovalNotFoundError``, and
        ``ApprovalConflictError`` when the item isn't approved.
        """
        item = rows.known(db, item_id)
        if item.status is not ApprovalStatus.APPROVED:
            raise ApprovalConflictError(f"proposal {item_id} is {item.status}, not approved")
        return self._consumed(db, item)

    async def use(self, item_id: str) -> ApprovalItem:
        """Record that whoever asked acts on the decision, and return the item.

        It can't be taken back from then on. Repeating it changes nothing. Raises
        ``ApprovalNotFoundError``, and ``ApprovalConflictError`` when it isn't decided.
        """

        def work(db: Connection) -> ApprovalItem:
            return self._consumed(db, _decided(db, item_id))

        return await self._write(work)

    def require_unused_in(self, db: Connection, item_id: str) -> None:
        """Raise ``ApprovalConflictError`` when a decision was acted on (see ``use``)."""
        if rows.known(db, item_id).consumed_at is not None:
            raise ApprovalConflictError("the run has gone on with it: it can't be taken back")

    def reopen_in(
        self,
        db: Connection,
        item_id: str,
        person: Person,
        reason: str,
        *,
        payload: str | None = None,
    ) -> ApprovalItem:
        """Make a decided item pending again within the caller's transaction, and return it.

        ``payload`` restores what was proposed before the person edited it. When the item would have
        expired by now, its time starts anew. Raises ``ApprovalNotFoundError``, and
        ``ApprovalConflictError`` when it isn't decided.
        """
        before, now = _decided(db, item_id), self._clock.now()
        self.rights.require(person, DecisionSubject.of(before))
        expires = before.expires_at
        if expires is not None and expires <= now:
            expires = now + (expires - before.created_at)
        return self._change(
            db,
            before,
            ApprovalEventKind.REOPENED,
            str(person),
            reason,
            status=ApprovalStatus.PENDING,
            decided_at=None,
            decided_by=None,
            decision_reason=None,
            consumed_at=None,
            expires_at=expires,
            payload=before.payload if payload is None else payload,
        )

    def require_open(self, item: ApprovalItem) -> None:
        """Raise ``ApprovalConflictError`` for a decided item, with by whom and when it was."""
        if item.status not in _OPEN:
            told = f"is {item.status}, not pending: {decided_words(item)}"
            raise ApprovalConflictError(f"proposal {item.id} {told}")

    def _pending(self, db: Connection, item_id: str) -> ApprovalItem:
        item = rows.known(db, item_id)
        self.require_open(item)
        is_late = item.expires_at is not None and item.expires_at <= self._clock.now()
        if item.status is ApprovalStatus.EXPIRED or is_late:
            raise ApprovalConflictError(f"proposal {item_id} has expired")
        return item

    def _record(
        self,
        db: Connection,
        item: ApprovalItem,
        kind: ApprovalEventKind,
        actor: str,
        reason: str = "",
    ) -> None:
        rows.append_event(db, item, kind, at=self._clock.now(), actor=actor, reason=reason)

    def _change(
        self,
        db: Connection,
        before: ApprovalItem,
        kind: ApprovalEventKind,
        actor: str,
        reason: str = "",
        /,
        **changes: object,
    ) -> ApprovalItem:
        """Store an item with other values in these fields, record the event and return the item."""
        item = _changed(before, **changes)
        rows.update(db, item)
        self._record(db, item, kind, actor, reason)
        return item

    def _consumed(self, db: Connection, item: ApprovalItem) -> ApprovalItem:
        """Set when an item took effect, unless that is set already; return the item."""
        if item.consumed_at is None:
            item = _changed(item, consumed_at=self._clock.now())
            rows.update(db, item)
        return item

    def _replace(self, db: Connection, item: ApprovalItem, *, revived: bool = False) -> None:
        if item.status not in _OPEN:
            raise DecisionRefusedError("saving is no decision: that takes a person")
        kind = ApprovalEventKind.REVISED
        if item.status is ApprovalStatus.EXPIRED:
            kind = ApprovalEventKind.EXPIRED
        elif revived:
            kind = ApprovalEventKind.REOPENED
        rows.update(db, item)
        self._record(db, item, kind, item.requested_by)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        """What ``work`` reads once everything due has expired."""
        due, result = await self._database.read(lambda db: (self._due(db), work(db)))
        if not due:
            return result
        await self._expire()
        return await self._database.read(work)

    async def _write(self, work: Callable[[Connection], T]) -> T:
        if await self._database.read(self._due):
            await self._expire()
        return await self._database.write(work)

    def _due(self, db: Connection) -> bool:
        return rows.is_any_due(db, self._clock.now())

    async def _expire(self) -> None:
        now = self._clock.now()

        def work(db: Connection) -> list[ApprovalItem]:
            event = (ApprovalEventKind.EXPIRED, _EXPIRY_ACTOR, "")
            over = {"status": ApprovalStatus.EXPIRED, "snoozed_until": None}
            return [self._change(db, item, *event, **over) for item in rows.due(db, now)]

        for item in await self._database.write(work):
            self._notify(item)

    def _notify(self, item: ApprovalItem) -> None:
        if self._on_expire is None:
            return
        try:
            self._on_expire(item)
        except Exception as error:
            raise_fatal(error)
            _log.warning("on_expire failed for %s", item.id, exc_info=True)


def _changed(item: ApprovalItem, **changes: object) -> ApprovalItem:
    return ApprovalItem.model_validate({**dict(item), **changes})


def _decided(db: Connection, item_id: str) -> ApprovalItem:
    item = rows.known(db, item_id)
    if item.status in _OPEN:
        raise ApprovalConflictError(f"proposal {item_id} is {item.status}, not decided")
    return item


def _require_room(db: Connection, requested_by: str) -> None:
    if is_agents(requested_by) and rows.count_pending(db, requested_by) >= MAX_PENDING:
        raise QueueFullError(
            f"{MAX_PENDING} of your proposals wait for a person: no more are taken",
            remedy="Go on without; it can be tried again once the person has decided.",
        )

"""The store of organisation memory: an append-only log of facts, and what it comes to.

Every write is a line of the log with the next version of its fact, and the snapshot is brought up
in the same transaction; nothing is ever taken out of the log, so that what held at any time can be
told. Who may write what is for the callers, see ``access_control``.
"""

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.memory.org.changes import OrgChange, OrgChangeKind, OrgEffect
from synthorg_tui.memory.org.errors import OrgMemoryQueryError, OrgMemoryWriteError
from synthorg_tui.memory.org.log import (
    PUBLISH,
    RETRACT,
    FactRow,
    LogRow,
    append,
    author_values,
    known_id,
    lines_of,
    put,
    rows_at,
    rows_of_ids,
    rows_with,
    stored_tags,
)
from synthorg_tui.memory.org.models import (
    OperationLogEntry,
    OperationLogSnapshot,
    OrgFact,
    OrgFactAuthor,
    OrgFactWriteRequest,
)
from synthorg_tui.providers.embedding.protocol import Vectors

if TYPE_CHECKING:
    from synthorg_tui.memory.store.core import Core
    from synthorg_tui.memory.store.writes import Changes

MAX_FACT_CHARS: Final = 100_000
"""Characters that one fact may have: a long decision record has a third of it."""
MAX_FACT_TAGS: Final = 64
"""Tags that one fact may have."""
MAX_TAG_CHARS: Final = 5_000
"""Characters that one tag may have: it may hold a path."""
_TICK: Final = timedelta(microseconds=1)

MayChange = Callable[[OrgChange, OrgFactCategory | None], None]
"""Raises when a change isn't allowed; given the category that the fact has, ``None`` if new."""


@dataclass(frozen=True, slots=True)
class OrgAct:
    """For whom changes are recorded; ``is_decision`` says that they are undone with a decision.

    ``undoes`` is the number of the act that they take back.
    """

    actor: str
    is_decision: bool = False
    undoes: int | None = None


class OrgStore:
    """Reads and writes facts in a store of memories, whose core is open."""

    def __init__(self, core: "Core") -> None:
        self.core = core

    async def log(self, fact_id: str) -> tuple[OperationLogEntry, ...]:
        """Return the lines of a fact by ascending version; none for an unknown one."""
        rows = await self.core.read(lambda db: lines_of(db, fact_id))
        return tuple(row.entry() for row in rows)

    async def snapshot_at(self, at: datetime) -> tuple[OperationLogSnapshot, ...]:
        """Return every fact as it was at a time, by id; retracted ones with their last text."""
        rows = await self.core.read(lambda db: rows_at(db, at))
        return tuple(row.snapshot() for row in rows)

    async def matching(
        self,
        text: str | None,
        *,
        categories: Collection[OrgFactCategory] | None = None,
        limit: int | None = None,
    ) -> tuple[OrgFact, ...]:
        """Return the active facts that hold a text in any case: where it stands first, then short.

        Equally good ones, and all without a text, are newest first.
        """
        rows = await self.core.read(lambda db: rows_with(db, text, categories, limit))
        return tuple(row.fact() for row in rows)

    async def delete(self, fact_id: str, *, author: OrgFactAuthor, actor: str = "") -> bool:
        """Retract a fact; return ``False`` when there is none, or when it is retracted already."""

        def work(changes: "Changes") -> bool:
            rows = rows_of_ids(changes.db, [fact_id]).values()
            who = actor or ("person" if author.is_human else str(author.agent_id))
            carry_out(changes, retractions(rows, author), {}, act=OrgAct(who))
            return any(row.is_active for row in rows)

        return await self.core.change(work)

    async def change(
        self, wanted: Sequence[OrgChange], act: OrgAct, *, may: MayChange | None = None
    ) -> tuple[OrgEffect, ...]:
        """Carry out changes in one transaction, all or none; ``may`` refuses what isn't allowed.

        Raises ``OrgMemoryWriteError``, ``OrgMemoryQueryError`` for an unknown fact, and what
        ``may`` does.
        """
        vectors = await self.vectors(wanted)
        return await self.core.change(
            lambda changes: carry_out(changes, wanted, vectors, act=act, may=may)
        )

    async def vectors(self, wanted: Sequence[OrgChange]) -> dict[str, Vectors | None]:
        """Return a vector for each text that changes would store; to be asked before ``carry_out``.

        Raises ``OrgMemoryWriteError`` for a text that is too long.
        """
        requests = [_redacted(change.request) for change in wanted if change.request]
        texts = list(dict.fromkeys(request.content for request in requests))
        return dict(zip(texts, await self.core.embed(texts), strict=True))


def carry_out(
    changes: "Changes",
    wanted: Sequence[OrgChange],
    vectors: Mapping[str, Vectors | None],
    *,
    act: OrgAct,
    may: MayChange | None = None,
) -> tuple[OrgEffect, ...]:
    """Carry out changes within a transaction, in order, and return what each did.

    A ``PUBLISH`` of an unknown id makes a fact of that id where ``expected_version`` is 0, for
    facts that name each other. Raises as ``OrgStore.change`` does; the transaction must end then.
    """
    ids = [change.fact_id for change in wanted if change.fact_id]
    writing = _Writing(changes, rows_of_ids(changes.db, ids), act, may)
    applied = tuple(writing.add(change) for change in wanted)
    writing.finish(vectors)
    return applied


class _Writing:
    """The lines and rows that the changes of one transaction come to."""

    def __init__(
        self, changes: "Changes", known: dict[str, FactRow], act: OrgAct, may: MayChange | None
    ) -> None:
        self._changes = changes
        self._known = known
        self._now = dict(known)
        self._act = act
        self._may = may
        self._number = None if act.is_decision else changes.revision + 1
        self._lines: list[LogRow] = []

    def add(self, change: OrgChange) -> OrgEffect:
        """Take up one change; raises when it can't be carried out."""
        fact_id, before = self._subject(change)
        if self._may is not None:
            self._may(change, OrgFactCategory(before.category) if before else None)
        row = self._after(change, fact_id, before)
        self._now[fact_id] = row
        content = row.content if change.request else None
        self._lines.append(
            LogRow(
                str(uuid.uuid4()),
                fact_id,
                PUBLISH if change.request else RETRACT,
                content,
                row.category,
                row.tags,
                *author_values(change.author),
                row.changed_at,
                row.version,
                row.revision,
                self._act.actor,
                self._number,
                self._act.undoes,
            )
        )
        return OrgEffect(fact_id=fact_id, before=before.version if before else 0, after=row.version)

    def finish(self, vectors: Mapping[str, Vectors | None]) -> None:
        """Write what was taken up; the index then follows."""
        ids = (line.fact_id for line in self._lines)
        changed = [self._now[fact_id] for fact_id in dict.fromkeys(ids)]
        append(self._changes.db, self._lines)
        put(self._changes.db, changed, known=self._known)
        pairs = [(self._known.get(row.fact_id), row) for row in changed]
        new = [row for old, row in pairs if old is None or old.content != row.content]
        self._embed(new, vectors)
        self._changes.touched.extend(row.fact_id for row in changed)
        if any(old and not old.is_active and row.is_active for old, row in pairs):
            self._changes.unembedded = True  # what comes back may have missed a change of the model

    def _subject(self, change: OrgChange) -> tuple[str, FactRow | None]:
        """The id and the state of the fact that a change is about."""
        if change.fact_id is None:
            return str(uuid.uuid4()), None
        fact_id = known_id(change.fact_id)
        before = self._now.get(fact_id) if fact_id else None
        if fact_id is None or (before is None and change.expected_version != 0):
            raise unknown_fact(change.fact_id)
        version = before.version if before else 0
        if change.expected_version not in (None, version):
            raise OrgMemoryWriteError(
                f"fact {fact_id} has version {version} now, not {change.expected_version}: "
                "somebody changed it meanwhile",
                remedy="Look at it again, and decide anew.",
            )
        if change.request is None and before is not None and not before.is_active:
            raise OrgMemoryWriteError(f"fact {fact_id} is retracted already")
        return fact_id, before

    def _after(self, change: OrgChange, fact_id: str, before: FactRow | None) -> FactRow:
        """The state after a change; later than every line before it, so that times tell apart."""
        self._changes.revision += 1
        revision, moment, version = self._changes.revision, self._changes.now, 1
        if before is not None:
            moment = max(moment, before.changed_at + _TICK)
            version = before.version + 1
        if change.request is None and before is not None:
            return before._replace(
                revision=revision, changed_at=moment, retracted_at=moment, version=version
            )
        if change.request is None:
            raise unknown_fact(fact_id)
        request, author = _redacted(change.request), author_values(change.author)
        said = (request.content, request.category.value, stored_tags(request.tags))
        created_at = before.created_at if before else moment
        times = (created_at, moment, None)
        return FactRow._make((fact_id, revision, *said, *author, *times, version))

    def _embed(self, rows: Sequence[FactRow], vectors: Mapping[str, Vectors | None]) -> None:
        if not rows:
            return
        old = [row.fact_id for row in rows if row.fact_id in self._known]
        if old:
            self._changes.remove_vectors(old)
        self._changes.put_vectors(
            [(row.fact_id, row.revision, vectors.get(row.content)) for row in rows]
        )


def retractions(rows: Iterable[FactRow], author: OrgFactAuthor) -> list[OrgChange]:
    """Return the changes that retract those of the facts that are active."""
    return [
        OrgChange(kind=OrgChangeKind.RETRACT, author=author, fact_id=row.fact_id)
        for row in rows
        if row.is_active
    ]


def unknown_fact(fact_id: str) -> OrgMemoryQueryError:
    """Return the error that there is no such fact."""
    return OrgMemoryQueryError(
        f"there is no fact {fact_id}",
        remedy="`synthorg-tui org list` shows the ids; their first characters are enough.",
    )


def _redacted(request: OrgFactWriteRequest) -> OrgFactWriteRequest:
    """The request without secrets, within bounds; raises ``OrgMemoryWriteError``."""
    if len(request.content) > MAX_FACT_CHARS:
        raise OrgMemoryWriteError(
            f"one fact holds {MAX_FACT_CHARS:,} characters at most; this text has "
            f"{len(request.content):,}",
            remedy="Write several facts, or the path of a file that has it.",
        )
    longest = max(map(len, request.tags), default=0)
    if len(request.tags) > MAX_FACT_TAGS or longest > MAX_TAG_CHARS:
        raise OrgMemoryWriteError(
            f"a fact has {MAX_FACT_TAGS} tags of {MAX_TAG_CHARS:,} characters at most; this has "
            f"{len(request.tags)}, the longest of {longest:,}"
        )
    tally = RedactionTally()
    content = redact_text(request.content, tally)
    tags = tuple(redact_text(tag, tally) for tag in request.tags)
    if not tally.total:
        return request
    return request.model_copy(update={"content": content, "tags": tags})

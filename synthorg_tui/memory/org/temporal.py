"""Organisation memory that knows how facts changed: what was believed when, and by whom.

Everything is read from the append-only log. Answers are of today's truth; what it replaced is named
in their explanation. A bound on how long the past is told leaves the log whole: of what ended
longer ago the words are kept back, not when it was said or by whom.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.text import safe_text, truncate
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.org.access_control import WriteAccessConfig
from synthorg_tui.memory.org.config import OrgTemporalConfig
from synthorg_tui.memory.org.errors import OrgMemoryQueryError, translate_org_errors
from synthorg_tui.memory.org.hybrid import HybridPromptRetrievalBackend
from synthorg_tui.memory.org.log import PUBLISH, LogRow, author_of, known_id, log_rows, tags_of
from synthorg_tui.memory.org.models import OrgFactAuthor, OrgMemoryQuery
from synthorg_tui.memory.org.search import FoundFact, OrgSearch
from synthorg_tui.memory.org.standing import is_given_up
from synthorg_tui.memory.org.store import OrgStore, unknown_fact
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.persistence.values import naive_utc

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection

_MAX_TOLD: Final = 80


class BeliefEnd(StrEnum):
    """Why something is no longer believed."""

    CHANGED = "changed"
    RETRACTED = "retracted"
    SUPERSEDED = "superseded"
    GIVEN_UP = "given up"


class OrgChangeWord(StrEnum):
    """What became of a fact at one moment."""

    WRITTEN = "written"
    CHANGED = "changed"
    RETRACTED = "retracted"
    REVIVED = "revived"


@dataclass(frozen=True, slots=True)
class Belief:
    """What a fact said while it held: one version of it, from ``since`` to before ``until``.

    ``until`` is ``None`` while it holds. ``ended`` says why it ended, and ``replaced_by`` is the
    fact that took its place: itself where it was changed, ``None`` where nothing did.
    ``valid_from`` is the date that a decision itself gives, ``since`` where it gives none.
    ``content`` is ``None`` where the words are kept back, as it ended longer ago than the settings
    tell of.
    """

    fact_id: str
    version: int
    content: str | None
    category: OrgFactCategory
    tags: tuple[str, ...]
    author: OrgFactAuthor
    since: datetime
    until: datetime | None
    valid_from: datetime
    ended: BeliefEnd | None = None
    replaced_by: str | None = None


@dataclass(frozen=True, slots=True)
class OrgShift:
    """One line of the log as a change: what a fact said before and says since; ``None`` for not.

    ``supersedes`` names the facts that it replaced from then on. With ``is_kept_back`` the words of
    ``before``, or of ``after``, are not told any more.
    """

    at: datetime
    fact_id: str
    version: int
    kind: OrgChangeWord
    author: OrgFactAuthor
    before: str | None
    after: str | None
    supersedes: tuple[str, ...] = ()
    is_kept_back: bool = False


class TemporalKnowledgeBackend(HybridPromptRetrievalBackend):
    """The backend ``temporal_kg``; ``temporal`` says what of the past is told."""

    backend_name: NotBlankStr = "temporal_kg"

    def __init__(
        self,
        *,
        core_policies: Sequence[str] = (),
        store: OrgStore,
        access_config: WriteAccessConfig | None = None,
        search: OrgSearch | None = None,
        temporal: OrgTemporalConfig | None = None,
    ) -> None:
        super().__init__(
            core_policies=core_policies, store=store, access_config=access_config, search=search
        )
        self._temporal = temporal or OrgTemporalConfig()

    async def as_of(self, at: datetime) -> tuple[Belief, ...]:
        """Return what was believed at a time, the latest first, as it was recorded until then.

        Raises ``OrgMemoryQueryError``.
        """
        past = _Past(await self._logs("TRUE"))
        found = [
            belief
            for fact_id in past.logs
            for belief in past.beliefs(fact_id)
            if belief.since <= at and (belief.until is None or at < belief.until)
        ]
        found.sort(key=lambda belief: (belief.since, belief.fact_id), reverse=True)
        return self._told(found)

    async def timeline(self, fact_id: str) -> tuple[Belief, ...]:
        """Return all that a fact said while it held, the earliest first.

        Times in between, in which it was retracted or another fact stood in its place, are in none.
        Raises ``OrgMemoryQueryError``, for an unknown fact too.
        """
        key = known_id(fact_id)
        logs = await self._logs(_ABOUT_ONE, key, f"supersedes:{key}") if key else {}
        if key is None or key not in logs:
            raise unknown_fact(fact_id)
        return self._told(_Past(logs).beliefs(key))

    async def changes_between(self, start: datetime, end: datetime) -> tuple[OrgShift, ...]:
        """Return what changed after one time and until another one, in that order.

        Raises ``OrgMemoryQueryError``.
        """
        times = [naive_utc(end), naive_utc(start), naive_utc(end)]
        logs = await self._logs(_IN_BETWEEN, *times)
        shifts = [
            shift
            for log in logs.values()
            for shift in _shifts(log, self._cutoff())
            if start < shift.at <= end
        ]
        return tuple(sorted(shifts, key=lambda shift: (shift.at, shift.fact_id, shift.version)))

    async def _found(self, query: OrgMemoryQuery, project: str | None) -> tuple[FoundFact, ...]:
        found = await super()._found(query, project)
        if not found or not self._temporal.track_changes:
            return found
        ids = [hit.fact.id for hit in found]
        logs = await self._logs("list_contains(?::UUID[], fact_id)", ids)
        cutoff = self._cutoff()
        return tuple(_with_past(hit, logs.get(hit.fact.id, ()), cutoff) for hit in found)

    async def _logs(self, clause: str, *values: object) -> dict[str, tuple[LogRow, ...]]:
        """The whole logs of some facts by their ids, each in ascending order of versions."""
        self._require_connection()
        if not self._temporal.track_changes:
            raise OrgMemoryQueryError(
                "nothing is told of the past of organisation memory",
                remedy="Set org_memory.temporal.track_changes to true; the log is whole.",
            )

        def read(db: "Connection") -> list[LogRow]:
            return log_rows(db, f"{clause} ORDER BY fact_id, version", values)

        with translate_org_errors(OrgMemoryQueryError, "reading the past of facts"):
            rows = await self._store.core.read(read)
        logs: dict[str, list[LogRow]] = {}
        for row in rows:
            logs.setdefault(row.fact_id, []).append(row)
        return {fact_id: tuple(lines) for fact_id, lines in logs.items()}

    def _cutoff(self) -> datetime | None:
        """When something must have held still for its words to be told; ``None`` for ever."""
        days = self._temporal.history_retention_days
        return None if days is None else self._store.core.clock.now() - timedelta(days=days)

    def _told(self, beliefs: Iterable[Belief]) -> tuple[Belief, ...]:
        cutoff = self._cutoff()
        return tuple(
            replace(belief, content=None, tags=())
            if cutoff is not None and belief.until is not None and belief.until <= cutoff
            else belief
            for belief in beliefs
        )


_ABOUT_ONE: Final = (
    "(fact_id = ?::UUID OR fact_id IN "
    "(SELECT fact_id FROM org_operations WHERE contains(lower(tags), ?)))"
)
_IN_BETWEEN: Final = (
    "made_at <= ? AND fact_id IN "
    "(SELECT fact_id FROM org_operations WHERE made_at > ? AND made_at <= ?)"
)


class _Past:
    """The logs of facts, with what they say of each other."""

    def __init__(self, logs: Mapping[str, tuple[LogRow, ...]]) -> None:
        self.logs = logs
        self._times = {key: [line.made_at for line in log] for key, log in logs.items()}
        self._superseders: dict[str, list[str]] = {}
        for key, log in logs.items():
            for former in dict.fromkeys(old for line in log for old in _superseded(line)):
                if former != key:
                    self._superseders.setdefault(former, []).append(key)

    def beliefs(self, fact_id: str) -> list[Belief]:
        """The stretches of time in which a fact held, each with what it said."""
        about = [fact_id, *self._superseders.get(fact_id, ())]
        times = sorted({at for key in about for at in self._times[key]})
        states = [(at, self._line(fact_id, at), self._superseder(fact_id, at)) for at in times]
        found: list[Belief] = []
        for at, line, superseder in states:
            holds = line is not None and superseder is None and not _is_given_up(line)
            if found and found[-1].until is None:
                if holds and line is not None and line.version == found[-1].version:
                    continue
                found[-1] = self._ended(found[-1], at, line, superseder)
            if holds and line is not None:
                found.append(_belief(line, at))
        return found

    def _ended(
        self, belief: Belief, at: datetime, line: LogRow | None, superseder: str | None
    ) -> Belief:
        ended, by = BeliefEnd.RETRACTED, None
        if line is not None and superseder is not None:
            ended, by = BeliefEnd.SUPERSEDED, superseder
        elif line is not None and _is_given_up(line):
            ended = BeliefEnd.GIVEN_UP
        elif line is not None:
            ended, by = BeliefEnd.CHANGED, line.fact_id
        return replace(belief, until=at.replace(tzinfo=UTC), ended=ended, replaced_by=by)

    def _line(self, fact_id: str, at: datetime) -> LogRow | None:
        """What a fact said at a time; ``None`` where it wasn't there."""
        number = bisect_right(self._times[fact_id], at)
        line = self.logs[fact_id][number - 1] if number else None
        return line if line is not None and line.operation_type == PUBLISH else None

    def _superseder(self, fact_id: str, at: datetime) -> str | None:
        """The fact that stood in place of another; none where they go round in a circle."""
        first = self._direct(fact_id, at)
        passed, last = {fact_id}, first
        while last is not None:
            if last in passed:
                return None
            passed.add(last)
            last = self._direct(last, at)
        return first

    def _direct(self, fact_id: str, at: datetime) -> str | None:
        active = [
            (self._times[key][0], key)
            for key in self._superseders.get(fact_id, ())
            if (line := self._line(key, at)) is not None and fact_id in _superseded(line)
        ]
        return max(active)[1] if active else None


def _superseded(line: LogRow) -> list[str]:
    named = OrgTraits.of(tags_of(line.tags)).supersedes if "supersedes:" in line.tags else ()
    return [key for each in named if (key := known_id(each))]


def _is_given_up(line: LogRow) -> bool:
    return "status:" in line.tags and is_given_up(OrgTraits.of(tags_of(line.tags)).status)


def _belief(line: LogRow, at: datetime) -> Belief:
    entry, since = line.entry(), at.replace(tzinfo=UTC)
    return Belief(
        fact_id=line.fact_id,
        version=line.version,
        content=line.content,
        category=OrgFactCategory(line.category),
        tags=entry.tags,
        author=author_of(line[6:10]),
        since=since,
        until=None,
        valid_from=_valid_from(OrgTraits.of(entry.tags).date, since),
    )


def _valid_from(said: str, since: datetime) -> datetime:
    """The day that a decision gives, if it can be read and isn't later than it was recorded."""
    try:
        day = date.fromisoformat(said.strip()[:10])
    except ValueError:
        return since
    return min(datetime.combine(day, time(), UTC), since)


def _shifts(log: Sequence[LogRow], cutoff: datetime | None) -> list[OrgShift]:
    """The lines of one fact's whole log as changes."""
    shifts: list[OrgShift] = []
    before: LogRow | None = None
    for number, line in enumerate(log):
        following = log[number + 1] if number + 1 < len(log) else None
        old = _is_old(line.made_at, cutoff) and before is not None and before.content is not None
        over = following is not None and _is_old(following.made_at, cutoff)
        shifts.append(
            OrgShift(
                at=line.made_at.replace(tzinfo=UTC),
                fact_id=line.fact_id,
                version=line.version,
                kind=_word(before, line),
                author=author_of(line[6:10]),
                before=None if old or before is None else before.content,
                after=None if over else line.content,
                supersedes=tuple(_superseded(line)),
                is_kept_back=old or (over and line.content is not None),
            )
        )
        before = line
    return shifts


def _is_old(at: datetime, cutoff: datetime | None) -> bool:
    return cutoff is not None and at.replace(tzinfo=UTC) <= cutoff


def _word(before: LogRow | None, line: LogRow) -> OrgChangeWord:
    if line.operation_type != PUBLISH:
        return OrgChangeWord.RETRACTED
    if before is None:
        return OrgChangeWord.WRITTEN
    return OrgChangeWord.CHANGED if before.content is not None else OrgChangeWord.REVIVED


def _with_past(hit: FoundFact, log: Sequence[LogRow], cutoff: datetime | None) -> FoundFact:
    """The hit, with what the fact said before in its explanation."""
    said = [line for line in log if line.content is not None]
    for former, newer in reversed(list(pairwise(said))):
        if former.content != newer.content:
            break
    else:
        return hit
    text = " ".join((former.content or "").split())
    words = f"'{safe_text(truncate(text, _MAX_TOLD))}'"
    if _is_old(newer.made_at, cutoff):
        words = "something else"
    who = "a person" if former.author_is_human else safe_text(str(former.author_agent_id))
    day = newer.made_at.date().isoformat()
    reason = f"{hit.why}; holds since {day}, before that it said {words} ({who})"
    return replace(hit, explained=replace(hit.explained, reason=reason))

"""Commands, lessons and projects for which a person switched off hints to agents.

Only hints are silenced: a silenced lesson stays approved, in digests and among the skills. Whether
it is a person who asks is for those who call; what to silence is never decided here.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.projects import same_project
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.values import aware, naive_utc

MAX_SUBJECT: Final = 1_000


class SilencedKind(StrEnum):
    """Kinds of silenced subjects: a program with its subcommand, a lesson, or a project."""

    COMMAND = "command"
    LESSON = "lesson"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class Silence:
    """One thing that a person silenced.

    ``subject`` is ``git push`` for a command, the path of its skill for a lesson, and the folder of
    a project.
    """

    kind: SilencedKind
    subject: str
    at: datetime
    actor: str


class SilencedHints:
    """Stores silenced subjects, and caches them so that a call needs no query."""

    def __init__(self, database: StoreDatabase, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._known: dict[tuple[SilencedKind, str], Silence] | None = None

    async def all(self) -> tuple[Silence, ...]:
        """Return all silenced subjects as they are stored now, the latest first."""
        self._known = None
        known = await self._loaded()
        return tuple(sorted(known.values(), key=lambda each: each.at, reverse=True))

    async def covers(self, subjects: dict[SilencedKind, tuple[str, ...]]) -> bool:
        """Tell whether any of the subjects is silenced; a project covers the folders in it."""
        known = await self._loaded()
        if not known:
            return False
        projects = [each.subject for each in known.values() if each.kind is SilencedKind.PROJECT]
        for kind, named in subjects.items():
            if any((kind, subject) in known for subject in named):
                return True
        places = subjects.get(SilencedKind.PROJECT, ())
        return any(same_project(project, place) for place in places for project in projects)

    async def silence(self, kind: SilencedKind, subject: str, *, actor: str) -> Silence:
        """Give no more hints about a subject; silencing it again changes nothing.

        Raises ``DomainError`` for a subject that is blank or too long.
        """
        named = _subject(kind, subject)
        known = await self._loaded()
        silence = known.get((kind, named)) or Silence(kind, named, self._clock.now(), actor)
        values = [kind.value, named, naive_utc(silence.at), silence.actor]
        sql = "INSERT OR IGNORE INTO silenced VALUES (?, ?, ?, ?)"
        await self._database.write(lambda db: db.execute(sql, values))
        known[kind, named] = silence
        return silence

    async def unsilence(self, kind: SilencedKind, subject: str) -> Silence:
        """Allow hints about a subject again; raises ``DomainError`` if they were."""
        named = _subject(kind, subject)
        known = await self._loaded()
        if (kind, named) not in known:
            raise DomainError(f"hints about this {kind} are not silenced")
        sql = "DELETE FROM silenced WHERE kind = ? AND subject = ?"
        await self._database.write(lambda db: db.execute(sql, [kind.value, named]))
        return known.pop((kind, named))

    async def _loaded(self) -> dict[tuple[SilencedKind, str], Silence]:
        if self._database.is_shared:  # another app may have silenced or allowed something
            self._known = None
        if self._known is None:
            sql = "SELECT kind, subject, silenced_at, actor FROM silenced"
            rows = await self._database.read(lambda db: db.execute(sql).fetchall())
            read = [
                Silence(SilencedKind(kind), subject, moment, actor)
                for kind, subject, at, actor in rows
                if (moment := aware(at)) is not None
            ]
            if self._known is None:
                self._known = {(each.kind, each.subject): each for each in read}
        return self._known


def _subject(kind: SilencedKind, subject: str) -> str:
    """The subject as it is stored: white space as single blanks, folders without the last slash."""
    if kind is SilencedKind.COMMAND:
        named = " ".join(subject.split())
    else:
        named = subject.strip().rstrip("/") or subject.strip()
    if not 0 < len(named) <= MAX_SUBJECT:
        raise DomainError(f"a {kind} to silence has 1 to {MAX_SUBJECT} characters")
    return named

"""Facts: what was counted in one session, kept so that no session is unpacked a second time.

A fact says of one subject how often it went well and badly in one session, when, and on which
lines. It belongs to its session: whoever writes a session anew or forgets it deletes its facts (see
``executions.store``), so a session without any is one that has yet to be looked at.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from synthorg_tui.core.checkouts import FolderSeen
from synthorg_tui.core.projects import ProjectEdit, folders_of, projects_in_use, repository_of
from synthorg_tui.executions.drawn import word_all_in
from synthorg_tui.executions.models import Execution
from synthorg_tui.learning.wishes import stored
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.project_rows import named_folders, remember_projects
from synthorg_tui.persistence.values import aware, insert, naive

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection

T = TypeVar("T")

EXTRACTION: Final = "3"
"""The version of what is counted: a session looked at by another one is looked at again."""
_LOOKED_AT: Final = ""
"""The topic of the row that says that a session was looked at, with the version as its subject."""
MAX_SUBJECT: Final = 200
MAX_DETAIL: Final = 300
_TYPES: Final = (
    *("VARCHAR",) * 5,
    "BIGINT",
    "BIGINT",
    "DOUBLE",
    "TIMESTAMP",
    "BIGINT",
    "BIGINT",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """What one session says of one subject.

    ``topic`` is the sort of fact and ``subject`` tells it from others of its sort, however it is
    worded; ``detail`` is its wording here. ``good`` and ``bad`` count what went well and failed.
    ``certainty`` is that of this one sighting where counting doesn't give it. ``lines`` are the
    first and last line of the transcript that show it.
    """

    topic: str
    subject: str
    detail: str = ""
    good: int = 1
    bad: int = 0
    certainty: float | None = None
    at: datetime | None = None
    lines: tuple[int, int] = (1, 1)


def merged(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Return the facts of one session, those that say the same as one with their sums."""
    known: dict[tuple[str, str, str], Fact] = {}
    for fact in facts:
        key = fact.topic, fact.subject, fact.detail
        before = known.get(key)
        if before is not None:
            lines = min(before.lines[0], fact.lines[0]), max(before.lines[1], fact.lines[1])
            good, bad = before.good + fact.good, before.bad + fact.bad
            fact = replace(fact, good=good, bad=bad, at=fact.at or before.at, lines=lines)
        known[key] = fact
    return tuple(known.values())


class Sighting(NamedTuple):
    """A fact with the session and the project it was seen in; empty session: one forgotten."""

    session: str
    project: str
    fact: Fact


class KnownProjects(NamedTuple):
    """What a store knows of projects: what makes a ``ProjectMap``, and those that rows name."""

    seen: tuple[FolderSeen, ...]
    edits: tuple[ProjectEdit, ...]
    projects: tuple[str, ...]


class FactStore:
    """The facts of all sessions, in one table of their own."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def remember_folders(self) -> None:
        """Look at the folders of all projects, and store what this disk says of them."""
        folders = await self._database.read(named_folders)
        projects = projects_in_use()
        await asyncio.to_thread(projects.learn, folders, again=True)
        await self._database.write(lambda db: remember_projects(db, projects))

    async def run(self, work: "Callable[[Connection], T]", *, writes: bool = False) -> T:
        """Run ``work`` on the database, in a transaction of its own where it writes."""
        return await (self._database.write(work) if writes else self._database.read(work))

    async def known(self) -> KnownProjects:
        """Return what is known of projects."""
        named = await self._database.read(named_folders)
        projects = tuple(dict.fromkeys(map(repository_of, named)))
        current = projects_in_use()
        return KnownProjects(tuple(current.seen.values()), current.edits, projects)

    async def agent_in(self, project: str, known: Sequence[str]) -> str:
        """Return which of the known agents worked in this project last; empty for none."""
        row = await self._database.read(
            lambda db: db.execute(
                "SELECT agent_id FROM (SELECT agent_id, project, coalesce(ended_at, started_at) "
                "AS seen_at FROM executions UNION ALL SELECT agent_id, project, created_at "
                "FROM memories WHERE NOT shared AND deleted_at IS NULL) AS seen "
                "WHERE agent_id IN (SELECT unnest(?::VARCHAR[])) "
                "AND project IN (SELECT unnest(?::VARCHAR[])) "
                "ORDER BY seen_at DESC NULLS LAST, agent_id LIMIT 1",
                [list(known), list(folders_of(project))],
            ).fetchone()
        )
        return str(row[0]) if row else ""

    async def waiting(self) -> tuple[str, ...]:
        """Return the ids of the sessions that are new or changed since they were looked at."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT id FROM executions WHERE id NOT IN (SELECT execution_id FROM session_facts "
                "WHERE topic = ? AND subject = ?) ORDER BY id",
                [_LOOKED_AT, EXTRACTION],
            ).fetchall()
        )
        return tuple(row[0] for row in rows)

    async def put(self, found: Sequence[tuple[Execution, Sequence[Fact]]]) -> frozenset[str]:
        """Store what sessions say, in place of what they said before; return their projects.

        One that was deleted or written anew since it was read waits further. Until lines are made
        of them, all projects are due.
        """
        ids = [execution.id for execution, _ in found]

        def work(db: "Connection") -> frozenset[str]:
            listed = "(SELECT unnest(?::VARCHAR[]))"
            counts = dict(
                db.execute(
                    f"SELECT id, line_count FROM executions WHERE id IN {listed}", [ids]
                ).fetchall()
            )
            before = db.execute(
                f"SELECT DISTINCT project FROM session_facts WHERE execution_id IN {listed}", [ids]
            ).fetchall()
            db.execute(f"DELETE FROM session_facts WHERE execution_id IN {listed}", [ids])
            rows = [
                row
                for execution, facts in found
                if counts.get(execution.id) == execution.line_count
                for row in _rows(execution, facts)
            ]
            insert(db, "session_facts", _TYPES, rows)
            word_all_in(db)  # unless what is worded now is worded to the end
            return frozenset([str(row[1]) for row in rows]) | {str(row[0]) for row in before}

        return frozenset(map(repository_of, await self._database.write(work) - {""}))

    async def sightings(self, projects: Iterable[str]) -> list[Sighting]:
        """Return the facts of these projects, of all their folders, the earliest first."""
        folders = {folder for project in projects for folder in folders_of(project)}
        return await self._select(
            "topic <> ? AND project IN (SELECT unnest(?::VARCHAR[]))",
            [_LOOKED_AT, sorted(folders)],
        )

    async def said(self) -> list[Sighting]:
        """Return what people said in all projects, the earliest first."""
        return await self._select("topic = ?", ["said"])

    async def _select(self, where: str, values: list[object]) -> list[Sighting]:
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT execution_id, project, topic, subject, detail, good, bad, certainty, "
                f"seen_at, first_line, last_line FROM session_facts WHERE {where} "
                "ORDER BY seen_at NULLS FIRST, execution_id, first_line, topic, subject",
                values,
            ).fetchall()
        )
        return [_sighting(row) for row in rows]

    async def projects(self) -> dict[str, tuple[int, datetime | None]]:
        """Return each project with its number of sessions and when the last one ended.

        Those of subagents are part of the session that started them.
        """
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT project, count(DISTINCT split_part(execution_id, '/', 1)), max(seen_at) "
                "FROM session_facts "
                "WHERE project <> '' AND topic = ? GROUP BY 1 ORDER BY 1",
                [_LOOKED_AT],
            ).fetchall()
        )
        found: dict[str, tuple[int, datetime | None]] = {}
        for folder, sessions, last in rows:
            project = repository_of(folder)
            before, latest = found.get(project, (0, None))
            last = max(filter(None, (aware(last), latest)), default=None)
            found[project] = int(sessions) + before, last
        return found


def _rows(execution: Execution, facts: Sequence[Fact]) -> list[tuple[object, ...]]:
    project = execution.project or ""
    ended = execution.ended_at or execution.started_at
    looked = Fact(_LOOKED_AT, EXTRACTION, good=0, at=ended)
    return [
        (
            execution.id,
            project,
            fact.topic,
            stored(fact.subject, MAX_SUBJECT),
            stored(fact.detail, MAX_DETAIL),
            fact.good,
            fact.bad,
            fact.certainty,
            naive(fact.at or ended),
            *fact.lines,
        )
        for fact in (looked, *(facts if project else ()))
    ]


def _sighting(row: Sequence[object]) -> Sighting:
    session, project, topic, subject, detail, good, bad, certainty, at, first, last = row
    fact = Fact(
        topic=str(topic),
        subject=str(subject),
        detail=str(detail),
        good=int(str(good)),
        bad=int(str(bad)),
        certainty=float(str(certainty)) if certainty is not None else None,
        at=aware(at) if isinstance(at, datetime) else None,
        lines=(int(str(first)), int(str(last))),
    )
    return Sighting(str(session), repository_of(str(project)), fact)

"""The registry of skills that a person approved: their texts, files, evidence and use.

It is what the program believes about skills, whatever lies on disk; ``disk_sync`` compares the two.
Reading is ``SkillRegistry``; the functions that take a connection write, and run inside the
transaction of a decision, so nothing here decides or touches a file.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

from pydantic import AwareDatetime, TypeAdapter

from synthorg_tui.core.actors import actor_words, deed_of
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.curation.models import (
    Count,
    Evidence,
    LessonKind,
    ProceduralMemoryProposal,
    ProceduralMemoryScope,
    recorded_runs,
)
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import naive_utc


class SkillStatus(StrEnum):
    """The state of a skill: in use, retired by a person, or superseded by another skill."""

    ACTIVE = "active"
    RETIRED = "retired"
    SUPERSEDED = "superseded"


class RegisteredSkill(FrozenModel):
    """A skill in the registry, identified by the path of its SKILL.md.

    ``memory_ids`` are the memory of ``agent_id`` and then its copies at other agents; ``sha256``
    (hex) is of the approved bytes of the file, empty without a file. ``version`` counts from 1.
    ``kind`` and ``lesson_key`` are those of the lesson it was drawn from, ``None`` for a file that
    was accepted from disk; ``superseded_by`` is the path of the skill that replaced it.
    """

    path: NotBlankStr
    root: NotBlankStr
    name: NotBlankStr
    status: SkillStatus = SkillStatus.ACTIVE
    agent_id: NotBlankStr
    kind: LessonKind | None = None
    lesson_key: NotBlankStr | None = None
    source: NotBlankStr
    memory_ids: tuple[NotBlankStr, ...] = ()
    sha256: str = ""
    version: Count
    proposal: ProceduralMemoryProposal
    evidence: tuple[Evidence, ...] = ()
    superseded_by: NotBlankStr | None = None
    application_count: Count = 0
    last_applied_at: AwareDatetime | None = None
    adopted_at: AwareDatetime
    updated_at: AwareDatetime

    @property
    def recurrence(self) -> int:
        """The number of different runs in its evidence; what was only reported doesn't count."""
        return recorded_runs(self.evidence)

    def without_memories(
        self, memory_ids: Iterable[str], *, at: datetime | None = None
    ) -> "RegisteredSkill":
        """Return the skill without these memories, with ``updated_at`` set to ``at`` when given."""
        removed = frozenset(memory_ids)
        update: dict[str, object] = {
            "memory_ids": tuple(key for key in self.memory_ids if key not in removed)
        }
        return self.model_copy(update=update | ({"updated_at": at} if at else {}))


class VersionEvent(StrEnum):
    """The event by which a text entered the history of a skill's file; see ``SkillVersion``."""

    WRITTEN = "written"
    ACCEPTED = "accepted"
    SET_ASIDE = "set_aside"
    REMOVED = "removed"
    NOT_WRITTEN = "not_written"


class SkillVersion(FrozenModel):
    """One text in the history of a skill's file, with the event that brought it there.

    ``WRITTEN`` was written by the program, ``ACCEPTED`` found on disk and approved. ``SET_ASIDE``
    was on disk when the program replaced it, ``REMOVED`` when the file was removed. ``NOT_WRITTEN``
    was approved but not written, because somebody had just put another text there. In ``text``
    bytes that aren't UTF-8 are replaced.
    """

    number: int
    path: str
    version: int
    at: AwareDatetime
    actor: str
    event: VersionEvent
    sha256: str
    text: str

    @property
    def title(self) -> str:
        """The version's number, event and actor as words for a person."""
        deed = deed_of(_EVENT_WORDS[self.event], self.actor)
        return f"v{self.version} {deed} by {actor_words(self.actor)}"


_EVENT_WORDS = {
    VersionEvent.WRITTEN: "written",
    VersionEvent.ACCEPTED: "accepted from disk",
    VersionEvent.SET_ASIDE: "set aside on disk",
    VersionEvent.REMOVED: "removed",
    VersionEvent.NOT_WRITTEN: "in force, not on disk",
}


_COLUMNS = (
    "path",
    "root",
    "name",
    "status",
    "scope",
    "agent_id",
    "kind",
    "lesson_key",
    "source",
    "memory_ids",
    "sha256",
    "version",
    "proposal",
    "evidence",
    "superseded_by",
    "application_count",
    "last_applied_at",
    "adopted_at",
    "updated_at",
)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM skills"
_EVIDENCE = TypeAdapter(tuple[Evidence, ...])


class SkillRegistry:
    """Reads the approved skills from the database.

    The functions of this module that take a connection write them, as part of a decision.
    """

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self.deciding = asyncio.Lock()
        """Held while a decision is taken, when the files may be behind the registry."""
        self.copies: dict[str, str] = {}
        """Files on this machine of skills that were approved on another one: their paths here, with
        those in the registry."""

    async def all(self) -> tuple[RegisteredSkill, ...]:
        """Return every skill that was ever approved, by path; erased ones are not among them."""
        return await self._database.read(lambda db: select(db, "ORDER BY path", []))

    async def active(self) -> tuple[RegisteredSkill, ...]:
        """Return the skills in use, by path."""
        records = await self.all()
        return tuple(record for record in records if record.status is SkillStatus.ACTIVE)

    async def state(self) -> str:
        """Return a text that differs whenever a skill or its evidence changed, at little cost.

        Uses of skills don't count.
        """
        sql = (
            "SELECT count(*), bit_xor(hash(path, status, sha256, proposal, memory_ids, evidence)) "
            "FROM skills"
        )
        return str(await self._database.read(lambda db: db.execute(sql).fetchone()))

    async def hinted(self, agent_id: str, session_id: str) -> tuple[tuple[str, str], ...]:
        """Return the skills that an agent was hinted at in a session: their paths, and how."""
        sql = (
            "SELECT DISTINCT path, how FROM lesson_uses "
            "WHERE agent_id = ? AND session_id = ? AND how IN ('before', 'after')"
        )
        rows = await self._database.read(
            lambda db: db.execute(sql, [agent_id, session_id]).fetchall()
        )
        return tuple((path, how) for path, how in rows)

    async def get(self, path: str) -> RegisteredSkill | None:
        """Return the skill whose file has this path, or ``None``."""
        return await self._database.read(lambda db: find(db, path))

    async def versions(self, path: str) -> tuple[SkillVersion, ...]:
        """Return every text that the skill's file had, newest first."""
        return await self._database.read(lambda db: versions_of(db, path))

    async def content(self, sha256: str) -> bytes:
        """Return the stored bytes with this SHA-256 (hex); empty when there are none."""
        return await self._database.read(lambda db: bytes_of(db, sha256)) or b""

    async def text(self, record: RegisteredSkill) -> str:
        """Return the approved text of a skill's file; bytes that aren't UTF-8 are replaced."""
        return (await self.content(record.sha256)).decode("utf-8", "replace")

    async def change(self, work: Callable[[Connection], None]) -> None:
        """Run ``work``, which may call the writing functions of this module, in a transaction."""
        await self._database.write(work)


def readable_by(skills: Iterable[RegisteredSkill], agent_id: str) -> dict[str, RegisteredSkill]:
    """Return the skills with a file that an agent may read, by name.

    Those are its own and the shared ones; of several of one name, that of the agent itself.
    """
    readable: dict[str, RegisteredSkill] = {}
    for skill in skills:
        own = skill.agent_id == agent_id
        shared = skill.proposal.scope is not ProceduralMemoryScope.AGENT
        if skill.sha256 and (own or (shared and skill.name not in readable)):
            readable[skill.name] = skill
    return readable


def require_no_skill(db: Connection, memory_id: str) -> None:
    """Raise ``MemoryStoreError`` for a memory of a skill in use: it changes by review only."""
    active = select(db, "WHERE status = 'active' AND contains(memory_ids, ?)", [memory_id])
    skill = next((skill for skill in active if memory_id in skill.memory_ids), None)
    if skill is None:
        return
    way = f"edit {skill.path} and approve the change" if skill.sha256 else "have a new one approved"
    raise MemoryStoreError(
        f"this is the memory of the approved skill {skill.name}: it changes by review only",
        remedy=f"To change it, {way}; or retire the skill in the app.",
    )


def memories_of_skills(db: Connection) -> frozenset[str]:
    """Return the ids of the memories of all skills in use."""
    rows = db.execute("SELECT memory_ids FROM skills WHERE status = 'active'").fetchall()
    return frozenset(key for (ids,) in rows for key in json.loads(ids))


def find(db: Connection, path: str) -> RegisteredSkill | None:
    """Return the skill whose file has this path, or ``None``."""
    records = select(db, "WHERE path = ?", [path])
    return records[0] if records else None


def select(db: Connection, clause: str, values: Sequence[object]) -> tuple[RegisteredSkill, ...]:
    """Return the skills that an SQL ``clause`` (``WHERE`` and what follows) selects.

    ``values`` fill its placeholders.
    """
    return tuple(_record(row) for row in db.execute(f"{_SELECT} {clause}", list(values)).fetchall())


def put(db: Connection, record: RegisteredSkill) -> None:
    """Store a skill, replacing one with the same path."""
    placeholders = ", ".join("?" for _ in _COLUMNS)
    db.execute(f"INSERT OR REPLACE INTO skills VALUES ({placeholders})", _values(record))


def forget(db: Connection, path: str) -> None:
    """Delete a skill from the registry; the history of its file stays."""
    db.execute("DELETE FROM skills WHERE path = ?", [path])


def put_bytes(db: Connection, sha256: str, content: bytes) -> None:
    """Store the bytes of a file under their SHA-256 (hex), unless they are stored already."""
    db.execute("INSERT OR IGNORE INTO skill_bytes VALUES (?, ?)", [sha256, content])


def bytes_of(db: Connection, sha256: str) -> bytes | None:
    """Return the stored bytes with this SHA-256 (hex), or ``None``."""
    row = db.execute("SELECT bytes FROM skill_bytes WHERE sha256 = ?", [sha256]).fetchone()
    return None if row is None else bytes(row[0])


def add_version(
    db: Connection,
    path: str,
    *,
    version: int,
    at: datetime,
    actor: str,
    event: VersionEvent,
    sha256: str,
) -> None:
    """Add a text to the history of a skill's file; store its bytes with ``put_bytes`` first."""
    db.execute(
        "INSERT INTO skill_versions SELECT coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ? "
        "FROM skill_versions",
        [path, version, naive_utc(at), actor, event.value, sha256],
    )


def paths_with(db: Connection, sha256: str) -> tuple[str, ...]:
    """Return the paths of the skills whose file has or had the bytes with this SHA-256 (hex)."""
    rows = db.execute(
        "SELECT path FROM skill_versions WHERE sha256 = ? "
        "UNION SELECT path FROM skills WHERE sha256 = ? ORDER BY path",
        [sha256, sha256],
    ).fetchall()
    return tuple(path for (path,) in rows)


def versions_of(db: Connection, path: str) -> tuple[SkillVersion, ...]:
    """Return every text that a skill's file had, newest first."""
    rows = db.execute(
        "SELECT number, path, version, happened_at, actor, event, sha256, bytes "
        "FROM skill_versions JOIN skill_bytes USING (sha256) WHERE path = ? ORDER BY number DESC",
        [path],
    ).fetchall()
    return tuple(
        SkillVersion(
            number=number,
            path=where,
            version=version,
            at=at.replace(tzinfo=UTC),
            actor=actor,
            event=VersionEvent(event),
            sha256=sha256,
            text=bytes(content).decode("utf-8", "replace"),
        )
        for number, where, version, at, actor, event, sha256, content in rows
    )


def _values(record: RegisteredSkill) -> list[object]:
    stored: dict[str, object] = {
        **dict(record),
        "status": record.status.value,
        "scope": record.proposal.scope.value,
        "kind": record.kind.value if record.kind else None,
        "memory_ids": json.dumps(record.memory_ids),
        "proposal": record.proposal.model_dump_json(),
        "evidence": _EVIDENCE.dump_json(record.evidence).decode(),
    }
    values = (stored[name] for name in _COLUMNS)
    return [naive_utc(value) if isinstance(value, datetime) else value for value in values]


def _record(row: Sequence[object]) -> RegisteredSkill:
    named = {
        name: value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
        for name, value in zip(_COLUMNS, row, strict=True)
    }
    del named["scope"]
    proposal = ProceduralMemoryProposal.model_validate_json(str(named["proposal"]))
    applied = {name: named[name] for name in ("application_count", "last_applied_at")}
    named["proposal"] = proposal.model_copy(update=applied)
    named["memory_ids"] = json.loads(str(named["memory_ids"]))
    named["evidence"] = _EVIDENCE.validate_json(str(named["evidence"]))
    return RegisteredSkill.model_validate(named)


class ActiveSkills(Protocol):
    """The part of ``SkillRegistry`` that reads which skills are in use.

    A protocol for safety: whoever proposes what agents are given (the evolver, pruning) holds
    nothing by which it could change that.
    """

    async def active(self) -> tuple[RegisteredSkill, ...]:
        """Return the skills in use."""

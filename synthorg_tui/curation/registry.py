"""The skills that a person let count: what they say, where they are, how often they served.

The skills in force, for those who only look.
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from pydantic import AwareDatetime, TypeAdapter

from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.curation.models import Count, Evidence, LessonKind, ProceduralMemoryProposal
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.values import naive_utc

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


class SkillStatus(StrEnum):
    """Whether a skill counts."""

    ACTIVE = "active"
    RETIRED = "retired"
    SUPERSEDED = "superseded"


class RegisteredSkill(FrozenModel):
    """A skill in the ledger, known by the path of its SKILL.md.

    ``memory_ids`` are the memory of ``agent_id`` and then its copies at other agents; ``sha256``
    (hex) is of the file's bytes in force, empty without a file. ``version`` counts from 1.
    ``kind`` and ``lesson_key`` are those of the lesson it was drawn from, if it was one;
    ``superseded_by`` is the path of the skill that took its place.
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
        """How many different runs taught it."""
        return len({each.execution for each in self.evidence})


class VersionEvent(StrEnum):
    """How a text of a skill's file came to be."""

    WRITTEN = "written"
    ACCEPTED = "accepted"
    SET_ASIDE = "set_aside"
    REMOVED = "removed"
    NOT_WRITTEN = "not_written"


class SkillVersion(FrozenModel):
    """One text of a skill's file: which, since when, by whom; ``text`` lost nothing but bad bytes.

    ``WRITTEN`` is ours, ``ACCEPTED`` was found on disk and approved. ``SET_ASIDE`` was on disk
    when ours took its place, ``REMOVED`` when the file was taken away. ``NOT_WRITTEN`` is ours
    that is in force but gave way to what somebody had just put there.
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
        """Which version it is, how it came to be and who did it, for a person."""
        return f"v{self.version} {_EVENT_WORDS[self.event]} by {self.actor}"


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
    """Reads the ledger; what decisions change is written with them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> tuple[RegisteredSkill, ...]:
        """Every skill that ever counted, by path."""
        return await self._database.read(lambda db: select(db, "ORDER BY path", []))

    async def active(self) -> tuple[RegisteredSkill, ...]:
        """The skills that count, by path."""
        return tuple(each for each in await self.all() if each.status is SkillStatus.ACTIVE)

    async def get(self, path: str) -> RegisteredSkill | None:
        """The skill whose file this is, or ``None``."""
        return await self._database.read(lambda db: find(db, path))

    async def versions(self, path: str) -> tuple[SkillVersion, ...]:
        """Every text that the skill's file had, newest first."""
        return await self._database.read(lambda db: versions_of(db, path))

    async def content(self, sha256: str) -> bytes:
        """Kept bytes by their SHA-256; none when there are none."""
        return await self._database.read(lambda db: bytes_of(db, sha256)) or b""

    async def change(self, work: "Callable[[Connection], None]") -> None:
        """Run ``work`` in a transaction of its own."""
        await self._database.write(work)


def find(db: "Connection", path: str) -> RegisteredSkill | None:
    """The skill whose file this is, or ``None``."""
    found = select(db, "WHERE path = ?", [path])
    return found[0] if found else None


def select(db: "Connection", clause: str, values: Sequence[object]) -> tuple[RegisteredSkill, ...]:
    """The skills that ``clause`` (``WHERE`` and what follows) picks."""
    return tuple(_record(row) for row in db.execute(f"{_SELECT} {clause}", list(values)).fetchall())


def put(db: "Connection", record: RegisteredSkill) -> None:
    """Keep a skill; one of the same path is replaced."""
    marks = ", ".join("?" for _ in _COLUMNS)
    db.execute(f"INSERT OR REPLACE INTO skills VALUES ({marks})", _values(record))


def forget(db: "Connection", path: str) -> None:
    """Take a skill out of the ledger; its versions stay."""
    db.execute("DELETE FROM skills WHERE path = ?", [path])


def keep_bytes(db: "Connection", sha256: str, content: bytes) -> None:
    """Keep a file's bytes."""
    db.execute("INSERT OR IGNORE INTO skill_bytes VALUES (?, ?)", [sha256, content])


def bytes_of(db: "Connection", sha256: str) -> bytes | None:
    """Kept bytes, or ``None``."""
    row = db.execute("SELECT bytes FROM skill_bytes WHERE sha256 = ?", [sha256]).fetchone()
    return None if row is None else bytes(row[0])


def add_version(
    db: "Connection",
    path: str,
    *,
    version: int,
    at: datetime,
    actor: str,
    event: VersionEvent,
    sha256: str,
) -> None:
    """Note a text of a skill's file, whose bytes are kept."""
    db.execute(
        "INSERT INTO skill_versions SELECT coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ? "
        "FROM skill_versions",
        [path, version, naive_utc(at), actor, event.value, sha256],
    )


def versions_of(db: "Connection", path: str) -> tuple[SkillVersion, ...]:
    """Every text that a skill's file had, newest first."""
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


def next_version(db: "Connection", path: str) -> int:
    """The number of the next version of a skill."""
    row = db.execute(
        "SELECT coalesce(max(version), 0) + 1 FROM skill_versions WHERE path = ?", [path]
    ).fetchone()
    return int(row[0]) if row else 1


def _values(record: RegisteredSkill) -> list[object]:
    kept: dict[str, object] = {
        **dict(record),
        "status": record.status.value,
        "scope": record.proposal.scope.value,
        "kind": record.kind.value if record.kind else None,
        "memory_ids": json.dumps(record.memory_ids),
        "proposal": record.proposal.model_dump_json(),
        "evidence": _evidence_json(record.evidence),
    }
    values = (kept[name] for name in _COLUMNS)
    return [naive_utc(each) if isinstance(each, datetime) else each for each in values]


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


def _evidence_json(evidence: tuple[Evidence, ...]) -> str:
    return _EVIDENCE.dump_json(evidence).decode()


class ActiveSkills(Protocol):
    """Tells which skills are in force."""

    async def active(self) -> tuple[RegisteredSkill, ...]:
        """The skills that count."""
        ...

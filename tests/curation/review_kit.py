"""A store with a queue and a desk to decide at, for tests."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from synthorg_tui.approvals.models import ApprovalItem
from synthorg_tui.approvals.person import Person
from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.core.clock import Clock
from synthorg_tui.curation import preexisting
from synthorg_tui.curation.base import CurationBase
from synthorg_tui.curation.disk_sync import FileChanges
from synthorg_tui.curation.edits import ProposalEdit
from synthorg_tui.curation.models import (
    LESSON_ACTION,
    WORDED_FIELDS,
    Author,
    Evidence,
    Lesson,
    LessonKind,
    ProceduralMemoryProposal,
)
from synthorg_tui.curation.registry import SkillRegistry
from synthorg_tui.curation.service import EditProposal, ReviewService
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.memory.config import PropagationConfig
from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.extensions import BrowseFilter
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.service import MemoryService
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence import INDEX_DIR
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.skills.disk import FILE_NAME
from synthorg_tui.skills.document import RootScope, SkillRoot
from synthorg_tui.skills.library import SkillLibrary
from synthorg_tui.wiring.curation import CurationServices as Parts
from synthorg_tui.wiring.curation import build_curation
from tests.conftest import FixedClock
from tests.memory.store.store_kit import AGENT, opened

PERSON = Person("tui")
NO_SERVICE = MemoryService(None, reason="no service in this test")
OWN = "skills"
USER = "user-skills"
SHIPPED = "shipped-skills"


@dataclass(frozen=True)
class Colleague:
    """An agent with its place in the organisation."""

    id: str
    role: str | None = None
    department: str | None = None


class AwayIndex(EdgeIndex):
    """A vector index that can't be opened: decisions don't need it, and tests are quicker."""

    async def open(self, *, fingerprint: str, dims: int) -> int:
        raise VectorIndexError("away")


@dataclass(frozen=True)
class Office:
    """The objects that a test of decisions needs, over one data directory."""

    data_dir: Path
    backend: LocalMemoryBackend
    queue: ApprovalQueue
    ledger: SkillRegistry
    parts: Parts

    @property
    def desk(self) -> ReviewService:
        return self.parts.reviews

    @property
    def changes(self) -> FileChanges:
        return self.parts.file_changes

    @property
    def skills(self) -> Path:
        return self.data_dir / OWN

    async def propose(self, lesson: Lesson, *, action_type: str = LESSON_ACTION) -> str:
        """Put a lesson into the queue and return the item's id."""
        item = item_of(lesson, action_type=action_type)
        await self.queue.add(item)
        return item.id

    async def approve(self, item_id: str, *, edit: EditProposal | None = None) -> str:
        """Approve an item as it is shown now; return the id of the first memory stored."""
        shown = (await self.desk.review(item_id)).shown
        decision = await self.desk.approve(item_id, shown=shown, person=PERSON, edit=edit)
        return decision.memory_ids[0]

    async def memories(self) -> tuple[ListedMemory, ...]:
        """Return every active memory, sorted by id."""
        page = await self.backend.admin.browse(BrowseFilter())
        return tuple(sorted(page.entries, key=lambda entry: entry.id))

    async def state(self) -> dict[str, object]:
        """Return all that a decision may change, for comparison; without revisions and events."""
        return {
            "memories": await self.memories(),
            "skills": await self.ledger.all(),
            "items": await self.queue.list(snoozed=True),
            "files": on_disk(self.data_dir),
        }


@asynccontextmanager
async def office(
    data_dir: Path,
    *,
    clock: Clock | None = None,
    agents: Sequence[Colleague] = (),
    propagation: PropagationConfig | None = None,
    require_approval: bool = True,
    approvals: Mapping[str, object] | None = None,
    searches: bool = False,
    knows_roots: bool = True,
    memory_service: MemoryService | None = None,
) -> AsyncIterator[Office]:
    """Open the queue and the review service over a data directory, after crash recovery.

    With ``knows_roots`` the skill folders count as seen before, and empty then; else they are seen
    for the first time.
    """
    clock = clock or FixedClock()
    index = None if searches else AwayIndex(data_dir / INDEX_DIR)
    async with opened(data_dir, clock=clock, index=index) as backend:
        database = backend.core.database
        queue = ApprovalQueue(database, clock=clock)
        ledger = SkillRegistry(database)
        library = SkillLibrary(
            (
                SkillRoot(data_dir / USER, RootScope.USER),
                SkillRoot(data_dir / OWN, RootScope.OWN),
                SkillRoot(data_dir / SHIPPED, RootScope.SHIPPED),
            )
        )
        procedural = {
            "propagation": propagation or PropagationConfig(),
            "require_approval": require_approval,
        }
        settings = RootConfig.model_validate(
            {"memory": {"procedural": procedural}, "approvals": approvals or {}}
        )
        base = CurationBase(
            database=database,
            queue=queue,
            registry=ledger,
            store=backend.admin,
            library=library,
            own_root=data_dir / OWN,
            clock=clock,
        )
        parts = build_curation(
            base,
            agents=lambda: agents,
            executions=ExecutionStore(database),
            settings=settings,
            memory_service=lambda: memory_service or NO_SERVICE,
        )
        await parts.journal.roll_forward()
        if knows_roots:
            roots = [root.path for root in library.roots]
            await database.write(lambda db: preexisting.record_roots(db, roots, (), at=clock.now()))
        yield Office(data_dir, backend, queue, ledger, parts)


def proposal(**fields: object) -> ProceduralMemoryProposal:
    """Return a lesson's texts; those not given are about pushing a branch."""
    given = {
        "discovery": "Pushing a new branch needs its upstream set.",
        "condition": "git push says that the branch has no upstream",
        "action": "Push again with --set-upstream and the branch's name.",
        "rationale": "The remote branch doesn't exist until somebody names it.",
        "execution_steps": ("git push", "git push --set-upstream origin BRANCH"),
        "confidence": 0.7,
        "tags": ("git",),
    }
    return ProceduralMemoryProposal.model_validate(given | fields)


def edit(wording: ProceduralMemoryProposal | str, **authors: Author) -> EditProposal:
    """Return a person's edit that replaces the texts shown in a review."""
    return lambda _: ProposalEdit(wording, authors)


def evidence(execution: str = "claude-code:one", line: int = 12) -> Evidence:
    return Evidence(
        execution=execution,
        lines=f"{execution}#L{line}-L{line + 8}",
        agent_id=AGENT,
        failed="git push",
        error="fatal: The current branch has no upstream branch.",
        resolved_by="git push --set-upstream origin feature",
    )


def lesson(
    key: str = "git push: no upstream",
    *,
    agent: str = AGENT,
    kind: LessonKind = LessonKind.FAILURE,
    seen: tuple[Evidence, ...] | None = None,
    **fields: object,
) -> Lesson:
    words = proposal(**fields)
    return Lesson(
        key=key,
        kind=kind,
        agent_id=agent,
        task_id="claude-code:one",
        proposal=words,
        grounded=words,
        authors=dict.fromkeys(WORDED_FIELDS, Author.EVIDENCE),
        evidence=(evidence(),) if seen is None else seen,
    )


def item_of(lesson: Lesson, *, action_type: str = LESSON_ACTION) -> ApprovalItem:
    return ApprovalItem(
        id=f"lesson-{sha256(lesson.key.encode()).hexdigest()[:12]}",
        action_type=action_type,
        title=lesson.proposal.discovery,
        requested_by="learn",
        created_at=FixedClock().now(),
        payload=lesson.model_dump_json(),
    )


def on_disk(data_dir: Path) -> dict[str, bytes]:
    """Every file of every skill folder, by its path under the data directory."""
    return {
        str(path.relative_to(data_dir)): path.read_bytes()
        for root in (OWN, USER)
        for path in sorted((data_dir / root).rglob("*"))
        if path.is_file()
    }


def write_skill_file(root: Path, name: str, text: str) -> Path:
    """Write a skill's file as a person's editor would, not through this program."""
    path = root / name / FILE_NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path

"""Builds the services that decide about skills, and those that work along with them.

Everything else is built in the package itself. What is imported inside a builder is so for the same
reason as there.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.capabilities import Feature
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.wiring.foundation import Foundation
from synthorg_tui.wiring.hearing import ELSEWHERE, SKILLS

if TYPE_CHECKING:  # loaded when used, so that the list is on the screen sooner
    from synthorg_tui.approvals.queue import ApprovalQueue
    from synthorg_tui.curation.decisions import DecisionRunner
    from synthorg_tui.curation.disk_sync import FileChanges, PreexistingSkills
    from synthorg_tui.curation.erasure import Erasure
    from synthorg_tui.curation.forgetting import SessionErasure
    from synthorg_tui.curation.journal import Journal
    from synthorg_tui.curation.propagation import KnownAgent, Propagation
    from synthorg_tui.curation.registry import SkillRegistry
    from synthorg_tui.curation.review import Decision
    from synthorg_tui.curation.service import ReviewService
    from synthorg_tui.curation.shared_skills import SkillFollower
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.learning.evidence import LessonEvidence
    from synthorg_tui.memory.service import MemoryService
    from synthorg_tui.memory.store.admin import StoreAdmin
    from synthorg_tui.skills.library import SkillLibrary

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CurationBase:
    """The stores and places of skills that the curation services work on.

    Skills are proposals in ``queue``, records in ``registry``, memories in ``store`` and files in
    ``library``. Approved lessons are written to ``own_root``.
    """

    database: StoreDatabase
    queue: "ApprovalQueue"
    registry: "SkillRegistry"
    store: "StoreAdmin"
    library: "SkillLibrary"
    own_root: Path
    clock: Clock
    is_here: Callable[[str], bool] = lambda _: True
    """Whether a folder of skills is on this machine."""
    follower: "SkillFollower | None" = None
    """What has others' skills here, where others use the same store."""


@dataclass(frozen=True, slots=True)
class CurationServices:
    """The services that take decisions about skills, and those that work along with them."""

    journal: "Journal"
    reviews: "ReviewService"
    file_changes: "FileChanges"
    preexisting: "PreexistingSkills"
    erasure: "Erasure"
    sessions: "SessionErasure"
    evidence: "LessonEvidence"


def curation_of(
    base: Foundation,
    queue: "ApprovalQueue",
    registry: "SkillRegistry",
    library: "SkillLibrary",
    executions: "ExecutionStore",
    memory_service: "Callable[[], MemoryService]",
) -> CurationServices:
    """Build the services of one open data directory; a decision is told as ``skills``."""
    parts = CurationBase(
        database=base.database,
        queue=queue,
        registry=registry,
        store=base.local(Feature.LESSONS).admin,
        library=library,
        own_root=base.own_skills,
        clock=base.clock,
        is_here=base.has_skills_in,
        follower=_build_follower(base, registry) if base.is_shared else None,
    )
    return build_curation(
        parts,
        agents=lambda: base.settings.agents,
        executions=executions,
        settings=base.settings,
        on_decision=lambda decision: base.events.emit("skills", decision.title),
        memory_service=memory_service,
    )


def build_curation(
    base: CurationBase,
    *,
    agents: "Callable[[], Sequence[KnownAgent]]",
    executions: "ExecutionStore",
    settings: RootConfig,
    memory_service: "Callable[[], MemoryService]",
    on_decision: "Callable[[Decision], None] | None" = None,
) -> CurationServices:
    """Build the services that decide about skills.

    ``agents`` returns the agents that may get copies of lessons; ``memory_service`` returns what
    approved acts are done with. ``on_decision`` is called with each decision once it has taken
    effect.
    """
    from synthorg_tui.curation.administration import AdminActs
    from synthorg_tui.curation.decisions import DecisionRunner
    from synthorg_tui.curation.disk_sync import PreexistingSkills
    from synthorg_tui.curation.journal import Journal
    from synthorg_tui.curation.propagation import Propagation
    from synthorg_tui.learning.evidence import LessonEvidence

    registry = base.registry
    journal = Journal(base.database, base.queue, AdminActs(memory_service).perform, base.is_here)
    runner = DecisionRunner(
        journal=journal,
        registry=registry,
        store=base.store,
        queue=base.queue,
        clock=base.clock,
        on_decision=on_decision,
    )
    preexisting = PreexistingSkills(base.database, base.clock)
    erasure = _build_erasure(base, runner)
    propagation = Propagation(settings.memory.procedural.propagation, agents)
    return CurationServices(
        journal=journal,
        reviews=_build_reviews(base, runner, propagation, executions, settings),
        file_changes=_build_file_changes(base, preexisting),
        preexisting=preexisting,
        erasure=erasure,
        sessions=_build_sessions(base, erasure, executions),
        evidence=LessonEvidence(registry, base.store),
    )


def _build_reviews(
    base: CurationBase,
    runner: "DecisionRunner",
    propagation: "Propagation",
    executions: "ExecutionStore",
    settings: RootConfig,
) -> "ReviewService":
    from synthorg_tui.curation.adoption import adoption_by
    from synthorg_tui.curation.preview import ApprovalPreview
    from synthorg_tui.curation.service import ReviewService

    return ReviewService(
        queue=base.queue,
        registry=base.registry,
        runner=runner,
        preview=ApprovalPreview(
            registry=base.registry,
            store=base.store,
            library=base.library,
            own_root=base.own_root,
            propagation=propagation,
            clock=base.clock,
        ),
        executions=executions,
        adoption=adoption_by(settings.approvals, settings.memory.procedural),
    )


def _build_file_changes(base: CurationBase, preexisting: "PreexistingSkills") -> "FileChanges":
    from synthorg_tui.curation.disk_sync import FileChanges
    from synthorg_tui.curation.shared_skills import SharedFileChanges

    changes = (FileChanges if base.follower is None else SharedFileChanges)(
        queue=base.queue,
        registry=base.registry,
        store=base.store,
        library=base.library,
        preexisting=preexisting,
        clock=base.clock,
    )
    if isinstance(changes, SharedFileChanges) and base.follower is not None:
        changes.follower = base.follower
    return changes


def _build_follower(base: Foundation, registry: "SkillRegistry") -> "SkillFollower":
    """Build what has others' skills on this machine, at once and whenever they decide something."""
    from synthorg_tui.curation.shared_skills import SkillFollower, WrittenCopies

    follower = SkillFollower(
        base.database,
        registry,
        own_root=base.own_skills,
        copies=WrittenCopies(base.data_dir),
        clock=base.clock,
    )
    wanted = asyncio.Event()
    wanted.set()

    def hear(topic: str, data: object) -> None:
        if (topic, data) == (SKILLS, ELSEWHERE):
            wanted.set()

    async def keep() -> None:
        while await wanted.wait():
            wanted.clear()
            try:
                await follower.follow()
            except (DomainError, OSError) as error:
                _log.warning("others' skills aren't here yet: %s", error)

    task = asyncio.create_task(keep())
    base.closing.callback(base.events.subscribe(hear))
    base.closing.callback(task.cancel)
    return follower


def _build_erasure(base: CurationBase, runner: "DecisionRunner") -> "Erasure":
    from synthorg_tui.curation.erasure import Erasure

    return Erasure(
        store=base.store,
        registry=base.registry,
        queue=base.queue,
        runner=runner,
        own_root=base.own_root,
        clock=base.clock,
    )


def _build_sessions(
    base: CurationBase, erasure: "Erasure", executions: "ExecutionStore"
) -> "SessionErasure":
    from synthorg_tui.curation.forgetting import SessionErasure
    from synthorg_tui.executions.sessions import SessionList

    return SessionErasure(
        erasure=erasure,
        sessions=SessionList(base.database),
        executions=executions,
        store=base.store,
        registry=base.registry,
        queue=base.queue,
    )

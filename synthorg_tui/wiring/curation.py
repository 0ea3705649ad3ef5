"""Builds the services that decide about skills, and those that work along with them.

Everything else is built in the package itself. What is imported inside a builder is so for the same
reason as there.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.capabilities import Feature
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.wiring.foundation import Foundation
from synthorg_tui.wiring.hearing import ELSEWHERE, SKILLS

if TYPE_CHECKING:  # loaded when used, so that the list is on the screen sooner
    from synthorg_tui.approvals.queue import ApprovalQueue
    from synthorg_tui.curation.base import CurationBase
    from synthorg_tui.curation.disk_sync import FileChanges
    from synthorg_tui.curation.erasure import Erasure
    from synthorg_tui.curation.forgetting import SessionErasure
    from synthorg_tui.curation.journal import Journal
    from synthorg_tui.curation.propagation import KnownAgent
    from synthorg_tui.curation.registry import SkillRegistry
    from synthorg_tui.curation.review import Decision
    from synthorg_tui.curation.service import ReviewService
    from synthorg_tui.curation.shared_skills import SkillFollower
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.learning.evidence import LessonEvidence
    from synthorg_tui.memory.service import MemoryService
    from synthorg_tui.skills.library import SkillLibrary

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CurationServices:
    """The services that take decisions about skills, and those that work along with them."""

    base: "CurationBase"
    journal: "Journal"
    reviews: "ReviewService"
    file_changes: "FileChanges"
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
    from synthorg_tui.curation.base import CurationBase

    return build_curation(
        CurationBase(
            database=base.database,
            queue=queue,
            registry=registry,
            store=base.local(Feature.LESSONS).admin,
            library=library,
            own_root=base.own_skills,
            clock=base.clock,
        ),
        agents=lambda: base.settings.agents,
        executions=executions,
        settings=base.settings,
        memory_service=memory_service,
        is_here=base.has_skills_in,
        follower=_build_follower(base, registry) if base.is_shared else None,
        on_decision=lambda decision: base.events.emit("skills", decision.title),
    )


def build_curation(
    base: "CurationBase",
    *,
    agents: "Callable[[], Sequence[KnownAgent]]",
    executions: "ExecutionStore",
    settings: RootConfig,
    memory_service: "Callable[[], MemoryService]",
    is_here: Callable[[str], bool] = lambda _: True,
    follower: "SkillFollower | None" = None,
    on_decision: "Callable[[Decision], None] | None" = None,
) -> CurationServices:
    """Build the services that decide about skills.

    ``agents`` returns the agents that may get copies of lessons, ``memory_service`` what approved
    acts are done with. ``is_here`` tells whether a folder of skills is on this machine;
    ``follower`` has others' skills here. ``on_decision`` is called with each decision once it has
    taken effect.
    """
    from synthorg_tui.curation.administration import AdminActs
    from synthorg_tui.curation.adoption import adoption_by
    from synthorg_tui.curation.decisions import DecisionRunner
    from synthorg_tui.curation.disk_sync import FileChanges
    from synthorg_tui.curation.erasure import Erasure
    from synthorg_tui.curation.forgetting import Drawing, SessionErasure
    from synthorg_tui.curation.journal import Journal
    from synthorg_tui.curation.preview import ApprovalPreview
    from synthorg_tui.curation.propagation import Propagation
    from synthorg_tui.curation.service import ReviewService
    from synthorg_tui.executions.sessions import SessionList
    from synthorg_tui.ingest.copies import read_again
    from synthorg_tui.ingest.extract.memories import extract
    from synthorg_tui.learning.evidence import LessonEvidence

    journal = Journal(base.database, base.queue, AdminActs(memory_service).perform, is_here)
    runner = DecisionRunner(base, journal, on_decision)
    erasure = Erasure(base, runner)
    propagation = Propagation(settings.memory.procedural.propagation, agents)
    adoption = adoption_by(settings.approvals, settings.memory.procedural)
    drawing = Drawing(read_again, extract)
    preview = ApprovalPreview(base, propagation)
    return CurationServices(
        base=base,
        journal=journal,
        reviews=ReviewService(base, runner, preview, executions, adoption),
        file_changes=FileChanges(base, follower),
        erasure=erasure,
        sessions=SessionErasure(base, erasure, SessionList(base.database), executions, drawing),
        evidence=LessonEvidence(base.registry, base.store),
    )


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

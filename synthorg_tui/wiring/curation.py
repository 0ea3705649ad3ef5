"""The services that decide about skills, and those that work along with them.

Each is built when it is first used. What is imported inside a property is so for the same reason as
in the builders of the package itself.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.capabilities import Feature
from synthorg_tui.wiring.foundation import Foundation
from synthorg_tui.wiring.hearing import ELSEWHERE, SKILLS

if TYPE_CHECKING:  # loaded when used, so that the list is on the screen sooner
    from synthorg_tui.approvals.queue import ApprovalQueue
    from synthorg_tui.curation.decisions import DecisionRunner
    from synthorg_tui.curation.disk_sync import FileChanges, PreexistingSkills
    from synthorg_tui.curation.erasure import Erasure
    from synthorg_tui.curation.forgetting import SessionErasure
    from synthorg_tui.curation.journal import Journal
    from synthorg_tui.curation.registry import SkillRegistry
    from synthorg_tui.curation.service import ReviewService
    from synthorg_tui.curation.shared_skills import SkillFollower
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.learning.evidence import LessonEvidence
    from synthorg_tui.memory.service import MemoryService
    from synthorg_tui.memory.store.admin import StoreAdmin
    from synthorg_tui.skills.library import SkillLibrary

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CurationServices:
    """The services of one open data directory that work on skills.

    Skills are proposals in ``queue``, records in ``registry``, memories and files in ``library``.
    ``memory_service`` returns what approved acts of administration are done with. Each decision is
    emitted as the event ``skills`` once it has taken effect.
    """

    base: Foundation
    queue: "ApprovalQueue"
    registry: "SkillRegistry"
    library: "SkillLibrary"
    executions: "ExecutionStore"
    memory_service: "Callable[[], MemoryService]"

    @property
    def _store(self) -> "StoreAdmin":
        return self.base.local(Feature.LESSONS).admin

    @cached_property
    def journal(self) -> "Journal":
        """The record of decisions, which finishes those that were interrupted."""
        from synthorg_tui.curation.administration import AdminActs
        from synthorg_tui.curation.journal import Journal

        acts = AdminActs(self.memory_service)
        return Journal(self.base.database, self.queue, acts.perform, self.base.has_skills_in)

    @cached_property
    def _runner(self) -> "DecisionRunner":
        from synthorg_tui.curation.decisions import DecisionRunner

        return DecisionRunner(
            journal=self.journal,
            registry=self.registry,
            store=self._store,
            queue=self.queue,
            clock=self.base.clock,
            on_decision=lambda decision: self.base.events.emit(SKILLS, decision.title),
        )

    @cached_property
    def reviews(self) -> "ReviewService":
        """The service by which a person reviews, approves and rejects proposals."""
        from synthorg_tui.curation.adoption import adoption_by
        from synthorg_tui.curation.preview import ApprovalPreview
        from synthorg_tui.curation.propagation import Propagation
        from synthorg_tui.curation.service import ReviewService

        procedural = self.base.settings.memory.procedural
        return ReviewService(
            queue=self.queue,
            registry=self.registry,
            runner=self._runner,
            preview=ApprovalPreview(
                registry=self.registry,
                store=self._store,
                library=self.library,
                own_root=self.base.own_skills,
                propagation=Propagation(procedural.propagation, lambda: self.base.settings.agents),
                clock=self.base.clock,
            ),
            executions=self.executions,
            adoption=adoption_by(self.base.settings.approvals, procedural),
        )

    @cached_property
    def preexisting(self) -> "PreexistingSkills":
        """The record of skills that were on disk before the folders were first read."""
        from synthorg_tui.curation.disk_sync import PreexistingSkills

        return PreexistingSkills(self.base.database, self.base.clock)

    @cached_property
    def file_changes(self) -> "FileChanges":
        """The comparison of the skills on disk with the approved ones."""
        from synthorg_tui.curation.disk_sync import FileChanges
        from synthorg_tui.curation.shared_skills import SharedFileChanges

        changes = (FileChanges if self.follower is None else SharedFileChanges)(
            queue=self.queue,
            registry=self.registry,
            store=self._store,
            library=self.library,
            preexisting=self.preexisting,
            clock=self.base.clock,
        )
        if isinstance(changes, SharedFileChanges) and self.follower is not None:
            changes.follower = self.follower
        return changes

    @cached_property
    def erasure(self) -> "Erasure":
        """The service that purges memories, with the skills that were made of them."""
        from synthorg_tui.curation.erasure import Erasure

        return Erasure(
            store=self._store,
            registry=self.registry,
            queue=self.queue,
            runner=self._runner,
            own_root=self.base.own_skills,
            clock=self.base.clock,
        )

    @cached_property
    def sessions(self) -> "SessionErasure":
        """The service that lists imported sessions and forgets them."""
        from synthorg_tui.curation.forgetting import SessionErasure
        from synthorg_tui.executions.sessions import SessionList

        return SessionErasure(
            erasure=self.erasure,
            sessions=SessionList(self.base.database),
            executions=self.executions,
            store=self._store,
            registry=self.registry,
            queue=self.queue,
        )

    @property
    def evidence(self) -> "LessonEvidence":
        """The evidence of approved lessons, to which later sessions add."""
        from synthorg_tui.learning.evidence import LessonEvidence

        return LessonEvidence(self.registry, self._store)

    @cached_property
    def follower(self) -> "SkillFollower | None":
        """Copies others' skills to this machine: at once, and whenever they decide something.

        ``None`` where this machine has the store to itself.
        """
        if not self.base.is_shared:
            return None
        from synthorg_tui.curation.shared_skills import SkillFollower, WrittenCopies

        follower = SkillFollower(
            self.base.database,
            self.registry,
            own_root=self.base.own_skills,
            copies=WrittenCopies(self.base.data_dir),
            clock=self.base.clock,
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
        self.base.closing.callback(self.base.events.subscribe(hear))
        self.base.closing.callback(task.cancel)
        return follower

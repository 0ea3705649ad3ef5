"""Puts together everything about decisions over one store."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.core.clock import Clock
from synthorg_tui.curation.decisions import DecisionRunner
from synthorg_tui.curation.disk_sync import FileChanges, PreexistingSkills
from synthorg_tui.curation.erasure import Erasure
from synthorg_tui.curation.journal import Journal
from synthorg_tui.curation.preview import ApprovalPreview, SkillFiles, SkillStore
from synthorg_tui.curation.propagation import KnownAgent
from synthorg_tui.curation.registry import SkillRegistry
from synthorg_tui.curation.review import Decision
from synthorg_tui.curation.service import ReviewService
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.learning.evidence import LessonEvidence
from synthorg_tui.memory.config import ProceduralMemoryConfig
from synthorg_tui.persistence.database import Database


@dataclass(frozen=True, slots=True)
class CurationServices:
    """Where decisions are taken, and what waits for one or changes after it."""

    journal: Journal
    reviews: ReviewService
    file_changes: FileChanges
    found: PreexistingSkills
    erasure: Erasure
    recurrences: LessonEvidence


def build_curation(
    *,
    database: Database,
    queue: ApprovalQueue,
    ledger: SkillRegistry,
    store: SkillStore,
    shelf: SkillFiles,
    own_root: Path,
    agents: Callable[[], Sequence[KnownAgent]],
    executions: ExecutionStore,
    config: ProceduralMemoryConfig,
    clock: Clock,
    on_decision: Callable[[Decision], None] | None = None,
) -> CurationServices:
    """Everything about decisions, of one kind each; ``own_root`` is where lessons are written."""
    journal = Journal(database, queue)
    preparer = ApprovalPreview(
        ledger=ledger,
        store=store,
        shelf=shelf,
        own_root=own_root,
        agents=agents,
        propagation=config.propagation,
        clock=clock,
    )
    decider = DecisionRunner(
        journal=journal, store=store, queue=queue, clock=clock, on_decision=on_decision
    )
    reviews = ReviewService(
        queue=queue,
        ledger=ledger,
        decider=decider,
        store=store,
        preparer=preparer,
        executions=executions,
        require_approval=config.require_approval,
        clock=clock,
    )
    found = PreexistingSkills(database, clock)
    changes = FileChanges(
        queue=queue,
        ledger=ledger,
        store=store,
        shelf=shelf,
        found=found,
        deciding=reviews.deciding,
        clock=clock,
    )
    erasure = Erasure(
        store=store,
        ledger=ledger,
        queue=queue,
        journal=journal,
        decider=decider,
        own_root=own_root,
        deciding=reviews.deciding,
        clock=clock,
    )
    recurrences = LessonEvidence(ledger=ledger, desk=store, deciding=reviews.deciding)
    return CurationServices(journal, reviews, changes, found, erasure, recurrences)

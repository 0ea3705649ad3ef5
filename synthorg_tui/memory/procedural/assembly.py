"""Puts together everything about decisions over one store."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.core.clock import Clock
from synthorg_tui.memory.procedural.config import ProceduralMemoryConfig
from synthorg_tui.memory.procedural.deciding import Decider
from synthorg_tui.memory.procedural.erasing import Erasure
from synthorg_tui.memory.procedural.file_changes import FileChanges
from synthorg_tui.memory.procedural.found import FoundSkills
from synthorg_tui.memory.procedural.journal import Journal
from synthorg_tui.memory.procedural.ledger import SkillLedger
from synthorg_tui.memory.procedural.prepare import Preparer, Shelf, SkillStore
from synthorg_tui.memory.procedural.propagation.strategies import KnownAgent
from synthorg_tui.memory.procedural.recurrence import Recurrences
from synthorg_tui.memory.procedural.review import ReviewDesk
from synthorg_tui.memory.procedural.review_models import Decision
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.executions import ExecutionStore


@dataclass(frozen=True, slots=True)
class Office:
    """Where decisions are taken, and what waits for one or changes after it."""

    journal: Journal
    reviews: ReviewDesk
    file_changes: FileChanges
    found: FoundSkills
    erasure: Erasure
    recurrences: Recurrences


def open_office(
    *,
    database: Database,
    queue: ApprovalQueue,
    ledger: SkillLedger,
    store: SkillStore,
    shelf: Shelf,
    own_root: Path,
    agents: Callable[[], Sequence[KnownAgent]],
    executions: ExecutionStore,
    config: ProceduralMemoryConfig,
    clock: Clock,
    on_decision: Callable[[Decision], None] | None = None,
) -> Office:
    """Everything about decisions, of one kind each; ``own_root`` is where lessons are written."""
    journal = Journal(database, queue)
    preparer = Preparer(
        ledger=ledger,
        store=store,
        shelf=shelf,
        own_root=own_root,
        agents=agents,
        propagation=config.propagation,
        clock=clock,
    )
    decider = Decider(
        journal=journal, store=store, queue=queue, clock=clock, on_decision=on_decision
    )
    reviews = ReviewDesk(
        queue=queue,
        ledger=ledger,
        decider=decider,
        store=store,
        preparer=preparer,
        executions=executions,
        require_approval=config.require_approval,
        clock=clock,
    )
    found = FoundSkills(database, clock)
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
    recurrences = Recurrences(ledger=ledger, desk=store, deciding=reviews.deciding)
    return Office(journal, reviews, changes, found, erasure, recurrences)

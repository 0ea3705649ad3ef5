"""The stores and places of skills that the services of curation work on."""

from dataclasses import dataclass
from pathlib import Path

from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.core.clock import Clock
from synthorg_tui.curation.registry import SkillRegistry
from synthorg_tui.memory.store.admin import StoreAdmin
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.skills.library import SkillLibrary


@dataclass(frozen=True, slots=True)
class CurationBase:
    """What one open data directory has of skills.

    Skills are proposals in ``queue``, records in ``registry``, memories in ``store`` and files in
    ``library``. Approved lessons are written to ``own_root``.
    """

    database: StoreDatabase
    queue: ApprovalQueue
    registry: SkillRegistry
    store: StoreAdmin
    library: SkillLibrary
    own_root: Path
    clock: Clock

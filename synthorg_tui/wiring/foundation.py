"""The opened parts that all services are built on, and how they are opened.

What a service is made of is in the package itself; only what every one of them needs belongs here.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.core.clock import Clock, SystemClock
from synthorg_tui.core.events import Events
from synthorg_tui.executions.commands import configure_commands
from synthorg_tui.memory.capabilities import Feature
from synthorg_tui.memory.factory import BackendContext, create_memory_backend
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence.lock import own_database
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.providers.embedding.adapted import AdaptedEmbedder
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.embedding.protocol import Embedder
from synthorg_tui.settings.agreed import hold
from synthorg_tui.settings.root import RootConfig

if TYPE_CHECKING:  # loaded when used, so that the list is on the screen sooner
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.memory.extensions import BatchStore, MemoryAdmin
    from synthorg_tui.memory.fine_tune.checkpoints import EmbedderInForce
    from synthorg_tui.providers.completion.usage import UsageRecord
    from synthorg_tui.skills.document import SkillRoot


@dataclass(slots=True)
class Foundation:
    """The opened parts that all services are built on; only ``settings`` are ever replaced.

    Builders push on ``closing`` whatever has to be closed; it closes the latest first.
    """

    settings: RootConfig
    data_dir: Path
    memory: MemoryBackend
    database: StoreDatabase
    clock: Clock
    events: Events
    closing: AsyncExitStack
    tuned: "EmbedderInForce | None" = None

    @property
    def is_shared(self) -> bool:
        """Whether other people's programs may have the same store open."""
        return self.settings.persistence.backend == "postgres"

    def local(self, need: Feature = Feature.MAINTENANCE) -> LocalMemoryBackend:
        """Return the local backend, which ``need`` can't do without.

        Raises ``MemoryCapabilityError`` if another is configured.
        """
        if not isinstance(self.memory, LocalMemoryBackend):
            raise need.refused_by(self.memory.backend_name)
        return self.memory

    def admin(self) -> "MemoryAdmin":
        """Return a person's access to all memories, with any backend that can list them."""
        admin = getattr(self.memory, "admin", None)
        return admin if admin is not None else self.local().admin

    def batches(self) -> "BatchStore":
        """Return the memory as what stores drafts; raises ``MemoryCapabilityError``."""
        from synthorg_tui.memory.extensions import BatchStore

        return self.memory if isinstance(self.memory, BatchStore) else self.local(Feature.IMPORTS)

    @property
    def may_be_tuned(self) -> bool:
        """Whether a tuned embedder may be in force: programs don't say it in their settings."""
        return self.settings.memory.fine_tune.enabled or self.settings.layers is None

    @property
    def own_skills(self) -> Path:
        """The folder where the SKILL.md files of approved lessons are written."""
        return self.settings.own_skills(self.data_dir)

    def has_skills_in(self, root: str) -> bool:
        """Whether a folder of skills is on this machine, rather than another person's."""
        return not self.is_shared or root == str(self.own_skills) or Path(root).is_dir()

    def skill_roots(self, projects: Sequence[Path] = ()) -> "tuple[SkillRoot, ...]":
        """The roots of skills of these projects, the user's, our own, and what is shipped."""
        from synthorg_tui.skills.library import shipped_folders, skill_roots

        own, shipped = self.own_skills, shipped_folders()
        return skill_roots(self.settings.skills, own=own, projects=projects, shipped=shipped)

    async def all_skill_roots(self, executions: "ExecutionStore") -> "tuple[SkillRoot, ...]":
        """Return the folders of skills of all projects that sessions were imported from.

        The user's and our own are included.
        """
        projects = map(Path, await executions.projects())
        known = [project for project in projects if project.is_absolute()]
        return await asyncio.to_thread(self.skill_roots, known)


@asynccontextmanager
async def open_foundation(
    settings: RootConfig,
    *,
    data_dir: Path | None,
    clock: Clock | None,
    database: StoreDatabase | None,
    embedder: Embedder | None,
) -> AsyncIterator[Foundation]:
    """Take ownership of a data directory and open its stores, for the length of an ``async with``.

    Arguments and errors are those of ``Engine.open``.
    """
    directory = data_dir or Path(settings.memory.storage.data_dir)
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        if database is None:
            owned = own_database(directory, settings.persistence)
            database = await stack.enter_async_context(owned)
        settings = await hold(settings, database, clock=clock)
        configure_commands(settings.ingest.commands)
        embedder = AdaptedEmbedder(embedder or create_embedder(settings.embedding()))
        stack.push_async_callback(embedder.close)
        context = BackendContext(
            data_dir=directory,
            database=database,
            embedder=embedder,
            clock=clock,
            policy=settings.store_policy(),
            record=partial(_record_cost, database),
        )
        memory = create_memory_backend(settings.memory, context=context)
        await memory.connect()
        stack.push_async_callback(memory.disconnect)
        stack.push_async_callback(_leave_counts, database, directory)
        base = Foundation(settings, directory, memory, database, clock, Events(), stack)
        if base.is_shared:
            from synthorg_tui.wiring.hearing import hearing

            await stack.enter_async_context(hearing(database, base.events, clock))
        yield base


async def _record_cost(database: StoreDatabase, usage: "UsageRecord") -> None:
    from synthorg_tui.persistence.usage import UsageStore

    await UsageStore(database).add(usage)


async def _leave_counts(database: StoreDatabase, directory: Path) -> None:
    from synthorg_tui.approvals.trail import leave_counts

    await leave_counts(database, directory)

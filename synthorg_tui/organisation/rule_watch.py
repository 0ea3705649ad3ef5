"""Watches the files that rules were imported from, and puts their changes up for review.

As with skills, a notification only means "look soon": what changed is the plan of another import.
Each file's changes become one item of the queue; nothing is ever applied here, so no writer and no
person may be imported. What is suspicious or was edited here stays out of an item: somebody has to
look at it and choose it by hand.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Final

from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus
from synthorg_tui.approvals.proposals import ProposalBox
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import counted
from synthorg_tui.curation.review import ORG_ACTION, OrgPayload
from synthorg_tui.memory.errors import WriteRefusedError
from synthorg_tui.organisation.import_plan import OrgImportPlan, PlannedChange, PlannedKind
from synthorg_tui.organisation.importing import OrgImports, changes_of
from synthorg_tui.organisation.project_files import find_files
from synthorg_tui.organisation.proposals import propose

REQUESTED_BY: Final = "rule files"
DEBOUNCE_MS: Final = 300
LOOK_ANYWAY_SECONDS: Final = 30.0
"""Look at least this often: a folder may be new, or a notification lost."""
QUIET_SECONDS: Final = 0.5
"""Seconds without a notification after which files count as saved whole."""

_log = logging.getLogger(__name__)


class RuleWatch:
    """Keeps the queue in step with the rule files of projects that were imported.

    Args:
        imports: Says what files would change.
        queue: Where changes wait for a person.
        clock: Decides what "now" is.
    """

    def __init__(self, imports: OrgImports, queue: ProposalBox, clock: Clock) -> None:
        self._imports = imports
        self._queue = queue
        self._clock = clock

    async def look(self) -> tuple[str, ...]:
        """Compare all imported projects with their files once; return the ids of new items.

        Items about what is no longer so are withdrawn. A project that isn't there any more is left
        as it is.
        """
        added: list[str] = []
        for project in await self._imports.projects():
            try:
                plan = await self._imports.plan(project)
            except DomainError as error:
                _log.debug("not looked at: %s", error.message)
                continue
            added += await self._put(plan)
        return tuple(added)

    async def idle(self) -> str:
        """Return why there is nothing to watch; empty when there is."""
        return "" if await self._imports.projects() else "no rules were imported from files yet"

    async def run(self, note: Callable[[str, bool], None], stop: asyncio.Event) -> None:
        """Look at once and after every change, until ``stop`` is set.

        ``note`` is told of new items, and with true of a look that failed; the next change is
        looked at all the same.
        """
        while not stop.is_set():
            try:
                added = await self.look()
                if added:
                    note(f"{counted(len(added), 'changed file')} up for review", False)
            except DomainError as error:
                note(error.message, True)
            await _changed(await self._folders(), stop)

    async def _put(self, plan: OrgImportPlan) -> list[str]:
        """One item for each file with changes; those of other files are withdrawn."""
        by_path: dict[str, list[PlannedChange]] = {}
        for change in plan.changes:
            by_path.setdefault(change.path, []).append(change)
        waiting = {
            item.source: item
            for item in await self._queue.list(
                status=ApprovalStatus.PENDING, action_type=ORG_ACTION, snoozed=True
            )
            if item.requested_by == REQUESTED_BY and (item.metadata.get("project") == plan.project)
        }
        added = []
        for path, changes in by_path.items():
            source = f"{plan.project}/{path}"
            chosen = [change for change in changes if change.is_chosen]
            known = waiting.pop(source, None) if chosen else None
            item_id = await self._propose(plan, path, chosen, changes, known) if chosen else ""
            if item_id and known is None:
                added.append(item_id)
        for stale in waiting.values():
            await self._withdraw(stale)
        return added

    async def _propose(
        self,
        plan: OrgImportPlan,
        path: str,
        chosen: Sequence[PlannedChange],
        all_of_file: Sequence[PlannedChange],
        known: ApprovalItem | None,
    ) -> str:
        """Put changes of a file into the queue; empty when a person rejected the same before."""
        payload = OrgPayload(
            changes=tuple(changes_of(chosen)),
            why=_why(path, chosen, len(all_of_file) - len(chosen)),
            source=f"{plan.project}/{path}",
        )
        before = await self._queue.list(action_type=ORG_ACTION, snoozed=True)
        try:
            item_id = await propose(
                self._queue,
                payload,
                title=f"{path} changed: {_counts(chosen)}",
                requested_by=REQUESTED_BY,
                clock=self._clock,
                project=plan.project,
            )
        except WriteRefusedError:
            return ""
        if known is not None and known.id != item_id:
            await self._withdraw(known)
        return "" if any(item.id == item_id for item in before) else item_id

    async def _withdraw(self, item: ApprovalItem) -> None:
        """Take an item out of the queue whose file says something else by now."""
        gone = item.model_copy(update={"status": ApprovalStatus.EXPIRED})
        try:
            await self._queue.save(gone)
        except DomainError as error:
            _log.debug("not withdrawn: %s", error.message)

    async def _folders(self) -> tuple[Path, ...]:
        """The folders of the projects that hold the files, and those of the projects."""
        found: set[Path] = set()
        for project in await self._imports.projects():
            try:
                files = await asyncio.to_thread(find_files, project)
            except OSError:
                continue
            found |= {project, *files.folders}
        return tuple(sorted(found))


async def _changed(folders: Sequence[Path], stop: asyncio.Event) -> None:
    """Return once something in the folders changed and is at rest, or after a while."""
    from watchfiles import awatch  # here: only watching needs it

    if not folders:
        await _pause(stop, LOOK_ANYWAY_SECONDS)
        return
    loop = asyncio.get_running_loop()
    deadline = loop.time() + LOOK_ANYWAY_SECONDS
    # Not recursive: that would follow links to wherever they lead.
    notifications = awatch(
        *folders,
        watch_filter=None,
        stop_event=stop,
        debounce=DEBOUNCE_MS,
        rust_timeout=1000,
        yield_on_timeout=True,
        recursive=False,
    )
    try:
        async with aclosing(notifications) as events:
            async for told in events:
                if told or loop.time() >= deadline:
                    break
        await _pause(stop, QUIET_SECONDS)
    except (OSError, RuntimeError, ExceptionGroup) as error:
        _log.debug("no watches left, looking now and then: %s", error)
        await _pause(stop, LOOK_ANYWAY_SECONDS)


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


def _counts(changes: Sequence[PlannedChange]) -> str:
    found = Counter(change.kind for change in changes)
    return ", ".join(f"{found[kind]:,} {kind}" for kind in PlannedKind if found[kind])


def _why(path: str, chosen: Sequence[PlannedChange], others: int) -> str:
    told = f"{path} says something else than when it was imported: {_counts(chosen)}."
    if others:
        told += (
            f" {counted(others, 'line')} more to look at by hand, suspicious or changed here:"
            " `synthorg-tui org import` shows them."
        )
    return told

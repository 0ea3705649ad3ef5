"""Carries plans of consolidation out, and takes them back: each group whole or not at all.

A group is one transaction: the new text is stored, the memories that leave are archived, edges say
what stands for them, and the group's state and the new revisions are written with it. So a process
that is killed leaves groups that are done and groups that are due, and ``resume`` goes on with
these. What changed since the plan was made isn't touched: each group is checked once more in its
transaction, with the cap of the run and what is pinned.
"""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.consolidation.config import ConsolidationConfig
from synthorg_tui.memory.consolidation.plan import (
    ARCHIVED_WHY,
    ConsolidationPlan,
    GroupKind,
    GroupState,
    MemberRole,
    PlannedGroup,
    PlanOutcome,
    allowance,
)
from synthorg_tui.memory.consolidation.planner import (
    PlanProgress,
    Spared,
    is_pinned,
    live_totals,
)
from synthorg_tui.memory.consolidation.strategy import request_of
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.extensions import Archiving, BundleOutcome, MemoryBundle, NewMemory
from synthorg_tui.memory.listing import ChangeKind
from synthorg_tui.memory.models import MemoryDraft
from synthorg_tui.memory.store import edges, plans, queries
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.rows import StoredMemory
from synthorg_tui.memory.store.writer import MemoryWriter
from synthorg_tui.memory.store.writes import Changes
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc

ACTOR: Final = plans.PROGRAM
"""Whom the history names for what a plan does; who decided on it stands with the plan."""

CHANGED: Final = "one of its memories has been changed since"
OVER_CAP: Final = "more would leave than may in one run"
IS_PINNED: Final = "one of its memories is pinned by now"


class PlanApplier:
    """Applies and undoes stored plans.

    Args:
        core: The store that is changed.
        config: The cap of a run.
        spared: Memories that never leave.
    """

    def __init__(self, core: Core, config: ConsolidationConfig, spared: Spared) -> None:
        self._core = core
        self._config = config
        self._spared = spared
        self._writer = MemoryWriter(core)

    async def apply(
        self,
        number: int,
        groups: Sequence[int] | None = None,
        *,
        by: str,
        cancel: threading.Event | None = None,
        progress: PlanProgress | None = None,
    ) -> PlanOutcome:
        """Carry out groups of a plan, all that are open for ``None``.

        What a model wrote is never carried out here. When it is cancelled, the groups that weren't
        reached are open as before.

        Raises:
            DomainError: There is no such plan, no such group in it, or none of these is open.
        """

        def adopt(db: Connection) -> ConsolidationPlan:
            wanted = _chosen(plan_of(db, number), groups)
            plans.set_state(db, number, wanted, GroupState.DUE, by=by)
            return plan_of(db, number)

        plan = await self._core.database.write(adopt)
        return await self._carry_out(plan, cancel, progress)

    async def resume(self) -> tuple[PlanOutcome, ...]:
        """Go on with what was adopted and not finished when the program stopped."""
        numbers = await self._core.read(lambda db: plans.numbers_with(db, GroupState.DUE))
        found = [await self._core.read(partial(plan_of, number=number)) for number in numbers]
        return tuple([await self._carry_out(plan, None, None) for plan in found])

    async def undo(
        self,
        number: int,
        *,
        by: str,
        cancel: threading.Event | None = None,
        progress: PlanProgress | None = None,
    ) -> PlanOutcome:
        """Take back all groups of a plan that were carried out, the last first.

        Archived memories are live again as they were, new texts and edges are removed. What a
        person has changed since is left alone and named.

        Raises:
            DomainError: There is no such plan, nothing of it was carried out, or all is taken back.
        """
        plan = await self._core.read(lambda db: plan_of(db, number))
        open_groups = plan.in_state(GroupState.APPLIED)[::-1]
        if not open_groups:
            raise DomainError(f"nothing of plan {number} is in force")
        before = await self._totals(plan)
        done, untouched, memories = list[int](), list[tuple[str, str]](), 0
        for group in open_groups:
            if cancel is not None and cancel.is_set():
                break
            if progress is not None:
                progress(len(done), len(open_groups))
            work = partial(_take_back, plan=number, group=group, by=by)
            back, left = await self._core.change(work)
            memories += back
            untouched += left
            done.append(group.number)
        outcome = PlanOutcome(number, tuple(done), memories=memories, untouched=tuple(untouched))
        return await self._counted(plan, before, outcome, is_whole=len(done) == len(open_groups))

    async def _carry_out(
        self,
        plan: ConsolidationPlan,
        cancel: threading.Event | None,
        progress: PlanProgress | None,
    ) -> PlanOutcome:
        due = plan.in_state(GroupState.DUE)
        before = await self._totals(plan)
        done, left, memories, open_ones = list[int](), list[tuple[int, str]](), 0, list(due)
        while open_ones and not (cancel is not None and cancel.is_set()):
            group = open_ones.pop(0)
            if progress is not None:
                progress(len(due) - len(open_ones) - 1, len(due))
            try:
                memories += await self._carry_out_group(plan.number, group)
                done.append(group.number)
            except DomainError as error:
                left.append((group.number, error.message))
                await self._set(plan, [group.number], GroupState.LEFT, note=error.message)
            await asyncio.sleep(0)
        if open_ones:
            await self._set(plan, [group.number for group in open_ones], GroupState.PROPOSED, by="")
        outcome = PlanOutcome(plan.number, tuple(done), tuple(left), memories)
        return await self._counted(plan, before, outcome, is_whole=not open_ones)

    async def _counted(
        self,
        plan: ConsolidationPlan,
        before: tuple[int, int],
        outcome: PlanOutcome,
        *,
        is_whole: bool,
    ) -> PlanOutcome:
        """The outcome with what the store counts before and after."""
        after = await self._totals(plan)
        return replace(
            outcome,
            live_before=before[0],
            live_after=after[0],
            tokens_before=before[1],
            tokens_after=after[1],
            cancelled=not is_whole,
        )

    async def _carry_out_group(self, plan: int, group: PlannedGroup) -> int:
        """Carry a group out in one transaction and return how many memories were archived."""
        made_by = f"{ACTOR} {plan}.{group.number}"
        archive = Archiving(
            ids=group.archived,
            why=ARCHIVED_WHY[group.kind],
            mode=group.text.mode or None if group.text else None,
            kept=next(iter(group.kept), None) if group.text is None else None,
            derived=group.ids(MemberRole.SOURCE, MemberRole.ARCHIVED) if group.text else (),
            made_by=made_by,
        )
        add = () if group.text is None else (new_memory(group),)

        def within(db: Connection, outcome: BundleOutcome) -> int:
            self._check(db, plan, group, outcome)
            added = next(iter(outcome.added), None)
            plans.set_state(db, plan, [group.number], GroupState.APPLIED, added=added)
            plans.note_revisions(db, plan, group.number)
            return len(outcome.removed)

        bundle = MemoryBundle(add=add, archive=archive)
        return await self._writer.change_together(bundle, within, actor=ACTOR)

    def _is_live(self, row: StoredMemory) -> bool:
        ends = self._core.ages.end_of(row.agent_id, row.category, row.created_at, row.expires_at)
        is_over = ends is not None and ends <= naive_utc(self._core.clock.now())
        return row.is_current and not is_over

    def _check(
        self, db: Connection, plan: int, group: PlannedGroup, outcome: BundleOutcome
    ) -> None:
        """Raise ``DomainError`` unless all is as it was planned; undoes the transaction."""
        rows = queries.rows_by_id(db, group.ids())
        marks = {key: plans.mark_of(row) for key, row in rows.items()}
        others = [
            rows[one.id] for one in group.members if one.id in rows and one.id not in group.archived
        ]
        if (
            any(marks.get(one.id) != one.mark for one in group.members)
            or len(outcome.removed) != len(group.archived)
            or not all(self._is_live(row) for row in others)
        ):
            raise DomainError(CHANGED)
        if any(is_pinned(rows[key].tags) for key in group.archived):
            raise DomainError(IS_PINNED)
        if not self._spared(db).isdisjoint(group.archived):
            raise DomainError("one of its memories belongs to a skill by now")
        self._check_cap(db, plan, group)

    def _check_cap(self, db: Connection, plan: int, group: PlannedGroup) -> None:
        """Raise ``DomainError`` when more texts would leave by this plan than may."""
        is_copies = group.kind is GroupKind.DUPLICATE and group.is_exact
        if group.kind is GroupKind.EXPIRED or is_copies:
            return
        texts = len(group.archived)  # whatever the stored group says
        left, gone = plans.texts_applied(db, plan, group.agent_id)
        live, _ = live_totals(db, self._core, group.agent_id)
        before = live + gone + len(group.archived)
        if left + texts > allowance(self._config.max_share_per_run, before):
            raise DomainError(OVER_CAP)

    async def _set(
        self,
        plan: ConsolidationPlan,
        groups: list[int],
        state: GroupState,
        *,
        note: str = "",
        by: str | None = None,
    ) -> None:
        await self._core.database.write(
            lambda db: plans.set_state(db, plan.number, groups, state, note=note, by=by)
        )

    async def _totals(self, plan: ConsolidationPlan) -> tuple[int, int]:
        return await self._core.read(lambda db: live_totals(db, self._core, plan.agent_id))


def new_memory(group: PlannedGroup) -> NewMemory:
    """Return the memory that would stand for a group, seen by those who saw what it is made of."""
    text = group.text
    assert text is not None
    draft = MemoryDraft(
        request=request_of(text),
        level=MemoryLevel(text.level),
        project=text.project,
        session_id=text.session_id,
        source_kind=SourceKind.IMPORT,
    )
    return NewMemory(group.agent_id, draft, shared=text.shared)


def plan_of(db: Connection, number: int) -> ConsolidationPlan:
    """Return the plan with a number; raises ``DomainError``."""
    plan = next(iter(plans.plans(db, [number])), None)
    if plan is None:
        raise DomainError(
            f"there is no plan {number}", remedy="See `synthorg-tui consolidate list`."
        )
    return plan


def _chosen(plan: ConsolidationPlan, groups: Sequence[int] | None) -> list[int]:
    """The groups that are to be carried out; raises when there is none, or one is unknown."""
    wanted = plan.chosen(groups)
    adoptable = (GroupState.PROPOSED, GroupState.DUE, GroupState.LEFT)
    found = [g.number for g in wanted if g.state in adoptable and not g.is_by_model]
    if not found:
        waits = any(g.state is GroupState.WAITING or g.is_by_model for g in wanted)
        why = (
            "a model wrote its text: it waits in Approvals"
            if waits
            else "nothing of it is open any more"
        )
        raise DomainError(f"plan {plan.number}: {why}")
    return found


def _take_back(
    changes: Changes, plan: int, group: PlannedGroup, *, by: str
) -> tuple[int, list[tuple[str, str]]]:
    """Undo a group; returns how many memories are live again, and what was left alone and why."""
    noted = plans.revisions_of(changes.db, plan, group.number)
    rows = queries.rows_by_id(changes.db, list(noted))
    back = [row for key, row in rows.items() if row.revision == noted[key]]
    untouched = [
        (key, "it has been changed since" if key in rows else "it was purged")
        for key in noted
        if key not in rows or rows[key].revision != noted[key]
    ]
    live = [
        (row, row._replace(archived_at=None, archived_why=None, archived_mode=None)) for row in back
    ]
    changes.set_states(live, ChangeKind.RESTORED, actor=ACTOR)
    if group.added is not None:
        row = queries.row_by_id(changes.db, group.added)
        if row is not None and row.is_current and not row.edited:
            changes.mark([row], deleted=True, actor=ACTOR)
        elif row is not None and row.is_current:
            untouched.append((group.added, "a person has edited the new text"))
    edges.remove_made(changes.db, f"{ACTOR} {plan}.{group.number}")
    plans.set_state(changes.db, plan, [group.number], GroupState.UNDONE, by=by)
    return len(back), untouched

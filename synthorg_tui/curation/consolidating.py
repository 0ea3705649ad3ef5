"""Plans of consolidation for a person and for the program: made, shown, applied, dropped, undone.

What a plan says is found by ``memory.consolidation.planner`` and done by ``.applying``. Here it is
decided who may have what done: a person any group, the program by itself only what loses nothing,
and what a model wrote nobody here. That becomes an item of Approvals, one for each group.
"""

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Final

from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus, RiskLevel
from synthorg_tui.approvals.proposals import ProposalBox
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import counted
from synthorg_tui.curation.conflicts import find_conflicts
from synthorg_tui.curation.lesson_sources import stand_on_sources
from synthorg_tui.curation.registry import memories_of_skills, select
from synthorg_tui.curation.review import MERGE_ACTION, MergePayload, entry_of
from synthorg_tui.memory.consolidation.applying import ACTOR, PlanApplier, new_memory, plan_of
from synthorg_tui.memory.consolidation.config import (
    ConsolidationConfig,
    ConsolidationStrategyType,
)
from synthorg_tui.memory.consolidation.factory import (
    ModelByName,
    create_consolidation_strategy,
)
from synthorg_tui.memory.consolidation.likeness import find_alike
from synthorg_tui.memory.consolidation.merging import MergeFinder
from synthorg_tui.memory.consolidation.plan import (
    ConsolidationPlan,
    GroupKind,
    GroupState,
    PlannedGroup,
    PlanOutcome,
    plan_words,
)
from synthorg_tui.memory.consolidation.planner import LOSSLESS, Finder, Planner
from synthorg_tui.memory.store import plans
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence.port import Connection

_OFF: Final = "consolidation is off"
_TURN_ON: Final = "Set memory.consolidation.enabled to true."
_ID_DIGITS: Final = 12


class ConsolidationRuns:
    """Makes, applies, drops and undoes plans of consolidation, one at a time.

    Args:
        backend: The memories.
        config: The cap of a run, the bound on memories, and the strategy that merges.
        queue: Takes what a model wrote.
        models: Returns the language model that a setting names; asked when a strategy wants one.
    """

    def __init__(
        self,
        backend: LocalMemoryBackend,
        config: ConsolidationConfig,
        queue: ProposalBox,
        models: ModelByName,
    ) -> None:
        self._backend = backend
        self._core = backend.core
        self._config = config
        self._queue = queue
        self._models = models
        self._applier = PlanApplier(self._core, config, memories_of_skills)
        self._one = asyncio.Lock()

    def mirror(self, enabled: bool) -> None:
        """Carry out plans from now on, or none; what is being carried out goes on."""
        self._config = self._config.model_copy(update={"enabled": enabled})

    async def plan(
        self,
        agent_id: str | None = None,
        *,
        actor: str = ACTOR,
        cancel: threading.Event | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> ConsolidationPlan:
        """Make a plan, store it and return it; no memory is changed.

        It takes the place of the last plan for the same agent, as far as nobody decided on that.
        What a model wrote waits in Approvals at once. Nothing is stored of a plan without groups,
        which has number 0, nor of one that was ``cancelled``.

        Args:
            agent_id: Whose memories; ``None`` for those of all agents.
            actor: Who asks for it.
            cancel: Set it to stop within a second.
            progress: Is told how many of how many memories were looked at.
        """
        async with self._one:
            return await self._plan(agent_id, actor, frozenset(GroupKind), cancel, progress)

    async def latest(self, limit: int = 20) -> tuple[ConsolidationPlan, ...]:
        """Return the latest plans, newest first."""
        await self._settle()
        return await self._core.read(lambda db: plans.plans(db, limit=limit))

    async def show(self, number: int) -> ConsolidationPlan:
        """Return a plan as it stands; raises ``DomainError``."""
        await self._settle()
        return await self._core.read(partial(plan_of, number=number))

    async def apply(
        self,
        number: int,
        groups: tuple[int, ...] | None = None,
        *,
        actor: str,
        cancel: threading.Event | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> PlanOutcome:
        """Carry out groups of a plan, all open ones for ``None``; see ``PlanApplier.apply``.

        Raises ``DomainError`` also when the settings turn consolidation off.
        """
        if not self._config.enabled:
            raise DomainError(_OFF, remedy=_TURN_ON)
        async with self._one:
            outcome = await self._applier.apply(
                number, groups, by=actor, cancel=cancel, progress=progress
            )
        waiting = (await self.show(number)).in_state(GroupState.WAITING)
        return replace(outcome, waiting=tuple(g.item_id for g in waiting if g.item_id))

    async def undo(
        self,
        number: int,
        *,
        actor: str,
        cancel: threading.Event | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> PlanOutcome:
        """Take back all that was carried out of a plan; see ``PlanApplier.undo``."""
        async with self._one:
            return await self._applier.undo(number, by=actor, cancel=cancel, progress=progress)

    async def drop(
        self, number: int, groups: tuple[int, ...] | None = None, *, actor: str
    ) -> tuple[int, ...]:
        """Drop groups of a plan, all open ones for ``None``, and return their numbers.

        What waits in Approvals stays there, to be rejected. Raises ``DomainError`` when there is no
        such plan or group, or none of them is open.
        """
        is_open = (GroupState.PROPOSED, GroupState.DUE, GroupState.LEFT)
        chosen = (await self.show(number)).chosen(groups)
        wanted = [group.number for group in chosen if group.state in is_open]
        if not wanted:
            raise DomainError(f"nothing of plan {number} is open that could be dropped")
        await self._core.database.write(
            lambda db: plans.set_state(db, number, wanted, GroupState.DROPPED, by=actor)
        )
        return tuple(wanted)

    async def run_due(
        self,
        progress: Callable[[int, int], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> str:
        """Do by itself what loses nothing, and return in words what was done; empty for nothing.

        Copies to the letter and what has expired are archived, and room is made where an agent has
        more than it may have. What somebody brought back before is left alone. A model's texts
        wait in Approvals, and so do memories that seem to contradict each other.
        """
        if not self._config.enabled:
            return _OFF
        async with self._one:
            await self._applier.resume()
            await self._stand()
            await self._core.change(lambda changes: changes.compare_statements())
            kinds = LOSSLESS
            if self._config.strategy is ConsolidationStrategyType.LLM:
                kinds = kinds | {GroupKind.MERGED}
            plan = await self._plan(None, ACTOR, kinds, cancel, progress)
            if plan.cancelled:
                return "stopped before anything was done"
            safe = [g.number for g in plan.groups if g.is_lossless]
            words = ""
            if safe:
                outcome = await self._applier.apply(plan.number, safe, by=ACTOR, cancel=cancel)
                done = [group for group in plan.groups if group.number in outcome.done]
                words = plan_words(done) and f"archived {plan_words(done)}"
            waiting = len(plan.in_state(GroupState.WAITING))
            asked = f"{counted(waiting, 'text')} of a model in Approvals" if waiting else ""
            pairs = await find_conflicts(self._core, self._queue)
            doubts = f"{counted(pairs, 'contradiction')} in Approvals" if pairs else ""
            return "; ".join(filter(None, (words, asked, doubts)))

    async def merged_since(self, moment: datetime | None) -> int:
        """Return how many memories another text has stood for since then; ``None`` is ever."""
        return await self._core.read(lambda db: plans.merged_since(db, moment))

    async def resume(self) -> tuple[PlanOutcome, ...]:
        """Go on with what was adopted and not finished when the program stopped."""
        async with self._one:
            return await self._applier.resume()

    async def _stand(self) -> None:
        """Note what lessons stand on that were approved, or saw a failure again, before it was."""
        now = self._core.clock.now()
        await self._core.database.write(
            lambda db: stand_on_sources(db, select(db, "WHERE status = 'active'", []), at=now)
        )

    async def _plan(
        self,
        agent_id: str | None,
        actor: str,
        kinds: frozenset[GroupKind],
        cancel: threading.Event | None,
        progress: Callable[[int, int], None] | None,
    ) -> ConsolidationPlan:
        excluded = await self._in_approvals()
        if actor == ACTOR:
            excluded |= await self._core.read(plans.brought_back)
        plan = await self._planner.plan(
            agent_id,
            made_by=actor,
            kinds=kinds,
            excluded=excluded,
            cancel=cancel,
            progress=progress,
        )
        if plan.cancelled:
            return plan
        groups = [await self._asked(group) if group.is_by_model else group for group in plan.groups]
        plan = replace(plan, groups=tuple(group for group in groups if group is not None))

        def put(db: Connection) -> ConsolidationPlan:
            plans.drop_undecided(db, agent_id, by_program=actor == ACTOR)
            return plans.put_plan(db, plan) if plan.groups else plan

        return await self._core.database.write(put)

    @cached_property
    def _planner(self) -> Planner:
        """The planner; a strategy, and with it a model, is made when the first plan is."""
        strategy = create_consolidation_strategy(
            self._config, backend=self._backend, models=self._models
        )
        min_age = timedelta(days=self._config.archival.age_threshold_days)
        finders: dict[GroupKind, Finder] = {
            GroupKind.SUPERSEDED: partial(find_alike, self._core),
            GroupKind.MERGED: MergeFinder(
                self._core, strategy, min_age, keeps_words=self._config.lists_beginnings
            ),
        }
        return Planner(self._core, self._config, memories_of_skills, finders)

    async def _asked(self, group: PlannedGroup) -> PlannedGroup | None:
        """Put a model's text into Approvals; ``None`` when a person decided about it before."""
        item = _item(group, self._core.clock.now())
        known = await self._queue.get(item.id)
        if known is None:
            await self._queue.add(item)
        elif known.status is not ApprovalStatus.PENDING:
            return None
        return replace(group, state=GroupState.WAITING, item_id=item.id)

    async def _in_approvals(self) -> frozenset[str]:
        """The memories of texts that wait for a person, or that a person rejected."""
        items = await self._queue.list(action_type=MERGE_ACTION, snoozed=True)
        asked = (ApprovalStatus.PENDING, ApprovalStatus.REJECTED)
        return frozenset(key for item in items if item.status in asked for key in _sources(item))

    async def _settle(self) -> None:
        """Note what became of groups that waited in Approvals."""
        numbers = await self._core.read(lambda db: plans.numbers_with(db, GroupState.WAITING))
        found = await self._core.read(lambda db: plans.plans(db, numbers)) if numbers else ()
        for plan in found:
            for group in plan.in_state(GroupState.WAITING):
                item = await self._queue.get(group.item_id or "")
                status = item.status if item is not None else ApprovalStatus.EXPIRED
                if status is not ApprovalStatus.PENDING:
                    drop = partial(
                        plans.set_state,
                        plan=plan.number,
                        groups=[group.number],
                        state=GroupState.DROPPED,
                        note=f"{status} in Approvals",
                    )
                    await self._core.database.write(drop)


def _item(group: PlannedGroup, now: datetime) -> ApprovalItem:
    """The item by which a person decides about a model's text."""
    text = group.text
    assert text is not None
    marks = {member.id: member.mark for member in group.members}
    wording = "\n".join((group.agent_id, *sorted(f"{key} {mark}" for key, mark in marks.items())))
    digest = hashlib.sha256(wording.encode()).hexdigest()
    count = counted(len(group.archived), f"{text.category} memory", f"{text.category} memories")
    saved = f"{group.tokens_before:,} tokens become {group.tokens_after:,}"
    return ApprovalItem(
        id=f"merge-{digest[:_ID_DIGITS]}",
        action_type=MERGE_ACTION,
        title=f"Merge {count} of {group.agent_id} into one text",
        description=f"A model wrote it. {saved}; the memories it is made of go to the archive, "
        "from which they can be restored.",
        requested_by=ACTOR,
        risk_level=RiskLevel.MEDIUM,
        created_at=now,
        metadata={"kind": "merge", "agent": group.agent_id, "project": text.project or ""},
        payload=MergePayload(
            agent_id=group.agent_id,
            draft=new_memory(group).draft,
            shared=text.shared,
            archived=group.archived,
            marks=marks,
            mode=text.mode,
        ).model_dump_json(),
    )


def _sources(item: ApprovalItem) -> Iterable[str]:
    subject = entry_of(item).subject
    return subject.marks if isinstance(subject, MergePayload) else ()

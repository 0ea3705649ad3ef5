"""The consolidation screen: plans of what could leave or be merged, and what became of them.

It decides nothing itself and is inert to what a model wrote: that waits in Approvals.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings, key_of
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.formatting import counted, memories
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.manage import plan_lines as drawn
from synthorg_tui.tui.manage.base import ManageScreen
from synthorg_tui.tui.widgets.line_list import LineList

if TYPE_CHECKING:
    from synthorg_tui.memory.consolidation.plan import ConsolidationPlan, PlannedGroup
    from synthorg_tui.memory.listing import ListedMemory
    from synthorg_tui.tui.base.lines import Line

_MODEL = "A model wrote this text: it is decided in Approvals"


class ConsolidationScreen(ManageScreen):
    """Lists the plans and their groups; makes one, adopts or drops groups, takes a plan back."""

    BINDINGS = bindings("consolidation")
    CONTEXT = "consolidation"
    HELP_CONTEXTS = (CONTEXT, "list", "view", "app")
    TITLE_OF_TEXT = "What it does"
    CHOICES = "Plans"

    _plans: "tuple[ConsolidationPlan, ...]" = ()
    _shown: tuple[int, int] = (0, -1)

    def on_mount(self) -> None:
        self._unfolded: set[int] = set()
        self._marks: set[tuple[int, int]] = set()
        self._quoted: dict[str, ListedMemory] = {}
        super().on_mount()

    def on_screen_resume(self) -> None:
        """Read again what was decided elsewhere meanwhile."""
        if self._plans and not self.doing:
            run_job(self, self.load, group="load", failed=self.fail)

    # Listing

    async def load(self) -> None:
        before = {plan.number for plan in self._plans}
        self._plans = await self.management.plans()
        newest = {plan.number for plan in self._plans[:1]} - before
        self._unfolded |= newest
        self._marks &= {(plan.number, g.number) for plan in self._plans for g in _decidable(plan)}
        self.choices.placeholder = drawn.no_plans()
        self.choices.show(self._rows)
        if newest:
            self.choices.move_to(0)
        self._shown = (0, -1)
        await self._show()

    def _rows(self, width: int) -> "list[tuple[object, Line]]":
        rows: list[tuple[object, Line]] = []
        for plan in self._plans:
            unfolded = plan.number in self._unfolded
            row = drawn.plan_line(plan, width, now=self.now(), unfolded=unfolded)
            rows.append(((plan.number, 0), row))
            for group in plan.groups if unfolded else ():
                key = (plan.number, group.number)
                rows.append((key, drawn.group_line(group, width, marked=key in self._marks)))
        return rows

    def _at_cursor(self) -> "tuple[ConsolidationPlan | None, PlannedGroup | None]":
        """The plan under the cursor, and the group if it is on one."""
        number, which = cast("tuple[int, int]", self.choices.value or (0, 0))
        plan = next((plan for plan in self._plans if plan.number == number), None)
        groups = plan.groups if plan is not None else ()
        return plan, next((group for group in groups if group.number == which), None)

    async def _show(self) -> None:
        """Show what is under the cursor; what memories say is read when a group is."""
        plan, group = self._at_cursor()
        if plan is None:
            self.say([])
            return
        key = (plan.number, group.number if group is not None else 0)
        if group is None:
            lines = drawn.plan_lines(plan, self.now())
        else:
            wanted = [each for each in drawn.concerned(group) if each not in self._quoted]
            if wanted:
                self._quoted = await self.management.quoted(drawn.concerned(group))
            lines = drawn.group_lines(plan, group, self._quoted, self.now())
        self.text.show(lines, top=key != self._shown)
        self._shown = key
        self.refresh_bindings()

    def on_line_list_moved(self) -> None:
        """Show what is under the cursor."""
        run_job(self, self._show, group="show", failed=self.fail)

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Open what is under the cursor."""
        event.stop()
        self.action_unfold()

    def action_unfold(self) -> None:
        """List the groups of a plan or fold them; read a group, or decide on it in Approvals."""
        plan, group = self._at_cursor()
        if plan is None:
            return
        if group is None:
            self._unfolded ^= {plan.number}
            self.choices.remake()
        elif group.state == "waiting" and not self.doing:
            run_job(self.app, partial(_to_approvals, self), group="approvals")
        else:
            self.text.focus()

    # Marks

    def action_mark(self) -> None:
        """Mark or unmark the group under the cursor, and go on."""
        plan, group = self._at_cursor()
        if plan is None or group is None:
            toast(self, "Groups are marked, not plans", severity="warning")
        elif group not in _decidable(plan):
            toast(self, _why_not(group), severity="warning")
        else:
            self._marks ^= {(plan.number, group.number)}
            self.choices.remake()
            self.choices.action_down()

    def action_mark_all(self) -> None:
        """Mark all open groups of the plan, or none of them."""
        plan, _ = self._at_cursor()
        if plan is not None:
            keys = {(plan.number, group.number) for group in _decidable(plan)}
            self._marks = self._marks - keys if keys <= self._marks else self._marks | keys
            self.choices.remake()

    def _chosen(self) -> set[tuple[int, int]]:
        """The groups that a key acts on; empty, and said why, where nothing can be decided."""
        plan, group = self._at_cursor()
        if self._marks or plan is None:
            return set(self._marks)
        if group is not None and group not in _decidable(plan):
            toast(self, _why_not(group), severity="warning")
            return set()
        groups = _decidable(plan) if group is None else [group]
        if not groups:
            waits = any(each.state == "waiting" for each in plan.groups)
            toast(self, _MODEL if waits else "Nothing of this plan is open", severity="warning")
        return {(plan.number, each.number) for each in groups}

    # Plans

    def action_run(self) -> None:
        """Make a plan of what the store holds now."""
        self.begin("Looking for what could leave", self._plan)

    async def _plan(self) -> None:
        told = partial(self._count, "memories looked at")
        plan = await self.management.make_plan(progress=told, cancel=self.cancel)
        if plan.cancelled:
            toast(self, "Stopped; no plan was made")
        elif not plan.groups:
            toast(self, f"Looked at {memories(plan.memories_before)}: nothing could leave")
        await self.load()

    def _count(self, what: str, done: int, total: int) -> None:
        """Show how far it is; may be called from any thread."""
        self.post_message(self.Told(f"{done:,} of {total:,} {what}"))

    def action_approve(self) -> None:
        """Adopt the marked groups, this one, or all open ones of the plan, after asking."""
        chosen = self._chosen()
        if chosen:
            leave = "What leaves goes to the archive, where it can be restored. "
            undo = f"{key_of('consolidation.undo')} takes all of it back."
            work = partial(self._apply, chosen)
            self._ask("Adopt", chosen, leave + undo, lambda: self.begin("Adopting", work))

    async def _apply(self, chosen: set[tuple[int, int]]) -> None:
        told = partial(self._count, "groups")
        try:
            for number, groups in _by_plan(chosen):
                outcome = await self.management.apply_plan(
                    number, groups, progress=told, cancel=self.cancel
                )
                severity = "warning" if outcome.left else "information"
                words = drawn.outcome_words(outcome, "archived")
                toast(self, words, severity=severity)  # type: ignore[arg-type]
        finally:
            await self.load()

    def action_reject(self) -> None:
        """Drop them, after asking; no memory is changed."""
        chosen = self._chosen()
        if chosen:
            note = "No memory is changed; a later plan may find them again."
            work = partial(self._drop, chosen)
            self._ask("Drop", chosen, note, lambda: self.begin("Dropping", work))

    async def _drop(self, chosen: set[tuple[int, int]]) -> None:
        dropped = 0
        for number, groups in _by_plan(chosen):
            dropped += len(await self.management.drop_plan(number, groups))
        toast(self, f"Dropped {counted(dropped, 'group')}")
        await self.load()

    def action_undo(self) -> None:
        """Take back all that was adopted of the plan under the cursor, after asking."""
        plan, _ = self._at_cursor()
        done = [group for group in plan.groups if group.state == "applied"] if plan else []
        if plan is None or not done:
            toast(self, "Nothing of this plan was adopted", severity="warning")
            return
        work = partial(self._undo, plan.number)
        note = "What left is live again as it was; what you have changed since stays."
        chosen = {(plan.number, group.number) for group in done}
        self._ask("Take back", chosen, note, lambda: self.begin("Taking back", work))

    async def _undo(self, number: int) -> None:
        told = partial(self._count, "groups")
        try:
            outcome = await self.management.undo_plan(number, progress=told, cancel=self.cancel)
            toast(self, drawn.outcome_words(outcome, "live again"))
        finally:
            await self.load()

    def _ask(
        self, does: str, chosen: set[tuple[int, int]], note: str, act: Callable[[], None]
    ) -> None:
        if self.doing:
            act()  # says that something else runs
            return
        numbers = ", ".join(str(number) for number, _ in _by_plan(chosen))
        question = f"{does} {counted(len(chosen), 'group')} of plan {numbers}?"
        listed = drawn.question_lines(self._plans, chosen)
        dialog = ConfirmDialog(question, listed, yes=does, note=note)
        self.app.push_screen(dialog, lambda yes: act() if yes else None)

    def fail(self, error: DomainError) -> None:
        """Show an error as the text, until the cursor moves."""
        super().fail(error)
        self._shown = (0, -1)


def _decidable(plan: "ConsolidationPlan") -> "list[PlannedGroup]":
    """The groups of a plan that can be adopted or dropped here."""
    return [g for g in plan.groups if g.state in drawn.DECIDABLE and not g.is_by_model]


def _why_not(group: "PlannedGroup") -> str:
    if group.state == "waiting":
        return f"{_MODEL}; {key_of('consolidation.unfold')} goes there"
    return _MODEL if group.is_by_model else "This group was decided already"


def _by_plan(chosen: Iterable[tuple[int, int]]) -> list[tuple[int, tuple[int, ...]]]:
    plans: dict[int, list[int]] = {}
    for number, group in sorted(chosen):
        plans.setdefault(number, []).append(group)
    return [(number, tuple(groups)) for number, groups in plans.items()]


async def _to_approvals(screen: ConsolidationScreen) -> None:
    """Leave for Approvals, where the texts of models are listed."""
    app: Any = screen.app
    await screen.dismiss()
    await app.switch_mode("approvals")
    app.screen.query_one("#query", Input).value = "kind:merge"

"""Lines of the consolidation screen: plans with their groups, and one of them in full.

What memories say is untrusted text: it is only ever put into lines, which make it safe.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

from synthorg_tui.core.actors import actor_words
from synthorg_tui.memory.consolidation.plan import (
    ConsolidationPlan,
    GroupKind,
    GroupState,
    MemberRole,
    PlannedGroup,
    PlanOutcome,
    TextAuthor,
    plan_words,
)
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import ago, counted, memories, moment
from synthorg_tui.tui.base.lines import Line, beside, keys_line, line, one_line, text_lines

DECIDABLE: Final = frozenset({GroupState.PROPOSED, GroupState.DUE, GroupState.LEFT})
"""States of groups that a person can adopt or drop."""
MAX_QUOTED: Final = 30
"""Memories of a group that are quoted."""
_MAX_CHARACTERS: Final = 1500
_LABEL: Final = 11
_KIND_CELLS: Final = 11
_SHORT_ID: Final = 8
_STATES: Final = {
    GroupState.PROPOSED: ("open", "accent"),
    GroupState.DUE: ("adopted, not done", "warn"),
    GroupState.WAITING: ("in Approvals", "warn"),
    GroupState.APPLIED: ("done", "good"),
    GroupState.LEFT: ("left", "bad"),
    GroupState.DROPPED: ("dropped", "faint"),
    GroupState.UNDONE: ("undone", "faint"),
}
_KINDS: Final = {
    GroupKind.DUPLICATE: "copies of one that stays",
    GroupKind.SUPERSEDED: "older values of a fact that a newer one replaces",
    GroupKind.EXPIRED: "past their time",
    GroupKind.ROOM: "more than the agent may have",
    GroupKind.MERGED: "one new text says what they said",
}
_AUTHORS: Final = {
    TextAuthor.CODE: "code, from the words of its sources",
    TextAuthor.MODEL: "a model",
}
_ROLES: Final = {
    MemberRole.KEPT: ("stays", "good"),
    MemberRole.ARCHIVED: ("leaves", "warn"),
    MemberRole.SOURCE: ("stays, its text is used", "muted"),
}


def no_plans() -> list[Line]:
    """What is shown while there is no plan."""
    return [
        line(("No plans yet", "title")),
        Line(),
        line(
            ("A plan says what could leave: copies, what a newer fact replaced, what has", "muted")
        ),
        line(("expired, what can be merged. It changes nothing until you adopt it.", "muted")),
        keys_line((key_of("consolidation.run"), "makes one")),
    ]


def plan_line(plan: ConsolidationPlan, width: int, *, now: datetime, unfolded: bool) -> Line:
    """One plan: its number, what it saves, and how much of it is open."""
    saved = sum(group.tokens_before - group.tokens_after for group in plan.groups)
    leaving = sum(len(group.archived) for group in plan.groups)
    left = line(("▾ " if unfolded else "▸ ", "accent"), (f"Plan {plan.number}  ", "strong"))
    left.add(f"{memories(leaving)} leave, {saved:,} tokens", "text")
    open_ones = len(plan.in_state(*DECIDABLE))
    told = f"{open_ones:,} open" if open_ones else _told_state(plan)
    role = "accent" if open_ones else "muted"
    right = line((told, role), (f" {ago(plan.made_at, now)}".rjust(5), "faint"))
    return beside(left, right, width)


def _told_state(plan: ConsolidationPlan) -> str:
    """The state of a plan of which nothing is open."""
    for state in (GroupState.WAITING, GroupState.APPLIED, GroupState.UNDONE):
        if plan.in_state(state):
            return _STATES[state][0]
    return _STATES[GroupState.DROPPED][0]


def group_line(group: PlannedGroup, width: int, *, marked: bool) -> Line:
    """One group: its number, kind, how many leave, whose they are, and what became of it."""
    left = line(("  ✓" if marked else "   ", "accent"), (f"{group.number:>3} ", "muted"))
    left.add(f"{group.kind.value:<{_KIND_CELLS}}", "text")
    left.add(f"{len(group.archived):,} leave  ", "text")
    if group.is_by_model:
        left.add("by a model  ", "warn")
    left.add(one_line(group.agent_id), "muted")
    return beside(left, line(_STATES[group.state]), width)


def plan_lines(plan: ConsolidationPlan, now: datetime) -> list[Line]:
    """What a plan would do or did as a whole, and what can be done with it."""
    lines = [line((f"Plan {plan.number}", "title")), Line()]
    who = actor_words(plan.made_by)
    lines.append(_fact("made", f"{moment(plan.made_at, now)} by {one_line(who)}"))
    lines.append(_fact("of", one_line(plan.agent_id) if plan.agent_id else "all agents"))
    lines.append(_fact("says", plan_words(plan.groups)))
    lines += [
        _change("memories", plan.memories_before, plan.memories_after),
        _change("tokens", plan.tokens_before, plan.tokens_after),
    ]
    if plan.held_back:
        held = f"{counted(plan.held_back, 'text')} more could leave; one plan takes only its share"
        lines.append(_fact("held back", held, "muted"))
    lines += [Line(), line(("Groups", "title"))]
    for state, (words, role) in _STATES.items():
        if found := plan.in_state(state):
            lines.append(line((f"{len(found):>5,} ", "text"), (words, role)))
    return [*lines, Line(), *_plan_keys(plan)]


def _plan_keys(plan: ConsolidationPlan) -> list[Line]:
    """What the keys would do with a plan in its state."""
    lines = []
    if plan.in_state(*DECIDABLE):
        adopts = f"{key_of('consolidation.approve')} adopts all that is open, after asking: what"
        drops = f"{key_of('consolidation.reject')} drops it: no memory is changed"
        lines += [line((f"{adopts} leaves goes to the archive", "muted")), line((drops, "muted"))]
    if plan.in_state(GroupState.APPLIED):
        undo = f"{key_of('consolidation.undo')} takes back all that was adopted of it"
        lines.append(line((undo, "muted")))
    if plan.in_state(GroupState.WAITING):
        lines.append(line((_in_approvals(), "warn")))
    return lines


def _in_approvals() -> str:
    return (
        "What a model wrote is decided in Approvals, nowhere else: "
        f"{key_of('consolidation.unfold')} on its group goes there"
    )


def group_lines(
    plan: ConsolidationPlan, group: PlannedGroup, quoted: Mapping[str, ListedMemory], now: datetime
) -> list[Line]:
    """A group in full: why, before and after in numbers, then the texts before and after."""
    title = f"Plan {plan.number}, group {group.number}: {group.kind.value}"
    words, role = _STATES[group.state]
    lines = [line((title, "title")), Line(), _fact("state", words, role)]
    if group.state is GroupState.WAITING:
        lines.append(_fact("", _in_approvals(), "warn"))
    if group.note:
        lines.append(_fact("", one_line(group.note), "warn"))
    lines += [
        _fact("agent", one_line(group.agent_id)),
        _fact("kind", _KINDS[group.kind]),
        _fact("reason", one_line(group.reason)),
    ]
    after = len(group.kept) + (group.text is not None)
    lines += [
        _change("memories", len(group.kept) + len(group.archived), after),
        _change("tokens", group.tokens_before, group.tokens_after),
    ]
    if group.text is not None:
        lines.append(_fact("written by", _AUTHORS[group.text.written_by]))
        lines.append(_fact("sources", memories(len(group.members))))
        if group.text.note:
            lines.append(_fact("", one_line(group.text.note), "muted"))
    return [*lines, *_after(group, quoted, now), *_before(group, quoted, now)]


def _after(group: PlannedGroup, quoted: Mapping[str, ListedMemory], now: datetime) -> list[Line]:
    lines = [Line(), Line([(f"{'After'} ", "title")], fill="track")]
    if group.text is not None:
        lines.append(line(("new  ", "good"), (group.text.category, "muted")))
        lines += text_lines(group.text.content[: 4 * _MAX_CHARACTERS])
    for key in group.kept[:MAX_QUOTED]:
        lines += _memory(key, MemberRole.KEPT, quoted.get(key), now)
    if len(lines) == 2:
        lines.append(line(("Nothing takes their place; they can be restored.", "muted")))
    return lines


def _before(group: PlannedGroup, quoted: Mapping[str, ListedMemory], now: datetime) -> list[Line]:
    members = [each for each in group.members if each.role is not MemberRole.KEPT]
    lines = [Line(), Line([(f"{'Before'} ", "title")], fill="track")]
    for member in members[:MAX_QUOTED]:
        lines += _memory(member.id, member.role, quoted.get(member.id), now)
    if len(members) > MAX_QUOTED:
        lines.append(line((f"and {len(members) - MAX_QUOTED:,} more", "faint")))
    return lines


def _memory(key: str, role: MemberRole, memory: ListedMemory | None, now: datetime) -> list[Line]:
    words, style = _ROLES[role]
    head = line((words, style), (f"  {key[:_SHORT_ID]}", "faint"))
    if memory is None:
        return [head.add("  erased", "bad"), Line()]
    head.add(f"  {memory.kind.value}  {ago(memory.created_at, now)}", "muted")
    text = memory.content.strip()
    lines = [head, *text_lines(text[:_MAX_CHARACTERS])]
    if len(text) > _MAX_CHARACTERS:
        lines.append(line((f"… {len(text) - _MAX_CHARACTERS:,} characters more", "faint")))
    return [*lines, Line()]


def concerned(group: PlannedGroup) -> tuple[str, ...]:
    """Return the ids of the memories that the lines of a group quote."""
    others = group.ids(MemberRole.ARCHIVED, MemberRole.SOURCE)
    return (*group.kept[:MAX_QUOTED], *others[:MAX_QUOTED])


def outcome_words(outcome: PlanOutcome, done: str) -> str:
    """What applying or undoing did, as the store counts it; ``done`` is said of the memories."""
    told = [f"{memories(outcome.memories)} {done}"]
    told.append(f"{outcome.live_before:,} live before, {outcome.live_after:,} now")
    told += [f"group {number} was left: {why}" for number, why in outcome.left[:3]]
    if outcome.untouched:
        told.append(f"{len(outcome.untouched):,} stay as they are: changed since")
    if outcome.waiting:
        told.append(f"{counted(len(outcome.waiting), 'text')} of a model in Approvals")
    return " · ".join(told)


def question_lines(
    plans: Sequence[ConsolidationPlan], chosen: Collection[tuple[int, int]]
) -> list[Line]:
    """The groups that a question is about, a line each."""
    return [
        group_line(group, 58, marked=False)
        for plan in plans
        for group in plan.groups
        if (plan.number, group.number) in chosen
    ]


def _change(label: str, before: int, after: int) -> Line:
    shown = line((f"{label:<{_LABEL}}", "muted"), (f"{before:,}", "text"))
    if before != after:
        shown.add(" → ", "muted").add(f"{after:,}", "good" if after < before else "warn")
    return shown


def _fact(label: str, value: str, role: str = "text") -> Line:
    fact = line((f"{label:<{_LABEL}}", "muted"), (value, role))
    fact.hang = _LABEL
    return fact

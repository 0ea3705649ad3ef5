"""Lines of the consolidation screen: plans with their groups, and one of them in full.

What memories say is untrusted text: it is only ever put into lines, which make it safe.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
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
from synthorg_tui.tui.base.lines import (
    Line,
    beside,
    fact,
    facts,
    keys_line,
    line,
    one_line,
    section,
    text_lines,
)

DECIDABLE: Final = frozenset({GroupState.PROPOSED, GroupState.DUE, GroupState.LEFT})
"""States of groups that a person can adopt or drop."""
MAX_QUOTED: Final = 30
"""Memories of a group that are quoted."""
_MAX_CHARACTERS: Final = 1500
_LABEL: Final = 11
_fact = partial(fact, cells=_LABEL)
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
    who = actor_words(plan.made_by)
    held = f"{counted(plan.held_back, 'text')} more could leave; one plan takes only its share"
    states = [(len(plan.in_state(state)), *told) for state, told in _STATES.items()]
    return [
        line((f"Plan {plan.number}", "title")),
        Line(),
        _fact("made", f"{moment(plan.made_at, now)} by {one_line(who)}"),
        _fact("of", one_line(plan.agent_id) if plan.agent_id else "all agents"),
        _fact("says", plan_words(plan.groups)),
        _change("memories", plan.memories_before, plan.memories_after),
        _change("tokens", plan.tokens_before, plan.tokens_after),
        *([_fact("held back", held, "muted")] if plan.held_back else []),
        Line(),
        line(("Groups", "title")),
        *(line((f"{found:>5,} ", "text"), (words, role)) for found, words, role in states if found),
        Line(),
        *_plan_keys(plan),
    ]


def _plan_keys(plan: ConsolidationPlan) -> list[Line]:
    """What the keys would do with a plan in its state."""
    adopts = f"{key_of('consolidation.approve')} adopts all that is open, after asking: what"
    drops = f"{key_of('consolidation.reject')} drops it: no memory is changed"
    undo = f"{key_of('consolidation.undo')} takes back all that was adopted of it"
    is_open, is_done = plan.in_state(*DECIDABLE), plan.in_state(GroupState.APPLIED)
    told = [f"{adopts} leaves goes to the archive", drops] if is_open else []
    told += [undo] if is_done else []
    waits = [line((_in_approvals(), "warn"))] if plan.in_state(GroupState.WAITING) else []
    return [*(line((words, "muted")) for words in told), *waits]


def _in_approvals() -> str:
    return (
        "What a model wrote is decided in Approvals, nowhere else: "
        f"{key_of('consolidation.unfold')} on its group goes there"
    )


def group_lines(
    plan: ConsolidationPlan, group: PlannedGroup, quoted: Mapping[str, ListedMemory], now: datetime
) -> list[Line]:
    """A group in full: why, before and after in numbers, then the texts before and after."""
    words, role = _STATES[group.state]
    text, waits = group.text, group.state is GroupState.WAITING
    after = len(group.kept) + (text is not None)
    return [
        line((f"Plan {plan.number}, group {group.number}: {group.kind.value}", "title")),
        Line(),
        *facts(
            ("state", words, role),
            ("", _in_approvals() if waits else "", "warn"),
            ("", one_line(group.note), "warn"),
            ("agent", one_line(group.agent_id)),
            ("kind", _KINDS[group.kind]),
            ("reason", one_line(group.reason)),
            cells=_LABEL,
        ),
        _change("memories", len(group.kept) + len(group.archived), after),
        _change("tokens", group.tokens_before, group.tokens_after),
        *facts(
            ("written by", _AUTHORS[text.written_by] if text else ""),
            ("sources", memories(len(group.members)) if text else ""),
            ("", one_line(text.note) if text else "", "muted"),
            cells=_LABEL,
        ),
        *_after(group, quoted, now),
        *_before(group, quoted, now),
    ]


def _after(group: PlannedGroup, quoted: Mapping[str, ListedMemory], now: datetime) -> list[Line]:
    new: list[Line] = []
    if group.text is not None:
        head = line(("new  ", "good"), (group.text.category, "muted"))
        new = [head, *text_lines(group.text.content[: 4 * _MAX_CHARACTERS])]
    for key in group.kept[:MAX_QUOTED]:
        new += _memory(key, MemberRole.KEPT, quoted.get(key), now)
    none = line(("Nothing takes their place; they can be restored.", "muted"))
    return section("After", new or [none])


def _before(group: PlannedGroup, quoted: Mapping[str, ListedMemory], now: datetime) -> list[Line]:
    members = [each for each in group.members if each.role is not MemberRole.KEPT]
    lines = [
        row
        for member in members[:MAX_QUOTED]
        for row in _memory(member.id, member.role, quoted.get(member.id), now)
    ]
    if len(members) > MAX_QUOTED:
        lines.append(line((f"and {len(members) - MAX_QUOTED:,} more", "faint")))
    return section("Before", lines)


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
    stay = f"{len(outcome.untouched):,} stay as they are: changed since"
    waits = f"{counted(len(outcome.waiting), 'text')} of a model in Approvals"
    told = [
        f"{memories(outcome.memories)} {done}",
        f"{outcome.live_before:,} live before, {outcome.live_after:,} now",
        *(f"group {number} was left: {why}" for number, why in outcome.left[:3]),
        stay if outcome.untouched else "",
        waits if outcome.waiting else "",
    ]
    return " · ".join(filter(None, told))


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

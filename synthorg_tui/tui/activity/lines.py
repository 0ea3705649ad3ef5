"""The Activity pane as lines: who is there, the calls, one call in full, and why."""

import json
from collections.abc import Sequence
from datetime import datetime

from synthorg_tui.tui.activity.ports import Call, Kept, Seat
from synthorg_tui.tui.activity.state import Activity, arguments_of, subject
from synthorg_tui.tui.approvals.review_lines import fact, rule
from synthorg_tui.tui.base.formatting import ago, counted, moment
from synthorg_tui.tui.base.lines import Line, beside, keys_line, line, one_line, text_lines
from synthorg_tui.tui.digest import lines as digests
from synthorg_tui.tui.digest.ports import Answer, Weighed

KINDS = {
    "digest": ("≡", "digest", "accent"),
    "skill": ("◆", "skill", "good"),
    "tool": ("›", "read", "muted"),
}
"""Glyph, word and role of each kind of call: the colour is never the only sign."""

_SUBJECT = 300
_NAME = 12
_REASON = 200


def call_mark(call: Call) -> tuple[str, str, str]:
    """Glyph, word and role: a refusal and a write say more than the kind."""
    if call.is_error:
        return ("✗", "refused", "bad")
    if call.deleted:
        return ("-", "deleted", "warn")
    if call.wrote:
        return ("+", "wrote", "warn")
    if call.waits:
        return ("◷", "waits", "warn")
    return KINDS.get(call.kind, ("?", call.kind, "muted"))


def seat_line(seat: Seat, width: int, now: datetime) -> Line:
    """An agent on one line: whether it is connected, what may be done, from where, how long."""
    there = bool(seat.number)
    left = line(("◉ " if there else "○ ", "good" if there else "faint"))
    left.add(one_line(seat.agent_id), "strong" if there else "muted")
    for is_so, word in ((seat.paused, "paused"), (seat.read_only, "read-only")):
        left.add(f" ‖ {word}" if is_so else "", "warn")
    for told in (one_line(seat.client), seat.project.rstrip("/").rpartition("/")[2]):
        left.add(f"  {one_line(told)}" if told else "", "muted")
    right = line((f"{seat.calls:,}× " if there else "", "muted"))
    right.add(ago(seat.since, now).rjust(4) if seat.since else "away", "faint")
    return beside(left, right, width)


def seat_lines(activity: Activity, width: int, now: datetime) -> list[tuple[object, Line]]:
    """All agents, with the seat as the value."""
    return [(seat, seat_line(seat, width, now)) for seat in activity.seats]


def call_line(call: Call, width: int, now: datetime) -> Line:
    """A call on one line: what was asked for by whom, what about, tokens, time, age."""
    glyph, word, role = call_mark(call)
    agent = one_line(call.agent_id)[:_NAME].ljust(_NAME)
    left = line((f"{glyph} {word.ljust(8)}", role), (agent, "strong"))
    left.add(f" {one_line(call.name)} ", "muted").add(_about(call), "text")
    right = line((f"{call.tokens:,}t ".rjust(7), "faint"), (_took(call).rjust(7), "faint"))
    return beside(left, right.add(ago(call.at, now).rjust(5), "faint"), width)


def call_lines(call: Call, width: int, now: datetime) -> list[Line]:
    """A call on two lines: what it was about, then by whom, what came of it and how long."""
    glyph, word, role = call_mark(call)
    first = line((f"{glyph} ", role), (f"{one_line(call.name)} ", "strong"))
    first.add(_about(call), "text")
    second = line((f"  {word.ljust(8)}", role), (one_line(call.agent_id), "muted"))
    second.add(f" · {told}" if (told := came_of(call)) else "", "faint")
    right = line((f"{call.tokens:,}t {_took(call)}", "faint"))
    age = line((ago(call.at, now).rjust(5), "faint"))
    return [beside(first, age, width), beside(second, right, width)]


def _about(call: Call) -> str:
    return one_line(subject(call)[:_SUBJECT])


def _took(call: Call) -> str:
    if call.milliseconds >= 10_000:
        return f"{call.milliseconds / 1000:.0f} s"
    return f"{call.milliseconds:.0f} ms"


def came_of(call: Call) -> str:
    """What the agent got, in a few words."""
    if call.is_error:
        return one_line(call.reply[:80])
    if call.memory_ids:
        return counted(len(call.memory_ids), "memory", "memories")
    return "nothing" if not call.reply or call.reply == "No memories found." else ""


def head_lines(call: Call, now: datetime) -> list[Line]:
    """Who asked for what and when, and what it took."""
    glyph, word, role = call_mark(call)
    made = [line((f"{glyph} {word}", role), ("  ", "text"), (one_line(call.name), "strong"))]
    made[0].add(f"  #{call.number:,}", "faint")
    who = line((one_line(call.agent_id), "strong"))
    for told in (call.client, call.project):
        who.add(f" · {one_line(told)}" if told else "", "muted")
    made += [who, line((f"{moment(call.at, now)} · {_took(call)} · ", "muted"))]
    made[-1].add(f"{counted(call.tokens, 'token')}", "muted")
    arguments = arguments_of(call)
    if arguments is None:
        return [*made, fact("arguments", one_line(call.arguments))]
    for name, value in arguments.items():
        told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        label = one_line(name)[:24]
        made.append(fact(label if len(label) <= 10 else f"{label} ", one_line(told)))
    return made


def kept_lines(call: Call, kept: Sequence[Kept] | None) -> list[Line]:
    """What became of the memories that the call wrote or deleted, and what can be done."""
    if not call.wrote or not call.memory_ids or kept is None:
        return []
    made: list[Line] = []
    for each in kept:
        state, role = ("in the store", "good") if each.is_live else ("deleted", "warn")
        made.append(fact("memory", f"{state} · {one_line(each.row.content[:_SUBJECT])}", role))
    gone = len(call.memory_ids) - len(kept)
    if gone:
        made.append(fact("memory", f"{counted(gone, 'memory', 'memories')} erased", "faint"))
    if can_undo(call, kept):
        live = any(each.is_live for each in kept)
        does = "takes it back" if live else "brings it back"
        made.append(fact("undo", f"u {does}", "accent"))
    return made


def can_undo(call: Call, kept: Sequence[Kept]) -> bool:
    """Whether anything of a write can be taken back or brought back."""
    own = [each for each in kept if each.row.agent_id == call.agent_id]
    return call.wrote and any(not (call.deleted and each.is_live) for each in own)


def call_detail(call: Call, kept: Sequence[Kept] | None, now: datetime) -> list[Line]:
    """The whole call: facts, what became of what it wrote, and exactly what the agent was told."""
    made = [*head_lines(call, now), *kept_lines(call, kept), Line()]
    size = len(call.reply.encode("utf-8", "replace"))
    made.append(rule("What the agent read", f"{size:,} bytes"))
    if call.kind == "digest":
        return made + (digests.ruled_text(call.reply, call.tokens) or _nothing())
    return made + (text_lines(call.reply) if call.reply else _nothing())


def _nothing() -> list[Line]:
    return [line(("Nothing.", "muted"))]


def why_lines(answer: Answer, width: int) -> list[Line]:
    """Why each memory was in or out of a digest: verdict, scores, tokens and the reason."""
    made = [digests.budget_line(answer, width)]
    if answer.degraded:
        made.append(line(("! ", "bad"), (f"degraded: {answer.degraded}", "warn")))
    for each in answer.included:
        made += _weighed(each, width)
    made.append(digests.cut_line(answer, width))
    for each in answer.left_out:
        made += _weighed(each, width)
    return [*made, Line(), digests.stage_line(answer)]


def _weighed(each: Weighed, width: int) -> list[Line]:
    reason = line(("    ", "text"), (one_line(each.reason[:_REASON]), "faint"))
    reason.hang = 4
    return [digests.weighed_line(each, width), reason]


def no_seats(is_open: bool, has_failed: bool) -> list[Line]:
    """What stands where the agents would be."""
    if has_failed:
        return [line(("The store is not open: no agent can connect.", "muted"))]
    if not is_open:
        return [line(("Agents can connect in a moment …", "muted"))]
    return [line(("No agent is connected.", "muted"))]


def empty_log(activity: Activity) -> list[Line]:
    """Why no call is listed, and the next step."""
    if activity.held or activity.filter_text.strip():
        return [
            line(("No call matches", "title")),
            Line(),
            line((f"{counted(len(activity.held), 'call')} hidden by the filter.", "text")),
            keys_line(("esc", "clears it"), ("/", "changes it")),
        ]
    return [
        line(("No agent has called yet", "title")),
        Line(),
        line(("Connect one of yours; what it asks and writes appears here.", "text")),
        line(("synthorg-tui connect claude-code", "accent")),
    ]


def activity_error(message: str, remedy: str) -> list[Line]:
    """What went wrong and what to do."""
    made = [line(("✗ ", "bad"), ("The calls can't be shown", "strong")), Line()]
    made.append(line((message, "text")))
    if remedy:
        made += [Line(), line(("→ ", "accent"), (remedy, "text"))]
    return [*made, Line(), keys_line(("r", "tries again"))]

"""The Activity pane as styled lines: agents, calls, one call in full, and a digest's explanation.

The input is the engine's own records; nothing here uses Textual.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.activity.models import ListedAgent, NamedMemory
from synthorg_tui.tui.activity.state import (
    Activity,
    arguments_of,
    can_undo,
    failure,
    is_deletion,
    is_empty_report,
    is_waiting,
    subject,
    why_hinted,
)
from synthorg_tui.tui.base.formatting import ago, counted, moment
from synthorg_tui.tui.base.lines import (
    Line,
    beside,
    fact,
    facts,
    keys_line,
    line,
    one_line,
    rule,
    text_lines,
)
from synthorg_tui.tui.digest import lines as digests

if TYPE_CHECKING:
    from synthorg_tui.agents.models import CallRecord
    from synthorg_tui.memory.retrieval.explanation import Candidate, Explanation

CANNOT_SHOW = "The calls can't be shown"
KINDS = {
    "digest": ("≡", "digest", "accent"),
    "skill": ("◆", "skill", "good"),
    "hint": ("※", "hint", "accent"),
    "tool": ("›", "read", "muted"),
}
"""Glyph, word and role of each kind of call: the colour is never the only sign."""

_MAX_SUBJECT = 300
_NAME = 12
_MAX_REASON = 200


def call_mark(call: CallRecord) -> tuple[str, str, str]:
    """Return glyph, word and style role of a call; a refusal or a write overrides its kind."""
    if failed := failure(call):
        return ("✗", failed, "bad")
    if is_deletion(call):
        return ("-", "deleted", "warn")
    if call.wrote:
        return ("+", "wrote", "warn")
    if is_waiting(call):
        return ("◷", "waits", "warn")
    if is_empty_report(call):
        return ("›", "report", "muted")
    return KINDS[call.kind]


def agent_line(agent: ListedAgent, width: int, now: datetime) -> Line:
    """Render an agent in one line: id, restrictions, client, project, calls, connection time."""
    is_connected = bool(agent.number)
    left = line(("◉ " if is_connected else "○ ", "good" if is_connected else "faint"))
    left.add(one_line(agent.agent_id), "strong" if is_connected else "muted")
    for is_so, word in ((agent.paused, "paused"), (agent.read_only, "read-only")):
        left.add(f" ‖ {word}" if is_so else "", "warn")
    for part in (one_line(agent.client), agent.project.rstrip("/").rpartition("/")[2]):
        left.add(f"  {one_line(part)}" if part else "", "muted")
    right = line((f"{agent.calls:,}× " if is_connected else "", "muted"))
    right.add(ago(agent.since, now).rjust(4) if agent.since else "away", "faint")
    return beside(left, right, width)


def agent_lines(activity: Activity, width: int, now: datetime) -> list[tuple[object, Line]]:
    """Render all agents as pairs of the agent and its line."""
    return [(agent, agent_line(agent, width, now)) for agent in activity.agents]


def call_line(call: CallRecord, width: int, now: datetime, *, times: int = 1) -> Line:
    """Render a call in one line: kind, agent, tool, subject, tokens, duration and age.

    ``times`` is how many calls the line stands for.
    """
    glyph, word, role = call_mark(call)
    agent = one_line(call.agent_id)[:_NAME].ljust(_NAME)
    left = line((f"{glyph} {word.ljust(8)}", role), (agent, "strong"))
    left.add(f" {one_line(call.name)} ", "muted").add(
        one_line(subject(call)[:_MAX_SUBJECT]), "text"
    )
    right = line((_repeated(times), "bad"), (f"{call.tokens:,}t ".rjust(7), "faint"))
    right.add(_took(call).rjust(7), "faint")
    return beside(left, right.add(ago(call.at, now).rjust(5), "faint"), width)


def call_lines(call: CallRecord, width: int, now: datetime, *, times: int = 1) -> list[Line]:
    """Render a call in two lines: its subject and age, then agent, outcome, tokens and duration.

    ``times`` is how many calls the lines stand for.
    """
    glyph, word, role = call_mark(call)
    first = line((f"{glyph} ", role), (f"{one_line(call.name)} ", "strong"))
    first.add(one_line(subject(call)[:_MAX_SUBJECT]), "text")
    second = line((f"  {word.ljust(8)}", role), (one_line(call.agent_id), "muted"))
    second.add(f" · {outcome}" if (outcome := came_of(call)) else "", "faint")
    right = line((f"{call.tokens:,}t {_took(call)}", "faint"))
    age = line((_repeated(times), "bad"), (ago(call.at, now).rjust(5), "faint"))
    return [beside(first, age, width), beside(second, right, width)]


def _repeated(times: int) -> str:
    return f" {times:,}×" if times > 1 else ""


def _took(call: CallRecord) -> str:
    if call.milliseconds >= 10_000:
        return f"{call.milliseconds / 1000:.0f} s"
    return f"{call.milliseconds:.0f} ms"


def came_of(call: CallRecord) -> str:
    """Return the outcome of a call in a few words, or an empty string."""
    if call.is_error:
        return one_line(call.reply[:80])
    if call.memory_ids:
        return counted(len(call.memory_ids), "memory", "memories")
    return "nothing" if not call.reply or call.reply == "No memories found." else ""


def head_lines(call: CallRecord, now: datetime) -> list[Line]:
    """Render which agent called what and when, and the tokens and time it took."""
    glyph, word, role = call_mark(call)
    what = line((f"{glyph} {word}", role), ("  ", "text"), (one_line(call.name), "strong"))
    who = line((one_line(call.agent_id), "strong"))
    for part in (call.client, call.project or ""):
        who.add(f" · {one_line(part)}" if part else "", "muted")
    when = f"{moment(call.at, now)} · {_took(call)} · {counted(call.tokens, 'token')}"
    arguments = arguments_of(call)
    given = [("arguments", call.arguments)]
    if arguments is not None:
        given = [
            (label if len(label) <= 10 else f"{label} ", text)
            for name, value in arguments.items()
            for label in [one_line(name)[:24]]
            for text in [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)]
        ]
    return [
        what.add(f"  #{call.number:,}", "faint"),
        who,
        line((when, "muted")),
        *hint_lines(call),
        *(fact(label, one_line(text)) for label, text in given),
    ]


def hint_lines(call: CallRecord) -> list[Line]:
    """Render why the call got a hint and from which lesson; nothing for other calls."""
    why = why_hinted(call)
    if not why:
        return []
    lesson = f"lesson {why['lesson']}" if why.get("lesson") else "recorded, not approved"
    mutes = f"{key_of('activity.silence')} mutes"
    return [fact("hint", one_line(f"{why['reason']} · {lesson} · {mutes}"), "accent")]


def memory_lines(call: CallRecord, memories: Sequence[NamedMemory] | None) -> list[Line]:
    """Render the state of the memories a call wrote or deleted, and which keys act on them."""
    if not call.wrote or not call.memory_ids or memories is None:
        return []
    states = {True: ("in the store", "good"), False: ("deleted", "warn")}
    erased = len(call.memory_ids) - len(memories)
    gone = f"{counted(erased, 'memory', 'memories')} erased" if erased else ""
    does = "takes it back" if any(memory.is_live for memory in memories) else "brings it back"
    undo = f"{key_of('activity.undo')} {does}" if can_undo(call, memories) else ""
    return [
        *(
            fact("memory", f"{state} · {one_line(memory.row.content[:_MAX_SUBJECT])}", role)
            for memory in memories
            for state, role in [states[memory.is_live]]
        ),
        *facts(("memory", gone, "faint"), ("undo", undo, "accent")),
    ]


def call_detail(
    call: CallRecord, memories: Sequence[NamedMemory] | None, now: datetime
) -> list[Line]:
    """Render a whole call: its facts, the memories it changed, and the text the agent received."""
    lines = [*head_lines(call, now), *memory_lines(call, memories), Line()]
    lines.append(rule("What the agent read", f"{reply_size(call):,} bytes"))
    if call.kind == "digest":
        return lines + (
            digests.ruled_text(call.reply, call.tokens) or [line(("Nothing.", "muted"))]
        )
    return lines + (text_lines(call.reply) if call.reply else [line(("Nothing.", "muted"))])


def reply_size(call: CallRecord) -> int:
    """Return the size of the call's reply in bytes."""
    return len(call.reply.encode("utf-8", "replace"))


def why_lines(answer: Explanation, width: int) -> list[Line]:
    """Render why each memory was in a digest or not: verdict, scores, tokens and the reason."""
    degraded = line(("! ", "bad"), (f"degraded: {answer.degraded}", "warn"))
    own = f"settings of its own: {one_line(', '.join(answer.own_settings))}"
    return [
        digests.budget_line(answer, width),
        *([degraded] if answer.degraded else []),
        *(digests.policies_lines(answer, width) if answer.policies else []),
        *(told for fact in answer.facts for told in digests.fact_lines(fact, width)),
        *([line(("• ", "accent"), (own, "muted"))] if answer.own_settings else []),
        *(row for each in answer.included for row in _candidate_lines(each, width)),
        digests.cut_line(answer, width),
        *(row for each in answer.left_out for row in _candidate_lines(each, width)),
        Line(),
        digests.stage_line(answer),
    ]


def _candidate_lines(each: Candidate, width: int) -> list[Line]:
    reason = line(("    ", "text"), (one_line(each.reason[:_MAX_REASON]), "faint"), hang=4)
    return [digests.candidate_line(each, width), reason]


def no_agents(is_open: bool, has_failed: bool) -> list[Line]:
    """Render the text shown in place of an empty list of agents."""
    if has_failed:
        return [line(("The store is not open: no agent can connect.", "muted"))]
    if not is_open:
        return [line(("Agents can connect in a moment …", "muted"))]
    return [line(("No agent is connected.", "muted"))]


def empty_log(activity: Activity) -> list[Line]:
    """Render why no call is listed, and what the person can do next."""
    if activity.held or activity.filter_text.strip():
        return [
            line(("No call matches", "title")),
            Line(),
            line((f"{counted(len(activity.held), 'call')} hidden by the filter.", "text")),
            keys_line(
                (key_of("activity.back"), "clears it"), (key_of("activity.filter"), "changes it")
            ),
        ]
    return [
        line(("No agent has called yet", "title")),
        Line(),
        line(("Connect one of yours; what it asks and writes appears here.", "text")),
        line(("synthorg-tui connect claude-code", "accent")),
    ]


def paused_line(agent: ListedAgent) -> str:
    """Return the toast text after an agent was paused or resumed."""
    if agent.paused:
        return f"{agent.agent_id} goes on"
    goes_on = f"{key_of('activity.pause')} lets it go on"
    return f"{agent.agent_id} is paused: every call is refused · {goes_on}"


def read_only_line(agent: ListedAgent) -> str:
    """Return the toast text after an agent was made read-only or allowed to write again."""
    if agent.read_only:
        return f"{agent.agent_id} may write again"
    writes = f"{key_of('activity.read_only')} lets it write again"
    return f"{agent.agent_id} may only read · {writes}"

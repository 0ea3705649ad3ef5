"""Lines of the agents screen: a row for each agent, and all that is known of one."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import ago, counted, memories, moment
from synthorg_tui.tui.base.lines import Line, fact, line, one_line, section

if TYPE_CHECKING:
    from synthorg_tui.settings.roster import AgentFacts

_NAME_CELLS: Final = 17
_ROLE_CELLS: Final = 15
_LABEL: Final = 12
_fact = partial(fact, cells=_LABEL)
NO_AGENTS: Final = (
    line(("No agents", "title")),
    Line(),
    line(("They come with imported sessions, when they connect, or by the settings", "muted")),
)


def heading_line() -> Line:
    """The titles of the columns."""
    return line((f"  {'Agent':<{_NAME_CELLS}}{'Role':<{_ROLE_CELLS}}Last seen", "muted"))


def agent_line(agent: "AgentFacts", now: datetime) -> Line:
    """One agent: whether it is restricted or has own settings, its role, and when it was here."""
    mark = ("‖ ", "bad") if agent.paused else ("◌ ", "warn") if agent.read_only else ("  ", "text")
    name = line((_cut(agent.id, _NAME_CELLS), "strong")).fit(_NAME_CELLS)
    role = line((_cut(agent.role or "", _ROLE_CELLS), "text")).fit(_ROLE_CELLS)
    row = line(mark).extend(name).extend(role)
    row.add(ago(agent.last_seen, now) if agent.last_seen else "never", "muted")
    row.add(f"  • {len(agent.own_settings)} own" if agent.own_settings else "", "accent")
    return row.add("  ↻" if agent.waits else "", "warn")


def detail_lines(agent: "AgentFacts", now: datetime) -> list[Line]:
    """All that is known of an agent, by sections."""
    waits = line(("↻ changed in the settings: holds from the next start on", "warn"))
    reach = [
        _fact(str(scope), one_line(", ".join(ids)) or "nobody")
        for scope, ids in agent.reach.items()
    ]
    return [
        line((one_line(agent.id), "strong")),
        *([waits] if agent.waits else []),
        *section("Place", _place(agent)),
        *section("Memory", _memory(agent, now)),
        *section("Rights", [_rights(agent)]),
        *section("Settings of its own", _own(agent.own_settings)),
        *section("Whom its lessons reach", reach),
    ]


def _place(agent: "AgentFacts") -> list[Line]:
    if not agent.declared:
        add = f"{key_of('agents.edit')} gives it a place"
        return [line(("It isn't in the settings · ", "muted"), (add, "muted"))]
    seniority = str(agent.seniority or "").replace("_", " ")
    return [
        _fact("role", one_line(agent.role or "") or "unknown"),
        _fact("department", one_line(agent.department or "") or "unknown"),
        _fact("seniority", seniority),
    ]


def _memory(agent: "AgentFacts", now: datetime) -> list[Line]:
    full = " · full: it can store no more" if agent.is_full else ""
    return [
        _fact("level", str(agent.level)),
        _fact("memories", memories(agent.memories) + full, "warn" if full else "text"),
        _fact("sessions", counted(agent.sessions, "session")),
        _fact("last seen", moment(agent.last_seen, now) if agent.last_seen else "never"),
    ]


def _rights(agent: "AgentFacts") -> Line:
    if agent.paused:
        more = "; then it may only read" if agent.read_only else ""
        return line((f"‖ paused: every call is refused until it goes on{more}", "bad"))
    if agent.read_only:
        return line(("◌ reads only: its writes are refused", "warn"))
    return line(("no restriction", "muted"))


def _own(settings: Sequence[str]) -> list[Line]:
    if not settings:
        return [line(("none: everything is the company's", "muted"))]
    return [line(("• ", "accent"), (one_line(each), "text")) for each in settings]


def _cut(text: str, width: int) -> str:
    text = one_line(text)
    return text if len(text) < width else f"{text[: width - 2]}…"

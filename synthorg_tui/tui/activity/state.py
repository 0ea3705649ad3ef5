"""The state of the Activity pane: agents, calls, and which calls the filter lists.

Plain data and pure functions, tested without a screen: no Textual, and of the engine only types.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from synthorg_tui.memory.retrieval.explanation import Explanation
from synthorg_tui.tui.activity.models import ListedAgent, MutedSubject, NamedMemory
from synthorg_tui.tui.base.filters import Query, parse_row_filter
from synthorg_tui.tui.base.window import Latest

if TYPE_CHECKING:
    from synthorg_tui.agents.models import CallRecord

LIMIT = 300
"""Maximum number of calls in memory; the filter reads older ones from the stored log."""
_OPERATORS = ("agent", "client", "kind", "tool")
_STATES = ("error", "write", "read")
_SUBJECTS = ("command", "file", "query", "content", "task", "name", "memory_id", "reason")


class Activity:
    """The agents and calls of the pane; a call that happens while it is open is put first.

    ``answers`` and ``memories`` cache the explanation and the memories of single calls, by the
    number of the call. Refused calls that one agent made one after the other are one row, the
    newest, unless a filter is set; ``repeats`` holds how many others it stands for.
    """

    def __init__(self) -> None:
        self.agents: tuple[ListedAgent, ...] = ()
        self.loaded: tuple[CallRecord, ...] | None = None
        self.rows: tuple[CallRecord, ...] = ()
        self.repeats: dict[int, int] = {}
        self.filter_text = ""
        self.latest = Latest()
        self.answers: dict[int, Explanation | None] = {}
        self.memories: dict[int, tuple[NamedMemory, ...]] = {}

    @property
    def filter(self) -> Query:
        """The parsed filter text."""
        return parse_row_filter(self.filter_text, *_OPERATORS, states=_STATES)

    @property
    def asked_agent(self) -> str:
        """The one known agent that the filter names, or an empty string.

        The stored log is then read for this agent only.
        """
        named = [value for name, value in self.filter.values if name == "agent"]
        agents = [agent.agent_id for agent in self.agents] + [call.agent_id for call in self.held]
        known = {agent_id.lower(): agent_id for agent_id in agents}
        return known.get(named[0], "") if len(named) == 1 else ""

    @property
    def asked_text(self) -> str:
        """The word to search the stored log for: the longest one of the filter."""
        return max(self.filter.criteria.words, key=len, default="")

    @property
    def held(self) -> tuple[CallRecord, ...]:
        """All calls in memory, including those the filter hides."""
        return self.loaded or ()

    def take(self, generation: int, calls: tuple[CallRecord, ...]) -> bool:
        """Store the calls read for request ``generation``.

        Returns ``False``, and drops them, if a newer request was made meanwhile.
        """
        if not self.latest.answer(generation):
            return False
        newest = calls[0].number if calls else 0
        # What came while the record was being read.
        later = tuple(call for call in self.held if call.number > newest)
        self.loaded = (*later, *calls)[:LIMIT]
        self.memories.clear()
        self.arrange()
        return True

    def add(self, call: CallRecord) -> None:
        """Insert a new call at the top."""
        if self.loaded is None or any(held.number == call.number for held in self.loaded[:9]):
            return
        newest = sorted((call, *self.loaded[:9]), key=lambda held: -held.number)
        self.loaded = (*newest, *self.loaded[9:])[:LIMIT]

    def arrange(self) -> None:
        """Update the listed calls after calls were added or the filter changed."""
        wanted = self.filter
        rows = tuple(call for call in self.held if passes(call, wanted))
        self.rows, self.repeats = (rows, {}) if self.filter_text.strip() else folded(rows)

    def lacks(self, call: CallRecord) -> bool:
        """Return whether the call's explanation or its memories are still to be read."""
        lacks_why = bool(call.explanation) and call.number not in self.answers
        return lacks_why or (call.wrote and call.number not in self.memories)

    def restricted(self, agent_id: str) -> ListedAgent:
        """Return the agent with its restrictions, whether it is connected or not."""
        agents = (agent for agent in self.agents if agent.agent_id == agent_id)
        return replace(next(agents, ListedAgent(agent_id)), number=0)

    def connections(self, agent_id: str) -> tuple[ListedAgent, ...]:
        """Return the agent's connections."""
        return tuple(agent for agent in self.agents if agent.number and agent.agent_id == agent_id)

    @property
    def connected(self) -> int:
        """The number of connections."""
        return sum(bool(agent.number) for agent in self.agents)

    @property
    def caption(self) -> str:
        """The numbers of listed calls and of calls in memory, as the title of the list."""
        listed, held = len(self.rows) + sum(self.repeats.values()), len(self.held)
        if not held:
            return ""
        most = "newest " if held >= LIMIT else ""
        return f"{most}{held:,}" if listed == held else f"{listed:,} of {most}{held:,}"


def folded(calls: Sequence[CallRecord]) -> tuple[tuple[CallRecord, ...], dict[int, int]]:
    """Return the calls with each agent's failed ones in a row as the newest of their kind.

    The second is how many others a call stands for, by its number.
    """
    rows: list[CallRecord] = []
    repeats: dict[int, int] = {}
    for call in calls:
        last = rows[-1] if rows else None
        is_same = last is not None and failure(call) == failure(last) != ""
        if last and is_same and call.agent_id == last.agent_id:
            repeats[last.number] = repeats.get(last.number, 0) + 1
        else:
            rows.append(call)
    return tuple(rows), repeats


def failure(call: CallRecord) -> str:
    """Return how a call came to nothing, in a word; an empty string if it didn't.

    Refused is what a person's pause or read-only did; all else is the agent's own mistake, or ours.
    """
    from synthorg_tui.agents.models import NO_TOOL, ONLY_READS, PAUSED

    if not call.is_error:
        return ""
    said = call.reply.removeprefix("Error: ")
    if said.startswith((PAUSED, ONLY_READS)):
        return "refused"
    return "no tool" if said.startswith(NO_TOOL) else "failed"


def is_deletion(call: CallRecord) -> bool:
    """Return whether the call deleted a memory."""
    from synthorg_tui.agents.tools import DELETE_ENTRY

    return call.wrote and call.name == DELETE_ENTRY


def is_waiting(call: CallRecord) -> bool:
    """Return whether the call asked for a write that waits for a person's approval."""
    from synthorg_tui.agents.tools import REPORT_OUTCOME, WRITING

    if call.name not in WRITING or call.wrote or call.is_error:
        return False
    return call.name != REPORT_OUTCOME or bool(_reported(call).get("waiting"))


def is_empty_report(call: CallRecord) -> bool:
    """Return whether the call reported a run of which no memory came."""
    from synthorg_tui.agents.tools import REPORT_OUTCOME

    is_report = call.name == REPORT_OUTCOME and not (call.wrote or call.is_error)
    return is_report and not is_waiting(call)


def _reported(call: CallRecord) -> dict[str, object]:
    """What the reply to a report counts; it is JSON of ours, and empty when it was cut."""
    try:
        data = json.loads(call.reply)["data"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def own_memories(call: CallRecord, memories: Sequence[NamedMemory]) -> tuple[NamedMemory, ...]:
    """Return those of the memories that belong to the calling agent."""
    return tuple(memory for memory in memories if memory.row.agent_id == call.agent_id)


def can_undo(call: CallRecord, memories: Sequence[NamedMemory]) -> bool:
    """Return whether any of the call's writes can be undone or redone."""
    return call.wrote and any(
        not (memory.is_live and is_deletion(call)) for memory in own_memories(call, memories)
    )


def passes(call: CallRecord, wanted: Query) -> bool:
    """Return whether the filter lists the call; its words are searched in name and arguments."""
    return wanted.has_words(f"{call.name} {call.arguments}".lower()) and all(
        _has(call, name, value) for name, value in wanted.values
    )


def _has(call: CallRecord, name: str, value: str) -> bool:
    if name == "is":
        return {"error": call.is_error, "write": call.wrote, "read": not call.wrote}[value]
    fields: dict[str, str] = {
        "agent": call.agent_id,
        "client": call.client,
        "kind": call.kind,
        "tool": call.name,
    }
    return value in fields[name].lower()


def arguments_of(call: CallRecord) -> dict[str, object] | None:
    """Return the call's arguments; ``None`` when they were truncated or are no JSON object."""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None


def subject(call: CallRecord) -> str:
    """Return the subject of the call in the agent's words, such as its query or task."""
    arguments = arguments_of(call)
    if arguments is None:
        return call.arguments
    value = next((arguments[key] for key in _SUBJECTS if arguments.get(key)), "")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def skill_of(call: CallRecord) -> str:
    """Return the name of the skill that the call read, or an empty string."""
    name = (arguments_of(call) or {}).get("name")
    return name if "skill" in call.name and isinstance(name, str) else ""


def why_hinted(call: CallRecord) -> dict[str, str]:
    """Return why the call got a hint, as it was recorded; empty when it got none."""
    if not call.explanation or call.kind == "digest":
        return {}
    try:
        why = json.loads(call.explanation)
    except (ValueError, RecursionError):
        return {}
    known = isinstance(why, dict) and isinstance(why.get("reason"), str)
    return {name: str(value) for name, value in why.items()} if known else {}


def muted_subjects(
    call: CallRecord, silenced: Sequence[tuple[str, str]]
) -> tuple[MutedSubject, ...]:
    """Return what can be silenced of the call's hint, and then whatever else is silent."""
    why = why_hinted(call)
    named = [
        ("command", why.get("command", ""), why.get("command", "")),
        ("lesson", why.get("path", ""), why.get("lesson", "")),
        ("project", (call.project or "") if why else "", call.project or ""),
    ]
    own = [
        MutedSubject(kind, subject, shown, (kind, subject) in silenced)
        for kind, subject, shown in named
        if subject
    ]
    keys = {(each.kind, each.subject) for each in own}
    others = [
        MutedSubject(kind, subject, subject, is_silent=True)
        for kind, subject in silenced
        if (kind, subject) not in keys
    ]
    return (*own, *others)

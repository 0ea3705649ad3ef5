"""The state of the Activity pane: who is there, the calls, and which of them are listed.

Plain data and pure functions, tested without a screen: no Textual, and of the engine only types.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from synthorg_tui.memory.retrieval.explanation import Explanation
from synthorg_tui.tui.activity.models import ListedAgent, NamedMemory
from synthorg_tui.tui.base.filters import Query, parse_row_filter
from synthorg_tui.tui.base.window import Latest

if TYPE_CHECKING:
    from synthorg_tui.agents.models import CallRecord

LIMIT = 300
"""Most calls that are held; the filter asks the record for older ones."""
_OPERATORS = ("agent", "client", "kind", "tool")
_STATES = ("error", "write", "read")
_SUBJECTS = ("query", "content", "task", "name", "memory_id", "reason")


class Activity:
    """Agents and calls; calls that come while the pane is open are put on top.

    ``answers`` and ``memories`` hold what was read of single calls, by their numbers.
    """

    def __init__(self) -> None:
        self.agents: tuple[ListedAgent, ...] = ()
        self.loaded: tuple[CallRecord, ...] | None = None
        self.rows: tuple[CallRecord, ...] = ()
        self.filter_text = ""
        self.latest = Latest()
        self.answers: dict[int, Explanation | None] = {}
        self.memories: dict[int, tuple[NamedMemory, ...]] = {}

    @property
    def filter(self) -> Query:
        """The filter, read."""
        return parse_row_filter(self.filter_text, *_OPERATORS, states=_STATES)

    @property
    def asked_agent(self) -> str:
        """The agent to ask the record for, when the filter names exactly one that is known."""
        named = [value for name, value in self.filter.values if name == "agent"]
        agents = [agent.agent_id for agent in self.agents] + [call.agent_id for call in self.held]
        known = {agent_id.lower(): agent_id for agent_id in agents}
        return known.get(named[0], "") if len(named) == 1 else ""

    @property
    def asked_text(self) -> str:
        """The word to ask the record for: the longest one says most."""
        return max(self.filter.criteria.words, key=len, default="")

    @property
    def held(self) -> tuple[CallRecord, ...]:
        """The calls that came, listed or not."""
        return self.loaded or ()

    def take(self, generation: int, calls: tuple[CallRecord, ...]) -> bool:
        """Take an answer; ``False`` when a newer question was asked meanwhile."""
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
        """Put a call on top that has just come."""
        if self.loaded is None or any(held.number == call.number for held in self.loaded[:9]):
            return
        newest = sorted((call, *self.loaded[:9]), key=lambda held: -held.number)
        self.loaded = (*newest, *self.loaded[9:])[:LIMIT]

    def arrange(self) -> None:
        """List again after calls came or the filter changed."""
        wanted = self.filter
        self.rows = tuple(call for call in self.held if passes(call, wanted))

    def lacks(self, call: CallRecord) -> bool:
        """Whether something of a call is to be read yet: why, or what became of what it wrote."""
        lacks_why = bool(call.explanation) and call.number not in self.answers
        return lacks_why or (call.wrote and call.number not in self.memories)

    def restricted(self, agent_id: str) -> ListedAgent:
        """What a person took from an agent, connected or not."""
        agents = (agent for agent in self.agents if agent.agent_id == agent_id)
        return replace(next(agents, ListedAgent(agent_id)), number=0)

    def connections(self, agent_id: str) -> tuple[ListedAgent, ...]:
        """The connections of an agent."""
        return tuple(agent for agent in self.agents if agent.number and agent.agent_id == agent_id)

    @property
    def connected(self) -> int:
        """How many connections there are."""
        return sum(bool(agent.number) for agent in self.agents)

    @property
    def caption(self) -> str:
        """Honest totals, for the frame of the list."""
        listed, held = len(self.rows), len(self.held)
        if not held:
            return ""
        most = "newest " if held >= LIMIT else ""
        return f"{most}{held:,}" if listed == held else f"{listed:,} of {most}{held:,}"


def is_deletion(call: CallRecord) -> bool:
    """Whether a call deleted a memory."""
    from synthorg_tui.agents.tools import DELETE_ENTRY

    return call.wrote and call.name == DELETE_ENTRY


def is_waiting(call: CallRecord) -> bool:
    """Whether a call asked for a write that waits for a person: nothing was done yet."""
    from synthorg_tui.agents.tools import WRITING

    return call.name in WRITING and not (call.wrote or call.is_error)


def own_memories(call: CallRecord, memories: Sequence[NamedMemory]) -> tuple[NamedMemory, ...]:
    """Those of the memories that belong to the agent that called."""
    return tuple(memory for memory in memories if memory.row.agent_id == call.agent_id)


def can_undo(call: CallRecord, memories: Sequence[NamedMemory]) -> bool:
    """Whether anything of a write can be taken back or brought back."""
    return call.wrote and any(
        not (memory.is_live and is_deletion(call)) for memory in own_memories(call, memories)
    )


def passes(call: CallRecord, wanted: Query) -> bool:
    """Whether a filter lists a call: its words are looked for in the name and the arguments."""
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
    """The arguments; ``None`` when they were cut, or are no object."""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None


def subject(call: CallRecord) -> str:
    """What the call was about, in the agent's words."""
    arguments = arguments_of(call)
    if arguments is None:
        return call.arguments
    value = next((arguments[key] for key in _SUBJECTS if arguments.get(key)), "")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def skill_of(call: CallRecord) -> str:
    """The name of the skill that a call read, or nothing."""
    name = (arguments_of(call) or {}).get("name")
    return name if "skill" in call.name and isinstance(name, str) else ""

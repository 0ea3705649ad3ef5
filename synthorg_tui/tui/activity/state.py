"""The state of the Activity pane: who is there, the calls, and which of them are listed."""

import json
from dataclasses import replace

from synthorg_tui.tui.activity.ports import Call, Seat
from synthorg_tui.tui.approvals.state import InboxFilter, read_filter

LIMIT = 300
"""Most calls that are held; the filter asks the record for older ones."""
OPERATORS = ("agent:", "client:", "kind:", "tool:", "is:")
STATES = ("error", "write", "read")
_SUBJECTS = ("query", "content", "task", "name", "memory_id", "reason")


class Activity:
    """Seats and calls; calls that come while the pane is open are put on top."""

    def __init__(self) -> None:
        self.seats: tuple[Seat, ...] = ()
        self.loaded: tuple[Call, ...] | None = None
        self.rows: tuple[Call, ...] = ()
        self.filter_text = ""
        self.generation = 0

    @property
    def sifter(self) -> InboxFilter:
        """The filter, read."""
        return read_filter(self.filter_text, OPERATORS, STATES)

    @property
    def asked_agent(self) -> str:
        """The agent to ask the record for, when the filter names exactly one that is known."""
        named = [value for name, value in self.sifter.operators if name == "agent"]
        there = (*(each.agent_id for each in self.seats), *(each.agent_id for each in self.held))
        known = {each.lower(): each for each in there}
        return known.get(named[0], "") if len(named) == 1 else ""

    @property
    def asked_text(self) -> str:
        """The word to ask the record for: the longest one says most."""
        return max(self.sifter.words, key=len, default="")

    @property
    def held(self) -> tuple[Call, ...]:
        """The calls that came, listed or not."""
        return self.loaded or ()

    def ask(self) -> int:
        """A new question: answers to older ones no longer count."""
        self.generation += 1
        return self.generation

    def take(self, generation: int, calls: tuple[Call, ...]) -> bool:
        """Take an answer; ``False`` when a newer question was asked meanwhile."""
        if generation != self.generation:
            return False
        newest = calls[0].number if calls else 0
        # What came while the record was being read.
        later = tuple(each for each in self.held if each.number > newest)
        self.loaded = (*later, *calls)[:LIMIT]
        self.arrange()
        return True

    def add(self, call: Call) -> None:
        """A call that has just come."""
        if self.loaded is not None and all(each.number != call.number for each in self.loaded[:9]):
            found = sorted((call, *self.loaded[:9]), key=lambda each: -each.number)
            self.loaded = (*found, *self.loaded[9:])[:LIMIT]

    def arrange(self) -> None:
        """List again after calls came or the filter changed."""
        sifter = self.sifter
        self.rows = tuple(each for each in self.held if passes(each, sifter))

    def restricted(self, agent_id: str) -> Seat:
        """What a person took from an agent, connected or not."""
        found = next((each for each in self.seats if each.agent_id == agent_id), Seat(agent_id))
        return replace(found, number=0)

    def connections(self, agent_id: str) -> tuple[Seat, ...]:
        """The connections of an agent."""
        return tuple(each for each in self.seats if each.number and each.agent_id == agent_id)

    @property
    def caption(self) -> str:
        """Honest totals, for the frame of the list."""
        listed, held = len(self.rows), len(self.held)
        if not held:
            return ""
        most = "newest " if held >= LIMIT else ""
        return f"{most}{held:,}" if listed == held else f"{listed:,} of {most}{held:,}"


def passes(call: Call, sifter: InboxFilter) -> bool:
    """Whether a filter lists a call: its words are looked for in the name and the arguments."""
    said = f"{call.name} {call.arguments}".lower()
    return (
        all(word in said for word in sifter.words)
        and not any(word in said for word in sifter.without)
        and all(_has(call, name, value) for name, value in sifter.operators)
    )


def _has(call: Call, name: str, value: str) -> bool:
    if name == "is":
        return {"error": call.is_error, "write": call.wrote, "read": not call.wrote}[value]
    told = {"agent": call.agent_id, "client": call.client, "kind": call.kind, "tool": call.name}
    return value in told[name].lower()


def arguments_of(call: Call) -> dict[str, object] | None:
    """The arguments; ``None`` when they were cut, or are no object."""
    try:
        found = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def subject(call: Call) -> str:
    """What the call was about, in the agent's words."""
    arguments = arguments_of(call)
    if arguments is None:
        return call.arguments
    said = next((arguments[key] for key in _SUBJECTS if arguments.get(key)), "")
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)

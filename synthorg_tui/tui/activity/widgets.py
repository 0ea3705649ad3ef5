"""The widgets of the Activity pane: agents, calls, and one call in full."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical

from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.activity.lines import (
    agent_lines,
    call_detail,
    call_line,
    call_lines,
    why_lines,
)
from synthorg_tui.tui.activity.models import ListedAgent
from synthorg_tui.tui.activity.state import Activity
from synthorg_tui.tui.base.lines import Line
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineView
from synthorg_tui.tui.widgets.rows import FixedList

if TYPE_CHECKING:
    from synthorg_tui.agents.models import CallRecord
    from synthorg_tui.memory.retrieval.explanation import Explanation


class CallList(LineList):
    """A list of calls, newest first.

    When calls are added, a cursor on the newest one moves to the new newest; any other stays on its
    call.
    """

    def __init__(
        self, activity: Activity, *, now: Callable[[], datetime], id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._activity = activity
        self._now = now
        self._rows: tuple[CallRecord, ...] = ()

    def show(self, *, roomy: bool) -> None:
        """Show the calls that the state lists now; ``roomy`` gives each call two lines."""
        height = 2 if roomy else 1
        follow = self.call.number if self.call and self.cursor else None
        shown, first = self.is_cursor_in_view, self.visible_rows[0]
        top, is_same = self._at(first), height == self.row_height
        self.row_height = height
        self._rows = self._activity.rows
        self.changed()
        if (at := self._index(follow)) is not None:
            self.cursor = at
        if is_same and top is not None and (now := self._index(top.number)) is not None:
            self.shift(now - first)
        if shown:
            self.reveal()

    @property
    def row_count(self) -> int:
        """The number of listed calls."""
        return len(self._rows)

    @property
    def call(self) -> "CallRecord | None":
        """The call under the cursor, or ``None``."""
        return self._at(self.cursor)

    @property
    def newer(self) -> int:
        """The number of calls above the visible part."""
        return self.visible_rows[0] if self._rows else 0

    def row_lines(self, index: int, width: int) -> list[Line]:
        """Return the lines of a call."""
        call = self._rows[index]
        times = self._activity.repeats.get(call.number, 0) + 1
        if self.row_height == 1:
            return [call_line(call, width - 1, self._now(), times=times)]
        return call_lines(call, width - 1, self._now(), times=times)

    def _at(self, index: int) -> "CallRecord | None":
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def _index(self, number: int | None) -> int | None:
        return next((at for at, call in enumerate(self._rows) if call.number == number), None)


class AgentList(FixedList):
    """The list of agents; the cursor stays on its connection when others come or leave."""

    def show_agents(self, activity: Activity, *, now: Callable[[], datetime], most: int) -> None:
        """Show the agents in at most ``most`` lines; ``now`` is the clock for their ages."""
        before = self.value
        self.show(lambda width: agent_lines(activity, width, now()))
        self.styles.height = min(max(self.row_count, 1), most) + 2
        places = [at for at in range(self.row_count) if _is_same(self.value_at(at), before)]
        self.move_to(places[0] if places else self.cursor)
        self.set_titles(bottom=f"{activity.connected:,} connected" if activity.connected else "")


def _is_same(value: object, other: object) -> bool:
    """Whether two values of the list of agents are the same connection."""
    if not isinstance(value, ListedAgent) or not isinstance(other, ListedAgent):
        return False
    return (value.agent_id, value.number) == (other.agent_id, other.number)


class WhyView(LineView):
    """Why each memory was in a digest or not, drawn for the width that the text has."""

    answer: "Explanation | None" = None

    def explain(self, answer: "Explanation | None", *, top: bool) -> None:
        """Show the reasons of a digest; nothing for ``None``."""
        self.answer = answer
        width = max(self.content_size.width - self.scrollbar_size_vertical, 20)
        self.show(why_lines(answer, width) if answer is not None else [], top=top)

    def on_resize(self) -> None:
        self.explain(self.answer, top=False)


class CallDetail(Vertical):
    """A call in full above its digest's explanation; with little room, only one of the two."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown = 0

    def compose(self) -> ComposeResult:
        call = LineView(id="call")
        call.border_title = "Call"
        yield call
        why = WhyView(id="why")
        why.border_title = "Why"
        yield why

    @property
    def shown(self) -> LineView:
        """The visible text; the call if both are visible."""
        call = self.query_one("#call", LineView)
        return call if call.display else self.query_one("#why", LineView)

    def show(
        self,
        call: "CallRecord | None",
        activity: Activity,
        *,
        now: datetime,
        has_room: bool,
        wants_why: bool,
    ) -> None:
        """Show what is known of the call; its explanation if asked for or if there is room."""
        number = call.number if call else 0
        text, why = self.query_one("#call", LineView), self.query_one(WhyView)
        answer, named = activity.answers.get(number), activity.memories.get(number)
        why.display = answer is not None and (wants_why or has_room)
        text.display = has_room or not why.display
        is_new, self._shown = self._shown != number, number
        text.show(call_detail(call, named, now) if call else [], top=is_new)
        says_why = f"{key_of('activity.view')} says why"
        text.set_titles(bottom=says_why if answer is not None and not has_room else "")
        why.explain(answer, top=is_new)

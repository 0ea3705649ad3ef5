"""Headings over the rows of a listing: by day and session, or by what the rows are sorted by.

Only the loaded rows have headings, so a page that is loaded can move the lines of those after it.
Nothing here knows widgets.
"""

from datetime import datetime

from synthorg_tui.memory.listing import SHARED_OWNER, ListedMemory, SortOrder, owner_words
from synthorg_tui.tui.base.formatting import ago
from synthorg_tui.tui.base.headings import Headings, RowHeading, day_heading
from synthorg_tui.tui.base.window import RowWindow

_NO_SESSION = "outside sessions"


def headings_of(window: RowWindow, order: SortOrder, *, now: datetime) -> Headings:
    """Return the headings of the loaded rows, which are in this order.

    A heading that would read as the one above it is left out: sessions of one minute and place.
    Memories of no session or project stand first under their day, or under a heading of their own.
    """
    found: list[tuple[int, tuple[RowHeading, ...]]] = []
    before: tuple[RowHeading, ...] = ()
    shown: tuple[RowHeading, ...] = ()
    for at, row in enumerate(window.rows, start=window.offset):
        levels = _levels(row, order, now)
        same = 0
        while same < len(before) and before[same].key == levels[same].key:
            same += 1
        new = tuple(level for level in levels[same:] if same or level.text != _NO_SESSION)
        if new and not (same and _reads_as(new, shown)):
            found.append((at, new))
            shown = new
        before = levels
    return Headings(found)


def _reads_as(new: tuple[RowHeading, ...], shown: tuple[RowHeading, ...]) -> bool:
    """Whether headings say what the last ones shown above them say."""
    last = shown[len(shown) - len(new) :]
    return [(each.text, each.aside) for each in new] == [(each.text, each.aside) for each in last]


def _levels(row: ListedMemory, order: SortOrder, now: datetime) -> tuple[RowHeading, ...]:
    if order == "agent":
        return (RowHeading(row.agent_id, owner_words(row.agent_id), "title"),)
    if order == "category":
        return (RowHeading(row.category, row.category.value, "title"),)
    if order == "confidence":
        shown = f"{row.confidence:.2f}"
        return (RowHeading(shown, f"confidence {shown}", "title"),)
    local = row.created_at.astimezone(now.tzinfo)
    day = day_heading(local.date(), now, aside=ago(row.created_at, now))
    names_agent = row.session_id is not None or row.agent_id == SHARED_OWNER
    agent = owner_words(row.agent_id) if names_agent else ""
    place = " · ".join(filter(None, (row.project_name, agent))) or _NO_SESSION
    key = (row.session_id, row.project, agent)
    session = RowHeading(key, place, "muted", f"{local:%H:%M}", indent=" ")
    return day, session


def agent_and_age(
    row: ListedMemory, before: ListedMemory | None, order: SortOrder | None, now: datetime
) -> tuple[bool, bool]:
    """Return whether a row has to show its agent and its age: only where they change.

    In orders by time the headings say both, but not the agents of what was written outside
    sessions. Without an order there are no headings.
    """
    if order is None:
        return True, True
    if order in ("newest", "oldest"):
        return _agent_of(row) not in ("", _agent_of(before)), False
    agent = order != "agent" and (before is None or before.agent_id != row.agent_id)
    age = before is None or ago(before.created_at, now) != ago(row.created_at, now)
    return agent, age


def _agent_of(row: ListedMemory | None) -> str:
    """Whose memory the row is, if it says so itself."""
    says_so = row is not None and row.session_id is None and row.agent_id != SHARED_OWNER
    return row.agent_id if row is not None and says_so else ""

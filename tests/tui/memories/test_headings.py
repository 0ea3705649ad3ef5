"""Headings over the rows of the Memories pane, and what rows leave to them."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.listing import SHARED_OWNER, ListedMemory, SortOrder
from synthorg_tui.tui.base.headings import Headings, RowHeading
from synthorg_tui.tui.base.window import RowWindow
from synthorg_tui.tui.memories.headings import agent_and_age, headings_of
from tests.tui.tui_fakes import NOW


def row(session: str | None, hours: float, agent: str = "codex", **fields: object) -> ListedMemory:
    made = ListedMemory(
        f"{session}-{hours}",
        agent,
        MemoryCategory.EPISODIC,
        "text",
        NOW - timedelta(hours=hours),
        project="/home/ada/shop" if session else None,
        session_id=session,
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def texts(*rows: ListedMemory, order: SortOrder = "newest") -> list[list[str]]:
    headings = headings_of(RowWindow(rows, 0, len(rows)), order, now=NOW)
    return [[each.text for each in headings.over(at)] for at in range(len(rows))]


def test_headings_tell_day_and_session_where_they_change() -> None:
    rows = row("a", 1), row("a", 2), row("b", 3), row("b", 24), row("b", 24 * 30), row("b", 9999)
    assert texts(*rows) == [
        ["Today", "shop · codex"],
        [],
        ["shop · codex"],
        ["Yesterday", "shop · codex"],
        ["Thursday 12 February", "shop · codex"],
        ["Wednesday 22 January 2025", "shop · codex"],
    ]


def test_sessions_of_one_place_and_minute_have_one_heading() -> None:
    minute = 1 / 60
    rows = row("a", 1), row("b", 1), row("c", 1, "reviewer"), row("d", 1), row("e", 1 + minute)
    shop = ["shop · codex"]
    assert texts(*rows) == [["Today", *shop], [], ["shop · reviewer"], shop, shop]
    nothing_else_between = row(None, 1), row("a", 1), row(None, 1), row("a", 1)
    assert texts(*nothing_else_between) == [["Today"], shop, ["outside sessions"], shop]


def test_what_is_of_no_session_stands_under_its_day_or_under_a_heading_of_its_own() -> None:
    rows = row(None, 1), row(None, 2, "reviewer"), row("a", 3), row(None, 4)
    assert texts(*rows) == [["Today"], [], ["shop · codex"], ["outside sessions"]]


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("agent", [["codex"], [], ["reviewer"]]),
        ("category", [["episodic"], [], []]),
        ("confidence", [["confidence 1.00"], [], ["confidence 0.50"]]),
    ],
)
def test_other_orders_have_headings_of_what_they_sort_by(
    order: SortOrder, told: list[list[str]]
) -> None:
    rows = row("a", 1), row("b", 2), row("c", 3, "reviewer", confidence=0.5)
    assert texts(*rows, order=order) == told


@pytest.mark.parametrize(
    ("order", "before", "shown"),
    [
        (None, row("a", 50), (True, True)),
        ("newest", None, (False, False)),
        ("agent", None, (False, True)),
        ("agent", row("a", 50), (False, False)),
        ("category", row("a", 50), (False, False)),
        ("category", row("a", 1, "reviewer"), (True, True)),
    ],
)
def test_agent_and_age_are_shown_only_where_they_change(
    order: SortOrder | None, before: ListedMemory | None, shown: tuple[bool, bool]
) -> None:
    assert agent_and_age(row("a", 51), before, order, NOW) == shown


@pytest.mark.parametrize(
    ("before", "agent"),
    [(None, True), (row(None, 1), False), (row(None, 1, "reviewer"), True), (row("a", 1), True)],
)
def test_outside_sessions_the_row_tells_its_agent(before: ListedMemory | None, agent: bool) -> None:
    assert agent_and_age(row(None, 2), before, "newest", NOW) == (agent, False)


OVER = st.dictionaries(st.integers(0, 60), st.integers(1, 2))


@given(OVER, st.integers(1, 2))
def test_every_line_belongs_to_one_place_and_every_row_has_its_lines(
    over: dict[int, int], height: int
) -> None:
    heading = RowHeading("k", "text", "title")
    headings = Headings([(at, (heading,) * over[at]) for at in sorted(over)])
    at = 0
    for index in range(70):
        assert headings.top_of(index, height) == at
        for part in range(-over.get(index, 0), height):
            assert headings.place_of(at, height) == (index, part)
            at += 1


@given(st.text(max_size=40), st.integers(1, 90))
def test_a_heading_has_exactly_the_width(text: str, width: int) -> None:
    assert RowHeading("k", text, "title", "40w").line(width).width == width


def test_what_is_known_of_a_project_stands_under_it_and_all_agents() -> None:
    known = row(None, 1, SHARED_OWNER, project="/home/ada/shop")
    person = row(None, 2, SHARED_OWNER)
    rows = row("a", 0.5), known, replace(known, id="other"), person
    assert texts(*rows) == [
        ["Today", "shop · codex"],
        ["shop · all agents"],
        [],
        ["all agents"],
    ]
    assert agent_and_age(known, row("a", 0.5), "newest", NOW) == (False, False)
    assert texts(known, order="agent") == [["all agents"]]

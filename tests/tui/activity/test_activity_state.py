"""The log of calls without a screen: what is held, listed, and said of a call."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.agents.models import CallKind, CallRecord
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.activity.lines import (
    agent_line,
    call_detail,
    call_line,
    call_lines,
    call_mark,
    paused_line,
    read_only_line,
)
from synthorg_tui.tui.activity.models import ListedAgent, NamedMemory
from synthorg_tui.tui.activity.state import (
    LIMIT,
    Activity,
    can_undo,
    folded,
    passes,
    skill_of,
    subject,
)
from synthorg_tui.tui.base.lines import plain
from tests.tui.activity.activity_fakes import AGENTS, call_of, calls
from tests.tui.approvals.approvals_fakes import NOW


def log_of(made: list[CallRecord]) -> Activity:
    activity = Activity()
    assert activity.take(activity.latest.ask(), tuple(made))
    return activity


@pytest.mark.parametrize(("count", "held"), [(LIMIT - 1, LIMIT), (LIMIT, LIMIT)])
def test_no_more_than_the_limit_is_held_the_oldest_go(count: int, held: int) -> None:
    activity = log_of(calls(count))
    activity.add(call_of(count + 1))
    activity.arrange()
    assert len(activity.rows) == held
    assert activity.rows[0].number == count + 1


def test_calls_that_come_out_of_order_or_twice_are_listed_once_by_number() -> None:
    activity = log_of(calls(3))
    for number in (5, 4, 5):
        activity.add(call_of(number))
    assert [each.number for each in activity.held] == [5, 4, 3, 2, 1]


def test_what_came_while_the_record_was_read_stays() -> None:
    activity = log_of(calls(3))
    generation = activity.latest.ask()
    activity.add(call_of(4))
    assert activity.take(generation, tuple(calls(3)))
    assert [each.number for each in activity.held] == [4, 3, 2, 1]


def test_an_answer_to_an_older_question_is_dropped() -> None:
    activity = Activity()
    older, newer = activity.latest.ask(), activity.latest.ask()
    assert not activity.take(older, tuple(calls(3)))
    assert activity.take(newer, tuple(calls(2)))
    assert activity.caption == "2"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", [6, 5, 4, 3, 2, 1]),
        ("agent:codex", [5, 3, 1]),
        ("agent:cod flaky", [1]),
        ("is:write", [5, 2]),
        ("is:error", [4]),
        ("is:read kind:tool", [4, 1]),
        ("kind:digest", [6]),
        ("tool:recall", [4]),
        ("client:codex -flaky is:read", [3]),
        ("-memory", [6, 3]),
        ("zebra", []),
    ],
)
def test_the_filter_lists(text: str, numbers: list[int]) -> None:
    activity = log_of(calls(6))
    activity.filter_text = text
    activity.arrange()
    assert [each.number for each in activity.rows] == numbers


def test_a_filter_that_makes_no_sense_is_told() -> None:
    activity = Activity()
    activity.filter_text = "is:odd"
    assert "is: takes one of error, write, read" in activity.filter.problems[0]


@pytest.mark.parametrize(
    ("text", "agent", "word"),
    [
        ("agent:codex push", "codex", "push"),
        ("agent:cod push upstream", "", "upstream"),
        ("agent:codex agent:claude-code", "", ""),
        ("-push", "", ""),
    ],
)
def test_the_record_is_asked_for_what_it_can_tell(text: str, agent: str, word: str) -> None:
    activity = log_of(calls(6))
    activity.filter_text = text
    assert (activity.asked_agent, activity.asked_text) == (agent, word)


def test_connections_of_an_agent_and_what_was_taken_from_it() -> None:
    activity = Activity()
    activity.agents = (*AGENTS, replace(AGENTS[0], number=9))
    assert [each.number for each in activity.connections("claude-code")] == [1, 9]
    assert activity.restricted("reviewer").paused
    assert activity.restricted("nobody") == ListedAgent("nobody")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"query": "push", "limit": 3}', "push"),
        ('{"content": "Use -u."}', "Use -u."),
        ('{"query": "cut off', '{"query": "cut off'),
        ("[1]", "[1]"),
        ("{}", ""),
    ],
)
def test_a_call_is_summed_up_in_the_agents_words(arguments: str, said: str) -> None:
    assert subject(call_of(1)._replace(arguments=arguments)) == said


@pytest.mark.parametrize(
    ("name", "wrote", "is_error", "word"),
    [
        ("archival_memory_write", True, False, "wrote"),
        ("archival_memory_write", False, False, "waits"),
        ("archival_memory_write", False, True, "failed"),
        ("synthorg_memory_delete_entry", True, False, "deleted"),
        ("synthorg_memory_delete_entry", False, False, "waits"),
        ("search_memory", False, False, "read"),
    ],
)
def test_a_call_says_what_came_of_it(name: str, wrote: bool, is_error: bool, word: str) -> None:
    call = call_of(1)._replace(name=name, wrote=wrote, is_error=is_error, kind=CallKind.TOOL)
    assert call_mark(call)[1] == word


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ("Error: a person paused this agent", "refused"),
        ("Error: this agent may only read", "refused"),
        ("Error: there is no tool 'remember'", "no tool"),
        ("Error: Memory not found: mem-99999", "failed"),
        ('{"status": "error", "message": "a person paused this agent"}', "failed"),
    ],
)
def test_refused_is_what_a_person_refused_and_nothing_else(reply: str, word: str) -> None:
    call = call_of(1)._replace(is_error=True, reply=reply, kind=CallKind.TOOL)
    assert call_mark(call)[1] == word


@pytest.mark.parametrize(("waiting", "word"), [([], "report"), (["item-1"], "waits")])
def test_a_report_that_stored_nothing_is_no_write(waiting: list[str], word: str) -> None:
    reply = json.dumps({"status": "ok", "data": {"memories_added": 0, "waiting": waiting}})
    call = call_of(1)._replace(name="report_outcome", wrote=False, is_error=False, reply=reply)
    assert call_mark(call._replace(memory_ids=()))[1] == word


def test_only_a_call_for_a_skill_names_one() -> None:
    assert skill_of(call_of(3)) == "set-upstream-first-push"
    assert skill_of(call_of(3)._replace(arguments="[1]")) == ""
    assert skill_of(call_of(1)._replace(arguments='{"name": "x"}')) == ""


def test_what_restricting_an_agent_did_is_said_with_the_way_back() -> None:
    ada = ListedAgent("ada")
    assert "P lets it go on" in paused_line(ada)
    assert paused_line(replace(ada, paused=True)) == "ada goes on"
    assert "W lets it write again" in read_only_line(ada)
    assert read_only_line(replace(ada, read_only=True)) == "ada may write again"


def kept(agent_id: str, *, is_live: bool) -> NamedMemory:
    row = ListedMemory("mem-1", agent_id, MemoryCategory.SEMANTIC, "x", NOW)
    return NamedMemory(row, is_live)


@pytest.mark.parametrize(
    ("number", "agent_id", "is_live", "can"),
    [
        (2, "claude-code", True, True),
        (2, "claude-code", False, True),
        (2, "codex", True, False),
        (5, "codex", False, True),
        (5, "codex", True, False),
        (1, "codex", True, False),
    ],
)
def test_only_what_the_agent_itself_wrote_can_be_taken_back(
    number: int, agent_id: str, is_live: bool, can: bool
) -> None:
    assert can_undo(call_of(number), (kept(agent_id, is_live=is_live),)) is can


def test_the_detail_holds_exactly_what_was_read_and_its_size() -> None:
    call = call_of(1)._replace(reply="täxt\nof two lines")
    shown = plain(call_detail(call, None, NOW))
    assert "täxt\nof two lines" in shown
    assert "18 bytes" in shown


@given(st.text(), st.integers(20, 130), st.integers(0, 5))
def test_lines_of_any_call_fit_the_width(text: str, width: int, number: int) -> None:
    call = call_of(number)._replace(agent_id=text, name=text, client=text, reply=text)
    call = call._replace(arguments=json.dumps({text: text, "query": text}))
    shown = [call_line(call, width, NOW), *call_lines(call, width, NOW)]
    assert all(each.width <= width for each in shown)
    assert (
        agent_line(ListedAgent(text, 1, text, text, NOW, 3, True, True), width, NOW).width <= width
    )
    assert passes(call, log_of([call]).filter)
    assert call_detail(call, (kept(text, is_live=True),), NOW)


def refused(number: int, agent_id: str = "ada") -> CallRecord:
    return call_of(number)._replace(agent_id=agent_id, is_error=True, wrote=False)


def test_an_agents_refused_calls_in_a_row_are_one_line() -> None:
    activity = log_of([call_of(6)] + [refused(n) for n in (5, 4, 3)] + [call_of(2), refused(1)])
    assert [call.number for call in activity.rows] == [6, 5, 2, 1]
    assert activity.repeats == {5: 2}
    assert activity.caption == "6"
    (wide,) = [call_line(activity.rows[1], 120, NOW, times=3)]
    narrow = call_lines(activity.rows[1], 60, NOW, times=3)
    assert " 3×" in wide.plain
    assert " 3×" in narrow[0].plain
    assert "×" not in call_line(activity.rows[3], 120, NOW).plain


def test_with_a_filter_each_refused_call_is_listed() -> None:
    activity = log_of([refused(n) for n in (3, 2, 1)])
    activity.filter_text = "is:error"
    activity.arrange()
    assert [call.number for call in activity.rows] == [3, 2, 1]
    assert activity.repeats == {}


def test_refused_calls_of_different_agents_stay_apart() -> None:
    rows, repeats = folded([refused(3), refused(2, "bob"), refused(1)])
    assert len(rows) == 3
    assert repeats == {}

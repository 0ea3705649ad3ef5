"""The state of the Organisation pane: the slider over time, the filter, and what is loaded."""

from datetime import datetime, timedelta

import pytest

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.organisation.models import EntryCriteria, OrgOrigin
from synthorg_tui.tui.base.lines import plain
from synthorg_tui.tui.organisation.detail import (
    AboutEntry,
    change_lines,
    entry_lines,
    refused_lines,
)
from synthorg_tui.tui.organisation.lines import entry_line, time_line
from synthorg_tui.tui.organisation.state import DAY, Entries
from tests.tui.organisation.organisation_fakes import (
    ADR,
    NOW,
    POLICY,
    FakeOrganisation,
    entry,
    knowledge,
)

MOMENTS = tuple(NOW - timedelta(days=days) for days in (30, 20, 19, 2))


def entries(*, at: datetime | None = None, moments: tuple[datetime, ...] = MOMENTS) -> Entries:
    state = Entries(lambda: NOW)
    state.moments, state.at = moments, at
    return state


def test_steps_go_back_from_change_to_change_and_stop_at_the_first() -> None:
    state = entries()
    seen = []
    while state.step(-1):
        seen.append(state.at)
    assert seen == [MOMENTS[2], MOMENTS[1], MOMENTS[0]]
    assert state.at == MOMENTS[0]


def test_steps_go_on_to_now_which_is_the_last_change() -> None:
    state = entries(at=MOMENTS[0])
    seen = []
    while state.step(1):
        seen.append(state.at)
    assert seen == [MOMENTS[1], MOMENTS[2], None]


def test_a_step_from_between_two_changes_goes_to_the_nearest_in_its_direction() -> None:
    between = MOMENTS[1] + timedelta(hours=5)
    state = entries(at=between)
    assert state.step(-1)
    assert state.at == MOMENTS[1]
    state = entries(at=between)
    assert state.step(1)
    assert state.at == MOMENTS[2]


def test_a_day_goes_by_the_calendar_whether_something_changed_or_not() -> None:
    state = entries()
    assert state.shift(-DAY)
    assert state.at == NOW - DAY
    assert state.shift(-7 * DAY)
    assert state.at == NOW - 8 * DAY
    assert state.shift(7 * DAY)
    assert state.shift(DAY)
    assert state.at is None


def test_no_time_before_the_first_change_or_after_now_is_shown() -> None:
    state = entries(at=MOMENTS[0] + timedelta(hours=1))
    assert state.shift(-7 * DAY)
    assert state.at == MOMENTS[0]
    assert not state.shift(-DAY)
    state = entries()
    assert not state.shift(DAY)
    assert state.at is None


def test_the_slider_has_a_beginning_an_end_and_all_between() -> None:
    state = entries()
    assert state.go_to_share(0.0)
    assert state.at == MOMENTS[0]
    assert state.go_to_share(0.5)
    assert state.at == MOMENTS[2]
    assert state.go_to_share(1.0)
    assert state.at is None


def test_without_a_change_there_is_no_past() -> None:
    state = entries(moments=())
    assert not any((state.step(-1), state.step(1), state.shift(-DAY), state.go_to_share(0.0)))
    assert "nothing was changed yet" in time_line(state, 80, now=NOW, focused=False).plain


@pytest.mark.parametrize("width", [80, 120])
def test_the_bar_says_the_moment_and_how_many_changes_there_were(width: int) -> None:
    state = entries(at=MOMENTS[1])
    state.changes = 1234
    shown = time_line(state, width, now=NOW, focused=False)
    assert "as it was 2026-02-22 15:09" in shown.plain
    assert "0 of 1,234 changes" in shown.plain
    assert shown.plain.rstrip().endswith("esc now")
    assert shown.width <= width


async def test_an_answer_to_an_older_question_is_dropped() -> None:
    state, port = entries(), FakeOrganisation(knowledge())
    older = state.ask()
    newer = state.ask()
    assert await state.read(newer, port, offset=0)
    listed = state.page
    assert not await state.read(older, port, offset=0)
    assert state.page is listed


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("push -main", EntryCriteria(words=("push",), without=("main",))),
        ("kind:pol", EntryCriteria(categories=(OrgFactCategory.CORE_POLICY,))),
        ("kind:decision kind:conv", EntryCriteria(categories=(ADR, OrgFactCategory.CONVENTION))),
        ("from:sk", EntryCriteria(origins=(OrgOrigin.SKILL,))),
        ("project:Shop", EntryCriteria(projects=("shop",))),
        ("is:retracted", EntryCriteria(retracted=True)),
        ("is:superseded", EntryCriteria(superseded=True)),
        ("", EntryCriteria()),
    ],
)
def test_the_filter_is_read_as_a_person_means_it(text: str, wanted: EntryCriteria) -> None:
    state = entries()
    state.filter_text = text
    assert state.wanted == wanted
    assert state.query.problems == ()


@pytest.mark.parametrize("text", ["kind:x", "from:moon", "is:new"])
def test_what_names_nothing_is_said_and_restricts_nothing(text: str) -> None:
    state = entries()
    state.filter_text = text
    assert state.query.problems
    assert state.wanted == EntryCriteria()


def test_one_key_lists_what_is_retracted_and_leaves_the_rest_of_the_filter() -> None:
    state = entries()
    state.filter_text = "push"
    state.turn_retracted()
    assert state.wanted == EntryCriteria(words=("push",), retracted=True)
    state.turn_retracted()
    assert state.filter_text == "push"


def test_a_row_says_what_where_by_whom_how_old_and_which_version() -> None:
    row = entry(
        "x", POLICY, "Never push.\nNot even once.", days=3, version=2, project="/home/ada/shop"
    )
    shown = entry_line(row, 78, now=NOW).plain
    for part in ("§ Never push. Not even once.", "shop", "person", "3d", "v2"):
        assert part in shown


def test_hostile_text_stays_text_on_every_line() -> None:
    row = entry(
        "x\x1b", ADR, "\x1b[31mred\u202e", title="\x07bell", project="/\x9b/p\x1b", status="\x1b"
    )
    history = AboutEntry((), (), {})
    lines = [entry_line(row, 70, now=NOW), *entry_lines(row, history, now=NOW)]
    text = plain(lines)
    assert not any(character in text for character in "\x1b\x07\x9b\u202e")


async def test_the_detail_names_what_is_replaced_and_what_replaces_it() -> None:
    port = FakeOrganisation(knowledge())
    named = await port.named(["2c3d-adr", "3e4f-adr"])
    about = AboutEntry((), (), named)
    newer = plain(entry_lines(port.held["2c3d-adr"], about, now=NOW))
    for part in ("status      Accepted", "2026-03-09", "docs/adr/0007.md#L1", "3. Use TOML"):
        assert part in newer
    older = plain(entry_lines(port.held["3e4f-adr"], about, now=NOW, replaced_by="2c3d-adr"))
    assert "by 7. Use YAML for settings" in older
    assert "↷ superseded" in older


async def test_the_detail_says_whether_every_prompt_has_a_policy() -> None:
    port = FakeOrganisation([entry(str(n), POLICY, f"Policy {n}.") for n in range(3)])
    room = await port.room()
    told, left_out = (
        plain(entry_lines(port.held[key], AboutEntry(), now=NOW, room=room)) for key in ("0", "2")
    )
    assert "in every one: 12 of 400 tokens" in told
    assert "no: it doesn't fit the 400 tokens" in left_out


async def test_versions_are_shown_with_what_each_changed() -> None:
    port = FakeOrganisation(knowledge())
    await port.retract("0f1d-policy")
    shown = plain(change_lines(await port.history("0f1d-policy"), NOW))
    newest, second, first = shown.split("\n\n")
    assert "3 retracted by a person" in newest
    assert "+Open a pull request" in second
    assert "+Never push to main." in first


def test_no_refused_write_is_said_in_words() -> None:
    assert "No write was refused" in plain(refused_lines((), NOW))

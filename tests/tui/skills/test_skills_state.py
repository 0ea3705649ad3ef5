"""What the Skills pane lists and shows, without a screen."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.enums import SkillState
from synthorg_tui.curation.overview import SkillDetail, SkillOverviewState
from synthorg_tui.curation.registry import SkillVersion, VersionEvent
from synthorg_tui.skills.document import Finding, RootScope, Severity
from synthorg_tui.tui.base.lines import plain
from synthorg_tui.tui.skills.lines import (
    STATES,
    change_lines,
    group_lines,
    known_lines,
    skill_line,
    source_lines,
)
from synthorg_tui.tui.skills.state import Skills, texts
from tests.tui.approvals.approvals_fakes import NOW
from tests.tui.skills.skills_fakes import OWN, FakeSkills, skill_rows, version_of


def skills(count: int = 14) -> Skills:
    made = Skills()
    made.take(made.latest.ask(), asyncio.run(FakeSkills(skill_rows(count)).overview()))
    return made


def skill(name: str) -> SkillDetail:
    fake = FakeSkills(skill_rows(7))
    path = next(path for path, row in fake.rows.items() if row.name == name)
    return asyncio.run(fake.skill(path))


class TestList:
    def test_only_the_answer_to_the_newest_question_counts(self) -> None:
        made = Skills()
        old, new = made.latest.ask(), made.latest.ask()
        assert not made.take(old, SkillOverviewState((), ()))
        assert made.overview is None
        assert made.take(new, SkillOverviewState((), ()))

    def test_skills_stand_under_their_roots_in_order_of_precedence(self) -> None:
        shown = group_lines(skills(), 60)
        headings = [line.plain for value, line in shown if value is None and line.plain.strip()]
        assert headings[0].startswith("project")
        assert headings[1].startswith("from lessons")
        assert len([value for value, _ in shown if value is not None]) == 14

    def test_a_root_no_longer_looked_at_comes_last_as_a_former_one(self) -> None:
        made = skills()
        assert made.overview is not None
        elsewhere = replace(skill_rows(1)[0], path="/gone/x/SKILL.md", root="/gone", scope=None)
        rows = (elsewhere, *made.overview.rows)
        made.take(made.latest.ask(), SkillOverviewState(made.overview.roots, rows))
        assert [group.scope for group in made.groups] == ["project", "own", "former"]
        assert made.groups[-1].rows == (elsewhere,)

    def test_of_one_name_the_skill_that_agents_read_is_gone_to(self) -> None:
        shadowed, _, _, own, *_ = skill_rows(7)
        made = Skills()
        rows = (replace(shadowed, name=own.name), own)
        made.take(made.latest.ask(), SkillOverviewState((), rows))
        assert made.path_of(own.name) == f"{OWN}/{own.name}/SKILL.md"
        assert made.path_of("no such skill") is None

    def test_the_filter_takes_words_of_name_description_and_state(self) -> None:
        made = skills()
        for text, count in (("rebuild", 2), ("shadowed", 2), ("-git push", 0), ("-invalid", 12)):
            made.filter_text = text
            assert sum(len(group.rows) for group in made.groups) == count, text
        assert made.caption == "12 of 14"

    def test_each_state_has_a_glyph_and_a_word_of_its_own(self) -> None:
        assert len({glyph for glyph, _, _ in STATES.values()}) == len(STATES)
        assert len({word for _, word, _ in STATES.values()}) == len(STATES)
        assert set(STATES) == set(SkillState)

    @given(st.integers(24, 120), st.integers(0, 6), st.text(max_size=60))
    def test_a_row_fits_its_width(self, width: int, at: int, name: str) -> None:
        assert skill_line(replace(skill_rows(7)[at], name=name), width).width <= width


class TestSource:
    def test_problems_stand_under_their_line_and_can_be_gone_to(self) -> None:
        shown, places = source_lines(skill("review-style"))
        assert len(places) == 2
        assert "name differs" in shown[places[0]].plain
        assert '2 name: "review-style"' in shown[places[0] - 1].plain

    def test_a_problem_beyond_the_last_line_is_shown_at_the_end(self) -> None:
        odd = skill("review-style")
        odd = replace(
            odd, row=replace(odd.row, findings=(Finding(999, Severity.ERROR, "torn off", ""),))
        )
        shown, places = source_lines(odd)
        assert places == [len(shown) - 1]
        assert "torn off" in shown[-1].plain

    @given(st.text(max_size=300), st.lists(st.integers(1, 20), max_size=4))
    def test_any_file_is_shown_line_by_line(self, text: str, lines: list[int]) -> None:
        findings = tuple(Finding(line, Severity.WARNING, "odd", "mend it") for line in lines)
        odd = SkillDetail(replace(skill_rows(1)[0], findings=findings), text)
        shown, places = source_lines(odd)
        assert len(places) == len(lines)
        assert len(shown) >= 1 + 2 * len(lines)


class TestChanges:
    def test_the_text_on_disk_counts_when_it_is_another(self) -> None:
        assert len(texts(skill("rebuild-index"))) == 3
        assert len(texts(skill("set-upstream-first-push"))) == 2
        assert len(texts(skill("old-proxy-setup"))) == 2

    def test_each_change_is_shown_with_its_place(self) -> None:
        changed = skill("rebuild-index")
        newest, caption = change_lines(changed, 0)
        assert caption == "change 2 of 2"
        assert "+2. Run `git status`" in plain(newest)
        oldest, caption = change_lines(changed, 1)
        assert caption == "change 1 of 2"
        assert "+description" in plain(oldest)

    def test_turning_stops_at_both_ends(self) -> None:
        made, changed = skills(), skill("rebuild-index")
        for by, at in ((1, 1), (1, 1), (-1, 0), (-1, 0)):
            made.turn_change(changed, by)
            assert made.change == at

    def test_a_single_version_is_told_as_such(self) -> None:
        alone = replace(skill("run-the-tests"), versions=(version_of(NOW, "me", "x"),), text="x")
        assert "one version only" in plain(change_lines(alone, 0)[0])


def test_what_is_known_names_use_teachers_and_versions() -> None:
    shown = plain(known_lines(skill("set-upstream-first-push"), NOW))
    for part in (
        "14×, last 2026-03-13",
        "mem-00001",
        "Taught by",
        "  2 edited by",
        "  1 approved",
    ):
        assert part in shown
    assert "never yet" in plain(known_lines(skill("run-the-tests"), NOW))


@pytest.mark.parametrize(
    ("state", "scope", "said"),
    [
        (SkillState.SHIPPED, RootScope.SHIPPED, "it comes with the app: a reviews it"),
        (SkillState.CHANGED, RootScope.SHIPPED, "the app has another text: a reviews it"),
        (SkillState.FOUND, RootScope.USER, "it was here before us: a reviews it"),
    ],
)
def test_what_comes_up_on_request_says_how(state: SkillState, scope: RootScope, said: str) -> None:
    known = skill("run-the-tests")
    row = replace(known.row, state=state, scope=scope, waiting="")
    assert said in plain(known_lines(replace(known, row=row), NOW))
    waiting = replace(row, waiting="file-1")
    assert said not in plain(known_lines(replace(known, row=waiting), NOW))


def test_a_version_is_named_by_its_number_how_it_came_to_be_and_who_did_it() -> None:
    versions = tuple(
        SkillVersion(
            number=number,
            path="x",
            version=number,
            at=NOW,
            actor="person (tui)",
            event=event,
            sha256="",
            text=str(number),
        )
        for number, event in enumerate(VersionEvent, start=1)
    )
    shown = plain(known_lines(replace(skill("run-the-tests"), versions=versions), NOW))
    assert "v1 written by a person at the app" in shown
    assert "v2 accepted from disk by a person at the app" in shown
    assert "v5 in force, not on disk by a person at the app" in shown

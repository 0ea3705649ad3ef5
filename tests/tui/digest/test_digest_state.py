"""What the Digest pane shows, without a screen."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.listing import AgentPlaces
from synthorg_tui.memory.retrieval.explanation import Candidate, Explanation, Verdict
from synthorg_tui.memory.scenarios import Question, Scenario, ScenarioOutcome
from synthorg_tui.tui.base.lines import plain
from synthorg_tui.tui.digest.lines import (
    VERDICTS,
    budget_line,
    candidate_line,
    candidate_lines,
    change_caption,
    change_places,
    changed_text,
    former_line,
    former_tally,
    is_removed,
    ruled_text,
    why_lines,
)
from synthorg_tui.tui.digest.notices import (
    banner_lines,
    empty_lines,
    question_line,
    size_caption,
)
from synthorg_tui.tui.digest.options import (
    OPTIONS,
    PROJECT,
    SESSION,
    Options,
    option_lines,
    options_summary,
)
from synthorg_tui.tui.digest.scenario_lines import runs_caption, scenario_detail
from synthorg_tui.tui.digest.state import Digest, read_budget
from tests.tui.digest.digest_fakes import CONFIGURED, FakeDigests, injection, question
from tests.tui.tui_fakes import rows

STRATEGIES = ("context", "tool_based")
ENTRIES = rows(4)


def digest(query: str = "git push") -> Digest:
    made = Digest()
    made.agent_id, made.query = "codex", query
    made.options.configure(CONFIGURED, STRATEGIES)
    return made


def answer(budget: int = 1000, *, query: str = "git push branch") -> Explanation:
    live = rows(40)
    return FakeDigests(lambda: live).answer(question(query, budget))


def take(made: Digest, generation: int, explanation: Explanation) -> bool:
    return made.take(generation, injection(explanation), estimate_tokens(explanation.text))


class TestQuestion:
    def test_it_is_complete_with_an_agent_and_a_task(self) -> None:
        assert digest().question == question("git push")
        assert digest("  ").question is None
        assert not digest("  ").is_complete

    def test_only_the_answer_to_the_newest_question_counts(self) -> None:
        made = digest()
        old, new = made.turn(), made.turn()
        assert not take(made, old, answer())
        assert made.waiting
        assert take(made, new, answer())
        assert not made.waiting

    def test_changes_are_shown_against_the_first_answer_to_the_same_task(self) -> None:
        made = digest()
        take(made, made.turn(), answer())
        assert not made.text_changed
        take(made, made.turn(), answer(60))
        assert made.text_changed
        take(made, made.turn(), answer(60, query="git push"))
        assert not made.text_changed

    def test_a_memory_is_pinned_or_excluded_never_both(self) -> None:
        made = digest()
        made.toggle_pin("a")
        made.toggle_exclude("a")
        assert (made.pinned, made.excluded) == ((), ("a",))
        made.toggle_pin("a")
        assert (made.pinned, made.excluded) == (("a",), ())
        made.reset()
        assert not made.is_changed

    @given(st.integers(0, 1_000_000))
    def test_a_step_up_and_a_step_down_stay_in_bounds_and_undo_each_other_roughly(
        self, budget: int
    ) -> None:
        made = digest()
        made.budget = budget
        made.step_budget(1)
        assert budget <= made.budget <= 1_000_000
        up = made.budget
        made.step_budget(-1)
        assert 0 <= made.budget < up or up == 0

    def test_budgets_are_read_as_people_write_them(self) -> None:
        read = {text: read_budget(text) for text in ("800", "1,500", "2k", "1.5k", "0")}
        assert read == {"800": 800, "1,500": 1500, "2k": 2000, "1.5k": 1500, "0": 0}
        assert [read_budget(text) for text in ("", "x", "-1", "nan", "inf", "2000000")] == [
            None
        ] * 6

    def test_a_scenario_brings_its_whole_question(self) -> None:
        made = digest()
        asked = Question(
            agent_id="reviewer",
            query="tests",
            token_budget=50,
            overrides={"max_memories": 3},
            pinned=("a",),
            excluded=("b",),
        )
        made.load(Scenario("s", asked, ()))
        assert made.question == asked


HERE = AgentPlaces(("/srv/here", "/srv/there"), ("s1",))


class TestPlaces:
    def test_the_agent_works_in_its_usual_project_and_no_session_at_first(self) -> None:
        made = digest()
        made.options.place(HERE, "/srv/there")
        asked = made.question
        assert asked is not None
        assert asked.visibility == Visibility(None, "/srv/there")
        assert asked.overrides == {}
        assert question_line(made).plain.startswith(" @ as codex in there  b ")

    def test_project_and_session_are_options(self) -> None:
        made = digest()
        made.options.place(HERE, "/srv/here")
        made.options.turn(PROJECT, 1)
        made.options.turn(SESSION, 1)
        assert made.options.visibility == Visibility("s1", "/srv/there")
        assert "in •there, session •s1" in question_line(made).plain
        made.options.turn(PROJECT, 1)
        assert made.options.visibility == Visibility("s1", None)
        made.options.turn(PROJECT, 1)
        assert made.options.visibility is None
        assert "in •all projects" in question_line(made).plain
        made.reset()
        assert made.options.visibility == Visibility(None, "/srv/here")

    def test_an_agent_without_projects_is_seen_as_it_is(self) -> None:
        made = digest()
        made.options.place(AgentPlaces(), None)
        assert made.options.visibility == Visibility(None, None)
        assert PROJECT not in [option.name for option in made.options.shown]
        assert " in " not in question_line(made).plain

    def test_a_scenario_is_asked_from_where_it_was_saved(self) -> None:
        for where in (Visibility("s9", "/srv/gone"), Visibility(None, None), None):
            made = digest()
            made.options.place(HERE, "/srv/here")
            asked = question("git push").model_copy(update={"visibility": where})
            made.load(Scenario("push", asked, ()))
            assert made.question == asked

    def test_the_budget_is_what_agents_get_until_the_person_chooses_one(self) -> None:
        made = digest()
        made.suggest_budget(1500)
        assert made.budget == 1500
        made.step_budget(1)
        made.suggest_budget(1500)
        assert made.budget == 2000

    def test_a_folder_inside_a_project_is_of_it_and_else_the_latest_counts(self) -> None:
        assert HERE.usual(Path("/srv/there/deep/inside")) == "/srv/there"
        assert HERE.usual(Path("/srv")) == "/srv/here"
        assert AgentPlaces().usual(Path("/srv/here")) is None


class TestOptions:
    def test_turned_back_an_option_no_longer_counts_as_changed(self) -> None:
        options = digest().options
        options.turn("min_relevance", 1)
        assert options.overrides == {"min_relevance": 0.35}
        options.turn("min_relevance", -1)
        assert not options.overrides

    def test_relevance_and_recency_make_one_whole(self) -> None:
        options = digest().options
        options.turn("relevance_weight", 2)
        assert options.overrides == {"relevance_weight": 0.8, "recency_weight": 0.2}

    def test_lambda_is_not_asked_for_while_diversity_is_off(self) -> None:
        options = digest().options
        options.turn("diversity_lambda", 1)
        assert "diversity_lambda" not in options.overrides
        options.turn("diversity_penalty_enabled", 1)
        assert options.overrides["diversity_lambda"] == 0.75

    def test_numbers_stop_at_their_ends_and_choices_go_round(self) -> None:
        for option in OPTIONS:
            value = CONFIGURED[option.name]
            if option.choices:
                assert option.turned(value, len(option.choices)) == value
            else:
                assert option.turned(value, 10_000) == option.high
                assert option.turned(value, -10_000) == option.low

    def test_a_single_strategy_is_no_choice(self) -> None:
        options = Options()
        options.configure(CONFIGURED, ("context",))
        assert "strategy" not in [option.name for option in options.shown]

    def test_every_option_is_listed_with_its_value_and_changed_ones_are_marked(self) -> None:
        options = digest().options
        options.turn("include_shared", 1)
        shown = [line.plain for _, line in option_lines(options, 34)]
        assert len(shown) == len(CONFIGURED)
        assert [text for text in shown if text.startswith("•")] == [
            text for text in shown if "Shared" in text
        ]
        assert "1 more changed" in options_summary(options).plain


class TestLines:
    def test_each_verdict_has_a_glyph_and_a_word_of_its_own(self) -> None:
        assert len({glyph for glyph, _, _ in VERDICTS.values()}) == len(VERDICTS)
        assert len({word for _, word, _ in VERDICTS.values()}) == len(VERDICTS)
        assert set(VERDICTS) == set(Verdict)

    @given(st.integers(30, 160), st.sampled_from(sorted(VERDICTS)), st.floats(0, 1))
    def test_a_row_fits_its_width(self, width: int, verdict: Verdict, score: float) -> None:
        each = Candidate(ENTRIES[0], verdict, "why", combined=score, tokens=12_345)
        assert candidate_line(each, width).width <= width
        assert candidate_lines(each, width)[0].width <= width

    @given(st.integers(0, 600), st.integers(60, 160))
    def test_the_budget_bar_fits_and_is_honest(self, budget: int, width: int) -> None:
        given_answer = answer(budget)
        shown = budget_line(given_answer, width)
        assert shown.width <= max(width, 60)
        assert f"{given_answer.tokens_used:,} of {budget:,} tokens" in shown.plain

    def test_the_bar_says_how_much_of_it_is_frame(self) -> None:
        framed = replace(answer(1000), tokens_used=984, frame_tokens=57)
        assert "984 of 1,000, 57 of them frame" in budget_line(framed, 120).plain

    def test_the_bar_has_a_cut_line_and_shows_what_did_not_fit_beyond_it(self) -> None:
        shown = budget_line(answer(60), 100).plain
        before, _, beyond = shown.partition("┃")
        assert "━" in before
        assert "╌" in beyond
        assert "╌" not in budget_line(answer(5000), 100).plain

    @given(st.text(alphabet="ab\n<>", max_size=200))
    def test_the_ruler_counts_what_comes_before_each_line(self, text: str) -> None:
        tokens = estimate_tokens(text)
        shown = ruled_text(text, tokens)
        assert len(shown) == (text.count("\n") + 1 if text else 0)
        marks = [int(each.plain.split("│")[0]) for each in shown]
        assert marks == sorted(marks)
        assert all(mark <= tokens for mark in marks)

    def test_changes_show_what_went_and_came_in_place(self) -> None:
        shown = plain(changed_text("a\nb\nc", "a\nx\nc"))
        assert shown.split("\n") == ["  a", "- b", "+ x", "  c"]
        assert change_caption("a\nb", "a\nc\nd") == "-1 +2 lines"
        assert change_caption("a", "a") == "no change"

    def test_why_tells_the_reason_and_every_number(self) -> None:
        other = Candidate(ENTRIES[1], Verdict.INCLUDED, "Fits.")
        each = Candidate(
            ENTRIES[0],
            Verdict.TOO_SIMILAR,
            "Says the same as another.",
            dense=0.71,
            combined=0.8,
            similarity=0.93,
            similar_to=other.entry.id,
            rank=4,
        )
        shown = plain(why_lines(each, (other, each), full=True))
        for part in ("too similar", "Says the same", "0.71", "not found by them", "0.93"):
            assert part in shown
        assert other.entry.content[:30] in shown

    def test_what_nothing_scored_has_a_dash_instead_of_a_number(self) -> None:
        unscored = Candidate(ENTRIES[0], Verdict.NOT_RELEVANT, "Too far off.", dense=0.2)
        shown = plain(why_lines(unscored, (unscored,), full=True))
        for label in ("score", "relevance", "recency"):
            (row,) = [each for each in shown.splitlines() if each.startswith(label)]
            assert row.split() == [label, "–"]
        assert "0.00" not in shown
        assert "0.00" not in plain(candidate_lines(unscored, 76))
        assert "0.00" not in plain([candidate_line(unscored, 76)])

    def test_an_agent_that_is_told_to_use_its_tools_is_not_told_that_nothing_is_relevant(
        self,
    ) -> None:
        made = digest()
        made.tools = ("search_memory",)
        made.answer = Explanation("tool_based", "codex", "q", 1000, 0, "Use your tools.", (), ())
        shown = plain(empty_lines(made, 1))
        assert "The agent asks with its tools." in shown
        assert "Nothing relevant" not in shown
        made.tools = ()
        assert "Nothing relevant" in plain(empty_lines(made, 1))

    @pytest.mark.parametrize(
        ("used", "whole", "said"),
        [
            (984, 1041, "984 of 1,000 for memories + 57 around them = 1,041"),
            (984, 984, "984 of 1,000 for memories"),
            (0, 57, "57 tokens"),
        ],
    )
    def test_the_size_says_what_counts_against_the_budget(
        self, used: int, whole: int, said: str
    ) -> None:
        made = digest()
        made.text_tokens = whole
        made.answer = Explanation("context", "codex", "q", 1000, used, "text", (), ())
        assert size_caption(made) == said

    def test_changes_are_found_by_run(self) -> None:
        lines = changed_text("a\nb\nc\nd\ne", "a\nx\ny\nc\nd")
        assert change_places(lines) == [1, 6]
        assert change_places(changed_text("a", "a")) == []

    def test_why_says_deleted_once(self) -> None:
        each = Candidate(ENTRIES[0], Verdict.DELETED, "deleted by eva at the app")
        assert why_lines(each, (), full=False)[0].plain == "␡ deleted by eva at the app"
        each = replace(each, verdict=Verdict.SUPERSEDED, reason="replaced by a skill")
        assert why_lines(each, (), full=False)[0].plain == "↻ superseded · replaced by a skill"

    @given(st.integers(40, 160))
    def test_what_is_no_longer_given_is_counted_and_labelled(self, width: int) -> None:
        made = answer(60)
        assert former_tally(made) == ""
        one = replace(made, former=(Candidate(ENTRIES[0], Verdict.EXPIRED, "expired"),))
        two = replace(made, former=one.former * 2)
        assert former_tally(one) == " · 1 no longer given"
        assert "no longer given · 1 other fits by words" in former_line(one, width).plain
        assert "no longer given · 2 others fit by words" in former_line(two, width).plain
        assert former_line(two, width).width <= max(width, 50)

    def test_only_what_is_deleted_or_expired_is_removed(self) -> None:
        live, deleted = ENTRIES[0], replace(ENTRIES[0], deleted_at=ENTRIES[0].created_at)
        assert is_removed(Candidate(deleted, Verdict.DELETED, ""))
        assert is_removed(Candidate(deleted, Verdict.SUPERSEDED, ""))
        assert is_removed(Candidate(live, Verdict.EXPIRED, ""))
        assert not is_removed(Candidate(live, Verdict.SUPERSEDED, ""))
        assert not is_removed(Candidate(live, Verdict.INCLUDED, ""))

    def test_what_is_not_as_it_should_be_is_told(self) -> None:
        made = digest()
        assert banner_lines(made) == []
        made.answer = replace(answer(60), degraded="keyword search is missing")
        shown = plain(banner_lines(made))
        assert "degraded: keyword search is missing" in shown
        assert "over budget" in shown


class TestScenarios:
    SAVED = Scenario("push", question("git push", 100), ("mem-00000", "mem-00001"))

    def outcome(self, *candidates: tuple[int, Verdict, str]) -> ScenarioOutcome:
        return ScenarioOutcome(
            self.SAVED,
            tuple(Candidate(ENTRIES[at], verdict, reason) for at, verdict, reason in candidates),
        )

    def test_what_came_and_went_is_told_with_the_reason(self) -> None:
        run = self.outcome(
            (2, Verdict.INCLUDED, "place 1"),
            (1, Verdict.INCLUDED, "place 2"),
            (0, Verdict.OVER_BUDGET, "over budget"),
        )
        shown = plain(scenario_detail(self.SAVED, run))
        assert "- Fixed the flaky checkout test" in shown
        assert "(over budget)" in shown
        assert "+ The staging database is read-only on weekends. (place 1)" in shown
        assert runs_caption({"push": run}) == "1 of 1 changed"

    def test_another_order_is_a_change(self) -> None:
        run = self.outcome((1, Verdict.INCLUDED, ""), (0, Verdict.INCLUDED, ""))
        assert run.is_changed
        assert "another order" in plain(scenario_detail(self.SAVED, run))

    def test_the_same_is_told_as_such(self) -> None:
        run = self.outcome((0, Verdict.INCLUDED, ""), (1, Verdict.INCLUDED, ""))
        assert not run.is_changed
        assert runs_caption({"push": run}) == "all the same"


CLUSTER = Candidate(
    ENTRIES[0],
    Verdict.INCLUDED,
    "place 1 by score",
    combined=0.8,
    relevance=0.7,
    members=("mem-00001", "mem-00002", "mem-00003"),
    seen="seen 4 times, last on 12 Feb",
)


def test_a_line_that_stands_for_others_tells_how_often_and_when_last() -> None:
    assert "×4 " in candidate_line(CLUSTER, 80).plain
    assert "seen 4 times, last on 12 Feb" in plain(candidate_lines(CLUSTER, 100))
    for full in (True, False):
        why = plain(why_lines(CLUSTER, (CLUSTER,), full=full))
        assert "seen 4 times, last on 12 Feb · t lists the 3 others" in why
    alone = replace(CLUSTER, members=(), seen="")
    assert "×" not in candidate_line(alone, 80).plain
    assert "lists the" not in plain(why_lines(alone, (alone,), full=True))


def test_what_a_neighbour_lent_is_told_with_the_neighbour() -> None:
    lender = replace(CLUSTER, entry=ENTRIES[1])
    borrower = replace(CLUSTER, lent=0.06, beside=ENTRIES[1].id)
    why = plain(why_lines(borrower, (borrower, lender), full=True))
    assert "0.06 of the score by what is beside it: Pushing a branch" in why
    assert "beside it" not in plain(why_lines(lender, (borrower, lender), full=True))


def test_every_verdict_fits_its_column() -> None:
    assert max(len(word) for _, word, _ in VERDICTS.values()) <= 13
    assert len({glyph for glyph, _, _ in VERDICTS.values()}) == len(VERDICTS) == len(Verdict)

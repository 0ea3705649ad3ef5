"""What the organisation tells, in the Digest pane: its rows, its share of the budget, warnings."""

import pytest

from synthorg_tui.memory.retrieval.explanation import OrgCandidate, Verdict
from synthorg_tui.tui.activity.lines import why_lines
from synthorg_tui.tui.base.lines import plain
from synthorg_tui.tui.digest.lines import budget_line, fact_lines, policies_lines
from synthorg_tui.tui.digest.notices import banner_lines, empty_lines, size_caption
from synthorg_tui.tui.digest.screen import DigestScreen
from synthorg_tui.tui.digest.state import Digest
from tests.tui.digest.digest_fakes import told, told_first
from tests.tui.digest.test_digest_pane import ask
from tests.tui.digest.test_digest_state import answer, digest, take
from tests.tui.tui_fakes import FakeDesk, fake_app, rows

RULES = (told("All code is reviewed."), told("Never push to main."))
LONG = told("Measure first.", Verdict.OVER_BUDGET)
FACT = told("Branches are named after their issue.", category="convention")


def shown(*organisation: OrgCandidate, query: str = "git push branch") -> Digest:
    made = digest(query)
    take(made, made.turn(), told_first(answer(query=query), *organisation))
    return made


class TestRows:
    def test_policies_are_one_row_with_their_size_and_how_they_begin(self) -> None:
        found = told_first(answer(), *RULES)
        first, second = (each.plain for each in policies_lines(found, 70))
        assert first.startswith("✓ 2 policies first")
        assert first.rstrip().endswith(f"{found.policy_tokens}t")
        assert second.strip() == "All code is reviewed. · Never push to main."

    def test_policies_without_room_are_counted_and_handed_ones_said_to_be(self) -> None:
        found = told_first(answer(), *RULES, LONG)
        assert "2 policies first · 1 without room" in policies_lines(found, 70)[0].plain
        found = told_first(answer(), told("Review.", Verdict.HANDED))
        assert policies_lines(found, 70)[0].plain.startswith("= 1 policy handed before")

    @pytest.mark.parametrize("width", [20, 43, 80])
    def test_each_row_fits_its_width(self, width: int) -> None:
        found = told_first(answer(), *RULES, LONG, FACT)
        made = [*policies_lines(found, width), *fact_lines(FACT, width)]
        assert all(each.width <= width for each in made)

    def test_a_fact_says_what_it_is_and_why_it_is_told(self) -> None:
        first, second = (each.plain for each in fact_lines(FACT, 80))
        assert first.startswith("✓ convention Branches are named")
        assert "in            matches by words" in second

    def test_the_explanation_of_a_recorded_digest_has_them_too(self) -> None:
        words = plain(why_lines(told_first(answer(), *RULES, FACT), 80))
        assert "2 policies first" in words
        assert "convention Branches are named" in words


class TestBudget:
    def test_policies_and_facts_are_parts_of_the_bar_and_of_the_size(self) -> None:
        made = shown(*RULES, FACT)
        assert made.answer is not None
        tokens, facts = made.answer.policy_tokens, made.answer.fact_tokens
        caption = budget_line(made.answer, 120).plain
        assert f", {tokens} policies, {facts} facts" in caption
        assert size_caption(made).endswith(f"tokens, {tokens} of them policies")

    def test_a_policy_without_room_is_a_warning_that_names_the_setting(self) -> None:
        assert banner_lines(shown(*RULES)) == []
        words = plain(banner_lines(shown(*RULES, LONG)))
        assert "1 policy without room: org_memory.policy_tokens bounds them" in words

    def test_without_a_memory_the_policies_are_named(self) -> None:
        assert "no memory for this task, only 2 policies." in plain(empty_lines(shown(*RULES), 1))
        assert "no memory for this task." in plain(empty_lines(shown(), 1))


async def test_the_cursor_passes_over_what_the_organisation_tells() -> None:
    desk = FakeDesk(rows(40))
    desk.digests.organisation = (*RULES, FACT)
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ask(pilot, "git push branch")
        assert isinstance(screen, DigestScreen)
        answered = screen.digest.answer
        assert answered is not None
        assert screen.candidates.candidate == answered.included[0]
        await pilot.press("g")
        assert screen.candidates.candidate == answered.included[0]
        assert screen.candidates.row_lines(0, 60)[0].plain.startswith("✓ 2 policies first")
        assert screen.candidates.row_lines(1, 60)[0].plain.startswith("✓ convention")

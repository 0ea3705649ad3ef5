"""What the Approvals pane lists, shows and acts on, without a screen."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.approvals.models import Flag, FlagKind, RiskLevel
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.models import (
    MAX_STEPS,
    Author,
    FileChangeKind,
    FileChangePayload,
    ProceduralMemoryProposal,
)
from synthorg_tui.curation.review import (
    BulkOutcome,
    Decision,
    DecisionKind,
    InboxEntry,
    NearSkill,
    Review,
    SubjectKind,
)
from synthorg_tui.tui.approvals.lines import (
    KINDS,
    bulk_line,
    decision_line,
    row_line,
    row_lines,
    undo_line,
    unified_lines,
)
from synthorg_tui.tui.approvals.review_lines import (
    AUTHORS,
    changed_lines,
    ground_lines,
    kept_lines,
    part_lines,
    whole_lines,
    wording_lines,
)
from synthorg_tui.tui.approvals.state import (
    GROUPS,
    INERT_SECONDS,
    RISKS,
    SORTS,
    Inbox,
    InertGuard,
    ReviewState,
    RowMarks,
    agent_of,
    snooze_choices,
)
from synthorg_tui.tui.approvals.wording import (
    FIELDS,
    STEPS,
    Parts,
    Wording,
    approvable,
    author_of,
    entries_of,
    from_document,
    from_entries,
    problems,
    steps_of,
    steps_text,
    to_document,
)
from synthorg_tui.tui.base.lines import Line, plain, wrap
from tests.tui.approvals.approvals_fakes import (
    DIFF,
    GROUNDED,
    NOW,
    PROPOSED,
    FakeApprovals,
    approval_rows,
    lesson_of,
    memory_of,
    row_flags,
    with_item,
    worded,
)

TEXTS = st.text(min_size=1, max_size=120).filter(str.strip)
WORDINGS = st.builds(
    Wording,
    TEXTS,
    TEXTS,
    TEXTS,
    TEXTS,
    st.lists(TEXTS, max_size=6).map(tuple),
    check=st.just("") | TEXTS,
    name=st.sampled_from(("", "git-push-no-upstream")),
)


def inbox(count: int = 12) -> Inbox:
    made = Inbox(lambda: NOW)
    take(made, approval_rows(count))
    return made


def take(inbox: Inbox, entries: Sequence[InboxEntry]) -> bool:
    return inbox.take(inbox.latest.ask(), entries, row_flags(entries))


def sheet(at: int = 0) -> Review:
    queue = FakeApprovals(approval_rows(6))
    return queue.sheet(list(queue.rows)[at])


def both_changed() -> Review:
    row = approval_rows(4)[3]
    change = FileChangePayload(
        change=FileChangeKind.CONFLICT, name="x", path="/x", ours="of our own\n"
    )
    text = "of the disk\n"
    return Review(replace(row, subject=change), "x", path="/x", text=text, diff=DIFF)


class TestInbox:
    def test_only_the_answer_to_the_newest_question_counts(self) -> None:
        made = Inbox(lambda: NOW)
        old, new = made.latest.ask(), made.latest.ask()
        assert not made.take(old, approval_rows(3), {})
        assert made.loaded is None
        assert made.take(new, approval_rows(2), {})
        assert len(made.rows) == 2

    @pytest.mark.parametrize("sort", SORTS)
    @pytest.mark.parametrize("group", GROUPS)
    def test_every_order_and_grouping_lists_each_item_once(self, sort: str, group: str) -> None:
        made = inbox()
        made.sort, made.group = sort, group
        made.arrange()
        assert {row.item.id for row in made.rows} == {row.item.id for row in approval_rows(12)}
        assert len(made.rows) == 12
        headings = [made.group_of(row) for row in made.rows]
        assert headings == sorted(headings, key=str.lower)

    def test_orders_put_first_what_they_name(self) -> None:
        made = inbox()
        firsts = {}
        for sort in SORTS:
            made.sort = sort
            made.arrange()
            firsts[sort] = made.rows[0]
        assert firsts["newest"].item.created_at > firsts["oldest"].item.created_at
        assert firsts["confidence"].confidence == max(row.confidence or 0 for row in made.rows)
        assert firsts["recurrence"].recurrence == 2
        assert firsts["risk"].item.risk_level is RiskLevel.HIGH
        assert RISKS[0] == RiskLevel.CRITICAL
        assert set(RISKS) == set(RiskLevel)

    def test_snoozed_items_are_out_of_the_way_until_their_time(self) -> None:
        now = [NOW]
        made = Inbox(lambda: now[0])
        rows = [with_item(approval_rows(1)[0], snoozed_until=NOW + timedelta(hours=1))]
        take(made, rows)
        assert not made.rows
        made.view = "snoozed"
        take(made, rows)
        assert len(made.rows) == 1
        made.view, now[0] = "waiting", NOW + timedelta(hours=1)
        take(made, rows)
        assert len(made.rows) == 1

    def test_the_filter_takes_words_operators_and_what_is_flagged(self) -> None:
        made = inbox()
        for text, count in (
            ("timer", 2),
            ("-timer", 10),
            ("kind:less", 4),
            ("kind:fail", 8),
            ("kind:gate", 0),
            ("project:sho", 8),
            ("project:/home/ada/work/shop", 8),
            ("project:wo", 0),
            ("certainty:>0.86", 1),
            ("certainty:0.86", 2),
            ("certainty:<60%", 3),
            ("agent:codex risk:high", 2),
            ("is:flagged", 2),
            ("scope:org -conflict", 2),
            ("is:nonsense", 12),
        ):
            made.filter_text = text
            made.arrange()
            assert len(made.rows) == count, text
        assert "is:nonsense says nothing" in made.filter.problems[0]
        made.filter_text = "certainty:sure"
        assert "certainty:sure says nothing" in made.filter.problems[0]

    @given(st.text(max_size=40))
    def test_nothing_typed_is_an_error(self, text: str) -> None:
        made = inbox(6)
        made.filter_text = text
        made.arrange()
        assert len(made.rows) <= 6

    def test_bulk_takes_only_what_was_reviewed_and_is_listed(self) -> None:
        made = inbox()
        assert made.bulk()[0] == ()
        for row in made.rows[:3]:
            made.saw(Review(row, f"hash of {row.item.id}"))
        assert made.bulk()[0] == made.rows[:3]
        made.toggle_mark(made.rows[0].item.id)
        made.toggle_mark(made.rows[5].item.id)
        assert made.bulk() == (made.rows[:1], "1 marked but not reviewed stay.")
        made.filter_text = "kind:promotion"
        made.arrange()
        chosen, note = made.bulk()
        assert [row.kind for row in chosen] == ["promotion"]
        assert note == "2 marked but hidden by the filter stay."

    @pytest.mark.parametrize(
        "doubt",
        [
            {"flags": (Flag(FlagKind.SECRET, "action", "a key"),)},
            {"near": (NearSkill("other", "other", "says", 0.9, "conflict"),)},
            {"problem": "it can't be read"},
        ],
        ids=lambda doubt: next(iter(doubt)),
    )
    def test_what_raises_doubts_is_never_approved_among_others(
        self, doubt: dict[str, object]
    ) -> None:
        made = inbox(2)
        first, second = made.rows
        made.saw(Review(first, "x"))
        made.saw(replace(Review(second, "x"), **doubt))  # type: ignore[arg-type]
        assert made.bulk() == ((first,), "1 flagged or contradicted stay.")
        made.saw(Review(second, "y"))
        assert made.bulk()[0] == (first, second)

    def test_a_file_that_both_sides_changed_is_never_approved_among_others(self) -> None:
        made = inbox(4)
        made.saw(both_changed())
        assert made.bulk() == ((), "1 flagged or contradicted stay.")

    def test_what_could_not_be_approved_has_to_be_reviewed_again(self) -> None:
        made = inbox(3)
        reviews = [Review(row, "x") for row in made.rows]
        for review in reviews:
            made.saw(review)
        decision = Decision(1, DecisionKind.APPROVED, "first", NOW)
        refused = ((reviews[2].item.id, "The store is full."),)
        outcome = BulkOutcome((decision,), (reviews[1],), refused)
        made.forget(outcome)
        assert list(made.reviewed) == [reviews[0].item.id]
        changed = f"{reviews[1].item.title}: it changed since you read it"
        assert bulk_line(outcome) == (
            f"Approved 1 item · u undoes all of them · {changed} · The store is full."
        )

    def test_what_is_gone_is_no_longer_marked_or_reviewed(self) -> None:
        made = inbox(3)
        for row in made.rows:
            made.toggle_mark(row.item.id)
            made.saw(Review(row, "x"))
        take(made, made.rows[:1])
        assert len(made.marked) == len(made.reviewed) == 1

    def test_snooze_times_are_ahead_and_nearest_first(self) -> None:
        for day in range(7):
            now = datetime(2026, 3, 9 + day, 23, 30, tzinfo=UTC)
            times = [at for _, at in snooze_choices(now)]
            assert times == sorted(times)
            assert times[0] > now


class TestRows:
    @given(st.integers(30, 150), st.integers(0, 5))
    def test_a_row_fits_its_width(self, width: int, at: int) -> None:
        row = approval_rows(6)[at]
        assert row_line(row, width, RowMarks(True, True, 2), now=NOW).width <= width
        for each in row_lines(row, width, RowMarks(False, True, 2), now=NOW):
            assert each.width <= width

    def test_each_kind_has_a_glyph_and_a_word_of_its_own(self) -> None:
        assert len({glyph for glyph, _, _ in KINDS.values()}) == len(KINDS)
        assert len({word for _, word, _ in KINDS.values()}) == len(KINDS)
        assert set(KINDS) == set(SubjectKind)

    def test_an_item_names_its_agent_but_a_file_on_disk_has_none(self) -> None:
        agents = [agent_of(row) for row in approval_rows(6)]
        assert agents == ["claude-code", "claude-code", "", "", "", "codex"]
        assert agent_of(replace(approval_rows(1)[0], subject=None)) == ""

    def test_what_a_decision_did_is_said_in_a_line(self) -> None:
        made = Decision(1, DecisionKind.APPROVED, "Push", NOW, paths=("/srv/SKILL.md",))
        assert decision_line("Approved", made) == "Approved · /srv/SKILL.md · u takes it back"
        left = replace(made, left_alone=("/srv/other",))
        said = "Approved · /srv/other was changed meanwhile and stays · u takes it back"
        assert decision_line("Approved", left) == said
        assert undo_line(made) == "Took back: Push"
        assert undo_line(replace(made, count=3)) == "Undid Push"


class TestReviewState:
    def test_items_are_gone_through_to_either_end(self) -> None:
        state = ReviewState(["a", "b"], 0)
        assert (state.item_id, state.place) == ("a", "1 of 2")
        assert "first one" in state.step(-1)
        assert state.step(1) == ""
        assert (state.item_id, state.place) == ("b", "2 of 2")
        assert "last one" in state.step(1)
        assert ReviewState(["a"], 0).place == ""

    def test_another_item_is_read_anew_but_no_wording_is_left_behind(self) -> None:
        state = ReviewState(["a", "b"], 0)
        state.review = sheet()
        state.take("mine")
        assert "not approved" in state.step(1)
        assert state.item_id == "a"
        state.drop()
        assert state.step(1) == ""
        assert state.review is None

    def test_occurrences_are_chosen_in_turn(self) -> None:
        state = ReviewState(["a"], 0)
        state.next_evidence()
        assert (state.evidence, state.chosen) == (None, -1)
        state.review = sheet()
        first, second = state.review.entry.evidence
        assert (state.evidence, state.chosen) == (first, 0)
        state.next_evidence()
        assert (state.evidence, state.chosen) == (second, 1)
        state.next_evidence()
        assert state.evidence == first

    def test_the_proposed_wording_is_no_draft(self) -> None:
        state = ReviewState(["a"], 0)
        state.review = sheet()
        assert state.wording == PROPOSED
        state.take(GROUNDED)
        assert state.wording == state.draft == GROUNDED
        state.take(PROPOSED)
        assert state.draft is None


class TestReview:
    def test_all_evidence_is_shown_with_what_failed_and_what_worked(self) -> None:
        shown = plain(ground_lines(sheet(), NOW))
        for each in sheet().entry.evidence:
            for part in (each.failed, each.resolved_by, each.error.split("\n")[0]):
                assert part in shown

    def test_a_review_begins_with_when_and_what_to_do(self) -> None:
        shown = plain(whole_lines(sheet(), (), NOW))
        texts = (PROPOSED.condition.removeprefix("When "), PROPOSED.action, "Evidence")
        order = [shown.index(text) for text in texts]
        assert order == sorted(order)

    def test_flags_come_before_the_evidence(self) -> None:
        shown = plain(ground_lines(sheet(5), NOW))
        assert shown.index("an instruction to the agent") < shown.index("Evidence")

    def test_every_field_names_its_author(self) -> None:
        shown = plain(wording_lines(PROPOSED, sheet().entry))
        assert shown.count("◇ model") == 2
        assert shown.count("◆ evidence") == 3

    def test_the_author_of_a_reworded_field_is_whose_text_it_is(self) -> None:
        said = sheet().entry
        mine = replace(PROPOSED, action="Do it", discovery=GROUNDED.discovery, steps=())
        authors = {name: author_of(name, mine, said) for name in (*FIELDS, STEPS)}
        assert authors["action"] == "person"
        assert authors["discovery"] == "evidence"
        assert authors["rationale"] == "model"
        assert authors[STEPS] == "evidence"
        assert set(authors.values()) <= set(AUTHORS)

    def test_a_draft_is_shown_as_what_it_changes(self) -> None:
        draft = replace(PROPOSED, action="Run `git push -u`.")
        shown = plain(kept_lines(sheet(), draft))
        assert "- Run `git push -u origin HEAD`." in shown
        assert "+ Run `git push -u`." in shown
        assert "not approved yet" in shown

    def test_a_diff_is_coloured_by_its_signs(self) -> None:
        roles = [each.spans[0][1] for each in unified_lines(DIFF)]
        assert roles == ["faint", "faint", "accent", "muted", "muted", "bad", "good", "muted"]

    def test_what_changed_since_it_was_shown_is_told_for_wording_file_and_memories(self) -> None:
        before = sheet()
        for after in (
            replace(before, entry=worded(before.entry, replace(PROPOSED, action="rm -rf /"))),
            replace(before, diff=(*DIFF, "+one more")),
            replace(before, replaces=(memory_of("Another lesson"),)),
        ):
            assert any(each.plain.startswith("  + ") for each in changed_lines(before, after))
        assert not changed_lines(before, before)

    def test_both_versions_of_a_file_that_both_sides_changed_are_shown(self) -> None:
        shown = plain(kept_lines(both_changed(), None))
        assert "of the disk" in shown
        assert "of our own" in shown

    @given(st.integers(20, 140), WORDINGS)
    def test_a_review_of_anything_fits_any_width(self, width: int, said: Wording) -> None:
        lines: list[Line] = whole_lines(
            replace(sheet(), entry=worded(sheet().entry, said)), (), NOW, PROPOSED, 0
        )
        assert all(row.width <= width for each in lines for row in wrap(each, width))

    def test_a_file_is_named_as_seen_from_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        where = sheet().path
        assert where in plain(whole_lines(sheet(), (), NOW))
        monkeypatch.setenv("HOME", "/home/ada")
        shown = plain(whole_lines(sheet(), (), NOW))
        assert where not in shown
        assert where.replace("/home/ada", "~") in shown

    @pytest.mark.parametrize("width", [20, 79, 120])
    def test_the_rule_of_a_section_reaches_the_edge(self, width: int) -> None:
        rules = [each for each in whole_lines(sheet(), (), NOW) if each.fill]
        assert len(rules) == 5
        assert all(wrap(each, width)[0].width == width for each in rules)


class TestWording:
    @given(WORDINGS)
    def test_an_unedited_document_gives_exactly_the_wording_back(self, wording: Wording) -> None:
        assert from_document(to_document(wording), wording) == wording

    @given(WORDINGS, st.text(st.characters(codec="ascii", exclude_characters="\r"), max_size=80))
    def test_what_is_written_into_a_field_is_what_it_says(
        self, wording: Wording, text: str
    ) -> None:
        other = replace(wording, action=text)
        read = from_document(to_document(other), wording)
        if all(character.isprintable() or character == "\n" for character in text):
            assert read.action in (text.strip(), wording.action)
        assert replace(read, action=wording.action) == wording

    @given(st.lists(TEXTS, max_size=8).map(tuple))
    def test_steps_left_alone_come_back_as_they_were(self, steps: tuple[str, ...]) -> None:
        known = {each: steps.index(each) for each in steps}
        read = steps_of(steps_text(steps), steps)
        assert len(read) == len(steps)
        assert all(each in known for each in read)

    def test_headings_and_comments_in_a_text_survive(self) -> None:
        wording = replace(PROPOSED, action="[STEPS]\n# not a comment\n\\[x]")
        assert from_document(to_document(wording), PROPOSED).action == wording.action

    @pytest.mark.parametrize("name", [*FIELDS, STEPS])
    def test_what_fits_is_what_the_engine_takes(self, name: str) -> None:
        if name == STEPS:
            fits, over = ("x",) * MAX_STEPS, ("x",) * (MAX_STEPS + 1)
            wordings = [replace(PROPOSED, steps=steps) for steps in (fits, over)]
        else:
            schema = ProceduralMemoryProposal.model_json_schema()["properties"]
            most = schema[name]["maxLength"]
            texts = ("x" * most, "x" * (most + 1))
            wordings = [replace(PROPOSED, **{name: text}) for text in texts]
        assert problems(wordings[0]) == ()
        assert approvable(lesson_of(), wordings[0])
        assert problems(wordings[1])
        with pytest.raises(DomainError, match=name):
            approvable(lesson_of(), wordings[1])

    @pytest.mark.parametrize(
        ("name", "fits"),
        [("", True), ("git-push-2", True), ("Git push", False), ("a--b", False), ("a/b", False)],
    )
    def test_a_name_is_words_of_a_folder_or_left_to_the_title(self, name: str, fits: bool) -> None:
        wording = replace(PROPOSED, name=name, check="")
        assert (problems(wording) == ()) is fits

    def test_an_approvable_wording_names_who_wrote_what_the_person_did_not(self) -> None:
        mine = replace(PROPOSED, action="Mine", discovery=GROUNDED.discovery, steps=())
        proposal, authors = approvable(lesson_of(authors={STEPS: Author.MODEL}), mine)
        assert Wording.of(proposal) == mine
        assert authors == {
            "discovery": Author.EVIDENCE,
            "condition": Author.EVIDENCE,
            STEPS: Author.MODEL,
        }

    @given(WORDINGS)
    def test_entries_left_alone_give_exactly_the_wording_back(self, wording: Wording) -> None:
        assert from_entries(entries_of(wording), wording) == wording
        assert from_entries(entries_of(wording.action), wording.action) == wording.action

    @pytest.mark.parametrize(("length", "fits"), [(600, True), (601, False)])
    def test_what_keeps_it_from_being_approved_is_told(self, length: int, fits: bool) -> None:
        assert (problems(replace(PROPOSED, discovery="x" * length)) == ()) is fits
        assert problems(replace(PROPOSED, action=" ")) == ("Action is empty",)
        assert problems(replace(PROPOSED, steps=("x",) * 51))


class TestParts:
    def test_each_field_offers_the_texts_there_are(self) -> None:
        parts = Parts.of(sheet().entry, PROPOSED)
        offered = {each.name: [author for author, _ in each.texts] for each in parts.choices}
        assert offered["discovery"] == ["evidence", "model"]
        assert offered["action"] == ["evidence"]
        assert parts.wording == PROPOSED
        assert parts.turned("discovery", 1).wording.discovery == GROUNDED.discovery

    def test_a_text_of_yours_is_offered_too(self) -> None:
        parts = Parts.of(sheet().entry, replace(PROPOSED, action="Mine"))
        action = next(each for each in parts.choices if each.name == "action")
        assert [author for author, _ in action.texts] == ["evidence", "person"]
        assert action.text == "Mine"

    def test_a_dropped_step_can_be_kept_again(self) -> None:
        parts = Parts.of(sheet().entry, PROPOSED).toggled(0)
        assert parts.wording.steps == PROPOSED.steps[1:]
        again = Parts.of(sheet().entry, parts.wording).toggled(0)
        assert again.wording == PROPOSED

    @given(st.integers(20, 120))
    def test_a_line_fits_its_width(self, width: int) -> None:
        for _, each in part_lines(Parts.of(sheet().entry, PROPOSED), width):
            assert each.width == width


@pytest.mark.parametrize(("after", "closed"), [(0.0, True), (0.499, True), (0.5, False)])
def test_keys_are_inert_for_half_a_second(after: float, closed: bool) -> None:
    at = [100.0]
    guard = InertGuard(lambda: at[0])
    assert guard.is_closed
    guard.close()
    at[0] += after
    assert guard.is_closed is closed
    assert INERT_SECONDS == 0.5

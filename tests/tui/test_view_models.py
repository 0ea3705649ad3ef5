"""View models: the filter language, windows, marks, times, lines, exports."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.ingest.service import ImportProgress
from synthorg_tui.memory.listing import BrowseFilter, Facets, FoundMemories, MemoryPage
from synthorg_tui.tui.base.filters import matches, parse_query, toggle_operator
from synthorg_tui.tui.base.formatting import ago, duration, size
from synthorg_tui.tui.base.lines import bar, beside, error_lines, line, plain, wrap
from synthorg_tui.tui.base.window import WINDOW, Marks, RowWindow
from synthorg_tui.tui.memories.changes import as_json, as_markdown, render
from synthorg_tui.tui.memories.detail import change_lines, diff_lines
from synthorg_tui.tui.memories.lines import chip_line, progress_lines
from synthorg_tui.tui.memories.state import Listing
from tests.tui.tui_fakes import NOW, edit_of, rows


def test_each_fault_of_an_error_has_a_line() -> None:
    fault = DomainError("config.yaml:3 too many\nconfig.yaml:4 unknown", remedy="Mend it.")
    shown = plain(error_lines("The store can't be opened", fault)).splitlines()
    assert shown.index("config.yaml:4 unknown") == shown.index("config.yaml:3 too many") + 1


AGENTS = ("claude-code", "codex", "reviewer")


def read(text: str) -> BrowseFilter:
    return parse_query(text, now=NOW, agents=AGENTS).criteria


class TestQuery:
    def test_words_must_occur_and_dashed_ones_must_not(self) -> None:
        assert read("git -push") == BrowseFilter(words=("git",), without=("push",))

    def test_a_quoted_phrase_is_one_word(self) -> None:
        assert read('"git push" -"force it"') == BrowseFilter(
            words=("git push",), without=("force it",)
        )

    def test_operators_are_read(self) -> None:
        read_query = read("agent:codex cat:episodic tag:git since:7d")
        assert read_query == BrowseFilter(
            agents=("codex",),
            categories=(MemoryCategory.EPISODIC,),
            tags=("git",),
            since=NOW - timedelta(days=7),
        )

    def test_part_of_an_agent_name_means_all_agents_with_it(self) -> None:
        assert read("agent:co").agents == ("claude-code", "codex")

    def test_the_exact_agent_wins_over_longer_names(self) -> None:
        agents = ("codex", "codex-review")
        assert parse_query("agent:codex", now=NOW, agents=agents).criteria.agents == ("codex",)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("agent:nobody", "is none of claude-code, codex, reviewer"),
            ("cat:dreams", "is none of working, episodic"),
            ("since:soon", "is no time"),
            ("tag:", "needs a tag"),
            ("-since:7d", "works on words and on"),
        ],
    )
    def test_what_makes_no_sense_is_left_out_and_explained(self, text: str, said: str) -> None:
        query = parse_query(f"{text} git", now=NOW, agents=AGENTS)
        assert query.criteria == BrowseFilter(words=("git",))
        assert said in query.problems[0]

    def test_an_unknown_operator_is_a_word(self) -> None:
        assert read("http://host").words == ("http://host",)

    @pytest.mark.parametrize(
        ("text", "ages"),
        [("12h", 0.5), ("2w", 14), ("1m", 30), ("1y", 365)],
    )
    def test_since_takes_spans(self, text: str, ages: float) -> None:
        assert read(f"since:{text}").since == NOW - timedelta(days=ages)

    def test_since_takes_a_day(self) -> None:
        assert read("since:2026-01-31").since == NOW.replace(
            month=1, day=31, hour=0, minute=0, second=0, microsecond=0
        )

    def test_a_span_beyond_the_calendar_is_explained(self) -> None:
        assert parse_query("since:99999y", now=NOW).problems

    @given(st.text(max_size=60))
    def test_any_text_can_be_read(self, text: str) -> None:
        query = parse_query(text, now=NOW, agents=AGENTS)
        matches(query.criteria, rows(1)[0])

    def test_choosing_a_group_twice_gives_the_text_back(self) -> None:
        once = toggle_operator("git", "agent:", "claude-code")
        assert once == "agent:claude-code git"
        assert toggle_operator(once, "agent:", "claude-code") == "git"

    def test_choosing_another_group_replaces_the_first(self) -> None:
        once = toggle_operator("", "cat:", "episodic")
        assert toggle_operator(once, "cat:", "social") == "cat:social"

    def test_words_of_a_search_are_one_chip(self) -> None:
        query = parse_query("push a branch tag:git", now=NOW)
        assert "▐push a branch▌ ▐#git▌" in chip_line(query, search=True).plain


class TestMatches:
    def test_each_criterion_can_hide_a_row(self) -> None:
        row = rows(2)[1]
        assert matches(BrowseFilter(), row)
        for what in (
            BrowseFilter(agents=("other",)),
            BrowseFilter(categories=(MemoryCategory.SOCIAL,)),
            BrowseFilter(tags=("git", "missing")),
            BrowseFilter(since=row.created_at + timedelta(seconds=1)),
            BrowseFilter(words=("absent",)),
            BrowseFilter(without=("PUSH",)),
        ):
            assert not matches(what, row)

    def test_since_includes_its_own_instant_and_words_ignore_case(self) -> None:
        row = rows(2)[1]
        assert matches(BrowseFilter(since=row.created_at, words=("PUSHING",)), row)


class TestWindow:
    def test_rows_are_found_by_their_place_in_the_listing(self) -> None:
        window = RowWindow(tuple(rows(10)), 100, 500)
        assert window.get(99) is None
        assert window.get(100) == rows(1)[0]
        assert window.get(110) is None
        assert window.index_of("mem-00009") == 109

    def test_nothing_is_wanted_while_the_view_is_well_inside(self) -> None:
        window = RowWindow(tuple(rows(WINDOW)), 0, 1000)
        assert window.wanted(0, 20) is None
        assert window.wanted(200, 220) is None

    def test_more_is_wanted_near_the_end(self) -> None:
        window = RowWindow(tuple(rows(WINDOW)), 0, 1000)
        assert window.wanted(269, 289) is not None

    @given(st.integers(0, 5000), st.integers(1, 50), st.integers(1, 5000))
    def test_what_is_wanted_covers_the_view(self, first: int, height: int, total: int) -> None:
        first = min(first, total - 1)
        last = min(first + height - 1, total - 1)
        offset = RowWindow((), 0, total).wanted(first, last)
        assert offset is not None
        assert offset <= first
        assert last < offset + WINDOW


class TestListing:
    def test_only_the_newest_question_is_answered(self) -> None:
        listing = Listing(lambda: NOW)
        old, new = listing.ask(), listing.ask()
        assert not listing.take_page(old, MemoryPage(tuple(rows(1)), 0, 1))
        assert listing.waiting
        assert listing.take_page(new, MemoryPage(tuple(rows(2)), 0, 2))
        assert not listing.waiting

    def test_marks_out_of_view_are_no_targets(self) -> None:
        listing = Listing(lambda: NOW)
        first, second = rows(2)
        listing.marks = Marks().toggled(first).toggled(second)
        listing.filter_text = "cat:procedural"
        assert listing.targets(first) == (second,)
        assert listing.marked_caption == "✓ 2 marked, 1 hidden"

    def test_without_marks_the_row_under_the_cursor_is_the_target(self) -> None:
        listing = Listing(lambda: NOW)
        assert listing.targets(rows(1)[0]) == (rows(1)[0],)
        assert listing.targets(None) == ()

    def test_the_caption_tells_where_the_cursor_is_among_how_many(self) -> None:
        listing = Listing(lambda: NOW)
        assert listing.caption(0) == ""
        listing.facets = Facets(categories=((MemoryCategory.SOCIAL, 50_000),))
        listing.take_page(0, MemoryPage(tuple(rows(300)), 0, 50_000))
        assert listing.caption(11) == "12 of 50,000 · newest"

    def test_under_a_filter_the_caption_tells_how_many_of_all_match(self) -> None:
        listing = Listing(lambda: NOW)
        listing.facets = Facets(categories=((MemoryCategory.SOCIAL, 59),))
        listing.filter_text = "git"
        listing.take_page(0, MemoryPage(tuple(rows(4)), 0, 4))
        assert listing.caption(1) == "2 of 4 · 4 of 59 match · newest"

    @pytest.mark.parametrize(
        ("found", "said"), [(99, "1 of 99 · best first"), (100, "1 of 100 · the 100 best")]
    )
    def test_a_search_that_is_cut_off_says_so(self, found: int, said: str) -> None:
        listing = Listing(lambda: NOW)
        listing.search_text = "git"
        listing.take_hits(0, FoundMemories(tuple(rows(found))))
        assert listing.caption(0) == said

    def test_a_search_of_operators_only_is_a_filter(self) -> None:
        listing = Listing(lambda: NOW)
        listing.search_text = "cat:social"
        assert not listing.searching
        listing.search_text = "cat:social review"
        assert listing.searching


class TestLines:
    @pytest.mark.parametrize(
        ("seconds", "said"),
        [
            (-5, "now"),
            (59, "now"),
            (60, "1m"),
            (3599, "59m"),
            (3600, "1h"),
            (86399, "23h"),
            (86400, "1d"),
            (14 * 86400 - 1, "13d"),
            (14 * 86400, "2w"),
            (365 * 86400, "1y"),
        ],
    )
    def test_ages(self, seconds: int, said: str) -> None:
        assert ago(NOW - timedelta(seconds=seconds), NOW) == said

    def test_sizes_and_durations(self) -> None:
        assert [size(n) for n in (999, 1000, 1_500_000)] == ["999 B", "1.0 kB", "1.5 MB"]
        assert [duration(s) for s in (59, 60, 3660)] == ["59 s", "1 min", "1 h 1 min"]

    @pytest.mark.parametrize("share", [-1.0, 0.0, 0.5, 1.0, 2.0])
    def test_a_bar_always_has_its_width(self, share: float) -> None:
        assert bar(share, 8).width == 8

    def test_a_bar_is_readable_without_colour(self) -> None:
        assert bar(0.5, 4).plain == "━━──"

    @given(st.text(max_size=80), st.integers(1, 40))
    def test_fit_gives_the_exact_width_even_for_wide_characters(
        self, text: str, width: int
    ) -> None:
        assert abs(line((text + "日本語", "text")).fit(width).width - width) <= 0

    @given(st.text(max_size=120), st.integers(2, 40))
    def test_wrapping_loses_no_word_and_stays_within_the_width(self, text: str, width: int) -> None:
        source = line((text, "text"))
        wrapped = wrap(source, width)
        assert all(row.width <= width for row in wrapped)
        words = source.plain.split()
        assert "".join("".join(row.plain for row in wrapped).split()) == "".join(words)

    def test_wrapped_rows_hang_under_their_column(self) -> None:
        source = line(("tags  ", "muted"), ("one two three", "text"))
        source.hang = 6
        assert plain(wrap(source, 13)) == "tags  one two\n      three"

    def test_the_right_side_keeps_its_place(self) -> None:
        made = beside(line(("a long text", "text")), line(("end", "text")), 10)
        assert made.plain == "a lon… end"

    def test_progress_before_there_is_a_rate(self) -> None:
        step = ImportProgress(0, 3, 0, 0, 0, 0.0, None, "")
        assert "estimating" in plain(progress_lines(step, 60))


class TestChanges:
    def test_an_edit_shows_lines_that_went_and_came(self) -> None:
        assert plain(diff_lines("a\nb\nc", "a\nB\nc")) == "  - b\n  + B"

    def test_fields_that_stayed_are_left_out(self) -> None:
        revision = edit_of("a", "you", {"tags": ["a"], "x": 1}, {"tags": ["b"], "x": 1})
        assert plain(change_lines(revision)) == "  tags #a → #b"


class TestExport:
    def test_json_holds_every_field(self) -> None:
        exported = json.loads(as_json(rows(2)))
        assert exported[1]["content"] == rows(2)[1].content
        assert exported[1]["tags"] == ["git", "push"]

    def test_a_fence_is_longer_than_any_in_the_content(self) -> None:
        row = replace(rows(1)[0], content="````\nnot the end\n````")
        assert "`````text" in as_markdown([row])

    def test_the_file_name_decides(self) -> None:
        assert render(rows(1), "a.md").startswith("# Memories")
        assert render(rows(1), "a.json").startswith("[")

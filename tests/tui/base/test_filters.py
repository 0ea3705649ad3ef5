"""The filter language of the Memories pane: groups, what is left out, states, and completion."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.kinds import MemoryKind
from synthorg_tui.memory.listing import SHARED_OWNER, BrowseFilter, Unwanted
from synthorg_tui.tui.base.filters import completed, matches, parse_query, toggle_operator
from tests.tui.tui_fakes import NOW, rows

AGENTS = ("claude-code", "codex")
PROJECTS = ("/home/ada/shop", "/home/ada/my site", "/home/bo/shop", "/home/ada/shop-old")


def read(text: str) -> BrowseFilter:
    return parse_query(text, now=NOW, agents=AGENTS, projects=PROJECTS).criteria


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("project:shop", ("/home/ada/shop", "/home/bo/shop")),
        ("project:SHOP", ("/home/ada/shop", "/home/bo/shop")),
        ("project:/home/bo/shop", ("/home/bo/shop",)),
        ("project:old", ("/home/ada/shop-old",)),
        ('project:"my site"', ("/home/ada/my site",)),
    ],
)
def test_a_project_is_named_by_its_path_its_folder_or_a_part_of_that(
    text: str, paths: tuple[str, ...]
) -> None:
    assert read(text).projects == paths


def test_kinds_until_and_states_are_read() -> None:
    assert read("kind:com kind:said until:7d is:edited") == BrowseFilter(
        kinds=(MemoryKind.COMMIT, MemoryKind.SAID),
        until=NOW - timedelta(days=7),
        states=("edited",),
    )


def test_a_dash_leaves_a_group_out() -> None:
    text = "-agent:codex -project:old -kind:session -cat:social -tag:Git -session:codex:1 -word"
    assert read(text) == BrowseFilter(
        without=("word",),
        unwanted=Unwanted(
            agents=("codex",),
            projects=("/home/ada/shop-old",),
            kinds=(MemoryKind.SESSION,),
            categories=(MemoryCategory.SOCIAL,),
            tags=("Git",),
            sessions=("codex:1",),
        ),
    )


def test_a_session_is_named_by_its_id_and_shown_in_short() -> None:
    query = parse_query("session:claude-code:3f2a1b2c-0000-4000 session:s1", now=NOW)
    assert query.criteria.sessions == ("claude-code:3f2a1b2c-0000-4000", "s1")
    assert [chip.label for chip in query.chips] == ["session 3f2a1b2c-000…", "session s1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("project:nowhere", "project:nowhere is none of shop, my site, shop, shop-old"),
        ("project:", "needs the name of a folder such as shop"),
        ("kind:dreams", "is none of session, task, recovery, commit, refused, said"),
        ("is:nice", "is: takes edited, expiring, expired, archived"),
        ("until:soon", "until:soon is no time"),
        ("session:", "session: needs the id of a session"),
        ("-since:7d", "- works on words and on project: kind: agent: cat: tag: session:"),
    ],
)
def test_what_makes_no_sense_is_explained_and_left_out(text: str, said: str) -> None:
    query = parse_query(f"{text} git", now=NOW, agents=AGENTS, projects=PROJECTS)
    assert query.criteria == BrowseFilter(words=("git",))
    assert said in query.problems[0]


def test_chips_say_what_is_wanted_and_what_is_not() -> None:
    chips = parse_query("project:old -kind:commit is:edited", now=NOW, projects=PROJECTS).chips
    assert [chip.label for chip in chips] == ["project shop-old", "not commit", "edited"]


ROW = replace(
    rows(1)[0],
    tags=("commit", "Git"),
    project="/home/ada/shop",
    expires_at=NOW + timedelta(seconds=1),
    edited=True,
    source="codex:one/part#L1-L2",
)


@pytest.mark.parametrize(
    "what",
    [
        BrowseFilter(projects=("/home/bo/shop",)),
        BrowseFilter(kinds=(MemoryKind.SESSION,)),
        BrowseFilter(until=ROW.created_at),
        BrowseFilter(states=("expired",)),
        BrowseFilter(sessions=("codex:on", "codex:one/par")),
        BrowseFilter(unwanted=Unwanted(sessions=("codex:one",))),
        BrowseFilter(unwanted=Unwanted(agents=(ROW.agent_id,))),
        BrowseFilter(unwanted=Unwanted(projects=("/home/ada/shop",))),
        BrowseFilter(unwanted=Unwanted(kinds=(MemoryKind.COMMIT,))),
        BrowseFilter(unwanted=Unwanted(categories=(ROW.category,))),
        BrowseFilter(unwanted=Unwanted(tags=("GIT",))),
    ],
)
def test_each_criterion_hides_a_row(what: BrowseFilter) -> None:
    assert not matches(what, ROW, now=NOW)


@pytest.mark.parametrize(
    "what",
    [
        BrowseFilter(projects=("/home/ada/shop",), kinds=(MemoryKind.COMMIT,)),
        BrowseFilter(until=ROW.created_at + timedelta(seconds=1), tags=("gIT",)),
        BrowseFilter(states=("edited", "expiring")),
        BrowseFilter(sessions=("codex:two", "codex:one")),
    ],
)
def test_a_row_that_meets_all_criteria_is_shown(what: BrowseFilter) -> None:
    assert matches(what, ROW, now=NOW)


@pytest.mark.parametrize(("seconds", "live"), [(0, True), (1, False)])
def test_a_row_is_hidden_from_the_moment_it_expires(seconds: int, live: bool) -> None:
    now = NOW + timedelta(seconds=seconds)
    assert matches(BrowseFilter(), ROW, now=now) is live
    assert matches(BrowseFilter(states=("expired",)), ROW, now=now) is not live


VALUES = {
    "agent:": ("claude-code", "codex", "copilot"),
    "project:": ("shop", "my site"),
    "kind:": tuple(MemoryKind),
}


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", ""),
        ("git", "git"),
        ("pro", "project:"),
        ("-ag", "-agent:"),
        ("git agent:cl", "git agent:claude-code "),
        ("agent:c", "agent:claude-code "),
        ("agent:co", "agent:codex "),
        ("agent:cop", "agent:copilot "),
        ("kind:COM", "kind:commit "),
        ("kind:re", "kind:recovery "),
        ("kind:ref", "kind:refused "),
        ("project:m", 'project:"my site" '),
        ("agent:nobody", "agent:nobody"),
        ("since:7", "since:7"),
    ],
)
def test_tab_completes_the_last_word(text: str, after: str) -> None:
    assert completed(text, VALUES) == after


def test_what_several_values_begin_with_is_filled_in_first() -> None:
    values = {"tag:": ("branch:main-a", "branch:main-b")}
    assert completed("tag:b", values) == "tag:branch:main-"


@given(st.text(max_size=40))
def test_completing_never_takes_anything_away(text: str) -> None:
    assert len(completed(text, VALUES)) >= len(text) or '"' in text


def test_choosing_a_group_that_was_left_out_lets_it_in_again() -> None:
    assert toggle_operator("-agent:codex git", "agent:", "codex") == "git"
    assert toggle_operator("-agent:codex git", "agent:", "claude-code") == "agent:claude-code git"


def test_what_belongs_to_everybody_is_filtered_as_of_all_agents() -> None:
    query = parse_query('agent:"all agents"', now=NOW, agents=(*AGENTS, SHARED_OWNER))
    assert query.criteria.agents == (SHARED_OWNER,)
    assert [chip.label for chip in query.chips] == ["@all agents"]
    assert read('-agent:"all agents"').unwanted.agents == (), "nothing of it is there"

"""Which folders are one project, what it is called, and what a person may say of it."""

import shutil
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.checkouts import FolderSeen
from synthorg_tui.core.projects import (
    ProjectEdit,
    ProjectMap,
    UnknownProjectError,
    find_project,
    project_names,
    same_project,
    spelling,
    use_projects,
    worktree_root,
)
from tests.core.test_checkouts import git, repository


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


SPELLINGS = (
    ("C:\\Users\\Ada\\dev\\app", "c:/users/ada/dev/app"),
    ("c:/users/ada/dev/app/", "c:/users/ada/dev/app"),
    ("/mnt/c/Users/Ada/dev/x/../app", "c:/users/ada/dev/app"),
    ("/cygdrive/c/Users/Ada/dev/app", "c:/users/ada/dev/app"),
    ("\\\\?\\C:\\Users\\ada\\dev\\app", "c:/users/ada/dev/app"),
    ("\\\\wsl$\\Ubuntu\\home\\ada\\app", "/home/ada/app"),
    ("//wsl.localhost/Debian/home/ada/app", "/home/ada/app"),
    ("/private/tmp/app", "/tmp/app"),
    ("/private/tmpx/app", "/private/tmpx/app"),
    ("/Users/Ada/App", "/users/ada/app"),
    ("/home/Ada/App/.", "/home/Ada/App"),
    ("C:", "c:"),
    ("/mnt/cd/app", "/mnt/cd/app"),
    ("/Users/ada/cafe\u0301", "/users/ada/caf\u00e9"),
    ("", ""),
)


def test_two_spellings_of_one_folder_are_equal() -> None:
    assert [(path, spelling(path)) for path, _ in SPELLINGS] == list(SPELLINGS)


@given(st.lists(st.from_regex(r"[a-z0-9_]{1,8}", fullmatch=True), min_size=1, max_size=5))
def test_a_spelling_is_its_own_spelling(steps: list[str]) -> None:
    for start in ("C:\\", "/mnt/d/", "/home/", "/private/var/", "/Users/"):
        once = spelling(start + "/".join(steps))
        assert spelling(once) == once


WORKTREES = (
    ("/dev/shop/.worktrees/1", "/dev/shop"),
    ("/dev/shop/.worktrees/fix/login/src", "/dev/shop"),
    ("/dev/shop/.claude/worktrees/agent-1", "/dev/shop"),
    ("/dev/shop/.conductor/zurich", "/dev/shop"),
    ("/dev/shop-worktrees/a", "/dev/shop"),
    ("/dev/shop.worktrees/a", "/dev/shop"),
    ("/dev/shop__worktrees/fix-login", "/dev/shop"),
    ("C:\\dev\\shop\\.worktrees\\1", "C:/dev/shop"),
    ("/home/ada/.cursor/worktrees/shop/ab1", "/home/ada/.cursor/worktrees/shop"),
    ("/home/ada/.claude-worktrees/shop/calm-fox", "/home/ada/.claude-worktrees/shop"),
    ("/home/ada/conductor/workspaces/shop/oslo", "/home/ada/conductor/workspaces/shop"),
    ("/home/ada/.codex/worktrees/ab12/shop", "/home/ada/.codex/worktrees/ab12/shop"),
    ("/dev/git-worktrees/shop", "/dev/git-worktrees/shop"),
    ("/dev/shop-worktrees", "/dev/shop-worktrees"),
    ("/dev/worktrees/a", "/dev/worktrees/a"),
    ("/dev/shop", "/dev/shop"),
    ("/", "/"),
)


def test_the_name_of_a_folder_tells_whose_worktree_it_is() -> None:
    assert [(path, worktree_root(path)) for path, _ in WORKTREES] == list(WORKTREES)


def test_worktrees_at_any_place_are_of_their_repository_also_when_they_are_gone(
    tmp_path: Path,
) -> None:
    shop = repository(tmp_path / "shop")
    places = [
        tmp_path / name
        for name in (
            "zurich-v1",
            "deep/er/2",
            "shop/.worktrees/1",
            "shop/inner",
            "shop-worktrees/a",
            "home/w",
        )
    ]
    for number, place in enumerate(places):
        git(shop, "worktree", "add", "--quiet", str(place), "-b", f"b{number}")
    known = ProjectMap()
    assert {known.of(str(place)) for place in places} == {str(shop)}
    for place in places:
        shutil.rmtree(place)
    known.learn(map(str, places), again=True)
    assert {known.of(str(place)) for place in places} == {str(shop)}
    assert {known.name(str(place)) for place in places} == {"shop"}
    assert not any(known.seen[str(place)].exists for place in places)


def test_a_folder_named_worktrees_counts_where_the_repository_is_known() -> None:
    known = ProjectMap([FolderSeen("/dev/shop")])
    assert known.of("/dev/shop/worktrees/a") == "/dev/shop"
    assert known.of("/dev/other/worktrees/a") == "/dev/other/worktrees/a"


def test_clones_of_one_remote_are_one_project_called_as_it_is(tmp_path: Path) -> None:
    one = repository(tmp_path / "a" / "copy", remote="git@host.org:acme/Shop.git")
    two = repository(tmp_path / "b" / "Shop", text="y", remote="https://host.org/acme/shop")
    other = repository(tmp_path / "c" / "shop", text="z", remote="https://host.org/fork/shop")
    known = ProjectMap()
    known.learn(map(str, (one, two, other)))
    assert known.of(str(one)) == known.of(str(two)) == str(two)
    assert known.name(str(one)) == "Shop"
    assert known.of(str(other)) == str(other)


def test_a_clone_of_a_folder_is_of_that_folders_project(tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop", remote="https://host.org/acme/shop")
    git(tmp_path, "clone", "--quiet", str(shop), str(tmp_path / "again"))
    known = ProjectMap()
    assert known.of(str(tmp_path / "again")) == known.of(str(shop)) == str(shop)


def test_a_transcript_tells_the_repository_of_a_folder_that_is_gone_only() -> None:
    known = ProjectMap([FolderSeen("/dev/shop", "/dev/shop", "/dev/shop", "host/acme/shop")])
    known.tell("/tmp/4711", "host/acme/shop")
    known.tell("/tmp/4712", "path:/dev/shop")
    known.tell("/dev/shop", "host/evil/evil")
    assert known.of("/tmp/4711") == known.of("/tmp/4712") == known.of("/dev/shop") == "/dev/shop"
    alone = ProjectMap()
    alone.tell("/tmp/4711", "host/acme/shop")
    assert alone.name("/tmp/4711") == "shop"


def test_a_renamed_folder_is_one_project_and_two_empty_beginnings_are_two(tmp_path: Path) -> None:
    old, other = tmp_path / "oldname", tmp_path / "other"
    for place in (old, other):
        place.mkdir()
        git(place, "init", "--quiet")
        git(
            place,
            "-c",
            "user.name=a",
            "commit",
            "--quiet",
            "--allow-empty",
            "--message",
            "i",
            "--date",
            "2026-01-01T00:00:00Z",
        )
    known = ProjectMap()
    known.learn([str(old), str(other)])
    known.seen[str(other)] = known.seen[str(old)].__class__(
        str(other), str(other), str(other), "", known.seen[str(old)].first, exists=True
    )
    assert known.of(str(old)) != known.of(str(other))
    old.rename(tmp_path / "newname")
    shutil.rmtree(other)
    del known.seen[str(other)]
    known.learn([str(tmp_path / "newname")])
    assert known.of(str(old)) == known.of(str(tmp_path / "newname")) == str(tmp_path / "newname")
    assert known.name(str(old)) == "newname"


def test_histories_that_went_to_two_places_stay_two() -> None:
    forks = [FolderSeen(f"/{n}", f"/{n}", f"/{n}", f"host/{n}/shop", exists=True) for n in "ab"]
    known = ProjectMap(forks)
    assert known.of("/a") != known.of("/b")


def test_what_a_person_says_holds_in_the_order_it_was_said() -> None:
    seen = [FolderSeen(f"/{name}") for name in ("a", "b", "c")]
    merge = ProjectEdit("merge", ("/a", "/b"), "a")
    split = ProjectEdit("split", ("/b",))
    rename = ProjectEdit("rename", ("/a",), "shop")
    assert ProjectMap(seen, [merge]).of("/b") == "/a"
    assert ProjectMap(seen, [merge, split]).of("/b") == "/b"
    assert ProjectMap(seen, [split, merge]).of("/b") == "/a"
    assert ProjectMap(seen, [rename, split]).name("/a") == "shop"
    assert ProjectMap(seen, [rename]).name("/c") == "c"


def test_a_split_takes_a_clone_out_of_its_project_with_its_subfolders() -> None:
    seen = [
        FolderSeen(folder, root, root, "host/acme/shop", exists=True)
        for folder, root in (("/a", "/a"), ("/b", "/b"), ("/b/src", "/b"))
    ]
    known = ProjectMap(seen, [ProjectEdit("split", ("/b",))])
    assert known.of("/b/src") == known.of("/b") == "/b"
    assert known.of("/a") == "/a"


def test_the_order_in_which_folders_are_known_does_not_change_what_is_one() -> None:
    seen = (
        FolderSeen("/a", "/a", "/a", "host/x", exists=True),
        FolderSeen("/b", "/b", "/b", "host/x"),
        FolderSeen("/a/.worktrees/1"),
        FolderSeen("/c"),
    )
    for order in permutations(seen):
        known = ProjectMap(order)
        one, other, tree, apart = (known.of(f) for f in ("/a", "/b", "/a/.worktrees/1", "/c"))
        assert one == other == tree != apart


def test_projects_of_one_name_are_told_by_the_folder_above() -> None:
    assert project_names(["/x/app", "/y/app", "/z/shop"]) == {
        "/x/app": "x/app",
        "/y/app": "y/app",
        "/z/shop": "shop",
    }


def test_a_bound_holds_in_its_project_and_below_it() -> None:
    assert same_project("/dev/shop", "/dev/shop/.worktrees/1")
    assert same_project("/dev/shop", "/dev/shop/src")
    assert same_project("", "/dev/x")
    assert same_project(None, None)
    assert not same_project("/dev/shop", "/dev/shopping")
    assert not same_project("/dev/shop", None)


NAMED = (
    ("shop", "/dev/shop"),
    ("SHOP", "/dev/shop"),
    ("dev/shop", "/dev/shop"),
    ("/dev/shop/.worktrees/1", "/dev/shop"),
    ("x/app", "/x/app"),
    ("old", "/dev/new"),
    ("app", "several projects are called app: Did you mean x/app, y/app?"),
    ("shup", "no project is 'shup': Did you mean shop?"),
    ("/dev/none", "no project is '/dev/none': Known are new, shop, x/app, y/app."),
    ("", "/here"),
)


def test_a_person_names_a_project_by_name_by_path_or_not_at_all() -> None:
    use_projects(ProjectMap((), [ProjectEdit("merge", ("/dev/new", "/dev/old"), "new")]))
    known = ["/dev/shop", "/x/app", "/y/app", "/dev/new"]
    try:
        assert [(named, said(named, known)) for named, _ in NAMED] == list(NAMED)
    finally:
        use_projects(ProjectMap())


def test_the_name_that_is_shown_of_a_project_names_it() -> None:
    use_projects(ProjectMap((), [ProjectEdit("rename", ("/y/worktree-1",), "shop")]))
    known = ["/dev/shop", "/y/worktree-1"]
    try:
        assert said("shop", known).endswith("Did you mean dev/shop, y/shop?")
        assert said("y/shop", known) == "/y/worktree-1"
    finally:
        use_projects(ProjectMap())


def said(named: str, known: list[str]) -> str:
    """The project that is found, or the error with its remedy."""
    try:
        return find_project(named, known, "/here")
    except UnknownProjectError as error:
        return f"{error}: {error.remedy}"

"""What a folder on this disk says of its repository, and how addresses are compared."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.checkouts import address_of, look_at


def git(folder: Path, *words: str) -> None:
    """Run git in a folder, as a person without any configuration of his own."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


def repository(folder: Path, *, text: str = "x", remote: str = "") -> Path:
    """Make a repository with a file and one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "file").write_text(text)
    git(folder, "add", "file")
    git(folder, "commit", "--quiet", "--message", text)
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


ADDRESSES = (
    ("https://host.org/Acme/Shop.git", "host.org/acme/shop"),
    ("https://ada:secret@HOST.org/acme/shop/", "host.org/acme/shop"),
    ("git@host.org:acme/shop.git", "host.org/acme/shop"),
    ("host.org:acme/shop", "host.org/acme/shop"),
    ("ssh://git@host.org:2222/acme/shop.git", "host.org/acme/shop"),
    ("git://host.org/acme//shop", "host.org/acme/shop"),
    ("git+ssh://git@www.host.org/acme/shop", "host.org/acme/shop"),
    ("ssh://git@ssh.github.com:443/acme/shop.git", "github.com/acme/shop"),
    ("https://host.org:8443/acme/shop", "host.org:8443/acme/shop"),
    ("https://org@dev.azure.com/org/pro%20ject/_git/shop", "dev.azure.com/org/pro ject/shop"),
    ("git@ssh.dev.azure.com:v3/org/pro%20ject/shop", "dev.azure.com/org/pro ject/shop"),
    ("/srv/git/Shop.git", "path:/srv/git/Shop.git"),
    ("file:///srv/shop/.git", "path:/srv/shop"),
    ("../shop", "path:/home/shop"),
    ("/my code/shop", "path:/my code/shop"),
    ("C:\\code\\shop", "path:C:/code/shop"),
    ("file:///C:/code/shop", "path:C:/code/shop"),
    ("https://host.org", ""),
    ("https://[broken/acme", ""),
    ("just words", ""),
    ("", ""),
    ("host.org:\x1b[31m", ""),
    ("https://host.org/" + "a" * 3_000, ""),
)


def test_addresses_are_one_however_they_are_written() -> None:
    said = [(text, address_of(text, "/home/me")) for text, _ in ADDRESSES]
    assert said == list(ADDRESSES)


_NAME = st.from_regex(r"[a-z0-9][a-z0-9_.-]{0,12}[a-z0-9]", fullmatch=True).filter(
    lambda name: not name.endswith(".git") and ".." not in name
)


@given(st.lists(_NAME, min_size=2, max_size=4), st.booleans())
def test_https_ssh_and_case_give_one_address(steps: list[str], is_git: bool) -> None:
    path, end = "/".join(steps), ".git" if is_git else ""
    forms = (
        f"https://host.org/{path}{end}",
        f"git@host.org:{path}{end}",
        f"ssh://git@host.org/{path.upper()}{end}/",
    )
    assert {address_of(form) for form in forms} == {f"host.org/{path}"}


@given(st.text(max_size=60))
def test_any_text_has_one_address_or_none(text: str) -> None:
    found = address_of(text)
    again = f"https://{found}" if found and not found.startswith("path:") else found[5:]
    assert found == "" or found.isprintable()
    assert found == "" or address_of(again) == found


def test_a_subfolder_a_worktree_and_its_subfolder_are_of_the_main_checkout(tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop", remote="git@host.org:acme/shop.git")
    (shop / "src").mkdir()
    git(shop, "worktree", "add", "--quiet", str(tmp_path / "far" / "zurich"), "-b", "zurich")
    (tmp_path / "far" / "zurich" / "src").mkdir()
    found = [
        look_at(str(place))
        for place in (
            shop,
            shop / "src",
            tmp_path / "far/zurich",
            tmp_path / "far/zurich/src",
            shop / "gone",
        )
    ]
    assert {each.root for each in found} == {str(shop)}
    assert {each.address for each in found} == {"host.org/acme/shop"}
    assert [each.checkout for each in found[2:4]] == [str(tmp_path / "far/zurich")] * 2
    assert [each.exists for each in found] == [True] * 4 + [False]


def test_a_submodule_is_a_repository_of_its_own_and_names_its_parent(tmp_path: Path) -> None:
    library = repository(tmp_path / "library")
    shop = repository(tmp_path / "shop")
    git(shop, "submodule", "--quiet", "add", str(library), "vendor/library")
    found = look_at(str(shop / "vendor" / "library"))
    assert (found.root, found.parent) == (str(shop / "vendor/library"), str(shop))
    assert found.address == f"path:{library}"


def test_worktrees_of_a_bare_repository_are_named_after_it(tmp_path: Path) -> None:
    shop = repository(tmp_path / "made")
    git(tmp_path, "clone", "--quiet", "--bare", str(shop), str(tmp_path / "shop" / ".bare"))
    git(tmp_path / "shop/.bare", "worktree", "add", "--quiet", "../main", "main")
    assert look_at(str(tmp_path / "shop" / "main")).root == str(tmp_path / "shop")


def test_a_repository_without_remote_is_told_by_its_first_commit(tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    first = look_at(str(shop)).first
    (shop / "file").write_text("more")
    git(shop, "commit", "--quiet", "--all", "--message", "more")
    assert first
    assert look_at(str(shop)).first == first
    assert look_at(str(shop), history=False).first == ""


def test_a_git_file_that_points_into_another_repository_is_not_believed(tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop", remote="git@host.org:acme/shop.git")
    git(shop, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    for number, aim in enumerate((shop / ".git", shop / ".git/worktrees/tree")):
        thief = tmp_path / f"thief{number}"
        thief.mkdir()
        (thief / ".git").write_text(f"gitdir: {aim}\n")
        assert (look_at(str(thief)).root, look_at(str(thief)).address) == ("", "")


def test_a_worktree_that_was_moved_is_still_of_its_repository(tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    git(shop, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    (tmp_path / "tree").rename(tmp_path / "moved")
    assert look_at(str(tmp_path / "moved")).root == str(shop)


def test_a_repository_of_the_whole_home_is_nobodys_project(tmp_path: Path) -> None:
    git(tmp_path / "home", "init", "--quiet")
    (tmp_path / "home" / "notes").mkdir()
    assert look_at(str(tmp_path / "home" / "notes")).root == ""


def test_what_configuration_says_is_read_and_never_done(tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    (shop / ".git" / "config").write_text(
        f'[core]\n\tfsmonitor = "touch {tmp_path}/ran"\n\tsshCommand = touch {tmp_path}/ran\n'
        f"[include]\n\tpath = {tmp_path}/other\n"
        '[remote "up"]\n url = https://host.org/up/shop\n'
        '[Remote "origin"] ; mine\n\tURL = "https://host.org/acme/\\"shop\\"" # told\n'
    )
    (tmp_path / "other").write_text('[remote "origin"]\n url = https://host.org/evil/evil\n')
    assert look_at(str(shop)).address == 'host.org/acme/"shop"'
    assert not (tmp_path / "ran").exists()


def test_broken_files_of_git_say_nothing(tmp_path: Path) -> None:
    for number, content in enumerate((b"", b"\0" * 9_000, b"gitdir: \0", b"gitdir: /nowhere")):
        place = tmp_path / f"broken{number}"
        place.mkdir()
        (place / ".git").write_bytes(content)
        assert look_at(str(place)).root == ""
    assert look_at("\0").root == look_at("relative").root == ""

"""Copies of a project for one run: what is in them, what was changed, and that nothing stays."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import in_place, scratch_agent, scratch_root
from synthorg_tui.core.projects import repository_of
from synthorg_tui.runtime import worktrees
from synthorg_tui.runtime.worktrees import (
    changes_in,
    environ_of,
    findings_in,
    remove_leftover_copies,
    scratch_worktree,
)
from tests import REPO
from tests.runtime.executors.client_kit import git, is_running, repository


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


def left_behind() -> list[str]:
    return sorted(each.name for each in scratch_root().iterdir())


async def test_a_copy_of_a_repository_is_a_detached_worktree_at_its_commit(shop: Path) -> None:
    async with scratch_worktree(shop) as copy:
        assert git(copy, "rev-parse", "HEAD") == git(shop, "rev-parse", "HEAD")
        assert git(copy, "branch", "--show-current") == ""
        assert git(copy, "status", "--short") == ""


async def test_without_a_commit_named_it_has_what_is_not_committed(shop: Path) -> None:
    (shop / "readme.txt").write_text("two\n")
    (shop / "new.txt").write_text("new\n")
    (shop / "lib" / "code.py").unlink()
    before = git(shop, "status", "--short")
    async with scratch_worktree(shop) as copy:
        assert git(copy, "status", "--short") == before
        assert (copy / "new.txt").read_text() == "new\n"
    assert git(shop, "status", "--short") == before


async def test_a_named_commit_is_copied_as_it_was(shop: Path) -> None:
    (shop / "readme.txt").write_text("two\n")
    async with scratch_worktree(shop, ref="main") as copy:
        assert (copy / "readme.txt").read_text() == "one\n"


async def test_an_unknown_commit_is_refused_and_nothing_stays(shop: Path) -> None:
    with pytest.raises(DomainError, match="rev-parse"):
        async with scratch_worktree(shop, ref="--upload-pack=evil"):
            pass
    assert left_behind() == []


async def test_a_folder_of_a_repository_is_worked_in_within_a_copy_of_all_of_it(shop: Path) -> None:
    async with scratch_worktree(shop / "lib") as copy:
        assert copy.name == "lib"
        assert (copy.parent / "readme.txt").exists()


async def test_the_path_of_a_copy_tells_whose_copy_it_is(shop: Path) -> None:
    async with scratch_worktree(shop / "lib", agent_id="team/bücher") as copy:
        assert in_place(f"cat {copy}/code.py") == f"cat {shop}/lib/code.py"
        assert repository_of(str(copy)) == str(shop)
        assert scratch_agent(str(copy)) == "team/bücher"
    async with scratch_worktree(shop) as copy:
        assert scratch_agent(str(copy)) == ""
    assert in_place(f"{scratch_root()}/else") == f"{scratch_root()}/else"


async def test_what_was_changed_is_a_patch_that_applies(shop: Path) -> None:
    (shop / "readme.txt").write_text("two\n")
    async with scratch_worktree(shop) as copy:
        (copy / "readme.txt").write_text("two\nthree\n")
        (copy / "picture").write_bytes(bytes(range(256)))
        git(copy, "add", "--all")
        git(copy, "commit", "--quiet", "--message", "done")
        (copy / "lib" / "code.py").unlink()
        patch = changes_in(copy)
    (shop.parent / "patch").write_bytes(patch)
    git(shop, "apply", "../patch")
    assert (shop / "readme.txt").read_text() == "two\nthree\n"
    assert (shop / "picture").read_bytes() == bytes(range(256))
    assert not (shop / "lib" / "code.py").exists()


async def test_paths_that_do_not_count_are_in_no_patch(shop: Path) -> None:
    async with scratch_worktree(shop / "lib") as copy:
        (copy / "given").mkdir()
        (copy / "given" / "SKILL.md").write_text("ours\n")
        assert changes_in(copy, without=["given/SKILL.md"]) == b""
        (copy / "own.txt").write_text("its own\n")
        assert b"lib/own.txt" in changes_in(copy, without=["given/SKILL.md"])


async def test_a_change_within_the_same_second_and_size_is_seen(shop: Path) -> None:
    async with scratch_worktree(shop) as copy:
        (copy / "readme.txt").write_text("two\n")
        assert b"+two" in changes_in(copy)


async def test_an_unchanged_copy_has_no_patch(shop: Path) -> None:
    (shop / "new.txt").write_text("new\n")
    async with scratch_worktree(shop) as copy:
        assert changes_in(copy) == b""


async def test_nothing_stays_of_a_copy_not_even_in_the_repository(shop: Path) -> None:
    async with scratch_worktree(shop) as copy:
        (copy / "lib").chmod(0o500)
    assert left_behind() == []
    assert git(shop, "worktree", "list").count("\n") == 1


async def test_hooks_of_the_repository_do_not_run(shop: Path) -> None:
    hook = shop / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {shop}/ran\n")
    hook.chmod(0o755)
    async with scratch_worktree(shop):
        assert not (shop / "ran").exists()


async def test_a_plain_folder_is_copied_with_links_that_stay_inside(tmp_path: Path) -> None:
    plain, outside = tmp_path / "plain", tmp_path / "outside.txt"
    (plain / "deep").mkdir(parents=True)
    outside.write_text("secret\n")
    (plain / "file.txt").write_text("one\n")
    (plain / "deep" / "up").symlink_to("../file.txt")
    (plain / "whole").symlink_to(plain / "file.txt")
    (plain / "out").symlink_to(outside)
    (plain / "away").symlink_to(tmp_path)
    async with scratch_worktree(plain) as copy:
        assert (copy / "deep" / "up").read_text() == "one\n"
        (copy / "whole").write_text("two\n")
        assert not (copy / "out").is_symlink()
        assert not (copy / "away").is_symlink()
        assert b"+two" in changes_in(copy)
    assert (plain / "file.txt").read_text() == "one\n"


@pytest.mark.parametrize(("files", "refused"), [(3, False), (4, True)])
async def test_a_plain_folder_has_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int, refused: bool
) -> None:
    monkeypatch.setattr(worktrees, "MAX_COPIED_FILES", 3)
    plain = tmp_path / "plain"
    plain.mkdir()
    for number in range(files):
        (plain / f"{number}.txt").write_text("x")
    expected = pytest.raises(DomainError, match="3 files") if refused else nullcontext()
    with expected:
        async with scratch_worktree(plain) as copy:
            assert len(list(copy.iterdir())) == files
    assert left_behind() == []


async def test_a_patch_has_a_bound(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worktrees, "MAX_PATCH_BYTES", 1000)
    async with scratch_worktree(shop) as copy:
        (copy / "large.txt").write_text("line\n" * 1000)
        with pytest.raises(DomainError, match="more than"):
            changes_in(copy)


async def applied(shop: Path, copy: Path) -> None:
    """Apply what was changed in a copy to the project, as the words of a run say it."""
    (shop.parent / "patch").write_bytes(changes_in(copy))
    git(shop, "--git-dir=/dev/null", "apply", "../patch")


async def test_files_with_a_filter_are_copied_as_they_lie_and_no_filter_runs(shop: Path) -> None:
    ran = shop.parent / "ran"
    (shop / ".gitattributes").write_text("*.bin filter=lfs\n*.utf16 working-tree-encoding=UTF-16\n")
    (shop / "large.bin").write_text("content\n")
    (shop / "other.utf16").write_text("text\n", encoding="utf-16")
    git(shop, "config", "filter.lfs.clean", "echo pointer")
    git(shop, "add", "--all")
    git(shop, "commit", "--quiet", "--message", "lfs")
    assert git(shop, "show", "HEAD:large.bin") == "pointer\n"
    for step in ("clean", "smudge", "process"):
        git(shop, "config", f"filter.lfs.{step}", f"touch {ran}")
    git(shop, "config", "filter.lfs.required", "true")
    async with scratch_worktree(shop) as copy:
        assert (copy / "large.bin").read_text() == "content\n"
        assert (copy / "other.utf16").read_bytes() == (shop / "other.utf16").read_bytes()
        assert changes_in(copy) == b""
        (copy / "large.bin").write_text("changed\n")
        assert "filter=lfs" in str(findings_in(copy))
        await applied(shop, copy)
    assert (shop / "large.bin").read_text() == "changed\n"
    assert not ran.exists()


async def test_a_submodule_and_other_repositories_are_not_looked_into(shop: Path) -> None:
    nested = repository(shop / "vendor")
    git(shop, "add", "--all")
    git(shop, "commit", "--quiet", "--message", "submodule")
    repository(shop / "own")
    async with scratch_worktree(shop) as copy:
        assert git(copy, "status", "--short") == ""
        assert list((copy / "vendor").iterdir()) == []
        assert not (copy / "own").exists()
        assert findings_in(copy) == ([], [])
        git(copy, "init", "--quiet", "unborn")
        (copy / "unborn" / "file.txt").write_text("x\n")
        (copy / "new.txt").write_text("new\n")
        assert "unborn/" in str(findings_in(copy))
        patch = changes_in(copy)
    assert b"new.txt" in patch
    assert b"unborn" not in patch
    assert b"vendor" not in patch
    assert (nested / "readme.txt").exists()


async def test_folders_files_and_links_may_take_each_others_place(shop: Path) -> None:
    async with scratch_worktree(shop) as copy:
        (copy / "readme.txt").unlink()
        (copy / "readme.txt").mkdir()
        (copy / "readme.txt" / "inside").write_text("x\n")
        (copy / "lib" / "code.py").unlink()
        (copy / "lib").rmdir()
        (copy / "lib").symlink_to("readme.txt")
        await applied(shop, copy)
    assert (shop / "lib" / "inside").read_text() == "x\n"


async def test_the_settings_of_a_person_do_not_get_in_the_way(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signing, another form of patches, an ignore file of their own, line ends, a split index."""
    own = tmp_path / "home" / ".gitconfig"
    own.parent.mkdir()
    ran = tmp_path / "ran"
    (tmp_path / "ignored").write_text("*.swp\n")
    own.write_text(
        f"[commit]\ngpgSign = true\n[gpg]\nprogram = touch {ran}\n[diff]\nnoprefix = true\n"
        f"external = touch {ran}\n[core]\nexcludesFile = {tmp_path}/ignored\nsplitIndex = true\n"
    )
    (shop / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    (shop / ".gitattributes").write_text("dos.txt text eol=crlf\n")
    (shop / ".git" / "info" / "exclude").write_text("notes\n")
    git(shop, "add", "--all")
    git(shop, "-c", "commit.gpgSign=false", "commit", "--quiet", "--message", "dos")
    for name in ("x.swp", "notes"):
        (shop / name).write_text("mine\n")
    async with scratch_worktree(shop) as copy:
        assert not (copy / "x.swp").exists()
        assert not (copy / "notes").exists()
        assert (copy / "dos.txt").read_bytes() == b"one\r\ntwo\r\n"
        assert changes_in(copy) == b""
        (copy / "dos.txt").write_bytes(b"one\r\nthree\r\n")
        (copy / "readme.txt").write_text("two\n")
        assert findings_in(copy) == ([], [])
        await applied(shop, copy)
    assert (shop / "readme.txt").read_text() == "two\n"
    assert (shop / "dos.txt").read_bytes() == b"one\r\nthree\r\n"
    assert not ran.exists()


async def test_line_ends_stay_as_they_lie(shop: Path) -> None:
    git(shop, "config", "core.autocrlf", "true")
    (shop / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    git(shop, "add", "--all")
    git(shop, "commit", "--quiet", "--message", "dos")
    assert git(shop, "ls-files", "--eol", "dos.txt").startswith("i/lf    w/crlf")
    async with scratch_worktree(shop) as copy:
        assert git(copy, "status", "--short") == ""
        assert (copy / "dos.txt").read_bytes() == b"one\r\ntwo\r\n"
        (copy / "dos.txt").write_bytes(b"one\r\nthree\r\n")
        await applied(shop, copy)
    assert (shop / "dos.txt").read_bytes() == b"one\r\nthree\r\n"


async def test_a_worktree_of_a_person_is_copied_like_any_repository(shop: Path) -> None:
    git(shop, "worktree", "add", "--quiet", "-b", "fix", "../fix")
    (shop.parent / "fix" / "new.txt").write_text("new\n")
    async with scratch_worktree(shop.parent / "fix") as copy:
        assert (copy / "new.txt").exists()
        git(copy, "checkout", "--quiet", "-b", "its-own")
        git(copy, "config", "branch.its-own.remote", "origin")
        git(copy, "config", "branch.its-own.merge", "refs/heads/its-own")
        assert changes_in(copy) == b""
        assert findings_in(copy) == ([], [])


async def test_a_worktree_that_configuration_moved_is_not_followed(shop: Path) -> None:
    git(shop, "config", "core.worktree", str(shop.parent))
    (shop.parent / "private.txt").write_text("private\n")
    async with scratch_worktree(shop) as copy:
        assert (copy / "readme.txt").exists()
        assert not (copy.parent / "private.txt").exists()


async def test_a_repository_of_many_files_is_compared(shop: Path) -> None:
    for number in range(3_000):
        (shop / "lib" / f"{number}.txt").write_text(f"{number}\n")
    git(shop, "add", "--all")
    git(shop, "commit", "--quiet", "--message", "many")
    async with scratch_worktree(shop) as copy:
        (copy / "lib" / "7.txt").write_text("changed\n")
        patch = changes_in(copy)
    assert patch.count(b"diff --git") == 1


async def test_what_a_run_does_to_the_index_hides_no_change(shop: Path) -> None:
    async with scratch_worktree(shop) as copy:
        git(copy, "update-index", "--assume-unchanged", "readme.txt")
        (copy / "readme.txt").write_text("two\n")
        assert b"+two" in changes_in(copy)


async def test_git_is_never_a_program_of_the_folder_it_runs_in(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / "git").write_text(f"#!/bin/sh\ntouch {shop.parent}/ran\n")
    (shop / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
    async with scratch_worktree(shop) as copy:
        assert changes_in(copy) == b""
    assert not (shop.parent / "ran").exists()


async def test_git_gets_no_keys(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = shop.parent / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nenv >> {shop.parent}/seen; PATH=/usr/bin:/bin exec git "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-person")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "external")
    async with scratch_worktree(shop) as copy:
        changes_in(copy)
    seen = (shop.parent / "seen").read_text()
    assert "key-of-the-person" not in seen
    assert "GIT_EXTERNAL_DIFF" not in seen


async def test_what_is_told_of_git_is_bounded_and_holds_no_secret(shop: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    git(shop, "config", "http.extraHeader", "was: there")
    async with scratch_worktree(shop) as copy:
        git(copy, "config", "http.extraHeader", f"Authorization: token {key}")
        for number in range(20):
            git(copy, "config", f"alias.a{number}", "x\x1b" + "y" * 1000)
        (found,), _ = findings_in(copy)
    assert "http.extraheader" in found
    assert key not in found
    assert "\x1b" not in found
    assert "13 more, 1 entry of before gone" in found
    assert len(found) < 2_500


ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads the environment in /proc")


@ON_LINUX
async def test_programs_that_left_their_group_end_with_the_copy(shop: Path) -> None:
    async with scratch_worktree(shop) as copy:
        runaway = await asyncio.create_subprocess_exec(
            "sleep", "60", env=environ_of(copy, os.environ), start_new_session=True
        )
    assert await runaway.wait() == -9


CRASHES = """
import asyncio, json, os, signal, subprocess, sys
from pathlib import Path
from synthorg_tui.runtime.worktrees import environ_of, scratch_worktree

async def main():
    async with scratch_worktree(Path(sys.argv[1])) as copy:
        runaway = subprocess.Popen(
            ["sleep", "60"], env=environ_of(copy, os.environ), start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        print(json.dumps([str(copy), runaway.pid]), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@ON_LINUX
async def test_what_a_crash_left_is_removed_and_what_is_in_use_is_not(shop: Path) -> None:
    async with scratch_worktree(shop) as used:
        crashed = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", CRASHES, str(shop)),
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(REPO)},
        )
        told, _ = await crashed.communicate()
        copy, runaway = json.loads(told)
        assert Path(copy).exists()
        assert remove_leftover_copies() == 1
        assert not Path(copy).exists()
        assert used.exists()
        assert not is_running(runaway)
        assert git(shop, "worktree", "list").count("\n") == 2
    assert left_behind() == []


async def test_a_copy_is_not_copied_again_and_stays_with_its_maker(shop: Path) -> None:
    async with scratch_worktree(shop) as copy:
        async with scratch_worktree(copy) as same:
            assert same == copy
        assert copy.exists()


async def test_a_file_is_no_workspace(shop: Path) -> None:
    with pytest.raises(DomainError, match="no folder"):
        async with scratch_worktree(shop / "readme.txt"):
            pass


async def test_a_plain_folder_that_holds_the_copies_is_not_copied(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    with pytest.raises(DomainError, match="lie in it"):
        async with scratch_worktree(home):
            pass

"""Copies of a project for one run: what is in them, what was changed, and that nothing stays."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from synthorg_tui.core.paths import in_place, repository_of, scratch_agent, scratch_root
from synthorg_tui.runtime import worktrees
from synthorg_tui.runtime.worktrees import (
    WorktreeError,
    changes_in,
    environ_of,
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
    with pytest.raises(WorktreeError, match="rev-parse"):
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
        assert repository_of(str(copy)) == str(shop / "lib")
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
        patch = await changes_in(copy)
    (shop.parent / "patch").write_bytes(patch)
    git(shop, "apply", "../patch")
    assert (shop / "readme.txt").read_text() == "two\nthree\n"
    assert (shop / "picture").read_bytes() == bytes(range(256))
    assert not (shop / "lib" / "code.py").exists()


async def test_paths_that_do_not_count_are_in_no_patch(shop: Path) -> None:
    async with scratch_worktree(shop / "lib") as copy:
        (copy / "given").mkdir()
        (copy / "given" / "SKILL.md").write_text("ours\n")
        assert await changes_in(copy, without=["given/SKILL.md"]) == b""
        (copy / "own.txt").write_text("its own\n")
        assert b"lib/own.txt" in await changes_in(copy, without=["given/SKILL.md"])


async def test_a_change_within_the_same_second_and_size_is_seen(shop: Path) -> None:
    async with scratch_worktree(shop) as copy:
        (copy / "readme.txt").write_text("two\n")
        assert b"+two" in await changes_in(copy)


async def test_an_unchanged_copy_has_no_patch(shop: Path) -> None:
    (shop / "new.txt").write_text("new\n")
    async with scratch_worktree(shop) as copy:
        assert await changes_in(copy) == b""


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
        assert b"+two" in await changes_in(copy)
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
    expected = pytest.raises(WorktreeError, match="3 files") if refused else nullcontext()
    with expected:
        async with scratch_worktree(plain) as copy:
            assert len(list(copy.iterdir())) == files
    assert left_behind() == []


async def test_a_patch_has_a_bound(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worktrees, "MAX_PATCH_BYTES", 1000)
    async with scratch_worktree(shop) as copy:
        (copy / "large.txt").write_text("line\n" * 1000)
        with pytest.raises(WorktreeError, match="more than"):
            await changes_in(copy)


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


async def test_a_copy_is_not_copied(shop: Path) -> None:
    async with scratch_worktree(shop) as copy:
        with pytest.raises(WorktreeError, match="is a copy itself"):
            async with scratch_worktree(copy):
                pass


async def test_a_file_is_no_workspace(shop: Path) -> None:
    with pytest.raises(WorktreeError, match="no folder"):
        async with scratch_worktree(shop / "readme.txt"):
            pass


async def test_a_plain_folder_that_holds_the_copies_is_not_copied(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    with pytest.raises(WorktreeError, match="lie in it"):
        async with scratch_worktree(home):
            pass

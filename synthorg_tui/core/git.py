"""Git in folders that an agent may have written: nothing that lies there is executed.

All of this program's use of git goes through ``run_git``. It runs in one of two ways:

- with ``git_dir``, a git directory of our own beside the folder: no configuration in the folder, in
  its repository or of the person is read, so that there is no filter, hook, include or alias;
- without, in the repository that git finds: only for commands that read names or configuration or
  register a worktree without files. None of them runs a filter; hooks, monitors, transports and
  every helper that configuration can name are switched off besides.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from synthorg_tui.core.errors import DomainError

_SECONDS: Final = 300.0
_NO_PROGRAM: Final = "false"
_PASSED_ON: Final = ("HOME", "XDG_CONFIG_HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_SAFE: Final = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_SSH_COMMAND": _NO_PROGRAM,
    "GIT_PROXY_COMMAND": _NO_PROGRAM,
    "GIT_ASKPASS": _NO_PROGRAM,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": _NO_PROGRAM,
    "GIT_SEQUENCE_EDITOR": _NO_PROGRAM,
    "GIT_PAGER": "cat",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
"""Variables that go before configuration, also in the git processes that git starts itself."""
_OWN_CONFIG: Final = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
_OVERRIDES: Final = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    f"core.attributesFile={os.devnull}",
    "credential.helper=",
    "diff.external=",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "submodule.recurse=false",
    "protocol.allow=never",
    "maintenance.auto=false",
    "gc.auto=0",
)


class GitError(DomainError):
    """Git isn't installed, or one of its commands failed."""


def run_git(
    folder: Path,
    *words: str,
    git_dir: Path | None = None,
    index: Path | None = None,
    given: bytes = b"",
) -> bytes:
    """Run a git command in a folder, and return what it wrote.

    Args:
        folder: Where it runs; with ``git_dir`` also its work tree.
        words: The command and its arguments.
        git_dir: The git directory to use in place of the one that git would find.
        index: The index file to use with ``git_dir``, in place of the one in that directory.
        given: What it reads from its standard input.

    Raises:
        GitError: It isn't installed, fails, or takes more than five minutes.
    """
    try:
        done = subprocess.run(
            [_program(), *(word for each in _OVERRIDES for word in ("-c", each)), *words],
            cwd=folder,
            env=_environ(folder, git_dir, index),
            input=given,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git {words[0]} failed: {error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise GitError(f"git {words[0]} failed: {said[-1] if said else 'it said nothing'}")
    return done.stdout


def nul_joined(entries: Iterable[str]) -> bytes:
    """Return paths or pathspecs as git reads them, each ended by a NUL."""
    return b"".join(os.fsencode(each) + b"\0" for each in entries)


def nul_split(written: bytes) -> list[str]:
    """Return the entries of what git wrote with ``-z``."""
    return [os.fsdecode(each) for each in written.split(b"\0")[:-1]]


def _program() -> str:
    """The path of git: never one that lies in the folder where it runs."""
    found = shutil.which("git", path=_search_path())
    if found is None:
        raise GitError("git isn't installed", remedy="Install git: copies are made with it.")
    return found


def _search_path() -> str:
    """The search path without entries that mean the folder in which a program runs."""
    named = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(each for each in named if Path(each).is_absolute())


def _environ(folder: Path, git_dir: Path | None, index: Path | None) -> dict[str, str]:
    """The variables of a git process: a few of ours, none that holds a key."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environ = {**kept, "PATH": _search_path(), **_SAFE}
    if git_dir is not None:
        environ |= {"GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(folder), **_OWN_CONFIG}
        environ["GIT_INDEX_FILE"] = str(index or git_dir / "index")
    return environ

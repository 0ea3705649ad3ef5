"""Git's own files, before and after a run: what was written that a later git command acts on.

A worktree shares its repository's configuration and hooks, so a run that may write there decides
what the person's next ``git add`` executes. What was there when the run began is remembered as
hashes, since it may hold secrets; what is there afterwards and wasn't is told.
"""

import os
import re
from collections.abc import Collection, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from synthorg_tui.core.files import read_plain
from synthorg_tui.core.git import GitError, nul_split, run_git
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import counted, safe_text, truncate

MAX_TOLD: Final = 8
"""Entries that are told; of more the number is."""
MAX_BYTES: Final = 1024 * 1024
_MAX_CHARS: Final = 160
_CONFIGS: Final = (
    "config",
    "config.worktree",
    "worktrees/*/config.worktree",
    "modules/**/config",
    "modules/**/config.worktree",
)
_OTHERS: Final = (
    "hooks/*",
    "info/*",
    "objects/info/*alternates",
    "refs/replace/*",
    "worktrees/*/commondir",
    "modules/**/hooks/*",
    "modules/**/info/*",
    "modules/**/commondir",
)
_OF_BRANCHES: Final = re.compile(
    r"branch\..*\.(?:merge|rebase|description)=.*|branch\..*\.remote=[\w.-]+", re.DOTALL
)
"""What git itself writes for a branch that is made or pushed."""


def git_files(repository: Path) -> Iterator[str]:
    """Yield what a git directory tells git to do: ``config: KEY=VALUE``, ``hooks/NAME: TEXT``."""
    for pattern in _CONFIGS:
        for path in sorted(repository.glob(pattern)):
            name = str(path.relative_to(repository))
            yield from (f"{name}: {each}" for each in _entries(path))
    for pattern in _OTHERS:
        for path in sorted(repository.glob(pattern)):
            content = "" if path.is_dir() else _content(path).strip()
            is_usual = path.name == "commondir" and content == "../.."
            if content and not is_usual and path.suffix != ".sample":
                yield f"{path.relative_to(repository)}: {content}"


def marks(lines: Collection[str] | Iterator[str]) -> tuple[str, ...]:
    """Return the hash of each line, by which it is known again."""
    return tuple(sha256(line.encode(errors="surrogateescape")).hexdigest() for line in lines)


def changed_files(repository: Path, before: Collection[str]) -> str:
    """Return in words what differs from ``before``, the marks of then; empty when nothing does."""
    lines = list(git_files(repository))
    now = dict(zip(marks(lines), lines, strict=True))
    new = [line for mark, line in now.items() if mark not in before]
    gone = len(set(before) - now.keys())
    parts = [excerpts(new)] if new else []
    if gone:
        parts.append(f"{counted(gone, 'entry', 'entries')} of before gone")
    return ", ".join(parts)


def excerpts(lines: Collection[str]) -> str:
    """Return the first lines for a person, each cut, with hidden characters and secrets shown."""
    shown = [_excerpt(line) for line in list(lines)[:MAX_TOLD]]
    if len(lines) > MAX_TOLD:
        shown.append(f"{len(lines) - MAX_TOLD} more")
    return ", ".join(shown)


def replaced_git_file(copy: Path, written: str) -> str:
    """Return in words what ``.git`` in a copy is now; empty when it is as it was ``written``.

    ``written`` is empty for a copy that had none.
    """
    path = copy / ".git"
    if path.is_symlink():
        return f"a link to {_excerpt(str(path.readlink()))}"
    if path.is_dir():
        return f"a folder: {excerpts(list(git_files(path))) or 'without configuration'}"
    now = _content(path) if path.exists() else ""
    if now == written:
        return ""
    return f"a file: {_excerpt(now.strip())}" if now else "gone"


def _entries(path: Path) -> Iterator[str]:
    """The entries of a configuration file; of one that can't be read as such, its content."""
    content = _content(path)
    words = ("config", "--file", "-", "--no-includes", "--list", "-z")
    given = content.encode(errors="surrogateescape")
    try:
        entries = nul_split(run_git(Path("/"), *words, git_dir=Path(os.devnull), given=given))
    except GitError:
        yield content
        return
    for key, _, value in (each.partition("\n") for each in entries):
        if not _OF_BRANCHES.fullmatch(f"{key}={value}"):
            yield f"{key}={value}"


def _content(path: Path) -> str:
    """The text of a file; of what is none, why."""
    try:
        content, _ = read_plain(path, limit=MAX_BYTES)
    except OSError as error:
        return f"can't be read: {error.strerror or error}"
    return content.decode(errors="surrogateescape")


def _excerpt(line: str) -> str:
    plain = line.encode(errors="surrogateescape").decode(errors="replace")
    return truncate(safe_text(redact_text(plain, RedactionTally())), _MAX_CHARS)

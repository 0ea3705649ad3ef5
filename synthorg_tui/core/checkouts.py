"""What a folder on this disk says of its repository, read from git's own small files.

Nothing is executed here but ``git rev-list``, through ``core.git``, for a repository without a
remote. The files ``.git``, ``commondir``, ``gitdir`` and ``config`` may be a stranger's: they are
read up to a bound, includes are not followed, and a ``.git`` file that points into a repository
which doesn't know of that checkout is not believed.
"""

import os
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_MAX_POINTER: Final = 4_096
_MAX_CONFIG: Final = 262_144
_MAX_ADDRESS: Final = 2_000
_SECTION: Final = re.compile(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)"\s*)?\]')
_SCP: Final = re.compile(r"(?:[^@/\s]+@)?(?P<host>\[[0-9A-Fa-f:]+\]|[^:/\s@]{2,}):(?P<path>[^\s]+)")
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")
_HOSTS: Final = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
"""Hosts that serve the repositories of another name."""
_NO_FILES: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The tree of a commit without files, in a repository of SHA-1."""


@dataclass(frozen=True, slots=True)
class FolderSeen:
    """What is known of a folder in which sessions worked.

    Args:
        folder: The folder, as sessions name it.
        root: The main checkout of its repository; of a bare one without any, its own folder. Empty
            when it is in no repository, or was gone when it was looked at.
        checkout: The top of the checkout that it lies in: ``root``, or that of a linked worktree.
        address: Where the repository comes from, as ``address_of`` returns it. A transcript may
            have told it, when there is no ``root``.
        first: The first commit of a repository without a remote; ``-`` after it means one without
            files, which says little.
        parent: The checkout of the repository of which this one is a submodule.
        exists: Whether the folder was there when it was last looked at.
    """

    folder: str
    root: str = ""
    checkout: str = ""
    address: str = ""
    first: str = ""
    parent: str = ""
    exists: bool = False


def look_at(folder: str, *, history: bool = True) -> FolderSeen:
    """Return what this disk says of a folder; one that is gone is looked for in those above it.

    With ``history`` the first commit of a repository without a remote is read, too, which starts
    git. Never fails: what can't be read says nothing.
    """
    try:
        exists = Path(folder).is_absolute() and Path(folder).is_dir()
        found = _checkout_of(folder) if Path(folder).is_absolute() else None
        if found is None:
            return FolderSeen(folder, exists=exists)
        checkout, git_dir, common = found
        values = dict(_config(common / "config"))
        root = _root_of(checkout, git_dir, common, values)
        address = address_of(_remote_in(values), str(checkout))
        first = "" if address or not history else _first_commit(checkout, common)
        parent = _parent_of(common)
    except (OSError, ValueError):
        return FolderSeen(folder)
    return FolderSeen(folder, root, str(checkout), address, first, parent, exists)


def address_of(written: str, base: str = "/") -> str:
    """Return a repository's address in one spelling: ``host/owner/name``, or ``path:/folder``.

    Scheme, user, password and a trailing ``.git`` say nothing of which repository it is; hosts
    and paths are compared without case. A relative path starts at ``base``. Empty for a text that
    is no address.
    """
    text = written.strip()
    if not text or len(text) > _MAX_ADDRESS or not text.isprintable() or " " in text:
        return _local(text, base) if _is_path(text) else ""
    if _is_path(text):
        return _local(text, base)
    if "://" in text:
        return _of_url(text, base)
    if scp := _SCP.fullmatch(text):
        return _joined(scp["host"], scp["path"])
    return ""


def _is_path(text: str) -> bool:
    usable = text.isprintable() and len(text) <= _MAX_ADDRESS
    return usable and (text.startswith(("/", "./", "../", "\\\\")) or bool(_DRIVE.match(text)))


def _local(text: str, base: str) -> str:
    path = text.replace("\\", "/")
    is_whole = path.startswith("/") or _DRIVE.match(path)
    whole = posixpath.normpath(path if is_whole else posixpath.join(base, path))
    return f"path:{whole.removesuffix('/.git') or '/'}"


def _of_url(text: str, base: str) -> str:
    try:
        parts = urlsplit(text.replace("\\", "/"))
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if parts.scheme.casefold() == "file":
        path = unquote(parts.path)
        return _local(path[1:] if _DRIVE.match(path[1:]) else path, base) if path else ""
    if port and "ssh" not in parts.scheme and port not in {80, 443, 9418}:
        host = f"{host}:{port}"
    return _joined(host, parts.path)


def _joined(host: str, path: str) -> str:
    host = host.strip("[]").rstrip(".").casefold().removeprefix("www.")
    host = _HOSTS.get(host, host)
    steps = [step for step in unquote(path).casefold().split("/") if step not in {"", "."}]
    if host == "dev.azure.com":
        steps = [step for step in steps if step not in {"v3", "_git"}]
    if steps:
        steps[-1] = steps[-1].removesuffix(".git")
    found = "/".join([host, *steps])
    return found if host and steps and steps[-1] and found.isprintable() else ""


def _checkout_of(folder: str) -> tuple[Path, Path, Path] | None:
    """The top of the checkout that a folder is in, its git directory, and the common one.

    A repository of everything, in the home folder or at the root, is nobody's project.
    """
    start = Path(os.path.realpath(folder))
    everything = {Path(os.path.realpath(Path.home())), Path(start.anchor)}
    for place in (start, *start.parents):
        if place in everything:
            return None
        entry = place / ".git"
        if entry.is_dir() and (entry / "HEAD").is_file():
            return place, entry, _common(entry)
        if entry.is_file() and (named := _pointer(entry, "gitdir:")):
            git_dir = Path(os.path.realpath(place / named))
            if (git_dir / "HEAD").is_file() and _knows(git_dir, place):
                return place, git_dir, _common(git_dir)
    return None


def _common(git_dir: Path) -> Path:
    named = _pointer(git_dir / "commondir")
    return Path(os.path.realpath(git_dir / named)) if named else git_dir


def _knows(git_dir: Path, checkout: Path) -> bool:
    """Whether a git directory is that of the checkout which names it, and not of another one.

    The way back may be out of date: that of a worktree which was moved leads to nothing.
    """
    if _common(git_dir) != git_dir:
        back = _pointer(git_dir / "gitdir")
        if not back:
            return False
        other = Path(os.path.realpath(git_dir / back))
        return other == checkout / ".git" or not other.exists()
    worktree = dict(_config(git_dir / "config")).get(("core", "", "worktree"), "")
    if worktree:
        return Path(os.path.realpath(git_dir / worktree)) == checkout
    return git_dir.name != ".git"


def _root_of(
    checkout: Path, git_dir: Path, common: Path, values: dict[tuple[str, str, str], str]
) -> str:
    if git_dir == common:
        return str(checkout)
    if worktree := values.get(("core", "", "worktree")):
        return os.path.realpath(common / worktree)
    return str(common.parent if common.name in {".git", ".bare"} else common)


def _parent_of(common: Path) -> str:
    """The checkout whose git directory has this one as a submodule's; empty for none."""
    above, found, _ = str(common).rpartition("/.git/modules/")
    return above if found else ""


def _remote_in(values: dict[tuple[str, str, str], str]) -> str:
    urls = {
        name: url
        for (section, name, key), url in values.items()
        if section == "remote" and key == "url"
    }
    return urls.get("origin") or next(iter(urls.values()), "")


def _first_commit(checkout: Path, common: Path) -> str:
    from synthorg_tui.core.git import GitError, run_git  # most repositories have a remote

    if (common / "shallow").exists():
        return ""
    try:
        written = run_git(checkout, "rev-list", "--max-parents=0", "--format=%H %T", "HEAD")
    except GitError:
        return ""
    words = [line.split() for line in written.decode("ascii", "replace").splitlines()]
    roots = sorted((each[0], each[1]) for each in words if len(each) == 2 and each[0] != "commit")
    return f"{roots[0][0]}{'-' if roots[0][1] == _NO_FILES else ''}" if roots else ""


def _pointer(path: Path, name: str = "") -> str:
    """The path that a small file of git holds, after ``name``; empty for another file."""
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_POINTER).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return ""
    return text.removeprefix(name).strip() if text.startswith(name) and "\0" not in text else ""


def _config(path: Path) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yield the values of a configuration file by section, subsection and key."""
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_CONFIG).decode("utf-8", "replace")
    except OSError:
        return
    section = name = ""
    for line in text.replace("\\\n", "").splitlines():
        line = line.strip()
        if found := _SECTION.match(line):
            section, name = found[1].lower(), re.sub(r"\\(.)", r"\1", found[2] or "")
            line = line[found.end() :].strip()
        key, equals, value = line.partition("=")
        if equals and not line.startswith(("#", ";")):
            yield (section, name, key.strip().lower()), _value(value)


def _value(written: str) -> str:
    """A value without its quotes, escapes and comment."""
    found, is_quoted, at = "", False, 0
    while at < len(written):
        mark = written[at]
        if mark == "\\" and at + 1 < len(written):
            at += 1
            found += {"n": "\n", "t": "\t"}.get(written[at], written[at])
        elif mark == '"':
            is_quoted = not is_quoted
        elif mark in "#;" and not is_quoted:
            break
        else:
            found += mark
        at += 1
    return found.strip()

"""SKILL.md files on disk: reading, writing and removing them without leaving their root.

Folders of skills are strangers' folders. So no link is followed, no pipe or device opened, no large
file read, and a file is replaced as a whole, through ``core.files``. Nothing in here knows what a
skill says (``validate``, ``frontmatter``) or which of two with the same name is in force
(``library``).
"""

import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from synthorg_tui.core.files import (
    MAX_FILE_BYTES,
    FileTooLargeError,
    NotPlainFileError,
    opened_folder,
    read_plain,
    remove_drafts,
    sync,
    write_atomically,
)
from synthorg_tui.core.text import is_utf8
from synthorg_tui.skills.document import Finding, Severity, SkillPathError, SkillWriteError
from synthorg_tui.skills.names import MAX_NAME, is_name

FILE_NAME: Final = "SKILL.md"

MAX_SKILLS: Final = 1_000
"""Folders of one root that are read; the others are counted."""

IRREGULAR: Final = "irregular"
"""Takes the place of the hash for a link, a folder, a device, or a file that is too large."""

Stamp: TypeAlias = tuple[int, ...]
"""Mode, device, inode, size and times: equal stamps mean an unchanged file, mostly."""

_GONE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""Errors that say that an entry was removed or replaced since it was listed."""

_LATEST: Final = 5
"""Where in a stamp the time of the latest change is, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class RawFile:
    """The file of one skill as read.

    ``problem`` says why there is no ``text``; ``note`` is a finding about a file that was read.
    """

    path: Path
    stamp: Stamp
    sha256: str = ""
    text: str = ""
    problem: Finding | None = None
    note: Finding | None = None


def skill_folders(root: int) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """List a root: names of its folders, names of its links, and how many folders were left out.

    Hidden entries and names that aren't UTF-8 are ignored. Both lists are sorted and hold at most
    ``MAX_SKILLS`` names.

    Args:
        root: an open descriptor of the root's folder.
    """
    folders, links = [], []
    with os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(".") or not is_utf8(entry.name):
                continue
            if entry.is_symlink():
                links.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
    listed = sorted(folders)[:MAX_SKILLS]
    return tuple(listed), tuple(sorted(links)[:MAX_SKILLS]), len(folders) - len(listed)


def read_folder(
    path: Path, root: int, known: RawFile | None, *, trusted_before: int
) -> RawFile | None:
    """Read the skill in a folder; ``None`` when the folder has none.

    ``root`` is an open descriptor of the folder that ``path`` is in. ``known`` is returned unread
    when the file's stamp is still the same and its latest change was before ``trusted_before``
    (nanoseconds since the epoch) when it was read: a file system may give changes in quick
    succession the same time.
    """
    try:
        with opened_folder(path.name, folder=root) as folder:
            name = _file_name(folder)
            return _read(path / name, folder, known, trusted_before) if name else None
    except OSError as error:
        if error.errno in _GONE:
            return None
        problem = _error(f"it can't be read: {error.strerror}", "Check its permissions.")
        return RawFile(path / FILE_NAME, (), problem=problem)


def _read(path: Path, folder: int, known: RawFile | None, trusted_before: int) -> RawFile:
    name = path.name
    stamp = _stamp(os.stat(name, dir_fd=folder, follow_symlinks=False))
    is_known = known is not None and (known.path.name, known.stamp) == (name, stamp)
    if known is not None and is_known and stamp[_LATEST] < trusted_before:
        return known
    if not stat.S_ISREG(stamp[0]):
        link = stat.S_ISLNK(stamp[0])
        kind = "a link, which isn't followed" if link else "no plain file"
        return RawFile(path, stamp, problem=_error(f"{name} is {kind}", "Put the file there."))
    try:
        data, status = read_plain(name, folder=folder)
    except NotPlainFileError:  # since a moment ago
        return RawFile(path, stamp, problem=_error(f"{name} is no plain file", "Remove it."))
    except FileTooLargeError:
        problem = _error(
            f"the file is larger than {MAX_FILE_BYTES >> 20} MB, so it isn't read",
            "Move what isn't needed at once to files of its own.",
        )
        return RawFile(path, stamp, problem=problem)
    return _decoded(path, _stamp(status), data)


def _decoded(path: Path, stamp: Stamp, data: bytes) -> RawFile:
    digest = sha256_of(data)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = _error(f"byte {error.start + 1:,} is not UTF-8", "Save it as UTF-8.", line)
        return RawFile(path, stamp, sha256=digest, problem=problem)
    note = None
    if path.name != FILE_NAME:
        remedy = f"Rename it {FILE_NAME}."
        note = Finding(1, Severity.WARNING, f"the file is called {path.name}", remedy)
    return RawFile(path, stamp, sha256=digest, text=text, note=note)


def _file_name(folder: int) -> str | None:
    """The name of the skill's file in its folder, in whatever case it is written."""
    names = [name for name in os.listdir(folder) if name.lower() == FILE_NAME.lower()]
    return FILE_NAME if FILE_NAME in names else min(names, default=None)


def _stamp(status: os.stat_result) -> Stamp:
    latest = max(status.st_mtime_ns, status.st_ctime_ns)
    return (
        status.st_mode,
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        latest,
    )


def _error(message: str, remedy: str, line: int = 1) -> Finding:
    return Finding(line, Severity.ERROR, message, remedy)


def skill_path(root: Path, name: str) -> Path:
    """Return the path at which the skill's file belongs, checked for links on the way.

    Raises:
        SkillPathError: the name isn't a skill's, or a link stands where the file belongs.
        SkillWriteError: the file system refused to tell.
    """
    if not is_name(name):
        raise SkillPathError(
            f"{name!r} is no name for a skill's folder",
            remedy=f"Use at most {MAX_NAME} of a-z, 0-9 and single hyphens between them.",
        )
    folder = root / name
    path = folder / FILE_NAME
    for entry, is_right in ((folder, stat.S_ISDIR), (path, stat.S_ISREG)):
        try:
            mode = entry.lstat().st_mode
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _refused(path, "reached", error) from error
        if not is_right(mode):
            kind = "folder" if entry is folder else "file"
            raise SkillPathError(
                f"{entry} is no plain {kind}", remedy="Remove it, or rename the skill."
            )
    return path


def write_skill(root: Path, name: str, content: str | bytes) -> Path:
    """Replace the skill's file as a whole, durably; return its path. Its folder is made if needed.

    Raises:
        SkillPathError: the name isn't a skill's, or a link stands where the file belongs.
        SkillWriteError: the file system refused; what was there is unchanged.
    """
    path = skill_path(root, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        write_atomically(path, data, mode=None)
        sync(root)
    except OSError as error:
        raise _refused(path, "written", error) from error
    return path


def remove_skill(root: Path, name: str) -> bool:
    """Remove the skill's file, and its folder if that is empty then; return whether it existed.

    Raises:
        SkillPathError: the name isn't a skill's, or a link stands where the file belongs.
        SkillWriteError: the file system refused.
    """
    path = skill_path(root, name)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _refused(path, "removed", error) from error
    remove_drafts(path)
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
    sync(root)
    return True


def _refused(path: Path, what: str, error: OSError) -> SkillWriteError:
    return SkillWriteError(
        f"{path} can't be {what}: {error.strerror or error}",
        remedy="Check the folder's permissions and the free space.",
    )


@dataclass(frozen=True, slots=True)
class FileState:
    """The content of a skill's file at one moment.

    ``sha256`` is in hex. Both fields are empty without a file; ``sha256`` is ``IRREGULAR`` and
    ``content`` empty where something else than a plain file of readable size stands.
    """

    sha256: str = ""
    content: bytes = b""

    @property
    def text(self) -> str:
        """The content decoded as UTF-8, with replacement characters for invalid bytes."""
        return self.content.decode("utf-8", "replace")


def sha256_of(content: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def state_of(path: Path) -> FileState:
    """Read a skill's file without following links, the one of its folder included."""
    try:
        if stat.S_ISLNK(path.parent.lstat().st_mode):
            return FileState(IRREGULAR)
        with opened_folder(path.parent) as folder:
            content, _ = read_plain(path.name, folder=folder)
    except (FileNotFoundError, NotADirectoryError):
        return FileState()
    except OSError:
        return FileState(IRREGULAR)
    return FileState(sha256_of(content), content)

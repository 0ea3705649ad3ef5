"""Reading skills' files without leaving their root: no link is followed, no device is opened.

Writing a SKILL.md so that readers see the old or the new one, and nothing outside the root.
A skill's file as it is on disk at this moment, read without following links.
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
from synthorg_tui.skills.document import Finding, Severity, SkillPathError, SkillWriteError
from synthorg_tui.skills.names import MAX_NAME, is_name

MAX_SKILLS: Final = 1_000
"""Folders of one root that are looked at."""

Stamp: TypeAlias = tuple[int, ...]
"""What tells a file from its earlier states without reading it."""

_LATEST: Final = 5
"""Where in a stamp the time of the latest change is, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file as bytes on disk; ``problem`` is why ``text`` is missing."""

    path: Path
    stamp: Stamp
    sha256: str = ""
    text: str = ""
    problem: Finding | None = None
    note: Finding | None = None


def skill_folders(root: int) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """Names of the folders in a root, names of the links in it, and how many weren't looked at.

    Hidden ones, and those whose names aren't UTF-8, are no skills.
    """
    folders, links = [], []
    with os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(".") or not _is_utf8(entry.name):
                continue
            if entry.is_symlink():
                links.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
    kept = sorted(folders)[:MAX_SKILLS]
    return tuple(kept), tuple(sorted(links)[:MAX_SKILLS]), len(folders) - len(kept)


class FolderReader:
    """Reads the skill in one folder of a root."""

    def __init__(self, root: Path, descriptor: int, name: str) -> None:
        self._root = descriptor
        self._name = name
        self._folder = root / name

    def read(self, known: RawFile | None, *, trusted_before: int) -> RawFile | None:
        """The skill's file; ``None`` when there is none.

        ``known`` comes back when the file's stamp is still the same and its latest change was
        before ``trusted_before`` (nanoseconds since the epoch) when it was read: a file system
        may give changes in quick succession the same time.
        """
        try:
            with opened_folder(self._name, folder=self._root) as folder:
                name = _file_name(folder)
                return self._file(folder, name, known, trusted_before) if name else None
        except OSError as error:
            return None if _is_gone(error) else self._refused(FILE_NAME, (), _unreadable(error))

    def _file(
        self, folder: int, name: str, known: RawFile | None, trusted_before: int
    ) -> RawFile | None:
        stamp = _stamp(os.stat(name, dir_fd=folder, follow_symlinks=False))
        same = known is not None and known.path.name == name and known.stamp == stamp
        if same and stamp[_LATEST] < trusted_before:
            return known
        if not stat.S_ISREG(stamp[0]):
            link = stat.S_ISLNK(stamp[0])
            kind = "a link, which isn't followed" if link else "no plain file"
            return self._refused(name, stamp, _error(f"{name} is {kind}", "Put the file there."))
        try:
            data, status = read_plain(name, folder=folder)
        except NotPlainFileError:  # since a moment ago
            return self._refused(name, stamp, _error(f"{name} is no plain file", "Remove it."))
        except FileTooLargeError:
            problem = _error(
                f"the file is larger than {MAX_FILE_BYTES >> 20} MB, so it isn't read",
                "Move what isn't needed at once to files of its own.",
            )
            return self._refused(name, stamp, problem)
        return self._decoded(name, _stamp(status), data)

    def _decoded(self, name: str, stamp: Stamp, data: bytes) -> RawFile:
        digest = hashlib.sha256(data).hexdigest()
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            problem = _error(f"byte {error.start + 1:,} is not UTF-8", "Save it as UTF-8.", line)
            return RawFile(self._folder / name, stamp, sha256=digest, problem=problem)
        note = None
        if name != FILE_NAME:
            remedy = f"Rename it {FILE_NAME}."
            note = Finding(1, Severity.WARNING, f"the file is called {name}", remedy)
        return RawFile(self._folder / name, stamp, sha256=digest, text=text, note=note)

    def _refused(self, name: str, stamp: Stamp, problem: Finding) -> RawFile:
        return RawFile(self._folder / name, stamp, problem=problem)


def _file_name(folder: int) -> str | None:
    """The name of the skill's file in its folder, in whatever case it is written."""
    names = [name for name in os.listdir(folder) if name.lower() == FILE_NAME.lower()]
    return FILE_NAME if FILE_NAME in names else min(names, default=None)


def _stamp(found: os.stat_result) -> Stamp:
    latest = max(found.st_mtime_ns, found.st_ctime_ns)
    return (
        found.st_mode,
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        latest,
    )


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_gone(error: OSError) -> bool:
    """Whether what was listed a moment ago is no longer there, or something else is."""
    return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def _unreadable(error: OSError) -> Finding:
    return _error(f"it can't be read: {error.strerror}", "Check its permissions.")


def _error(message: str, remedy: str, line: int = 1) -> Finding:
    return Finding(line, Severity.ERROR, message, remedy)


FILE_NAME: Final = "SKILL.md"


def skill_path(root: Path, name: str) -> Path:
    """Where the skill's file belongs.

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
    for each, is_right in ((folder, stat.S_ISDIR), (path, stat.S_ISREG)):
        try:
            mode = each.lstat().st_mode
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _refused(path, "reached", error) from error
        if not is_right(mode):
            kind = "folder" if each is folder else "file"
            raise SkillPathError(
                f"{each} is no plain {kind}", remedy="Remove it, or rename the skill."
            )
    return path


def write_skill(root: Path, name: str, content: str | bytes) -> Path:
    """Put the text, or the bytes of one, in the skill's file, durably and at once; the file's path.

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
    """Remove the skill's file, and its folder when nothing else is in it; whether it was there.

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


IRREGULAR: Final = "irregular"
"""Stands for the hash of what is no readable file of at most ``MAX_FILE_BYTES`` bytes."""


@dataclass(frozen=True, slots=True)
class FileState:
    """Bytes with their SHA-256 (hex); both empty when there is no file."""

    sha256: str = ""
    content: bytes = b""

    @property
    def text(self) -> str:
        """The bytes as text."""
        return self.content.decode("utf-8", "replace")


def sha256_of(content: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def state_of(path: Path) -> FileState:
    """What is at ``path``; links, folders and too large files are ``IRREGULAR``."""
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

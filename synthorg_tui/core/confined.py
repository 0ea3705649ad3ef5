"""Files of one folder, read and written so that nothing leads out of it.

Agents that run here are given a folder to work in, and name files in it as they like. Each part of
a path is opened in the folder before it, and never through a link: so a link that is made between a
look and an act, by a command that the same agent started, changes nothing. Searching whole trees
isn't done here.
"""

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import (
    FileTooLargeError,
    NotPlainFileError,
    opened_folder,
    read_plain,
    write_atomically,
)
from synthorg_tui.core.text import is_utf8, safe_text, size, truncate

MAX_PATH: Final = 4_096
MAX_NAME_BYTES: Final = 255
MAX_DEPTH: Final = 100
_MAX_SHOWN: Final = 200
_PERMISSIONS: Final = 0o777


class ConfinedPathError(DomainError):
    """A path leads out of the folder, through a link, or to what is no plain file there."""


class ConfinedFolder:
    """A folder and what lies in it; paths are relative to it, or absolute and in it.

    Raises:
        ConfinedPathError: ``root`` isn't a folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        if not self.root.is_dir():
            raise ConfinedPathError(f"{_shown(str(root))} is no folder")

    def parts(self, path: str) -> tuple[str, ...]:
        """Return the names that lead to a path, none for the folder itself.

        Raises ``ConfinedPathError`` for a path out of the folder or with a name that no file should
        have: control characters, invisible ones, or bytes that are no text.
        """
        if len(path) > MAX_PATH:
            raise ConfinedPathError(f"a path has at most {MAX_PATH} characters")
        if not is_utf8(path) or any(unicodedata.category(each) in ("Cc", "Cf") for each in path):
            problem = f"{_shown(path)} has control or invisible characters, which no name may have"
            raise ConfinedPathError(problem)
        whole = os.path.normpath(self.root / path)
        if whole != str(self.root) and not whole.startswith(f"{str(self.root).rstrip('/')}/"):
            raise ConfinedPathError(
                f"{_shown(path)} is outside of the workspace",
                remedy="Only files in the workspace can be read and written.",
            )
        names = tuple(filter(None, whole[len(str(self.root)) :].split("/")))
        if len(names) > MAX_DEPTH or any(len(name.encode()) > MAX_NAME_BYTES for name in names):
            raise ConfinedPathError(f"{_shown(path)} is too long or too deep")
        return names

    def shown(self, path: str) -> str:
        """Return a path relative to the folder, as it is shown; ``.`` is the folder itself."""
        return _shown("/".join(self.parts(path)) or ".")

    def read(self, path: str, *, limit: int) -> bytes:
        """Return the bytes of a plain file.

        Raises ``ConfinedPathError`` when it isn't one, is outside, isn't there or has more than
        ``limit`` bytes.
        """
        with self._explained(path), self._parent(path) as (folder, name):
            content, _ = read_plain(name, limit=limit, folder=folder)
        return content

    def read_if_there(self, path: str, *, limit: int) -> bytes | None:
        """Return the bytes of a plain file, ``None`` when nothing has its name; raises as ``read``.

        A folder above it may be missing, too.
        """
        try:
            with self._explained(path), self._parent(path) as (folder, name):
                return read_plain(name, limit=limit, folder=folder)[0]
        except ConfinedPathError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def write(self, path: str, content: bytes) -> None:
        """Write a file whole or not at all, with the mode of the one it replaces.

        Missing folders are made. Raises ``ConfinedPathError`` when something that is no plain file
        has its name, the path leads outside, or the system refuses.
        """
        with self._explained(path), self._parent(path, make=True) as (folder, name):
            mode: int | None = None
            with suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if not stat.S_ISREG(status.st_mode):
                    raise NotPlainFileError(errno.EINVAL, "not a plain file", name)
                mode = status.st_mode & _PERMISSIONS
            write_atomically(name, content, mode=mode, durable=False, folder=folder)

    def require_folder(self, path: str) -> None:
        """Raise ``ConfinedPathError`` unless the path is a folder in here, reached by no link."""
        with self._explained(path), self._opened(self.parts(path)):
            pass

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The descriptor of the folder that a file lies in, and the file's name."""
        names = self.parts(path)
        if not names:
            raise ConfinedPathError("the workspace itself is no file")
        with self._opened(names[:-1], make=make) as folder:
            yield folder, names[-1]

    @contextmanager
    def _opened(self, names: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
        with ExitStack() as stack:
            folder = stack.enter_context(opened_folder(self.root))
            for name in names:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=folder)
                folder = stack.enter_context(opened_folder(name, folder=folder))
            yield folder

    @contextmanager
    def _explained(self, path: str) -> Iterator[None]:
        """Say in words what the system refused."""
        try:
            yield
        except FileTooLargeError as error:
            raise ConfinedPathError(f"{_shown(path)} is too large") from error
        except OSError as error:
            what = self._what_is(path, error)
            raise ConfinedPathError(f"{_shown(path)} {what}") from error

    def _what_is(self, path: str, error: OSError) -> str:
        if isinstance(error, FileNotFoundError):
            return "doesn't exist"
        odd = self._odd(self.parts(path))
        if odd:
            return odd
        return f"can't be used: {error.strerror or type(error).__name__}"

    def _odd(self, names: tuple[str, ...]) -> str:
        """What stands in the way of a path; only to say it, nothing is decided by it."""
        at = self.root
        for place, name in enumerate(names, start=1):
            at = at / name
            try:
                mode = at.lstat().st_mode
            except OSError:
                return ""
            if stat.S_ISLNK(mode):
                return f"has a link in it ({_shown(name)}): links aren't followed"
            is_last = place == len(names)
            if not is_last and not stat.S_ISDIR(mode):
                return f"has a part that is no folder ({_shown(name)})"
            if is_last and stat.S_ISDIR(mode):
                return "is a folder"
            if is_last and not stat.S_ISREG(mode):
                return "is a pipe, a socket or a device, not a plain file"
        return ""


def as_text(content: bytes, name: str) -> str:
    """Return the text of a file; raises ``ConfinedPathError`` for one that holds no UTF-8 text."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ConfinedPathError(f"{_shown(name)} holds no text ({size(len(content))} of binary)")
    return text


def with_replacement(text: str, old: str, new: str, *, everywhere: bool = False) -> str:
    """Return a text in which ``new`` stands for ``old``, which has to occur exactly once.

    With ``everywhere`` it may occur more often. In a text with Windows' line ends those of ``old``
    and ``new`` are taken for such. Raises ``ConfinedPathError`` with the reason otherwise.
    """
    if not old:
        raise ConfinedPathError("the text to replace is empty")
    if old == new:
        raise ConfinedPathError("the new text is the same as the old one")
    if old not in text and "\r\n" in text and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    found = text.count(old)
    if not found:
        raise ConfinedPathError(
            "the text to replace isn't in the file",
            remedy="Read the file again; white space counts, and what is shown as a mark isn't it.",
        )
    if found > 1 and not everywhere:
        raise ConfinedPathError(
            f"the text to replace is in the file {found} times",
            remedy="Add lines around it that make it unique, or set replace_all.",
        )
    return text.replace(old, new)


def _shown(text: str) -> str:
    return repr(truncate(safe_text(text), _MAX_SHOWN, "…"))

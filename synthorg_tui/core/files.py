"""Files written whole or not at all, and read without being led elsewhere.

Security and crash safety rest on the order of the calls in here, so no other module opens a file
to replace it, or one that a stranger may have put there. Two rules hold throughout: a reader sees
the old content or the new one, and a name that turns out to be a link, a pipe or a device is
refused before anything is read. What follows links on purpose (transcripts, models, settings that
a person names) doesn't belong here. Agents' hooks import this while a person waits, so it loads
neither ``pathlib`` nor ``typing``.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO, TypeAlias

    AnyPath: TypeAlias = str | os.PathLike[str]

PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600
MAX_FILE_BYTES = 1 << 20
"""How large a file that is read whole may be, a skill's for instance."""

_DRAFT_END = ".synthorg-tmp"
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotPlainFileError(OSError):
    """The path is a link, folder, pipe, socket or device where a regular file is required."""


class FileTooLargeError(OSError):
    """The file is larger than the limit that was given for reading it."""


def write_atomically(
    path: "AnyPath",
    content: bytes,
    *,
    mode: int | None,
    durable: bool = True,
    replace: bool = True,
    folder: int | None = None,
) -> None:
    """Replace a file's content in one step: readers see the old bytes or the new, never a mixture.

    The bytes go to a temporary file in the same folder, which is then renamed. A link at ``path``
    is replaced, not followed. Temporary files of killed writers are removed.

    Args:
        path: The file to write, in an existing folder.
        content: The complete new content.
        mode: Permission bits from the first byte on; ``None`` uses the defaults.
        durable: Wait until all is on disk: a power failure, too, leaves the old file or the new.
        replace: Whether an existing file may be replaced; ``FileExistsError`` if it may not.
        folder: Descriptor of the folder that ``path`` lies in, which is then a mere name.

    Raises ``OSError``; the old content is intact then, unless only the last wait failed.
    """
    remove_drafts(path, folder=folder)
    above, name = os.path.split(os.fspath(path))
    draft = os.path.join(above, f".{name}.{os.getpid()}-{os.urandom(4).hex()}{_DRAFT_END}")
    descriptor = os.open(draft, _CREATE, 0o666 if mode is None else PRIVATE_FILE, dir_fd=folder)
    try:
        _fill(descriptor, content, mode, durable)
        if replace:
            os.replace(draft, path, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            os.link(draft, path, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
    if durable:
        sync(above or os.curdir, folder=folder)


def remove_drafts(path: "AnyPath", *, folder: int | None = None) -> None:
    """Delete temporary files that killed writers left next to ``path``.

    Temporary files of processes that are still running are not touched. ``folder`` is as for
    ``write_atomically``.
    """
    above, name = os.path.split(os.fspath(path))
    start = f".{name}."
    with suppress(OSError):
        for entry in os.listdir(folder if folder is not None else above or os.curdir):
            if entry.startswith(start) and entry.endswith(_DRAFT_END):
                writer = entry[len(start) : -len(_DRAFT_END)].partition("-")[0]
                if not _is_running(writer):
                    os.unlink(os.path.join(above, entry), dir_fd=folder)


def sync(path: "AnyPath", *, folder: int | None = None) -> None:
    """Flush a file's content, or a folder's directory entries, to disk (``fsync``)."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_plain(
    path: "AnyPath", *, limit: int = MAX_FILE_BYTES, folder: int | None = None
) -> tuple[bytes, os.stat_result]:
    """Read a regular file and return its bytes and its ``stat`` result from before reading.

    ``path`` itself must not be a link. The folders above it may be links: a caller that doesn't
    trust those opens them with ``opened_folder`` and passes the descriptor as ``folder``. Never
    blocks on a pipe.

    Args:
        path: The file to read.
        limit: Largest accepted size in bytes.
        folder: Descriptor of the folder that a relative ``path`` is resolved in.

    Raises:
        NotPlainFileError: ``path`` is not a regular file.
        FileTooLargeError: The file has more than ``limit`` bytes.
        OSError: The system refused; ``FileNotFoundError`` when the file doesn't exist.
    """
    try:
        descriptor = os.open(path, _READ, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):  # links and sockets
            raise NotPlainFileError(error.errno, "not a plain file", path) from error
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise NotPlainFileError(errno.EINVAL, "not a plain file", path)
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise FileTooLargeError(errno.EFBIG, f"more than {limit:,} bytes", path)
    return content, status


@contextmanager
def opened_folder(
    path: "AnyPath", *, folder: int | None = None, may_be_link: bool = False
) -> Iterator[int]:
    """Open a folder and yield its file descriptor, closing it afterwards; raises ``OSError``.

    Operations relative to the descriptor stay in that folder even if its path is replaced
    meanwhile. ``path`` is resolved in the descriptor ``folder`` when one is given. A link is
    refused unless ``may_be_link``.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if may_be_link else os.O_NOFOLLOW)
    descriptor = os.open(path, flags, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_log(path: "AnyPath", limit: int) -> "IO[bytes]":
    """Open a log file for appending bytes, readable by its owner only.

    A file of more than ``limit`` bytes is emptied first. Raises ``OSError``.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    with suppress(FileNotFoundError):
        if os.stat(path).st_size > limit:
            flags |= os.O_TRUNC
    return os.fdopen(os.open(path, flags, PRIVATE_FILE), "ab")


def ensure_private_dir(path: "Path") -> "Path":
    """Create ``path`` and missing parents, restrict it to its owner (mode 0700), and return it."""
    path.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
    path.chmod(PRIVATE_DIR)
    return path


def make_private(path: "Path") -> None:
    """Restrict a file to its owner (mode 0600); do nothing when it doesn't exist."""
    try:
        if path.stat().st_mode & 0o777 != PRIVATE_FILE:
            path.chmod(PRIVATE_FILE)
    except FileNotFoundError:
        return


def _fill(descriptor: int, content: bytes, mode: int | None, durable: bool) -> None:
    with os.fdopen(descriptor, "wb") as file:
        if mode is not None:
            os.fchmod(descriptor, mode)
        file.write(content)
        if durable:
            file.flush()
            os.fsync(descriptor)


def _is_running(writer: str) -> bool:
    """Whether a process has this number; what is no number was not written by us."""
    if not (writer.isascii() and writer.isdecimal()):
        return True
    try:
        os.kill(int(writer), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True

"""Discovery of transcripts: where agents write them, and which files under a root may be read.

A folder to import is a stranger's: a link must not lead out of it, and a name that no database can
store is refused in words. Where they are and what they are called is said by the readers, which
also list the sessions of a database. Nothing else here opens a file.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from synthorg_tui.core.text import is_utf8
from synthorg_tui.ingest.readers import READERS
from synthorg_tui.ingest.sources import LineSource, SessionSource, document_items, file_lines

_SOURCES: Mapping[str, LineSource] = {
    pattern: source for reader in READERS for pattern, source in reader.files.items()
}
MAX_DEPTH = 12
"""How deep folders in a place are looked into."""
_OWNERS = tuple(
    pattern
    for pattern, source in _SOURCES.items()
    if isinstance(source, SessionSource) and "*" not in pattern
)
"""Names of files that stand for a session in many files."""
_MAX_ABOVE = 3
_NOT_UTF8 = "its name isn't UTF-8; rename it to import it"


@dataclass(frozen=True, slots=True)
class FoundTranscripts:
    """A usual place of transcripts, with the number of files there and their size in bytes.

    ``reader`` is the name of the reader for the transcripts of that place.
    """

    reader: str
    root: Path
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A file to import; ``size`` is in bytes, ``mtime_ns`` its modification time in nanoseconds.

    One session of a database has a path of its own, ``<database>#<session>``.
    """

    path: Path
    size: int
    mtime_ns: int

    @property
    def state(self) -> tuple[int, int]:
        """What is another when the file has changed."""
        return self.size, self.mtime_ns


@dataclass(frozen=True, slots=True)
class Refusal:
    """A path that is not imported, with the reason."""

    path: Path
    reason: str

    @property
    def name(self) -> str:
        r"""The path as printable text; a byte that isn't UTF-8 is shown as ``\xff``."""
        return os.fsencode(self.path).decode("utf-8", "backslashreplace")


def usual_places(home: Path, environ: Mapping[str, str]) -> tuple[tuple[str, Path], ...]:
    """Return the folders where coding agents write transcripts, as pairs of reader name and path.

    They are returned whether or not they exist. ``environ`` may name other places, as each reader
    says.
    """
    return tuple(
        (reader.name, place) for reader in READERS for place in reader.places(home, environ)
    )


def looked_for(home: Path, environ: Mapping[str, str]) -> tuple[FoundTranscripts, ...]:
    """Return every usual place with what it holds now; nothing where it doesn't exist."""
    found = []
    for reader, root in usual_places(home, environ):
        files = collect([root])[0] if root.exists() else []
        size = sum(file.size for file in files)
        found.append(FoundTranscripts(reader, root, len(files), size))
    return tuple(found)


def source_of(path: Path) -> LineSource:
    """Return the source of the lines of a file, which its name tells; whatever it may hold."""
    name = re.sub(r"(\.(?:db|vscdb|sqlite3?))#.*", r"\1", path.name)
    named = (source for pattern, source in _SOURCES.items() if fnmatchcase(name, pattern))
    return next(named, document_items if path.suffix == ".json" else file_lines)


def owner_of(path: Path) -> Path | None:
    """Return the transcript that a file belongs to: itself, or the one that names its session.

    A conversation may be a folder of many files, of which one is named as a transcript.
    """
    if _is_named_so(path.name):
        return path
    named = (folder / name for folder in path.parents[:_MAX_ABOVE] for name in _OWNERS)
    return next((owner for owner in named if owner.is_file()), None)


def _is_named_so(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in _SOURCES)


def collect(roots: Sequence[Path]) -> tuple[list[TranscriptFile], list[Refusal]]:
    """Return the transcripts at or under the roots, each once, and the paths that are refused.

    A root may also be one session of a database, by the path that it is listed with.
    """
    files: dict[Path, TranscriptFile] = {}
    refusals: list[Refusal] = []
    databases: dict[Path, dict[Path, TranscriptFile | Refusal]] = {}
    for root in roots:
        session = _session(root, databases)
        for item in find_transcripts(root) if session is None else [session]:
            if isinstance(item, TranscriptFile):
                files[item.path] = item
            else:
                refusals.append(item)
    return list(files.values()), refusals


def find_transcripts(root: Path) -> Iterator[TranscriptFile | Refusal]:
    """Yield the transcripts at or under ``root``, in order, and the paths that are refused.

    Links that lead out of ``root`` are refused.
    """
    try:
        base = root.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        yield Refusal(root, _reason(error))
        return
    if not is_utf8(str(base)):
        yield Refusal(base, _NOT_UTF8)
    elif base.is_file():
        yield from _files(base)
    elif base.is_dir():
        yield from _walk(base, base, 0)
    else:
        yield Refusal(root, "neither a file nor a directory")


def _walk(folder: Path, base: Path, depth: int) -> Iterator[TranscriptFile | Refusal]:
    try:
        entries = sorted(os.scandir(folder), key=_files_first)
    except OSError as error:
        yield Refusal(folder, _reason(error))
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.is_symlink():
            yield from _linked(path, base)
        elif entry.is_dir(follow_symlinks=False):
            if depth < MAX_DEPTH:
                yield from _inside(path, base, depth + 1)
        elif _is_named_so(entry.name) and entry.is_file(follow_symlinks=False):
            yield from _files(path) if is_utf8(entry.name) else [Refusal(path, _NOT_UTF8)]


def _inside(folder: Path, base: Path, depth: int) -> Iterator[TranscriptFile | Refusal]:
    """A folder whose name isn't UTF-8 is refused once, and only where there is something in it."""
    items = _walk(folder, base, depth)
    if is_utf8(folder.name):
        yield from items
    elif next(items, None) is not None:
        yield Refusal(folder, _NOT_UTF8)


def _files_first(entry: "os.DirEntry[str]") -> tuple[bool, str]:
    """Sessions before the folders of their subagents."""
    return entry.is_dir(follow_symlinks=False), entry.name


def _linked(path: Path, base: Path) -> Iterator[TranscriptFile | Refusal]:
    """Refuse a link that leads out of the root; one inside is listed there by itself."""
    if not _is_named_so(path.name) and not path.is_dir():
        return
    try:
        inside = path.resolve(strict=True).is_relative_to(base)
    except (OSError, RuntimeError) as error:
        yield Refusal(path, _reason(error))
        return
    if not inside:
        yield Refusal(path, "a symbolic link that leads out of the imported folder")


def _files(path: Path) -> Iterator[TranscriptFile | Refusal]:
    """The file, or the sessions that stand behind it."""
    source = source_of(path)
    if not isinstance(source, SessionSource):
        yield _file(path)
        return
    try:
        for session in source.sessions(path):
            yield TranscriptFile(session.path, session.size, session.mtime_ns)
    except (OSError, ValueError) as error:
        yield Refusal(path, f"can't be read: {_reason(error)}")


def _session(
    path: Path, databases: dict[Path, dict[Path, TranscriptFile | Refusal]]
) -> TranscriptFile | Refusal | None:
    """The session of a database that has this path; ``databases`` keeps what each one lists."""
    database = path.with_name(path.name.rpartition("#")[0] or path.name)
    is_listed = database != path and not os.path.lexists(path) and not database.is_symlink()
    if not is_listed or not database.is_file():
        return None
    if database not in databases:
        databases[database] = {item.path: item for item in _files(database)}
    return databases[database].get(path)


def _file(path: Path) -> TranscriptFile | Refusal:
    try:
        stat = path.stat()
    except OSError as error:
        return Refusal(path, _reason(error))
    return TranscriptFile(path, stat.st_size, stat.st_mtime_ns)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)

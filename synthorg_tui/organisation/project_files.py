"""The files of a project in which people keep rules and decisions: found and read within bounds.

A project is a stranger's folder: nothing outside of it is read, whatever its links and imports say,
and what can't be read becomes a line of the report, never a silence. What the files say is for
``rule_files`` and ``adr``.
"""

import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from synthorg_tui.core.files import FileTooLargeError, NotPlainFileError, read_plain
from synthorg_tui.core.text import compiled, is_utf8, size

MAX_BYTES: Final = 256 * 1024
"""Size of one file; people's rules are a hundredth of that."""
MAX_FILES: Final = 500
"""Files of one project."""
MAX_FOLDERS: Final = 20_000
MAX_DEPTH: Final = 8

_SKIPPED: Final = frozenset(
    {"node_modules", "vendor", "third_party", "site-packages", "__pycache__", "dist", "build"}
    | {"target", "venv", "env", ".venv", ".git", ".hg", ".svn", ".tox", ".nox", ".mypy_cache"}
    | {".worktrees", "worktrees", ".cache", ".next", "coverage", "bower_components", "Pods"}
)
_NAMES: Final = frozenset(
    {"claude.md", "claude.local.md", "agents.md", "agents.override.md", "agent.md", "gemini.md"}
    | {"qwen.md", "warp.md", "crush.md", "conventions.md", ".cursorrules", ".windsurfrules"}
    | {".clinerules", ".roorules", ".goosehints", ".rules", ".junierules", "codex.md"}
)
"""Names of files of rules, in any folder of a project."""
_PLACES: Final = (
    r"(?:.*/)?\.github/copilot-instructions\.md",
    r"(?:.*/)?\.github/instructions/(?:.*/)?[^/]+\.instructions\.md",
    r"(?:.*/)?\.cursor/rules/(?:.*/)?[^/]+\.(?:mdc|md)",
    r"(?:.*/)?\.(?:windsurf|continue|roo|trae|augment|amazonq|clinerules|claude)"
    r"/rules(?:-[\w-]+)?/(?:.*/)?[^/]+\.(?:md|txt)",
    r"(?:.*/)?\.clinerules/(?:.*/)?[^/]+\.(?:md|txt)",
    r"(?:.*/)?\.kiro/steering/[^/]+\.md",
    r"(?:.*/)?\.junie/guidelines\.md",
    r"(?:.*/)?\.claude/claude(?:\.local)?\.md",
)
"""Paths of files of rules, in lower case."""
_ADR_FOLDERS: Final = (
    r"(?:.*/)?(?:adrs?|architecture[-_]decisions?|decision[-_]records?)/(?:[^/]+/)?[^/]+\.md",
    r"(?:.*/)?decisions/(?:adr-?)?\d{3,}[^/]*\.md",
    r"(?:.*/)?(?:docs?|documentation|architecture|arch)/(?:.*/)?decisions?/(?:[^/]+/)?[^/]+\.md",
)


class SourceFileKind(StrEnum):
    """What a file is read as."""

    RULES = "rules"
    ADR = "adr"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as read: its path in the project, its text, and other paths that lead to it."""

    path: str
    kind: SourceFileKind
    text: str
    also: tuple[str, ...] = ()


class FileProblem(NamedTuple):
    """What couldn't be read, and why, in words."""

    path: str
    reason: str


@dataclass(slots=True)
class ProjectFiles:
    """All that was found in a project; ``folders`` are those that hold it, for watching."""

    root: Path
    files: list[SourceFile] = field(default_factory=list)
    problems: list[FileProblem] = field(default_factory=list)
    folders: set[Path] = field(default_factory=set)
    cancelled: bool = False


def kind_of_file(path: str) -> SourceFileKind | None:
    """Tell what a file is read as by its path in the project; ``None`` for one that isn't."""
    lower = path.lower()
    if PurePosixPath(lower).name in _NAMES or any(
        compiled(place).fullmatch(lower) for place in _PLACES
    ):
        return SourceFileKind.RULES
    if any(compiled(place).fullmatch(lower) for place in _ADR_FOLDERS):
        return SourceFileKind.ADR
    return None


def find_files(root: Path, cancel: threading.Event | None = None) -> ProjectFiles:
    """Find and read the files of a project, sorted by path; blocks while it reads.

    Raises ``NotADirectoryError`` when ``root`` is no folder that can be read.
    """
    whole = root.resolve()
    if not whole.is_dir():
        raise NotADirectoryError(20, "no folder that can be read", str(root))
    found = ProjectFiles(whole)
    read: dict[tuple[int, int], int] = {}
    for path in sorted(_candidates(found, cancel), key=lambda each: (each.count("/"), each)):
        if cancel is not None and cancel.is_set():
            found.cancelled = True
            break
        if len(found.files) >= MAX_FILES:
            found.problems.append(
                FileProblem(path, f"left out: more than {MAX_FILES} files of rules in the project")
            )
            continue
        _take(found, path, read)
    found.files.sort(key=lambda file: file.path)
    return found


def read_inside(root: Path, path: str) -> tuple[str, tuple[int, int], str]:
    """Read a text file of a project; return its text, its identity, and its path without links.

    Raises ``OSError`` or ``ValueError`` with the reason in words.
    """
    target = (root / path).resolve()
    if not target.is_relative_to(root):
        raise ValueError("not read: it is a link that leads out of the project")
    try:
        content, status = read_plain(target, limit=MAX_BYTES)
    except FileTooLargeError as error:
        raise ValueError(f"not read: larger than {size(MAX_BYTES)}") from error
    except NotPlainFileError as error:
        raise ValueError("not read: no plain file") from error
    except FileNotFoundError as error:
        raise ValueError("not read: the link leads nowhere") from error
    except OSError as error:
        raise ValueError(f"not read: {error.strerror or 'it failed'}") from error
    name = target.relative_to(root).as_posix()
    return _decoded(content), (status.st_dev, status.st_ino), name


def _decoded(content: bytes) -> str:
    """The text of a file: UTF-8, UTF-16 with its mark, or what Windows writes."""
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\x00" in content and not marked:
        raise ValueError("not read: it is no text")
    for encoding in ("utf-16",) if marked else ("utf-8-sig", "cp1252"):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        return text.replace("\r\n", "\n").replace("\r", "\n")
    raise ValueError("not read: it is no text in UTF-8")


def _take(found: ProjectFiles, path: str, read: dict[tuple[int, int], int]) -> None:
    try:
        text, identity, name = read_inside(found.root, path)
    except ValueError as error:
        found.problems.append(FileProblem(path, str(error)))
        return
    if identity in read:
        index = read[identity]
        known = found.files[index]
        found.files[index] = SourceFile(known.path, known.kind, known.text, (*known.also, path))
        return
    read[identity] = len(found.files)
    also = (path,) if name != path and kind_of_file(name) else ()
    kind = kind_of_file(path) or SourceFileKind.RULES
    found.files.append(SourceFile(name if also else path, kind, text, also))


def _candidates(found: ProjectFiles, cancel: threading.Event | None) -> Iterator[str]:
    """Walk the folders, never through links; yield the paths of files that would be read."""
    waiting = [""]
    seen = 0
    while waiting:
        folder = waiting.pop(0)
        seen += 1
        if seen > MAX_FOLDERS or (cancel is not None and cancel.is_set()):
            reason = f"only the first {MAX_FOLDERS:,} folders were looked at"
            if seen > MAX_FOLDERS:
                found.problems.append(FileProblem(folder, reason))
            found.cancelled = seen <= MAX_FOLDERS
            return
        names, folders = _entries(found, folder)
        if names:
            found.folders.add(found.root / folder)
        yield from names
        waiting += folders


def _entries(found: ProjectFiles, folder: str) -> tuple[list[str], list[str]]:
    names: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(found.root / folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if not is_utf8(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED and path.count("/") < MAX_DEPTH:
                        folders.append(path)
                elif kind_of_file(path):
                    names.append(path)
    except OSError as error:
        found.problems.append(FileProblem(folder or ".", f"not read: {error.strerror}"))
    return names, folders


def front_matter(text: str) -> tuple[Mapping[str, str], str]:
    """Split leading fields from a text; the lines that they stood on stay, empty.

    The fields are read leniently, since editors write what no YAML parser takes: ``globs: *.ts``.
    A list below a name becomes one text with commas.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return {}, text
    end = next((n for n, line in enumerate(lines[1:200], 1) if line.rstrip() in ("---", "...")), 0)
    if not end:
        return {}, text
    fields: dict[str, str] = {}
    name = ""
    for line in lines[1:end]:
        entry = compiled(r"([A-Za-z][\w -]{0,40}?)\s*:(?:\s+(.*)|$)").fullmatch(line.rstrip())
        item = compiled(r"\s*-\s+(.*)").fullmatch(line.rstrip())
        if entry:
            name = entry[1].lower()
            fields[name] = _unquoted(entry[2] or "")
        elif item and name:
            fields[name] = ", ".join(filter(None, (fields[name], _unquoted(item[1]))))
        elif name and line.startswith((" ", "\t")):
            fields[name] = f"{fields[name]} {line.strip()}".strip(" >|")
    return fields, "\n".join([""] * (end + 1) + lines[end + 1 :])


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].strip()
    if value.startswith("[") and value.endswith("]"):
        return ", ".join(_unquoted(part) for part in value[1:-1].split(",") if part.strip())
    return value

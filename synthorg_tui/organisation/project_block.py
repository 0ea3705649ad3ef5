"""One file of a project into which policies are published: planned, shown, written, removed.

Planning writes nothing and has the exact bytes, so that a person approves what will be written; a
file that changed since isn't touched. Links are refused, in the project's folders, too, and so is
whatever can't be put back as it was. What is published where is recorded in ``publications``.
"""

import difflib
import os
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from synthorg_tui.core.errors import DomainError
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
from synthorg_tui.organisation.marked_block import find_block, with_block, without_block
from synthorg_tui.organisation.publications import Publication, mark_of

FILES: Final = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursor/rules/synthorg.mdc")
"""The files into which policies can be published, the usual one first."""
_PREAMBLES: Final = {
    ".cursor/rules/synthorg.mdc": (
        b"---\ndescription: Policies of the organisation\nalwaysApply: true\n---\n"
    )
}
"""What a file that is made begins with, without which its agent wouldn't read it."""


class PublishError(DomainError):
    """A file can't be published to, or what it has can't be taken out; it wasn't touched."""


class BlockState(StrEnum):
    """How the block in a file stands to what was published and would be now.

    ``EDITED`` is one that isn't what was published, ``UNKNOWN`` one of which nothing is recorded,
    ``GONE`` one that was published and isn't there any more.
    """

    ABSENT = "absent"
    CURRENT = "current"
    STALE = "stale"
    EDITED = "edited"
    UNKNOWN = "unknown"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """What would become of a file: its bytes before and after, ``None`` for no file.

    ``publication`` is what is to be recorded, unless ``is_recorded`` says that it is already.
    """

    path: Path
    project: Path
    before: bytes | None
    after: bytes | None
    state: BlockState
    publication: Publication
    is_recorded: bool = False

    @property
    def is_needed(self) -> bool:
        """Whether anything would change."""
        return self.before != self.after

    @property
    def would_lose(self) -> bool:
        """Whether it would replace or remove words that somebody put into the block by hand."""
        return self.is_needed and self.state in (BlockState.EDITED, BlockState.UNKNOWN)

    def diff(self) -> list[str]:
        """Return the change as the lines of a unified diff, without line ends."""
        absent = "/dev/null"
        lines = difflib.unified_diff(
            _shown(self.before),
            _shown(self.after),
            absent if self.before is None else str(self.path),
            absent if self.after is None else str(self.path),
        )
        return [part for line in lines for part in _diff_lines(line)]


class ProjectFile:
    """A file of a project by its name; nothing of it is read or written through a link.

    Args:
        project: the project's folder; links that lead to it are the person's own.
        name: one of ``FILES``.
        known: what was recorded of its block, if anything was.
    """

    def __init__(self, project: Path, name: str, known: Publication | None = None) -> None:
        self.project = project
        self.path = project / name
        self._known = known

    def plan(
        self, block: str, entries: tuple[str, ...] = (), parts: tuple[str, ...] = ()
    ) -> BlockPlan:
        """Return how the file would get this block; without it for an empty one.

        A file that we made goes with its block. Raises ``PublishError`` when the file can't be
        changed safely, ``DamagedBlockError`` for markers that make no whole block.
        """
        before = self._read() if block or self.project.is_dir() else None
        if block and before is not None:
            self._require_text(before)
        old, known = _block_in(before), self._known
        made, preamble = known.made if known else (), _PREAMBLES.get(self._name, b"")
        if block:
            base, made = (preamble, self._missing()) if before is None else (before, made)
            after = before if old == block else with_block(base, block)
        else:
            parts = known.parts if known else ()
            after = before and without_block(before)
            if old and str(self.path) in made and after == preamble:
                after = None
        new = Publication(
            str(self.path), str(self.project), mark_of(block), old, entries, parts, made
        )
        is_recorded = (known.written if known else "") == new.written
        state = self.state(old, block)
        return BlockPlan(self.path, self.project, before, after, state, new, is_recorded)

    def state(self, block: str, wanted: str) -> BlockState:
        """Return how a block that stands in the file compares with the record and the wanted."""
        if not block:
            return BlockState.GONE if self._known is not None else BlockState.ABSENT
        if block == wanted:
            return BlockState.CURRENT
        if self._known is None:
            return BlockState.UNKNOWN
        return BlockState.STALE if mark_of(block) == self._known.written else BlockState.EDITED

    def standing(self) -> str:
        """Return the block in the file, empty for none; raises the errors of ``plan``."""
        return _block_in(self._read())

    @property
    def _name(self) -> str:
        return self.path.relative_to(self.project).as_posix()

    def _missing(self) -> tuple[str, ...]:
        """The file and the folders above it that aren't there, outermost first."""
        above = [folder for folder in self.path.parents if folder.is_relative_to(self.project)]
        missing = [str(folder) for folder in reversed(above) if not folder.exists()]
        return (*missing, str(self.path))

    def _read(self) -> bytes | None:
        """The bytes of the file, ``None`` when there is none."""
        try:
            with ExitStack() as opened:
                folder = opened.enter_context(opened_folder(self.project, may_be_link=True))
                for part in Path(self._name).parts[:-1]:
                    folder = opened.enter_context(opened_folder(part, folder=folder))
                content, status = read_plain(self.path.name, folder=folder)
        except FileNotFoundError:
            if not self.project.is_dir():
                raise PublishError(f"{self.project} is no folder") from None
            return None
        except NotPlainFileError:
            raise PublishError(
                f"{self.path} is a link or no plain file, which isn't followed",
                remedy="Publish to the file that it leads to, or remove it.",
            ) from None
        except FileTooLargeError:
            raise PublishError(
                f"{self.path} is larger than {MAX_FILE_BYTES >> 20} MB, so it isn't changed"
            ) from None
        except OSError as error:
            reason = "a folder above it is a link" if self._is_below_link() else error.strerror
            raise PublishError(f"{self.path} can't be read: {reason}") from None
        self._require_own(status)
        return content

    def _is_below_link(self) -> bool:
        return any(
            folder.is_symlink()
            for folder in self.path.parents
            if folder != self.project and folder.is_relative_to(self.project)
        )

    def _require_own(self, status: os.stat_result) -> None:
        if not status.st_mode & stat.S_IWUSR:
            raise PublishError(f"{self.path} is read-only", remedy="Allow writing to it first.")
        if status.st_nlink > 1:
            raise PublishError(
                f"{self.path} has {status.st_nlink} names (hard links), which writing would part",
                remedy="Make a copy of its own of it first.",
            )

    def _require_text(self, content: bytes) -> None:
        try:
            content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise PublishError(
                f"{self.path}, line {line}: byte {error.start + 1:,} is not UTF-8",
                remedy="Save it as UTF-8; it wasn't touched.",
            ) from None
        if b"\x00" in content:
            raise PublishError(f"{self.path} has zero bytes: it is no text")


def write_plan(plan: BlockPlan) -> None:
    """Write what was planned, whole and durably, or remove a file that has nothing left.

    Raises ``PublishError`` when the file isn't what it was when planned; it wasn't touched then.
    """
    file = ProjectFile(plan.project, plan.path.relative_to(plan.project).as_posix())
    if file._read() != plan.before:
        raise PublishError(
            f"{plan.path} changed since it was shown; it wasn't touched",
            remedy="Run the command again.",
        )
    try:
        if plan.after is None:
            _remove(plan)
            return
        plan.path.parent.mkdir(parents=True, exist_ok=True)
        mode = None if plan.before is None else stat.S_IMODE(plan.path.lstat().st_mode)
        write_atomically(plan.path, plan.after, mode=mode, replace=plan.before is not None)
    except OSError as error:
        raise PublishError(f"{plan.path} can't be written: {error.strerror or error}") from error


def _remove(plan: BlockPlan) -> None:
    if plan.before is None:
        return
    plan.path.unlink()
    remove_drafts(plan.path)
    for made in sorted(plan.publication.made, key=len, reverse=True):  # the innermost first
        folder = Path(made)
        if folder != plan.path and plan.path.is_relative_to(folder) and folder.is_dir():
            if any(folder.iterdir()):
                return
            folder.rmdir()
    sync(plan.project)


def _block_in(content: bytes | None) -> str:
    """The block in a file, empty for none."""
    found = find_block(content) if content is not None else None
    return found.text if found is not None else ""


def _diff_lines(line: str) -> tuple[str, ...]:
    """A line of a diff; one of a file that ends with it says so, as other tools have it."""
    text = line.rstrip("\r\n")
    is_last = text == line and line[:1] in "+- "
    return (text, "\\ No newline at end of file") if is_last else (text,)


def _shown(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "backslashreplace").splitlines(keepends=True)

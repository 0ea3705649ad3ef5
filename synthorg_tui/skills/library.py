"""All skills in all roots as they are on disk now, and which of the same name is in force.

Reads only, and keeps what it read between scans so that an unchanged file costs one ``stat``. What
the store has of these skills, and what a person decided about them, is known in ``curation``.
"""

import dataclasses
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import synthorg_tui
from synthorg_tui.core.files import opened_folder
from synthorg_tui.core.paths import expand_home
from synthorg_tui.skills import SkillsConfig, disk
from synthorg_tui.skills.disk import FILE_NAME, RawFile, Stamp
from synthorg_tui.skills.document import Finding, RootScope, Severity, SkillFile, SkillRoot
from synthorg_tui.skills.validate import parse

_SETTLED_NS: Final = 2_000_000_000
"""Nanoseconds: a file read sooner than this after its last change is read again next time."""

_Known: TypeAlias = tuple[RawFile, int, SkillFile]
"""A file as read, the time of reading (nanoseconds since the epoch), and its document."""

_ORDER: Final = tuple(RootScope)


@dataclass(frozen=True, slots=True)
class RootState:
    """The state of a root at a scan.

    ``is_read`` is off when its folder is there but can't be read; ``problem`` is why, or why only
    a part of it was.
    """

    root: SkillRoot
    exists: bool
    is_read: bool = True
    skills: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Survey:
    """All skills and roots at one scan; ``stamps`` tell whether a file was touched since."""

    files: tuple[SkillFile, ...]
    roots: tuple[RootState, ...]
    stamps: tuple[tuple[Path, Stamp], ...]


def skill_roots(
    config: SkillsConfig,
    *,
    own: Path,
    projects: Sequence[Path] = (),
    shipped: Sequence[Path] = (),
    home: Path | None = None,
) -> tuple[SkillRoot, ...]:
    """List the roots in order of precedence, each folder once.

    First those of projects, then the user's, then our own, then the skills that the program ships.
    """
    candidates = [
        *(
            SkillRoot(project / folder, RootScope.PROJECT, project)
            for project in projects
            for folder in config.project_roots
        ),
        *(SkillRoot(_expand(folder, home), RootScope.USER) for folder in config.user_roots),
        SkillRoot(own, RootScope.OWN),
        *(SkillRoot(folder, RootScope.SHIPPED) for folder in shipped),
    ]
    unique: dict[Path, SkillRoot] = {}
    for root in candidates:
        unique.setdefault(_target(root.path), root)
    return tuple(unique.values())


def _target(folder: Path) -> Path:
    """Where a folder's links lead; itself for links that lead in a circle."""
    try:
        return folder.resolve()
    except (OSError, RuntimeError):
        return folder.absolute()


def shipped_folders() -> tuple[Path, ...]:
    """Find the skills that the program ships: in its checkout, or where it was installed to."""
    checkout = Path(synthorg_tui.__file__).resolve().parent.parent
    if (checkout / "pyproject.toml").is_file():
        return (checkout / "skills",)
    return (Path(sys.prefix) / "share" / "synthorg-tui" / "skills",)


def read_skill(root: SkillRoot, name: str) -> SkillFile | None:
    """Read one skill of a root; ``None`` when it has none. Raises ``OSError`` without the root."""
    with opened_folder(root.path, may_be_link=True) as descriptor:
        raw = disk.read_folder(root.path / name, descriptor, None, trusted_before=0)
    return None if raw is None else _skill_file(root, name, raw)


class SkillLibrary:
    """Reads the skills in its roots; stores and changes nothing.

    Args:
        roots: Those of a project come before a user's, and those before ours.
    """

    def __init__(self, roots: Sequence[SkillRoot]) -> None:
        self.roots = _in_order(roots)
        self._known: dict[Path, _Known] = {}
        self._lock = threading.Lock()

    def is_shipped(self, root: str) -> bool:
        """Whether a folder is one that the program ships: nothing in it is written or removed."""
        return any(
            known.scope is RootScope.SHIPPED and str(known.path) == root for known in self.roots
        )

    def look_in(self, roots: Sequence[SkillRoot]) -> None:
        """Set the roots that the next scan reads."""
        self.roots = _in_order(roots)

    def scan(self) -> tuple[SkillFile, ...]:
        """Read every skill in every root, in order of roots, then by name.

        Blocks while it reads; files that didn't change aren't read again.
        """
        return self.survey().files

    def survey(self) -> Survey:
        """Scan, and report the state of the roots, too."""
        with self._lock:
            seen: dict[Path, _Known] = {}
            states = [self._root(root, seen) for root in self.roots]
            self._known = seen
        files = _with_shadows([file for _, _, file in seen.values()])
        stamps = tuple((path, raw.stamp) for path, (raw, _, _) in seen.items())
        return Survey(files, tuple(states), stamps)

    def _root(self, root: SkillRoot, seen: dict[Path, _Known]) -> RootState:
        files: dict[Path, _Known] = {}
        try:
            with opened_folder(root.path, may_be_link=True) as descriptor:
                folders, links, left_out = disk.skill_folders(descriptor)
                for name in folders:
                    self._skill(root, descriptor, name, files)
        except FileNotFoundError:
            return RootState(root, exists=False)
        except OSError as error:
            problem = f"can't be read: {error.strerror}"
            return RootState(root, exists=True, is_read=False, problem=problem)
        for name, file in self._outward(root, links):
            files[root.path / name] = (RawFile(file.path, ()), 0, file)
        seen.update(sorted(files.items()))
        problem = f"{left_out:,} more folders aren't looked at" if left_out else ""
        return RootState(root, exists=True, skills=len(files), problem=problem)

    def _skill(
        self,
        root: SkillRoot,
        descriptor: int,
        name: str,
        seen: dict[Path, _Known],
    ) -> None:
        key = root.path / name
        known, read_at, file = self._known.get(key, (None, 0, None))
        now = time.time_ns()
        raw = disk.read_folder(key, descriptor, known, trusted_before=read_at - _SETTLED_NS)
        if raw is None:
            return
        if raw is not known:
            read_at = now
        if file is None or file.root != root or not _same_content(raw, known):
            file = _skill_file(root, name, raw)
        seen[key] = (raw, read_at, file)

    def _outward(self, root: SkillRoot, links: Sequence[str]) -> Iterator[tuple[str, SkillFile]]:
        """List links to folders outside all roots; those into another root are listed there."""
        inside = [_target(root.path) for root in self.roots]
        for name in links:
            path = root.path / name
            try:
                target = path.resolve()
                is_skill = target.is_dir() and not any(map(target.is_relative_to, inside))
            except (OSError, RuntimeError):  # it leads in a circle
                continue
            if is_skill:
                problem = Finding(
                    1,
                    Severity.ERROR,
                    "the folder is a link to outside all roots, so it isn't read",
                    "Copy the skill here, or add its folder to skills.user_roots.",
                )
                raw = RawFile(path / FILE_NAME, (), problem=problem)
                yield name, _skill_file(root, name, raw)


def _in_order(roots: Sequence[SkillRoot]) -> tuple[SkillRoot, ...]:
    return tuple(sorted(roots, key=lambda root: _ORDER.index(root.scope)))


def _expand(path: Path, home: Path | None) -> Path:
    if home is not None and path.parts[:1] == ("~",):
        return home.joinpath(*path.parts[1:])
    return expand_home(path)


def _same_content(raw: RawFile, known: RawFile | None) -> bool:
    if known is None or raw is known:
        return known is not None
    return bool(raw.sha256) and (raw.path, raw.sha256) == (known.path, known.sha256)


def _skill_file(root: SkillRoot, name: str, raw: RawFile) -> SkillFile:
    document, findings = parse(raw.text, name=name) if raw.problem is None else (None, ())
    of_file = [finding for finding in (raw.problem, raw.note) if finding is not None]
    return SkillFile(
        root=root,
        name=name,
        path=raw.path,
        sha256=raw.sha256,
        text=raw.text,
        document=document,
        findings=(*of_file, *findings),
    )


def _with_shadows(files: Sequence[SkillFile]) -> tuple[SkillFile, ...]:
    """Set ``shadowed_by`` of each file to the first usable one of the same name before it."""
    first: dict[str, list[SkillFile]] = {}
    shadowed = []
    for file in files:
        winners = first.setdefault(file.name, [])
        winner = next(
            (
                other
                for other in winners
                if (file.root.project is None or other.root.project == file.root.project)
            ),
            None,
        )
        shadowed.append(
            file if winner is None else dataclasses.replace(file, shadowed_by=winner.path)
        )
        if file.document is not None:
            winners.append(file)
    return tuple(shadowed)

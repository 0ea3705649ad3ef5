"""Which folders are one project: a repository with all its worktrees, subfolders and clones.

Rows of the store keep the folder in which something happened. What project a folder belongs to is
decided when it is read, from what this disk said of it (``core.checkouts``), from the names of
worktrees' folders, and from what a person said. The store that a process opens gives it what is
remembered of folders (``use_projects``); without one, only this disk and the names count.
"""

import os
import posixpath
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Final

from synthorg_tui.core.checkouts import FolderSeen, look_at
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import expand_home, in_place

_WSL: Final = re.compile(r"//(?:wsl\$|wsl\.localhost)/[^/]+(?=/)", re.IGNORECASE)
_DRIVE: Final = re.compile(
    r"(?:(?:/mnt|/cygdrive)/(?P<mounted>[A-Za-z])|(?P<named>[A-Za-z]):)(?=/|$)"
)
_PRIVATE: Final = re.compile(r"^/private(?=/(?:tmp|var|etc)(?:/|$))")
_ANY_CASE: Final = re.compile(r"[a-z]:|/(?:users|volumes)/", re.IGNORECASE)
_OF_A_TOOL: Final = re.compile(
    r"(?P<root>.+/(?:\.cursor/worktrees|\.claude-worktrees|conductor/workspaces)/[^/]+)/.+"
)
"""Folders in the home of a person in which a program makes worktrees, by the name of the
repository."""
_ELSEWHERE: Final = re.compile(r".*/\.codex/worktrees/[0-9a-f]+/[^/]+(?:/.*)?")
"""Where Codex makes worktrees: the number comes before the name."""
_INSIDE: Final = re.compile(r"(?P<root>.+?)/(?:\.(?:claude/|git/|codex/)?worktrees|\.conductor)/.+")
_BESIDE: Final = re.compile(r"(?P<root>(?:.*/)?(?P<name>[^/.][^/]*?))[-._]+worktrees?/.+")
_NEAR: Final = 0.5
_SHOWN: Final = 8
_NO_NAMES: Final = frozenset({"git", "my", "all", "agent", "agents", "claude", "codex", "cursor"})


def spelling(path: str) -> str:
    r"""Return a folder's path in the one spelling in which two of the same folder are equal.

    ``C:\x``, ``c:/x`` and ``/mnt/c/x`` are one, and so are ``/private/tmp`` and ``/tmp``. Case
    doesn't count on drives, nor below ``/Users`` unless this machine tells them apart.
    """
    text = unicodedata.normalize("NFC", in_place(path).replace("\\", "/"))
    text = _WSL.sub("", text.removeprefix("//?/"), count=1)
    if drive := _DRIVE.match(text):
        text = f"{(drive['mounted'] or drive['named']).lower()}:{text[drive.end() :] or '/'}"
    text = posixpath.normpath(text) if text else ""
    text = _PRIVATE.sub("", text)
    return text.casefold() if _ANY_CASE.match(text) and not _tells_case() else text


def canonical_folder(path: str) -> str:
    r"""Return a folder's path as the store keeps it: absolute, with links and ``..`` resolved.

    One of another system, such as ``C:\x``, stays as it is.
    """
    text = str(expand_home(path))
    is_foreign = not Path(text).is_absolute() and _DRIVE.match(text.replace("\\", "/"))
    return text if is_foreign else os.path.realpath(text)


def worktree_root(path: str) -> str:
    """Return the repository's folder that the name of a worktree's folder tells; else ``path``.

    A worktree may lie in ``.worktrees``, ``.claude/worktrees`` and such of its repository, or in
    ``<name>-worktrees`` (also ``.worktrees``, ``__worktrees``) beside it.
    """
    text = in_place(path).replace("\\", "/").rstrip("/") or "/"
    if _ELSEWHERE.fullmatch(text):
        return text
    for form in (_OF_A_TOOL, _INSIDE, _BESIDE):
        found = form.fullmatch(text)
        if found and found.groupdict().get("name", "") not in _NO_NAMES:
            return found["root"]
    return text


@dataclass(frozen=True, slots=True)
class ProjectEdit:
    """What a person said of projects, by folders: ``kind`` is merge, split or rename.

    A merge makes ``folders`` one project, called as the first one is; a split takes them out of
    theirs as one of their own; a rename calls the project of the first one ``name``.
    """

    kind: str
    folders: tuple[str, ...]
    name: str = ""


class UnknownProjectError(DomainError):
    """No project has this name, or several have; ``near`` are the names that may be meant."""

    def __init__(self, named: str, known: Collection[str], found: Collection[str] = ()) -> None:
        if found:
            self.near = tuple(sorted(project_names(found).values()))
        else:
            folded = {name.casefold(): name for name in project_names(known).values()}
            near = get_close_matches(named.casefold(), folded, n=3, cutoff=_NEAR)
            self.near = tuple(folded[each] for each in near)
        problem = f"several projects are called {named}" if found else f"no project is {named!r}"
        names = self.near or sorted(project_names(known).values())
        said = ", ".join(names[:_SHOWN])
        remedy = f"Did you mean {said}?" if self.near else f"Known are {said or 'none'}."
        if len(names) > _SHOWN:
            remedy = "`synthorg-tui projects list --all` names those that are known."
        super().__init__(problem, remedy=remedy)


@dataclass(slots=True)
class _Project:
    """The folders of one project; ``main`` stands for all of them."""

    folders: list[str] = field(default_factory=list)
    main: str = ""
    name: str = ""


class ProjectMap:
    """Which folders are one project, as far as they are known; a new one is looked at when asked.

    Args:
        seen: What is remembered of folders, the first known first.
        edits: What a person said of them, the first said first.
    """

    def __init__(self, seen: Iterable[FolderSeen] = (), edits: Iterable[ProjectEdit] = ()) -> None:
        self.seen = {each.folder: each for each in seen}
        self.edits = tuple(edits)
        self._groups: Mapping[str, _Project] | None = None

    def learn(self, folders: Iterable[str], *, again: bool = False, history: bool = True) -> None:
        """Look at folders that aren't known, or with ``again`` at those that are, too.

        What was known of one that is gone now stays.
        """
        for folder in map(in_place, folders):
            known = self.seen.get(folder)
            if folder and (known is None or again):
                found = look_at(folder, history=history and not (known and known.first))
                if known is not None and not found.root:
                    found = replace(known, exists=found.exists)
                elif known is not None and not found.address:
                    found = replace(found, first=found.first or known.first)
                self.seen[folder] = found
                self._groups = None

    def tell(self, folder: str, address: str) -> bool:
        """Note where a folder's repository comes from, as a transcript told it.

        Return whether that is news; what this disk says of the folder counts more.
        """
        self.learn([folder])
        known = self.seen.get(folder)
        is_new = known is not None and bool(address) and not known.root and not known.address
        if known is not None and is_new:
            self.seen[folder] = replace(known, address=address)
            self._groups = None
        return is_new

    def of(self, folder: str) -> str:
        """Return the folder that stands for the project of a folder."""
        return self._group(folder).main

    def folders(self, folder: str) -> tuple[str, ...]:
        """Return every known folder of the project of a folder, with the one that stands for it."""
        group = self._group(folder)
        return tuple(dict.fromkeys([group.main, folder, *group.folders]))

    def name(self, folder: str) -> str:
        """Return what people call the project of a folder."""
        return self._group(folder).name

    def _group(self, folder: str) -> _Project:
        folder = in_place(folder)
        groups = self._groups
        if groups is None or folder not in groups:
            self.learn([folder, *(each for edit in self.edits for each in edit.folders)])
            local = [each.address[5:] for each in self.seen.values() if each.address[:5] == "path:"]
            self.learn(local)
            self._groups = groups = _grouped(self.seen, self.edits)
        return groups.get(folder) or _Project([], folder, folder)


class _Sets:
    """Sets of keys that are joined one after another."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def top(self, key: str) -> str:
        above = self._above.setdefault(key, key)
        while above != self._above[above]:
            above = self._above[above]
        self._above[key] = above
        return above

    def join(self, one: str, other: str) -> None:
        self._above[self.top(other)] = self.top(one)


def _grouped(seen: Mapping[str, FolderSeen], edits: Collection[ProjectEdit]) -> dict[str, _Project]:
    """Put every folder into the group of its project."""
    sets, roots = _Sets(), {spelling(each.root) for each in seen.values() if each.root}
    known = roots | {spelling(folder) for folder in seen}
    own = {spelling(f) for edit in edits if edit.kind == "split" for f in edit.folders}
    keys: dict[str, str] = {}
    for folder, each in seen.items():
        key = keys[folder] = _key(each, roots, known, own)
        if not key.startswith("own:") and each.address:
            place = each.address.removeprefix("path:")
            is_local = place != each.address
            sets.join(f"at:{_told(place, roots, known)}" if is_local else each.address, key)
    _join_by_history(sets, seen, keys)
    _join_by_hand(sets, keys, edits)
    groups: dict[str, _Project] = {}
    for folder, key in keys.items():
        groups.setdefault(sets.top(key), _Project()).folders.append(folder)
    found = {folder: group for group in groups.values() for folder in group.folders}
    for group in groups.values():
        _name(group, seen, {keys[folder] for folder in group.folders})
    for edit in edits:
        _rename(found, edit)
    return found


def _key(each: FolderSeen, roots: set[str], known: set[str], own: set[str]) -> str:
    """The key that all folders of one checkout have, and of all its worktrees."""
    if own:
        for place in (each.folder, each.checkout, each.root):
            if place and spelling(place) in own:
                return f"own:{spelling(place)}"
    return f"at:{spelling(each.root) if each.root else _told(each.folder, roots, known)}"


def _told(folder: str, roots: set[str], known: set[str]) -> str:
    """The spelling of the repository's folder, of which only a path is left."""
    place = spelling(worktree_root(folder))
    above = place
    while (shorter := posixpath.dirname(above)) not in {above, ""}:
        above = shorter
        if above in roots:
            return above
        if posixpath.basename(above) == "worktrees" and posixpath.dirname(above) in known:
            return posixpath.dirname(above)
    return place


def _join_by_history(sets: _Sets, seen: Mapping[str, FolderSeen], keys: Mapping[str, str]) -> None:
    """Join repositories that begin with the same commit, unless they come from several places.

    A first commit without files proves it only when one of the two is gone: it was renamed.
    """
    begun: dict[str, list[FolderSeen]] = {}
    for each in seen.values():
        if each.first:
            begun.setdefault(each.first, []).append(each)
    for first, found in begun.items():
        here = [each for each in found if each.exists and Path(each.folder).is_dir()]
        if first.endswith("-") and len({keys[each.folder] for each in here}) > 1:
            continue
        for each in found[1:]:
            if not keys[each.folder].startswith("own:"):
                sets.join(keys[found[0].folder], keys[each.folder])


def _join_by_hand(sets: _Sets, keys: Mapping[str, str], edits: Collection[ProjectEdit]) -> None:
    by_place = {spelling(folder): key for folder, key in keys.items()}
    cut: set[str] = set()
    for edit in reversed(tuple(edits)):
        places = [spelling(folder) for folder in edit.folders]
        if edit.kind == "split":
            cut |= set(places)
        elif edit.kind == "merge":
            joined = [by_place[place] for place in places if place in by_place and place not in cut]
            for key in joined[1:]:
                sets.join(joined[0], key)


def _name(group: _Project, seen: Mapping[str, FolderSeen], keys: set[str]) -> None:
    """Choose the folder that stands for a project, and what it is called.

    It is the main checkout that is there, rather one called as the repository is where it comes
    from. A folder that was never seen has the name of that repository.
    """
    rows = [seen[folder] for folder in group.folders]
    origin = next((_last(row.address) for row in rows if row.address), "")
    roots = list(dict.fromkeys(row.root or worktree_root(row.folder) for row in rows))
    seen_roots = {row.root for row in rows}
    there = {row.root for row in rows if row.exists and Path(row.root).is_dir()}

    def rank(root: str) -> tuple[bool, bool, bool, int]:
        is_called = _last(root).casefold() == origin
        is_main = f"at:{spelling(root)}" in keys
        return root not in there, not is_main, not is_called, roots.index(root)

    group.main = min(roots, key=rank)
    name = _last(group.main)
    is_told = origin and group.main not in seen_roots and name.casefold() != origin
    group.name = origin if is_told else name


def _rename(found: Mapping[str, _Project], edit: ProjectEdit) -> None:
    group = found.get(edit.folders[0]) if edit.folders else None
    if group is not None and edit.kind != "split":
        group.name = edit.name
        if edit.kind == "merge":
            group.main = edit.folders[0]


def _last(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2].removesuffix(".git") or path


@lru_cache(maxsize=1)
def _tells_case() -> bool:
    """Whether folders below ``/Users`` of this machine differ by case."""
    return sys.platform == "linux" and Path("/Users").is_dir() and not Path("/uSERS").is_dir()


_current = ProjectMap()


def use_projects(projects: ProjectMap) -> None:
    """Have this process tell projects apart by what the store that it opened last remembers.

    It stays so when the store is closed: what was read from it is still to be shown.
    """
    global _current
    _current = projects


def projects_in_use() -> ProjectMap:
    """Return what this process tells projects apart by."""
    return _current


def repository_of(folder: str) -> str:
    """Return the folder that stands for the project of a folder: its repository's main one."""
    return _current.of(folder) if folder else folder


def folders_of(folder: str) -> tuple[str, ...]:
    """Return every known folder of the project of a folder, that one included."""
    return _current.folders(folder) if folder else ()


def project_name(folder: str) -> str:
    """Return what people call the project of a folder: the name of its repository."""
    return _current.name(folder) if folder else folder


def project_names(folders: Iterable[str]) -> dict[str, str]:
    """Return how to name each project: where several are called alike, with what is above them."""
    names = {folder: project_name(folder) for folder in folders}
    for longer in (_with_above, lambda folder, _: folder):
        called = Counter(name.casefold() for name in names.values())
        names = {
            folder: name if called[name.casefold()] == 1 else longer(folder, name)
            for folder, name in names.items()
        }
    return names


def _with_above(folder: str, name: str) -> str:
    above = folder.replace("\\", "/").rstrip("/").split("/")[-2:-1]
    return f"{above[0]}/{name}" if above and above[0] else name


def find_project(named: str, known: Collection[str], here: str, *, is_new: bool = False) -> str:
    """Return the project that a person means: by its name, by a folder of it, or ``here``.

    Args:
        named: A name, or a path; empty for the project of ``here``.
        known: The projects of which anything is known.
        here: The folder from which a relative path starts.
        is_new: Whether a path may be that of a project of which nothing is known yet.

    A name is that of a project, else the end of a path of one of its folders, else that of a
    folder here. Raises ``UnknownProjectError``, which has the nearest names.
    """
    folder = canonical_folder(os.path.join(here, expand_home(named)))  # noqa: PTH118
    project = repository_of(folder)
    wanted = spelling(named).strip("/").casefold()
    is_path = bool(re.match(r"[/~.\\]|[A-Za-z]:", named)) or not named.strip()
    if is_path and (not wanted or project in known or is_new or Path(folder).is_dir()):
        return project
    shown = project_names(known)
    found = [each for each in known if shown[each].casefold() == wanted]
    found = found or [each for each in known if project_name(each).casefold() == wanted]
    found = found or [each for each in known if _ends_with(each, wanted)]
    if len(found) == 1:
        return found[0]
    if not found and Path(folder).is_dir():
        return project
    raise UnknownProjectError(named, known, found)


def _ends_with(project: str, wanted: str) -> bool:
    return any(
        f"/{spelling(each)}".casefold().endswith(f"/{wanted}") for each in folders_of(project)
    )


def same_project(bound: str | None, where: str | None) -> bool:
    """Tell whether something bound to a project holds at ``where``, a folder; unbound: anywhere."""
    if not bound:
        return True
    if not where:
        return False
    if bound == where or repository_of(bound) == repository_of(where):
        return True
    return f"{spelling(where)}/".startswith(f"{spelling(bound).rstrip('/')}/")

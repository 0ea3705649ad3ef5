"""Copies of a project for one run: made, compared with what they were, removed, also after a crash.

A run of another program works in a copy, so that nothing it does is done to the project before a
person looked at it. Of a repository the copy is a detached worktree, of any other folder a bounded
copy of its files. Where copies lie, and what their paths mean, is in ``core.paths``.

Files are read, written and compared with a git directory of our own beside each copy, which a run
isn't told of: it has none of the repository's configuration, and takes its objects as an alternate.
So no filter runs, and files that have one are copied and compared as they lie. Submodules and other
repositories in a folder aren't looked into.
"""

import asyncio
import fcntl
import json
import os
import re
import shutil
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from synthorg_tui.core import COPY_VARIABLE
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, write_atomically
from synthorg_tui.core.git import GitError, nul_joined, nul_split, run_git
from synthorg_tui.core.paths import scratch_name, scratch_root
from synthorg_tui.core.text import size
from synthorg_tui.runtime.git_files import (
    changed_files,
    excerpts,
    git_files,
    marks,
    replaced_git_file,
)
from synthorg_tui.runtime.tools.processes import end_marked

MAX_COPIED_FILES: Final = 20_000
MAX_COPIED_BYTES: Final = 512 * 1024 * 1024
MAX_PATCH_BYTES: Final = 32 * 1024 * 1024
_KEPT_SETTINGS: Final = r"^core\.(excludesfile|ignorecase|filemode)$"
"""Settings that decide which files count; none names a program."""
_CONVERTS: Final = re.compile(
    r"(?:filter|working-tree-encoding)=(?!(?:unspecified|unset|set)$).*|ident=set|eol=crlf",
    re.DOTALL,
)
"""Attributes of files that lie otherwise in a folder than in its repository."""
_GIT_PATH: Final = ("rev-parse", "--path-format=absolute", "--git-path")
_AS_THEY_LIE: Final = "* -filter -working-tree-encoding -ident -text\n"
"""Attributes that go before those of the folder: contents are taken as they are."""


@dataclass(frozen=True, slots=True)
class ScratchCopy:
    """A copy of a workspace.

    ``top`` is the folder that was copied: of a repository its root, though ``path``, where the run
    works, may be a folder in it. ``base`` is the tree of what the copy began with. ``worktree`` is
    the git directory of a worktree, empty for the copy of a plain folder; ``before`` are the marks
    of git's files in its repository, and ``filters`` the attributes of files that weren't followed.
    """

    path: str
    top: str
    is_plain: bool
    base: str = ""
    worktree: str = ""
    before: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the copy, the first folder under the root of all copies."""
        return Path(self.path).relative_to(scratch_root()).parts[0]

    @property
    def folder(self) -> Path:
        """The copy of ``top``."""
        return scratch_root() / self.name / Path(self.top).relative_to("/")

    @property
    def git_dir(self) -> Path:
        """Our own git directory, beside the copy, which knows ``base``."""
        return scratch_root() / f"{self.name}.git"

    @property
    def repository(self) -> Path:
        """The git directory that a worktree shares with its repository."""
        return Path(self.worktree).parent.parent


@asynccontextmanager
async def scratch_worktree(
    source: Path, *, ref: str | None = None, agent_id: str = ""
) -> AsyncIterator[Path]:
    """Yield a copy of a folder to work in, and remove it afterwards.

    Of a repository it is a detached worktree: of the commit ``ref``, or without one of the folder
    as it lies, with what isn't committed. What git ignores isn't copied. Of any other folder it is
    a copy; links that lead out of it are left out. Programs that were started in it with
    ``environ_of`` are ended with it. ``agent_id`` is whose sessions those in it are, when it isn't
    the one that a program's own are. What a crash left behind is removed by the next copy. A copy
    isn't copied again: it is yielded itself and stays with whoever made it.

    Raises ``DomainError``.
    """
    folder = await asyncio.to_thread(_real, source)
    if folder.is_relative_to(scratch_root()):
        yield folder
        return
    await asyncio.to_thread(remove_leftover_copies)
    name = scratch_name(uuid.uuid4().hex[:12], agent_id)
    with _new_lock(name):
        try:
            copy = await asyncio.to_thread(_made, folder, name, ref)
            yield Path(copy.path)
        finally:
            await asyncio.shield(asyncio.to_thread(_remove, name))


def environ_of(copy: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a program that works in a copy, by which it is found again.

    Some go by ``PWD`` rather than by the folder that they are started in.
    """
    return {**environ, "PWD": str(copy), COPY_VARIABLE: copy.relative_to(scratch_root()).parts[0]}


def top_of(source: Path) -> Path:
    """Return the folder that a copy of ``source`` is made of: its repository's root, or itself."""
    folder = _real(source)
    return _repository(folder) or folder


def remove_leftover_copies() -> int:
    """Remove the copies of processes that ended without doing so; return how many."""
    root, removed = scratch_root(), 0
    for lock in root.glob("*.lock"):
        with suppress(OSError), _locked(lock):
            _remove(lock.stem)
            lock.unlink()
            removed += 1
    return removed


@contextmanager
def _new_lock(name: str) -> Iterator[None]:
    """Hold the lock of a new copy; it is seen once it is held, so that nobody takes it first."""
    path = ensure_private_dir(scratch_root()) / name
    draft = path.with_name(f"{name}.draft")
    with _locked(draft):
        draft.rename(f"{path}.lock")
        try:
            yield
        finally:
            Path(f"{path}.lock").unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock, which the system releases when this process dies; raises ``OSError``."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _made(folder: Path, name: str, ref: str | None) -> ScratchCopy:
    if not folder.is_dir():
        raise DomainError(f"{folder} is no folder")
    top = _repository(folder)
    path = scratch_root() / name / folder.relative_to("/")
    copy = ScratchCopy(str(path), str(top or folder), is_plain=top is None)
    _note(name, copy)  # before it is made: a crash must leave nothing that nobody knows
    copy.folder.mkdir(parents=True)
    copy = _worktree(copy, ref) if top else _plain_copy(copy)
    path.mkdir(parents=True, exist_ok=True)  # a folder of ignored files only isn't in the tree
    _note(name, copy)
    return copy


def _repository(folder: Path) -> Path | None:
    """The root of the repository that a folder is in, if that has a commit."""
    try:
        run_git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
        top = _real(Path(_line(folder, "rev-parse", "--show-toplevel")))
    except GitError:
        return None
    return top if (top / ".git").exists() else None  # configuration can name any folder


def _line(folder: Path, *words: str) -> str:
    return os.fsdecode(run_git(folder, *words)).removesuffix("\n")


def _worktree(copy: ScratchCopy, ref: str | None) -> ScratchCopy:
    """A worktree at a commit, or at the state of the files as they lie, which stays uncommitted."""
    top, place, own = Path(copy.top), copy.folder, copy.git_dir
    wanted = f"{ref or 'HEAD'}^{{commit}}"
    commit = _line(top, "rev-parse", "--verify", "--end-of-options", wanted)
    _beside(own, top)
    lying = own / "lying"
    if ref:
        run_git(top, "read-tree", commit, git_dir=own, index=lying)
    else:
        _copy_index(Path(_line(top, *_GIT_PATH, "index")), lying)
    modules, converted, filters = _special(top, own, lying)
    base = _tree(copy, top, lying, anew=[*modules, *([] if ref else converted)], read=not ref)
    run_git(top, "worktree", "add", "--detach", "--no-checkout", "--quiet", str(place), commit)
    worktree = Path(_line(place, "rev-parse", "--absolute-git-dir"))
    run_git(place, "read-tree", "-u", "--reset", base, git_dir=own)
    for each in modules:
        (place / each).mkdir(parents=True, exist_ok=True)
    shutil.copy2(own / "index", own / "theirs")
    run_git(place, "read-tree", "--reset", commit, git_dir=own, index=own / "theirs")
    shutil.copy2(own / "theirs", worktree / "index")
    return replace(
        copy,
        base=base,
        worktree=str(worktree),
        before=marks(git_files(worktree.parent.parent)),
        filters=filters,
    )


def _beside(own: Path, top: Path | None = None) -> None:
    """Make our own git directory, which knows the objects of a repository."""
    kind = _line(top, "rev-parse", "--show-object-format") if top else "sha1"
    words = ("init", "--quiet", "--bare", "--template=", f"--object-format={kind}")
    run_git(own.parent, *words, str(own))
    (own / "info").mkdir(exist_ok=True)
    (own / "info" / "attributes").write_text(_AS_THEY_LIE)
    if top is None:
        return
    (own / "objects" / "info" / "alternates").write_text(_line(top, *_GIT_PATH, "objects") + "\n")
    with suppress(OSError):
        shutil.copyfile(_line(top, *_GIT_PATH, "info/exclude"), own / "info" / "exclude")
    with suppress(GitError):  # there is none
        named = run_git(top, "config", "--type=path", "-z", "--get-regexp", _KEPT_SETTINGS)
        for key, _, value in (each.partition("\n") for each in nul_split(named)):
            run_git(own, "config", key, value, git_dir=own)


def _copy_index(index: Path, target: Path) -> None:
    """Copy an index, with its time: by it git knows which files to read again."""
    if index.is_file():
        shutil.copy2(index, target)
    for shared in index.parent.glob("sharedindex.*"):
        shutil.copy2(shared, target.parent / shared.name)


def _special(top: Path, own: Path, index: Path) -> tuple[list[str], list[str], tuple[str, ...]]:
    """The submodules of an index, the files that lie otherwise than in it, and their filters."""
    listed = nul_split(run_git(top, "ls-files", "--stage", "-z", git_dir=own, index=index))
    entries = (each.partition("\t") for each in listed)
    modes = {path: entry.partition(" ")[0] for entry, _, path in entries}
    modules = [path for path, mode in modes.items() if mode == "160000"]
    words = ("check-attr", "-z", "--stdin", "filter", "working-tree-encoding", "ident", "eol")
    told = iter(nul_split(run_git(top, *words, given=nul_joined(modes))))
    named = ((path, f"{name}={value}") for path, name, value in zip(told, told, told, strict=True))
    found = {(path, each) for path, each in named if _CONVERTS.fullmatch(each)}
    converted = list(modes) if _ends_lines_otherwise(top) else [path for path, _ in found]
    filters = {each for _, each in found if not each.startswith(("ident", "eol"))}
    return modules, converted, tuple(sorted(filters))


def _ends_lines_otherwise(top: Path) -> bool:
    """Whether any text file may end its lines otherwise than in the repository."""
    try:
        told = nul_split(run_git(top, "config", "-z", "--get-regexp", r"^core\.(autocrlf|eol)$"))
    except GitError:  # there is neither
        return False
    return not {"core.autocrlf\ntrue", "core.eol\ncrlf"}.isdisjoint(told)


def _plain_copy(copy: ScratchCopy) -> ScratchCopy:
    """A copy of the files of a folder, and a repository beside it that knows what they were."""
    folder, place = Path(copy.top), copy.folder
    if scratch_root().is_relative_to(folder):
        raise DomainError(f"{folder} can't be copied: copies of projects lie in it")
    _beside(copy.git_dir)
    room = [MAX_COPIED_FILES, MAX_COPIED_BYTES]
    for parent, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if each != ".git"]
        for each in (*folders, *files):
            _copy_entry(Path(parent, each), folder, place, room)
    return replace(copy, base=_tree(copy, place, copy.git_dir / "index"))


def _copy_entry(entry: Path, folder: Path, place: Path, room: list[int]) -> None:
    """Copy a file, a folder itself, or a link that stays inside; anything else is left out."""
    target = place / entry.relative_to(folder)
    if entry.is_symlink():
        leads = Path(os.path.realpath(entry))
        if leads.is_relative_to(folder):
            inside = place / leads.relative_to(folder)
            target.symlink_to(os.path.relpath(inside, target.parent))
    elif entry.is_dir():
        target.mkdir(exist_ok=True)
    elif entry.is_file():
        room[0] -= 1
        room[1] -= entry.stat().st_size
        if min(room) < 0:
            most = f"{MAX_COPIED_FILES:,} files or {size(MAX_COPIED_BYTES)}"
            raise DomainError(
                f"{folder} has more than {most}", remedy="Make it a git repository: git init."
            )
        shutil.copy2(entry, target)


def _tree(
    copy: ScratchCopy, folder: Path, index: Path, *, anew: Sequence[str] = (), read: bool = True
) -> str:
    """The tree of an index, brought up to what lies in a folder if that is to be ``read``.

    ``anew`` are paths that leave the index before. Ignored files belong to a plain copy only.
    """
    own = copy.git_dir
    if anew:
        words = ("update-index", "-z", "--force-remove", "--stdin")
        run_git(folder, *words, git_dir=own, index=index, given=nul_joined(anew))
    if read:
        nested = _repositories_in(copy, folder, index)
        words = ("add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul")
        also_ignored = ("--force",) if copy.is_plain else ()
        given = nul_joined([":/", *(f":(exclude,literal,top){each}" for each in nested)])
        run_git(folder, *words, *also_ignored, git_dir=own, index=index, given=given)
    return os.fsdecode(run_git(folder, "write-tree", git_dir=own, index=index)).strip()


def _repositories_in(copy: ScratchCopy, folder: Path, index: Path) -> list[str]:
    """The folders in a folder that are repositories of their own, each ended by a slash."""
    words = ("ls-files", "--others", "-z", *(() if copy.is_plain else ("--exclude-standard",)))
    others = nul_split(run_git(folder, *words, git_dir=copy.git_dir, index=index))
    return [each for each in others if each.endswith("/")]


def _known(path: Path) -> ScratchCopy:
    copy = _noted(path.relative_to(scratch_root()).parts[0])
    if copy is None or not copy.base:
        raise DomainError(f"{path} is no copy of a project")
    return copy


def changes_in(path: Path, *, without: Sequence[str] = ()) -> bytes:
    """Return what was changed in a copy since it was made, as a patch that ``git apply`` takes.

    Commits that were made in it are part of it. ``without`` are paths, relative to the copy, that
    are left out. Blocks; raises ``DomainError`` for a patch of more than ``MAX_PATCH_BYTES``.
    """
    copy = _known(path)
    _end_programs(copy.name)
    place, own = copy.folder, copy.git_dir
    index = own / "now"
    left_out = [f":(exclude,literal,top){(path / each).relative_to(place)}" for each in without]
    words = ("diff", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
    shutil.copy2(own / "index", index)
    now = _tree(copy, place, index)
    patch = run_git(place, *words, copy.base, now, "--", ":(top)", *left_out, git_dir=own)
    if len(patch) > MAX_PATCH_BYTES:
        raise DomainError(f"it changed more than a patch of {size(MAX_PATCH_BYTES)} holds")
    return patch


def findings_in(path: Path) -> tuple[list[str], list[str]]:
    """Return in words what a person must know of git in a copy: warnings, and remarks.

    Warnings are of a ``.git`` that isn't the one that was put there, and of changed configuration,
    hooks and other files that the person's next git command acts on; remarks are of what was left
    out of the changes. Blocks; raises ``DomainError``.
    """
    copy = _known(path)
    warnings, remarks = [], []
    written = f"gitdir: {copy.worktree}\n" if copy.worktree else ""
    if replaced := replaced_git_file(copy.folder, written):
        warnings.append(f"refused .git of the copy, which was replaced by {replaced}")
    if copy.worktree and (changed := changed_files(copy.repository, copy.before)):
        warnings.append(
            f"git's own files in {copy.repository} changed while it ran: {changed}. Nothing of "
            "that was run here, but your next git command there may run it: look at it before"
        )
    if nested := _repositories_in(copy, copy.folder, copy.git_dir / "index"):
        remarks.append(f"repositories of their own were left out: {excerpts(nested)}")
    if copy.filters:
        told = excerpts(copy.filters)
        remarks.append(f"files with {told} are compared as they lie: no filter was run")
    return warnings, remarks


def _note(name: str, copy: ScratchCopy) -> None:
    content = json.dumps(asdict(copy)).encode()
    write_atomically(scratch_root() / f"{name}.json", content, mode=PRIVATE_FILE, durable=False)


def _noted(name: str) -> ScratchCopy | None:
    try:
        return ScratchCopy(**json.loads((scratch_root() / f"{name}.json").read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _remove(name: str) -> None:
    """End what still runs in a copy, and remove it with all that was noted of it."""
    _end_programs(name)
    root, copy = scratch_root(), _noted(name)
    shutil.rmtree(root / name, onerror=_made_writable)
    shutil.rmtree(root / f"{name}.git", ignore_errors=True)
    if copy is not None and not copy.is_plain:
        with suppress(GitError):
            run_git(Path(copy.top), "worktree", "prune")
    (root / f"{name}.json").unlink(missing_ok=True)


def _made_writable(remove: object, path: str, _: object) -> None:
    """Remove what lies in a folder that was made read-only; else leave it for the next time."""
    with suppress(OSError):
        Path(path).parent.chmod(0o700)
        if Path(path).is_dir() and not Path(path).is_symlink():
            Path(path).chmod(0o700)
            shutil.rmtree(path, ignore_errors=True)
        else:
            Path(path).unlink(missing_ok=True)


def _end_programs(name: str) -> None:
    """Kill what was started in a copy, but for an owner of the store that a hook needed."""
    end_marked(f"{COPY_VARIABLE}={name}", spared=b"synthorg_tui")

"""Copies of a project for one run: made, compared with what they were, removed, also after a crash.

A run of another program works in a copy, so that nothing it does is done to the project before a
person looked at it. Of a repository the copy is a detached worktree, of any other folder a bounded
copy of its files. Where copies lie, and what their paths mean, is in ``core.paths``.
"""

import asyncio
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from synthorg_tui.core import COPY_VARIABLE
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, write_atomically
from synthorg_tui.core.paths import scratch_name, scratch_root
from synthorg_tui.core.text import size

MAX_COPIED_FILES: Final = 20_000
MAX_COPIED_BYTES: Final = 512 * 1024 * 1024
MAX_PATCH_BYTES: Final = 32 * 1024 * 1024
_ROUNDS: Final = 40
_ROUND_SECONDS: Final = 0.05
_GIT_SECONDS: Final = 300.0
_SIGNED: Final = ("-c", "user.name=run", "-c", "user.email=run@localhost")
_UNHOOKED: Final = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false")


class WorktreeError(DomainError):
    """A copy of a workspace can't be made, or can't be compared with what it was."""


@dataclass(frozen=True, slots=True)
class ScratchCopy:
    """A copy of a workspace.

    ``top`` is the folder that was copied: of a repository its root, though ``path``, where the run
    works, may be a folder in it. ``base`` is the tree of what the copy began with, ``git_dir`` the
    repository that knows it; empty for a worktree's own.
    """

    path: str
    top: str
    base: str
    git_dir: str = ""

    @property
    def name(self) -> str:
        """The name of the copy, the first folder under the root of all copies."""
        return Path(self.path).relative_to(scratch_root()).parts[0]

    @property
    def folder(self) -> Path:
        """The copy of ``top``."""
        return scratch_root() / self.name / Path(self.top).relative_to("/")


@asynccontextmanager
async def scratch_worktree(
    source: Path, *, ref: str | None = None, agent_id: str = ""
) -> AsyncIterator[Path]:
    """Yield a copy of a folder to work in, and remove it afterwards.

    Of a repository it is a detached worktree: of the commit ``ref``, or without one of the folder
    as it lies, with what isn't committed. What git ignores isn't copied. Of any other folder it is
    a copy; links that lead out of it are left out. Programs that were started in it with
    ``environ_of`` are ended with it. ``agent_id`` is whose sessions those in it are, when it isn't
    the one that a program's own are. What a crash left behind is removed by the next copy.

    Raises ``WorktreeError``.
    """
    await asyncio.to_thread(remove_leftover_copies)
    name = scratch_name(uuid.uuid4().hex[:12], agent_id)
    folder = await asyncio.to_thread(_real, source)
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


async def changes_in(copy: Path, *, without: Sequence[str] = ()) -> bytes:
    """Return what was changed in a copy since it was made, as a patch that ``git apply`` takes.

    Commits that were made in it are part of it. ``without`` are paths, relative to the copy, that
    don't count. Raises ``WorktreeError`` for a patch of more than ``MAX_PATCH_BYTES``.
    """
    return await asyncio.to_thread(_changes, copy, tuple(without))


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
        raise WorktreeError(f"{folder} is no folder")
    if folder.is_relative_to(scratch_root()):
        raise WorktreeError(f"{folder} is a copy itself", remedy="Name the project.")
    if shutil.which("git") is None:
        raise WorktreeError("git isn't installed", remedy="Install git: copies are made with it.")
    top = _repository(folder)
    made = _worktree(top, folder, name, ref) if top else _plain_copy(folder, name)
    _note(name, made)
    return made


def _repository(folder: Path) -> Path | None:
    """The root of the repository that a folder is in, if that has a commit."""
    try:
        _git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
        return Path(os.path.realpath(_git(folder, "rev-parse", "--show-toplevel").strip()))
    except WorktreeError:
        return None


def _worktree(top: Path, folder: Path, name: str, ref: str | None) -> ScratchCopy:
    """A worktree at a commit, or at the state of the files as they lie, which stays uncommitted."""
    place = scratch_root() / name / top.relative_to("/")
    place.parent.mkdir(parents=True)
    begin = ScratchCopy(str(place), str(top), "")
    _note(name, begin)  # before it is made: a crash must leave nothing that nobody knows
    commit = _git(top, "rev-parse", "--verify", "--end-of-options", f"{ref or 'HEAD'}^{{commit}}")
    tree = f"{commit.strip()}^{{tree}}"
    base = _git(top, "rev-parse", tree).strip() if ref else _tree_as_it_lies(top, name)
    _git(top, "worktree", "add", "--detach", "--no-checkout", "--quiet", str(place), commit.strip())
    _git(place, "read-tree", "-u", "--reset", base)
    _git(place, "reset", "--quiet")
    path = place / folder.relative_to(top)
    path.mkdir(parents=True, exist_ok=True)  # a folder of ignored files only isn't in the tree
    return ScratchCopy(str(path), str(top), base)


def _tree_as_it_lies(top: Path, name: str) -> str:
    """The tree of the files of a repository with what isn't committed; its own index isn't touched.

    It begins with a copy of that index, so that only changed files are read.
    """
    index = scratch_root() / f"{name}.index"
    own = Path(_git(top, "rev-parse", "--path-format=absolute", "--git-path", "index").strip())
    try:
        if own.is_file():
            shutil.copy2(own, index)  # with its time: by it git knows which files to read again
        _git(top, "add", "--all", environ={"GIT_INDEX_FILE": str(index)})
        return _git(top, "write-tree", environ={"GIT_INDEX_FILE": str(index)}).strip()
    finally:
        index.unlink(missing_ok=True)


def _plain_copy(folder: Path, name: str) -> ScratchCopy:
    """A copy of the files of a folder, and a repository beside it that knows what they were."""
    if scratch_root().is_relative_to(folder):
        raise WorktreeError(f"{folder} can't be copied: copies of projects lie in it")
    place, git_dir = scratch_root() / name / folder.relative_to("/"), scratch_root() / f"{name}.git"
    place.mkdir(parents=True)
    _note(name, ScratchCopy(str(place), str(folder), "", str(git_dir)))
    room = [MAX_COPIED_FILES, MAX_COPIED_BYTES]
    for parent, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if each != ".git"]
        for each in (*folders, *files):
            _copy_entry(Path(parent, each), folder, place, room)
    _git(place, "init", "--quiet", "--bare", str(git_dir))
    return ScratchCopy(str(place), str(folder), _tree_beside(place, git_dir), str(git_dir))


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
            raise WorktreeError(
                f"{folder} has more than {most}", remedy="Make it a git repository: git init."
            )
        shutil.copy2(entry, target)


def _tree_beside(place: Path, git_dir: Path) -> str:
    """The tree of all files of a folder, ignored ones too, in a repository that lies beside it."""
    environ = {"GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(place)}
    _git(place, "add", "--all", "--force", environ=environ)
    return _git(place, "write-tree", environ=environ).strip()


def _changes(path: Path, without: tuple[str, ...]) -> bytes:
    copy = _noted(path.relative_to(scratch_root()).parts[0])
    if copy is None or not copy.base:
        raise WorktreeError(f"{path} is no copy of a project")
    place = copy.folder
    environ = {"GIT_DIR": copy.git_dir, "GIT_WORK_TREE": str(place)} if copy.git_dir else {}
    now = (
        _tree_beside(place, Path(copy.git_dir))
        if copy.git_dir
        else _tree_as_it_lies(place, f"{copy.name}.now")
    )
    left_out = [f":(exclude,literal,top){(path / each).relative_to(place)}" for each in without]
    words = ("diff", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
    patch = _git_bytes(place, *words, copy.base, now, "--", ":(top)", *left_out, environ=environ)
    if len(patch) > MAX_PATCH_BYTES:
        raise WorktreeError(f"it changed more than a patch of {size(MAX_PATCH_BYTES)} holds")
    return patch


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
    end_programs(name)
    root, copy = scratch_root(), _noted(name)
    shutil.rmtree(root / name, onerror=_made_writable)
    shutil.rmtree(root / f"{name}.git", ignore_errors=True)
    if copy is not None and not copy.git_dir:
        with suppress(WorktreeError, OSError):
            _git(Path(copy.top), "worktree", "prune")
    for end in (".json", ".index", ".now.index"):
        (root / f"{name}{end}").unlink(missing_ok=True)


def _made_writable(remove: object, path: str, _: object) -> None:
    """Remove what lies in a folder that was made read-only; else leave it for the next time."""
    with suppress(OSError):
        Path(path).parent.chmod(0o700)
        if Path(path).is_dir() and not Path(path).is_symlink():
            Path(path).chmod(0o700)
            shutil.rmtree(path, ignore_errors=True)
        else:
            Path(path).unlink(missing_ok=True)


def end_programs(name: str) -> None:
    """Kill the programs that were started with a copy's name in their environment.

    Also those that left the group of the one that started them. Other systems than Linux don't tell
    what a program's environment is; there the group of the first one has to do.
    """
    if not sys.platform.startswith("linux"):
        return
    mark = f"{COPY_VARIABLE}={name}".encode()
    for _ in range(_ROUNDS):  # one may start another while it is ended, and takes its time to go
        marked = [pid for pid in _processes() if _is_marked(pid, mark)]
        for pid in marked:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not marked:
            return
        time.sleep(_ROUND_SECONDS)


def _processes() -> list[int]:
    own = os.getpid()
    found = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in found if pid != own]


def _is_marked(pid: int, mark: bytes) -> bool:
    """Whether a process was started in the copy; an owner of the store that a hook needed stays."""
    try:
        is_ours = b"synthorg_tui" in Path(f"/proc/{pid}/cmdline").read_bytes()
        return not is_ours and mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _git(folder: Path, *words: str, environ: Mapping[str, str] | None = None) -> str:
    return os.fsdecode(_git_bytes(folder, *words, environ=environ))


def _git_bytes(folder: Path, *words: str, environ: Mapping[str, str] | None = None) -> bytes:
    """Run git; a repository's own hooks don't run, and nothing is asked at the terminal."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *_UNHOOKED, *_SIGNED, *words],
            cwd=folder,
            env={**own, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(environ or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WorktreeError(f"git {words[0]} failed: {error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise WorktreeError(f"git {words[0]} failed: {said[-1] if said else 'it said nothing'}")
    return done.stdout

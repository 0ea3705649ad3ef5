"""Files of a Qdrant Edge directory: which embedder it is for, and how far it is durable.

Run as a program, ``python -m synthorg_tui.memory.index.edge_files SHARD``, it packs a shard: the
engine's ``optimize`` stops every thread of its process for seconds. With a vector length after it,
the shard is first made anew of its points: the engine leaves vectors of deleted ones in its files.
"""

import asyncio
import json
import os
import re
import shutil
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from synthorg_tui.core.disk_space import INDEX_ROOM, fill_holes, is_in_memory, need_room
from synthorg_tui.core.errors import DiskFullError
from synthorg_tui.core.files import PRIVATE_DIR, sync, write_atomically
from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.index.layout import FORMAT_VERSION

FIRST_SHARD: Final = "shard"
_HEAD_BYTES: Final = 32 * 1024
"""What the bit maps of 260,000 points take."""
_CHANGES_AHEAD: Final = 2_000
"""Changes until the files are looked after again, doubled."""
_SHARD_NAME: Final = re.compile(rf"{FIRST_SHARD}(-[1-9][0-9]{{0,8}})?")


@dataclass(frozen=True, slots=True)
class EdgeState:
    """Metadata of an index directory, stored in a file beside its shard (the engine's data).

    ``revision`` is the last one known to be on disk; the shard may contain later ones, never fewer.
    ``points`` is the number of points at that revision, ``None`` once the shard has changed since.
    ``shard`` is the directory in use; ``packed`` the revision up to which it is packed.
    """

    fingerprint: str
    dims: int
    revision: int = 0
    points: int | None = None
    shard: str = FIRST_SHARD
    packed: int = 0
    format: int = FORMAT_VERSION

    def fits(self, fingerprint: str, dims: int) -> bool:
        """Return whether the shard was built for vectors of this embedder and length."""
        mine = (self.format, self.fingerprint, self.dims)
        return mine == (FORMAT_VERSION, fingerprint, dims)

    def at(self, revision: int, points: int | None) -> "EdgeState":
        """Return a copy for when everything up to ``revision`` is on disk."""
        return replace(self, revision=revision, points=points)

    @property
    def next_shard(self) -> str:
        """Name for the directory that will replace the current shard."""
        number = self.shard.removeprefix(f"{FIRST_SHARD}-")
        return f"{FIRST_SHARD}-{int(number) + 1 if number.isdecimal() else 2}"


def read_state(path: Path) -> EdgeState | None:
    """Read the state file at ``path``; return ``None`` when it is missing or invalid."""
    try:
        state = EdgeState(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    valid = (
        isinstance(state.revision, int)
        and isinstance(state.points, int | None)
        and isinstance(state.packed, int)
        and isinstance(state.shard, str)
        and _SHARD_NAME.fullmatch(state.shard)
    )
    return state if valid and state.revision >= 0 else None


def write_state(path: Path, state: EdgeState, *, durable: bool) -> None:
    """Replace the state file atomically: a killed process leaves the old or the new one.

    With ``durable`` that holds for a power failure too. Otherwise a power failure may lose the
    state, and the index is then rebuilt.
    """
    write_atomically(path, json.dumps(asdict(state)).encode(), mode=None, durable=durable)


def sync_files(directory: Path) -> None:
    """Wait until the files in a directory, and the directory itself, are on disk."""
    for path in (*directory.iterdir(), directory):
        sync(path)


def make_room(index: Path, *, copies: Path | None = None) -> None:
    """Make sure that the engine can write to the index without meeting a full disk.

    The engine writes through sparse memory maps, where no space left ends the process with a
    signal. So this asks for ``INDEX_ROOM`` before each step that writes, and with ``copies`` for
    as much more as a copy of that shard takes, twice over for packing it. Where reading a hole
    takes room, too (``tmpfs``), the files get all their blocks. Raises ``VectorIndexError``; what
    was to be written is replayed from the database later.
    """
    needed = INDEX_ROOM
    if copies is not None:
        needed += 2 * _length(copies)
    try:
        need_room(index, needed)
        if index.exists() and is_in_memory(index):
            fill_holes(index)
    except DiskFullError as error:
        raise VectorIndexError(error.message, remedy=error.remedy) from error


def _length(shard: Path) -> int:
    """The bytes of a shard's files, of which the engine may be replacing some."""
    total = 0
    for file in shard.rglob("*"):
        with suppress(FileNotFoundError):
            total += file.stat().st_size
    return total


def allocate_for_closing(shard: Path, revision: int) -> None:
    """Give the files of a shard what the engine writes to them when it is flushed or closed.

    It then updates tables of 16 bytes a point and bit maps, both from their start on, through
    memory maps; without this, closing on a full disk ends the process with a signal. ``revision``
    bounds the number of points there ever were. Raises ``OSError``.
    """
    fill_holes(shard, up_to=_HEAD_BYTES + 16 * (revision + _CHANGES_AHEAD))


def set_aside(path: Path) -> None:
    """Rename a damaged index directory for inspection and delete earlier damaged ones."""
    earlier = broken_copies(path)
    number = max((int(old.name.rpartition("-")[2]) for old in earlier), default=0) + 1
    path.rename(path.with_name(f"{path.name}.broken-{number}"))
    for old in earlier:
        shutil.rmtree(old, ignore_errors=True)


def remove_broken(path: Path) -> None:
    """Delete the damaged index directories that were set aside beside ``path``."""
    for directory in broken_copies(path):
        shutil.rmtree(directory, ignore_errors=True)


def broken_copies(path: Path) -> list[Path]:
    """Return the damaged index directories that were set aside beside ``path``."""
    siblings = path.parent.glob(f"{path.name}.broken-*")
    return [sibling for sibling in siblings if sibling.name.rpartition("-")[2].isdecimal()]


NICENESS: Final = 19
_MAX_PASSES: Final = 5
_PAGE: Final = 500


async def pack_in_child(shard: Path, *, anew: int | None = None) -> None:
    """Pack a shard that no process has open, in a child process.

    With ``anew``, the length of its dense vectors, nothing of deleted points is left in its files.
    Raises ``VectorIndexError`` on failure. Cancelling kills the child, and the shard is then
    unusable.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", __name__, str(shard), *([] if anew is None else [str(anew)])),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, stderr = await process.communicate()
    except BaseException:
        if process.returncode is None:
            process.kill()
            await process.wait()
        raise
    if process.returncode != 0:
        last = stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise VectorIndexError(f"cannot pack the index: {last or process.returncode}")


def pack(shard: Path) -> None:
    """Pack a shard in this process and wait until it is on disk."""
    import qdrant_edge as edge

    opened = edge.EdgeShard.load(str(shard))
    for _ in range(_MAX_PASSES):
        if not opened.optimize():
            break
    opened.flush()
    opened.close()
    for folder, _, names in os.walk(shard):
        for name in (*names, "."):
            sync(Path(folder, name))


def make_anew(shard: Path, dims: int) -> None:
    """Replace a shard by one that has its points and nothing else; the state file is not touched.

    A crash leaves the shard as it was, or none. Ends without a result when the process that asked
    for it is gone: another one may be using the name by then.
    """
    import qdrant_edge as edge

    from synthorg_tui.memory.index import edge_types

    asked_by = os.getppid()
    fresh = shard.with_name(f"{shard.name}.fresh-{os.getpid()}")
    fresh.mkdir(mode=PRIVATE_DIR)
    old = edge.EdgeShard.load(str(shard))
    new = edge.EdgeShard.create(str(fresh), edge_types.shard_config(dims))
    if old.count(edge.CountRequest(exact=True)) >= edge_types.FIELD_POINTS:
        edge_types.create_field_indexes(new)
    offset: object = None
    while True:
        page, offset = old.scroll(
            edge.ScrollRequest(
                offset=offset,  # type: ignore[arg-type]  # what the engine gave for the last page
                limit=_PAGE,
                with_payload=True,
                with_vector=True,
            )
        )
        points = [edge.Point(found.id, found.vector or {}, found.payload) for found in page]
        if points:
            new.update(edge.UpdateOperation.upsert_points(points))
        if offset is None:
            break
    new.flush()
    new.close()
    old.close()
    if os.getppid() != asked_by:
        shutil.rmtree(fresh)
        sys.exit(1)
    shutil.rmtree(shard)
    fresh.rename(shard)


if __name__ == "__main__":
    if len(sys.argv) > 2:  # somebody may be waiting for it
        make_anew(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        os.nice(NICENESS)
    pack(Path(sys.argv[1]))

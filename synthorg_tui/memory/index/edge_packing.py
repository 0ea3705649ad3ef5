"""Packs the files of an index, in a process of its own: ``python -m ...edge_packing SHARD``.

What is written to grows in segments that are built up in memory again at each opening: at 100,000
memories 0.6 seconds, in which no other thread runs. Packed segments are mapped from their files
instead and open in a third of that. Packing takes ten seconds and would stop the whole interpreter
as long, so it is done to a copy and elsewhere.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from synthorg_tui.core.files import sync
from synthorg_tui.memory.errors import VectorIndexError

NICENESS: Final = 19
_MAX_PASSES: Final = 5


async def pack_in_child(shard: Path) -> None:
    """Pack a shard that nobody has open; raises ``VectorIndexError`` when that fails.

    A cancelled one is killed; the shard is of no use then.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__, str(shard)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, said = await process.communicate()
    except BaseException:
        if process.returncode is None:
            process.kill()
            await process.wait()
        raise
    if process.returncode != 0:
        last = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise VectorIndexError(f"cannot pack the index: {last or process.returncode}")


def pack(shard: Path) -> None:
    """Pack a shard and wait until it is on disk."""
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


if __name__ == "__main__":
    os.nice(NICENESS)
    pack(Path(sys.argv[1]))

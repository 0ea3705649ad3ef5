"""After a purge neither text nor vector of it is in any byte of the data directory."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from synthorg_tui.core.errors import DiskFullError
from synthorg_tui.memory.extensions import MemoryEdit
from synthorg_tui.memory.store import core as store_core
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.persistence import INDEX_DIR
from synthorg_tui.providers.embedding.protocol import Vectors
from tests.disk_kit import disk_of, written
from tests.memory.store.store_kit import AGENT, FlakyIndex, draft, opened, query, request
from tests.tables import rows

DIMS = 48
SECRET = "the XYLOPHONE stands in the cellar"
MORE = "the XYLOPHONE was sold"
KINDS = (np.float16, np.float32, np.float64)


class NoiseEmbedder:
    """Gives each text a vector without a zero, so that its bytes are found in files."""

    fingerprint = f"noise/1/{DIMS}"
    dims = DIMS

    is_loaded = True

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([vector(text) for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        return vector(text)

    async def unload(self) -> None:
        """Nothing was loaded."""

    async def close(self) -> None:
        """Nothing to close."""


def vector(text: str) -> Vectors:
    noise = np.random.default_rng(list(text.encode())).normal(size=DIMS).astype(np.float32)
    return np.asarray(noise / np.linalg.norm(noise), dtype=np.float32)


def places(folder: Path, *texts: str) -> set[str]:
    """Where a word of these texts or their vectors are, in any file and any precision."""
    found = set()
    needles = [("text", b"XYLOPHONE")]
    for text in texts:
        # A few numbers from the middle: the engine scales a vector, which may change a last bit.
        needles += [(kind.__name__, vector(text).astype(kind)[8:14].tobytes()) for kind in KINDS]
    for file in folder.rglob("*"):
        if file.is_file():
            content = written(file)
            part = INDEX_DIR if INDEX_DIR in file.parts else "database"
            found |= {f"{part}: {name}" for name, needle in needles if needle in content}
    return found


async def filled(backend: LocalMemoryBackend, count: int = 300) -> str:
    """A store with a memory among others; returns its id."""
    words = [draft(f"note {number} " + "plain words " * 60) for number in range(count)]
    await backend.store_many(AGENT, words, actor="me")
    return await backend.store(AGENT, request(SECRET))


async def doctor(backend: LocalMemoryBackend, folder: Path) -> dict[str, tuple[bool, str]]:
    report = await Maintenance(backend, data_dir=folder).doctor()
    return {check.name: (check.ok, check.detail) for check in report.checks}


async def test_a_purge_reaches_text_and_vector_while_the_store_is_open(tmp_path: Path) -> None:
    async with opened(tmp_path, embedder=NoiseEmbedder()) as backend:
        purged = await filled(backend)
        await backend.core.database.rewrite()  # so that the file holds it, too
        assert places(tmp_path, SECRET) >= {
            "database: text",
            "database: float32",
            f"{INDEX_DIR}: float16",
        }
        await backend.admin.purge([purged], actor="me")
        remains = await Maintenance(backend, data_dir=tmp_path).compact()
        assert remains.is_empty
        assert places(tmp_path, SECRET) == set()
        assert (await backend.admin.find(query("note 7"))).hits
        assert (await doctor(backend, tmp_path))["index"][0]
    assert places(tmp_path, SECRET) == set()


async def test_what_was_edited_and_deleted_before_the_purge_is_reached_too(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, embedder=NoiseEmbedder()) as backend:
        purged = await filled(backend, 3)
        await backend.admin.edit(purged, MemoryEdit(content=MORE), actor="me")
        await backend.admin.remove([purged], actor="me")
    assert f"{INDEX_DIR}: float16" in places(tmp_path, SECRET, MORE)
    async with opened(tmp_path, embedder=NoiseEmbedder()) as backend:
        await backend.admin.purge([purged], actor="me")
    assert places(tmp_path, SECRET, MORE) == set()


async def test_the_files_are_written_anew_soon_after_a_purge_without_being_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_core, "ERASED_AFTER", 0.01)
    async with opened(tmp_path, embedder=NoiseEmbedder()) as backend:
        purged = await filled(backend, 3)
        await backend.admin.purge([purged], actor="me")
        assert backend.core.is_erasing
        while backend.core.is_erasing:
            await backend.count(AGENT)
        assert places(tmp_path, SECRET) == set()


KILLED = textwrap.dedent(
    """
    import asyncio, os, signal, sys
    from pathlib import Path
    from synthorg_tui.persistence import database
    from tests.memory.store.store_kit import opened
    from tests.memory.store.test_residue import NoiseEmbedder, filled

    async def main():
        folder, when = Path(sys.argv[1]), sys.argv[2]
        async with opened(folder, embedder=NoiseEmbedder()) as backend:
            purged = await filled(backend, 20)
        async with opened(folder, embedder=NoiseEmbedder()) as backend:
            await backend.admin.purge([purged], actor="me")
            if when == "copied":
                whole = Path.replace
                def replace(*paths):
                    os.kill(os.getpid(), signal.SIGKILL)
                Path.replace = replace
                await backend.core.erase()
            os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(main())
    """
)


@rows("when", ["purged", "copied"])
async def test_a_kill_after_a_purge_loses_neither_the_mark_nor_a_memory(
    tmp_path: Path, when: str
) -> None:
    killed = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", KILLED, str(tmp_path), when],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert places(tmp_path, SECRET)
    async with opened(tmp_path, embedder=NoiseEmbedder()) as backend:
        assert await backend.count(AGENT) == 20
        ok, detail = (await doctor(backend, tmp_path))["erased"]
        assert ok, "closing erases it"
        assert "still to be erased: text in the database file" in detail
        report = await Maintenance(backend, data_dir=tmp_path).doctor(fix=True)
        assert report.ok
        assert places(tmp_path, SECRET) == set()
        assert (await doctor(backend, tmp_path))["erased"][
            1
        ] == "nothing is left of what was purged"


async def test_an_owner_that_compacts_erases_what_an_earlier_one_left(tmp_path: Path) -> None:
    home, left = tmp_path / "home", tmp_path / "left"
    async with opened(home, embedder=NoiseEmbedder()) as backend:
        purged = await filled(backend, 3)
        await backend.admin.purge([purged], actor="me")
        shutil.copytree(home, left)
    async with opened(left, embedder=NoiseEmbedder()) as backend:
        await backend.core.erase()
        assert backend.core.remains.is_empty
        assert places(left, SECRET) == set()


async def test_closing_leaves_a_very_large_database_to_an_owner_that_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, embedder=NoiseEmbedder()) as backend:
        purged = await filled(backend, 3)
        await backend.admin.purge([purged], actor="me")
        monkeypatch.setattr(store_core, "ERASED_ON_CLOSE", 0)
    assert places(tmp_path, SECRET)
    async with opened(tmp_path, embedder=NoiseEmbedder()) as backend:
        assert not backend.core.remains.is_empty
        await backend.core.erase()
    assert places(tmp_path, SECRET) == set()


async def test_without_room_it_is_refused_in_words_and_stays_to_be_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, embedder=NoiseEmbedder()) as backend:
        purged = await filled(backend, 3)
        await backend.admin.purge([purged], actor="me")
        disk_of(monkeypatch, free_mib=1)
        remains = await backend.core.erase()
        assert (remains.database, remains.index) == (True, True)
        assert "MB are free" in remains.told
        ok, detail = (await doctor(backend, tmp_path))["erased"]
        assert not ok
        assert "MB are free" in detail
        with pytest.raises(DiskFullError, match="MB are free"):
            await backend.core.database.rewrite()
        assert await backend.count(AGENT) == 3
    assert places(tmp_path, SECRET) >= {"database: text", "database: float32"}
    monkeypatch.undo()
    async with opened(tmp_path, embedder=NoiseEmbedder()) as backend:
        assert not backend.core.remains.is_empty
        await backend.core.erase()
    assert places(tmp_path, SECRET) == set()


async def test_an_index_that_fails_to_be_erased_stays_to_be_erased(tmp_path: Path) -> None:
    index = FlakyIndex(tmp_path / INDEX_DIR)
    async with opened(tmp_path, embedder=NoiseEmbedder(), index=index) as backend:
        purged = await filled(backend, 3)
        index.broken = True
        await backend.admin.purge([purged], actor="me")
        remains = await backend.core.erase()
        assert (remains.database, remains.index) == (False, True)
        assert "disk full" in remains.told
        index.broken = False
        assert (await backend.core.erase()).is_empty
        assert places(tmp_path, SECRET) == set()


async def test_an_index_made_anew_has_nothing_to_be_erased(tmp_path: Path) -> None:
    async with opened(tmp_path, embedder=NoiseEmbedder()) as backend:
        purged = await filled(backend, 3)
        await backend.admin.purge([purged], actor="me")
        assert backend.core.remains.index
        await Maintenance(backend, data_dir=tmp_path).reindex()
        assert not backend.core.remains.index
        assert places(tmp_path / INDEX_DIR, SECRET) == set()

"""A writer killed at any moment: nothing acknowledged is lost, nothing deleted comes back."""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from synthorg_tui.memory.extensions import BrowseFilter
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance
from tests.memory.store import crash_writer
from tests.memory.store.store_kit import AGENT, opened, query
from tests.pty_kit import LOADED
from tests.soak import points

ROUNDS = points(5, 60)
SEED = 20260101
LONGEST_LIFE = 0.25
MOST_CHANGES = 10
LONGEST_CHANGE = 0.03
OLDER_CHECKED = 8


@dataclass
class Model:
    """What the store must hold, from what the writer acknowledged."""

    live: dict[str, str] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)

    def apply(self, kind: str, targets: list[str], texts: list[str], ids: list[str]) -> None:
        if kind in ("delete", "purge"):
            (target,) = targets
            self.gone[target] = self.live.pop(target)
            self.touched.add(target)
            return
        self.live.update(zip(ids, texts, strict=True))
        self.touched.update(ids)


def life(
    data_dir: Path, seed: int, live: list[str], *, changes: int, seconds: float
) -> Iterator[tuple[object, ...]]:
    """What a writer said that is killed so many seconds after so many changes."""
    ours, theirs = LOADED.Pipe(duplex=False)
    writer = LOADED.Process(target=crash_writer.run, args=(str(data_dir), seed, live, theirs))
    writer.start()
    theirs.close()
    heard: list[tuple[object, ...]] = [ours.recv()]  # fails if the writer ends
    while sum(phase == "done" for phase, *_ in heard) < changes:
        heard.append(ours.recv())
    time.sleep(seconds)
    writer.kill()
    writer.join()
    assert writer.exitcode == -9, "the writer ended by itself"
    yield from heard
    yield from _messages(ours)
    ours.close()


def moment(choose: random.Random, number: int) -> tuple[int, float]:
    """When to kill a writer: every third from its start on, perhaps while it opens the store.

    The others are killed at some change, however slow the machine is; the first one has made
    changes of all kinds by then.
    """
    if number % 3 == 1:
        return 0, choose.uniform(0.0, LONGEST_LIFE)
    changes = choose.randint(1, MOST_CHANGES) if number else MOST_CHANGES
    return changes, choose.uniform(0.0, LONGEST_CHANGE)


def _messages(pipe: Connection) -> Iterator[tuple[object, ...]]:
    try:
        while pipe.poll():
            yield pipe.recv()
    except (EOFError, OSError):
        return


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_killed_at_any_moment_the_store_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    choose = random.Random(SEED)
    model = Model()
    kinds: list[str] = []
    for number in range(ROUNDS):
        model.touched = set()
        begun: tuple[str, list[str], list[str]] | None = None
        changes, seconds = moment(choose, number)
        said = life(tmp_path, number, list(model.live), changes=changes, seconds=seconds)
        for phase, kind, ids, texts in said:
            assert isinstance(kind, str)
            assert isinstance(ids, list)
            assert isinstance(texts, list)
            if phase in ("ready", "open"):
                continue
            if phase == "begin":
                begun = (kind, ids, texts)
            elif begun is not None:
                model.apply(kind, begun[1], begun[2], ids)
                kinds.append(kind)
                begun = None
        async with opened(tmp_path) as backend:
            await settle_unacknowledged(backend, model, begun)
            older = choose.sample(sorted(model.live), min(OLDER_CHECKED, len(model.live)))
            await check(backend, model, model.touched | set(older))
            report = await Maintenance(backend, data_dir=tmp_path).doctor()
            assert report.ok, (number, report)
    assert set(kinds) == {"store", "many", "edit", "delete", "purge"}
    assert len(kinds) >= ROUNDS // 2, "the writer was killed before it did enough"
    async with opened(tmp_path) as backend:
        assert await backend.count(AGENT) == len(model.live)


async def settle_unacknowledged(
    backend: LocalMemoryBackend,
    model: Model,
    begun: tuple[str, list[str], list[str]] | None,
) -> None:
    """The change under way may have happened or not, but wholly; learn which."""
    if begun is None:
        return
    kind, targets, texts = begun
    found: dict[str, str] = {}
    for text in texts:
        page = await backend.admin.browse(BrowseFilter(words=(text,)))
        found.update({e.content: e.id for e in page.entries if e.content == text})
    if kind in ("store", "many"):
        assert len(found) in (0, len(texts)), "half a batch"
        model.live.update({memory_id: text for text, memory_id in found.items()})
    elif kind == "edit" and found:
        model.live[targets[0]] = texts[0]
    elif await backend.get(AGENT, targets[0]) is None:
        model.gone[targets[0]] = model.live.pop(targets[0])


async def check(backend: LocalMemoryBackend, model: Model, ids: set[str]) -> None:
    for memory_id in ids & set(model.live):
        text = model.live[memory_id]
        entry = await backend.get(AGENT, memory_id)
        assert entry is not None, text
        assert entry.content == text
        best = (await backend.admin.find(query(text, limit=1))).hits[0]
        assert best.id == memory_id, text
        assert best.dense == pytest.approx(1.0, abs=1e-3)
        word = text.split()[1]
        assert (await backend.retrieve_sparse(AGENT, query(word)))[0].id == memory_id
    for memory_id in ids & set(model.gone):
        assert await backend.get(AGENT, memory_id) is None
        word = model.gone[memory_id].split()[1]
        assert not await backend.retrieve_sparse(AGENT, query(word))
        hits = (await backend.admin.find(query(model.gone[memory_id]))).hits
        assert memory_id not in {hit.id for hit in hits}

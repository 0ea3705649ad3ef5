"""What an agent writes is kept once, whatever kind of store keeps it."""

import pytest

from synthorg_tui.agents.guarded import GuardedWrites, WriteAllowance
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.backends.composite import CompositeBackend
from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.models import MemoryStoreRequest

PORT = "The staging database listens on port 6543."


def request(content: str, category: MemoryCategory = MemoryCategory.SEMANTIC) -> MemoryStoreRequest:
    return MemoryStoreRequest(category=category, content=content)


@pytest.fixture
async def backend() -> CompositeBackend:
    """One that can't look a content up."""
    backend = CompositeBackend({"all": InMemoryBackend()}, routes={}, default="all")
    await backend.connect()
    return backend


@pytest.fixture
def guarded(backend: CompositeBackend) -> GuardedWrites:
    return GuardedWrites(backend, WriteAllowance(100), "test")


async def test_a_store_that_is_only_searched_keeps_a_repeated_memory_once(
    guarded: GuardedWrites, backend: CompositeBackend
) -> None:
    first = await guarded.write("ada", request(PORT))
    assert await guarded.write("ada", request(PORT)) == first
    assert await backend.count("ada") == 1


async def test_what_only_looks_like_it_is_kept_too(
    guarded: GuardedWrites, backend: CompositeBackend
) -> None:
    await guarded.write("ada", request(PORT))
    await guarded.write("ada", request(f"{PORT} Not the live one."))
    await guarded.write("ada", request(PORT, MemoryCategory.PROCEDURAL))
    assert await backend.count("ada") == 3

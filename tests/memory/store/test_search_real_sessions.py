"""Searching the memories of real coding sessions, everything real: importer, store, model."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from synthorg_tui.engine import Engine
from synthorg_tui.memory.models import MemoryQuery


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(
    shared_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Engine]:
    async with Engine.open(data_dir=tmp_path_factory.mktemp("desk")) as engine:
        await engine.imports.run([shared_dir / "data" / "transcripts"])
        yield engine


@pytest.mark.parametrize(
    "query", ["push a branch that has no upstream", "no upstream branch", "git push --set-upstream"]
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_failed_push_is_found_first(engine: Engine, query: str) -> None:
    found = await engine.desk.find(MemoryQuery(text=query))
    assert any("upstream" in hit.content for hit in found.hits[:3])


@pytest.mark.parametrize(
    "query",
    [
        "sourdough starter hydration ratio",
        "mortgage interest rates for first time buyers",
        "breeding season of emperor penguins",
        "xqzvw plonkitude",
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_query_about_nothing_in_the_store_finds_nothing(engine: Engine, query: str) -> None:
    assert (await engine.desk.find(MemoryQuery(text=query))).hits == ()

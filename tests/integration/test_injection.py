"""What an agent is given, from the real store to the last byte."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.explanation import Verdict
from synthorg_tui.memory.injection_service import InjectionRequest
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.settings.loader import shipped_settings

QUESTION = "which port does the staging database use?"


def fact(content: str, *tags: str) -> MemoryStoreRequest:
    return MemoryStoreRequest(
        category=MemoryCategory.SEMANTIC, content=content, metadata=MemoryMetadata(tags=tags)
    )


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with Engine.open(shipped_settings(), data_dir=tmp_path) as opened:
        yield opened


async def test_an_agent_gets_what_is_about_its_task_and_what_others_share(engine: Engine) -> None:
    own = await engine.memory.store("ada", fact("The staging database listens on port 6543."))
    await engine.memory.store("ada", fact("Deploys happen on Thursdays."))
    await engine.memory.store("eve", fact("The staging database of Eve listens on port 1."))
    shared = await engine.desk.publish("bob", fact("The staging database needs TLS."))  # type: ignore[attr-defined]
    given = await engine.injection.prepare(InjectionRequest("ada", QUESTION, 500))
    assert [c.entry.id for c in given.explanation.included] == [own, shared]
    assert "[shared] [semantic | score: " in given.text
    assert "of Eve" not in given.text
    assert {c.verdict for c in given.explanation.left_out} == {Verdict.NOT_RELEVANT}
    assert given.text == given.explanation.text
    assert given.explanation.degraded == ""

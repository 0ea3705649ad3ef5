"""Skills that real sessions taught: one that helps and one that harms are told apart."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from synthorg_tui.curation.inbox import lesson_of
from synthorg_tui.curation.models import LessonKind
from synthorg_tui.engine import Engine
from synthorg_tui.evaluation.models import ReplayResult, ReplayVerdict
from synthorg_tui.runtime import RunLimits
from synthorg_tui.runtime.models import RunRequest
from synthorg_tui.settings.loader import shipped_settings
from tests.evaluation.eval_kit import Call, ScriptedExecutor, same_folder
from tests.memory.store.hash_embedder import HashEmbedder

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(
    shared_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Engine]:
    data_dir = tmp_path_factory.mktemp("shared") / "desk"
    async with Engine.open(
        shipped_settings(), data_dir=data_dir, embedder=HashEmbedder()
    ) as opened:
        await opened.imports.run([shared_dir / "data" / "transcripts"])
        yield opened


async def proposed(engine: Engine, kind: LessonKind) -> tuple[str, str, str, str, str]:
    """An item of that kind: what failed, how, what was done first, and what worked."""
    for item in await engine.approvals.list():
        lesson = lesson_of(item)
        if lesson is not None and lesson.kind is kind and lesson.recurrence:
            seen = lesson.evidence[0]
            first = next(iter(seen.between), "")
            failed, worked = (text.removeprefix("… ") for text in (seen.failed, seen.resolved_by))
            return item.id, failed, seen.error.partition(" — ")[0], first, worked
    pytest.skip(f"the sessions taught no {kind}")


async def replayed(engine: Engine, item_id: str, executor: ScriptedExecutor) -> ReplayResult:
    service = replace(
        engine.evaluation, executors=lambda: {"scripted": executor}, worktrees=same_folder
    )
    plan = await service.plan(
        item_id,
        executor="scripted",
        runs=3,
        limits=RunLimits(),
        workspace=engine.data_dir,
    )
    result = (await service.replay(item_id, plan)).result
    assert isinstance(result, ReplayResult)
    return result


async def test_a_skill_that_helps_is_told(engine: Engine) -> None:
    item_id, failed, error, _, worked = await proposed(engine, LessonKind.FAILURE)

    def behaves(request: RunRequest, _number: int) -> list[Call]:
        right = [(worked, "")]
        return right if request.skills else [(failed, error), *right]

    result = await replayed(engine, item_id, ScriptedExecutor(behaves))
    assert result.verdict is ReplayVerdict.HELPS, result.words


async def test_a_skill_that_harms_is_told(engine: Engine) -> None:
    item_id, failed, error, first, worked = await proposed(engine, LessonKind.GATE)

    def behaves(request: RunRequest, number: int) -> list[Call]:
        if request.skills:
            return [(failed, error)]
        return [(first, ""), (worked, "")] if number != 2 else [(worked, "")]

    result = await replayed(engine, item_id, ScriptedExecutor(behaves))
    assert result.verdict is ReplayVerdict.HARMS, result.words

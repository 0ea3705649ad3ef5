"""Checkpoints in force and out of it again: at once, with the next start, and byte for byte."""

import asyncio
import logging
import random
import shutil
from collections.abc import Sequence
from operator import eq
from pathlib import Path

import pytest

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.fine_tune.checkpoints import CheckpointFiles, EmbedderInForce
from synthorg_tui.memory.fine_tune.deployment import (
    MEMORY_CHECKPOINT_DEPLOY_FAILED,
    MEMORY_CHECKPOINT_ROLLBACK_FAILED,
    CheckpointSwaps,
    EmbedderSetting,
)
from synthorg_tui.memory.fine_tune.errors import (
    CheckpointActiveError,
    CheckpointDamagedError,
    CheckpointNotFoundError,
    CheckpointRefusedError,
    CheckpointRollbackCorruptError,
    CheckpointRollbackUnavailableError,
    FineTuneActiveError,
    FineTuneError,
)
from synthorg_tui.memory.fine_tune.models import CheckpointRecord, EvalMetrics
from synthorg_tui.memory.fine_tune.store import FineTuneStore
from synthorg_tui.memory.service import MemoryService
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.settings.root import RootConfig
from tests.memory.fine_tune.tuning_kit import (
    answers,
    combinations,
    content_of,
    engine_on,
    fill,
    first_answers,
    plan,
    tuned,
    write_questions,
)

ASKED = [content_of(terms) for terms in combinations()[:5]]
SETTING_FAILS = "the disk is full"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a good checkpoint, the newer one, and one that learned wrong answers."""
    place = tmp_path_factory.mktemp("trained")

    async def make() -> None:
        async with engine_on(place) as engine:
            source = place / "source"
            right = await fill(engine, source)
            write_questions(source, random.Random(7).sample(right, len(right)))
            await tuned(engine.memory_service, plan(source, seed=1))
            write_questions(source, right)
            await tuned(engine.memory_service, plan(source))

    asyncio.run(make())
    return place


@pytest.fixture
def place(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return tmp_path


def better(found: Sequence[CheckpointRecord]) -> list[EvalMetrics]:
    each_one = [each.eval_metrics for each in found]
    return [metrics for metrics in each_one if metrics is not None and metrics.is_surely_better]


async def ids(service: MemoryService) -> tuple[str, str]:
    """The good checkpoint and the other one."""
    found, total = await service.list_checkpoints(limit=5, offset=0)
    assert total == 2
    good, bad = sorted(found, key=lambda each: each.eval_metrics not in better(found))
    return good.id, bad.id


async def test_deployed_it_holds_at_once_and_with_the_next_start(place: Path) -> None:
    async with engine_on(place) as engine:
        service = engine.memory_service
        good, _ = await ids(service)
        base = await service.get_active_embedder()
        assert base.checkpoint_id is None
        assert await first_answers(engine) == [""] * len(ASKED)
        record = await service.deploy_checkpoint(good)
        assert record.is_active
        found = await first_answers(engine)
        assert sum(map(eq, found, ASKED)) >= len(ASKED) - 1
        active = await service.get_active_embedder()
        assert (active.checkpoint_id, active.model) == (good, base.model)
        assert active.fingerprint == record.fingerprint != base.fingerprint
        deployed = await answers(engine)
    async with engine_on(place) as engine:
        assert await answers(engine) == deployed
        assert (await engine.memory_service.get_active_embedder()).checkpoint_id == good


async def test_rolled_back_all_is_as_before_byte_for_byte(place: Path) -> None:
    async with engine_on(place) as engine:
        service = engine.memory_service
        good, _ = await ids(service)
        before = await answers(engine)
        stored = await all_vectors(engine.memory)
        await service.deploy_checkpoint(good)
        assert await answers(engine) != before
        assert await all_vectors(engine.memory) == stored, "texts keep their vectors"
        record = await service.rollback_checkpoint(good)
        assert not record.is_active
        assert await answers(engine) == before
    async with engine_on(place) as engine:
        assert await answers(engine) == before


async def all_vectors(backend: object) -> list[tuple[object, ...]]:
    assert isinstance(backend, LocalMemoryBackend)
    return await backend.core.read(
        lambda db: db.execute("SELECT * FROM vectors ORDER BY memory_id").fetchall()
    )


async def test_a_worse_checkpoint_is_refused_with_its_figures(place: Path) -> None:
    async with engine_on(place) as engine:
        service = engine.memory_service
        _, bad = await ids(service)
        before = await answers(engine)
        with pytest.raises(CheckpointRefusedError, match=r"NDCG@10 .* held-out questions; gain"):
            await service.deploy_checkpoint(bad)
        assert await answers(engine) == before
        assert not (await service.get_checkpoint(bad)).is_active


async def test_a_changed_file_is_not_used_and_the_base_is_instead(place: Path) -> None:
    async with engine_on(place) as engine:
        before = await answers(engine)
        good, _ = await ids(engine.memory_service)
        record = await engine.memory_service.deploy_checkpoint(good)
    path = place / record.model_path
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    async with engine_on(place) as engine:
        assert await answers(engine) == before
        active = await engine.memory_service.get_active_embedder()
        assert active.checkpoint_id is None
        assert "SHA-256" in active.problem
        with pytest.raises(CheckpointDamagedError):
            await engine.memory_service.deploy_checkpoint(good)
        await engine.memory_service.rollback_checkpoint(good)
        assert (await engine.memory_service.get_active_embedder()).problem == ""
    path.unlink()
    async with engine_on(place) as engine:
        with pytest.raises(CheckpointDamagedError, match="No such file"):
            await engine.memory_service.deploy_checkpoint(good)


async def test_the_checkpoint_in_force_is_not_deleted_and_another_one_is(place: Path) -> None:
    async with engine_on(place) as engine:
        service = engine.memory_service
        good, bad = await ids(service)
        record = await service.deploy_checkpoint(good)
        with pytest.raises(CheckpointActiveError):
            await service.delete_checkpoint(good)
        other = await service.delete_checkpoint(bad)
        assert not (place / other.model_path).exists()
        await service.delete_run(other.run_id)
        with pytest.raises(FineTuneActiveError, match="checkpoint is still there"):
            await service.delete_run(record.run_id)
        with pytest.raises(CheckpointNotFoundError):
            await service.get_checkpoint(bad)
        with pytest.raises(CheckpointNotFoundError):
            await service.deploy_checkpoint(bad)


async def test_only_what_is_in_force_can_be_rolled_back(place: Path) -> None:
    async with engine_on(place) as engine:
        good, _ = await ids(engine.memory_service)
        with pytest.raises(CheckpointRollbackUnavailableError):
            await engine.memory_service.rollback_checkpoint(good)


class Kept:
    """The setting, which can fail."""

    def __init__(self) -> None:
        self.value: str | None = None
        self.fails = 0

    async def read(self) -> str | None:
        return self.value

    async def write(self, value: str | None, actor: str) -> None:
        if self.fails:
            self.fails -= 1
            raise DomainError(SETTING_FAILS)
        self.value = value


async def test_when_a_step_fails_all_is_as_before_and_each_failure_has_its_event(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with engine_on(place) as engine:
        good, _ = await ids(engine.memory_service)
        assert isinstance(engine.memory, LocalMemoryBackend)
        core, kept = engine.memory.core, Kept()
        store = FineTuneStore(core.database)
        in_force = EmbedderInForce(core, CheckpointFiles(place), provider="minilm")
        swaps = CheckpointSwaps(store, in_force, EmbedderSetting(kept.read, kept.write))
        before, kept.fails = await answers(engine), 1
        with pytest.raises(DomainError, match=SETTING_FAILS):
            await swaps.deploy(good, actor="me")
        assert await answers(engine) == before
        assert not (await store.checkpoint(good)).is_active
        assert kept.value is None
        assert events(caplog) == [MEMORY_CHECKPOINT_DEPLOY_FAILED]

        await swaps.deploy(good, actor="me")
        caplog.clear()
        kept.fails = 1
        with pytest.raises(DomainError, match=SETTING_FAILS):
            await swaps.roll_back(good, actor="me")
        assert events(caplog) == [MEMORY_CHECKPOINT_ROLLBACK_FAILED]

        record = await store.checkpoint(good)
        await store.mark(record.model_copy(update={"backup_config_json": "[]"}))
        with pytest.raises(CheckpointRollbackCorruptError):
            await swaps.roll_back(good, actor="me")


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [getattr(record, "event", "") for record in caplog.records]
    return [event for event in found if event.startswith("memory.checkpoint")]


async def test_a_checkpoint_of_another_embedder_is_neither_deployed_nor_used(place: Path) -> None:
    async with engine_on(place) as engine:
        good, _ = await ids(engine.memory_service)
        await engine.memory_service.deploy_checkpoint(good)
    async with engine_on(place, fingerprint="hash-2") as engine:
        active = await engine.memory_service.get_active_embedder()
        assert active.checkpoint_id is None
        assert "was trained for hash-1" in active.problem
        with pytest.raises(FineTuneError, match="was trained for hash-1"):
            await engine.memory_service.deploy_checkpoint(good)


async def test_the_settings_file_may_name_a_checkpoint_or_something_else(place: Path) -> None:
    async with engine_on(place) as engine:
        good, _ = await ids(engine.memory_service)
        record = await engine.memory_service.get_checkpoint(good)
    named = {"enabled": True, "base_model": record.base_model}
    for path, used in ((record.model_path, good), ("checkpoints/other.adapter", None)):
        settings = RootConfig.model_validate(
            {"memory": {"fine_tune": {**named, "checkpoint_path": path}}}
        )
        async with engine_on(place, settings) as engine:
            active = await engine.memory_service.get_active_embedder()
            assert active.checkpoint_id == used
            assert (active.problem == "") == (used is not None)

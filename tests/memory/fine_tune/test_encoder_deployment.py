"""Checkpoints that are models of their own: in force, out of it, damaged, deleted, copied."""

from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from synthorg_tui.engine import Engine
from synthorg_tui.memory.fine_tune.checkpoints import CheckpointFiles
from synthorg_tui.memory.fine_tune.errors import CheckpointDamagedError
from synthorg_tui.memory.fine_tune.models import (
    CheckpointRecord,
    EvalMetrics,
    FineTuneRequest,
    FineTuneRun,
    FineTuneRunConfig,
    FineTuneStage,
    FineTuneTrainer,
)
from synthorg_tui.memory.fine_tune.store import FineTuneStore
from synthorg_tui.memory.models import MemoryQuery
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.providers.embedding.query_encoder import (
    ABOUT,
    MODEL,
    QueryEncoder,
    describe,
)
from synthorg_tui.settings.root import RootConfig
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.store_kit import AGENT, request
from tests.providers.model_files import TABLE, write_onnx, write_tokenizer

DIMS = TABLE.shape[1]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
BETTER = EvalMetrics(
    ndcg_at_10=0.6, recall_at_10=0.7, base_ndcg_at_10=0.5, base_recall_at_10=0.7, gain_low=0.01
)


def opening(place: Path) -> AbstractAsyncContextManager[Engine]:
    embedder = HashEmbedder(dims=DIMS)
    return Engine.open(RootConfig(), data_dir=place / "data", embedder=embedder)


async def checkpoint(engine: Engine, place: Path, name: str = "c1") -> CheckpointRecord:
    """Store a checkpoint whose folder is made here."""
    made = place / f"made-{name}"
    made.mkdir()
    write_onnx(made / MODEL, per_text=True)
    write_tokenizer(made)
    about = describe(made, base="hash-1", dims=DIMS, max_tokens=64)
    (made / ABOUT).write_bytes(about.to_bytes())
    files = CheckpointFiles(place / "data")
    (place / "out").mkdir(exist_ok=True)
    written = files.take(name, QueryEncoder(made, about), str(place / "out"))
    record = CheckpointRecord(
        id=name, run_id=f"run-{name}", model_path=written.path, base_model="hash-1",
        fingerprint=written.fingerprint, sha256=written.sha256, doc_count=0,
        eval_metrics=BETTER, size_bytes=written.size, created_at=NOW,
    )  # fmt: skip
    asked = FineTuneRequest(source_dir="here", trainer=FineTuneTrainer.CONTRASTIVE)
    run = FineTuneRun(
        id=record.run_id, stage=FineTuneStage.COMPLETE, request=asked, started_at=NOW,
        config=FineTuneRunConfig.of(asked), updated_at=NOW, completed_at=NOW,
    )  # fmt: skip
    assert isinstance(engine.memory, LocalMemoryBackend)
    store = FineTuneStore(engine.memory.core.database)
    await store.save(run)
    await store.finish(run, record)
    return record


async def asked(engine: Engine) -> list[object]:
    """All that an embedder decides about two questions."""
    assert isinstance(engine.memory, LocalMemoryBackend)
    core, found = engine.memory.core, list[object]()
    for text in ("apple bolt", "pear"):
        vector = await core.embedder.embed_query(text)
        hits = (await engine.desk.find(MemoryQuery(text=text, limit=5))).hits
        found += [core.moved, vector.tobytes(), [(hit.content, hit.dense) for hit in hits]]
    return found


async def test_deployed_and_rolled_back_all_is_as_before_byte_for_byte(tmp_path: Path) -> None:
    async with opening(tmp_path) as engine:
        await engine.memory.store(AGENT, request("apple and nut"))
        before = await asked(engine)
        record = await checkpoint(engine, tmp_path)
        assert (await engine.memory_service.deploy_checkpoint(record.id)).is_active
        deployed = await asked(engine)
        assert deployed != before
    async with opening(tmp_path) as engine:
        assert await asked(engine) == deployed
        active = await engine.memory_service.get_active_embedder()
        assert active.fingerprint == record.fingerprint
        await engine.memory_service.rollback_checkpoint(record.id)
        assert await asked(engine) == before
    async with opening(tmp_path) as engine:
        assert await asked(engine) == before


async def test_one_after_the_other_frees_the_first_and_goes_back_to_it(tmp_path: Path) -> None:
    async with opening(tmp_path) as engine:
        service = engine.memory_service
        for name in ("c1", "c2"):
            await checkpoint(engine, tmp_path, name)
            await service.deploy_checkpoint(name)
            await asked(engine)
        await service.rollback_checkpoint("c2")
        assert (await service.get_active_embedder()).checkpoint_id == "c1"
        await asked(engine)


async def test_a_damaged_one_is_not_used_and_not_deployed(tmp_path: Path) -> None:
    async with opening(tmp_path) as engine:
        before = await asked(engine)
        record = await checkpoint(engine, tmp_path)
        await engine.memory_service.deploy_checkpoint(record.id)
    path = tmp_path / "data" / record.model_path / MODEL
    path.write_bytes(path.read_bytes()[:-1])
    async with opening(tmp_path) as engine:
        assert await asked(engine) == before
        assert "was changed" in (await engine.memory_service.get_active_embedder()).problem
        with pytest.raises(CheckpointDamagedError, match="was changed"):
            await engine.memory_service.deploy_checkpoint(record.id)


async def test_deleted_nothing_of_it_is_left_but_the_copy_that_was_asked_for(
    tmp_path: Path,
) -> None:
    async with opening(tmp_path) as engine:
        record = await checkpoint(engine, tmp_path)
        folder = tmp_path / "data" / record.model_path
        assert (folder / MODEL).is_file()
        await engine.memory_service.delete_checkpoint(record.id)
    assert list((tmp_path / "data" / "checkpoints").iterdir()) == []
    copy = tmp_path / "out" / folder.name
    assert QueryEncoder.in_folder(copy, record.sha256).base == "hash-1"


async def test_a_link_in_place_of_its_folder_is_refused(tmp_path: Path) -> None:
    async with opening(tmp_path) as engine:
        record = await checkpoint(engine, tmp_path)
        folder = tmp_path / "data" / record.model_path
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(CheckpointDamagedError, match="isn't the folder"):
            await engine.memory_service.deploy_checkpoint(record.id)
        await engine.memory_service.delete_checkpoint(record.id)
    assert not folder.is_symlink()
    assert (tmp_path / "elsewhere" / MODEL).is_file()


async def test_what_a_killed_program_left_of_a_run_that_is_over_goes(tmp_path: Path) -> None:
    async with opening(tmp_path) as engine:
        record = await checkpoint(engine, tmp_path)
        for name in (record.run_id, "unknown"):
            (tmp_path / "data" / "tuning" / name).mkdir(parents=True)
    async with opening(tmp_path) as engine:
        assert (await engine.memory_service.list_runs(limit=1, offset=0))[1] == 1
    assert list((tmp_path / "data" / "tuning").iterdir()) == []

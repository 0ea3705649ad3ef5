"""Runs from start to end, cancelled, killed and resumed; nothing is done twice."""

import asyncio
import shutil
from pathlib import Path

import pytest

from synthorg_tui.memory.fine_tune.errors import (
    BackendUnsupportedError,
    FineTuneActiveError,
    FineTuneError,
    FineTuneRunNotFoundError,
    FineTuneRunNotResumableError,
    TooFewPairsError,
)
from synthorg_tui.memory.fine_tune.models import (
    WORK_STAGES,
    CheckpointRecord,
    FineTuneExecution,
    FineTuneRun,
    FineTuneStage,
)
from synthorg_tui.memory.fine_tune.store import FineTuneStore
from synthorg_tui.memory.listing import BrowseFilter
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence.database import Database
from synthorg_tui.settings.root import RootConfig
from tests.memory.fine_tune import killed_tuner
from tests.memory.fine_tune.tuning_kit import at_work, engine_on, fill, held, looked, plan, tuned
from tests.postgres_switch import files_only
from tests.pty_kit import LOADED
from tests.soak import points

KILLS = points((30, 50), tuple(range(2, 60, 4)))
"""Writes after which a tuner is killed: while it mines, while it trains. A run has 59."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, ``data``, and its questions, ``source``."""
    place = tmp_path_factory.mktemp("tuning")

    async def make() -> None:
        async with engine_on(place / "data") as engine:
            await fill(engine, place / "source")

    asyncio.run(make())
    return place


@pytest.fixture(scope="module")
def whole(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same after a run that nothing interrupted."""
    place = tmp_path_factory.mktemp("tuned")
    shutil.copytree(filled, place, dirs_exist_ok=True)

    async def make() -> None:
        async with engine_on(place / "data") as engine:
            await tuned(engine.memory_service, plan(place / "source"))

    asyncio.run(make())
    return place


@pytest.fixture
def place(filled: Path, tmp_path: Path) -> Path:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    return tmp_path


async def outcome(place: Path) -> tuple[FineTuneRun, CheckpointRecord]:
    async with engine_on(place / "data") as engine:
        ((run,), _) = await engine.memory_service.list_runs(limit=5, offset=0)
        assert run.checkpoint_id is not None
        return run, await engine.memory_service.get_checkpoint(run.checkpoint_id)


def same(place: Path, record: CheckpointRecord, other: Path, its: CheckpointRecord) -> None:
    """Both runs made the same bytes, and the same figures of them."""
    ours, theirs = place / "data" / record.model_path, other / "data" / its.model_path
    assert ours.read_bytes() == theirs.read_bytes()
    assert (record.eval_metrics, record.cutoff, record.sha256) == (
        its.eval_metrics,
        its.cutoff,
        its.sha256,
    )


async def test_a_run_goes_through_all_stages_and_leaves_a_checkpoint(whole: Path) -> None:
    run, record = await outcome(whole)
    assert (run.stage, run.stages_completed) == (FineTuneStage.COMPLETE, WORK_STAGES)
    assert run.pairs == 300
    assert run.curve[-1].loss < run.curve[0].loss
    assert run.metrics is not None
    assert run.metrics.is_surely_better
    assert record.eval_metrics == run.metrics
    assert not record.is_active
    assert record.fingerprint.startswith(f"{record.base_model}+")


async def test_the_words_of_a_complete_run_are_not_kept(whole: Path) -> None:
    run, _ = await outcome(whole)
    database = Database.in_dir(whole / "data")
    await database.open()
    questions = await FineTuneStore(database).questions(run.id)
    await database.close()
    assert len(questions) == 300
    assert {(each.text, each.vector, each.negatives) for each in questions} == {("", b"", ())}


async def test_a_second_start_is_refused_while_a_run_is_at_work(place: Path) -> None:
    async with engine_on(place / "data") as engine:
        service = engine.memory_service
        with held(service, at_work(FineTuneStage.GENERATING_DATA)) as hold:
            run = await service.start_fine_tune(plan(place / "source"))
            await hold.waits(run)
            with pytest.raises(FineTuneActiveError) as refused:
                await service.start_fine_tune(plan(place / "source"))
            assert refused.value.domain_code == "conflict"
            assert isinstance(refused.value, RuntimeError)
            assert (await service.get_fine_tune_status()).run_id == run.id
            await hold.cancelled(run)


async def test_a_cancelled_run_is_named_and_ends_as_if_it_had_not_been(
    place: Path, whole: Path
) -> None:
    async with engine_on(place / "data") as engine:
        service = engine.memory_service
        assert await service.cancel_fine_tune() is None
        with held(service, looked(2)) as hold:
            run = await service.start_fine_tune(plan(place / "source"))
            assert await hold.cancelled(run) == run.id
        status = await service.get_fine_tune_status(run.id)
        assert (status.stage, status.error) == (FineTuneStage.FAILED, "cancelled while training")
        assert (await service.get_fine_tune_status()).stage is FineTuneStage.IDLE
        await service.resume_fine_tune(run.id)
        assert (await service.finished(run.id)).stage is FineTuneStage.COMPLETE
        with pytest.raises(FineTuneRunNotResumableError):
            await service.resume_fine_tune(run.id)
    _, record = await outcome(place)
    same(place, record, whole, (await outcome(whole))[1])


@files_only
@pytest.mark.soak
@pytest.mark.parametrize("writes", KILLS)
async def test_a_killed_run_goes_on_where_it_was_and_ends_with_the_same_bytes(
    place: Path, whole: Path, writes: int
) -> None:
    tuner = LOADED.Process(
        target=killed_tuner.run, args=(str(place / "data"), str(place / "source"), writes)
    )
    tuner.start()
    await asyncio.to_thread(tuner.join)
    assert tuner.exitcode == -9
    async with engine_on(place / "data") as engine:
        service = engine.memory_service
        ((run,), _) = await service.list_runs(limit=5, offset=0)
        if run.stage is not FineTuneStage.COMPLETE:
            assert run.error is not None
            assert run.error.startswith("interrupted while")
            before = len(run.stages_completed)
            await service.resume_fine_tune(run.id)
            again = await service.finished(run.id)
            assert again.error is None
            assert len(again.stages_completed) > before
    _, record = await outcome(place)
    same(place, record, whole, (await outcome(whole))[1])


async def test_with_one_question_less_than_it_takes_nothing_begins(place: Path) -> None:
    source = place / "source" / "questions.jsonl"
    lines = source.read_text(encoding="utf-8").splitlines()
    source.write_text("\n".join(lines[1:]), encoding="utf-8")
    async with engine_on(place / "data") as engine:
        found = await engine.memory_service.run_preflight(plan(place / "source"))
        assert not found.can_proceed
        with pytest.raises(TooFewPairsError, match=r"299 questions .* takes 300"):
            await engine.memory_service.start_fine_tune(plan(place / "source"))
        assert (await engine.memory_service.list_runs(limit=5, offset=0))[1] == 0


async def test_a_plan_that_this_program_cannot_carry_out_is_refused(filled: Path) -> None:
    source = filled / "source"
    docker = FineTuneExecution(backend="docker", image="some/image")
    async with engine_on(filled / "data") as engine:
        service = engine.memory_service
        with pytest.raises(BackendUnsupportedError, match="no container"):
            await service.start_fine_tune(plan(source, execution=docker))
        with pytest.raises(FineTuneError, match="there is no folder"):
            await service.start_fine_tune(plan(filled / "nowhere"))
        with pytest.raises(FineTuneError, match="the embedder in use"):
            await service.start_fine_tune(plan(source, base_model="another"))
        with pytest.raises(FineTuneRunNotFoundError):
            await service.get_fine_tune_status("nothing")


async def test_another_backend_says_what_is_missing(tmp_path: Path) -> None:
    settings = RootConfig.model_validate({"memory": {"backend": "inmemory"}})
    async with engine_on(tmp_path, settings) as engine:
        with pytest.raises(BackendUnsupportedError) as refused:
            await engine.memory_service.list_runs(limit=1, offset=0)
    assert refused.value.domain_code == "not_supported"
    assert "inmemory" in refused.value.reason


async def test_a_purged_memory_takes_its_question_along(place: Path) -> None:
    async with engine_on(place / "data") as engine:
        service = engine.memory_service
        with held(service, at_work(FineTuneStage.MINING_NEGATIVES)) as hold:
            run = await service.start_fine_tune(plan(place / "source"))
            await hold.cancelled(run)
        (memory, *_) = (await engine.desk.browse(BrowseFilter())).entries
        await engine.erasure.purge([memory.id], actor="me (terminal)")
        assert isinstance(engine.memory, LocalMemoryBackend)
        left = await FineTuneStore(engine.memory.core.database).questions(run.id)
        assert len(left) == 299
        assert memory.id not in {key for each in left for key in each.relevant}
        await service.resume_fine_tune(run.id)
        run = await service.finished(run.id)
        assert run.checkpoint_id is not None
        assert (await service.get_checkpoint(run.checkpoint_id)).erased_since == 0
        (memory, *_) = (await engine.desk.browse(BrowseFilter())).entries
        await engine.erasure.purge([memory.id], actor="me (terminal)")
        assert (await service.get_checkpoint(run.checkpoint_id)).erased_since == 1

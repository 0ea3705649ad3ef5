"""Training all weights for real: from start to end, cancelled, killed, in force and out of it.

What needs the libraries of the extra skips without them.
"""

import asyncio
import io
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from synthorg_tui.memory.fine_tune.base_models import EXTRA, missing_libraries
from synthorg_tui.memory.fine_tune.checkpoints import CheckpointFiles
from synthorg_tui.memory.fine_tune.encoder_trainer import EncoderTrainer, RunFolders
from synthorg_tui.memory.fine_tune.errors import CheckpointRefusedError, FineTuneError
from synthorg_tui.memory.fine_tune.models import (
    WORK_STAGES,
    CheckpointRecord,
    FineTuneRun,
    FineTuneStage,
)
from synthorg_tui.memory.fine_tune.weights import Talk
from synthorg_tui.memory.fine_tune.weights_process import MODULE, WeightsProcess
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from tests.memory.fine_tune import killed_tuner
from tests.memory.fine_tune.encoder_kit import TABLE, encoder_plan, engine_on, write_model
from tests.memory.fine_tune.tuning_kit import (
    answers,
    fill,
    held,
    looked,
    tuned,
    write_questions,
)
from tests.patience import PATIENCE
from tests.pty_kit import LOADED
from tests.soak import points

KILLS = points((51, 58), tuple(range(30, 59, 4)))
"""Writes after which a tuner is killed: while it trains, and once the model is written."""


def test_the_process_ends_with_whoever_asks_it() -> None:
    asking = [sys.executable, "-P", "-m", MODULE]
    with subprocess.Popen(asking, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 1


def test_what_is_said_is_a_line_of_json() -> None:
    said = io.BytesIO()
    reading, writing = os.pipe()
    Talk(os.fdopen(reading, "rb"), said).say(step=1)
    assert json.loads(said.getvalue()) == {"step": 1}
    assert said.getvalue().endswith(b"\n")
    del writing  # stays open: at its end the process would end


async def test_a_process_that_fails_says_why() -> None:
    async with WeightsProcess.started({"do": "nothing"}) as process:
        with pytest.raises(Exception, match="training failed"):
            await process.told()


async def test_a_model_that_is_gone_before_it_was_offered_is_told(tmp_path: Path) -> None:
    folders, files = RunFolders(tmp_path), CheckpointFiles(tmp_path)
    trainer = EncoderTrainer("run", "checkpoint", "table-1", folders, files)
    with pytest.raises(FineTuneError, match="isn't on this machine any more"):
        await trainer.vectors([])


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, ``data``, its questions, ``source``, and the ``model``."""
    place = tmp_path_factory.mktemp("encoder")
    write_model(place / "model")

    async def make() -> None:
        async with engine_on(place / "data") as engine:
            await fill(engine, place / "source")

    asyncio.run(make())
    return place


@pytest.fixture(scope="module")
def whole(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same after a run that nothing interrupted."""
    place = tmp_path_factory.mktemp("trained")
    shutil.copytree(filled, place, dirs_exist_ok=True)

    async def make() -> None:
        async with engine_on(place / "data") as engine:
            run = await tuned(engine.memory_service, encoder_plan(place))
            assert run.error is None

    asyncio.run(make())
    return place


@pytest.fixture
def place(filled: Path, tmp_path: Path) -> Path:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    return tmp_path


class TestInstalled:
    pytestmark = pytest.mark.skipif(
        bool(missing_libraries()), reason=f"the extra {EXTRA} is not installed"
    )

    async def test_a_run_leaves_a_checkpoint_that_is_better_and_nothing_else(
        self, whole: Path
    ) -> None:
        run, record = await outcome(whole)
        assert (run.stage, run.stages_completed) == (FineTuneStage.COMPLETE, WORK_STAGES)
        assert run.curve[-1].loss < run.curve[0].loss
        assert run.metrics is not None
        assert run.metrics.is_surely_better
        assert record.fingerprint.startswith("table-1+encoder-")
        folder = whole / "data" / record.model_path
        assert sorted(file.name for file in folder.iterdir()) == [
            "encoder.json",
            "model.onnx",
            "tokenizer.json",
        ]
        assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
        assert record.size_bytes == sum(file.stat().st_size for file in folder.iterdir())
        assert list((whole / "data" / "tuning").iterdir()) == []

    async def test_a_model_that_is_not_the_one_in_use_is_refused(self, place: Path) -> None:
        write_model(place / "other", np.roll(TABLE, 7, axis=0))
        async with engine_on(place / "data") as engine:
            with pytest.raises(FineTuneError, match="isn't the model in use"):
                await engine.memory_service.start_fine_tune(
                    encoder_plan(place, base_model=str(place / "other"))
                )

    async def test_a_cancelled_run_goes_on_and_ends_as_if_it_had_not_been(
        self, place: Path, whole: Path
    ) -> None:
        async with engine_on(place / "data") as engine:
            service = engine.memory_service
            with held(service, looked(3)) as hold:
                run = await service.start_fine_tune(encoder_plan(place))
                assert await hold.cancelled(run) == run.id
            stopped = await service.get_run(run.id)
            assert (stopped.stage, stopped.error) == (
                FineTuneStage.FAILED,
                "cancelled while training",
            )
            state = place / "data" / "tuning" / run.id / "state.safetensors"
            assert state.stat().st_mode & 0o777 == 0o600
            assert b"alias" not in state.read_bytes()
            await service.resume_fine_tune(run.id)
            again = await service.finished(run.id)
            assert again.curve[: len(stopped.curve)] == stopped.curve
        await same(place, whole)

    @pytest.mark.soak
    @pytest.mark.parametrize("writes", KILLS)
    async def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(
        self, place: Path, whole: Path, writes: int
    ) -> None:
        tuner = LOADED.Process(target=killed_tuner.run_encoder, args=(str(place), writes))
        tuner.start()
        await asyncio.to_thread(tuner.join)
        assert tuner.exitcode == -9
        async with engine_on(place / "data") as engine:
            service = engine.memory_service
            ((run,), _) = await service.list_runs(limit=5, offset=0)
            assert (run.error or "").startswith("interrupted while")
            await service.resume_fine_tune(run.id)
            assert (await service.finished(run.id)).error is None
        await same(place, whole)

    async def test_a_damaged_state_is_passed_over(self, place: Path, whole: Path) -> None:
        async with engine_on(place / "data") as engine:
            service = engine.memory_service
            with held(service, looked(2)) as hold:
                run = await service.start_fine_tune(encoder_plan(place))
                await hold.cancelled(run)
            state = place / "data" / "tuning" / run.id / "state.safetensors"
            state.write_bytes(state.read_bytes()[:-9])
            await service.resume_fine_tune(run.id)
            assert (await service.finished(run.id)).error is None
        await same(place, whole)

    async def test_a_run_that_is_deleted_leaves_nothing(self, place: Path) -> None:
        async with engine_on(place / "data") as engine:
            service = engine.memory_service
            with held(service, looked(1)) as hold:
                run = await service.start_fine_tune(encoder_plan(place))
                await hold.cancelled(run)
            assert (place / "data" / "tuning" / run.id).is_dir()
            await service.delete_run(run.id)
        assert list((place / "data" / "tuning").iterdir()) == []

    async def test_deployed_and_rolled_back_all_is_as_before_byte_for_byte(
        self, whole: Path, tmp_path: Path
    ) -> None:
        shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
        _, record = await outcome(tmp_path)
        async with engine_on(tmp_path / "data") as engine:
            assert isinstance(engine.memory, LocalMemoryBackend)
            before, service = await answers(engine), engine.memory_service
            await service.deploy_checkpoint(record.id)
            deployed = await answers(engine)
            assert deployed != before
        async with engine_on(tmp_path / "data") as engine:
            assert await answers(engine) == deployed
            await engine.memory_service.rollback_checkpoint(record.id)
            assert await answers(engine) == before

    async def test_what_learned_wrong_answers_is_refused(self, place: Path) -> None:
        questions = (place / "source" / "questions.jsonl").read_text().splitlines()
        right = [json.loads(line)["relevant"][0] for line in questions]
        write_questions(place / "source", random.Random(7).sample(right, len(right)))
        async with engine_on(place / "data") as engine:
            run = await tuned(engine.memory_service, encoder_plan(place, epochs=2))
            assert run.checkpoint_id is not None
            with pytest.raises(CheckpointRefusedError, match="held-out questions; gain"):
                await engine.memory_service.deploy_checkpoint(run.checkpoint_id)

    async def test_a_rate_that_leaves_all_bounds_is_told(self, place: Path) -> None:
        async with engine_on(place / "data") as engine:
            run = await tuned(engine.memory_service, encoder_plan(place, learning_rate=1e38))
            assert "learning rate is too large" in (run.error or "")


async def outcome(place: Path) -> tuple[FineTuneRun, CheckpointRecord]:
    async with engine_on(place / "data") as engine:
        ((run,), _) = await engine.memory_service.list_runs(limit=5, offset=0)
        assert run.checkpoint_id is not None
        return run, await engine.memory_service.get_checkpoint(run.checkpoint_id)


async def same(place: Path, other: Path) -> None:
    """Both runs made the same bytes, and the same figures of them."""
    (run, record), (its_run, its) = await outcome(place), await outcome(other)
    ours, theirs = place / "data" / record.model_path, other / "data" / its.model_path
    for name in ("encoder.json", "model.onnx", "tokenizer.json"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    assert run.curve == its_run.curve
    assert (record.eval_metrics, record.cutoff, record.sha256) == (
        its.eval_metrics,
        its.cutoff,
        its.sha256,
    )

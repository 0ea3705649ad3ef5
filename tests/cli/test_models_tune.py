"""``models tune`` and what belongs to it on the command line."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.cli.commands.models_tune import checkpoint_shape, run_shape
from synthorg_tui.engine import Engine
from synthorg_tui.memory.fine_tune import base_models
from synthorg_tui.settings.loader import load_settings
from tests.cli.cli_kit import Cli, documented, move_home, runner
from tests.memory.fine_tune.tuning_kit import DIMS, fill, plan, tuned
from tests.memory.store.hash_embedder import HashEmbedder


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def cli(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Cli:
    move_home(monkeypatch, tmp_path)
    for mark in ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE"):
        monkeypatch.delenv(mark, raising=False)
    return runner(store, capsys)


def test_without_questions_it_ends_with_the_reason(cli: Cli) -> None:
    checked = cli("models", "tune", "--check", "--json")
    assert checked.code == 1
    assert {each["name"]: each["status"] for each in checked.json["checks"]}["pairs"] == "fail"
    refused = cli("models", "tune")
    assert refused.code == 1
    assert "0 questions with known answers, and it takes 300" in refused.err
    assert cli("models", "runs", "--json").json == documented("models runs")


def test_what_all_weights_lack_is_told_with_what_to_do(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_models, "LIBRARIES", ("no_such_library",))
    checked = cli("models", "tune", "--trainer", "contrastive", "--check")
    assert checked.code == 1
    assert "pip install 'synthorg-tui[fine-tune]'" in checked.out
    refused = cli("models", "tune", "--trainer", "contrastive")
    assert refused.code == 1
    assert "needs no_such_library, which isn't installed" in refused.err
    refused = cli("models", "tune", "--trainer", "contrastive", "--base-model", "../models/mine")
    assert refused.code == 2
    assert refused.err.startswith("error: --base-model: ")


def test_what_is_in_force_is_told_without_a_checkpoint(cli: Cli) -> None:
    found, shape = cli("models", "checkpoints", "--json").json, documented("models checkpoints")
    assert found.keys() == shape.keys()
    assert found["active"].keys() == shape["active"].keys()
    assert cli("models", "checkpoints").out.startswith("In force: minilm")
    assert cli("models", "cancel", "--json").json == documented("models cancel")


def test_an_unknown_id_is_told(cli: Cli) -> None:
    refused = cli("models", "resume", "abc")
    assert refused.code == 2
    assert "no id begins with 'abc'" in refused.err


@pytest.mark.parametrize(
    ("option", "value"), [("--epochs", "0"), ("--temperature", "0"), ("--validation-split", "1")]
)
def test_a_value_out_of_bounds_is_told_by_its_option(cli: Cli, option: str, value: str) -> None:
    refused = cli("models", "tune", option, value)
    assert refused.code == 2
    assert option in refused.err


@pytest.mark.parametrize(
    "arguments", [("tune",), ("resume", "a"), ("cancel",), ("deploy", "a"), ("rollback", "a")]
)
def test_an_agent_neither_starts_nor_decides(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = cli("models", *arguments)
    assert refused.code != 0
    assert "Claude Code" in refused.err


def test_the_documented_shapes_are_those_of_a_run_and_of_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deployed with the settings of a person, it is in the list of their changes."""
    move_home(monkeypatch, tmp_path)

    async def made() -> tuple[Any, Any]:
        embedder = HashEmbedder(dims=DIMS)
        opening = Engine.open(load_settings(), data_dir=tmp_path / "data", embedder=embedder)
        async with opening as engine:
            service = engine.memory_service
            await fill(engine, tmp_path / "source")
            run = await tuned(service, plan(tmp_path / "source"))
            assert run.checkpoint_id is not None
            record = await service.deploy_checkpoint(run.checkpoint_id, actor="me (terminal)")
            (change,) = await engine.kept.changes()
            assert (change.path, change.by) == ("memory.fine_tune", "me (terminal)")
            return run_shape(run), checkpoint_shape(record)

    async def next_start() -> str | None:
        embedder = HashEmbedder(dims=DIMS)
        opening = Engine.open(load_settings(), data_dir=tmp_path / "data", embedder=embedder)
        async with opening as engine:
            found = (await engine.memory_service.get_active_embedder()).checkpoint_id
            assert found is not None
            await engine.memory_service.rollback_checkpoint(found, actor="me (terminal)")
            assert await engine.kept.kept() == ()
            return found

    run, record = asyncio.run(made())
    shape = documented("models tune")
    assert run.keys() == shape.keys()
    assert run["metrics"].keys() == shape["metrics"].keys()
    assert record.keys() == documented("models deploy").keys()
    assert asyncio.run(next_start()) == record["id"]

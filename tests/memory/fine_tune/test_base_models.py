"""Which folders of models are trained: those that can carry no code, of the model in use."""

import json
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.memory.fine_tune import base_models
from synthorg_tui.memory.fine_tune.base_models import base_folder
from synthorg_tui.memory.fine_tune.errors import FineTuneDependencyError, FineTuneError
from synthorg_tui.memory.fine_tune.models import FineTuneTrainer
from tests.memory.fine_tune.encoder_kit import encoder_plan, engine_on, write_model
from tests.memory.fine_tune.tuning_kit import fill


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


def put(path: Path, change: dict[str, Any]) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))


def test_a_folder_of_safetensors_and_known_parts_is_taken(model: Path) -> None:
    assert base_folder(str(model), "table-1") == model


def test_weights_that_could_carry_code_are_refused(model: Path) -> None:
    (model / "model.safetensors").rename(model / "pytorch_model.bin")
    with pytest.raises(FineTuneError, match=r"no model\.safetensors"):
        base_folder(str(model), "table-1")


def test_code_of_its_own_is_refused(model: Path) -> None:
    put(model / "config.json", {"auto_map": {"AutoModel": "modeling.Model"}})
    with pytest.raises(FineTuneError, match="code of its own"):
        base_folder(str(model), "table-1")


@pytest.mark.parametrize(
    ("kind", "path", "told"),
    [
        ("os.system", "", "isn't one of the library's"),
        ("sentence_transformers.models.Router", "", "isn't one of the library's"),
        ("sentence_transformers.models.Transformer", "../other", "is elsewhere"),
        ("sentence_transformers.models.Transformer", "/other", "is elsewhere"),
        ("sentence_transformers.models.Pooling", "", "doesn't begin with a transformer"),
    ],
)
def test_parts_that_are_not_run_are_refused(model: Path, kind: str, path: str, told: str) -> None:
    (model / "modules.json").write_text(json.dumps([{"type": kind, "path": path}]))
    with pytest.raises(FineTuneError, match=told):
        base_folder(str(model), "table-1")


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(FineTuneError, match="there is no folder"):
        base_folder(str(tmp_path / "gone"), "table-1")
    with pytest.raises(FineTuneError, match=r"modules\.json can't be read"):
        base_folder(str(tmp_path), "table-1")
    (tmp_path / "modules.json").write_text("[" * 9000)
    with pytest.raises(FineTuneError, match="isn't JSON"):
        base_folder(str(tmp_path), "table-1")


def test_only_of_the_bundled_model_is_it_known_where_its_weights_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(FineTuneError, match="isn't known here") as refused:
        base_folder(None, "table-1")
    assert "--base-model" in refused.value.remedy
    monkeypatch.setattr(base_models, "BUNDLED_PACKAGE", "no_such_package")
    with pytest.raises(FineTuneError, match="no-such-package") as refused:
        base_folder(None, "minilm-l6-v2-int8:0:0:mean:256:384")
    assert "synthorg-tui[fine-tune]" in refused.value.remedy


async def test_without_the_extra_nothing_begins_and_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_models, "LIBRARIES", ("no_such_library",))
    asked = encoder_plan(tmp_path, trainer=FineTuneTrainer.CONTRASTIVE)
    async with engine_on(tmp_path / "data") as engine:
        await fill(engine, tmp_path / "source")
        with pytest.raises(FineTuneDependencyError, match="isn't installed") as refused:
            await engine.memory_service.start_fine_tune(asked)
        assert "synthorg-tui[fine-tune]" in refused.value.remedy
        found = await engine.memory_service.run_preflight(asked)
        (check,) = [each for each in found.checks if each.name == "base_model"]
        assert check.status == "fail"
        assert (await engine.memory_service.list_runs(limit=1, offset=0))[1] == 0

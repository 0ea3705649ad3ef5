"""Models of the package fastembed, which the user has fetched or names a folder of."""

import os
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from synthorg_tui.providers.embedding.config import FastembedConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.local import EMBEDDING, LocalEmbedder, normalise
from synthorg_tui.providers.embedding.protocol import Vectors
from synthorg_tui.providers.local import default_threads, identity_of
from synthorg_tui.providers.onnx import load_runtime

_BATCH: Final = 16


class FastembedEmbedder(LocalEmbedder):
    """Embedder for a model that fastembed knows by name."""

    def __init__(self, config: FastembedConfig) -> None:
        super().__init__()
        self._config = config
        self._model: Any = None

    @cached_property
    def fingerprint(self) -> str:
        config = self._config
        files = "" if config.path is None else f":{_identity(config.path)}"
        return f"fastembed:{config.model}{files}:{self.dims}"

    @cached_property
    def dims(self) -> int:
        name = self._config.model
        known = {each["model"].lower(): each for each in _library().list_supported_models()}
        if name.lower() not in known:
            some = ", ".join(sorted(each["model"] for each in known.values())[:5])
            raise EmbeddingError(
                f"fastembed knows no model {name}",
                remedy=f"Set providers.embedding.model to one that it has: {some}, ...",
            )
        return int(known[name.lower()]["dim"])

    @property
    def is_loaded(self) -> bool:
        return self._model is not None

    async def embed_query(self, text: str) -> Vectors:
        vector: Vectors = (await self._run(lambda: self._computed("query_embed", [text])))[0]
        return vector

    def _plan(self, texts: Sequence[str]) -> Sequence[tuple[Sequence[int], Callable[[], Vectors]]]:
        starts = range(0, len(texts), _BATCH)
        batches = [range(start, min(start + _BATCH, len(texts))) for start in starts]
        work = partial(self._computed, "passage_embed")
        return [(batch, partial(work, [texts[i] for i in batch])) for batch in batches]

    def _unload(self) -> None:
        self._model = None

    def _computed(self, how: str, texts: list[str]) -> Vectors:
        if self._model is None:
            self._model = self._open()
        vectors = np.asarray(list(getattr(self._model, how)(texts)), dtype=np.float32)
        return normalise(vectors)

    def _open(self) -> Any:
        config, name = self._config, self._config.model
        assert self.dims  # says what is wrong with a name before anything is looked for
        if config.path is not None and not config.path.is_dir():
            raise EmbeddingError(
                f"The folder {config.path} of the model {name} doesn't exist",
                remedy="Check providers.embedding.path",
            )
        try:
            return _library()(
                name,
                cache_dir=None if config.cache is None else str(config.cache),
                threads=config.threads or default_threads(),
                local_files_only=not config.download,
                specific_model_path=None if config.path is None else str(config.path),
            )
        except Exception as error:  # whatever its libraries raise
            raise EmbeddingError(
                f"fastembed can't load the model {name}: {error}",
                remedy="Name the folder of its files in providers.embedding.path, or set "
                "providers.embedding.download to fetch them once",
            ) from error


def _library() -> Any:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    load_runtime()  # without its telemetry
    try:
        from fastembed import TextEmbedding
    except ImportError as error:
        raise EmbeddingError(
            "fastembed is not installed", remedy="Run: pip install 'synthorg-tui[fastembed]'"
        ) from error
    return TextEmbedding


def _identity(folder: Path) -> str:
    """What tells the files of a model from those of another."""
    files = sorted(path for path in folder.rglob("*.onnx*") if path.is_file())
    return "-".join(identity_of(file, EMBEDDING) for file in files)

